"""Review: what waits for a person, as one queue, and what a person may do with each item.

Held: a text that was kept out. Hidden: an entry that the scanner, or a note of this machine, keeps from agents. Contested:
two machines worded an entry differently. Taken: a remote took an entry away, and it stays until a person agrees.
Broken: a hand edit that cannot be committed. Full: a curated store over its limit.
Unconfirmed entries are in the memory, marked; they can be looked at here too, and wait for nobody.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Literal

from gitmem.errors import GitMemError, InvalidContent, StoreRefusal, UnknownRevision, UsageError
from gitmem.git.message import Message
from gitmem.memory.curated import ages
from gitmem.memory.curated.archive import archive_store
from gitmem.memory.curated.conflicts import Contest, contested
from gitmem.memory.curated.store import TARGETS, CuratedStore
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import Admission, Held, redacted
from gitmem.memory.gate.ledger import HeldItem, Ledger
from gitmem.memory.gate.marks import UNCONFIRMED, is_unconfirmed, source_in
from gitmem.memory.gate.scan import flagged
from gitmem.memory.origin import RELEASED, Origin
from gitmem.memory.retraction import retracted_units
from gitmem.okf.curated import CuratedFile, check_text
from gitmem.okf.entries import Entry, EntryKey, entry_hash
from gitmem.okf.events import Event
from gitmem.okf.files import open_file
from gitmem.okf.layout import find_session
from gitmem.okf.plain import Printed
from gitmem.okf.skills import stored
from gitmem.okf.validate import who_obeys

if TYPE_CHECKING:
    from gitmem.git.worktree import HandEdit
    from gitmem.memory.bundle import Bundle

Kind = Literal["held", "hidden", "taken", "contested", "broken", "full", "unconfirmed"]
_NAMES: dict[Kind, tuple[str, str]] = {
    "held": ("held text", "held texts"),
    "hidden": ("hidden entry", "hidden entries"),
    "taken": ("entry that a remote took away", "entries that a remote took away"),
    "contested": ("contested entry", "contested entries"),
    "broken": ("hand edit with a problem", "hand edits with a problem"),
    "full": ("store over its limit", "stores over their limit"),
}


@dataclass(frozen=True, slots=True)
class Item(Printed):
    """One thing for a person to look at: what it is, its text, where it belongs, and why it waits."""

    id: str
    kind: Kind
    path: str
    text: str
    why: str = ""
    at: str = ""
    session: str = ""
    source: str = ""


def waiting(bundle: Bundle, edits: Sequence[HandEdit] | None = None) -> list[Item]:
    """Return what waits for a person, in the order in which it is shown; `edits` are the hand edits, where known."""
    looks = _held, _hidden, _taken, _contested
    return [*(item for look in looks for item in look(bundle)), *_broken(bundle, edits), *_full(bundle)]


def waiting_quietly(bundle: Bundle) -> list[Item]:
    """List what waits for a person; what the scanner remarks meanwhile is not reported."""
    said_before = list(bundle.notices)
    try:
        return waiting(bundle)
    finally:
        bundle.notices[:] = said_before


def at_a_glance(bundle: Bundle) -> str:
    """Return how much waits, without the scanner: for a session that begins."""
    return in_words([*_held(bundle), *_taken(bundle), *_contested(bundle)])


def unconfirmed(bundle: Bundle) -> list[Item]:
    """The entries of the curated store that are marked: no person confirmed them."""
    ledger = bundle.part(Ledger)
    return [
        _item(path, entry, "unconfirmed", "nobody confirmed it", source=source_in(entry))
        for path, plain in _curated(bundle)
        for entry in ledger.marked([plain])
        if is_unconfirmed(entry) and not ledger.waits(entry.key.id)
    ]


def find(bundle: Bundle, name: str) -> Item:
    """An item by its id or the beginning of it; also an entry anywhere in the tree that the scanner flags."""
    hint = "List them with `gitmem review --list`."
    for items in (chain(waiting(bundle), unconfirmed(bundle)), _flagged(bundle, "")):
        near = {(item.kind, item.id): item for item in items if name and item.id.startswith(name)}
        if len(near) == 1:
            return next(iter(near.values()))
        if near:
            raise UnknownRevision(f"{len(near)} items begin with {name!r}: give more of the id.", hint=hint)
    raise UnknownRevision(f"No pending item begins with {name!r}.", hint=hint)


def in_words(items: list[Item]) -> str:
    """Return how much waits, as one sentence; empty where nothing does."""
    counts = {kind: sum(item.kind == kind for item in items) for kind in _NAMES}
    parts = [f"{count} {_NAMES[kind][count > 1]}" for kind, count in counts.items() if count]
    if not parts:
        return ""
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{listed} {'waits' if sum(counts.values()) == 1 else 'wait'} for a person: run `gitmem review`."


# --- what waits ------------------------------------------------------------------------------------------


def _curated(bundle: Bundle) -> Iterator[tuple[str, Entry]]:
    """The entries of the curated store as they hold on this machine, each with its file."""
    for path in (path for target in TARGETS for path in bundle.part(CuratedStore).paths(target)):
        for entry in CuratedFile.parse_leniently(bundle.read(path), path).entries:
            yield path, entry


def _item(path: str, entry: Entry, kind: Kind, why: str, *, source: str = "") -> Item:
    return Item(entry.key.id[:12], kind, path, entry.text, why, entry.at, source=source)


def _held(bundle: Bundle) -> Iterator[Item]:
    for one in bundle.part(Ledger).held():
        path = one.destination.get("path") or one.destination.get("session", "")
        session, source = one.origin.get("Session", ""), one.origin.get("Source", "")
        yield Item(one.id, "held", path, one.text, "; ".join(one.reasons), one.at, session, source)


def _hidden(bundle: Bundle) -> Iterator[Item]:
    ledger = bundle.part(Ledger)
    found = {(one.path, one.text): one for one in _flagged(bundle, "memories")}
    for path, entry in _curated(bundle) if ledger.has_any("waits") else ():
        if (result := ledger.verdict(entry)) is not None:
            doubted = found.get((path, entry.text))
            why = f"{result.explain()}; {doubted.why}" if doubted else result.explain()
            found[path, entry.text] = _item(path, entry, "hidden", why)
    yield from (one for one in found.values() if not ledger.is_dropped(entry_hash(one.text)))


def _flagged(bundle: Bundle, directory: str) -> Iterator[Item]:
    """List what the scanner keeps from agents below a directory."""
    for one in flagged(bundle, directory):
        yield Item(one.id, "hidden", one.path, one.entry.text, one.result.explain(), one.entry.at)


def _taken(bundle: Bundle) -> Iterator[Item]:
    ledger = bundle.part(Ledger)
    for path, entry in _curated(bundle) if ledger.has_any("kept") else ():
        if why := ledger.why_kept(entry.key.id):
            yield _item(path, entry, "taken", why)


def _contested(bundle: Bundle) -> Iterator[Item]:
    for one in contested(bundle):
        newest = one.entries[-1]
        others = "; ".join(entry.text for entry in one.entries[:-1])
        yield Item(one.replaced[:12], "contested", one.path, newest.text, f"against: {others}", newest.at)


def _broken(bundle: Bundle, edits: Sequence[HandEdit] | None) -> Iterator[Item]:
    with contextlib.suppress(GitMemError):  # a busy bundle can still be looked at
        edits = bundle.hand_edits() if edits is None else edits
        if not edits:
            return
        from gitmem.memory.hand_edits import problems_of

        texts = {edit.path: (edit.data or b"").decode("utf-8", "backslashreplace") for edit in edits}
        for path, problem in problems_of(bundle, edits).items():
            yield Item(entry_hash(path)[:12], "broken", path, texts[path], problem)


def _full(bundle: Bundle) -> Iterator[Item]:
    store, tree = bundle.part(CuratedStore), bundle.tree()
    for target in TARGETS:
        used, limit, path = store.usage(tree, target), store.limit(target), store.path(target)
        if used > limit and store.is_bounded(target):
            why = f"it holds {used:,} of {limit:,} characters: the prompt has only a part of it"
            text = CuratedFile.parse_leniently(tree.read(path), path).text
            yield Item(entry_hash(target)[:12], "full", path, text, why)


# --- a person's decision ---------------------------------------------------------------------------------


def accept(bundle: Bundle, item: Item, *, by: str, reason: str = "") -> str:
    """A person says that it is fine: it goes in, or is shown again, as looked at by them. Gives the commit, if any."""
    person = _Person(bundle, by, reason)
    if item.kind == "held":
        return person.release(item.id)
    if item.kind == "contested":
        return person.settle(item, item.text)
    if item.kind == "full":
        return bundle.tip if archive_store(bundle, bundle.part(CuratedStore).target_of(item.path)) else ""
    if item.kind == "broken":
        raise InvalidContent(
            f"{item.path} {item.why.rstrip('.')}: it cannot be committed as it is.",
            hint="Edit it, or drop it to get back what the newest commit has.",
        )
    ledger, name = bundle.part(Ledger), entry_hash(item.text)
    is_of_others = ledger.is_unreviewed(name)
    ledger.clear([name])
    is_released = item.kind == "hidden" and person.release_from_scanner(item)
    if item.kind == "taken" or (is_of_others and not is_released):
        return ""
    return person.confirm(item)


def drop(bundle: Bundle, item: Item, *, by: str, reason: str = "") -> str:
    """A person wants none of it: it leaves the queue, and the memory where it is there. Gives the commit, if any."""
    ledger, name, person = bundle.part(Ledger), entry_hash(item.text), _Person(bundle, by, reason)
    if item.kind == "contested":
        return person.settle(item, _contest(bundle, item).entries[-2].text)
    if item.kind == "full":
        raise UsageError(
            "A store that is too full cannot be dropped.",
            hint="Accept moves its oldest entries to the archive; edit lets you shorten it.",
        )
    if item.kind == "held":
        ledger.reject(item.id, by)
    elif item.kind == "broken":
        from gitmem.memory.hand_edits import put_back

        put_back(bundle, item.path)
    elif item.kind != "taken" and ledger.is_unreviewed(name):
        ledger.drop(name)  # others may want it: it is only hidden here
    else:
        ledger.clear([name])
        return person.remove(item)
    return ""


def edit(bundle: Bundle, item: Item, text: str, *, by: str, reason: str = "") -> str:
    """A person gives the words that are right: they go in instead. Gives the commit."""
    person = _Person(bundle, by, reason)
    if item.kind == "held":
        return person.release(item.id, text)
    if item.kind == "contested":
        return person.settle(item, text)
    if item.kind in ("full", "broken"):
        from gitmem.memory.hand_edits import commit_text

        return commit_text(bundle, item.path, text.encode())
    store = bundle.part(CuratedStore)
    bundle.part(Ledger).clear([entry_hash(item.text)])
    commit, target = person.remove(item), store.target_of(item.path)
    is_local = item.path != store.path(target)
    answer = store.add(text, target=target, machine=is_local, origin=person.origin(), by_person=True)
    return answer.commit or commit


def release(bundle: Bundle, name: str, *, by: str, reason: str = "") -> str:
    """Let a held text go where it belonged; gives the commit that has it."""
    return _Person(bundle, by, reason).release(name)


def _contest(bundle: Bundle, item: Item) -> Contest:
    return next(one for one in contested(bundle) if one.replaced.startswith(item.id))


@dataclass(frozen=True, slots=True)
class _Person:
    """A person who decides, and what they write."""

    bundle: Bundle
    by: str
    reason: str

    def origin(self, session: str = "") -> Origin:
        return self.bundle.origin(source=f"{RELEASED}{self.by}", reason=self.reason, session=session)

    def _change(
        self, path: str, what: str, changed: Callable[[CuratedFile, Admission], CuratedFile | None]
    ) -> str:
        """Commit a change of a § file; gives the commit, if any."""

        def work(edits: Edits) -> Message | None:
            admission = Admission(self.bundle, edits, origin=self.origin(), by_person=True)
            file = changed(ages.read(self.bundle, edits, path), admission)
            if file is None:
                return None
            edits.write(path, file.render())
            return Message("memory", what)

        published = self.bundle.commit(work, purpose="review", origin=self.origin())
        return published.commit.oid if published else ""

    def confirm(self, item: Item) -> str:
        """Say of an entry of the curated store who looked at it."""
        if not item.path.startswith("memories/"):
            return ""

        def changed(file: CuratedFile, _admission: Admission) -> CuratedFile | None:
            entry = file.get(entry_hash(item.text))
            if entry is None:
                return None
            kept = {key: value for key, value in entry.extra.items() if key != UNCONFIRMED}
            confirmed = replace(entry, extra={**kept, "verified": f"human:{self.by}"})
            return file.with_entries(confirmed if one is entry else one for one in file.entries)

        return self._change(item.path, f"confirm {item.text}", changed)

    def remove(self, item: Item) -> str:
        """Take an entry out, and say that it must not come back."""

        def changed(file: CuratedFile, admission: Admission) -> CuratedFile | None:
            entry = file.get(entry_hash(item.text))
            if entry is None:
                return None
            admission.retract(entry, item.path, state="reverted")
            return file.remove(entry.key.id)

        return self._change(item.path, f"remove {item.text}", changed)

    def settle(self, item: Item, text: str) -> str:
        """Put a fresh entry in the place of all that contest one; words that are held settle nothing."""
        contest = _contest(self.bundle, item)

        def changed(file: CuratedFile, admission: Admission) -> CuratedFile:
            answer = admission.entry(text, contest.path)
            if isinstance(answer, Held):
                raise UsageError(f"The scanner holds these words ({answer.id}): use others.")
            for entry in contest.entries:
                file = file.remove(entry.key.id)
            return file.add(answer.text, self.bundle.now())

        return self._change(contest.path, f"settle {text}", changed)

    def release_from_scanner(self, item: Item) -> bool:
        """Settle the scanner's doubts about an entry of the tree on this machine; False where it has none."""
        from gitmem.index.documents import documents_of

        if not any(
            one.path == item.path and one.entry.text == item.text for one in flagged(self.bundle, item.path)
        ):
            return False
        shown = documents_of(item.path, self.bundle.read(item.path) or b"")
        texts = () if item.path.startswith("memories/") else (one.text for one in shown)
        self.bundle.part(Ledger).release(map(entry_hash, (item.text, *texts)), self.by)
        return True

    def release(self, name: str, text: str = "") -> str:
        """Let a held text go where it belonged, or these words instead; gives the commit that has it."""
        from gitmem.memory.hand_edits import take_in_all

        bundle, ledger = self.bundle, self.bundle.part(Ledger)
        held = ledger.get(name)
        kind, path = held.destination.get("kind", ""), held.destination.get("path", "")
        if text and kind != "entry":
            raise UsageError(f"Only the words of an entry can be edited here: accept or drop {held.id}.")
        if not kind:
            raise InvalidContent(f"Nothing is known of where {held.id} belongs: copy its text by hand.")
        if text:
            held = replace(held, text=redacted(check_text(text)))
        ledger.release(map(entry_hash, _judged_texts(held)), self.by)

        def work(edits: Edits) -> Message | None:
            put = {"entry": _put_entry, "event": _put_event, "skill": _put_skill, "file": _put_file}[kind]
            put(self, edits, held)
            return Message("skill" if kind == "skill" else "memory", f"release {held.id}")

        # A person's edit waits in the work tree; what an import held is nowhere else.
        made = take_in_all(bundle, strict=False, reason=self.reason) if kind == "file" else []
        published = made[-1] if made else None
        if kind != "file" or bundle.read(path) is None:
            origin = self.origin(held.origin.get("Session", ""))
            published = bundle.commit(work, purpose="release", origin=origin)
        ledger.remove_held(held.id)
        return published.commit.oid if published else ""


