"""Links between the pages of a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.memory.indexing import Indexing

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


@dataclass(frozen=True, slots=True)
class Edge:
    """A link from a file to a path; `exists` tells whether something is there."""

    source: str
    target: str
    exists: bool


def links_of(bundle: Bundle, path: str) -> tuple[Edge, ...]:
    """Return the links of a page."""
    tree, index = bundle.tree(), bundle.part(Indexing).current()
    return tuple(Edge(path, target, target in tree) for target in index.links(path))


def backlinks_of(bundle: Bundle, path: str) -> tuple[Edge, ...]:
    """Return the links that lead to a page."""
    exists, index = path in bundle.tree(), bundle.part(Indexing).current()
    return tuple(Edge(source, path, exists) for source in index.backlinks(path))
