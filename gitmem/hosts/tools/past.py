"""Tools for the history: who wrote what and why, what changed, and taking back."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision, UsageError
from gitmem.hosts.tools.looking import SHORT, is_knowledge
from gitmem.hosts.tools.table import MOST
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.gate.egress import Egress, worth
from gitmem.okf.plain import shortened
from gitmem.okf.ranks import KNOWLEDGE
from gitmem.okf.short_ids import short

if TYPE_CHECKING:
    from gitmem.hosts.tools.calls import Call, Value
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.log import LogEntry

_FEW = 6
"""Changes of one commit that a log tells."""
_TOKEN = 10


# --- history ---------------------------------------------------------------------------------------------


def history(call: Call) -> Value:
    """For an entry or a file, its story; else the latest changes."""
    wanted = call.text("id")
    return _story_of(call, wanted) if wanted else _log(call)


def _log(call: Call) -> Value:
    """The commits, told by what they did: their subjects quote texts that may be gone since."""
    entries = call.memory.log(
        path=call.text("path"),
        session=call.text("session"),
        since=call.text("since"),
        limit=call.limit(10),
    )
    egress = call.egress()
    return {"commits": [_commit(call, entry, egress) for entry in entries]}


def _commit(call: Call, entry: LogEntry, egress: Egress) -> Value:
    changes = [change for change in call.memory.show(entry.id).diff if is_knowledge(change.path)]
    told = [egress.change(change) for change in changes[:_FEW]]
    # Why and from where is said in the words of the change, or of whoever asked for it: they go with it.
    holds = egress.sees_session(entry.session) and any(
        egress.holds(change.path, change.new) for change in changes if change.new is not None
    )
    return {
        "commit": entry.commit.oid[:SHORT],
        "at": entry.at,
        "kind": entry.kind,
        "session": entry.session or None,
        "agent": entry.agent or None,
        "machine": entry.machine or None,
        "reason": egress.text(entry.reason) or None if holds else None,
        "source": egress.text(entry.source) or None if holds else None,
        "changes": told,
        **({"more_changes": len(changes) - _FEW} if len(changes) > _FEW else {}),
    }


def _story_of(call: Call, wanted: str) -> Value:
    """Return who wrote an entry, or each entry of a file, as it is now."""
    store, egress = call.memory.curated, call.egress()
    path, key = wanted, ""
    for target in ("memory", "user"):
        for one in store.paths(target):
            data = call.memory.read(one)
            if data is not None and (found := _id_in(one, data, wanted)):
                path, key = one, found
    stories = [
        story
        for story in call.memory.blame(path)
        if (not key or story.entry.key.id == key) and egress.holds(path, story.entry)
    ]
    return {"path": path, "entries": [_story(path, one, egress) for one in stories[: call.limit(MOST)]]}


def _id_in(path: str, data: bytes, wanted: str) -> str:
    """The id of the one entry of a file that is meant, by the beginning of its id."""
    from gitmem.okf.files import open_file

    ids = [key.id for key in open_file(path, data).entries if key.space == "§" and key.id.startswith(wanted)]
    return ids[0] if len(ids) == 1 and len(wanted) >= 6 else ""


def _story(path: str, story: Blamed, egress: Egress) -> Value:
    """Return who wrote an entry as it is now. What it said before is not told: it no longer holds."""
    last = story.changed
    why = last.reason if egress.sees_session(last.session) else ""
    return {
        **({"id": short(story.entry.key.id)} if story.entry.key.space == "§" else {}),
        "text": egress.text(story.entry.text),
        **worth(KNOWLEDGE, "", egress.came_from(path, story.entry.key)),
        "since": story.introduced.at,
        "written": last.at,
        "commit": last.commit.oid[:SHORT],
        "session": last.session or None,
        "agent": last.agent or None,
        "machine": last.machine or None,
        "reason": egress.text(why) or None,
        "source": egress.text(last.source) or None,
        "times_changed": story.times,
        "verified": story.verified or None,
        "verified_here": story.verified_here,
    }


# --- diff ------------------------------------------------------------------------------------------------


def diff(call: Call) -> Value:
    """Return what differs, in the words that hold now."""
    session, path = call.text("session"), call.text("path")
    egress = call.egress()
    if session:
        if not egress.sees_session(session):
            raise UnknownRevision(f"There is no session {shortened(session)!r}.")
        found = call.memory.diff(session=session, path=path)
    else:
        found = call.memory.diff(call.text("a") or _yesterday(call), call.text("b"), path=path)
    changes = [one for one in found if egress.tells(one)]
    listed = [egress.change(change) for change in changes[: call.limit(MOST)]]
    return {"changes": listed, "count": len(changes)}


def _yesterday(call: Call) -> str:
    """The commit of that moment, or the first one of a memory that is younger."""
    try:
        return call.memory.resolve("yesterday")
    except UnknownRevision:
        return list(call.memory.log())[-1].id


# --- undo ------------------------------------------------------------------------------------------------


def undo(call: Call) -> Value:
    """First what would go, with a token; then, by that token and no other, it goes."""
    from gitmem.memory.history.revert import Undo
    from gitmem.memory.history.select import Selection, select

    memory = call.memory
    call.session.flush()
    session, agent, commit = call.text("session"), call.text("agent"), call.text("commit")
    wanted = Selection(
        (memory.resolve(commit),) if commit else (), (session,) if session else (), (agent,) if agent else ()
    )
    if wanted.is_empty:
        raise UsageError("Say what to take back: a commit, a session or an agent.")
    why = transcripts_of(memory.config).of_the_agent(call.text("why"))
    origin = call.session.origin(reason=why, source=f"{call.prefix}undo")
    chosen = select(memory, wanted)
    names = " ".join([memory.tip, *(one.oid for one in chosen.commits)])
    token = hmac.new(call.session.secret, names.encode(), "sha256").hexdigest()[:_TOKEN]
    if not hmac.compare_digest(token.encode(), call.text("confirm").encode()):
        planned = memory.part(Undo).revert(chosen.commits, origin=origin, dry_run=True, picks=chosen.picks)
        egress = call.egress()
        changes = [one for one in planned.changes if is_knowledge(one.path)]
        return {
            "preview": [egress.change(one) for one in changes[:MOST]],
            "commits": len(chosen.commits),
            "count": len(changes),
            "kept": len(planned.kept),
            "confirm": token,
        }
    done = memory.part(Undo).revert(chosen.commits, origin=origin, picks=chosen.picks)
    return {
        "success": done.published is not None,
        "changed": len(done.changes),
        "kept": len(done.kept),
        "undo": "gitmem undo",
    }
