"""History for people: sessions and commits, the digest, and where entries come from."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING, Any

from gitmem.cli.render import renders
from gitmem.cli.render.changes import derived_line, tell, told_words
from gitmem.cli.terminal import AGE, Piece, bold, count, cut, cyan, dim, green, padded, red, width, yellow
from gitmem.git.message import KINDS
from gitmem.memory.provenance import ELSEWHERE
from gitmem.okf import layout
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.cli.app import App
    from gitmem.memory.capture.session_page import SessionState
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.digest import Digest, News
    from gitmem.memory.history.impact import Exposed
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.history.revert import Undoable
    from gitmem.memory.history.story import Chapter
    from gitmem.memory.history.trace import Life, Traced
    from gitmem.memory.printed_ids import ShownDirectory, ShownEntry, ShownFile, ShownSession

# --- sessions and commits --------------------------------------------------------------------------------

_SHORT = 8
_ID = 12
_WIDEST, _NARROWEST = 120, 60
_SURVEYED = 50
"""So many chapters are looked at to see who wrote most of them."""
_LEARNED = 3
"""So many things that a session learned are quoted in the log; `show` has the rest."""
_DEEP = "         "
_STYLES = {"+": green, "~": yellow, "-": red}
_PAST = {
    "add": "Added",
    "remove": "Removed",
    "replace": "Replaced",
    "confirm": "Confirmed",
    "create": "Created",
    "release": "Accepted",
}


def tell_chapters(app: App, found: Iterable[Chapter], *, patch: bool, stat: bool) -> None:
    """Chapters below their days, each with what it learned; or with all that it changed, or how much."""
    found = iter(found)
    first = list(islice(found, _SURVEYED))
    authors = Counter(who(one.entry) for one in first)
    usual = authors.most_common(1)[0][0] if authors else ""
    if len(authors) > 1:
        app.out.line(dim(f"By {usual}, except where another name is given."))
    lines = _Log(app, usual)
    for one in chain(first, found):
        words = lines.chapter(one)
        if not (patch or stat):
            lines.learned(one, words)
        elif one.diff:
            with app.out.indented(_DEEP):
                tell(app.out, one.diff, stat=stat)


class _Log:
    """The lines of one log, as wide as the screen; the usual author is not repeated."""

    def __init__(self, app: App, usual: str) -> None:
        self._app, self._out, self._usual = app, app.out, usual
        self._day = ""
        self._columns = min(max(app.out.columns or 100, _NARROWEST), _WIDEST)

    def chapter(self, one: Chapter) -> str:
        """One session or one commit, below its day: when, its id, its title. Gives the words of the title."""
        begun = self._app.world.local(one.started)
        self._begin_day(begun)
        name = self._short(one.session) if one.session else one.entry.id[:_SHORT]
        if one.session:
            words = one.title
        else:
            words = ": ".join(filter(None, (subject_in_words(one.entry.subject), one.entry.reason)))
        by = who(one.entry)
        tail = "" if by == self._usual else f"  ({by})"
        lead = f"  {begun:%H:%M}  {padded(name, _ID) if words else name}  "
        room = max(self._columns - width(lead) - width(tail), _NARROWEST // 3)
        self._out.line(dim(lead[: len(_DEEP)]), yellow(lead[len(_DEEP) :]), cut(words, room), dim(tail))
        return words

    def learned(self, one: Chapter, words: str) -> None:
        """Quote what a chapter learned, where its title does not say it."""
        items = [item for item in one.learned.items if item.title not in words]
        for item in items[:_LEARNED]:
            label = "" if item.noun == "fact" else f"{item.noun}: "
            text = cut(label + item.title, self._columns - len(_DEEP) - 2)
            self._out.line(_DEEP, _STYLES[item.sign](f"{item.sign} "), text)
        if len(items) > _LEARNED:
            self._out.line(dim(f"{_DEEP}… and {len(items) - _LEARNED} more"))

    def _begin_day(self, begun: datetime) -> None:
        from gitmem.dates import day_name

        day = day_name(begun, now=self._app.world.here())
        if day != self._day:
            if self._day:
                self._out.line()
            self._day = day
            self._out.line(bold(day))

    def _short(self, session: str) -> str:
        """As much of a session's id as no other begins with, and at least eight letters of it."""
        place = bisect_left(self._names, session)
        beside = [name for name in self._names[max(place - 1, 0) : place + 2] if name != session]
        alike = max((_alike(session, name) for name in beside), default=0)
        return session[: max(alike + 1, _SHORT)]

    @cached_property
    def _names(self) -> list[str]:
        return sorted(map(layout.session_name, layout.session_pages(self._app.bundle.tree())))


