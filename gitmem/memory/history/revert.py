"""Undo: take back what some commits did, entry by entry, and keep everything that was learned since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.git.ancestry import only_in
from gitmem.git.message import Message, kind_of
from gitmem.git.objects import Commit
from gitmem.git.refs import BRANCH
from gitmem.memory.edits import Edits, Files
from gitmem.memory.gate.admission import Admission, is_retracted
from gitmem.memory.history.log import History
from gitmem.memory.provenance import Origin
from gitmem.okf import entries as okf
from gitmem.okf import frontmatter, layout, pages
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import Change, Entry, EntryKey
from gitmem.okf.events import Event, EventsFile

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.memory.bundle import Bundle

_UNDOABLE = ("restore", "revert", "merge")
_UNDO_SOURCE = "undo"


@dataclass(slots=True)
class Reverted:
    """What a revert did, or would do."""

    commits: tuple[Commit, ...]
    changes: list[Change] = field(default_factory=list)
    """What differs afterwards, in entries."""
    kept: list[str] = field(default_factory=list)
    """Sentences on what stays, because someone changed it since."""
    published: Published | None = None


class Undo:
    """Taking back, on one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def revert(
        self,
        commits: Sequence[Commit],
        *,
        origin: Origin,
        dry_run: bool = False,
        retracting: bool = True,
        what: str = "",
    ) -> Reverted:
        """The inverse of these commits (newest first), laid over the present as one commit.

        Entries they added go, entries they removed come back, entries they changed go back unless
        someone changed them since. What goes is retracted, so that no merge brings it back.
        """
        done = Reverted(tuple(commits))

        def work(edits: Edits) -> Message | None:
            done.kept.clear()
            inverse = _Inverse(edits, done.kept)
            for commit in commits:
                inverse.apply(*self._bundle.part(History).sides(commit))
            if retracting:
                admission = Admission(self._bundle, edits, origin=origin)
                for path, entry in inverse.gone(edits):
                    admission.retract(entry, path, state="reverted")
            for path in edits.paths():
                self._dig(edits, path)
            self._mend_log(edits, commits)
            done.changes = edits.changes()
            if not done.changes:  # pages that gitmem makes are not worth a commit of their own
                return None
            reverts = tuple(commit.oid for commit in commits)
            return Message("revert", what or _subject(commits), {"Reverts": reverts})

        if dry_run:
            work(Edits(self._bundle.tree()))
        else:
            done.published = self._bundle.commit(work, purpose="revert", origin=origin)
        return done

    def undo(self, *, origin: Origin, dry_run: bool = False, kinds: Sequence[str] = _UNDOABLE) -> Reverted:
        """Take back the last restore, revert or merge that was not taken back already."""
        taken_back: set[str] = set()
        if "merge" in kinds and (forwarded := self._forwarded()):
            what = f"undo a sync that brought {len(forwarded)} commits"
            origin = replace(origin, source=_UNDO_SOURCE)
            return self.revert(forwarded, origin=origin, dry_run=dry_run, retracting=False, what=what)
        for entry in self._bundle.part(History).log():
            taken_back.update(entry.trailers.get("Reverts", ()))
            is_undo = _UNDO_SOURCE in entry.trailers.get("Source", ())
            if entry.kind in kinds and entry.commit.oid not in taken_back and not is_undo:
                origin = replace(origin, source=_UNDO_SOURCE)
                what = f"undo {entry.commit.subject}"
                return self.revert(
                    [entry.commit], origin=origin, dry_run=dry_run, retracting=False, what=what
                )
        raise UnknownRevision(f"There is no {' or '.join(kinds)} to take back.")

    def _forwarded(self) -> list[Commit]:
        """Commits that the last move of `main` brought, where that was a sync without a merge commit."""
        repository = self._bundle.repository
        old, new, message = next(repository.refs.moves(BRANCH), ("", "", ""))
        if new != self._bundle.tip or not message.startswith("merge:") or old not in repository.store:
            return []
        if kind_of(repository.store.commit(new).message) == "merge":
            return []
        return [repository.store.commit(oid) for oid in only_in(repository, new, old)]

    def _dig(self, edits: Edits, path: str) -> None:
        """Where what came back was itself taken back before, go further back, to something honest."""
        data = edits.read(path)
        if data is None or path.startswith("retractions/") or layout.is_generated(path):
            return
        if okf.kind_of(path, data) == "curated":
            file = CuratedFile.salvage(data, path)
            for entry in file.entries:
                if is_retracted(edits, entry.key):
                    file = file.remove(entry.key.id)
                    older = self._honest_ancestor(edits, path, entry)
                    file = file.with_entries((*file.entries, older)) if older is not None else file
            if file.entries != CuratedFile.salvage(data, path).entries:
                edits.write(path, file.render())
        elif okf.kind_of(path, data) in ("concept", "blob") and _is_taken_back(edits, path, data):
            for version in self._bundle.part(History).versions(path):
                if version is not None and not _is_taken_back(edits, path, version):
                    edits.put(path, version)
                    return
            edits.remove(path)

    def _honest_ancestor(self, edits: Edits, path: str, entry: Entry) -> Entry | None:
        """The nearest wording that an entry replaced, directly or not, and that was not taken back."""
        wanted = entry.replaces
        for version in self._bundle.part(History).versions(path) if wanted else ():
            found = CuratedFile.salvage(version or b"", path).get(wanted)
            if found is not None:
                if not is_retracted(edits, found.key):
                    return found
                wanted = found.replaces
        return None

    def _mend_log(self, edits: Edits, commits: Iterable[Commit]) -> None:
        """Lines of log.md that came with these commits go, lines that a restore or revert took come back."""
        added: set[tuple[str, str]] = set()
        for commit in commits:
            before = self._bundle.repository.tree(commit.parents[0] if commit.parents else None)
            after = self._bundle.repository.tree(commit.oid)
            if before.entry(layout.LOG) == after.entry(layout.LOG):
                continue
            old = {(line.at, line.id): line for line in pages.parse_log(before.read(layout.LOG) or b"")}
            new = {(line.at, line.id): line for line in pages.parse_log(after.read(layout.LOG) or b"")}
            added |= new.keys() - old.keys()
            if kind_of(commit.message) in _UNDOABLE:
                edits.log(line for key, line in old.items() if key not in new)
                edits.want_log()
        if added and layout.LOG in edits:
            edits.drop_log_lines(lambda line: (line.at, line.id) in added)


