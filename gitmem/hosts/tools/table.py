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


class Tool:
    """One row: what the model reads of a tool, who gets it, and where its function is."""

    def __init__(
        self,
        name: str,
        says: str,
        properties: dict[str, Any],
        *,
        run: str,
        required: tuple[str, ...] = (),
        short: str = "",
        hosts: tuple[Host, ...] = ("mcp", "hermes", "loop"),
        reads: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        checked: bool = False,
        asks_user: bool = False,
    ) -> None:
        self.name = name
        self.says = says
        self.properties = properties
        self.required = required
        self.run = run
        """`module:function` below `gitmem.hosts.tools`."""
        self.short = short
        """What it is for, in a list in a prompt."""
        self.hosts = hosts
        self.reads = reads
        self.destructive = destructive
        self.idempotent = idempotent
        self.checked = checked
        """Every text of its answers came out through the gate already."""
        self.asks_user = asks_user

    @property
    def schema(self) -> dict[str, Any]:
        """Its arguments, as JSON Schema."""
        required = {"required": list(self.required)} if self.required else {}
        return {"type": "object", "properties": self.properties, **required}

    def for_mcp(self) -> dict[str, Any]:
        """As `tools/list` says it."""
        hints: dict[str, Any] = {"readOnlyHint": self.reads, "openWorldHint": False}
        if not self.reads:
            hints |= {"destructiveHint": self.destructive, "idempotentHint": self.idempotent}
        told = {
            "name": self.name,
            "description": self.says,
            "inputSchema": self.schema,
            "annotations": hints,
        }
        return {**told, "_meta": {"anthropic/requiresUserInteraction": True}} if self.asks_user else told

    def for_model(self, prefix: str = "") -> dict[str, Any]:
        """As an agent loop says it: name, description, parameters."""
        parameters = {"required": [], **self.schema}
        return {"name": prefix + self.name, "description": self.says, "parameters": parameters}


