"""History for people: sessions and commits, the digest, and where entries come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, zip_longest
from typing import TYPE_CHECKING, Any

from gitmem.cli.render.changes import derived_line, tell, told_words
from gitmem.cli.terminal import AGE, Piece, bold, count, cut, cyan, dim, green, padded, red, width, yellow
from gitmem.git.message import KINDS
from gitmem.memory.provenance import ELSEWHERE
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.cli.app import App
    from gitmem.memory.capture.session_page import SessionState
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.digest import Digest, News
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.history.revert import Undoable
    from gitmem.memory.history.story import Chapter
    from gitmem.memory.history.trace import Life, Traced
    from gitmem.memory.printed_ids import ShownDirectory, ShownEntry, ShownFile, ShownSession

# --- sessions and commits --------------------------------------------------------------------------------

_SHORT = 8
_ID = 12
_WIDEST, _NARROWEST, _LEAST = 120, 60, 20
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
    from gitmem.dates import day_name

    found = iter(found)
    first = list(islice(found, _SURVEYED))
    authors = Counter(who(one.entry) for one in first)
    usual = authors.most_common(1)[0][0] if authors else ""
    if len(authors) > 1:
        app.out.line(dim(f"By {usual}, except where another name is given."))
    columns = min(max(app.out.columns or 100, _NARROWEST), _WIDEST)
    days = groupby(
        chain(first, found), key=lambda one: day_name(app.world.local(one.started), now=app.world.here())
    )
    for number, (day, chapters) in enumerate(days):
        if number:
            app.out.line()
        app.out.line(bold(day))
        for one in chapters:
            words = _tell_title(app, one, usual, columns)
            if not (patch or stat):
                _tell_learned(app, one, words, columns)
            elif one.diff:
                with app.out.indented(_DEEP):
                    tell(app.out, one.diff, stat=stat)


def _tell_title(app: App, one: Chapter, usual: str, columns: int) -> str:
    """One session or one commit: when, its id, its title, an author who is not the usual one. Gives the title."""
    if one.session:
        name, words = app.short_session(one.session), one.title
    else:
        name = one.entry.id[:_SHORT]
        words = ": ".join(filter(None, (subject_in_words(one.entry.subject), one.entry.reason)))
    by = who(one.entry)
    tail = "" if by == usual else f"  ({by})"
    lead = f"  {app.world.local(one.started):%H:%M}  {padded(name, _ID) if words else name}  "
    if columns - width(lead + tail) < _LEAST:
        tail = tail and f"  ({cut(one.entry.agent or by, _ID)})"
    shown = cut(words, max(columns - width(lead + tail), _ID))
    lead = lead if words or tail else lead.rstrip()
    app.out.line(dim(lead[: len(_DEEP)]), yellow(lead[len(_DEEP) :]), shown, dim(tail))
    return words


def _tell_learned(app: App, one: Chapter, words: str, columns: int) -> None:
    """Quote what a chapter learned, where its title does not say it."""
    counts_only = not one.session and one.entry.kind in ("edit", "import")
    items = [item for item in one.learned.items if counts_only or item.title not in words]
    for item in items[:_LEARNED]:
        label = "" if item.noun == "fact" else f"{item.noun}: "
        text = cut(label + item.title, columns - len(_DEEP) - 2)
        app.out.line(_DEEP, _STYLES[item.sign](f"{item.sign} "), text)
    if len(items) > _LEARNED:
        app.out.line(dim(f"{_DEEP}… and {len(items) - _LEARNED} more"))


def subject_in_words(subject: str) -> str:
    """The first line of a commit, as people say it."""
    kind, _, what = subject.partition(": ")
    several, is_several, newest = what.partition(", the newest ")
    if kind == "revert" and is_several:
        return f'revert: took back {several}, the newest "{subject_in_words(newest)}"'
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


def who(entry: LogEntry, word: str = "via") -> str:
    """The agent or person, and the machine; with its remote where the commit is from elsewhere."""
    machine = f" on {entry.machine}" if entry.machine else ""
    return (entry.agent or entry.commit.author.name) + machine + claim(entry, word)


def claim(entry: LogEntry, word: str = "according to") -> str:
    """The remote that vouches for what a commit says of itself; empty for a commit that was made here."""
    return {"": "", ELSEWHERE: ", unverified"}.get(entry.pulled_from, f", {word} {entry.pulled_from}")


def commit_line(app: App, entry: LogEntry, what: str = "") -> list[Piece]:
    """One commit: id, when, what and why, who and where."""
    commit, words = entry.commit, what or subject_in_words(entry.subject)
    is_named = not entry.session or entry.session in words
    session = "" if is_named else f", in {app.session(entry.session)}"
    told = f"{words}: {entry.reason}" if entry.reason and not what else words
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


def tell_blamed(app: App, one: Blamed) -> None:
    """An entry with its present words, who gave it these and why, and the words it had before."""
    app.out.block(red("- ") if one.left else green("+ "), one.entry.text, indent="  ")
    app.out.block(_MARGIN, dim(blame_line(app, one)), indent=_DEEPER)
    for words in one.earlier:
        app.out.block(_MARGIN, dim(f"before: {shortened(words.text)}"), indent=_DEEPER)
        app.out.block(_DEEPER, dim(_event(app, "from", words.by)), indent=_DEEPER + "  ")


def blame_line(app: App, one: Blamed) -> str:
    """The story of an entry's present words."""
    verb = "reworded" if one.earlier else "added" if one.first is None else "brought back"
    parts = [_event(app, verb, one.changed if one.earlier else one.introduced)]
    if one.first is not None:
        parts.append(_event(app, "first added", one.first))
    if one.verified:
        pulled = one.verified.startswith("human:") and not one.verified_here
        parts.append(f"verified by {one.verified}" + (_PULLED if pulled else ""))
    if one.left is not None:
        parts.append(_event(app, "left", one.left))
    short = f"{one.entry.key.id[:8]}: " if one.entry.key.space == "§" else ""
    return short + "; ".join(parts)


