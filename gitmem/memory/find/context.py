"""Context: what is recalled for one turn. The best entries within a budget, as data and not as instructions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from gitmem.errors import IndexTrouble
from gitmem.index import english
from gitmem.index.find import CANDIDATES, find
from gitmem.index.marking import OPEN, WORD, fold, marked
from gitmem.index.query import Query, parse
from gitmem.memory.find.index import Indexing
from gitmem.memory.find.search import Search, Wanted, on_one_line, snippet, unmarked
from gitmem.memory.gate.egress import Egress
from gitmem.okf import layout, timestamps
from gitmem.okf.identity import EntryKey
from gitmem.okf.plain import plain
from gitmem.safety.fence import fence

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.find.index import Index
    from gitmem.memory.find.ranking import Ranked

_LONGEST = 400
_MOST = 12
_WORTH = 0.3  # of the best score: what is below has little to do with the turn
_ALIKE = 0.8


@dataclass(frozen=True, slots=True)
class Shown:
    """One entry that was recalled."""

    path: str
    key: EntryKey
    session: str
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """What was recalled: the lines by themselves, and where each came from."""

    lines: str = ""
    shown: tuple[Shown, ...] = ()
    withheld: int = 0

    @property
    def fenced(self) -> str:
        """The lines as a block for a prompt; empty where nothing was recalled."""
        return fence(self.lines) if self.lines else ""

    def __bool__(self) -> bool:
        return bool(self.lines)


_OVERHEAD = len(fence(""))


def context(
    bundle: Bundle,
    query: str,
    budget: int | None = None,
    *,
    session: str = "",
    block: str | None = None,
) -> Context:
    """The entries worth knowing for a turn; the block for the prompt is within `budget` characters.

    Nothing of the present `session`, which the agent has before it anyway, and nothing that is in the
    prompt block: `block` is its text, or None for the curated store as a whole.
    """
    room = (bundle.config.context_budget if budget is None else budget) - _OVERHEAD
    asked = parse(query, strict=False)
    if room <= 0 or not asked or all(term.text in english.STOP for term in asked.terms):
        return Context()
    index = bundle.part(Indexing).current()
    try:
        found = _Builder(bundle, index, asked, session, block).build(room)
    except IndexTrouble as trouble:
        found = _Builder(bundle, bundle.part(Indexing).trusted(trouble), asked, session, block).build(room)
    if found and bundle.config.recall_log:
        from gitmem.memory.find.recall_log import RecallLog

        RecallLog(bundle).note(session, query, [(one.path, one.key) for one in found.shown])
    return found


class _Builder:
    def __init__(self, bundle: Bundle, index: Index, query: Query, session: str, block: str | None) -> None:
        self._bundle = bundle
        self._index = index
        self._query = query
        self._session = session
        self._block = block
        self._egress = Egress(bundle, index)

    def build(self, room: int) -> Context:
        lines: list[str] = []
        shown: list[Shown] = []
        said: list[frozenset[str]] = []
        for ranked in self._worth_showing():
            text = self._shortened(ranked)
            words = frozenset(WORD.findall(fold(text)))
            if any(_alike(words, known) for known in said):
                continue
            where = self._egress.name(ranked.place.path)
            line = f"- {text} ({where}, {age(ranked.place.at, self._bundle.world.clock())})"
            if len(line) + 1 > room:
                continue
            if not self._egress.lets_out(ranked.candidate.text, ranked.place):
                continue
            lines.append(line)
            shown.append(Shown(ranked.place.path, _key(ranked), ranked.place.session, ranked.place.at, text))
            said.append(words)
            room -= len(line) + 1
            if len(lines) == _MOST or room < 40:
                break
        # What is harmless line by line may not be so together.
        while lines and not self._egress.is_harmless("\n".join(lines)):
            lines.pop()
            shown.pop()
        return Context("\n".join(lines), tuple(shown), self._egress.withheld)

    def _worth_showing(self) -> Iterable[Ranked]:
        search = self._bundle.part(Search)
        wanted = Wanted(without_sessions=(self._session,) if self._session else ())
        found = find(self._index.database, self._query, search.filters(self._index, wanted), limit=CANDIDATES)
        ranked = search.ranking(self._index, found).entries()
        best = ranked[0].score if ranked else 0.0
        return (one for one in ranked if one.score >= _WORTH * best and not self._in_block(one))

    def _in_block(self, ranked: Ranked) -> bool:
        """Whether the agent has it before it anyway; or had, and it was taken out of there since."""
        candidate = ranked.candidate
        if ranked.place.type == layout.USER_PROFILE and self._index.stood_in(candidate.id, layout.USER):
            return True
        if self._block is not None:
            return candidate.text in self._block
        machine = self._bundle.config.machine
        files = (layout.MEMORY, layout.USER, *((layout.machine_memory(machine),) if machine else ()))
        return any(place.path in files for place in candidate.places)

    def _shortened(self, ranked: Ranked) -> str:
        """The entry on one line, without anything that could end the block it will be in."""
        text = self._egress.clean(ranked.candidate.text)
        if len(text) > _LONGEST:
            with_marks = marked(self._index.database, self._query, ranked.candidate.id, ranked.candidate.text)
            if OPEN in with_marks:
                text = self._egress.piece(ranked.candidate.text, with_marks, _cut)
        text = plain(on_one_line(text))
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _cut(marked: str) -> str:
    return unmarked(snippet(marked, length=_LONGEST))


def age(at: str, now: datetime) -> str:
    """How long ago something was, in words."""
    moment = timestamps.parse(at)
    if moment is None:
        return "undated"
    days = (now - moment).days
    if days <= 0:
        return "today"
    for length, name in ((365, "year"), (30, "month"), (7, "week"), (1, "day")):
        if days >= length * (2 if length > 1 else 1) or length == 1:
            count = days // length
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    raise AssertionError("a day is the shortest")


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts say nearly the same: many copies of one fact must not crowd out the others."""
    return len(one & other) >= _ALIKE * len(one | other) > 0


def _key(ranked: Ranked) -> EntryKey:
    return EntryKey(ranked.place.space, ranked.place.key)