def _alike(one: str, other: str) -> int:
    """The number of letters that two names begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def subject_in_words(subject: str) -> str:
    """The first line of a commit, as people say it."""
    kind, _, what = subject.partition(": ")
    verb, _, rest = what.partition(" ")
    if kind == "revert" and verb in ("undo", "redo"):
        return f'{verb}: {"took" if verb == "undo" else "brought"} back "{subject_in_words(rest)}"'
    if kind == "revert" and (verb in _PAST or verb.removesuffix(":") in KINDS):
        return f'revert: took back "{subject_in_words(what if verb.endswith(":") else f"memory: {what}")}"'
    if kind == "restore" and verb == "to":
        return f"restore: back {what}"
    if kind == "flush":
        return what
    return f"{_PAST[verb]} {rest}" if kind == "memory" and verb in _PAST else subject


def who(entry: LogEntry) -> str:
    """The agent or person, and the machine; with its remote where the commit is from elsewhere."""
    machine = f" on {entry.machine}" if entry.machine else ""
    return (entry.agent or entry.commit.author.name) + machine + claim(entry, "via")


def claim(entry: LogEntry, word: str = "according to") -> str:
    """The remote that vouches for what a commit says of itself; empty for a commit that was made here."""
    return {"": "", ELSEWHERE: ", unverified"}.get(entry.pulled_from, f", {word} {entry.pulled_from}")


def commit_line(app: App, entry: LogEntry) -> list[Piece]:
    """One commit: id, when, what and why, who and where."""
    commit, words = entry.commit, subject_in_words(entry.subject)
    session = f", session {entry.session}" if entry.session and entry.session not in words else ""
    told = f"{words}: {entry.reason}" if entry.reason else words
    when = dim(padded(app.date(commit.made), AGE))
    return [yellow(commit.oid[:_SHORT]), " ", when, "  ", told, dim(f"  ({who(entry)}{session})")]


def tell_commits(app: App, found: Iterable[LogEntry], *, patch: bool, stat: bool) -> None:
    """Commits, one a line; with what each changed, or how much."""
    for entry in found:
        app.out.block(*commit_line(app, entry), indent=" " * (_SHORT + AGE + 3))
        if patch or stat:
            with app.out.indented(_MARGIN):
                tell(app.out, app.bundle.show(entry.id).diff, stat=stat)


# --- origins ---------------------------------------------------------------------------------------------

_PULLED = " on another machine, which counts as a machine's word here"
_MARGIN, _DEEPER = "    ", "      "


# Blame


@renders("Blamed")
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
    source = "" if entry.brings_back else entry.source
    why = "; ".join(_said({"reason:": entry.reason, "source:": source}))
    when = date(entry.commit.made)
    return f"{verb} {when} {_who(entry)} ({entry.id[:8]})" + (f", {why}" if why else "")


def _who(entry: LogEntry, title: str = "") -> str:
    agent = entry.agent or entry.commit.author.name
    session = f'{entry.session} "{title}"' if title else entry.session
    known = {"in session": session, "by": agent, "on": entry.machine}
    return " ".join(_said(known)) + claim(entry)


def _said(known: Mapping[str, str]) -> list[str]:
    return [f"{word} {value}" for word, value in known.items() if value]


# Trace

_STEPS, _PLACES, _FOLLOWING = 14, 5, 5
"""So many lines of each at most: what is longer is counted, and listed with `--json`."""


@renders("Traced")
def tell_traced(app: App, found: Traced, *, sessions: bool = False, events: bool = False) -> None:
    """The life of a text as a timeline, its impact in numbers, and the command that takes it back."""
    app.out.paged()
    known, said = found.known, found.talk
    _tell_lives(app, known)
    for held in found.waiting:
        app.out.block(
            bold(shortened(held.text, 200)), yellow(f"  held: gitmem review {held.id}"), indent="  "
        )
    if not (known or said):
        _tell_titles(app, found.lives)
    elif said and (events or not known):
        _tell_said(app, said, found.text, all_of_it=events)
    elif said:
        where = len({life.came.session for life in said})
        app.out.line(dim(f"… and said {count(len(said), 'time')} in {count(where, 'session')} (--events)"))
    app.out.line()
    _tell_impact(app, found, sessions=sessions)
    if found.command:
        app.out.line("To take it back: ", bold(found.command))
    elif all(life.left is not None for life in found.lives):
        app.out.line("Nothing of it is left in the memory.")
    elif not known:
        app.out.line("It was only talked about: no fact, decision, note, plan or skill has it.")


def _tell_lives(app: App, things: Sequence[Sequence[Life]]) -> None:
    """Each thing that had the text, with its source, and its wordings one after the other."""
    left = _STEPS
    for thing in things[:_PLACES]:
        last = thing[-1]
        short = f"  {last.key.id[:8]}" if last.key.space == "§" else ""
        name = last.text if last.key.space == "§" else last.text.partition("\n")[0]
        app.out.block(bold(shortened(name, 200)), dim(f"  {last.path}{short}"), indent="  ")
        origins = [life.came for life in thing if life.key == last.key and not life.came.brings_back]
        if origins and (sources := origins[-1].trailers.get("Source")):
            app.out.block("  ", f"from {', '.join(sources)}{claim(origins[-1])}", indent=_MARGIN)
        steps = list(_steps(thing))
        for step in steps[: max(left, 1)]:
            _tell_step(app, *step)
        if len(steps) > max(left, 1):
            app.out.line(dim(f"  … and {count(len(steps) - max(left, 1), 'step')} more (--json)"))
        left -= len(steps)
    if len(things) > _PLACES:
        app.out.line(
            dim(f"… and {count(len(things) - _PLACES, 'more entry', 'more entries')} with it (--json)")
        )


def _tell_step(app: App, verb: str, style: Any, entry: LogEntry, text: str, said: Sequence[str]) -> None:
    """One step of an entry: when, what, its words if they are not the last ones, who, why, and what the user said."""
    when = padded(app.date(entry.commit.made), 16)
    why = f", {entry.first('Reason')}" if entry.reason else ""
    words = f' "{shortened(text, 60)}"' if text else ""
    title = shortened(app.bundle.session_title(entry.session), 60) if entry.session else ""
    told = f"{words} {_who(entry, title)} ({entry.id[:8]}){why}"
    app.out.block("  ", dim(when), "  ", style(verb), told, indent=" " * 20)
    for one in said:
        app.out.block(" " * 20, dim("the user said: "), shortened(one, 160), indent=" " * 22)


def _steps(thing: Sequence[Life]) -> Iterable[tuple[str, Any, LogEntry, str, Sequence[str]]]:
    """Return what happened to an entry: a verb, its colour, the commit, words that are not the last ones, the user's."""
    for place, life in enumerate(thing):
        before = thing[place - 1] if place else None
        words = "" if life.text == thing[-1].text else life.text
        if before is None:
            yield "added", green, life.came, words, life.said
        elif before.key == life.key:
            yield "brought back", green, life.came, words, ()
        else:
            yield "reworded", yellow, life.came, words, life.said
        goes_on = (
            place + 1 < len(thing) and life.left is not None and thing[place + 1].came.id == life.left.id
        )
        if life.left is not None and not goes_on:
            yield _LEFT.get(life.left.kind, "left"), red, life.left, "", ()


