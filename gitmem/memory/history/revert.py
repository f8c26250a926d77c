"""Undo: take back what some commits did, entry by entry, and keep everything that was learned since."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision, UsageError
from gitmem.git.commit_graph import is_ancestor, only_in
from gitmem.git.message import Message, kind_of, trailers_of
from gitmem.git.objects import Commit, Oid
from gitmem.git.refs import BRANCH
from gitmem.memory.edits import Edits, Files
from gitmem.memory.gate.admission import Admission
from gitmem.memory.gate.ledger import Ledger
from gitmem.memory.history.impact import Derived, Place
from gitmem.memory.history.log import History, LogEntry, LogFilter
from gitmem.memory.history.persons_removals import leave_out
from gitmem.memory.log_page import fact_line, since_pages
from gitmem.memory.origin import Origin
from gitmem.memory.provenance import Provenance
from gitmem.memory.retraction import is_retracted, retracted_units, says_retracted
from gitmem.notices import Notice
from gitmem.okf import layout, pages
from gitmem.okf.comparison import compare
from gitmem.okf.concept import Concept
from gitmem.okf.entries import BODY, CONCEPT, Change, Entry, EntryKey, retraction_hash
from gitmem.okf.files import EntryFile, open_file
from gitmem.okf.plain import Printed, brief, shortened

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.memory.bundle import Bundle

_FINAL = ("init", "session", "snapshot", "erase")
"""Kinds of commits that an undo passes over: they change nothing that is known, or cannot be taken back."""
_RECORDING = ("flush", "compress", "recover")
"""Kinds of commits whose conversations stay on record when what they learned is taken back."""
_OWN_LINES = ("session:", "plan:", "skill:")
"""How the ids of lines begin that a commit writes about itself; others are about events and facts."""
_OLD_LINES = ("restore", "revert", "merge", "import")
"""Kinds of commits that may have taken lines out of log.md."""
_AFTER_A_SYNC = ("merge", "archive")
"""Kinds of the commits with one parent that a sync makes when all is joined."""
IMPORT_RUN = "import-run:"
"""What the commits of one import have as a source, with the id of that run."""
_JOINS = ("merge", "pull", "sync")
"""How the reflog begins where `main` was joined with something, by gitmem or by git."""
_Move = tuple[Oid, Oid]
_ALL: Mapping[Oid, frozenset[Place]] = {}
_UNDO, _REDO = "undo", "redo"
"""What an undo and a redo leave in their commit as its source."""


@dataclass(frozen=True, slots=True)
class Reverted(Printed):
    """Result of a revert, or of its dry run."""

    commits: tuple[Commit, ...]
    changes: tuple[Change, ...] = ()
    """What differs afterwards, in entries."""
    kept: tuple[Notice, ...] = ()
    """What stays, because someone changed it since."""
    published: Published | None = None
    derived: tuple[Derived, ...] = ()
    """What follows from these entries, the oldest first; `taken` or not."""
    dry_run: bool = False
    undone: Undoable | None = None
    """The change that an undo took back."""

    @property
    def commit(self) -> str:
        """The commit that this made; empty where it changed nothing."""
        return self.published.commit.oid if self.published else ""

    def __repr__(self) -> str:
        return brief(self, commits=len(self.commits), changes=len(self.changes), commit=self.commit[:8])


@dataclass(frozen=True, slots=True)
class Undoable(Printed):
    """One change that an undo can take back."""

    entry: LogEntry
    """Its last commit: who made it, when and in which session."""
    commits: tuple[Commit, ...]
    """All of its commits, newest first."""
    what: str
    moves: tuple[_Move, ...] = ()
    """Where `main` moved, for a sync."""
    remote: str = ""

    def __repr__(self) -> str:
        return brief(self, what=repr(self.what), commit=self.entry.id[:8], at=self.entry.at)


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
        picks: Mapping[Oid, frozenset[Place]] = _ALL,
        within: Callable[[str], bool] | None = None,
    ) -> Reverted:
        """The inverse of these commits (newest first), laid over the present as one commit.

        `picks` names the entries of a commit that are meant, where not all are; `within` says which files are. Entries
        they added go, entries they removed come back, entries they changed go back unless someone changed them since.
        What goes is retracted, so that no merge brings it back. Without `retracting` the new commit names also those of
        which only a part was meant.
        """
        commits = [commit for commit in commits if commit.parents]  # the first one is the bundle itself
        if not commits:
            raise UnknownRevision("The commit that began a bundle cannot be taken back.")
        kept: list[Notice] = []
        changes: list[Change] = []
        partly = frozenset(picks) if within is None else frozenset(commit.oid for commit in commits)

        def work(edits: Edits) -> Message | None:
            nonlocal changes
            kept.clear()
            inverse = _Inverse(edits, kept)
            for commit in commits:
                before, after = self._bundle.part(History).sides(commit)
                if within is not None:
                    before, after = (
                        {path: data for path, data in side.items() if within(path)}
                        for side in (before, after)
                    )
                inverse.apply(before, after, picks.get(commit.oid))
            self._keep_pages_in_use(edits, inverse, commits)
            self._release_taken_back(edits, origin)
            if retracting:
                admission = Admission(self._bundle, edits, origin=origin)
                for path, entry in inverse.gone(edits):
                    admission.retract(entry, path, state="reverted")
            for path in edits.paths():
                self._skip_reverted_versions(edits, path)
            kept.extend(leave_out(self._bundle, edits, origin))
            whole = [commit for commit in commits if commit.oid not in partly]
            self._mend_log(edits, commits, partly, inverse.removed)
            changes = edits.changes()
            if not changes:  # pages that gitmem makes are not worth a commit of their own
                return None
            reverts = tuple(commit.oid for commit in (whole if retracting else commits))
            return Message("revert", what or _subject(commits), {"Reverts": reverts})

        published = None
        if dry_run:
            work(Edits(self._bundle.tree()))
        else:
            published = self._bundle.commit(work, purpose="revert", origin=origin)
        return Reverted(tuple(commits), tuple(changes), tuple(kept), published, dry_run=dry_run)

    def undo(self, *, origin: Origin, dry_run: bool = False) -> Reverted:
        """Take back the last change that was not taken back already, whatever it was."""
        change = next(self.undoable(), None)
        if change is None:
            raise UnknownRevision("Nothing to undo.")
        origin = replace(origin, source=_UNDO)
        done = self._take_back(change, origin, dry_run=dry_run)
        if not done.changes:  # to anybody else it is worth an undo
            raise UsageError(
                f"A person made the last change ({change.what}), and an agent does not bring back what a person removed.",
                hint="The person runs `gitmem undo`.",
            )
        return replace(done, undone=change)

    def undoable(self) -> Iterator[Undoable]:
        """Yield what an undo takes back, the newest first; changes of which nothing is left are passed over."""
        for change in self._made():
            by_person = self._bundle.origin(agent=self._bundle.world.person)
            if self._take_back(change, by_person, dry_run=True).changes:
                yield change

    def _take_back(self, change: Undoable, origin: Origin, *, dry_run: bool) -> Reverted:
        if change.moves:
            return self._hide(change, by=origin.agent, dry_run=dry_run)
        return self.revert(
            change.commits,
            origin=origin,
            dry_run=dry_run,
            retracting=False,
            what=f"undo {change.what}",
            within=_is_known if change.entry.kind in _RECORDING else None,
        )

    def _hide(self, change: Undoable, *, by: str, dry_run: bool) -> Reverted:
        """Hide on this machine what a sync brought. Nothing is committed, so nothing is sent: others keep it."""
        ledger = self._bundle.part(Ledger)
        brought = {name: one for name, one in self._brought(change).items() if not ledger.is_hidden(name)}
        if brought and not dry_run:
            entries = {name for name, one in brought.items() if one.key.space == "§"}
            ledger.hide(change.entry.id, change.remote, entries, brought.keys() - entries, by=by)
            self._bundle.report(Notice("sync-hidden", change.remote))
        gone = tuple(replace(one, op="remove", old=one.new, new=None) for one in brought.values())
        return Reverted(change.commits, gone, dry_run=dry_run)

    def _show_again(self, sync: Oid, *, dry_run: bool) -> Reverted:
        """Show what an undo of a sync hid."""
        ledger = self._bundle.part(Ledger)
        change = next((one for one in self._made() if one.moves and one.entry.id == sync), None)
        brought = self._brought(change) if change else {}  # the reflog may have been cleaned
        hidden = tuple(one for name, one in brought.items() if ledger.is_hidden(name))
        if not dry_run:
            ledger.unhide(sync)
        return Reverted(change.commits if change else (), hidden, dry_run=dry_run)

    def _brought(self, change: Undoable) -> dict[str, Change]:
        """The knowledge that a sync brought, by the names under which this machine's ledger knows it."""
        (_, newest), (oldest, _) = change.moves[0], change.moves[-1]
        return {
            _name_here(one.path, one.new): one
            for one in self._bundle.part(History).between(oldest, newest)
            if one.new is not None
            and one.op != "move"
            and not layout.is_record(one.path)
            and not one.path.startswith("retractions/")
        }

    def _made(self) -> Iterator[Undoable]:
        """Yield the changes made on this machine that no later commit took back, the newest first.

        By git's reflog, which says what was done here; what a commit that came says of its kind is a claim.
        """
        repository, provenance = self._bundle.repository, Provenance(self._bundle.repository)
        taken_back: set[str] = set()
        after: list[_Move] = []
        for old, new, message in repository.refs.moves(BRANCH):
            if new in taken_back or new not in repository.store or old not in repository.store:
                continue
            entry = LogEntry.of(repository.store.commit(new), provenance)
            made_here = not entry.pulled_from
            if made_here:
                taken_back |= self._taken_back_by(entry)
            if made_here and entry.kind in _AFTER_A_SYNC and len(entry.commit.parents) == 1:
                after.append((old, new))
                continue
            change = None
            if message.startswith(_JOINS) and (not made_here or len(entry.commit.parents) > 1):
                change = self._sync(entry, [*after, (old, new)])
            elif made_here and entry.kind == "import":
                change = self._import(entry, after)
                taken_back.update(commit.oid for commit in change.commits)
            elif made_here and entry.kind not in _FINAL and not _is(entry, _UNDO) and self._teaches(entry):
                archived = (repository.store.commit(made) for _, made in after)
                what = entry.commit.subject.removeprefix("revert: redo ")
                change = Undoable(entry, (*archived, entry.commit), what)
            after = []
            # A line of the reflog is written before the ref moves, so its commit may never have been published.
            if change is not None and is_ancestor(repository, new, self._bundle.tip):
                yield change

    def _taken_back_by(self, entry: LogEntry) -> set[Oid]:
        """The commits that one took back; for a redo also those that the undo took back: the two are one change."""
        store, found = self._bundle.repository.store, set(entry.trailers.get("Reverts", ()))
        for undo in [oid for oid in found if oid in store] if _is(entry, _REDO) else ():
            found.update(trailers_of(store.commit(undo).message).get("Reverts", ()))
        return found

    def _teaches(self, entry: LogEntry) -> bool:
        """Return whether a commit changed more than the record of conversations."""
        before, after = self._bundle.part(History).sides(entry.commit)
        return any(map(_is_known, before.keys() | after.keys()))

    def _import(self, last: LogEntry, after: list[_Move]) -> Undoable:
        """An import as one change: every commit of its run, and what was archived after it."""
        store = self._bundle.repository.store
        run = next(
            (source for source in last.trailers.get("Source", ()) if source.startswith(IMPORT_RUN)), ""
        )
        commits = [store.commit(made) for _, made in after]
        for entry in self._bundle.part(History).log(start=last.id):
            if entry.id == last.id or (run and run in entry.trailers.get("Source", ())):
                commits.append(entry.commit)
            elif entry.kind != "archive":
                break
        what = last.commit.subject if len(commits) == 1 else f"an import of {len(commits)} commits"
        return Undoable(last, tuple(commits), what)

    def _sync(self, entry: LogEntry, moves: list[_Move]) -> Undoable:
        """A sync as one change: what it brought, and what was kept, held or archived after it.

        A merge of a branch that was made here brought nothing, and is a change like another.
        """
        repository, provenance = self._bundle.repository, Provenance(self._bundle.repository)
        *after, (old, new) = moves
        came = only_in(repository, new, old)
        commits = [repository.store.commit(oid) for oid in (*(made for _, made in after), *came)]
        brought = [remote for oid in came if (remote := provenance.pulled_from(oid))]
        if not brought:
            return Undoable(entry, tuple(commits[: len(after) + 1]), entry.commit.subject)
        many = "1 commit" if len(brought) == 1 else f"{len(brought)} commits"
        what = f"a sync with {brought[0]} that brought {many}"
        return Undoable(entry, tuple(commits), what, tuple(moves), brought[0])

    def _release_taken_back(self, edits: Edits, origin: Origin) -> None:
        """A retraction that an undo takes out is released instead, where others have it: theirs would bring it back."""
        if not self._bundle.repository.refs.under("refs/remotes/"):
            return
        admission = Admission(self._bundle, edits, origin=origin)
        for path in edits.paths():
            if path.startswith("retractions/") and path not in edits and (was := edits.tip.read(path)):
                edits.put(path, was)
                admission.release_retraction(path)

    def redo(self, *, origin: Origin, dry_run: bool = False) -> Reverted:
        """Take back the last undo: what it took back comes again, as a new commit.

        What was learned since stays. A restore or a revert since is a new decision, and ends what can be redone.
        """
        person = self._bundle.world.person
        hidden_at, sync, by = self._bundle.part(Ledger).last_hidden()
        taken_back: set[str] = set()
        for entry in self._bundle.part(History).log():
            if entry.id in taken_back:  # it takes nothing back itself
                continue
            taken_back.update(entry.trailers.get("Reverts", ()))
            if sync and hidden_at >= entry.commit.committer.time:
                if person and by == person != origin.agent:
                    raise UsageError(
                        "A person undid a sync, and an agent does not bring back what a person removed.",
                        hint="The person runs `gitmem redo`.",
                    )
                return self._show_again(sync, dry_run=dry_run)
            if entry.pulled_from:  # another machine's undo is that machine's to take back
                continue
            if _is(entry, _UNDO):
                what = f"redo {entry.commit.subject.removeprefix('revert: undo ')}"
                origin = replace(origin, source=_REDO)
                return self.revert(
                    [entry.commit], origin=origin, dry_run=dry_run, retracting=False, what=what
                )
            if entry.kind in ("restore", "revert") and not _is(entry, _REDO):
                break
        raise UnknownRevision("There is no undo to take back.")

    def _skip_reverted_versions(self, edits: Edits, path: str) -> None:
        """If the restored wording was itself reverted earlier, walk back to the last version that was not."""
        data = edits.read(path)
        if data is None or path.startswith("retractions/") or layout.is_generated(path):
            return
        file = open_file(path, data)
        if file.kind == "curated":
            honest = file
            for entry in file.entries.values():
                if is_retracted(edits, entry.key):
                    older = self._honest_ancestor(edits, path, entry)
                    honest = honest.replacing(entry, older) if older else honest.without({entry.key})
            if honest is not file:
                edits.write(path, honest.render())
        elif file.kind in ("concept", "blob") and _is_taken_back(edits, file):
            for version in self._bundle.part(History).versions(path):
                if version is not None and not _is_taken_back(edits, open_file(path, version)):
                    edits.put(path, version)
                    return
            edits.remove(path)

    def _honest_ancestor(self, edits: Edits, path: str, entry: Entry) -> Entry | None:
        """The nearest wording that an entry replaced, directly or not, and that was not taken back."""
        wanted = entry.replaces
        for version in self._bundle.part(History).versions(path) if wanted else ():
            found = open_file(path, version).holding("§").get(EntryKey("§", wanted))
            if found is not None:
                if not is_retracted(edits, found.key):
                    return found
                wanted = found.replaces
        return None

    def _keep_pages_in_use(self, edits: Edits, inverse: _Inverse, commits: Sequence[Commit]) -> None:
        """Keep the page of a session that goes on: it came with the session's first commit, and others need it."""
        history, reverted = self._bundle.part(History), {commit.oid for commit in commits}
        for path in {path for path, _ in inverse.removed if layout.default_type(path) == layout.SESSION}:
            page = edits.tip.read(path)
            if page is None or path in edits:
                continue
            session = str(Concept.parse(page, path).meta.get("session", ""))
            of_session = history.log(LogFilter(session=(session,)))
            if edits.names(path.removesuffix(".md")) or any(one.id not in reverted for one in of_session):
                edits.write(path, page)
                inverse.removed = [one for one in inverse.removed if one[0] != path]

    def _mend_log(
        self,
        edits: Edits,
        commits: Sequence[Commit],
        partly: Collection[Oid],
        removed: Sequence[tuple[str, Entry]],
    ) -> None:
        """Lines of log.md about what these commits did go, lines that a restore or revert took come back.

        A line may be on the page, or in what this commit would add to it.
        """
        gone: set[str] = set()
        if not all(kind_of(commit.message) in _OLD_LINES for commit in commits):
            gone |= {entry.key.id for _, entry in removed if entry.key.space == "event"}
            gone |= {fact_line(entry.key) for _, entry in removed if entry.key.space == "§"}
        texts = [" ".join(entry.text.split()) for _, entry in removed if entry.key.space in ("§", "concept")]
        for commit in commits:
            if kind_of(commit.message) in _OLD_LINES and commit.parents:
                edits.log(since_pages(self._bundle.repository, commit.parents[0]).lines)
            before = self._bundle.repository.tree(commit.parents[0] if commit.parents else None)
            after = self._bundle.repository.tree(commit.oid)
            if before.entry(layout.LOG) == after.entry(layout.LOG):
                continue
            old = {line.id: line for line in pages.parse_log(before.read(layout.LOG) or b"")}
            new = {line.id: line for line in pages.parse_log(after.read(layout.LOG) or b"")}
            gone |= {
                name
                for name in new.keys() - old.keys()
                if name.startswith(_OWN_LINES)
                and (
                    commit.oid not in partly
                    or any(text in " ".join(new[name].text.split()) for text in texts)
                )
            }
            if kind_of(commit.message) in _OLD_LINES:
                edits.log(line for name, line in old.items() if name not in new)
        edits.drop_log_lines(lambda line: line.id in gone)


