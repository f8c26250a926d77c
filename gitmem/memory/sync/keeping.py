"""Entries kept here although others removed them, settled in the same move of `main` that brings their commits in.

The notes of this machine are written first: a kill at any moment leaves all as it was, or all settled.

Retractions are a union: one that a remote deleted is put back, one that it released holds on until a person here
releases it. Of the curated store everyday removals go; more than half of it within a day, or what a person here verified,
stays and waits for a person; moved to the archive is taken away too. An event that was recorded here keeps its words, and
an entry its good name. What comes into a full store displaces nothing, in however many syncs; more at once than a store
has room for counts as unconfirmed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gitmem.git.commit_graph import only_in
from gitmem.git.message import Message, trailers_of
from gitmem.git.tree import TreeDiff
from gitmem.memory.curated.archive import Archived, lay_archive
from gitmem.memory.curated.archive import in_words as in_words_of_archive
from gitmem.memory.curated.store import TARGETS, CuratedStore
from gitmem.memory.gate.admission import Admission
from gitmem.memory.gate.holding import in_words as in_words_of_holds
from gitmem.memory.gate.holding import lay_holds
from gitmem.memory.gate.ledger import Ledger
from gitmem.memory.gate.marks import is_unconfirmed
from gitmem.memory.history.blame import blame_of
from gitmem.memory.history.log import History
from gitmem.memory.provenance import Provenance
from gitmem.memory.retraction import Retracted, is_retracted, retracted_units, retracts
from gitmem.notices import Notice
from gitmem.okf import layout, paths
from gitmem.okf.entries import DELIMITER, EntryKey, retraction_hash
from gitmem.okf.events import Event
from gitmem.okf.files import open_file
from gitmem.safety.channels import stakes_of
from gitmem.safety.verdict import Finding, Result, Verdict

if TYPE_CHECKING:
    from gitmem.git.objects import Commit, Oid
    from gitmem.git.repository import Repository
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Arriving, Bundle
    from gitmem.memory.edits import Edits, Files
    from gitmem.memory.gate.marks import FlaggedEntry
    from gitmem.okf.entries import Change, Entry

WORTH_ASKING = 5
"""Entries: of a smaller store more than half is an everyday change."""
_RETRACTIONS = "retractions/"
_ARCHIVE, _MACHINES = "memories/archive/", "memories/machines/"
_HELD = "held"
_TWO = 2
_PATIENCE = 1.0
"""Seconds of processor time that finding out which machine brought what may take."""


class Loss(NamedTuple):
    """An entry of the curated store that a remote would take away, and why it stays."""

    path: str
    entry: Entry
    why: str


@dataclass(frozen=True, slots=True)
class Settled:
    """Result of one move of `main` over what arrived."""

    came: tuple[Change, ...]
    """What is believed now that was not before, and the other way round."""
    held: tuple[str, ...]
    archived: tuple[Archived, ...]


class _Settlement:
    """The edits that settle one sync, from two trees: ours before, and the one that `main` moves to."""

    def __init__(self, bundle: Bundle, was: Tree, edits: Edits, ours: Oid, admission: Admission) -> None:
        self._was = was
        self._edits = edits
        self._admission = admission
        now = edits.tip
        changes = {change.path: change for change in was.changes(now)}
        self._put_back: dict[str, bytes] = {}
        self._released: list[str] = []
        self.fresh: set[str] = set()
        """The names of retractions that were not there before."""
        for path, change in changes.items():
            if path.startswith(_RETRACTIONS):
                self._look_at(path, was.read_entry(change.old) if change.old else None, now.read(path))
        # What may hold something that was retracted: files that changed, and the curated store.
        found = {path for path in changes if path.endswith(".md") and not path.startswith(_RETRACTIONS)}
        if self.fresh or self._put_back:
            found.update(path for tree in (was, now) for path, _ in tree.files("memories"))
        self._paths = sorted(found)
        self._stores = list(_stores(bundle, was, now, self._paths))
        self.losses = list(_losses(bundle, self._stores, ours))
        self._rewritten = list(_rewritten(bundle, was, now, self._paths))
        self._doubted = list(_doubted(was, now, self._paths))

    def _look_at(self, path: str, old: bytes | None, new: bytes | None) -> None:
        if old is None or not retracts(old, path):
            self.fresh |= {layout.retraction_name(path)} if retracts(new, path) else set()
        elif new is None:
            self._put_back[path] = old
        elif not retracts(new, path):
            self._released.append(layout.retraction_name(path))

    def lay(self) -> list[str]:
        """Make the edits; gives the names of what went to quarantine."""
        edits = self._edits
        for path, data in self._put_back.items():
            edits.put(path, data)
        for loss in self.losses:
            file = open_file(loss.path, edits.read(loss.path)).holding("§")
            if file.get(loss.entry.key) is None:
                edits.write(loss.path, file.plus(loss.entry).render())
            if is_retracted(edits, loss.entry.key):
                self._admission.retract(loss.entry, loss.path, state="released")
        for path, old, new in self._doubted:
            edits.write(path, open_file(path, edits.read(path)).replacing(new, old).render())
        for path in self._paths if self._put_back or self.fresh else ():
            file = open_file(path, edits.read(path))
            out = retracted_units(edits, file)
            if out:  # what a retraction names is not in the tree, whoever left or put it there
                edits.write(path, file.without(out).render())
        held = [self._keep_event(*one) for one in self._rewritten]
        self._hold_what_was_retracted()
        return held

    def note(self, ledger: Ledger, remote: str) -> None:
        """Note on this machine what others released and what stays here, and for a day what went."""
        ledger.keep_retracted(remote, self._released)
        ledger.keep({one.entry.key.id: f"{remote} took it away; it stays: {one.why}" for one in self.losses})
        stay = {loss.entry.key for loss in self.losses}
        for store in self._stores:
            if gone := {key.id for key in store.gone if key not in stay}:
                ledger.note_removals(store.path, store.names, gone)

    def _keep_event(self, path: str, old: Entry, new: Entry) -> str:
        """The event keeps its words; those that came wait in quarantine, from where a person can take them."""
        file, known = open_file(path, self._edits.read(path)), open_file(path, self._was.read(path))
        if file.units.keys() == known.units.keys():
            self._edits.put(path, known.data)
        else:
            self._edits.write(path, file.replacing(new, old).render())
        event, session = Event.of(new), known.front.get("session", "")
        where = {"kind": "event", "session": str(session), "event": event.id, "event_kind": event.kind}
        reason = "rewrites what was recorded here"
        finding = Finding("lineage.event", "lineage", reason, (0, len(new.text)), Verdict.HOLD)
        text = json.dumps(dict(event.fields), ensure_ascii=False)
        return self._admission.hold(text, Result(Verdict.HOLD, (finding,)), {**where, "at": event.at})

    def _hold_what_was_retracted(self) -> None:
        """Keep the text of entries that another machine retracted, in this machine's quarantine."""
        retracted = Retracted(self._edits).has
        for path in self._paths:
            left = _entries_of(self._edits, path)
            for key, entry in _entries_of(self._was, path).items():
                if key not in left and retracted(key):
                    self._admission.hold_retracted(entry, path, "was taken back on another machine")


