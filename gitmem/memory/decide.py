"""A person's decision on an item of the review: let it in, drop it, or give the right words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent, UsageError
from gitmem.git.message import Message
from gitmem.memory import hand_edits
from gitmem.memory.curated.archive import archive_store
from gitmem.memory.curated.contests import contested, resolve
from gitmem.memory.curated.store import TARGETS, CuratedStore, Target
from gitmem.memory.gate import audit, release
from gitmem.memory.gate.admission import UNCONFIRMED, Admission
from gitmem.memory.gate.foreign import Foreign
from gitmem.memory.gate.hearing import is_unconfirmed
from gitmem.memory.gate.quarantine import Quarantine
from gitmem.memory.gate.taken import Taken
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import DELIMITER, Entry, entry_hash, section_key
from gitmem.safety.heard import RELEASED

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.memory.review import Item


def accept(bundle: Bundle, item: Item, *, by: str, reason: str = "") -> str:
    """A person says that it is fine: it goes in, or is shown again, as looked at by them. Gives the commit, if any."""
    _refuse_proposed(item)
    if item.kind == "held":
        return release.release(bundle, item.id, by=by, reason=reason)[1]
    if _is_foreign(bundle, item):
        Foreign(bundle).decide(entry_hash(item.text), accepted=True)
        if item.kind != "hidden" or not audit.is_flagged(bundle, item.path, item.text):
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
    """Return whether only this machine's note keeps an entry back, which others wrote and share."""
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
