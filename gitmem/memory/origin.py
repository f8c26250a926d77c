"""Origin of a change: who, in which session, on which machine, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from gitmem.okf.entries import turns_of

Trigger = Literal[
    "session-end", "buffer-max", "plan-complete", "explicit", "pre-compress", "turn", "shutdown", ""
]
RELEASED = "released by "
"""How the source of a change begins that a person let in."""
LOST = " lost "
"""In the subject of a hand edit that took most of a store."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Provenance of one change; empty fields are left out of the commit."""

    session: str = ""
    turn: str = ""
    """The turn of the conversation that made it, with the tool call where that is known: `3fa2c1d0e4b5#call_9`."""
    parent_session: str = ""
    agent: str = ""
    machine: str = ""
    platform: str = ""
    model: str = ""
    trigger: Trigger = ""
    reason: str = ""
    source: str = ""
    derived_from: tuple[str, ...] = ()
    at: float = 0.0
    """When it was made, where that was before it is committed."""
    user: str = ""
    """The page of the user whose session made it, where several talk to one agent."""

    def trailers(self) -> dict[str, str | tuple[str, ...]]:
        """The trailers of a commit with this origin: `Parent-Session` and so on."""
        told = (
            one.name for one in fields(self) if one.name not in ("at", "user")
        )  # the author's date; a place
        return {name.replace("_", "-").title(): getattr(self, name) for name in told}

    def because(self, trigger: Trigger, reason: str = "") -> Origin:
        return replace(self, trigger=trigger, reason=reason or self.reason)

    def redacted(
        self, redact: Callable[[str], str], names: Callable[[str], str], ids: Callable[[str], str]
    ) -> Origin:
        """The same, with the words of a person or a program, the names and the sessions in it redacted."""
        return replace(
            self,
            session=ids(self.session),
            parent_session=ids(self.parent_session),
            agent=names(self.agent),
            machine=names(self.machine),
            platform=names(self.platform),
            model=names(self.model),
            reason=redact(self.reason) if self.reason else "",
            source=redact(self.source) if self.source else "",
        )


def written_by(origin: Origin | None, known: Mapping[str, object] = {}) -> dict[str, Any]:
    """Return what links an entry, or the front matter of a concept, to the turn that wrote it and to those `known`."""
    turn = origin.turn if origin is not None else ""
    return {"turns": sorted({*turns_of(known), turn})} if turn else {}


def source_trailer(came_from: Iterable[str], origin: Origin) -> dict[str, tuple[str, ...]]:
    """The Source of a change whose content came from these places: they come first, then who wrote it."""
    found = tuple(dict.fromkeys(source for source in came_from if source))
    return {"Source": tuple(dict.fromkeys((*found, origin.source)))} if found else {}


def is_from(source: str, wanted: str) -> bool:
    """Return whether a source is the wanted one, or a page of that site, or a file below that directory."""
    if source == wanted:
        return True
    inside, place = _place(source), _place(wanted)
    is_place = "/" in wanted or "." in wanted
    return is_place and bool(place) and (inside == place or inside.startswith(f"{place}/"))


def _place(source: str) -> str:
    """A URL without its scheme, and anything else as it is."""
    scheme, mark, rest = source.partition("://")
    return (rest if mark and scheme.isalnum() else source).rstrip("/")
