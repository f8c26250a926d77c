"""The state directory, `<git dir>/gitmem/`: every name in it, and how it is read and written.

It belongs to one machine and is never committed; docs/format.md lists the same names, and says what is lost with each.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as type checkers know it: `typing` itself would be most of what importing this costs
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final, Literal

    from gitmem.locks import Lock
    from gitmem.scratch import Scratch

    Format = Literal["json", "jsonl", "text", "sqlite", "lock", "directory"]
    Erase = Literal["scrub", "drop", "keep"]


class Name:
    """One name below the state directory. `<...>` in it stands for a key; a `/` ends the name of a directory."""

    __slots__ = ("_after", "_before", "deletable", "erase", "format", "pattern", "purpose", "writer")

    def __init__(
        self,
        pattern: str,
        form: Format,
        purpose: str,
        writer: str,
        *,
        deletable: bool = True,
        erase: Erase = "scrub",
    ) -> None:
        self.pattern: Final = pattern
        self.format: Final = form
        self.purpose: Final = purpose
        self.writer: Final = writer
        """The module of gitmem that writes it; empty where a person does."""
        self.deletable: Final = deletable
        """Whether a person may delete it while no gitmem runs."""
        self.erase: Final = erase
        """What an erase does: `scrub` text and ids of commits, `drop` what is made again, `keep` what it writes itself."""
        before, _, after = pattern.replace("/", os.sep).rstrip(os.sep).partition("<")
        self._before: Final = before
        self._after: Final = after.partition(">")[2]

    def __repr__(self) -> str:
        return f"Name({self.pattern!r})"

    def path(self, key: str = "") -> str:
        """The path from the state directory."""
        return f"{self._before}{key}{self._after}"

    def has(self, path: str) -> bool:
        """Say whether a path from the state directory is of this name."""
        if self.format == "directory":
            return path.startswith(self._before + os.sep)
        is_one = path.startswith(self._before) and path.endswith(self._after)
        key = path[len(self._before) : len(path) - len(self._after)] if is_one else ""
        return path == self._before if "<" not in self.pattern else bool(key) and os.sep not in key

    def key(self, file: str) -> str:
        """The key of a file in the name's directory; empty where the file has another name."""
        before = os.path.basename(self._before)
        is_one = file.startswith(before) and file.endswith(self._after)
        return file[len(before) : len(file) - len(self._after)] if is_one else ""


CONFIG = Name("config", "text", "settings of this bundle on this machine", "", deletable=False)

# Names with `_` are written under names of their writer's own making: a lock beside a journal, what SQLite needs.

# Commits

LOCKS = Name(
    "locks/<what>",
    "lock",
    "held while a commit (`bundle`), gc, a sync, the making of the index or a look at a host's files runs; who took it last",
    "locks",
    erase="keep",
)
PENDING = Name(
    "pending",
    "text",
    "the last commit, under way or `settled`",
    "git.commit_note",
    deletable=False,
    erase="keep",
)
INDEX_SEEN = Name(
    "index-seen",
    "text",
    "git's index as it was last found to hold what a tip holds",
    "git.index_file",
)
CLOCKS = Name(
    "clocks",
    "json",
    "how wrong the clocks of the history are, up to a commit",
    "git.commit_graph",
    erase="drop",
)
TMP = Name(
    "tmp/",
    "directory",
    "a directory for each process that runs: files on their way to their place, a fetch while it is checked",
    "scratch",
    erase="keep",
)
LAST_GC = Name(
    "last-gc", "json", "the size of the object store after the last housekeeping", "git.housekeeping"
)

ERASING = Name(
    "erasing/",
    "directory",
    "an erase that is decided and not finished: the history, refs and files that take the place of the old ones",
    "git.replacement",
    deletable=False,
    erase="keep",
)
ERASED_COMMITS = Name(
    "erased-commits",
    "text",
    "a line for each commit that an erase rewrote: `<old> <new>`",
    "memory.erase.beside",
    deletable=False,
    erase="keep",
)

# Capture

JOURNAL = Name(
    "journal/<id>.jsonl",
    "jsonl",
    "events that wait for a flush, one file for each writer",
    "memory.capture.journal",
    deletable=False,
)
_JOURNAL_LOCK = Name(
    "journal/<id>.lock", "lock", "held by the journal's writer while it runs", "locks", erase="keep"
)
_JOURNAL_NEW = Name(
    "journal/<id>.new", "jsonl", "a journal that is being rewritten", "memory.capture.journal"
)
_JOURNAL_DAMAGED = Name(
    "journal/<id>.damaged",
    "jsonl",
    "a recovered journal with lines that cannot be read, kept for a person",
    "memory.capture.abandoned",
)
SESSION = Name("session", "json", "the session that `session start` opened here", "memory.capture.sessions")
LAST_SNAPSHOT = Name(
    "last-snapshot", "text", "the newest automatic snapshot and its commit", "memory.snapshots"
)

