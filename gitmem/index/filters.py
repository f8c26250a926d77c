"""Filters of a search by place, time and origin, in SQL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from gitmem.index.readers import Reader
from gitmem.index.records import MACHINE, SHARED
from gitmem.okf import layout
from gitmem.okf.layout import AGENT_CONFIG, SNAPSHOT
from gitmem.okf.layout import TOOL as TOOL_PAGE
from gitmem.okf.ranks import KNOWLEDGE, RANKS, SAID, TOOL, Rank

_NOT_LISTED = (TOOL_PAGE, SNAPSHOT, AGENT_CONFIG)
"""Types that gitmem writes for itself: listed only on request."""
_EVENTS = ("turn", "observation", "decision", "tool_call", "skill_use")


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of spans. Empty fields let all through, of several values each does; `seq` None is now.

    As a caller makes it, dates are what people write, and `scope` is "" for what holds on this machine, "shared", "all",
    or the name of a machine. For the index, dates are timestamps, `scopes` are those of its spans, and `seq` is a place on
    the line of main; None is now.
    """

    type: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    path: tuple[str, ...] = ()
    scope: str = ""
    removed: bool = False
    as_of: str = ""
    without_sessions: tuple[str, ...] = ()
    ranks: tuple[Rank, ...] = (KNOWLEDGE, SAID, TOOL)
    events: bool = False
    """For people: echoes too, and what no longer holds wherever it was written."""
    reader: Reader | None = None
    """For whom it is, where several users talk to one agent; None counts all."""
    scopes: tuple[str, ...] = ()
    seq: int | None = None

    @property
    def narrows(self) -> bool:
        """Return whether there is anything to list by, without words."""
        named = (self.type, self.session, self.agent, self.tag, self.since, self.until, self.path)
        return self.removed or any(named)

    def lists(self, kind: str) -> bool:
        """Return whether entries of a type are in a list without words."""
        return bool(self.type or self.path or self.events) or kind not in _NOT_LISTED

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The filters that name something which must have been there."""
        machine = () if self.scope in ("", "shared", "all") else (self.scope,)
        if self.reader is not None:  # the names of others' sessions are not for one user to see
            return {"type": self.type}
        return {
            "type": self.type,
            "session": self.session,
            "agent": self.agent,
            "tag": self.tag,
            "path": self.path,
            "machine": machine,
        }

    @property
    def as_list(self) -> Filters:
        """Return the filters of a list without words: knowledge only, unless a type, a session or events are asked for."""
        return self if self.type or self.session or self.events else replace(self, ranks=(KNOWLEDGE,))

    @property
    def about(self) -> Literal["now", "then", "gone", "ever"]:
        """Return the time that the filters are about."""
        return "ever" if self.events else "gone" if self.removed else "then" if self.as_of else "now"

    def condition(self) -> tuple[str, list[Any]]:
        """The filters in SQL, for spans `s` with their paths `p` and commits `c`."""
        parts, values = self._time()
        for comparison, value in {"s.at >=": self.since, "s.at <=": self.until}.items():
            if value:
                parts.append(f"{comparison} ?")
                values.append(value)
        for column, wanted in {
            "s.session": self.session,
            "c.agent": self.agent,
            "lower(s.type)": self._types(),
            "s.scope": self.scopes,
        }.items():
            if wanted:
                parts.append(f"{column} IN ({marks(wanted)})")
                values += wanted
        if self.tag:
            parts.append(f"({' OR '.join('instr(lower(s.tags), ?) > 0' for _ in self.tag)})")
            values += [f"\n{tag.lower()}\n" for tag in self.tag]
        if self.path:
            parts.append(f"({' OR '.join('p.name = ? OR (p.name > ? AND p.name < ?)' for _ in self.path)})")
            for path in (path.rstrip("/") for path in self.path):
                values += [path, f"{path}/", f"{path}0"]
        if self.without_sessions:
            parts.append(f"s.session NOT IN ({marks(self.without_sessions)})")
            values += self.without_sessions
        if len(self.ranks) < len(RANKS):
            parts.append(f"s.rank IN ({marks(self.ranks)})")
            values += self.ranks
        if self.reader is not None:
            others, theirs = self.reader.others()
            shared = f"s.rank = '{KNOWLEDGE}' AND (s.space = '§' OR p.name LIKE 'skills/%')"
            parts.append(f"(s.session NOT IN ({others}) OR ({shared}))")
            parts.append("(p.name NOT LIKE ? OR p.name = ?)")
            values += [*theirs, f"{layout.USERS}%", layout.user_memory(self.reader.page or "-")]
        return " AND ".join(parts), values

    def _types(self) -> tuple[str, ...]:
        names = [name.lower() for name in self.type]
        return tuple(one for name in names for one in (_EVENTS if name == "sessionevents" else (name,)))

    def _time(self) -> tuple[list[str], list[Any]]:
        alive = ["NOT s.deprecated"]
        if self.removed:
            # Whatever stood at some time up to then and does so no more, or is deprecated.
            if self.seq is None:
                return ["(s.to_seq > 0 OR (s.to_seq IS NULL AND s.deprecated))"], []
            return ["s.to_seq BETWEEN 1 AND ?"], [self.seq]
        if self.seq is None:
            return ["s.to_seq IS NULL", *alive], []
        then = "s.from_seq BETWEEN 1 AND ? AND (s.to_seq IS NULL OR s.to_seq > ?)"
        return [then, *alive], [self.seq, self.seq]

    @property
    def is_narrow(self) -> bool:
        """Return whether few texts pass, so that looking for them among the best of all would be in vain."""
        return bool(self.session or self.path or self.tag or self.removed)


def shared_scopes(machine: str) -> tuple[str, ...]:
    """The scopes that hold on a machine."""
    from gitmem.okf.paths import safe_name

    return (SHARED, f"{MACHINE}:{safe_name(machine)}") if machine else (SHARED,)


def marks(values: Iterable[object]) -> str:
    """A question mark for each value."""
    return ", ".join("?" for _ in values)
