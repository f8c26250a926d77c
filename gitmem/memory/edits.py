"""The edits of one commit, collected in memory over the tip they start from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Protocol

from gitmem.errors import InvalidContent
from gitmem.git.tree import Edit, Tree, is_same
from gitmem.okf import layout, pages, paths
from gitmem.okf.pages import LogLine

if TYPE_CHECKING:
    from gitmem.okf.concept import Concept
    from gitmem.okf.entries import Change

# Directories with a generated index.md; sessions have one per month, not one per session.
_INDEXED = ("", "decisions", "memories", "plans", "plans/archive", "sessions", "snapshots", "tools")


class Files(Protocol):
    def read(self, path: str) -> bytes | None: ...
    def __contains__(self, path: str) -> bool: ...


class ListedFiles(Files, Protocol):
    def names(self, directory: str) -> Collection[str]: ...

    def directories(self, directory: str) -> list[str]: ...


class WritableFiles(Files, Protocol):
    def write(self, path: str, data: bytes) -> None: ...


class Edits:
    """Files to write and remove, readable as if they were written already.

    Several operations may add to one `Edits`; together they become one commit or none.
    """

    def __init__(self, tip: Tree) -> None:
        self.tip = tip
        self._keeps_pages = False
        self._refreshed: set[str] = set()
        self._files: dict[str, Edit] = {}
        self._log: list[LogLine] = []
        self._unwanted: list[Callable[[LogLine], bool]] = []
        self.makes_pages = True
        """Whether index.md and log.md are part of the commit."""

    def __bool__(self) -> bool:
        return bool(self._files)

    def read(self, path: str) -> bytes | None:
        """The file as it will be."""
        if path in self._files:
            edit = self._files[path]
            return edit if isinstance(edit, bytes) or edit is None else self.tip.read_entry(edit)
        return self.tip.read(path)

    def __contains__(self, path: str) -> bool:
        return self._files[path] is not None if path in self._files else path in self.tip

    def names(self, directory: str) -> list[str]:
        """Names of files in a directory as it will be, without those below it."""
        found = {name for name, entry in self.tip.names(directory).items() if not entry.is_directory}
        for path, edit in self._files.items():
            parent, _, name = path.rpartition("/")
            if parent == directory:
                (found.discard if edit is None else found.add)(name)
        return sorted(found)

    def directories(self, directory: str) -> list[str]:
        """Names of directories in a directory as it will be."""
        prefix = directory + "/" if directory else ""
        found = {name for name, entry in self.tip.names(directory).items() if entry.is_directory}
        doubtful: set[str] = set()
        for path, edit in self._files.items():
            if path.startswith(prefix) and "/" in path[len(prefix) :]:
                (doubtful if edit is None else found).add(path[len(prefix) :].partition("/")[0])
        return sorted(name for name in found if name not in doubtful or self._has_files(prefix + name))

    def _has_files(self, directory: str) -> bool:
        written = any(
            path.startswith(directory + "/") and edit is not None and not layout.is_generated(path)
            for path, edit in self._files.items()
        )
        return written or any(
            path not in self._files and not layout.is_generated(path) for path, _ in self.tip.files(directory)
        )

    def paths(self) -> list[str]:
        """The files touched so far."""
        return sorted(self._files)

    def write(self, path: str, data: bytes | None) -> None:
        """Set a file's content; None takes it out. Path and OKF rules are checked here: no caller can forget."""
        if data is None:
            self.remove(path)
            return
        from gitmem.okf import validate  # brings YAML, which a command that only reads does without

        paths.check_path(path)
        for violation in validate.check_file(path, data):
            raise InvalidContent(f"{violation.path} cannot be stored: {violation.reason}")
        self._files[path] = data

    def write_concept(self, path: str, concept: Concept) -> None:
        """Set a file to a concept, which keeps OKF's rules by being one; its path is checked here."""
        paths.check_path(path)
        self._files[path] = concept.render()

    def remove(self, path: str) -> None:
        self._files[path] = None

    def put(self, path: str, edit: Edit) -> None:
        """Set a file to what is in the history already, as it is."""
        self._files[path] = edit

    def differs(self) -> bool:
        """Return whether any file would be other than at the tip."""
        return any(not is_same(edit, self.tip.entry(path)) for path, edit in self._files.items())

    def changes(self) -> list[Change]:
        """Return what these edits do, entry by entry."""
        from gitmem.okf.comparison import compare  # brings YAML, as in `write`

        before = {path: data for path in self._files if (data := self.tip.read(path)) is not None}
        after = {path: data for path in self._files if (data := self.read(path)) is not None}
        return compare(before, after)

    def log(self, lines: Iterable[LogLine]) -> None:
        """Lines for log.md, in a commit that makes the pages."""
        self._log += lines

    def keep_pages(self) -> None:
        """Make no page again: the edits bring their own."""
        self._keeps_pages = True

    def refresh_pages(self, changed: Iterable[str]) -> None:
        """Make the index pages above these paths again, also where no name changed here."""
        self._refreshed.update(changed)

    def drop_log_lines(self, unwanted: Callable[[LogLine], bool]) -> None:
        """Take lines out of log.md, also those that this commit would add."""
        self._unwanted.append(unwanted)

    def finished(self) -> dict[str, Edit]:
        """All files of the commit, generated pages included."""
        if self.makes_pages and not self._keeps_pages:
            self._make_log()
            for directory in sorted(self._listed(), reverse=True):
                self._make_index(directory)
        return self._files

    def _make_log(self) -> None:
        if not self._log and not self._unwanted:
            return
        lines = [*pages.parse_log(self.read(layout.LOG) or b""), *self._log]
        kept = [line for line in lines if not any(unwanted(line) for unwanted in self._unwanted)]
        if kept or layout.LOG in self:
            self._files[layout.LOG] = pages.log_page(kept)

    def _make_index(self, directory: str) -> None:
        path = f"{directory}/{layout.INDEX}" if directory else layout.INDEX
        names = [name for name in self.names(directory) if name != layout.INDEX]
        below = self.directories(directory)
        if names or below or not directory:
            made = pages.index_page(directory, names, below)
            if made != self.read(path):
                self._files[path] = made
        elif path in self:
            self._files[path] = None

    def _listed(self) -> set[str]:
        """Directories whose list of names may have changed since their page was made."""
        found = {""}
        for path in {*self._files, *self._refreshed}:
            if layout.is_generated(path):
                continue
            parent = path.rpartition("/")[0]
            while parent:
                if _is_indexed(parent):
                    found.add(parent)
                parent = parent.rpartition("/")[0]
        return found


def _is_indexed(directory: str) -> bool:
    if directory.startswith("sessions/"):  # a month, or a day
        return directory.count("/") < 3
    return directory in _INDEXED or directory.startswith("plans/archive/")