# The gate

RELEASES = Name(
    "releases",
    "json",
    "texts that a person released from the scanner here",
    "memory.gate.scan",
    deletable=False,
)
RULES_ACCEPTED = Name(
    "rules-accepted",
    "text",
    "the version of the bundle's own scanner rules that a person accepted here",
    "memory.gate.scan",
    deletable=False,
)
SCANNED_WITH = Name(
    "scanned-with",
    "text",
    "the rules with which the whole tree was last found clean",
    "memory.gate.audit",
    erase="drop",
)
FOREIGN = Name(
    "foreign",
    "json",
    "entries that others brought, by hash: which remote, whether they wait for a person or came into a full store",
    "memory.gate.foreign",
    deletable=False,
)
TAKEN = Name(
    "taken",
    "json",
    "entries that a remote took away and that stay until a person looks, by hash",
    "memory.gate.taken",
    deletable=False,
)
TAKEN_LATELY = Name(
    "taken-lately",
    "json",
    "what remotes took away from each store within a day, by hash",
    "memory.gate.taken",
)
PULLED = Name(
    "pulled",
    "text",
    "a line for each fetch, `<their tip> <our tip> <remote>`: what came from elsewhere, and from where",
    "memory.provenance",
    deletable=False,
)

# Search

INDEX = Name("index.db", "sqlite", "the search index", "memory.indexing", erase="drop")
_INDEX_PART = Name(
    "index.db-<part>", "sqlite", "what SQLite keeps beside the search index", "index.database", erase="drop"
)
INDEX_NEW = Name(
    "index.new.db", "sqlite", "a search index while it is built", "memory.indexing", erase="drop"
)
_INDEX_NEW_PART = Name(
    "index.new.db-<part>", "sqlite", "what SQLite keeps beside it", "index.database", erase="drop"
)

# Sync

CLONING = Name(
    "cloning",
    "text",
    "the address of a clone under way, or of one that was killed: the same `gitmem clone` again finishes it",
    "memory.upkeep.clone",
)
SYNC = Name(
    "sync/<remote>.json",
    "json",
    "how the last sync ended, when to try again, the snapshots seen there, what is on our branch there",
    "memory.sync.remote_state",
)

# A host that keeps files of its own

HOST_LINK = Name(
    "host/link", "json", "the Hermes home whose files belong to this bundle", "hosts.hermes.host_link"
)
HOST_MEMORY = Name(
    "host/MEMORY.md",
    "text",
    "the host's MEMORY.md as both sides last agreed on it",
    "hosts.hermes.memory_files",
    erase="keep",
)
HOST_USER = Name(
    "host/USER.md",
    "text",
    "the host's USER.md as both sides last agreed on it",
    "hosts.hermes.memory_files",
    erase="keep",
)
HOST_STATE = Name(
    "host/state",
    "json",
    "entries that had no room in the host's files, and the notices that are used",
    "hosts.hermes.memory_files",
)
SKILL_LIST = Name(
    "skill-list", "json", "what each skill says of itself, at the last listing", "memory.skills.catalog"
)
SKILL_LINKS = Name(
    "skill-links",
    "json",
    "directories of agents that skills are kept in step with, as both sides last agreed on them",
    "memory.skills.links",
)
HOST_SKILLS = Name(
    "host/skills", "json", "the host's skills as both sides last agreed on them", "hosts.hermes.skill_files"
)
HOST_LAST_SESSION = Name(
    "host/last-session", "json", "the commit at which the last session ended", "hosts.hermes.bundle_worker"
)
CONNECTIONS = Name(
    "connections/<agent>.json",
    "json",
    "what `connect` put into the settings of an agent, and how to take it back",
    "hosts.connect",
)
HOST_NOTICES = Name(
    "host/notices/<id>.jsonl",
    "jsonl",
    "what the host reported of its memory and skill tools and of a turn under way, one journal for each provider",
    "hosts.hermes.write_notices",
    deletable=False,
)

_HOST_NOTICES_LOCK = Name(
    "host/notices/<id>.lock", "lock", "held by the provider while it runs", "locks", erase="keep"
)
_HOST_NOTICES_NEW = Name(
    "host/notices/<id>.new", "jsonl", "a journal of notices that is being rewritten", "memory.capture.journal"
)
_HOST_NOTICES_DAMAGED = Name(
    "host/notices/<id>.damaged",
    "jsonl",
    "notices with lines that cannot be read, kept for a person",
    "memory.capture.abandoned",
)

# Clients of `gitmem mcp`

