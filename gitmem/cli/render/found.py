"""Search and recall for people: what was found, and earlier conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.cli.terminal import Piece, bold, count, cyan, dim, yellow
from gitmem.okf.plain import shortened
from gitmem.okf.short_ids import short

if TYPE_CHECKING:
    from gitmem.cli.app import App
    from gitmem.memory.find.recall import About, Line, Reading, Recalled, Recap
    from gitmem.memory.find.search import Found, Hit

_IN = "    "
_AROUND = 2
"""Lines that are shown on each side of a match."""
FIRST = 20
"""Lines of the beginning, where a session is too long to be shown whole."""
_SPEAKER = 11
_ANY: Mapping[str, Any] = {}
_KINDS = {
    "observation": "noticed",
    "decision": "decided",
    "tool_call": "tool",
    "turn": "said",
    "CuratedMemory": "fact",
    "UserProfile": "fact",
}


# --- search ----------------------------------------------------------------------------------------------


def tell_found(
    app: App,
    found: Found,
    *,
    query: str = "",
    wanted: Mapping[str, Any] = _ANY,
    titles: Mapping[str, str] = _ANY,
    explain: bool = False,
) -> None:
    """Hits, the best first; where there are none, what was looked for."""
    if not found.hits:
        app.out.line(_nothing(found, query or found.query.text, wanted))
        return
    app.out.paged()
    for number, hit in enumerate(found.hits):
        if number:
            app.out.line()
        _tell_hit(app, hit, titles.get(hit.session, ""), explain)
    if found.withheld:
        app.out.line()
        app.out.line(dim(f"{found.withheld} more were kept back by the scanner."))


def _tell_hit(app: App, hit: Hit, title: str, explain: bool) -> None:
    """The text, and behind it its origin: an id to go on with, the kind, the time, the place."""
    from gitmem.okf.ranks import ECHO, TOOL

    if hit.rank in (TOOL, ECHO):
        said = "output of" if hit.rank == TOOL else "an echo of the memory by"
        app.out.block(yellow(f"{said} {hit.source or hit.text.partition(chr(10))[0]}"), indent="")
    app.out.block(*_marked(hit), indent="")
    _tell_doubts(app, hit, _IN, _IN)
    app.out.block(_IN, dim("  ".join(piece for piece in _place(app, hit, title) if piece)))
    if explain:
        parts = "  ".join(f"{name} {value:.2f}" for name, value in hit.parts.items())
        app.out.block(_IN, yellow(f"{hit.score:.2f}"), dim(f" = {parts}"))


def _tell_doubts(app: App, one: Hit | Line, lead: str, indent: str) -> None:
    from gitmem.memory.find.search import on_one_line

    if one.unconfirmed:
        app.out.block(lead, yellow(f"unconfirmed, from {one.unconfirmed}"), indent=indent)
    if one.since:
        app.out.block(lead, dim(f"since then replaced by: {on_one_line(one.since)}"), indent=indent)


def _place(app: App, hit: Hit, title: str) -> Iterator[str]:
    is_event = hit.key.space == "event"
    yield short(hit.key.id)
    yield _KINDS.get(hit.type, hit.type.lower())
    yield app.date(hit.at)
    # The file of an event is its session's; a file that is the entry is what to open.
    session = f'in "{shortened(title, 40)}"' if title else f"session {hit.session}"
    yield session if is_event and hit.session else hit.path
    yield f"removed by {hit.removed[:8]}" if hit.removed else ""
    yield f"and in {count(hit.also, 'other place')}" if hit.also > 0 else ""


def _marked(hit: Hit) -> Iterator[Piece]:
    """The snippet with its matches in bold."""
    end = 0
    for start, stop in hit.marks:
        yield hit.snippet[end:start]
        yield bold(hit.snippet[start:stop])
        end = stop
    yield hit.snippet[end:]


def _nothing(found: Found, query: str, wanted: Mapping[str, Any]) -> str:
    if not found.query and query.strip():
        return "There is nothing to look for in that: give a word."
    if found.withheld:
        return f"All that was found, {found.withheld}, was kept back by the scanner."
    named = {name: given for name, given in wanted.items() if not isinstance(given, int)}
    asked = [
        f"--{name.replace('_', '-')} {value}"
        for name, given in named.items()
        for value in ((given,) if isinstance(given, str) else given)
        if value
    ]
    asked += ["--removed"] if wanted.get("removed") else []
    where = f" with {' '.join(asked)}" if asked else ""
    return f"Nothing found for {shortened(query)!r}{where}." if query.strip() else f"Nothing found{where}."


# --- recall ----------------------------------------------------------------------------------------------


def tell_recalled(app: App, found: Recalled) -> None:
    """Earlier sessions, each with what it said about the question."""
    if not found.recaps:
        app.out.line(f"No earlier session has to do with {found.query[:80]!r}.")
        return
    app.out.paged()
    for number, recap in enumerate(found.recaps):
        if number:
            app.out.line()
        tell_about(app, recap.about)
        if _says_more(recap):
            app.out.block("  ", recap.recap, indent="  ")
        app.out.line()
        _tell_chat(app, [line for window in recap.windows for line in window], around=_AROUND)


def _says_more(recap: Recap) -> bool:
    """Return whether a recap is more than sentences of the lines that follow it."""
    from gitmem.text.words import sentences

    lines = (*recap.began, *(line for window in recap.windows for line in window), *recap.ended)
    said = " ".join(" ".join(line.text.split()) for line in lines)
    return not all(sentence.rstrip(".…") in said for sentence in sentences(recap.recap))


def tell_reading(app: App, reading: Reading, **_: bool) -> None:
    """One session as a conversation."""
    app.out.paged()
    tell_about(app, reading.about)
    app.out.line()
    _tell_chat(app, reading.lines[:FIRST] if reading.left_out else reading.lines)
    if reading.left_out:
        app.out.line(dim(f"  … {count(reading.left_out, 'entry', 'entries')} in between are not shown"))
        _tell_chat(app, reading.lines[FIRST:])


def tell_about(app: App, about: About) -> None:
    """A session on one line."""
    title = about.title
    if not title and (words := app.bundle.session_title(about.session)):
        from gitmem.memory.gate.egress import Egress

        # The first words of a conversation: they may be of a turn that was taken back.
        title = Egress(app.bundle, app.bundle.index.current()).title(about.session, words)
    known = (about.source or about.platform, about.model, about.agent, about.machine)
    told = (app.date(about.started), about.session if title else "", *known)
    app.out.block(cyan(title or about.session), dim("  ".join(("", *filter(None, told)))))


def _tell_chat(app: App, lines: Sequence[Line], *, around: int = 0) -> None:
    """Lines as a conversation: when, who, what, and the id to go on with; only what is near a match, if `around` says so."""
    near = {
        number + step
        for number, line in enumerate(lines)
        if line.matches
        for step in range(-around, around + 1)
    }
    day, last = "", -1
    for number, line in enumerate(lines):
        if around and near and number not in near:
            continue
        if last >= 0 and last != number - 1:
            app.out.line(dim("  …"))
        last = number
        date, _, time = app.date(line.at, exact=True).partition(" ")
        if date != day:
            day = date
            app.out.line("  ", dim(day))
        _tell_line(app, line, time)


def _tell_line(app: App, line: Line, time: str) -> None:
    """Print the words of a line, one speaker below the other."""
    from gitmem.memory.find.search import on_one_line

    indent = " " * (2 + 7 + _SPEAKER)
    for number, (who, words) in enumerate(_spoken(line)):
        text = on_one_line(words)
        shown = bold(text) if line.matches else text
        lead = ("  ", " " * 7) if number else (bold("> ") if line.matches else "  ", dim(f"{time:<5}  "))
        end = dim(f"  {short(line.id)}") if number == 0 and line.id else ""
        app.out.block(*lead, cyan(f"{who:<{_SPEAKER}}"), shown, end, indent=indent)
    _tell_doubts(app, line, indent, indent)


def _spoken(line: Line) -> list[tuple[str, str]]:
    """Return who said what in a line: the speakers of a turn, or what kind of thing it is."""
    if line.type == "turn":
        said = re.split(r"^\[(\w+)\] ", line.text, flags=re.MULTILINE)
        if len(said) > 2:
            return list(zip(said[1::2], said[2::2], strict=True))
    if line.source:
        return [("tool", f"{line.source}: {line.text}")]
    return [(_KINDS.get(line.type, line.type), line.text)]
