"""Tools for the history: who wrote what and why, what changed, and taking back."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from gitmem import dates
from gitmem.errors import UnknownRevision, UsageError
from gitmem.git.commit_graph import walk
from gitmem.hosts.tools.reading import marked_entry
from gitmem.hosts.tools.table import MOST
from gitmem.hosts.tools.text import flat, is_knowledge, knowledge, line
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.gate.egress import GONE, Egress
from gitmem.memory.history.story import Chapter, chapters
from gitmem.okf.entries import Entry, section_key
from gitmem.okf.learned import learned
from gitmem.okf.plain import shortened
from gitmem.okf.short_ids import short

if TYPE_CHECKING:
    from gitmem.hosts.tools.calls import ToolArguments
    from gitmem.hosts.tools.text import Lines
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.log import LogEntry
    from gitmem.okf.entries import Change

_FEW = 6
"""Changes of one session that an overview lists."""
_FARTHEST = 300
"""Sessions and single commits that one answer looks at."""
_TOKEN = 10
_ID = 8
"""Characters of a commit that a model gives back to `undo`."""
_ROOM, _WORDS = 1_200, 200
"""Characters of what changed lately, and of one change of it, where nothing particular was asked for."""


# --- history ---------------------------------------------------------------------------------------------


def history(call: ToolArguments) -> Lines:
    """For an entry or a file, its story; of a session, each change; else the latest sessions and what they learned."""
    wanted, session = call.text("id"), call.text("session")
    if wanted:
        return _story_of(call, wanted)
    since, path = call.text("since"), call.text("path")
    is_date = dates.span(since, now=call.memory.world.here()) is not None
    entries = call.memory.log(path=path, session=session, since=since if is_date else "")
    if since and not is_date:
        entries = _after(call, since, entries)
    single = (Chapter("", [entry], call.memory) for entry in entries)
    found = single if session else chapters(call.memory, entries)
    return list(_overview(call, found, call.limit(10), path)) or ["No change fits."]


def _after(call: ToolArguments, since: str, log: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """The newest entries of a log that are not part of an earlier state."""
    then = call.memory.resolve(since)
    known = {commit.oid for commit in islice(walk(call.memory.repository, then), _FARTHEST)}
    return (entry for entry in islice(log, _FARTHEST) if entry.id not in known)


def _overview(call: ToolArguments, found: Iterable[Chapter], limit: int, path: str = "") -> Iterator[str]:
    """Chapters in the words that hold now; one of which none holds says nothing."""
    egress = call.egress()
    for chapter in islice(found, _FARTHEST):
        lines = list(knowledge(egress, (one for one in chapter.diff if _is_below(one, path))))
        if not lines:
            continue
        yield _heading(call, chapter, egress)
        yield from (f"  {one}" for one in lines[:_FEW])
        if len(lines) > _FEW:
            yield f"  and {len(lines) - _FEW} more"
        limit -= 1
        if not limit:
            return


def _heading(call: ToolArguments, chapter: Chapter, egress: Egress) -> str:
    entry, session = chapter.entry, chapter.session
    when = call.age(entry.at)
    if session:
        title = _title(egress, session, chapter.title)
        return line(egress.name(session), when, egress.name(entry.agent), title)
    why = ""
    if egress.sees_session(entry.session):
        why = _why(egress, entry.reason, entry.source)
    return line(entry.id[:_ID], when, egress.name(entry.agent), why)


def _title(egress: Egress, session: str, title: str) -> str:
    if not egress.sees_session(session):
        return ""
    shown = egress.title(session, title)
    return "" if shown == GONE else flat(shown)


def _why(egress: Egress, reason: str, source: str) -> str:
    said = [f"why: {flat(egress.text(reason))}"] if reason else []
    said += [f"from {flat(egress.text(source))}"] if source else []
    return ", ".join(said)


def _is_below(change: Change, path: str) -> bool:
    return not path or change.path == path or change.path.startswith(path.rstrip("/") + "/")


def _story_of(call: ToolArguments, wanted: str) -> Lines:
    """Return who wrote an entry, or each entry of a file, as it is now."""
    egress = call.egress()
    stories = [
        (path, story)
        for path, keys in _meant(call, wanted).items()
        for story in call.memory.blame(path)
        if (not keys or story.entry.key.id in keys) and egress.standing(path, story.entry)
    ]
    lines = [text for path, one in stories[: call.limit(MOST)] for text in _story(call, path, one, egress)]
    return lines or ["Nothing of it holds now."]


def _meant(call: ToolArguments, wanted: str) -> dict[str, set[str]]:
    """The files that an id, a part of a text or a path names, each with the ids of its entries; none is the whole file."""
    from gitmem.hosts.tools.writing import entry_meant

    if is_knowledge(wanted) and (
        call.memory.tree().entry(wanted) is not None or wanted in call.memory.index.current().names("path")
    ):
        return {wanted: set()}
    found: dict[str, set[str]] = {}
    for _, _, path, entry in entry_meant(call, wanted, shared=True):
        found.setdefault(path, set()).add(entry.key.id)
    if not found:
        raise UnknownRevision(f"Nothing is called {shortened(wanted, 60)!r}: search gives ids.")
    return found


def _story(call: ToolArguments, path: str, story: Blamed, egress: Egress) -> Iterator[str]:
    last = story.changed
    since, written = call.age(story.introduced.at), call.age(last.at)
    reason, title = "", ""
    if egress.sees_session(last.session):
        reason = last.reason
        title = _title(egress, last.session, call.memory.session_title(last.session) if last.session else "")
    verified = f"verified by {egress.name(story.verified)}" if story.verified_here else ""
    yield line(
        short(story.entry.key.id) if story.entry.key.space == "§" else "",
        since if since == written else f"{since}, reworded {written}",
        egress.name(last.agent),
        f"{title} ({egress.name(last.session)})" if title else egress.name(last.session),
        _why(egress, reason, last.source),
        verified,
        marked_entry(egress, path, story.entry),
    )
    for entry, at, agent in _earlier(call, story):
        yield f"  before: {line(call.age(at), egress.name(agent), flat(entry.text))}"


def _earlier(call: ToolArguments, story: Blamed) -> Iterator[tuple[Entry, str, str]]:
    """The wordings that an entry had before, but for those that were taken back."""
    wordings = {one.text: one.by for one in story.earlier[:_FEW] if story.entry.key.space == "§"}
    then = Egress(call.memory, about="then", reader=call.session.reader)
    entries = [Entry(section_key(text), text) for text in wordings]
    for one in filter(None, then.entries(entries, call.memory.tree())):
        by = wordings.get(one.entry.text)
        if by is not None:
            yield one.entry, by.at, by.agent


# --- diff ------------------------------------------------------------------------------------------------


def diff(call: ToolArguments) -> Lines:
    """The differences in what is known, in the words that hold now."""
    session, path = call.text("session"), call.text("path")
    egress = call.egress()
    if session:
        if not egress.sees_session(session):
            raise UnknownRevision(f"There is no session {shortened(session)!r}.")
        found = call.memory.diff(session=session, path=path)
    else:
        found = call.memory.diff(call.text("a") or _yesterday(call), call.text("b"), path=path)
    lines = list(knowledge(egress, found))
    shown = lines[: call.limit(MOST)]
    if not call.given.keys() - {"limit"}:
        shown = [shortened(one, _WORDS) for one in shown]
        while sum(map(len, shown)) > _ROOM:
            shown.pop()
    more = [f"and {len(lines) - len(shown)} more"] if len(lines) > len(shown) else []
    return [*shown, *more] or ["Nothing changed."]


def _yesterday(call: ToolArguments) -> str:
    """The commit of that moment, or the first one of a memory that is younger."""
    try:
        return call.memory.resolve("yesterday")
    except UnknownRevision:
        return list(call.memory.log())[-1].id


# --- undo ------------------------------------------------------------------------------------------------


def undo(call: ToolArguments) -> Lines:
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
    is_confirmed = hmac.compare_digest(token.encode(), call.text("confirm").encode())
    done = memory.part(Undo).revert(
        chosen.commits, origin=origin, dry_run=not is_confirmed, picks=chosen.picks
    )
    kept = f"; {len(done.kept)} stay because they were changed since" if done.kept else ""
    count = len(learned(done.changes).items)
    many = "1 change" if count == 1 else f"{count} changes"
    if is_confirmed:
        gone = "Taken back" if done.published is not None else "Nothing was left to take back"
        return [f"{gone}: {many}{kept}. The user brings it back with `gitmem undo`."]
    lines = list(knowledge(call.egress(), done.changes))
    return [
        f"This would take back {many}{kept}:",
        *lines[:MOST],
        f"Nothing has gone yet. If the user wants that, call again with confirm={token}.",
    ]
