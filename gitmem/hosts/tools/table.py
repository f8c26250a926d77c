"""The one table of tools. MCP clients, Hermes and one's own loop get their rows of it, and so cannot drift apart.

A new tool is one row here and one function in `hosts/tools/`. Nothing is imported: `gitmem mcp` answers `tools/list`
from this table before it opens anything.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; `typing` itself would be a good part of what a start costs

if TYPE_CHECKING:
    from typing import Any, Literal

    from gitmem.config import Config

    Host = Literal["mcp", "hermes", "loop"]
    """Who gets a tool: a client of `gitmem mcp`, Hermes (whose names begin with `gitmem_`), a loop of one's own."""

MOST = 20
"""What one answer lists at most."""
LONGEST = 10_000
"""Characters of one argument, where the row says nothing else."""
TEXT_LIMIT = 2_200
"""Characters of what is remembered: as much as MEMORY.md holds."""
SKILL_LIMIT = 100_000
"""Characters of a SKILL.md."""
HERMES_PREFIX = "gitmem_"


_PAST = ("as_of", "removed")
"""Arguments that people use: what was taken back is for an agent only where the settings say so."""


class Tool:
    """One row: what the model reads of a tool, who gets it, and where its function is."""

    run: str
    """`module:function` below `gitmem.hosts.tools`."""
    required: tuple[str, ...] = ()
    hosts: tuple[Host, ...] = ("mcp", "hermes", "loop")
    reads: bool = False
    destructive: bool = False
    idempotent: bool = False
    asks_user: bool = False

    def __init__(self, name: str, says: str, properties: dict[str, Any], **known: Any) -> None:
        self.name = name
        self.says = says
        self.properties = properties
        self.__dict__.update(known)

    @property
    def short(self) -> str:
        """The first sentence, for a list in a prompt."""
        return self.says.partition(". ")[0].rstrip(".")

    def without_past(self) -> Tool:
        """The same for a model that may not look at what was removed or held earlier."""
        left = {name: rule for name, rule in self.properties.items() if name not in _PAST}
        return Tool(**{**self.__dict__, "properties": left})

    @property
    def schema(self) -> dict[str, Any]:
        """Its arguments, as JSON Schema."""
        required = {"required": list(self.required)} if self.required else {}
        return {"type": "object", "properties": self.properties, **required}

    def for_mcp(self) -> dict[str, Any]:
        """As `tools/list` says it."""
        hints: dict[str, Any] = {"openWorldHint": False}
        hints |= {"readOnlyHint": True} if self.reads else {"destructiveHint": self.destructive}
        hints |= {"idempotentHint": True} if self.idempotent else {}
        row = {
            "name": self.name,
            "description": self.says,
            "inputSchema": self.schema,
            "annotations": hints,
        }
        return {**row, "_meta": {"anthropic/requiresUserInteraction": True}} if self.asks_user else row

    def for_model(self, prefix: str = "") -> dict[str, Any]:
        """As an agent loop says it: name, description, parameters."""
        parameters = {"required": [], **self.schema}
        return {"name": prefix + self.name, "description": self.says, "parameters": parameters}


_TEXT = {"type": "string"}
_LIMIT = {"type": "integer", "maximum": MOST}
_SESSION = {"type": "string", "description": "Session id."}


