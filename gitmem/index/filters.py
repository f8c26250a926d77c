"""Which spans count in a search: filters by place, time and origin, in SQL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gitmem.index.readers import Reader
from gitmem.index.records import DEPRECATED, MACHINE, SHARED
from gitmem.okf.ranks import KNOWLEDGE, RANKS, Rank

_EVENTS = ("turn", "observation", "decision", "tool_call", "skill_use")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which spans count. Empty fields let all through; `seq` None is now, `listing` a tree off the line."""

    type: str = ""
    session: str = ""
    agent: str = ""
    tag: str = ""
    since: str = ""
    until: str = ""
    path: str = ""
    scopes: tuple[str, ...] = ()
    without_sessions: tuple[str, ...] = ()
    ranks: tuple[Rank, ...] = RANKS
    reader: Reader | None = None
    """Whose sessions count; None counts all."""
    removed: bool = False
    seq: int | None = None
    listing: int = 0

    def condition(self) -> tuple[str, list[Any]]:
        """The filters in SQL, for spans `s` with their paths `p` and commits `c`."""
        parts, values = self._time()
        plain = {
            "s.session =": self.session,
            "c.agent =": self.agent,
            "s.at >=": self.since,
            "s.at <=": self.until,
        }
        for comparison, value in plain.items():
            if value:
                parts.append(f"{comparison} ?")
                values.append(value)
        if self.type:
            wanted = _EVENTS if self.type.lower() == "sessionevents" else (self.type.lower(),)
            parts.append(f"lower(s.type) IN ({marks(wanted)})")
            values += wanted
        if self.tag:
            parts.append("instr(lower(s.tags), ?) > 0")
            values.append(f"\n{self.tag.lower()}\n")
        if self.path:
            path = self.path.rstrip("/")
            parts.append("(p.name = ? OR (p.name > ? AND p.name < ?))")
            values += [path, f"{path}/", f"{path}0"]
        if self.scopes:
            parts.append(f"s.scope IN ({marks(self.scopes)})")
            values += self.scopes
        if self.without_sessions:
            parts.append(f"s.session NOT IN ({marks(self.without_sessions)})")
            values += self.without_sessions
        if len(self.ranks) < len(RANKS):
            parts.append(f"s.rank IN ({marks(self.ranks)})")
            values += self.ranks
        if self.reader is not None:
            others, theirs = self.reader.others()
            parts.append(f"(s.session NOT IN ({others}) OR (s.rank = '{KNOWLEDGE}' AND s.space <> 'event'))")
            values += theirs
        return " AND ".join(parts), values

    def _time(self) -> tuple[list[str], list[Any]]:
        alive = [f"s.trust > {DEPRECATED}"]
        if self.listing:
            base = (
                "(s.from_seq = ? OR (s.from_seq BETWEEN 1 AND ? AND (s.to_seq IS NULL OR s.to_seq > ?) "
                "AND s.path NOT IN (SELECT path FROM listing_path WHERE listing = ?)))"
            )
            return [base, *alive], [-self.listing, self.seq, self.seq, self.listing]
        if self.removed:
            # Whatever stood at some time up to then and does so no more, or is deprecated.
            if self.seq is None:
                return [f"(s.to_seq > 0 OR (s.to_seq IS NULL AND s.trust = {DEPRECATED}))"], []
            return ["s.to_seq BETWEEN 1 AND ?"], [self.seq]
        if self.seq is None:
            return ["s.to_seq IS NULL", *alive], []
        then = "s.from_seq BETWEEN 1 AND ? AND (s.to_seq IS NULL OR s.to_seq > ?)"
        return [then, *alive], [self.seq, self.seq]

    @property
    def is_narrow(self) -> bool:
        """Whether few texts pass, so that looking for them among the best of all would be in vain."""
        return bool(self.session or self.path or self.tag or self.removed)


def shared_scopes(machine: str) -> tuple[str, ...]:
    """The scopes that hold on a machine."""
    from gitmem.okf.paths import safe_name

    return (SHARED, f"{MACHINE}:{safe_name(machine)}") if machine else (SHARED,)


def marks(values: Iterable[object]) -> str:
    """A question mark for each value."""
    return ", ".join("?" for _ in values)
