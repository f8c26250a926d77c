"""Release from quarantine: a person looked, and the text goes where it belonged."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent, StoreRefusal, UsageError
from gitmem.git.message import Message
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import redacted
from gitmem.memory.gate.quarantine import Quarantine, QuarantineItem
from gitmem.memory.gate.scan import Gate
from gitmem.memory.retraction import is_retracted, retract
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile, check_text
from gitmem.okf.entries import Entry, EntryKey, entry_hash, section_key
from gitmem.okf.events import Event
from gitmem.okf.files import open_file
from gitmem.okf.layout import find_session
from gitmem.okf.paths import check_path
from gitmem.okf.skills import stored
from gitmem.okf.validate import check_file
from gitmem.safety.heard import RELEASED

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.gate.audit import Flagged


def release(
    bundle: Bundle, item: str, *, by: str, reason: str = "", text: str = ""
) -> tuple[QuarantineItem, str]:
    """Let an item in; gives it and the commit that holds it now (empty where a later commit will).

    With a `text` those words go in instead.
    """
    held = bundle.part(Quarantine).get(item)
    if text:
        if held.destination.get("kind") != "entry":
            raise UsageError(f"Only the words of an entry can be edited here: accept or drop {held.id}.")
        held = replace(held, concept=held.concept.with_body(redacted(check_text(text))))
    kind = held.destination.get("kind", "")
    origin = bundle.origin(reason=reason, source=f"{RELEASED}{by}", session=held.origin.get("Session", ""))
    for judged in _judged_texts(held):
        bundle.part(Gate).release(entry_hash(judged), by)

    def work(edits: Edits) -> Message | None:
        if kind == "entry":
            _put_entry(bundle, edits, held, by)
        elif kind == "event":
            _put_event(edits, held)
        elif kind == "skill":
            _put_skill(bundle, edits, held)
        elif kind == "file":
            _put_file(edits, held)
        else:
            raise InvalidContent(f"Nothing is known of where {held.id} belongs: copy its text by hand.")
        return Message("skill" if kind == "skill" else "memory", f"release {held.id}")

    published = bundle.commit(work, purpose="release", origin=origin) if kind != "file" else None
    if kind == "file":
        made = bundle.commit_gate.commit_all_hand_edits(strict=False, reason=reason)
        # A person's edit was waiting in the work tree; what an import held is nowhere else.
        if bundle.read(held.destination["path"]) is None:
            published = bundle.commit(work, purpose="release", origin=origin)
        elif made:
            published = made[-1]
    bundle.part(Quarantine).remove(held.id, why="release")
    return held, published.commit.oid if published else ""


def unhide(bundle: Bundle, flagged: Flagged, *, by: str, reason: str = "") -> str:
    """Show a flagged entry of the tree again on this machine; gives the commit that says who looked, if any."""
    bundle.part(Gate).release(entry_hash(flagged.text), by)

    def work(edits: Edits) -> Message | None:
        file = open_file(flagged.path, edits.read(flagged.path)).holding("§")
        entry = file.get(section_key(flagged.text))
        if entry is None or not flagged.path.startswith("memories/"):
            return None
        verified = replace(entry, extra={**entry.extra, "verified": f"human:{by}"})
        edits.write(flagged.path, file.replacing(entry, verified).render())
        return Message("memory", f"release {flagged.id}")

    origin = bundle.origin(reason=reason, source=f"{RELEASED}{by}")
    published = bundle.commit(work, purpose="release", origin=origin)
    return published.commit.oid if published else ""


def _judged_texts(held: QuarantineItem) -> list[str]:
    """The text as the gate sees it on the way in (an event's fields are joined), and as a search would show it."""
    from gitmem.index.documents import documents_of, event_text

    kind, path = held.destination.get("kind"), held.destination.get("path", "")
    if kind == "event":
        return [_event(held).entry.text, event_text(_event(held))]
    if kind == "skill":
        return _skill_texts(path, held.text)
    shown = documents_of(path, held.text.encode()) if kind == "file" else []
    return [held.text, *(document.text for document in shown)]


def accept_skill_text(bundle: Bundle, path: str, text: str, *, by: str) -> None:
    """A person wrote this file of a skill: the scanner's doubts about it are settled on this machine."""
    for judged in _skill_texts(path, text):
        bundle.part(Gate).release(entry_hash(judged), by)


def _skill_texts(path: str, text: str) -> list[str]:
    """A file of a skill as its agent has it and as the bundle has it, and as a search would show it."""
    from gitmem.index.documents import documents_of

    made = stored(path, text.encode())
    shown = documents_of(path, made)
    body = open_file(path, made).body.strip()
    return list(dict.fromkeys((text, made.decode(), body, *(document.text for document in shown))))


def _put_entry(bundle: Bundle, edits: Edits, held: QuarantineItem, by: str) -> None:
    path = held.destination["path"]
    file = CuratedFile.salvage(edits.read(path), path)
    entry = Entry(section_key(held.text), held.text)
    if is_retracted(edits, entry.key):
        retract(edits, entry, path, state="released", at=bundle.now(), origin=bundle.origin(source=by))
    wanted = file.add(held.text, bundle.now(), verified=f"human:{by}")
    limit = bundle.config.user_char_limit if path == layout.USER else bundle.config.memory_char_limit
    if wanted.usage > limit:
        raise StoreRefusal(
            f"With it the store would have {wanted.usage:,} of {limit:,} characters: remove or shorten entries first.",
            usage=file.usage,
            limit=limit,
            entries=[one.text for one in file.entries],
        )
    edits.write(path, wanted.render())


def _put_file(edits: Edits, held: QuarantineItem) -> None:
    path, data = held.destination["path"], held.text.encode()
    check_path(path)
    for violation in check_file(path, data):
        raise InvalidContent(f"{path} is not a valid OKF file: {violation.reason}")
    edits.write(path, data)


def _put_event(edits: Edits, held: QuarantineItem) -> None:
    """The event takes the place of the stub that was recorded for it."""
    where = held.destination
    home = (find_session(edits, where["session"]) or "").removesuffix(".md")
    for name in edits.names(home) if home else []:
        file = open_file(f"{home}/{name}", edits.read(f"{home}/{name}"))
        stub = file.get(EntryKey("event", where["event"]))
        if stub is not None:
            edits.write(file.path, file.replacing(stub, _event(held).entry).render())
            return
    raise InvalidContent(f"The session {where['session']!r} is gone from the bundle: copy the text by hand.")


def _put_skill(bundle: Bundle, edits: Edits, held: QuarantineItem) -> None:
    """The file as it was meant, whole; with it, whatever was said of it earlier is settled."""
    path = held.destination["path"]
    made = stored(path, held.text.encode())
    for entry in open_file(path, made).units.values():
        if is_retracted(edits, entry.key, path, open_file(path, made).body):
            retract(edits, entry, path, state="released", at=bundle.now(), origin=bundle.origin())
    edits.write(path, made)


def _event(held: QuarantineItem) -> Event:
    where = held.destination
    fields = json.loads(held.text)
    texts = {str(name): str(value) for name, value in fields.items()} if isinstance(fields, dict) else {}
    return Event(where["event"], where["event_kind"], where["at"], texts)
