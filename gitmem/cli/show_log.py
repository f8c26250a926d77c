"""`gitmem log` for people: a line a session, by day, or a line a commit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.cli.output import AGE, Piece, bold, cut, cyan, dim, green, padded, width, yellow
from gitmem.okf import layout

if TYPE_CHECKING:
    from gitmem.cli.context import App
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.history.story import Chapter

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

    def _begin_day(self, day: str, begun: object) -> None:
        from datetime import datetime

        from gitmem.dates import day_name

        if day != self._day:
            if self._day:
                self._out.line()
            self._day = day
            assert isinstance(begun, datetime)
            self._out.line(bold(day_name(begun, now=self._app.world.here())))

    def _name(self, one: Chapter) -> str:
        return self._short(one.session) if one.session else one.entry.id[:_SHORT]

    def _told(self, one: Chapter) -> list[Piece]:
        """What it is about, in its column."""
        if one.session:
            return [padded(cut(one.title or one.session, self._what), self._what)]
        reason = one.entry.reason
        lead = f"{one.entry.kind} "
        text = f"{one.title}: {reason}" if reason else one.title
        return [cyan(lead), padded(cut(text, self._what - width(lead)), self._what - width(lead))]

    def _end(self, one: Chapter) -> list[Piece]:
        """Who it was, and what was learned; where both do not fit, what was learned counts."""
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
    """How many letters two names have in common at their beginning."""
    return next(
        (k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def who(entry: LogEntry) -> str:
    """The agent or person, and the machine; a claim where the commit came from elsewhere."""
    from gitmem.cli.show_origins import claimed

    name, machine = entry.agent or entry.commit.author.name, entry.machine
    return claimed(entry, f"{name} on {machine}" if machine else name).strip("()")


def _briefly(entry: LogEntry) -> str:
    """The same with what is certain first: the rest may be cut."""
    from gitmem.cli.show_origins import claimed

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
            from gitmem.cli import show_changes as told

            with app.out.indented(_DEEP):
                told.tell(app.out, one.diff, stat=stat)
