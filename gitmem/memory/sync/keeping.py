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
from dataclasses import dataclass, field
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
from gitmem.memory.retraction import is_retracted, retracted_in, retracted_units, retracts
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
    from gitmem.memory.edits import Edits
    from gitmem.memory.gate.holding import Flagged
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


@dataclass(slots=True)
class _Settlement:
    """A plan for one sync, from two trees: ours before, and the result."""

    was: Tree
    paths: list[str]
    """What may hold something that was retracted: files that changed, and the curated store."""
    put_back: dict[str, bytes] = field(default_factory=dict)
    """Retractions that were deleted."""
    released: list[str] = field(default_factory=list)
    """The names of those that were released."""
    fresh: set[str] = field(default_factory=set)
    """The names of retractions that were not there before."""
    losses: list[Loss] = field(default_factory=list)
    rewritten: list[tuple[str, Entry, Entry]] = field(default_factory=list)
    """Events that were recorded here: where, as they were, and as they came."""
    doubted: list[tuple[str, Entry, Entry]] = field(default_factory=list)
    """Entries that were here and are marked as unconfirmed now: where, as they were, and as they came."""
    stores: list[_StoreLoss] = field(default_factory=list)
    """Stores that lose something."""

    @classmethod
    def of(cls, bundle: Bundle, was: Tree, now: Tree, before: Oid) -> _Settlement:
        changes = {change.path: change for change in was.changes(now)}
        plan = cls(
            was, [path for path in changes if path.endswith(".md") and not path.startswith(_RETRACTIONS)]
        )
        for path, change in changes.items():
            if path.startswith(_RETRACTIONS):
                plan._look_at(path, was.read_entry(change.old) if change.old else None, now.read(path))
        if plan.fresh or plan.put_back:
            listed = (path for tree in (was, now) for path, _ in tree.files("memories"))
            plan.paths = sorted({*plan.paths, *listed})
        plan.stores = list(_stores(bundle, was, now, plan.paths))
        plan.losses = list(_losses(bundle, plan.stores, before))
        plan.rewritten = list(_rewritten(bundle, was, now, plan.paths))
        plan.doubted = list(_doubted(was, now, plan.paths))
        return plan

    def _look_at(self, path: str, old: bytes | None, new: bytes | None) -> None:
        if old is None or not retracts(old, path):
            self.fresh |= {layout.retraction_name(path)} if retracts(new, path) else set()
        elif new is None:
            self.put_back[path] = old
        elif not retracts(new, path):
            self.released.append(layout.retraction_name(path))

    def lay(self, admission: Admission, edits: Edits) -> list[str]:
        """Do it; gives the names of what went to quarantine."""
        for path, data in self.put_back.items():
            edits.put(path, data)
        for loss in self.losses:
            file = open_file(loss.path, edits.read(loss.path)).holding("§")
            if file.get(loss.entry.key) is None:
                edits.write(loss.path, file.plus(loss.entry).render())
            if is_retracted(edits, loss.entry.key):
                admission.retract(loss.entry, loss.path, state="released")
        for path, old, new in self.doubted:
            edits.write(path, open_file(path, edits.read(path)).replacing(new, old).render())
        for path in self.paths if self.put_back or self.fresh else ():
            file = open_file(path, edits.read(path))
            out = retracted_units(edits, file)
            if out:  # what a retraction names is not in the tree, whoever left or put it there
                edits.write(path, file.without(out).render())
        return [self._keep_event(admission, edits, *one) for one in self.rewritten]

    def note(self, bundle: Bundle, remote: str) -> None:
        """Note on this machine what others released and what stays here, and for a day what went."""
        ledger = bundle.part(Ledger)
        ledger.keep_retracted(remote, self.released)
        ledger.keep({one.entry.key.id: f"{remote} took it away; it stays: {one.why}" for one in self.losses})
        stay = {loss.entry.key for loss in self.losses}
        for store in self.stores:
            if gone := {key.id for key in store.gone if key not in stay}:
                ledger.note_removals(store.path, store.names, gone)

    def _keep_event(self, admission: Admission, edits: Edits, path: str, old: Entry, new: Entry) -> str:
        """The event keeps its words; those that came wait in quarantine, from where a person can take them."""
        file, known = open_file(path, edits.read(path)), open_file(path, self.was.read(path))
        if file.units.keys() == known.units.keys():
            edits.put(path, known.data)
        else:
            edits.write(path, file.replacing(new, old).render())
        event, session = Event.of(new), known.front.get("session", "")
        where = {"kind": "event", "session": str(session), "event": event.id, "event_kind": event.kind}
        reason = "rewrites what was recorded here"
        finding = Finding("lineage.event", "lineage", reason, (0, len(new.text)), Verdict.HOLD)
        text = json.dumps(dict(event.fields), ensure_ascii=False)
        return admission.hold(text, Result(Verdict.HOLD, (finding,)), {**where, "at": event.at})


