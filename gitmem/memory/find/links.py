"""Links between the files of a bundle: what leads where, and what leads nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.memory.indexing import Indexing
from gitmem.okf import layout

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


@dataclass(frozen=True, slots=True)
class Edge:
    """A link from a file to a path; `exists` tells whether something stands there."""

    source: str
    target: str
    exists: bool


class Links:
    """The graph of one bundle, as its markdown links make it."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def of(self, path: str) -> list[Edge]:
        """Return where a file leads."""
        tree = self._bundle.tree()
        return [
            Edge(path, target, target in tree) for target in self._bundle.part(Indexing).current().links(path)
        ]

    def to(self, path: str) -> list[Edge]:
        """The files that lead to a path."""
        exists = path in self._bundle.tree()
        return [
            Edge(source, path, exists) for source in self._bundle.part(Indexing).current().backlinks(path)
        ]

    def broken(self) -> list[Edge]:
        """Links to paths where nothing stands."""
        tree = self._bundle.tree()
        edges = self._bundle.part(Indexing).current().edges()
        missing = {target for target in {target for _, target in edges} if target not in tree}
        return [Edge(source, target, False) for source, target in edges if target in missing]

    def orphans(self) -> list[str]:
        """Concepts that people write and that no link leads to or from; what is recorded stands by itself."""
        linked: set[str] = set()
        for source, target in self._bundle.part(Indexing).current().edges():
            linked.update((source, target))
        return [
            path
            for path in self._bundle.list_concepts()
            if path not in linked and layout.default_type(path) in ("", layout.SKILL)
        ]