def settle(
    bundle: Bundle,
    remote: str,
    *,
    arriving: Arriving | None = None,
    before: Oid | None = None,
    flagged: Sequence[FlaggedEntry] = (),
    shared: bool = False,
) -> Settled:
    """Move `main` over what arrives and, in the same move, keep what is ours and archive what has no room.

    `before` is where `main` was, if plain git moved it already. `flagged` is what the scanner blocks.
    """
    repository, first = bundle.repository, before or bundle.tip
    origin = bundle.origin(source="sync", reason=f"what {remote} took away")
    held: list[str] = []
    archived: list[Archived] = []
    plan: _Settlement | None = None

    def work(edits: Edits) -> Message | None:
        nonlocal plan
        ours = before or bundle.tip
        was = repository.tree(ours)
        onto = arriving(ours)[0] if arriving else bundle.tip
        _note_arrivals(bundle, was, edits.tip, remote, ours, onto, shared=shared)
        plan = _Settlement(bundle, was, edits, ours, Admission(bundle, edits, origin=origin))
        held[:] = plan.lay()
        told = ["keep what was taken away"] if edits.differs() else []
        if blocked := lay_holds(bundle, edits, flagged):
            held.extend(blocked)
            told.append(in_words_of_holds(blocked))
        plan.note(bundle.part(Ledger), remote)
        archived.clear()
        # Before a push: each machine keeps its own, and two that find a store too full would take from both.
        for target in TARGETS if arriving else ():
            if moved := lay_archive(bundle, edits, target, again=False, revision=onto):
                archived.append(Archived(target, tuple(entry.text for entry in moved)))
                told.append(f"archive {in_words_of_archive(target, moved)}")
        return Message("merge", "; ".join(told), {"Scan": tuple(blocked)}) if edits.differs() else None

    bundle.commit(work, purpose="sync", origin=origin, arriving=arriving)
    if plan is not None and plan.losses:
        bundle.report(Notice("taken-kept", remote, _entries(len(plan.losses))))
    if hidden := _hidden_records(bundle, plan.fresh if plan is not None else set()):
        bundle.report(Notice("records-hidden", remote, _entries(hidden)))
    changes = bundle.part(History).between(first, bundle.tip)
    came = tuple(one for one in changes if not (archived and one.path.startswith(_ARCHIVE)))
    return Settled(came, tuple(held), tuple(archived))