_LEFT = {"revert": "taken back", "restore": "went with a restore", "archive": "archived", "memory": "removed"}


def _tell_said(app: App, lives: Sequence[Life], wanted: str, *, all_of_it: bool) -> None:
    """Each time that it was said in a session; the first ones, where nothing else has it."""
    listed = lives if all_of_it else lives[:_STEPS]
    for life in listed:
        by, title = life.came, app.bundle.session_title(life.came.session) if life.came.session else ""
        where = f' in "{shortened(title, 60)}"' if title else ""
        agent = by.agent or by.commit.author.name
        left = f"; {_LEFT.get(life.left.kind, 'left')} {app.date(life.left.commit.made)}" if life.left else ""
        app.out.block(shortened(_spoken(life.text, wanted), 200), indent="  ")
        told = f"said {app.date(by.commit.made)}{where} with {agent}{claim(by)}{left}"
        app.out.block("  ", dim(told), indent=_MARGIN)
    if len(lives) > len(listed):
        app.out.line(dim(f"… and {count(len(lives) - len(listed), 'time')} more (--events)"))


def _spoken(text: str, wanted: str) -> str:
    """The line of a turn or of a tool's result that has the words, with who said it."""
    lines = [line for line in text.splitlines() if wanted.lower() in line.lower()] or [text]
    line = next((one for one in lines if not one.startswith("{")), lines[0])
    for speaker, name in (("[user] ", "The user: "), ("[assistant] ", "The agent: ")):
        if line.startswith(speaker):
            return name + line.removeprefix(speaker)
    return line


