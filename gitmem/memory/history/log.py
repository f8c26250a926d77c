"""History in the unit people think in: which entries came, went and changed, when and by whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError, UnknownRevision
from gitmem.git import commit_graph as graph
from gitmem.git.message import kind_of, trailer_value, trailers_of
from gitmem.git.objects import Commit, Oid
from gitmem.git.refs import BRANCH
from gitmem.git.tree import Tree, TreeDiff
from gitmem.memory.provenance import Provenance
from gitmem.okf.plain import Printed, brief, plain

if TYPE_CHECKING:
    from gitmem.index.lookup import CommitRow
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.indexing import Index
    from gitmem.okf.entries import Change
    from gitmem.okf.learned import Learned


@dataclass(frozen=True, slots=True)
class LogEntry(Printed):
    """One commit as people read it."""

    commit: Commit
    kind: str
    trailers: dict[str, tuple[str, ...]]
    pulled_from: str = ""
    """The remote it came from; what it says of machine, session, source and kind is a claim then."""

    @classmethod
    def of(cls, commit: Commit, provenance: Provenance) -> LogEntry:
        message = plain(commit.message)
        came_from = provenance.pulled_from(commit.oid)
        return cls(commit, kind_of(message), trailers_of(message), came_from)

    @property
    def id(self) -> str:
        return self.commit.oid

    @property
    def subject(self) -> str:
        return plain(self.commit.subject)

    @property
    def at(self) -> str:
        from gitmem.okf.timestamps import of_seconds, stamp

        return stamp(of_seconds(self.commit.made))

    @property
    def session(self) -> str:
        return self.first("Session")

    @property
    def agent(self) -> str:
        return self.first("Agent")

    @property
    def machine(self) -> str:
        return self.first("Machine")

    @property
    def reason(self) -> str:
        return self.first("Reason")

    @property
    def source(self) -> str:
        return self.first("Source")

    @property
    def brings_back(self) -> bool:
        """Say whether what it added was here before: an undo, redo, revert or restore is the source of nothing."""
        return self.kind in ("revert", "restore")

    def first(self, trailer: str) -> str:
        return self.trailers.get(trailer, ("",))[0]

    def __repr__(self) -> str:
        session = f" (session {self.session})" if self.session else ""
        return f"<LogEntry {self.id[:8]} {self.at} {self.subject}{session}>"


Sides = dict[str, tuple[bytes | None, bytes | None]]
"""Files that differ, as they were before and after; None where there was none."""


@dataclass(frozen=True)
class Diff(Printed):
    """Differences between two states, entry by entry; iterate it for the changes."""

    old: Oid | None
    new: Oid | None
    """The two commits; None for both where it is about the work tree, or about a session."""
    runs: tuple[Sides, ...] = field(repr=False)
    """What differs in each run of a session's commits; one, where it is not about a session."""
    session: str = ""
    folded: bool = False
    """Whether what came and went again within it is left out."""
    taken_in_at: str = ""
    """When hand edits would be committed, where it is about the work tree."""

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        runs = (_taken_in(run, self.taken_in_at) for run in self.runs) if self.taken_in_at else self.runs
        found = [change for run in runs for change in _compare(run)]
        if self.folded:
            from gitmem.okf.comparison import fold

            found = fold(found)
        return tuple(found)

    @cached_property
    def learned(self) -> Learned:
        """Return what was learned, apart from the record; see `okf/learned.py`."""
        from gitmem.okf.learned import learned

        return learned(self.changes)

    def unified(self) -> Iterator[str]:
        """The lines of a unified diff."""
        for run in self.runs:
            for path, (old, new) in run.items():
                yield from unified_lines(path, old, new)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __repr__(self) -> str:
        told = "".join(f"\n  {change!r}" for change in self.changes)
        return brief(self, old=(self.old or "")[:8], new=(self.new or "")[:8], changes=len(self)) + told


@dataclass(frozen=True, slots=True)
class ShownCommit(Printed):
    """A commit, and what it did where it was made."""

    entry: LogEntry
    diff: Diff

    def __repr__(self) -> str:
        return f"{self.entry!r} {self.diff!r}"


