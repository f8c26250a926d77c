"""Review: what waits for a person, as one queue, and what a person may do with each item.

Held: a text in quarantine. Hidden: an entry of the curated store that the scanner keeps out of prompts. Contested: two
machines worded an entry differently. Taken: a remote took an entry away, and it stays until a person agrees.
Broken: a hand edit that cannot be committed. Full: a curated store over its limit. Proposed: a skill that Hermes keeps
back until its user has looked, which is decided there.
Unconfirmed entries are in the memory, marked; they can be looked at here too, and wait for nobody.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from gitmem.errors import GitMemError, InvalidContent, UnknownRevision, UsageError
from gitmem.git.message import Message
from gitmem.memory import hand_edits
from gitmem.memory.curated.archive import archive_store
from gitmem.memory.curated.contests import contested, resolve
from gitmem.memory.curated.store import TARGETS, CuratedStore, Target
from gitmem.memory.gate import audit, release
from gitmem.memory.gate.admission import UNCONFIRMED, Admission
from gitmem.memory.gate.foreign import Foreign
from gitmem.memory.gate.hearing import came_from, is_unconfirmed
from gitmem.memory.gate.quarantine import Quarantine
from gitmem.memory.gate.taken import Taken
from gitmem.memory.linked_host import proposals
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import DELIMITER, Entry, entry_hash, section_key
from gitmem.safety.heard import RELEASED

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits

Kind = Literal["held", "hidden", "taken", "contested", "broken", "full", "proposed", "unconfirmed"]
_NAMES: dict[Kind, tuple[str, str]] = {
    "held": ("held text", "held texts"),
    "hidden": ("hidden entry", "hidden entries"),
    "taken": ("entry that a remote took away", "entries that a remote took away"),
    "contested": ("contested entry", "contested entries"),
    "broken": ("hand edit with a problem", "hand edits with a problem"),
    "full": ("store over its limit", "stores over their limit"),
    "proposed": ("skill that Hermes keeps back", "skills that Hermes keeps back"),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One thing for a person to look at: what it is, its text, where it belongs, and why it waits."""

    id: str
    kind: Kind
    path: str
    text: str
    why: str = ""
    at: str = ""
    session: str = ""
    source: str = ""


def waiting(bundle: Bundle) -> list[Item]:
    """What waits for a person, in the order in which it is shown."""
    return [
        item
        for find in (_held, _hidden, _taken, _contested, _broken, _full, _proposed)
        for item in find(bundle)
    ]


def after_sync(bundle: Bundle) -> str:
    """How much waits, as one sentence; what the scanner remarks meanwhile is not reported."""
    said_before = list(bundle.notices)
    try:
        return in_words(waiting(bundle))
    finally:
        bundle.notices[:] = said_before


def at_a_glance(bundle: Bundle) -> str:
    """How much waits, without the scanner: for a session that begins."""
    return in_words([*_held(bundle), *_taken(bundle), *_contested(bundle)])


def unconfirmed(bundle: Bundle) -> list[Item]:
    """The entries of the curated store that are marked: nobody confirmed them."""
    store, foreign = bundle.part(CuratedStore), Foreign(bundle)
    return [
        Item(
            entry.key.id[:12],
            "unconfirmed",
            path,
            entry.text,
            "nobody confirmed it",
            entry.at,
            source=came_from(entry),
        )
        for target in TARGETS
        for path in store.paths(target)
        for entry in foreign.marked(CuratedFile.salvage(bundle.read(path), path).entries)
        if is_unconfirmed(entry) and not foreign.waits(entry.key.id)
    ]


def find(bundle: Bundle, name: str) -> Item:
    """An item by its id or the beginning of it."""
    near = {
        (item.kind, item.id): item
        for item in (*waiting(bundle), *unconfirmed(bundle))
        if name and item.id.startswith(name)
    }
    if len(near) != 1:
        raise UnknownRevision(
            f"{len(near)} items begin with {name!r}: give more of the id."
            if near
            else f"Nothing that waits begins with {name!r}.",
            hint="List them with `gitmem review --list`.",
        )
    return next(iter(near.values()))


def in_words(items: list[Item]) -> str:
    """How much waits, as one sentence; empty where nothing does."""
    counts = {kind: sum(item.kind == kind for item in items) for kind in _NAMES}
    parts = [f"{count} {_NAMES[kind][count > 1]}" for kind, count in counts.items() if count]
    if not parts:
        return ""
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{listed} {'waits' if sum(counts.values()) == 1 else 'wait'} for a person: run `gitmem review`."


# --- what waits ------------------------------------------------------------------------------------------