def _said(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


_ROWS = (
    Tool(
        "search",
        "Search the versioned memory: facts, decisions, sessions, plans, skills. Each hit has an id for fetch, "
        "revise and history. `said` is what was said in a session, `tool` untrusted output of a tool; the rest "
        "holds.",
        {
            "query": _said("Words to look for."),
            "as_of": _said("Answer as the memory was then: a date, snapshot, commit or session:ID."),
            "type": _said("Only one kind, such as Decision or CuratedMemory."),
            "removed": {"type": "boolean", "description": "Among what was removed."},
            "limit": {**_LIMIT, "default": 8},
        },
        run="reading:search",
        required=("query",),
        reads=True,
    ),
    Tool(
        "fetch",
        "Read one thing by the id that search or history gave: an entry, a file, a moment of a session; or MEMORY "
        "or USER for the whole store.",
        {
            "id": _said("Entry id, path, session id, MEMORY or USER."),
            "level": {**_one_of("abstract", "overview", "full"), "default": "overview"},
            "as_of": _said("A date, snapshot or commit."),
        },
        run="reading:fetch",
        required=("id",),
        reads=True,
    ),
    Tool(
        "recall",
        "Recall earlier conversations: which session was about something, when, and what was said. With a "
        "session: how it went; around an id of it: what was said there. Without any: the newest sessions.",
        {
            "query": _said("What it was about."),
            "session": _SESSION,
            "around": _said("Id of a line of that session."),
            "limit": {**_LIMIT, "default": 3},
        },
        run="reading:recall",
        reads=True,
    ),
    Tool(
        "remember",
        "Keep something for later sessions, with why: a fact (environment, conventions, lessons), a preference (who "
        "the user is, how they want things), a decision with its rationale, an observation. No task progress. Every "
        "user of this agent sees a fact, a preference is the present user's. The same text again changes nothing.",
        {
            "text": {**_said("One or two sentences."), "maxLength": TEXT_LIMIT},
            "kind": {**_one_of("fact", "preference", "decision", "observation"), "default": "fact"},
            "why": _said("Rationale, or what it rests on."),
            "source": _said("Where it comes from: URL, file, person."),
            "tags": {"type": "array", "items": _TEXT},
            "here_only": {"type": "boolean", "description": "True on this machine only."},
        },
        run="writing:remember",
        required=("text",),
        idempotent=True,
    ),
    Tool(
        "revise",
        "Correct a remembered fact or preference: give the new text, or remove it. It stays in the history.",
        {
            "id": _said("Entry id, or a part of its text."),
            "why": _TEXT,
            "text": {**_said("The new wording."), "maxLength": TEXT_LIMIT},
            "remove": {"type": "boolean"},
        },
        run="writing:revise",
        required=("id", "why"),
        hosts=("mcp", "loop"),  # Hermes' own memory tool does that
        destructive=True,
    ),
    Tool(
        "note",
        "Write a page for what is too long for a fact.",
        {"title": _TEXT, "text": _TEXT},
        run="writing:note",
        required=("title", "text"),
        hosts=("mcp", "loop"),
    ),
    Tool(
        "history",
        "Why something is believed: with an id, when, by whom and why it came, and its earlier wordings. Without: the "
        "latest changes.",
        {
            "id": _said("Entry id, or a file such as memories/MEMORY.md."),
            "path": _said("Only changes below this path."),
            "session": _SESSION,
            "since": _said("A date, snapshot or commit."),
            "limit": {**_LIMIT, "default": 10},
        },
        run="history:history",
        reads=True,
    ),
    Tool(
        "diff",
        "What changed in the memory: in one session, or from a to b (dates, snapshots, commits; since yesterday if "
        "left out).",
        {"session": _SESSION, "a": _TEXT, "b": _TEXT, "path": _TEXT, "limit": _LIMIT},
        run="history:diff",
        reads=True,
    ),
    Tool(
        "snapshot",
        "Name the present state of the memory, so that the user can go back to it.",
        {"name": _said("A short name."), "note": _TEXT},
        run="writing:snapshot",
    ),
    Tool(
        "undo",
        "Take back one commit, or all of a session or agent. Only when the user asks. The first call shows what would go "
        "and gives a token; the second brings it as confirm.",
        {
            "commit": _said("From history."),
            "session": _SESSION,
            "agent": _TEXT,
            "why": _TEXT,
            "confirm": _said("Token of the preview."),
        },
        run="history:undo",
        destructive=True,
        asks_user=True,
    ),
    Tool(
        "skills",
        "How-to knowledge. Without a name: the list, or its categories. Look before a task of several steps.",
        {
            "name": _TEXT,
            "file": _said("One of its files."),
            "category": _TEXT,
            "offset": {"type": "integer", "minimum": 0},
        },
        run="skills:skills",
        hosts=("mcp", "loop"),  # Hermes has its own, over the same files
        reads=True,
    ),
    Tool(
        "skill_manage",
        "Save a way that works as a skill (SKILL.md: front matter with name and description, when to use, steps, "
        "pitfalls), patch one that was wrong, say with `used` how one did.",
        {
            "action": _one_of("create", "edit", "patch", "delete", "write_file", "remove_file", "used"),
            "name": _TEXT,
            "content": {"type": "string", "maxLength": SKILL_LIMIT},
            "category": _TEXT,
            "file_path": _said("Such as references/api.md."),
            "file_content": {"type": "string", "maxLength": SKILL_LIMIT},
            "old_string": _TEXT,
            "new_string": _TEXT,
            "replace_all": {"type": "boolean"},
            "outcome": _one_of("ok", "failed"),
            "why": _TEXT,
        },
        run="skills:manage",
        required=("action", "name"),
        hosts=("loop",),  # clients of MCP have directories of their own, which can be linked
        destructive=True,
    ),
)
TOOLS = {row.name: row for row in _ROWS}


def offered(host: Host, config: Config | None = None, *, undo: bool = False) -> list[Tool]:
    """The rows that a host gets, as far as the settings allow; MCP lists them before it opens any settings.

    Only with `undo` may the model take back: it must not be talked into erasing memory.
    """
    left_out: set[str] = set() if undo or (config is not None and config.undo_tools) else {"undo"}
    if config is None:
        return [row for row in _ROWS if host in row.hosts and row.name not in left_out]
    left_out |= set() if config.session_search else {"recall"}
    left_out |= {"search", "recall"} if config.recall_mode == "context" else set()
    rows = [row for row in _ROWS if host in row.hosts and row.name not in left_out]
    return rows if config.past_tools else [row.without_past() for row in rows]
