"""History for people: sessions and commits, the digest, and where entries come from."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gitmem.cli.output import AGE, Piece, bold, count, cut, cyan, dim, green, padded, red, width, yellow
from gitmem.cli.render import renders
from gitmem.cli.render.changes import tell, told_words
from gitmem.memory.provenance import ELSEWHERE
from gitmem.okf import layout
from gitmem.okf.plain import shortened
from gitmem.shape import written_line

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.cli.context import App
    from gitmem.memory.capture.session_page import SessionState
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.digest import Digest, News
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.history.reach import Exposed, Reached
    from gitmem.memory.history.story import Chapter
    from gitmem.memory.history.trace import Life, Traced
    from gitmem.memory.printed_ids import ShownEntry, ShownSession

# --- sessions and commits --------------------------------------------------------------------------------

_SHORT = 8
_WIDEST, _NARROWEST = 120, 60
_ROOM_FOR_IDS = 100
_WHO = 22
_DEEP = "         "


class Lines:
    """The lines of one log: how wide its columns are, and what makes an id of a session short."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._out = app.out
        self._day = ""
        columns = min(max(app.out.columns or 100, _NARROWEST), _WIDEST)
        self._id = 12 if columns >= _ROOM_FOR_IDS else 0
        rest = columns - len("  00:00  ") - (self._id + 2 if self._id else 0)
        self._what = rest * 45 // 100
        self._rest = rest - self._what - 2

    def chapter(self, one: Chapter) -> None:
        """One session or one commit, below its day."""
        begun = self._app.world.local(one.started)
        self._begin_day(f"{begun:%Y-%m-%d}", begun)
        pieces: list[Piece] = ["  ", dim(f"{begun:%H:%M}  ")]
        if self._id:
            pieces += [yellow(padded(self._name(one), self._id)), "  "]
        pieces += [*self._told(one), "  "]
        self._out.line(*pieces, *self._end(one))

    def _begin_day(self, day: str, begun: datetime) -> None:
        from gitmem.dates import day_name

        if day != self._day:
            if self._day:
                self._out.line()
            self._day = day
            self._out.line(bold(day_name(begun, now=self._app.world.here())))

    def _name(self, one: Chapter) -> str:
        return self._short(one.session) if one.session else one.entry.id[:_SHORT]

    def _told(self, one: Chapter) -> list[Piece]:
        """Return what it is about, in its column."""
        if one.session:
            return [padded(cut(one.title or one.session, self._what), self._what)]
        reason = one.entry.reason
        lead = f"{one.entry.kind} "
        text = f"{one.title}: {reason}" if reason else one.title
        return [cyan(lead), padded(cut(text, self._what - width(lead)), self._what - width(lead))]

    def _end(self, one: Chapter) -> list[Piece]:
        """Return who it was, and what was learned; where both do not fit, what was learned counts."""
        learned = " ".join(one.learned.in_short())
        by = _briefly(one.entry)
        if not learned:
            return [dim(cut(by, self._rest))]
        room = self._rest - width(learned) - 2
        if one.entry.pulled_from:  # that it is a claim is always said
            told = cut(by, max(_WHO, room))
        else:
            told = next((name for name in (by, one.entry.agent) if width(name) <= room), "")
        gap = "  " if told else ""
        return [dim(told), gap, green(cut(learned, self._rest - width(told + gap)))]

    def _short(self, session: str) -> str:
        """As much of a session's id as no other begins with, and at least eight letters of it."""
        names = self._names
        place = bisect_left(names, session)
        near = [
            names[k] for k in (place - 1, place, place + 1) if 0 <= k < len(names) and names[k] != session
        ]
        alike = max((_alike(session, name) for name in near), default=0)
        return cut(session[: max(alike + 1, _SHORT)], self._id)

    @cached_property
    def _names(self) -> list[str]:
        return sorted(map(layout.session_name, layout.session_pages(self._app.bundle.tree())))