def _tell_titles(app: App, lives: Sequence[Life]) -> None:
    """Sessions and other pages of the record that have it in their title alone."""
    for life in lives[:_STEPS]:
        title = shortened(life.text.partition("\n")[0], 200)
        app.out.block(title, dim(f"  {app.date(life.came.commit.made)}"), indent="  ")


def _tell_impact(app: App, found: Traced, *, sessions: bool) -> None:
    if not found.exposed:
        app.out.line("No other session saw it.")
    else:
        wrote = sum(bool(one.wrote) for one in found.exposed)
        more = "" if sessions else " (--sessions)"
        saw = count(len(found.exposed), "later session")
        app.out.line(f"{saw} saw it; {wrote} of them wrote something because of it{more}")
    for exposed in found.exposed if sessions else ():
        _tell_exposed(app, exposed)
    own = {(life.came.id, (life.path, life.key)) for life in found.lives}  # told above
    derived = [] if sessions else [one for one in found.derived if (one.entry.id, one.place) not in own]
    for one in derived[:_FOLLOWING]:
        app.out.block("  ", derived_line(one), indent=_MARGIN)
    if len(derived) > _FOLLOWING:
        app.out.line(dim(f"  … and {len(derived) - _FOLLOWING} more that follow from it (--sessions)"))


def _tell_exposed(app: App, one: Exposed) -> None:
    title = app.bundle.session_title(one.session)
    how = "" if one.in_prompt else " (by recall only)"
    app.out.line("  ", one.session, dim(f"  {shortened(title, 60)}" if title else ""), dim(how))
    for question in one.recalled_for:
        app.out.block(_MARGIN, dim("recalled for: "), shortened(question), indent=_DEEPER)
    for derived in one.wrote:
        app.out.block(_MARGIN, derived_line(derived), indent=_DEEPER)


# --- the digest ------------------------------------------------------------------------------------------

_LISTED = 5
"""So much of what waits is quoted; `gitmem review` has the rest."""
_SIGNS = {"Learned": "+", "Decided": "+", "Changed": "~", "Done": "~", "Forgotten": "-", "Taken back": "-"}


@renders("Digest")
def tell_digest(app: App, found: Digest) -> None:
    """A digest for people: what waits, then what is new by topic, and what was put back."""
    from gitmem.cli.render.answers import item_words
    from gitmem.memory.history.digest import TOPICS
    from gitmem.memory.review import in_words

    out = app.out
    out.paged()
    if items := list(found.waiting):
        out.line(bold("Waiting for you"))
        out.block("  ", in_words(items))
        for item in items[:_LISTED]:
            out.block("  ", f"{item.kind}: {shortened(item_words(item) or item.path)}")
        out.line()
    out.block(bold(f"What was learned {_between(app, found.since, found.until)}"), indent="")
    told = found.record.in_words()
    if told:
        out.block(dim(f"From {told}."), indent="")
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
    if found.reviewed:
        _heading(app, "Decided in review")
        for entry in found.reviewed:
            how = ", ".join(
                filter(None, (entry.source, entry.reason, _day(app, entry.commit.committer.time)))
            )
            out.block("  ", f"{subject_in_words(entry.subject)} ({how})")
    if not (found.news or found.restores):
        out.block(dim("Nothing was learned, changed or taken back."), indent="")


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


@renders("ShownFile")
def tell_file(app: App, shown: ShownFile) -> None:
    """A file, and the links of a page."""
    out = app.out
    if b"\0" in shown.data:
        out.line(f"A binary file of {len(shown.data):,} bytes; --raw writes it out.")
        return
    out.paged()
    out.text(shown.data.decode("utf-8", "surrogateescape"))
    if shown.links or shown.backlinks:
        out.line()
    for one in shown.links:
        out.line(dim("links to     "), cyan(one.target), "" if one.exists else red("  (nothing there)"))
    for one in shown.backlinks:
        out.line(dim("linked from  "), cyan(one.source))


@renders("ShownDirectory")
def tell_directory(app: App, shown: ShownDirectory) -> None:
    """The names in a directory."""
    app.out.paged()
    for name in shown.names:
        app.out.line(name)


@renders("LogEntry")
def tell_log_entry(app: App, entry: LogEntry) -> None:
    """A commit on one line."""
    app.out.line(*commit_line(app, entry))


@renders("Undoable")
def tell_undoable(app: App, one: Undoable) -> None:
    """A change that an undo would take back."""
    line = commit_line(app, one.entry)
    if one.moves:
        line[4:] = [one.what]
    app.out.block(*line, indent=" " * (_SHORT + AGE + 3))


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