MCP_CLIENTS = Name(
    "mcp-clients", "json", "the commit at which each MCP client was last here", "hosts.mcp.connection"
)

TABLE = tuple(value for value in list(globals().values()) if isinstance(value, Name))
"""Every name that gitmem writes or reads below the state directory."""


def name_of(path: str) -> Name | None:
    """Return the row of the table for a path from the state directory; None for what is not gitmem's."""
    return next((name for name in TABLE if name.has(path)), None)


class LocalState:
    """The state directory of one git directory.

    Reading is tolerant: a file that is damaged, or has another shape, reads as if it were not there. Where the disk
    refuses, that holds for what may be deleted; else the error goes on, so that nobody writes over what is still there.
    Writing makes the directories that are missing, and looks for them only then.
    """

    __slots__ = ("_scratch", "directory")

    def __init__(self, git_dir: str) -> None:
        self.directory: Final = os.path.join(git_dir, "gitmem")
        self._scratch: Scratch | None = None

    @property
    def scratch(self) -> str:
        """This process's own directory, made when it is asked for: a file is written there before it gets its name."""
        if self._scratch is None or not self._scratch.is_ours:
            from gitmem.scratch import Scratch

            self._scratch = Scratch.of(self.path(TMP))
        return self._scratch.directory

    def sweep(self) -> None:
        """Remove the scratch files of dead processes; the caller holds the bundle lock."""
        from gitmem.scratch import sweep

        sweep(self.path(TMP))

    def lock(self, what: str, busy: str, *, hint: str = "") -> Lock:
        """Make a lock of this directory; `busy` is the message where another process has it."""
        from gitmem.locks import Lock

        return Lock(self.path(LOCKS, what), busy, hint=hint)

    def path(self, name: Name, key: str = "") -> str:
        return f"{self.directory}{os.sep}{name.path(key)}"

    def folder(self, name: Name) -> str:
        """The directory that a name is in."""
        return os.path.dirname(self.path(name))

    def keys(self, name: Name) -> list[str]:
        """The keys for which there is a file, sorted."""
        try:
            files = os.listdir(self.folder(name))
        except OSError:
            return []
        return sorted(key for file in files if (key := name.key(file)))

    @property
    def is_there(self) -> bool:
        """Return whether the git directory has one, as every bundle's has."""
        return os.path.isdir(self.directory)

    def has(self, name: Name) -> bool:
        return os.path.exists(self.path(name))

    def read(self, name: Name, key: str = "") -> bytes | None:
        """The bytes of a file, or None where there is none."""
        from gitmem.files import read_file

        try:
            return read_file(self.path(name, key))
        except OSError:
            if not name.deletable:
                raise
            return None

    def read_text(self, name: Name, key: str = "") -> str:
        """The text of a file; empty where there is none, or it is not UTF-8."""
        try:
            return (self.read(name, key) or b"").decode()
        except UnicodeDecodeError:
            return ""

    def read_json(self, name: Name, key: str = "") -> dict[str, Any]:
        """The JSON object in a file; empty where there is none."""
        import json

        try:
            found = json.loads(self.read(name, key) or b"{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, name: Name, data: bytes, key: str = "", *, durable: bool = False) -> None:
        """Replace a file at once; with `durable` it survives a power cut."""
        from gitmem.files import replace_file

        path = self.path(name, key)
        try:
            replace_file(path, data, scratch=self.scratch, durable=durable)
        except FileNotFoundError:
            self._make_room(path)
            replace_file(path, data, scratch=self.scratch, durable=durable)

    def write_text(self, name: Name, text: str, key: str = "", *, durable: bool = False) -> None:
        self.write(name, text.encode(), key, durable=durable)

    def write_json(
        self, name: Name, value: Mapping[str, Any], key: str = "", *, durable: bool = False
    ) -> None:
        import json

        self.write(name, json.dumps(value, indent=1, sort_keys=True).encode(), key, durable=durable)

    def append_line(self, name: Name, line: str, *, durable: bool = False) -> None:
        """Add a line to a file; with `durable` it survives a power cut."""
        from gitmem.files import append_to

        path, data = self.path(name), f"{line}\n".encode()
        try:
            append_to(path, data, durable=durable)
        except FileNotFoundError:
            self._make_room(path)
            append_to(path, data, durable=durable)

    def remove(self, name: Name, key: str = "") -> None:
        """Remove a file that may be gone already."""
        try:
            os.unlink(self.path(name, key))
        except FileNotFoundError:
            pass

    def _make_room(self, path: str) -> None:
        from gitmem.permissions import make_directories, make_directory

        try:
            make_directory(self.directory)  # not what is above it: a bundle that was removed stays removed
        except FileExistsError:
            pass
        make_directories(os.path.dirname(path))