class _Inverse:
    """Changes undone one after the other on the edits of one commit."""

    def __init__(self, edits: Edits, kept: list[str]) -> None:
        self._edits = edits
        self._kept = kept
        self._removed: list[tuple[str, Entry]] = []

    def apply(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
        """Take back what led from `before` to `after`.

        A file that nobody touched since goes back to the byte; in any other, entry by entry.
        """
        whole = {
            path
            for path in before.keys() | after.keys()
            if self._edits.read(path) == after.get(path) and not _is_index(path)
        }
        for change in reversed(okf.compare(before, after)):
            if change.path in whole and (not change.from_path or change.from_path in whole):
                if change.new is not None:
                    self._removed.append((change.path, change.new))
            else:
                whole.discard(change.from_path)
                whole.discard(change.path)
                self._undo(change)
        for path in whole:
            if path in before:
                self._edits.put(path, before[path])
            else:
                self._edits.remove(path)

    def gone(self, edits: Edits) -> list[tuple[str, Entry]]:
        """What was taken out and is gone in the end: entries, bodies and whole files.

        Front matter values are not retracted (`open` may well come back), nor retractions.
        """
        found = []
        for path, entry in self._removed:
            data = edits.read(path)
            if entry.key.space == "meta" or (entry.key.space == "body" and data is None):
                continue
            if not path.startswith("retractions/") and not (
                data is not None and okf.holds(path, data, entry)
            ):
                found.append((path, entry))
        return found

    def _undo(self, change: Change) -> None:
        subject = change.new or change.old
        assert subject is not None
        space = subject.key.space
        if space == "§":
            self._undo_section(change)
        elif space == "event":
            self._undo_event(change)
        elif space == "concept":
            self._undo_concept(change)
        elif space == "blob":
            self._undo_blob(change)
        else:
            self._undo_part(change)

    def _undo_section(self, change: Change) -> None:
        path = change.path
        data = self._edits.read(path)
        file = CuratedFile.salvage(data or b"", path)
        old, new = change.old, change.new
        if change.op == "move":
            assert old is not None
            assert new is not None
            if file.get(new.key.id) is not None:
                self._write_sections(path, file.remove(new.key.id))
                source = CuratedFile.salvage(self._edits.read(change.from_path) or b"", change.from_path)
                self._write_sections(change.from_path, source.with_entries((*source.entries, old)))
            return
        if new is not None:
            if file.get(new.key.id) is None:
                self._removed.append((path, new))
                if old is not None:
                    self._kept.append(
                        f"{path}: changed again since, so the later wording stays ({_short(old)})."
                    )
                return
            file = file.remove(new.key.id)
            self._removed.append((path, new))
        if old is not None:
            file = file.with_entries((*file.entries, old))
        self._write_sections(path, file)

    def _write_sections(self, path: str, file: CuratedFile) -> None:
        if not file.entries and self._edits.began_without(path):
            self._edits.remove(path)
        else:
            self._edits.write(path, file.render())

    def _undo_event(self, change: Change) -> None:
        data = self._edits.read(change.path)
        file = EventsFile.parse(data, change.path) if data is not None else None
        if change.new is not None and file is not None:
            left = file.without({change.new.key.id})
            if left == file:
                return
            self._removed.append((change.path, change.new))
            if left.events:
                self._edits.write(change.path, left.render())
            else:
                self._edits.remove(change.path)
        if change.new is None and change.old is not None:
            back = Event(
                change.old.key.id,
                change.old.kind,
                change.old.at,
                {k: str(v) for k, v in change.old.extra.items()},
            )
            file = file or EventsFile.new()
            self._edits.write(change.path, file.append([back]).render())

    def _undo_concept(self, change: Change) -> None:
        path = change.path
        present = self._edits.read(path)
        if change.op == "move":
            if present is not None and change.from_path not in self._edits:
                self._edits.remove(path)
                self._edits.write(change.from_path, present)
        elif change.new is not None:
            if present is None:
                return
            self._removed.append((path, change.new))
            if not okf.holds(path, present, change.new):
                self._kept.append(f"{path}: rewritten since, so it stays.")
                return
            self._edits.remove(path)
        elif change.old is not None and present is None:
            self._edits.write(path, change.old.source)

    def _undo_blob(self, change: Change) -> None:
        present = self._edits.read(change.path)
        if change.new is not None:
            if present is None:
                return
            self._removed.append((change.path, change.new))
            if present != change.new.source:
                self._kept.append(f"{change.path}: rewritten since, so it stays.")
                return
        elif present is not None:
            return
        if change.old is None:
            self._edits.remove(change.path)
        else:
            self._edits.write(change.path, change.old.source)

    def _undo_part(self, change: Change) -> None:
        """A front matter key or the body of a concept that both sides have."""
        data = self._edits.read(change.path)
        if data is None:
            return
        present = okf.parts_of(change.path, data)
        subject = change.new or change.old
        assert subject is not None
        now = present.get(subject.key)
        wanted = change.new.text if change.new is not None else None
        if change.new is not None:
            self._removed.append((change.path, change.new))
        if (now.text if now is not None else None) != wanted:
            self._kept.append(f"{change.path}: {_name(subject.key)} was changed again since, so it stays.")
            return
        concept = Concept.parse(data, change.path)
        if subject.key.space == "body":
            concept = concept.with_body(change.old.text if change.old is not None else "")
        else:
            value = frontmatter.load_value(change.old.text) if change.old is not None else None
            concept = concept.with_meta(**{subject.key.id: value})
        self._edits.write(change.path, concept.render())


def _is_taken_back(files: Files, path: str, data: bytes) -> bool:
    """Whether what a file says was retracted, as a whole file or as its text."""
    body = okf.body_of(path, data)
    whole = okf.whole_of(path, data).key
    return is_retracted(files, whole, path, body) or is_retracted(files, EntryKey("body", ""), path, body)


def _is_index(path: str) -> bool:
    """Index pages follow from names and are made again."""
    return path.rpartition("/")[2] == layout.INDEX


def _name(key: EntryKey) -> str:
    return "its text" if key.space == "body" else f"`{key.id}`"


def _short(entry: Entry) -> str:
    return entry.text if len(entry.text) <= 60 else entry.text[:59] + "…"


def _subject(commits: Sequence[Commit]) -> str:
    if len(commits) == 1:
        return commits[0].subject
    return f"{len(commits)} commits, the newest {commits[0].subject}"