def _hidden_records(bundle: Bundle, retracted: set[str]) -> int:
    """Return how many events that are here the retractions of these names keep from agents."""
    if not retracted:
        return 0
    from gitmem.memory.indexing import Indexing

    events = {key for _, _, key in bundle.part(Indexing).current().places("event")}
    return sum(retraction_hash(EntryKey("event", key)) in retracted for key in events)


def _note_arrivals(
    bundle: Bundle, was: Tree, now: Tree, remote: str, ours: Oid, onto: Oid, *, shared: bool
) -> None:
    """Note what came: from others it counts as unconfirmed, and into a full store it displaces nothing.

    Machines that no person here has confirmed are reported. On a shared remote no name counts. A remote whose machines
    have the same limits never sends more than a store holds at once: theirs would not hold it.
    """
    changed = [change.path for change in was.changes(now, "memories")]
    store, ledger, trust = bundle.part(CuratedStore), bundle.part(Ledger), bundle.config.trust.remote
    come = _new_in(changed, was, now)
    strangers: dict[str, list[Entry]] = {}
    if come and trust != "follow":
        own = ledger.own_machines()
        fresh = [] if shared else only_in(bundle.repository, onto, ours)
        for entry, machine in _with_machines(bundle.repository, fresh, come, own):
            if machine not in own:
                strangers.setdefault(machine, []).append(entry)
    for machine, entries in strangers.items():
        ledger.note_arrivals(
            remote, entries, machine, waits=lambda entry: trust == "hold" or bool(stakes_of(entry.text))
        )
        if machine:
            bundle.report(Notice("machine-unknown", machine, remote))
    for target in TARGETS:
        come = _new_in((path for path in store.paths(target) if path in changed), was, now)
        room = store.limit(target) + len(DELIMITER)
        held = [entry for path in store.paths(target) for entry in _entries_of(now, path).values()]
        if not come or _room_for(held) <= room:
            continue
        is_flood = _room_for(come) > room
        ledger.note_arrivals(remote, come, late=True, waits=(lambda _: False) if is_flood else None)
        if is_flood:
            bundle.report(Notice("flood", remote, _entries(len(come))))


def _with_machines(
    repository: Repository, fresh: Iterable[Oid], come: Sequence[Entry], own: frozenset[str]
) -> list[tuple[Entry, str]]:
    """Each entry with the machine whose commit brought it, as that says: one's own where several did, else empty.

    A fold brings nothing. Of very many commits of several machines the oldest are looked at, and the rest is nobody's.
    """
    commits: list[tuple[Commit, str]] = []
    for commit in map(repository.store.commit, fresh):
        if len(commit.parents) < _TWO:
            named = {paths.slug(one) for one in trailers_of(commit.message).get("Machine", ())}
            commits.append((commit, named.pop() if len(named) == 1 else ""))
    machines = sorted({machine for _, machine in commits})
    if own.issuperset(machines) or len(machines) == 1:
        return [(entry, machines[0] if machines else "") for entry in come]
    diff, found, until = TreeDiff(repository.store), dict[EntryKey, str](), time.process_time() + _PATIENCE
    for commit, machine in reversed(commits):
        for change in diff.of_commit(commit) if time.process_time() < until else ():
            if change.new is None or not change.path.startswith("memories/"):
                continue
            before = repository.store.blob(change.old.oid) if change.old else None
            known = open_file(change.path, before).entries
            for key in open_file(change.path, repository.store.blob(change.new.oid)).entries:
                if key not in known and (machine in own or key not in found):
                    found[key] = machine
    return [(entry, found.get(entry.key, "")) for entry in come]