def _held(bundle: Bundle) -> Iterator[Item]:
    for one in bundle.part(Quarantine).all():
        where = one.destination
        yield Item(
            one.id,
            "held",
            where.get("path") or where.get("session", ""),
            one.text,
            "; ".join(finding.get("reason", "") for finding in one.findings),
            one.at,
            one.origin.get("Session", ""),
            one.origin.get("Source", ""),
        )


def _hidden(bundle: Bundle) -> Iterator[Item]:
    for one in audit.flagged(bundle, "memories"):
        yield Item(one.id, "hidden", one.path, one.text, one.result.explain())
    store, foreign = bundle.part(CuratedStore), Foreign(bundle)
    for path in [path for target in TARGETS for path in store.paths(target)] if foreign else ():
        for entry in CuratedFile.salvage(bundle.read(path), path).entries:
            result = foreign.verdict(entry)
            if result is not None and not foreign.is_dropped(entry.key.id):
                yield Item(entry.key.id[:12], "hidden", path, entry.text, result.explain(), entry.at)


def _taken(bundle: Bundle) -> Iterator[Item]:
    store, taken = bundle.part(CuratedStore), Taken(bundle)
    for path in [path for target in TARGETS for path in store.paths(target)] if taken else ():
        for entry in CuratedFile.salvage(bundle.read(path), path).entries:
            if why := taken.why(entry.key.id):
                yield Item(entry.key.id[:12], "taken", path, entry.text, why, entry.at)


def _contested(bundle: Bundle) -> Iterator[Item]:
    for one in contested(bundle):
        newest = one.entries[-1]
        others = "; ".join(entry.text for entry in one.entries[:-1])
        yield Item(one.replaced[:12], "contested", one.path, newest.text, f"against: {others}", newest.at)


def _broken(bundle: Bundle) -> Iterator[Item]:
    with contextlib.suppress(GitMemError):  # a busy bundle can still be looked at
        edits = bundle.hand_edits()
        if not edits:
            return
        from gitmem.memory.hand_edits import problems_of

        texts = {edit.path: (edit.data or b"").decode("utf-8", "backslashreplace") for edit in edits}
        for path, problem in problems_of(bundle, edits).items():
            yield Item(entry_hash(path)[:12], "broken", path, texts[path], problem)


def _full(bundle: Bundle) -> Iterator[Item]:
    store = bundle.part(CuratedStore)
    for target in TARGETS:
        used = sum(len(entry.text) + len(DELIMITER) for entry in store.entries(target)) - len(DELIMITER)
        limit = store.limit(target)
        if used > limit:
            path = store.path(target)
            text = DELIMITER.join(
                entry.text for entry in CuratedFile.salvage(bundle.read(path), path).entries
            )
            why = f"it holds {used:,} of {limit:,} characters: the prompt has only a part of it"
            yield Item(entry_hash(target)[:12], "full", path, text, why)


def _proposed(bundle: Bundle) -> Iterator[Item]:
    for one in proposals(bundle):
        yield Item(one.id, "proposed", one.path, one.text, "waits in Hermes for its user", one.at)


# --- what a person decides -------------------------------------------------------------------------------


def accept(bundle: Bundle, item: Item, *, by: str, reason: str = "") -> str:
    """A person says that it is fine: it goes in, or is shown again, as looked at by them. Gives the commit, if any."""
    _refuse_proposed(item)
    if item.kind == "held":
        return release.release(bundle, item.id, by=by, reason=reason)[1]
    if _is_foreign(bundle, item):
        Foreign(bundle).decide(entry_hash(item.text), accepted=True)
        return ""
    if item.kind == "taken":
        Taken(bundle).settle(entry_hash(item.text))
        return ""
    if item.kind == "hidden":
        return release.unhide(bundle, audit.find_flagged(bundle, item.id), by=by, reason=reason)
    if item.kind == "contested":
        return _settle(bundle, item, item.text, by=by, reason=reason)
    if item.kind == "full":
        done = archive_store(bundle, _target(bundle, item))
        return done.commit if done else ""
    if item.kind == "broken":
        raise InvalidContent(
            f"{item.path} {item.why.rstrip('.')}: it cannot be committed as it is.",
            hint="Edit it, or drop it to get back what the newest commit has.",
        )
    return _change(bundle, item, _confirmed(by), f"confirm {item.text}", by=by, reason=reason)


