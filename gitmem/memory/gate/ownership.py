"""Ownership of entries: whether an entry, or a new text, is the user's own; an agent replaces no such entry by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.memory.gate.admission import ENTRY, Admission
from gitmem.memory.gate.evidence import SessionEvidence
from gitmem.memory.gate.marks import is_unconfirmed
from gitmem.memory.indexing import Indexing
from gitmem.okf.curated import check_text
from gitmem.safety.channels import asks_to_forget, asks_to_keep, cover, speaks_of
from gitmem.safety.verdict import Finding, Result, Verdict
from gitmem.text.keys import keys_of
from gitmem.world import AGENTS

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.origin import Origin
    from gitmem.okf.entries import Entry

_MOST = 0.5
_RECENT = 3
_WAITS = "would take the place of the user's own words, and the user did not say it"


def is_users_own(bundle: Bundle, path: str, entry: Entry) -> bool:
    """Return whether a person wrote or verified an entry, or said it in the session that wrote it."""
    if is_unconfirmed(entry):
        return False
    if str(entry.extra.get("verified", "")).startswith("human"):
        return True
    written = bundle.part(Indexing).current().span_at(path, entry.key)
    if written is None:  # it is not committed yet: a hand edit
        return True
    if not written.session:
        return written.agent not in AGENTS
    return is_said(bundle, written.session, entry.text)


def is_said(bundle: Bundle, session: str, text: str, instead_of: str = "") -> bool:
    """Return whether the user said a text in a session, or what is new in it, or just asked to keep something."""
    said = [one.text for one in bundle.part(SessionEvidence).of(session).said]
    words = "\n".join(said)
    new = keys_of(text) - keys_of(instead_of)
    is_told = new <= keys_of(words) if new else cover(text, words) >= _MOST
    return is_told or any(map(asks_to_keep, said[-_RECENT:]))


def asks_to_remove(bundle: Bundle, session: str, text: str) -> bool:
    """Return whether the user lately asked to forget something, or spoke of a text otherwise than in a question."""
    said = [one.text for one in bundle.part(SessionEvidence).of(session).said[-_RECENT:]]
    return any(
        asks_to_forget(one) or (speaks_of(text, one) and not one.rstrip().endswith(("?", "？")))
        for one in said
    )


def hold_replacement(bundle: Bundle, path: str, entry: Entry, text: str, origin: Origin) -> str:
    """Hold a text that would take the place of an entry; a person who accepts it replaces the entry. Gives its id."""
    admission = Admission(bundle, origin=origin)
    text = admission.note(check_text(text), ENTRY)
    finding = Finding("users-own", "ownership", _WAITS, (0, len(text)), Verdict.HOLD)
    where = {"kind": "entry", "path": path, "replaces": entry.key.id}
    return admission.hold(text, Result(Verdict.HOLD, (finding,)), where)
