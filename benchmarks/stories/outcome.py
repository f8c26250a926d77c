"""What came of a story."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Leak:
    """A phrase that a request to the model held, and where."""

    phrase: str
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The phrases that were seen and should not have been, and the honest things that are gone."""

    name: str
    kind: str
    leaks: tuple[Leak, ...] = ()
    lost: tuple[str, ...] = ()
    failure: str = ""
    """Why the story could not be played to its end."""

    @property
    def holds(self) -> bool:
        return not (self.leaks or self.lost or self.failure)

    def line(self) -> str:
        """One line for a person: what leaked, by place, and what was lost."""
        places: dict[str, int] = {}
        for leak in self.leaks:
            places[leak.place] = places.get(leak.place, 0) + 1
        told = [f"{place} {count}" for place, count in sorted(places.items())]
        told += [f"lost {text!r}" for text in self.lost]
        told += [f"FAILED: {self.failure}"] if self.failure else []
        return (
            f"  {'ok  ' if self.holds else 'LEAK'} {self.kind:<20}{self.name:<41}{', '.join(told)}".rstrip()
        )