def drop(bundle: Bundle, item: Item, *, by: str, reason: str = "") -> str:
    """A person wants none of it: it leaves the queue, and the memory where it is there. Gives the commit, if any."""
    _refuse_proposed(item)
    if item.kind == "held":
        bundle.part(Quarantine).remove(item.id, why="drop")
        return ""
    if _is_foreign(bundle, item):  # others may want it: it is only hidden here
        Foreign(bundle).decide(entry_hash(item.text), accepted=False)
        return ""
    if item.kind in ("hidden", "taken", "unconfirmed"):
        Taken(bundle).settle(entry_hash(item.text))
        return _change(bundle, item, None, f"remove {item.text}", by=by, reason=reason)
    if item.kind == "contested":
        contest = next(one for one in contested(bundle) if one.replaced.startswith(item.id))
        return _settle(bundle, item, contest.entries[-2].text, by=by, reason=reason)
    if item.kind == "broken":
        hand_edits.put_back(bundle, item.path)
        return ""
    raise UsageError(
        "A store that is too full cannot be dropped.",
        hint="Accept moves its oldest entries to the archive; edit lets you shorten it.",
    )


def edit(bundle: Bundle, item: Item, text: str, *, by: str, reason: str = "") -> str:
    """A person gives the words that are right: they go in instead. Gives the commit."""
    _refuse_proposed(item)
    if item.kind == "held":
        return release.release(bundle, item.id, by=by, reason=reason, text=text)[1]
    if item.kind == "contested":
        return _settle(bundle, item, text, by=by, reason=reason)
    if item.kind in ("hidden", "taken", "unconfirmed"):
        Taken(bundle).settle(entry_hash(item.text))
        commit = _change(bundle, item, None, f"remove {item.text}", by=by, reason=reason)
        target = _target(bundle, item)
        machine = item.path != bundle.part(CuratedStore).path(target)
        origin = bundle.origin(source=f"{RELEASED}{by}", reason=reason)
        answer = bundle.part(CuratedStore).add(
            text, target=target, machine=machine, origin=origin, by_person=True
        )
        return answer.commit or commit
    if item.kind == "full":
        return hand_edits.commit_text(bundle, item.path, _stored_as(bundle, item.path, text))
    return hand_edits.commit_text(bundle, item.path, text.encode())


def _refuse_proposed(item: Item) -> None:
    if item.kind == "proposed":
        raise UsageError(
            f"{item.path} waits in Hermes, which has to write it.", hint="Decide there, with /skills pending."
        )


def _stored_as(bundle: Bundle, path: str, text: str) -> bytes:
    """A § file with these entries; those that were there keep what is known of them."""
    file = CuratedFile.salvage(bundle.read(path), path)
    known = {entry.text: entry for entry in file.entries}
    texts = [one.strip() for one in text.split(DELIMITER) if one.strip()]
    return file.with_entries(known.get(one) or Entry(section_key(one), one) for one in texts).render()


def _is_foreign(bundle: Bundle, item: Item) -> bool:
    """Whether only this machine's note keeps an entry back, which others wrote and share."""
    here = Entry(section_key(item.text), item.text)
    return item.kind in ("hidden", "unconfirmed") and is_unconfirmed(Foreign(bundle).marked([here])[0])


def _settle(bundle: Bundle, item: Item, text: str, *, by: str, reason: str) -> str:
    done = resolve(bundle, item.id, text, origin=bundle.origin(source=f"{RELEASED}{by}", reason=reason))
    if done.held:
        raise UsageError(f"The scanner holds these words ({', '.join(done.held)}): use others.")
    return done.commit


def _confirmed(by: str) -> Callable[[Entry], Entry]:
    def confirmed(entry: Entry) -> Entry:
        kept = {key: value for key, value in entry.extra.items() if key != UNCONFIRMED}
        return replace(entry, extra={**kept, "verified": f"human:{by}"})

    return confirmed


def _change(
    bundle: Bundle, item: Item, changed: Callable[[Entry], Entry] | None, what: str, *, by: str, reason: str
) -> str:
    """Change an entry of the curated store, or (None) take it out and say that it must not come back."""
    origin = bundle.origin(source=f"{RELEASED}{by}", reason=reason)

    def work(edits: Edits) -> Message | None:
        file = CuratedFile.salvage(edits.read(item.path), item.path)
        entry = file.get(entry_hash(item.text))
        if entry is None:
            return None
        rest = [one for one in file.entries if one is not entry]
        if changed is None:
            Admission(bundle, edits, origin=origin).retract(entry, item.path, state="reverted")
        edits.write(item.path, file.with_entries([*rest, *([changed(entry)] if changed else [])]).render())
        return Message("memory", what)

    published = bundle.commit(work, purpose="review", origin=origin)
    return published.commit.oid if published else ""


def _target(bundle: Bundle, item: Item) -> Target:
    """The store that a path belongs to."""
    return next(one for one in TARGETS if item.path in bundle.part(CuratedStore).paths(one))