_TEXT = {"type": "string"}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST}
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
        "holds. as_of answers as the memory was then.",
        {
            "query": _said("Words to look for."),
            "as_of": _said("A date, snapshot, commit or session:ID."),
            "type": _said("Only one kind, such as Decision or CuratedMemory."),
            "removed": {"type": "boolean", "description": "Among what was removed."},
            "limit": {**_LIMIT, "default": 8},
        },
        run="looking:search",
        required=("query",),
        short="search what was remembered, also as of an earlier day",
        reads=True,
        checked=True,
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
        run="looking:fetch",
        required=("id",),
        short="read one entry or file whole",
        reads=True,
        checked=True,
    ),
    Tool(
        "recall",
        "Recall earlier conversations: which session was about something, when, and what was said. With a "
        "session: how it went; around an id of it: what stands there. Without any: the newest sessions.",
        {
            "query": _said("What it was about."),
            "session": _SESSION,
            "around": _said("Id of a line of that session."),
            "limit": {**_LIMIT, "default": 3},
        },
        run="looking:recall",
        short="recall earlier sessions",
        hosts=("mcp", "hermes"),  # a loop has session_search
        reads=True,
        checked=True,
    ),
    Tool(
        "remember",
        "Keep something for later sessions, with why: a fact (environment, conventions, lessons), a preference (who "
        "the user is, how they want things), a decision with its rationale, an observation. No task progress. The "
        "same text again changes nothing.",
        {
            "text": {**_said("One or two sentences."), "maxLength": TEXT_LIMIT},
            "kind": {**_one_of("fact", "preference", "decision", "observation"), "default": "fact"},
            "why": _said("Rationale, or what it rests on."),
            "source": _said("Where it comes from: URL, file, person."),
            "tags": {"type": "array", "items": _TEXT},
            "here_only": {"type": "boolean", "description": "True on this machine only."},
        },
        run="keeping:remember",
        required=("text",),
        short="keep a fact, a preference or a decision with its reason and source",
        idempotent=True,
        checked=True,  # it repeats what it was given, and nothing else
    ),
    Tool(
        "revise",
        "Correct a remembered fact or preference: give the new text, or none to remove it. It stays in the history.",
        {
            "id": _said("Entry id, or a part of its text."),
            "why": _said("What is wrong with it."),
            "text": {**_said("The new wording; left out: remove."), "maxLength": TEXT_LIMIT},
        },
        run="keeping:revise",
        required=("id", "why"),
        short="correct or remove a fact or a preference",
        hosts=("mcp",),  # elsewhere the memory tool does that
        destructive=True,
    ),
    Tool(
        "history",
        "Why something is believed: with an id, when it came, from which session and agent, and why. Without: the "
        "latest changes.",
        {
            "id": _said("Entry id, or a file such as memories/MEMORY.md."),
            "path": _said("Only changes below this path."),
            "session": _SESSION,
            "since": _said("A date."),
            "limit": {**_LIMIT, "default": 10},
        },
        run="past:history",
        short="who wrote an entry, when and why",
        reads=True,
    ),
    Tool(
        "diff",
        "What changed in the memory: in one session, or from a to b (dates, snapshots, commits; since yesterday if "
        "left out).",
        {"session": _SESSION, "a": _TEXT, "b": _TEXT, "path": _TEXT, "limit": _LIMIT},
        run="past:diff",
        short="what changed between two moments",
        reads=True,
    ),
    Tool(
        "snapshot",
        "Name the present state of the memory, so that the user can go back to it.",
        {"name": _said("A short name."), "note": _TEXT},
        run="keeping:snapshot",
        short="name the present state before a risky change",
    ),
    Tool(
        "undo",
        "Take back changes of the memory: one commit, or all of a session or agent. Only when the user asks. The first "
        "call shows what would go and gives a token; the second brings it as confirm.",
        {
            "commit": _said("From history."),
            "session": _SESSION,
            "agent": _TEXT,
            "why": _TEXT,
            "confirm": _said("Token of the preview."),
        },
        run="past:undo",
        short="take changes back, when the user asks for it",
        destructive=True,
        asks_user=True,
    ),
    Tool(
        "skills",
        "How-to knowledge. Without a name: the list, or its categories where there are many. Look before a task of "
        "several steps.",
        {
            "name": _TEXT,
            "file": _said("One of its files."),
            "category": _TEXT,
            "offset": {"type": "integer", "minimum": 0},
        },
        run="skills:skills",
        short="list and read how-to knowledge",
        hosts=("mcp", "loop"),  # Hermes has its own, over the same files
        reads=True,
        checked=True,
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
            "file_path": _said("Beside SKILL.md, or below references, templates, scripts or assets."),
            "file_content": {"type": "string", "maxLength": SKILL_LIMIT},
            "old_string": _TEXT,
            "new_string": _TEXT,
            "replace_all": {"type": "boolean"},
            "absorbed_into": _TEXT,
            "outcome": _one_of("ok", "failed"),
            "why": _TEXT,
        },
        run="skills:manage",
        required=("action", "name"),
        short="save or patch how-to knowledge",
        hosts=("loop",),  # clients of MCP have directories of their own, which can be linked
        destructive=True,
    ),
    Tool(
        "memory",
        "Durable memory across sessions, shown to you at the start of each. Save, without being asked, what a later "
        "session needs: preferences and corrections of the user, facts about the environment, conventions, lessons. "
        "Do not save task progress, outcomes of this session, to-do lists, or what can be looked up again. target "
        "user: who the user is; memory: everything else. replace and remove name the entry by a unique part of its "
        "text. The stores are small: above 80 % merge entries before adding. Several changes of one target go "
        "together in operations, all or none.",
        {
            "action": _one_of("add", "replace", "remove"),
            "target": _one_of("memory", "user"),
            "content": _said("For add and replace: one or two sentences."),
            "old_text": _said("For replace and remove: a unique part of the entry."),
            "operations": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "action": _one_of("add", "replace", "remove"),
                        "content": _TEXT,
                        "old_text": _TEXT,
                    },
                    "required": ["action"],
                },
            },
        },
        run="keeping:memory",
        hosts=("loop",),
        destructive=True,
    ),
    Tool(
        "session_search",
        "Search earlier conversations. query: the sessions that were about it, with what was said; session_id: how "
        "that session began and ended; with around_message_id: what stands around it; nothing: the newest sessions.",
        {
            "query": _TEXT,
            "session_id": _TEXT,
            "around_message_id": _TEXT,
            "limit": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
        },
        run="looking:session_search",
        hosts=("loop",),
        reads=True,
        checked=True,
    ),
)
TOOLS = {row.name: row for row in _ROWS}


def offered(host: Host, *, undo: bool = False, sessions: bool = True, recalls: bool = True) -> list[Tool]:
    """The rows that a host gets. `undo`: the model may take back; `sessions`: it may read what was said in earlier
    ones; `recalls`: it looks things up by itself.
    """
    left_out: set[str] = set() if undo else {"undo"}  # the model must not be talked into erasing memory
    left_out |= set() if sessions else {"recall", "session_search"}
    left_out |= set() if recalls else {"search", "recall", "session_search"}
    return [row for row in _ROWS if host in row.hosts and row.name not in left_out]


def offered_by(config: Config, host: Host, *, undo: bool | None = None) -> list[Tool]:
    """The rows that the settings allow."""
    return offered(
        host,
        undo=config.undo_tools if undo is None else undo,
        sessions=config.session_search,
        recalls=config.recall_mode != "context",
    )