def _alike(one: str, other: str) -> int:
    """Return how many letters two names have in common at their beginning."""
    return next(
        (k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def who(entry: LogEntry) -> str:
    """The agent or person, and the machine; a claim where the commit came from elsewhere."""
    name, machine = entry.agent or entry.commit.author.name, entry.machine
    return claimed(entry, f"{name} on {machine}" if machine else name).strip("()")


def _briefly(entry: LogEntry) -> str:
    """The same with what is certain first: the rest may be cut."""
    told = who(entry)
    if not entry.pulled_from:
        return told
    return f"{claimed(entry, '').strip('()')}, {told.partition(',')[0]}"


def commit_line(app: App, entry: LogEntry) -> list[Piece]:
    """One commit: id, when, kind, what and why, who and where."""
    commit = entry.commit
    what = commit.subject.removeprefix(f"{entry.kind}: ")
    session = f", session {entry.session}" if entry.session and entry.session not in what else ""
    reason = entry.reason
    when, kind = dim(padded(app.date(commit.made), AGE)), cyan(entry.kind.ljust(8))
    told = f"{what}: {reason}" if reason else what
    return [yellow(commit.oid[:_SHORT]), " ", when, " ", kind, " ", told, dim(f"  ({who(entry)}{session})")]


def tell_chapters(app: App, found: Iterable[Chapter], *, patch: bool, stat: bool) -> None:
    """Chapters below their days; with what each changed, or how much."""
    lines = Lines(app)
    for one in found:
        lines.chapter(one)
        if (patch or stat) and one.diff:
            with app.out.indented(_DEEP):
                tell(app.out, one.diff, stat=stat)


# --- origins ---------------------------------------------------------------------------------------------

_PULLED = " on another machine, which counts as a machine's word here"
_MARGIN, _DEEPER = "    ", "      "


# Blame


def tell_blamed(app: App, one: Blamed) -> None:
    """An entry with its present words, who gave it these and why, and the words it had before."""
    app.out.block(red("- ") if one.left else green("+ "), one.entry.text, indent="  ")
    app.out.block(_MARGIN, dim(blame_line(one, app.date)), indent=_DEEPER)
    for words in one.earlier:
        app.out.block(_MARGIN, dim(f"before: {shortened(words.text)}"), indent=_DEEPER)
        app.out.block(_DEEPER, dim(_event("from", words.by, app.date)), indent=_DEEPER + "  ")


def blame_line(one: Blamed, date: Callable[[float], str]) -> str:
    """The story of an entry's present words."""
    if one.earlier:
        parts = [_event("reworded", one.changed, date)]
    else:
        parts = [_event("added" if one.first is None else "brought back", one.introduced, date)]
    if one.first is not None:
        parts.append(_event("first added", one.first, date))
    if one.verified:
        pulled = one.verified.startswith("human:") and not one.verified_here
        parts.append(f"verified by {one.verified}" + (_PULLED if pulled else ""))
    if one.left is not None:
        parts.append(_event("left", one.left, date))
    short = f"{one.entry.key.id[:8]}: " if one.entry.key.space == "§" else ""
    return short + "; ".join(parts)


def _event(verb: str, entry: LogEntry, date: Callable[[float], str]) -> str:
    why = "; ".join(_said({"reason:": entry.reason, "source:": entry.source}))
    when = date(entry.commit.made)
    return f"{verb} {when} {_who(entry)} ({entry.id[:8]})" + (f", {why}" if why else "")


def _who(entry: LogEntry) -> str:
    agent, machine = entry.agent or entry.commit.author.name, entry.machine
    return claimed(entry, " ".join(_said({"in session": entry.session, "by": agent, "on": machine})))


def claimed(entry: LogEntry, told: str) -> str:
    """Return what a commit says of itself: a claim, where it came from elsewhere."""
    if not entry.pulled_from:
        return told
    whence = "elsewhere" if entry.pulled_from == ELSEWHERE else f"from {entry.pulled_from}"
    return f"(says {told}, pulled {whence})" if told else f"(pulled {whence})"


def _said(known: Mapping[str, str]) -> list[str]:
    return [f"{word} {value}" for word, value in known.items() if value]


# Trace

_STEPS, _PLACES, _FOLLOWING = 14, 5, 5
"""So many lines of each at most: what is longer is counted, and listed with `--json`."""


@renders("Traced")
def tell_traced(app: App, found: Traced, *, sessions: bool, events: bool) -> None:
    """The life of a text as a timeline, its reach in numbers, and the command that takes it back."""
    app.out.paged()
    said = [life for life in found.lives if life.key.space == "event"]
    known = [thing for thing in found.things if thing[0].key.space != "event"]
    _tell_lives(app, known)
    if said and (events or not known):
        _tell_said(app, said, all_of_it=events)
    elif said:
        where = len({life.came.session for life in said})
        app.out.line(dim(f"… and said {count(len(said), 'time')} in {count(where, 'session')} (--events)"))
    app.out.line()
    _tell_reach(app, found, sessions=sessions)
    if all(life.left is not None for life in found.lives):
        app.out.line("Nothing of it is left in the memory.")
        return
    app.out.line("To take it back: ", bold(found.command))
    if found.command_for_all != found.command and any(one.group != "derived" for one in found.follows):
        app.out.line("With all that those sessions wrote: ", found.command_for_all)


def _tell_lives(app: App, things: Sequence[Sequence[Life]]) -> None:
    """Each thing that had the text, with its wordings one after the other."""
    left = _STEPS
    for thing in things[:_PLACES]:
        last = thing[-1]
        short = f"  {last.key.id[:8]}" if last.key.space == "§" else ""
        name = last.text if last.key.space == "§" else last.text.partition("\n")[0]
        app.out.block(bold(shortened(name, 200)), dim(f"  {last.path}{short}"), indent="  ")
        steps = list(_steps(thing))
        for verb, style, entry, text in steps[: max(left, 1)]:
            when = padded(app.date(entry.commit.made), 16)
            why = f", {entry.first('Reason')}" if entry.reason else ""
            words = f' "{shortened(text, 60)}"' if text else ""
            told = f"{words} {_who(entry)} ({entry.id[:8]}){why}"
            app.out.block("  ", dim(when), "  ", style(verb), told, indent=" " * 20)
        if len(steps) > max(left, 1):
            app.out.line(dim(f"  … and {count(len(steps) - max(left, 1), 'step')} more (--json)"))
        left -= len(steps)
    if len(things) > _PLACES:
        app.out.line(
            dim(f"… and {count(len(things) - _PLACES, 'more entry', 'more entries')} with it (--json)")
        )


def _steps(thing: Sequence[Life]) -> Iterable[tuple[str, Any, LogEntry, str]]:
    """Return what happened to an entry: a verb, its colour, the commit, and words that are not the last ones."""
    for place, life in enumerate(thing):
        before = thing[place - 1] if place else None
        words = "" if life.text == thing[-1].text else life.text
        if before is None:
            yield "came", green, life.came, words
        elif before.key == life.key:
            yield "came back", green, life.came, words
        else:
            yield "reworded", yellow, life.came, words
        goes_on = (
            place + 1 < len(thing) and life.left is not None and thing[place + 1].came.id == life.left.id
        )
        if life.left is not None and not goes_on:
            yield _LEFT.get(life.left.kind, "left"), red, life.left, ""


_LEFT = {"revert": "taken back", "restore": "went with a restore", "archive": "archived", "memory": "removed"}


def _tell_said(app: App, lives: Sequence[Life], *, all_of_it: bool) -> None:
    """Each time that it was said in a session; the first ones, where nothing else has it."""
    listed = lives if all_of_it else lives[:_STEPS]
    for life in listed:
        app.out.block(shortened(life.text, 200), indent="  ")
        app.out.block("  ", dim(_event("said", life.came, app.date)), indent=_MARGIN)
    if len(lives) > len(listed):
        app.out.line(dim(f"… and {count(len(lives) - len(listed), 'time')} more (--events)"))


def _tell_reach(app: App, found: Traced, *, sessions: bool) -> None:
    if not found.exposed:
        app.out.line("It reached no other session.")
        return
    wrote = sum(bool(one.wrote) for one in found.exposed)
    more = "" if sessions else " (--sessions)"
    app.out.line(f"It reached {count(len(found.exposed), 'session')}, {wrote} wrote something{more}")
    if sessions:
        for exposed in found.exposed:
            _tell_exposed(app, exposed)
        return
    own = {(life.came.id, (life.path, life.key)) for life in found.lives}  # told above
    derived = [
        one for one in found.reached if one.group == "derived" and (one.entry.id, one.place) not in own
    ]
    for one in derived[:_FOLLOWING]:
        app.out.block("  ", reached_line(one), indent=_MARGIN)
    if len(derived) > _FOLLOWING:
        app.out.line(dim(f"  … and {len(derived) - _FOLLOWING} more that follow from it (--sessions)"))


def _tell_exposed(app: App, one: Exposed) -> None:
    title = app.bundle.session_title(one.session)
    app.out.line("  ", one.session, dim(f"  {shortened(title, 60)}" if title else ""), dim(_how(one)))
    for question in one.recalled_for:
        app.out.block(_MARGIN, dim("recalled for: "), shortened(question), indent=_DEEPER)
    for reached in one.wrote:
        app.out.block(_MARGIN, reached_line(reached), indent=_DEEPER)


_GROUPS = {"derived": "derived", "turn": "same turn", "later": "later"}


def reached_line(one: Reached) -> str:
    """Return what a session wrote while it had something before it, on one line."""
    why = f" ({one.why})" if one.why else ""
    return f"{_GROUPS[one.group]}: {written_line(one.change)}{why}"


def _how(one: Exposed) -> str:
    if not one.in_prompt:
        return " (by recall only)"
    return "" if one.certain else " (began while it was there)"


# --- the digest ------------------------------------------------------------------------------------------

_LISTED = 5
"""So much of what waits is quoted; `gitmem review` has the rest."""
_SIGNS = {"Learned": "+", "Decided": "+", "Changed": "~", "Done": "~", "Forgotten": "-", "Taken back": "-"}
_STYLES = {"+": green, "~": yellow, "-": red}


@renders("Digest")
def tell_digest(app: App, found: Digest) -> None:
    """A digest for people: what is new by topic, then what was put back and what waits."""
    from gitmem.memory.history.digest import TOPICS
    from gitmem.memory.review import in_words

    out = app.out
    out.paged()
    out.block(bold(f"What was learned {_between(app, found.since, found.until)}"), indent="")
    told = found.record.told()
    out.block(dim(f"From {told}." if told else "Nothing was said or done."), indent="")
    for topic in TOPICS:
        if news := found.of(topic):
            _heading(app, topic)
            for one in news:
                _tell_news(app, one)
    if found.restores:
        _heading(app, "Put back")
        for entry in found.restores:
            when = _day(app, entry.commit.committer.time)
            out.block("  ", f"{entry.subject.removeprefix('restore: ')} ({when})")
    if not (found.news or found.restores):
        out.block(dim("Nothing was learned, changed or taken back."), indent="")
    if items := list(found.waiting):
        _heading(app, "Waiting for you")
        out.block("  ", in_words(items))
        for item in items[:_LISTED]:
            out.block("  ", f"{item.kind}: {shortened(item.text or item.path)}")


def _heading(app: App, text: str) -> None:
    app.out.line()
    app.out.line(bold(text))


def _tell_news(app: App, one: News) -> None:
    item, sign, label = one.item, _SIGNS[one.topic], _label(one)
    words: list[Piece] = told_words(app.out, item.was, item.title) if item.was else [item.title]
    done = f": {item.about}" if one.topic == "Done" and item.about else ""
    about = ", ".join(_why_and_when(app, one))
    app.out.block(
        _STYLES[sign](f"  {sign} "),
        cyan(f"{label}: " if label else ""),
        *words,
        done,
        dim(f"  ({about})" if about else ""),
    )


def _why_and_when(app: App, one: News) -> Iterator[str]:
    """Why and when."""
    if one.item.about and one.topic != "Done":
        yield shortened(one.item.about, 120)
    if one.by is not None:
        reason = one.by.reason if one.topic != "Learned" else ""
        if reason:
            yield shortened(reason, 80)
        yield _day(app, one.time)


def _label(one: News) -> str:
    """The kind of thing, where the heading does not say it."""
    if one.item.noun == "fact":
        return "about the user" if one.item.heading == "About the user" else ""
    is_said = (one.topic, one.item.noun) in (("Decided", "decision"), ("Done", "plan"))
    return "" if is_said else one.item.noun


def _day(app: App, seconds: float) -> str:
    local = app.world.local(seconds)
    return f"{local:%a} {local.day} {local:%b}"


def _between(app: App, since: datetime, until: datetime) -> str:
    from gitmem.dates import day_name

    now = app.world.here()
    first, last = (day_name(moment, now=now).rpartition(", ")[2] for moment in (since, until))
    return f"on {first}" if first == last else f"from {first} to {last}"


# --- one session, one entry ------------------------------------------------------------------------------


@renders("ShownSession")
def tell_session(app: App, shown: ShownSession, *, events: bool = False, stat: bool = False) -> None:
    """Print a session and what it learned; with `events` all that was said and done."""
    app.out.paged()
    app.out.block(bold(shown.title or shown.state.id), indent="")
    for line in _about_session(app, shown.state):
        app.out.block("  ", dim(line))
    if events:
        for entry in shown.commits:
            app.out.line("  ", yellow(entry.commit.oid[:8]), " ", entry.commit.subject)
    app.out.line()
    tell(app.out, shown.changes, events=events, stat=stat)


@renders("ShownEntry")
def tell_entry(app: App, shown: ShownEntry, **_: bool) -> None:
    """An entry with the story of its words."""
    app.out.line(bold(shown.path))
    tell_blamed(app, shown.story)


def _about_session(app: App, state: SessionState) -> Iterator[str]:
    """Yield what is known of a session, as people say it."""
    machine = f"on {state.get('machine')}" if state.get("machine") else ""
    who = " ".join(filter(None, (state.get("agent"), machine)))
    status = "open" if state.status == "open" else "ended"
    yield ", ".join(filter(None, (state.id, status, who, state.get("model"), state.get("platform"))))
    ended = f", ended {app.moment(state.get('ended'))}" if state.get("ended") else ""
    yield f"began {app.moment(state.get('started'))}{ended}"
    counts, tokens = state.concept.meta.get("counts"), state.concept.meta.get("tokens")
    if isinstance(counts, Mapping):
        yield ", ".join(
            count(int(n), kind.replace("_", " ")) for kind, n in counts.items() if isinstance(n, int)
        )
    if isinstance(tokens, Mapping):
        yield "tokens: " + ", ".join(f"{n:,} {kind}" for kind, n in tokens.items() if isinstance(n, int))
    for key, said in (("parent", "goes on from"), ("user", "user"), ("chat", "chat")):
        if state.get(key):
            yield f"{said} {state.get(key)}"
