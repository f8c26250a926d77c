"""Tools that keep something: remember, revise, note, snapshot. None accepts what waits for a person."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import StoreRefusal, UsageError
from gitmem.hosts.tools.calls import StoreWrite
from gitmem.hosts.tools.text import flat, line
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.curated.store import TARGETS, Target
from gitmem.memory.gate.admission import EVENT, Admission, redacted
from gitmem.memory.gate.evidence import SessionEvidence
from gitmem.memory.gate.ownership import asks_to_remove, hold_replacement, is_said, is_users_own
from gitmem.okf import layout
from gitmem.okf.entries import entry_hash
from gitmem.okf.plain import shortened
from gitmem.okf.short_ids import short
from gitmem.safety.channels import declared
from gitmem.safety.verdict import Verdict

if TYPE_CHECKING:
    from gitmem.hosts.tools.calls import ToolArguments
    from gitmem.hosts.tools.text import Lines
    from gitmem.memory.curated.store import Answer
    from gitmem.okf.entries import Entry

_STORE_OF: dict[str, Target] = {"fact": "memory", "preference": "user"}
_HELD = "Not kept. It is held until the user has looked at it with `gitmem review`."
_USERS_OWN = (
    "Not replaced: the entry is the user's own, and the user did not say the new text. Ask the user: it is held until "
    "they accept it with `gitmem review`."
)


# --- remember --------------------------------------------------------------------------------------------


def remember(call: ToolArguments) -> Lines:
    """A fact or a preference is an entry of its store; a decision or an observation an event of the session."""
    kind, text = call.text("kind") or "fact", call.text("text")
    # Also where no word of the agent is kept: what it names as the source counts against the text.
    if channel := declared(call.text("source")):
        call.memory.part(SessionEvidence).result(call.session.id, channel, call.text("source"), text)
    why, source = (_own_words(call, name) for name in ("why", "source"))
    if kind in _STORE_OF:
        return _add(call, _STORE_OF[kind], text, why, source)
    if call.given.get("here_only"):
        raise UsageError("Only a fact can be true on this machine only.")
    return _record(call, kind, text, why, source)


def _add(call: ToolArguments, target: Target, text: str, why: str, source: str) -> Lines:
    here, source = bool(call.given.get("here_only")), source or f"{call.prefix}remember"
    try:
        answer = call.session.remember(text, target=target, machine=here, reason=why, source=source)
    except StoreRefusal as refusal:
        # The model has to choose among what is there: it sees it, as a prompt would show it.
        raise UsageError(f"{refusal} {_inventory(call, target)}") from refusal
    call.written = None if answer.held else StoreWrite("add", target, text)
    return _kept(call, answer, text)


def _kept(call: ToolArguments, answer: Answer, text: str) -> Lines:
    """The answer to a text that was given to a store."""
    if answer.held:
        return [_HELD]
    room = ""
    if answer.bounded:
        room = f"The store has {answer.usage:,} of {answer.limit:,} characters ({answer.percent} %)."
    kept = "Kept." if answer.changed else "It was there already."
    said = " ".join(filter(None, (kept, room, answer.note)))
    return [line(short(entry_hash(redacted(text))), said), *_near(call, answer)]


def _near(call: ToolArguments, answer: Answer) -> Lines:
    """Entries that the new one may repeat or contradict, and what to do about them.

    The user decides between a source and what is known, and about their own words.
    """
    near = [one.entry for one in call.egress().entries(answer.near, call.memory.tree()) if one]
    if not near:
        return []
    texts = {entry.text for entry in near}
    there = [one for one in entry_meant(call, "", shared=True) if one.entry.text in texts]
    is_own = any(is_users_own(call.memory, one.path, one.entry) for one in there)
    if declared(call.text("source")) or (
        is_own and not is_said(call.memory, call.session.id, call.text("text"))
    ):
        said = "ask the user which holds"
    else:
        said = "revise the older one if it is out of date"
    shown = [f"  {line(short(entry.key.id), shortened(flat(entry.text), 200))}" for entry in near]
    return [f"It may repeat or contradict what is there ({said}):", *shown]


def _record(call: ToolArguments, kind: str, text: str, why: str, source: str) -> Lines:
    """On disk when it answers, and committed right after: the model does not wait for git."""
    if kind == "decision":
        rationale = "\n\n".join(part for part in (why, f"Source: {source}" if source else "") if part)
        given = {"decision": text, "rationale": rationale, "tags": call.given.get("tags")}
    else:
        rationale = "; ".join(part for part in (why, source) if part)
        given = {"content": f"{text} ({rationale})" if rationale else text}
    fields = {name: value for name, value in given.items() if value}
    event = call.session.happened_once(kind, **fields)
    admission = Admission(call.memory, origin=call.session.origin(source=source))
    result = admission.judge("\n".join((text, rationale)), EVENT)
    if kind == "decision":
        result = admission.marking(text, decides=True).judged(result, len(text))
    return [line(short(event), "Kept.") if result.verdict is Verdict.ALLOW else _HELD]


def _own_words(call: ToolArguments, name: str) -> str:
    return transcripts_of(call.memory.config).of_the_agent(call.text(name))


def _inventory(call: ToolArguments, target: Target) -> str:
    stored = call.memory.curated.entries(target, user=call.session.page)
    entries = call.egress().entries(stored, call.memory.tree())
    shown = [shortened(one.text, 80) for one in entries if one]
    return f"The store has: {'; '.join(shown)}." if shown else "The store is empty."


# --- revise ----------------------------------------------------------------------------------------------


def revise(call: ToolArguments) -> Lines:
    """Another wording in the place of an entry; or its removal, which has to be said."""
    text, wanted = call.text("text"), call.text("id")
    if bool(text) == bool(call.given.get("remove")):
        raise UsageError("Give the new `text`, or `remove: true` to remove the entry.")
    found = entry_meant(call, wanted)
    if len(found) != 1:
        many = "No fact or preference has" if not found else f"{len(found)} facts or preferences have"
        raise UsageError(
            f"{many} the id or the words {shortened(wanted, 60)!r}: search gives ids, and decisions are "
            "replaced by remembering a new one."
        )
    [(target, here, path, entry)] = found
    origin = call.session.origin(reason=_own_words(call, "why"), source=f"{call.prefix}revise")
    store = call.memory.curated
    is_own = is_users_own(call.memory, path, entry)
    if not text:
        if is_own and not asks_to_remove(call.memory, call.session.id, entry.text):
            raise UsageError(
                "Not removed: it is the user's own, and the user did not ask for it. Ask the user, who removes it "
                f"with `gitmem forget {short(entry.key.id)}`."
            )
        gone = flat(call.egress().text(entry.text))
        store.remove(entry.text, target=target, machine=here, origin=origin)
        call.written = StoreWrite("remove", target, "", entry.text)
        return [f"Removed: {gone}"]
    if is_own and not is_said(call.memory, call.session.id, text, instead_of=entry.text):
        hold_replacement(call.memory, path, entry, text, origin)
        return [_USERS_OWN]
    answer = store.replace(entry.text, text, target=target, machine=here, origin=origin)
    call.written = None if answer.held else StoreWrite("replace", target, text, entry.text)
    if answer.changed:
        call.session.wrote(path, redacted(text), origin)
    return _kept(call, answer, text)


class EntryMeant(NamedTuple):
    """An entry that a model names: its store, whether it is this machine's, its file."""

    target: Target
    here: bool
    path: str
    entry: Entry


