"""Origin of a change: who, in which session, on which machine, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from gitmem.config import Config

Trigger = Literal[
    "session-end", "buffer-max", "plan-complete", "explicit", "pre-compress", "turn", "shutdown", ""
]


@dataclass(frozen=True, slots=True)
class Origin:
    """Provenance of one change; empty fields are left out of the commit."""

    session: str = ""
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

    def trailers(self) -> dict[str, str | tuple[str, ...]]:
        """The trailers of a commit with this origin: `Parent-Session` and so on."""
        told = (one.name for one in fields(self) if one.name != "at")  # that is the author's date
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


class SessionFacts(Protocol):
    """Facts about a session that belong to the origin of a change."""

    @property
    def id(self) -> str: ...
    @property
    def parent(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def platform(self) -> str: ...
    @property
    def model(self) -> str: ...


def origin_of(config: Config, session: SessionFacts) -> Origin:
    """The origin of what a session writes."""
    return Origin(
        session=session.id,
        parent_session=session.parent,
        agent=session.agent or config.agent_id,
        machine=config.machine,
        platform=session.platform,
        model=session.model,
    )