def _event(app: App, verb: str, entry: LogEntry) -> str:
    told = f"{verb} {app.date(entry.commit.made)}{_by(app, entry)}"
    told += f", reason: {entry.reason}" if entry.reason else ""
    return told + (f", source: {entry.source}" if entry.source and not entry.brings_back else "")


def _by(app: App, entry: LogEntry) -> str:
    session = f" in {app.session(entry.session, whole=True)}" if entry.session else ""
    return f"{session} by {who(entry, 'according to')} ({entry.id[:8]})"


# Trace

_STEPS, _PLACES = 10, 5
"""So many lines of each at most: what is longer is counted, and listed with `--json`."""
_LEFT = {"revert": "taken back", "restore": "went with a restore", "archive": "archived", "memory": "removed"}


def tell_traced(app: App, found: Traced, *, sessions: bool = False, events: bool = False) -> None:
    """The life of a text as a timeline, its impact in numbers, and the command that takes it back."""
    app.out.paged()
    known, said = found.known, found.talk
    for thing in known[:_PLACES]:
        _tell_thing(app, thing)
    _tell_more(app, "", known[_PLACES:], "more entry with it", "more entries with it", "--json")
    for held in found.waiting:
        app.out.block(
            bold(shortened(held.text, 200)), yellow(f"  held: gitmem review {held.id}"), indent="  "
        )
    if events or not known:
        _tell_said(app, said or found.lives, found.text, most=len(said) if events else _STEPS)
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
        app.out.block("It was only talked about: no fact, decision, note, plan or skill has it.", indent="")


def _tell_thing(app: App, thing: Sequence[Life]) -> None:
    """An entry that had the text, with its source, and its wordings one after the other."""
    last = thing[-1]
    is_fact = last.key.space == "§"
    name = last.text if is_fact else last.text.partition("\n")[0]
    short = f"  {last.key.id[:8]}" if is_fact else ""
    app.out.block(bold(shortened(name, 200)), dim(f"  {last.path}{short}"), indent="  ")
    origins = [life.came for life in thing if life.key == last.key and not life.came.brings_back]
    if origins and (sources := origins[-1].trailers.get("Source")):
        app.out.block("  ", f"from {', '.join(sources)}{claim(origins[-1])}", indent=_MARGIN)
    steps = list(_steps(thing))
    for verb, style, entry, life in steps[:_STEPS]:
        _tell_step(app, style(verb), entry, life, last.text)
    _tell_more(app, "  ", steps[_STEPS:], "more step", "more steps", "--json")


