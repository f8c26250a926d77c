"""One look at files that another program keeps: what changed there since both sides agreed, then what changed here.

Two-way, an entry that a sync just brought, and that is not yet there, would read as removed there. So every comparison
is three-way, with the state that both sides last agreed on as the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gitmem.state import MIRROR

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

Units = Mapping[str, str]
"""Values by key: texts, or hashes of files."""

_WAIT = 20.0


def incoming(base: Units, here: Units, there: Units) -> list[str]:
    """The keys that changed there; one that is gone there and was changed here stays."""
    return [
        key
        for key in sorted({*base, *there})
        if there.get(key) not in (base.get(key), here.get(key))
        and (key in there or here.get(key) == base.get(key))
    ]


def outgoing(base: Units, here: Units, there: Units) -> list[str]:
    """The keys that changed here and not there."""
    return [
        key
        for key in sorted({*base, *here, *there})
        if here.get(key) != there.get(key)
        and (there.get(key) == base.get(key) or (key not in there and here.get(key) != base.get(key)))
    ]


def conflicts(base: Units, here: Units, there: Units) -> list[str]:
    """The keys that both sides changed, each to a value of its own."""
    both = [key for key in sorted({*here} & {*there}) if here[key] != there[key]]
    return [key for key in both if base.get(key) not in (here[key], there[key])]


def agreed(base: Units, here: Units, there: Units) -> dict[str, str]:
    """The next base: where the sides differ still, what it was."""
    keys = {*base, *here, *there}
    same = {key: here.get(key) if here.get(key) == there.get(key) else base.get(key) for key in keys}
    return {key: value for key, value in same.items() if value is not None}


@dataclass(slots=True)
class Looked:
    """Result of one look."""

    taken: int = 0
    """Commits that were made of changes there."""
    written: list[str] = field(default_factory=list)
    """Names of files that were written there."""
    waiting: bool = False
    """A change has to wait until it is known whose it is."""

    def add(self, more: Looked) -> None:
        """Take in the result of another look."""
        self.taken += more.taken
        self.written += more.written
        self.waiting = self.waiting or more.waiting


class Mirror:
    """The files of one place beside one bundle. One look at a time, across processes and places."""

    def __init__(self, bundle: Bundle, name: str) -> None:
        self._bundle = bundle
        self._name = name

    def look(self, *, first: bool = False) -> Looked:
        """Take in what changed there, then write what changed here.

        At the `first` look all that is there is an import.
        """
        done = Looked()
        busy = "Another process is comparing the files of an agent: try again in a moment."
        with self._bundle.state.lock("connections", busy).hold("look", wait=_WAIT):
            self._compare(done, "import" if first else "host")
        return done

    def _compare(self, done: Looked, kind: str) -> None:
        raise NotImplementedError

    def _note(self) -> dict[str, Any]:
        return self._bundle.state.read_json(MIRROR, self._name)

    def _agree(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        if old != new:
            self._bundle.state.write_json(MIRROR, new, self._name, durable=True)


def texts_in(found: object) -> dict[str, str]:
    """The texts of a JSON object; a note may be damaged."""
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}
