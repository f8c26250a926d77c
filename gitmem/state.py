"""The state directory, `<git dir>/gitmem/`: every name in it, and how it is read and written.

It belongs to one machine and is never committed; docs/format.md says what each name is for, and what is lost with it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as type checkers know it: `typing` itself would be most of what importing this costs
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final, Literal

    from gitmem.locks import Lock, Scratch

    Format = Literal["json", "jsonl", "text", "sqlite", "lock", "directory"]
    Erase = Literal["scrub", "drop", "keep", "link"]


class Name:
    """One name below the state directory. `<...>` in it stands for a key; a `/` ends the name of a directory."""

    __slots__ = ("_after", "_before", "deletable", "erase", "format", "pattern")

    def __init__(self, pattern: str, form: Format, *, deletable: bool = True, erase: Erase = "scrub") -> None:
        self.pattern: Final = pattern
        self.format: Final = form
        self.deletable: Final = deletable
        """Whether a person may delete it while no gitmem runs."""
        self.erase: Final = erase
        """What an erase does: `scrub` text and ids of commits, `drop` what is made again, `keep` what must stay as it is,
        `link` what a live process holds or writes, so that it goes on.
        """
        before, _, after = pattern.rstrip("/").partition("<")
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
            return path.startswith(self._before + "/")
        is_one = path.startswith(self._before) and path.endswith(self._after)
        key = path[len(self._before) : len(path) - len(self._after)] if is_one else ""
        return path == self._before if "<" not in self.pattern else bool(key) and "/" not in key

    def key(self, file: str) -> str:
        """The key of a file in the name's directory; empty where the file has another name."""
        before = os.path.basename(self._before)
        is_one = file.startswith(before) and file.endswith(self._after)
        return file[len(before) : len(file) - len(self._after)] if is_one else ""


CONFIG = Name("config", "text", deletable=False)

# Names with `_` are written under names of their writer's own making: a lock beside a journal, what SQLite needs.

# Commits

LOCKS = Name("locks/<what>", "lock", erase="link")
PENDING = Name("pending", "text", deletable=False, erase="drop")
CACHE = Name("cache/<what>", "json", erase="drop")
TMP = Name("tmp/", "directory", erase="drop")
ERASED = Name("erased", "text", deletable=False, erase="keep")

# Capture

JOURNAL = Name("journal/<id>.jsonl", "jsonl", deletable=False, erase="link")
_JOURNAL_LOCK = Name("journal/<id>.lock", "lock", erase="link")
_JOURNAL_NEW = Name("journal/<id>.new", "jsonl", erase="drop")
_JOURNAL_DAMAGED = Name("journal/<id>.damaged", "jsonl", erase="link")
SESSION = Name("session", "json")

# The gate

LEDGER = Name("ledger", "json", deletable=False)
HELD = Name("held/<id>", "json", deletable=False)
PULLED = Name("pulled", "text", deletable=False)

# Search

INDEX = Name("index.db", "sqlite", erase="drop")
_INDEX_PART = Name("index.db-<part>", "sqlite", erase="drop")
INDEX_NEW = Name("index.new.db", "sqlite", erase="drop")
_INDEX_NEW_PART = Name("index.new.db-<part>", "sqlite", erase="drop")

# Sync and hosts

SYNC = Name("sync/<remote>.json", "json")
HOST_LINK = Name("host/link", "json")
MIRROR = Name("connections/<name>.base", "json", erase="keep")
CONNECTIONS = Name("connections/<agent>.json", "json")
LAST_SEEN = Name("last-seen", "json")
PERSON = "a person"
"""The name under which it is noted what people have looked at."""

TABLE = tuple(value for value in list(globals().values()) if isinstance(value, Name))
"""Every name that gitmem writes or reads below the state directory."""


def name_of(path: str) -> Name | None:
    """Return the row of the table for a path from the state directory; None for what is not gitmem's."""
    return next((name for name in TABLE if name.has(path)), None)


class LocalState:
    """The state directory of one git directory.

    Reading is tolerant: a file that is damaged, or has another shape, reads as if it were not there. Where the disk
    refuses, that holds for what may be deleted; else the error goes on, so that what is still there is not overwritten.
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
            from gitmem.locks import Scratch

            self._scratch = Scratch.of(self.path(TMP))
        return self._scratch.directory

    def sweep(self) -> None:
        """Remove the scratch files of dead processes; the caller holds the bundle lock."""
        from gitmem.locks import sweep

        sweep(self.path(TMP))

    def lock(self, what: str, busy: str, *, hint: str = "") -> Lock:
        """Make a lock of this directory; `busy` is the message where another process has it."""
        from gitmem.locks import Lock

        return Lock(self.path(LOCKS, what), busy, hint=hint)

    def path(self, name: Name, key: str = "") -> str:
        return f"{self.directory}/{name.path(key)}"

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
        from gitmem.files import make_missing, replace_file

        path = self.path(name, key)
        try:
            replace_file(path, data, scratch=self.scratch, durable=durable)
        except FileNotFoundError:
            make_missing(self.directory, os.path.dirname(path))
            replace_file(path, data, scratch=self.scratch, durable=durable)

    def write_new(self, name: Name, files: Mapping[str, bytes]) -> None:
        """Write files by their keys; each gets its name when the bytes of all are on disk."""
        from threading import get_ident

        from gitmem.files import DiskGroup, durable_directory, make_directories

        if not files:
            return
        folder, aside = self.folder(name), os.path.join(self.scratch, f"{os.getpid()}-{get_ident()}")
        make_directories(folder)
        with DiskGroup() as disk:
            for number, data in enumerate(files.values()):
                disk.write(f"{aside}-{number}", data)
            disk.flush()
        for number, key in enumerate(files):
            os.replace(f"{aside}-{number}", self.path(name, key))
        durable_directory(folder)

    def write_text(self, name: Name, text: str, key: str = "", *, durable: bool = False) -> None:
        self.write(name, text.encode(), key, durable=durable)

    def write_json(
        self, name: Name, value: Mapping[str, Any], key: str = "", *, durable: bool = False
    ) -> None:
        import json

        self.write(name, json.dumps(value, indent=1, sort_keys=True).encode(), key, durable=durable)

    def append_line(self, name: Name, line: str, *, durable: bool = False) -> None:
        """Add a line to a file; with `durable` it survives a power cut."""
        from gitmem.files import append_to, make_missing

        path, data = self.path(name), f"{line}\n".encode()
        try:
            append_to(path, data, durable=durable)
        except FileNotFoundError:
            make_missing(self.directory, os.path.dirname(path))
            append_to(path, data, durable=durable)

    def remove(self, name: Name, key: str = "") -> None:
        """Remove a file that may be gone already."""
        try:
            os.unlink(self.path(name, key))
        except FileNotFoundError:
            pass