def _steps(thing: Sequence[Life]) -> Iterator[tuple[str, Any, LogEntry, Life | None]]:
    """Yield what happened to an entry: a verb, its colour, the commit, and the wording that began with it."""
    before: Life | None = None
    for life, after in zip_longest(thing, thing[1:]):
        verb = "added" if before is None else "brought back" if before.key == life.key else "reworded"
        yield verb, yellow if verb == "reworded" else green, life.came, life
        if life.left is not None and (after is None or after.came.id != life.left.id):
            yield _LEFT.get(life.left.kind, "left"), red, life.left, None
        before = life


def _tell_step(app: App, verb: Piece, entry: LogEntry, life: Life | None, last: str) -> None:
    """One step of an entry: when, what, its words if they are not the last ones, who, why, and what the user said."""
    is_other = life is not None and life.text != last
    words = f' "{shortened(life.text, 60)}"' if life is not None and is_other else ""
    why = [entry.first("Reason"), f"source: {entry.source}" if is_other and entry.source else ""]
    told = ", ".join(filter(None, (f"{words}{_by(app, entry)}", *why)))
    app.out.block("  ", dim(padded(app.date(entry.commit.made), 16)), "  ", verb, told, indent=" " * 20)
    for one in life.said if life is not None else ():
        app.out.block(" " * 20, dim("the user said: "), shortened(one, 160), indent=" " * 22)


def _tell_said(app: App, lives: Sequence[Life], wanted: str, *, most: int) -> None:
    """Each time that it was said in a session, or is in its title."""
    for life in lives[:most]:
        by = life.came
        where = f" in {app.session(by.session)}" if by.session else ""
        agent = by.agent or by.commit.author.name
        left = f"; {_LEFT.get(life.left.kind, 'left')} {app.date(life.left.commit.made)}" if life.left else ""
        app.out.block(shortened(_spoken(life.text, wanted), 200), indent="  ")
        told = f"said {app.date(by.commit.made)}{where} with {agent}{claim(by)}{left}"
        app.out.block("  ", dim(told), indent=_MARGIN)
    _tell_more(app, "", lives[most:], "more time", "more times", "--events")


def _spoken(text: str, wanted: str) -> str:
    """The line of a turn or of a tool's result that has the words, with who said it."""
    lines = [line for line in text.splitlines() if wanted.lower() in line.lower()] or [text]
    line = next((one for one in lines if not one.startswith("{")), lines[0])
    for speaker, name in (("[user] ", "The user: "), ("[assistant] ", "The agent: ")):
        if line.startswith(speaker):
            return name + line.removeprefix(speaker)
    return line


def _tell_impact(app: App, found: Traced, *, sessions: bool) -> None:
    own = {(life.came.id, (life.path, life.key)) for life in found.lives}  # listed above
    below = {one.session for one in found.exposed} if sessions else set()
    derived = [
        one for one in found.derived if one.session not in below and (one.entry.id, one.place) not in own
    ]
    most = len(derived) if sessions else _PLACES
    if found.exposed:
        wrote = sum(bool(one.wrote) for one in found.exposed)
        more = "" if sessions else " (--sessions)"
        saw = count(len(found.exposed), "later session")
        app.out.block(f"{saw} saw it; {wrote} of them wrote something because of it{more}", indent="  ")
    else:
        app.out.line("No other session saw it" + ("; this follows from it:" if derived else "."))
    for one in derived[:most]:
        app.out.block("  ", derived_line(one), indent=_MARGIN)
    _tell_more(app, "  ", derived[most:], "more follows from it", "more follow from it", "--sessions")
    for exposed in found.exposed if sessions else ():
        how = "" if exposed.in_prompt else " (by recall only)"
        app.out.block("  ", app.session(exposed.session, whole=True), dim(how))
        for question in exposed.recalled_for:
            app.out.block(_MARGIN, dim("recalled for: "), shortened(question), indent=_DEEPER)
        for one in exposed.wrote:
            app.out.block(_MARGIN, derived_line(one), indent=_DEEPER)