def settle(
    bundle: Bundle,
    remote: str,
    *,
    arriving: Arriving | None = None,
    before: Oid | None = None,
    flagged: Sequence[Flagged] = (),
    shared: bool = False,
) -> Settled:
    """Move `main` over what arrives and, in the same move, keep what is ours and archive what has no room.

    `before` is where `main` was, if plain git moved it already. `flagged` is what the scanner blocks.
    """
    repository, first = bundle.repository, before or bundle.tip
    origin = bundle.origin(source="sync", reason=f"what {remote} took away")
    held: list[str] = []
    kept: list[Loss] = []
    strangers: list[str] = []
    archived: list[Archived] = []
    retracted: set[str] = set()

    def work(edits: Edits) -> Message | None:
        nonlocal retracted
        ours = before or bundle.tip
        was = repository.tree(ours)
        onto = arriving(ours)[0] if arriving else bundle.tip
        strangers[:] = _note_arrivals(bundle, was, edits.tip, remote, ours, onto, shared=shared)
        plan = _Settlement.of(bundle, was, edits.tip, ours)
        kept[:] = plan.losses
        admission = Admission(bundle, edits, origin=origin)
        held[:] = plan.lay(admission, edits)
        told = ["keep what was taken away"] if edits.differs() else []
        _hold_what_was_taken(admission, was, edits)
        if blocked := lay_holds(bundle, edits, flagged):
            held.extend(blocked)
            told.append(in_words_of_holds(blocked))
        plan.note(bundle, remote)
        retracted = plan.fresh
        archived.clear()
        # Before a push: each machine keeps its own, and two that find a store too full would take from both.
        for target in TARGETS if arriving else ():
            if moved := lay_archive(bundle, edits, target, again=False, revision=onto):
                archived.append(Archived(target, tuple(entry.text for entry in moved)))
                told.append(f"archive {in_words_of_archive(target, moved)}")
        return Message("merge", "; ".join(told), {"Scan": tuple(blocked)}) if edits.differs() else None

    bundle.commit(work, purpose="sync", origin=origin, arriving=arriving)
    for machine in strangers:
        bundle.report(Notice("machine-unknown", machine, remote))
    if kept:
        bundle.report(Notice("taken-kept", remote, _entries(len(kept))))
    if hidden := _hidden_records(bundle, retracted):
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


def _hold_what_was_taken(admission: Admission, was: Tree, edits: Edits) -> None:
    """Keep the text of entries that another machine retracted, in this machine's quarantine."""
    retracted = retracted_in(edits)
    for path in sorted({change.path for change in was.changes(edits.tip)}.union(edits.paths())):
        if not path.endswith(".md") or path.startswith(_RETRACTIONS) or path not in was:
            continue
        left = open_file(path, edits.read(path)).entries
        for key, entry in open_file(path, was.read(path)).entries.items():
            if key.space == "§" and key not in left and retracted(key):
                admission.hold_retracted(entry, path, "was taken back on another machine")


def _note_arrivals(
    bundle: Bundle, was: Tree, now: Tree, remote: str, ours: Oid, onto: Oid, *, shared: bool
) -> list[str]:
    """Note what came: from others it counts as unconfirmed, and into a full store it displaces nothing.

    Gives the machines of which nobody here said yet that they are one's own. On a shared remote no name counts. A remote
    whose machines have the same limits never sends more than a store holds at once: theirs would not hold it.
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
    for target in TARGETS:
        come = _new_in((path for path in store.paths(target) if path in changed), was, now)
        room = store.limit(target) + len(DELIMITER)
        if not come or _room_for(_entries_in(now, store.paths(target))) <= room:
            continue
        is_flood = _room_for(come) > room
        ledger.note_arrivals(remote, come, late=True, waits=(lambda _: False) if is_flood else None)
        if is_flood:
            bundle.report(Notice("flood", remote, _entries(len(come))))
    return sorted(strangers.keys() - {""})


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


def _entries_in(files: Tree, names: Iterable[str]) -> list[Entry]:
    return [entry for path in names for entry in _entries_of(files, path).values()]


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
        verified = _verified_here(bundle, path, before) if any(map(_is_verified, gone.values())) else ()
        yield from (
            Loss(path, one, "a person verified it here") for key, one in gone.items() if key in verified
        )


def _doubted(was: Tree, now: Tree, paths: Iterable[str]) -> Iterator[tuple[str, Entry, Entry]]:
    """Entries that were here without the mark of an unconfirmed one, and have it now: whoever put it there."""
    for path in paths:
        if path.startswith("memories/") and path in was and path in now:
            known = _entries_of(was, path)
            for key, new in _entries_of(now, path).items():
                old = known.get(key)
                if old is not None and is_unconfirmed(new) and not is_unconfirmed(old):
                    yield path, old, new


def _entries_of(files: Tree, path: str) -> Mapping[EntryKey, Entry]:
    return {key: one for key, one in open_file(path, files.read(path)).entries.items() if key.space == "§"}


def _is_verified(entry: Entry) -> bool:
    return str(entry.extra.get("verified", "")).startswith("human")


def _verified_here(bundle: Bundle, path: str, before: Oid) -> set[EntryKey]:
    return {one.entry.key for one in blame_of(bundle, path, revision=before) if one.verified_here}


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
            if _is_recorded_here(bundle, path):
                yield path, old, new


def _is_recorded_here(bundle: Bundle, path: str) -> bool:
    """Return whether a session part was begun on this machine: it has one writer."""
    *_, first = bundle.part(History).touching(path)
    return Provenance(bundle.repository).is_made_here(first.id)