# --- held texts, where they belonged ---------------------------------------------------------------------


def _judged_texts(held: HeldItem) -> list[str]:
    """The text as the gate sees it on the way in (an event's fields are joined), in the tree, and as a search shows it."""
    from gitmem.index.documents import documents_of, event_text
    from gitmem.memory.gate.skill_guard import judged_texts

    kind, path = held.destination["kind"], held.destination.get("path", "")
    if kind == "event":
        return [_event(held).entry.text, event_text(_event(held))]
    if kind == "skill":
        return judged_texts(path, held.text)
    if kind != "file":
        return [held.text]
    data = held.text.encode()
    return [held.text, open_file(path, data).body, *(one.text for one in documents_of(path, data))]


def _put_entry(person: _Person, edits: Edits, held: HeldItem) -> None:
    path, bundle = held.destination["path"], person.bundle
    Admission(bundle, edits, origin=person.origin(), by_person=True).entry(held.text, path)
    file = CuratedFile.parse_leniently(edits.read(path), path)
    turns = list(held.turns) or None
    verified, replaced = f"human:{person.by}", file.get(held.destination.get("replaces", ""))
    if replaced is None:
        wanted = file.add(held.text, bundle.now(), verified=verified, turns=turns)
    else:
        wanted = file.replace(replaced.key.id, held.text, bundle.now(), verified=verified, turns=turns)
    store = bundle.part(CuratedStore)
    limit = store.limit(store.target_of(path))
    if wanted.usage > limit and store.is_bounded(store.target_of(path)):
        raise StoreRefusal(
            f"With it the store would have {wanted.usage:,} of {limit:,} characters: remove or shorten entries first.",
            usage=file.usage,
            limit=limit,
            entries=[one.text for one in file.entries],
        )
    edits.write(path, wanted.render())