def _new_in(files: Iterable[str], was: Tree, now: Tree) -> list[Entry]:
    """The entries of § files that were not in them before."""
    return [
        entry
        for path in files
        for key, entry in _entries_of(now, path).items()
        if key not in _entries_of(was, path)
    ]


def _room_for(entries: Iterable[Entry]) -> int:
    return sum(len(entry.text) + len(DELIMITER) for entry in entries)


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


# --- what is to be done ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _StoreLoss:
    """A § file that loses something: what it held, and what of that is gone, removed or replaced by another text."""

    path: str
    held: Mapping[EntryKey, Entry]
    gone: Mapping[EntryKey, Entry]
    replaced_by: Mapping[str, Entry]
    """Entries that are there now, by the name of the one that each replaces."""

    @property
    def names(self) -> set[str]:
        return {key.id for key in self.held}


def _stores(bundle: Bundle, was: Tree, now: Tree, paths: Iterable[str]) -> Iterator[_StoreLoss]:
    paths = [path for path in paths if path.startswith("memories/") and not path.startswith(_ARCHIVE)]
    elsewhere = {path for path in paths if path.startswith(_MACHINES)} - {
        bundle.part(CuratedStore).paths("memory")[-1]
    }
    present: set[EntryKey] = set()
    replaced_by: dict[str, Entry] = {}
    for path in (path for path in paths if path not in elsewhere):  # what is true elsewhere is not said here
        for key, entry in _entries_of(now, path).items():
            if not is_retracted(now, key):
                present.add(key)
                replaced_by[entry.replaces] = entry
    for path in paths:
        held = {key: one for key, one in _entries_of(was, path).items() if not is_retracted(was, key)}
        gone = {key: one for key, one in held.items() if key not in present}
        if gone:
            yield _StoreLoss(path, held, gone, replaced_by)


def _losses(bundle: Bundle, stores: Sequence[_StoreLoss], before: Oid) -> Iterator[Loss]:
    """Entries of the curated store that do not hold any more, and should not go just so."""
    ledger = bundle.part(Ledger)
    for store in stores:
        path, gone = store.path, store.gone
        shares = [
            (len(gone), len(store.held)),
            ledger.removed_share(path, store.names, {key.id for key in gone}),
        ]
        much = next(((out, of) for out, of in shares if of >= WORTH_ASKING and out * 2 > of), None)
        if much:  # another text in the place of each takes as much away as a removal
            why = f"it is one of {much[0]} of the {much[1]} entries of {path} that would go within a day"
            yield from (Loss(path, one, why) for one in gone.values())
            continue
        for key, one in gone.items():
            instead = store.replaced_by.get(key.id)
            if instead is not None and ledger.waits(instead.key.id):
                yield Loss(path, one, "what would take its place waits for a person")
                gone = {other: left for other, left in gone.items() if other != key}
        if any(str(one.extra.get("verified", "")).startswith("human") for one in gone.values()):
            story = blame_of(bundle, path, revision=before)
            verified = {one.entry.key for one in story if one.verified_here}
            yield from (Loss(path, gone[key], "a person verified it here") for key in gone if key in verified)


def _doubted(was: Tree, now: Tree, paths: Iterable[str]) -> Iterator[tuple[str, Entry, Entry]]:
    """Entries that were here without the mark of an unconfirmed one, and have it now: whoever put it there."""
    for path in paths:
        if path.startswith("memories/") and path in was and path in now:
            known = _entries_of(was, path)
            for key, new in _entries_of(now, path).items():
                old = known.get(key)
                if old is not None and is_unconfirmed(new) and not is_unconfirmed(old):
                    yield path, old, new


def _entries_of(files: Files, path: str) -> Mapping[EntryKey, Entry]:
    return {key: one for key, one in open_file(path, files.read(path)).entries.items() if key.space == "§"}


def _rewritten(
    bundle: Bundle, was: Tree, now: Tree, paths: Iterable[str]
) -> Iterator[tuple[str, Entry, Entry]]:
    """Events that say something else now, under the ids that were recorded on this machine."""
    for path in paths:
        if not layout.is_session(path) or path not in was or path not in now:
            continue
        fresh = open_file(path, now.read(path)).entries
        for key, old in open_file(path, was.read(path)).entries.items():
            new = fresh.get(key)
            if key.space != "event" or new is None or old.kind == _HELD or Event.of(new) == Event.of(old):
                continue
            *_, first = bundle.part(History).touching(path)
            if Provenance(bundle.repository).is_made_here(first.id):  # a part of a session has one writer
                yield path, old, new