@dataclass(frozen=True, slots=True)
class LogFilter:
    """A filter of commits; an empty field lets all through, of several values each does."""

    kind: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    @property
    def trailers(self) -> dict[str, tuple[str, ...]]:
        """The trailers of which a commit must have one of the values, where there are any."""
        return {"Session": self.session, "Agent": self.agent, "Machine": self.machine}

    def takes(self, entry: LogEntry) -> bool:
        moment = entry.commit.made
        return (
            (not self.kind or entry.kind in self.kind)
            and all(_has(entry, trailer, values) for trailer, values in self.trailers.items())
            and (self.since is None or moment >= self.since.timestamp())
            and (self.until is None or moment <= self.until.timestamp())
        )


def _has(entry: LogEntry, trailer: str, values: tuple[str, ...]) -> bool:
    return not values or not {*map(trailer_value, values)}.isdisjoint(entry.trailers.get(trailer, ()))


class History:
    """The history of one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._repository = bundle.repository
        # Kept. Buys "`diff --session` / `git diff` of the two trees": the next question is about trees nearby.
        self._diff = TreeDiff(bundle.repository.store)

    def log(
        self, wanted: LogFilter | None = None, *, start: str = "HEAD", text: str = ""
    ) -> Iterator[LogEntry]:
        """Commits, newest first; with a text, those that brought or took an entry with it."""
        wanted = wanted or LogFilter()
        found = self.told(self._candidates(wanted, start))
        return (
            entry
            for entry in found
            if wanted.takes(entry) and (not text or self._mentions(entry.commit, text))
        )

    def _candidates(self, wanted: LogFilter, start: str) -> Iterable[Commit]:
        """Commits among which those that are wanted will be: by the index where it helps, else all."""
        tip = self._bundle.resolve(start)
        if wanted.path:
            return self._touching(wanted.path, tip)
        for trailer, values in wanted.trailers.items():
            if len(values) == 1 and tip == self._bundle.tip:
                value = trailer_value(values[0])
                known = self._from_index(lambda index, t=trailer, v=value: index.commits_with(t, v))  # type: ignore[misc]
                return graph.walk(self._repository, tip) if known is None else known
        return graph.walk(self._repository, tip)

    def touching(self, path: str, *, start: str = "HEAD") -> Iterator[LogEntry]:
        """Commits that changed a file, newest first, also those that came by a merge."""
        return self.told(self._touching((path,), self._bundle.resolve(start)))

    def told(self, commits: Iterable[Commit]) -> Iterator[LogEntry]:
        """Commits as people read them."""
        provenance = Provenance(self._repository)
        return (LogEntry.of(commit, provenance) for commit in commits)

    def _touching(self, paths: tuple[str, ...], tip: Oid) -> Iterable[Commit]:
        known = None
        if len(paths) == 1 and tip == self._bundle.tip:
            known = self._from_index(lambda index: index.commits_touching(paths[0]))
        if known is not None:
            return known
        return (
            commit
            for commit in graph.walk(self._repository, tip)
            if any(graph.touches(self._repository, commit, path) for path in paths)
        )

    def _from_index(self, ask: Callable[[Index], list[CommitRow]]) -> list[Commit] | None:
        """Return what the index knows of commits; None where it cannot be asked, for history needs no index.

        Buys "history of one path / `git log --raw -- PATH`".
        """
        from gitmem.memory.indexing import Indexing

        try:
            return [
                self._repository.store.commit(row.oid) for row in ask(self._bundle.part(Indexing).current())
            ]
        except GitMemError:
            return None

    def versions(self, path: str) -> Iterator[bytes | None]:
        """Yield what a file was after each commit that changed it, newest first; None where it was gone."""
        for entry in self.touching(path):
            yield self._repository.tree(entry.commit.oid).read(path)

    def entry(self, revision: str) -> LogEntry:
        return next(self.told([self._repository.store.commit(self._bundle.resolve(revision))]))

    def show(self, revision: str) -> ShownCommit:
        entry = self.entry(revision)
        return ShownCommit(entry, self.of_commit(entry.commit))

    def knowledge_of(self, commits: Sequence[Commit]) -> Diff:
        """Return what some commits (newest first) did to what is known, taken together; the record is not even read."""
        return Diff(None, None, self._runs(commits, knowledge=True), folded=True)

    def between(self, old: Oid | None, new: Oid | None, path: str = "") -> Diff:
        """Return what differs in `new`, entry by entry; None stands for the empty tree."""
        return Diff(old, new, (self._sides(self._repository.tree(old), self._repository.tree(new), path),))

    def before(self, commit: Commit) -> Oid | None:
        """Return where `main` stood before a commit; of a merge's parents, the one that was here."""
        if len(commit.parents) > 1:
            for old, new, _ in self._repository.refs.moves(BRANCH):
                if new == commit.oid and old in commit.parents:
                    return old
        return commit.parents[0] if commit.parents else None

    def sides(self, commit: Commit) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """The files that a commit changed, as they were before and after it."""
        old, new = self.before(commit), commit.oid
        return _apart(self._sides(self._repository.tree(old), self._repository.tree(new)))

    def _sides(self, old: Tree, new: Tree, path: str = "", *, knowledge: bool = False) -> Sides:
        """The files that differ between two trees, on both sides; all, or those that hold what is known."""
        from gitmem.okf import layout

        return {
            change.path: (
                old.read_entry(change.old) if change.old else None,
                new.read_entry(change.new) if change.new else None,
            )
            for change in self._diff.below(path, old.entry(path), new.entry(path))
            if not (knowledge and layout.is_record(change.path))
        }

    def of_commit(self, commit: Commit, path: str = "") -> Diff:
        """Return what one commit did, where it was made."""
        return self.between(self.before(commit), commit.oid, path)

    def _mentions(self, commit: Commit, text: str) -> bool:
        """Return whether a commit brought or took an entry with this text."""
        diff = self.of_commit(commit)
        needle = text.encode("utf-8", "surrogatepass")
        if not any(data and needle in data for sides in diff.runs[0].values() for data in sides):
            return False
        return any(text in entry.text for change in diff for entry in (change.old, change.new) if entry)

    def of_session(self, session: str, path: str = "") -> Diff:
        """Return what one session did in all its commits, whatever others did in between."""
        commits = [entry.commit for entry in self.log(LogFilter(session=(session,)))]
        if not commits:
            raise UnknownRevision(
                f"No commit belongs to a session {session!r}.", hint="List sessions with `gitmem log`."
            )
        return Diff(None, None, self._runs(commits, path), session, folded=True)

    def _runs(
        self, commits: Sequence[Commit], path: str = "", *, knowledge: bool = False
    ) -> tuple[Sides, ...]:
        """The changes of each run of commits (newest first) that follow one another, the oldest first.

        A run is compared as a whole: what happens inside it and is undone there need not be read.
        """
        runs: list[tuple[Commit, Commit]] = []
        for commit in reversed(commits):
            if runs and commit.parents == (runs[-1][1].oid,):
                runs[-1] = runs[-1][0], commit
            else:
                runs.append((commit, commit))
        tree = self._repository.tree
        return tuple(
            self._sides(tree(self.before(first)), tree(last.oid), path, knowledge=knowledge)
            for first, last in runs
        )

    def of_work_tree(self, path: str = "") -> Diff:
        """Return what a person changed since the tip and nobody has committed."""
        tree = self._bundle.tree()
        found: Sides = {}
        for edit in sorted(self._bundle.hand_edits(), key=lambda edit: edit.path):
            if path and edit.path != path and not edit.path.startswith(path.rstrip("/") + "/"):
                continue
            found[edit.path] = tree.read(edit.path), edit.data
        return Diff(None, None, (found,), taken_in_at=self._bundle.now())


def _taken_in(sides: Sides, at: str) -> Sides:
    """The sides with § files as a commit would write them: it sees which new text takes the place of which old one."""
    from gitmem.okf.curated import CuratedFile
    from gitmem.okf.files import open_file

    found = dict(sides)
    for path, (old, new) in sides.items():
        file = open_file(path, new).content
        if isinstance(file, CuratedFile) and old is not None:
            found[path] = old, file.taken_in(CuratedFile.parse_leniently(old, path), at).render()
    return found


def _compare(sides: Sides) -> list[Change]:
    if not sides:
        return []
    from gitmem.okf.comparison import compare  # brings YAML, which `log` does without

    return compare(*_apart(sides))


def _apart(sides: Sides) -> tuple[dict[str, bytes], dict[str, bytes]]:
    before = {path: old for path, (old, _) in sides.items() if old is not None}
    after = {path: new for path, (_, new) in sides.items() if new is not None}
    return before, after


def unified_lines(path: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    """One file's difference as lines of a unified diff."""
    import difflib

    before, after = (
        [] if side is None else side.decode("utf-8", "replace").splitlines(keepends=True)
        for side in (old, new)
    )
    names = "/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}"
    for line in difflib.unified_diff(before, after, *names):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