def _put_file(_person: _Person, edits: Edits, held: HeldItem) -> None:
    path = held.destination["path"]
    if reason := who_obeys(path):
        raise InvalidContent(f"{path} cannot be written: {reason}")
    edits.write(path, held.text.encode())


def _put_event(_person: _Person, edits: Edits, held: HeldItem) -> None:
    """Put the event in the place of the stub that was recorded for it."""
    where = held.destination
    home = (find_session(edits, where["session"]) or "").removesuffix(".md")
    for name in edits.names(home) if home else []:
        file = open_file(f"{home}/{name}", edits.read(f"{home}/{name}"))
        stub = file.get(EntryKey("event", where["event"]))
        if stub is not None:
            event = replace(_event(held), turn=stub.turn, call=stub.call)
            edits.write(file.path, file.replacing(stub, event.entry).render())
            return
    raise InvalidContent(f"The session {where['session']!r} is gone from the bundle: copy the text by hand.")


def _put_skill(person: _Person, edits: Edits, held: HeldItem) -> None:
    """Put the file as it was meant, whole; with it, whatever was said of it earlier is settled."""
    path = held.destination["path"]
    file = open_file(path, stored(path, held.text.encode()))
    admission = Admission(person.bundle, edits, origin=person.origin())
    for key in retracted_units(edits, file):
        admission.retract(file.units[key], path, state="released")
    edits.write(path, file.data)


def _event(held: HeldItem) -> Event:
    where = held.destination
    try:
        fields = json.loads(held.text)
    except ValueError as error:
        raise InvalidContent(f"{held.id} is no event: copy its text by hand.") from error
    texts = {str(name): str(value) for name, value in fields.items()} if isinstance(fields, dict) else {}
    return Event(where["event"], where["event_kind"], where["at"], texts)