class _Inverse:
    """Changes undone one after the other on the edits of one commit."""

    def __init__(self, edits: Edits, kept: list[Notice]) -> None:
        self._edits = edits
        self._kept = kept
        self.removed: list[tuple[str, Entry]] = []
        """What was taken out, whatever is put in its place."""

    def apply(
        self, before: Mapping[str, bytes], after: Mapping[str, bytes], only: frozenset[Place] | None = None
    ) -> None:
        """Take back what led from `before` to `after`, or only these entries of it.

        A file that nobody touched since goes back to the byte; in any other, entry by entry.
        """
        whole = {
            path
            for path in before.keys() | after.keys()
            if self._edits.read(path) == after.get(path) and path.rpartition("/")[2] != layout.INDEX
        }
        if only is not None:
            whole.clear()
        for change in reversed(compare(before, after)):
            if only is not None and (change.path, change.key) not in only:
                continue
            if change.path in whole and (not change.from_path or change.from_path in whole):
                if change.new is not None:
                    self.removed.append((change.path, change.new))
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
        """Return what was taken out and is gone in the end: entries, words about a concept, its text, whole files."""
        found = [(path, entry) for path, entry in self.removed if not path.startswith("retractions/")]
        files = {path: open_file(path, edits.read(path)) for path in {path for path, _ in found}}
        return [(path, entry) for path, entry in found if not files[path].holds(entry)]

    def _undo(self, change: Change) -> None:
        """Take one change back, unless somebody changed the same thing since."""
        path, old, new, key = change.path, change.old, change.new, change.key
        file = self._open(path, key)
        if change.op == "move":
            self._move_back(change, file)
        elif new is not None and file.holds(new):
            self.removed.append((path, new))
            self._write(file.replacing(new, old) if old is not None else file.without({key}))
        elif new is None and old is not None and _has_room(file, key):
            self._write(file.plus(old))
        else:
            self._leave(change, file)

    def _move_back(self, change: Change, file: EntryFile) -> None:
        """Move an entry back; a whole file as it is by now, if its old place is free."""
        source = self._open(change.from_path, change.key)
        back = file.whole if change.key == CONCEPT else change.old
        if back is not None and file.get(change.key) is not None and _has_room(source, change.key):
            self._write(file.without({change.key}))
            self._write(source.plus(back))

    def _leave(self, change: Change, file: EntryFile) -> None:
        """Leave a change whose result is gone or different by now."""
        if change.new is not None:
            self.removed.append((change.path, change.new))
        is_event = change.key.space == "event" and file.takes(change.key)
        # An entry of a § file may be in another file as well; anything else that is gone is gone for good.
        if is_event or (change.key.space != "§" and file.data is None):
            return
        if notice := _why_left(change):
            self._kept.append(notice)

    def _open(self, path: str, key: EntryKey) -> EntryFile:
        return open_file(path, self._edits.read(path)).holding(key.space)

    def _write(self, file: EntryFile) -> None:
        # A § file that was not there before is not left behind empty.
        gone = not file.units and file.path not in self._edits.tip
        self._edits.write(file.path, None if gone else file.render())