def entry_meant(call: ToolArguments, wanted: str, *, shared: bool = False) -> list[EntryMeant]:
    """The entries that begin with an id, or contain a text; with `shared` also those that all users have."""
    from gitmem.okf.curated import CuratedFile

    store, page = call.memory.curated, call.session.page
    places = [
        EntryMeant(target, target == "memory" and bool(number), path, entry)
        for target in TARGETS
        if store.is_enabled(target)
        for number, path in enumerate(store.paths(target, user=page))
        if shared or not (page and path == layout.USER)  # one user does not change what all share
        for entry in CuratedFile.parse_leniently(call.memory.read(path), path).entries
    ]
    found = [one for one in places if len(wanted) >= 6 and one.entry.key.id.startswith(wanted)]
    return found or [one for one in places if wanted in one.entry.text]


# --- note and snapshot -----------------------------------------------------------------------------------


def note(call: ToolArguments) -> Lines:
    """A page in `notes/`."""
    from gitmem.memory.pages import write_note

    origin = call.session.origin(source=f"{call.prefix}note")
    path, _commit = write_note(call.memory, call.text("title"), call.text("text"), origin=origin)
    return [line(path, "Kept.")]


def snapshot(call: ToolArguments) -> Lines:
    """A name for the present, with everything that is pending in it."""
    call.session.flush()
    made = call.memory.snapshots.create(call.text("name"), call.text("note"), origin=call.session.origin())
    back = f"gitmem restore {shlex.quote(made.name)}"
    said = f"The present state is called {made.name} now; the user goes back to it with `{back}`."
    return [call.egress().text(said)]