def _tell_more(app: App, margin: str, rest: Sequence[object], one: str, many: str, option: str) -> None:
    if rest:
        app.out.line(dim(f"{margin}… and {count(len(rest), one, many)} ({option})"))


# --- the digest ------------------------------------------------------------------------------------------

_LISTED = 5
"""So much of what waits is quoted; `gitmem review` has the rest."""
_SIGNS = {"Learned": "+", "Decided": "+", "Changed": "~", "Done": "~", "Forgotten": "-", "Taken back": "-"}


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
    if record := found.record.in_words():
        out.block(dim(f"From {record}."), indent="")
    for topic in TOPICS:
        _heading(app, topic, found.of(topic))
        for one in found.of(topic):
            _tell_news(app, one)
    for heading, entries in (("Put back", found.restores), ("Decided in review", found.reviewed)):
        _heading(app, heading, entries)
        for entry in entries:
            known = (entry.source, entry.reason) if entries is found.reviewed else ()
            how = ", ".join(filter(None, (*known, _day(app, entry.commit.committer.time))))
            out.block("  ", f"{subject_in_words(entry.subject).removeprefix('restore: ')} ({how})")
    if not (found.news or found.restores):
        out.block(dim("Nothing was learned, changed or taken back."), indent="")


def _heading(app: App, text: str, listed: Sequence[object]) -> None:
    """The heading of a list that is not empty."""
    if listed:
        app.out.line()
        app.out.line(bold(text))


def _tell_news(app: App, one: News) -> None:
    item, sign, label = one.item, _SIGNS[one.topic], _label(one)
    is_done = one.topic == "Done"
    words: list[Piece] = told_words(app.out, item.was, item.title) if item.was else [item.title]
    about = [] if is_done else [shortened(item.about, 120)]
    if one.by is not None:
        about += [shortened(one.by.reason, 80) if one.topic != "Learned" else "", _day(app, one.time)]
    tail = ", ".join(filter(None, about))
    app.out.block(
        _STYLES[sign](f"  {sign} "),
        cyan(f"{label}: " if label else ""),
        *words,
        f": {item.about}" if is_done and item.about else "",
        dim(f"  ({tail})" if tail else ""),
    )


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


def tell_shown_session(app: App, shown: ShownSession, *, events: bool = False, stat: bool = False) -> None:
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


def tell_shown_file(app: App, shown: ShownFile) -> None:
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
        out.line(dim("links to     "), cyan(one.path), "" if one.exists else red("  (nothing there)"))
    for path in shown.backlinks:
        out.line(dim("linked from  "), cyan(path))


def tell_shown_directory(app: App, shown: ShownDirectory) -> None:
    """The names in a directory."""
    app.out.paged()
    for name in shown.names:
        app.out.line(name)


def tell_log_entry(app: App, entry: LogEntry) -> None:
    """A commit on one line."""
    app.out.line(*commit_line(app, entry))


def tell_undoable(app: App, one: Undoable) -> None:
    """A change that an undo would take back."""
    line = commit_line(app, one.entry, one.what if one.moves else "")
    app.out.block(*line, indent=" " * (_SHORT + AGE + 3))


def tell_shown_entry(app: App, shown: ShownEntry, **_: bool) -> None:
    """An entry with the story of its words."""
    app.out.line(bold(shown.path))
    tell_blamed(app, shown.story)


def _about_session(app: App, state: SessionState) -> Iterator[str]:
    """Yield what is known of a session, as people say it."""
    machine = f"on {state.get('machine')}" if state.get("machine") else ""
    who = " ".join(filter(None, (state.get("agent"), machine)))
    status = "open" if state.status == "open" else "ended"
    yield ", ".join(filter(None, (state.id, status, who, state.get("model"), state.get("platform"))))
    ended = f", ended {app.date(state.get('ended'))}" if state.get("ended") else ""
    yield f"began {app.date(state.get('started'))}{ended}"
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