def _has_room(file: EntryFile, key: EntryKey) -> bool:
    """Return whether what went can come back: nothing else took its place."""
    return file.takes(key) and (key.space in ("§", "event") or file.get(key) is None)


def _why_left(change: Change) -> Notice | None:
    """Return what there is to say about a change that is not taken back; None where nothing of it is left to see."""
    key, old = change.key, change.old
    if key.space == "§":
        return Notice("kept-wording", change.path, shortened(old.text, 60)) if old else None
    if key.space in ("meta", "body"):
        return Notice("kept-part", change.path, "its text" if key == BODY else f"`{key.id}`")
    return Notice("kept-rewritten", change.path) if change.new or key.space == "event" else None


def _name_here(path: str, entry: Entry) -> str:
    """The name of an entry in this machine's ledger."""
    if entry.key.space == "§":
        return entry.key.id
    text = open_file(path, entry.source).body if entry.source else entry.text
    return retraction_hash(entry.key, path, text)


def _is_known(path: str) -> bool:
    """Return whether a file is more than the record: a fact, a decision, and also what was retracted."""
    return path.startswith("retractions/") or not layout.is_record(path)


def _is(entry: LogEntry, source: str) -> bool:
    return source in entry.trailers.get("Source", ())


def _is_taken_back(files: Files, file: EntryFile) -> bool:
    """Return whether what a file says was retracted, as a whole file, as its text, or as words about it."""
    return bool(retracted_units(files, file)) or says_retracted(files, file)


def _subject(commits: Sequence[Commit]) -> str:
    """Return what is taken back: of one commit what it did, of more how many, in which sessions."""
    told = commits[0].subject
    while told.startswith("revert: "):  # the kinds add up otherwise
        told = told.removeprefix("revert: ").removeprefix("undo ").removeprefix("redo ")
    if len(commits) == 1:
        return told
    sessions = sorted({name for one in commits for name in trailers_of(one.message).get("Session", ())})
    few = f" of session {sessions[0]}" if len(sessions) == 1 else f" of {len(sessions)} sessions"
    return f"{len(commits)} commits{few if sessions else ''}, the newest {told}"
