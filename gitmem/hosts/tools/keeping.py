"""Tools that keep something: remember, revise, snapshot, the memory tool. None accepts what waits for a person."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from gitmem.errors import StoreRefusal, UsageError
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.curated.store import TARGETS, Operation, Target
from gitmem.memory.gate.admission import EVENT, Admission, redacted
from gitmem.memory.gate.hearing import Hearing
from gitmem.okf.entries import entry_hash
from gitmem.okf.plain import shortened
from gitmem.okf.short_ids import short
from gitmem.safety.verdict import Verdict

if TYPE_CHECKING:
    from gitmem.hosts.tools.calls import Call, Value
    from gitmem.memory.curated.store import Answer
    from gitmem.okf.entries import Entry

_STORE_OF: dict[str, Target] = {"fact": "memory", "preference": "user"}


# --- remember --------------------------------------------------------------------------------------------


def remember(call: Call) -> Value:
    """A fact or a preference is an entry of its store; a decision or an observation an event of the session."""
    kind, text = call.text("kind") or "fact", call.text("text")
    # Also where no word of the agent is kept: what it names as the source counts against the text.
    call.memory.part(Hearing).declared(call.session.id, call.text("source"), text)
    why, source = (_own_words(call, name) for name in ("why", "source"))
    if kind in _STORE_OF:
        return _add(call, _STORE_OF[kind], text, why, source)
    if call.given.get("here_only"):
        raise UsageError("Only a fact can be true on this machine only.")
    return _record(call, kind, text, why, source)


def _add(call: Call, target: Target, text: str, why: str, source: str) -> Value:
    here = bool(call.given.get("here_only"))
    origin = call.session.origin(reason=why, source=source or f"{call.prefix}remember")
    answer = call.memory.curated.add(text, target=target, machine=here, origin=origin)
    stored = redacted(text)
    if answer.changed:
        machine = call.memory.config.machine if here else ""
        call.session.wrote(call.memory.curated.path(target, machine=machine), stored, origin)
    return {**_kept(answer), **({} if answer.held else {"id": short(entry_hash(stored))})}


def _record(call: Call, kind: str, text: str, why: str, source: str) -> Value:
    """On disk when it answers, and committed right after: nobody waits for git."""
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
        result = admission.came(text).judged(result, len(text))
    if result.verdict is not Verdict.ALLOW:
        return {"success": False, "message": f"Held back for the user to look at: {result.explain()}."}
    known = {"id": short(event)} if event else {}
    return {"success": True, "kept": kind, "message": "It is committed in a moment.", **known}


def _kept(answer: Answer) -> Value:
    return {
        "success": not answer.held,
        "message": answer.message,
        "usage": f"{answer.percent}% — {answer.usage:,}/{answer.limit:,} chars",
        "commit": answer.commit or None,
        **({"note": answer.note} if answer.note else {}),
    }


def _own_words(call: Call, name: str) -> str:
    return transcripts_of(call.memory.config).of_the_agent(call.text(name))


# --- revise ----------------------------------------------------------------------------------------------


def revise(call: Call) -> Value:
    """Another wording in the place of an entry, or nothing."""
    target, here, entry = _meant(call, call.text("id"))
    text, origin = call.text("text"), call.session.origin(reason=_own_words(call, "why"), source="revise")
    store = call.memory.curated
    if text:
        answer = store.replace(entry.text, text, target=target, machine=here, origin=origin)
    else:
        answer = store.remove(entry.text, target=target, machine=here, origin=origin)
    if answer.changed and text:
        machine = call.memory.config.machine if here else ""
        call.session.wrote(store.path(target, machine=machine), redacted(text), origin)
    return {
        **_kept(answer),
        **({"id": short(entry_hash(redacted(text)))} if text and not answer.held else {}),
    }


def _meant(call: Call, wanted: str) -> tuple[Target, bool, Entry]:
    """The one entry that begins with an id, or contains a text."""
    from gitmem.okf.curated import CuratedFile

    store = call.memory.curated
    places = [
        (target, bool(number), entry)
        for target in TARGETS
        if store.is_enabled(target)
        for number, path in enumerate(store.paths(target))
        for entry in CuratedFile.salvage(call.memory.read(path), path).entries
    ]
    found = [one for one in places if len(wanted) >= 6 and one[2].key.id.startswith(wanted)]
    found = found or [one for one in places if wanted in one[2].text]
    if len(found) != 1:
        many = "No fact or preference" if not found else f"{len(found)} facts or preferences"
        have = "has" if not found else "have"
        raise UsageError(
            f"{many} {have} the id or the words {shortened(wanted, 60)!r}: search gives ids, and decisions are "
            "replaced by remembering a new one."
        )
    return found[0]


# --- snapshot --------------------------------------------------------------------------------------------


def snapshot(call: Call) -> Value:
    """A name for the present, with everything that waits in it."""
    call.session.flush()
    made = call.memory.snapshots.create(call.text("name"), call.text("note"), origin=call.session.origin())
    return {"snapshot": made.name, "commit": made.commit, "undo": f"gitmem restore {shlex.quote(made.name)}"}


# --- the memory tool -------------------------------------------------------------------------------------


def memory(call: Call) -> Value:
    """add, replace and remove in one store, one by one or all together."""
    target: Any = call.text("target") or "memory"
    given = call.given.get("operations") or [call.given]
    operations = [_operation(one) for one in given]
    origin = call.session.origin(source="memory tool")
    store = call.memory.curated
    try:
        answer = store.batch(operations, target=target, origin=origin)
    except StoreRefusal as refusal:
        # The model has to choose among what is there: it sees it, as a prompt would show it.
        raise UsageError(f"{refusal} {_inventory(call, target)}") from refusal
    if answer.changed:
        for one in operations:
            if one.content:
                call.session.wrote(store.path(target), redacted(one.content.strip()), origin)
    return {**_kept(answer), "done": True, "target": target, "entry_count": answer.count}


def _operation(given: Any) -> Operation:
    action = str(given.get("action") or "")
    content, old = (str(given.get(name) or "").strip() for name in ("content", "old_text"))
    if action in ("add", "replace") and not content:
        raise UsageError(f"`content` is missing for {action}.")
    if action in ("replace", "remove") and not old:
        raise UsageError(f"`old_text` is missing for {action}: give a unique part of the entry.")
    if action not in ("add", "replace", "remove"):
        raise UsageError("`action` must be one of add, replace, remove.")
    return Operation(action, content, old)  # type: ignore[arg-type]  # it is one of the three


def _inventory(call: Call, target: Target) -> str:
    entries = call.egress().curated(call.memory.curated.entries(target), call.memory.tree())
    shown = [shortened(entry.text, 80) for entry, result in entries if result.verdict is Verdict.ALLOW]
    return f"The store has: {'; '.join(shown)}." if shown else "The store is empty."
