"""Names of entries, as a commit says what it follows from: out of what a person or an agent calls them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gitmem.dates import span as span_of_time
from gitmem.errors import UnknownRevision
from gitmem.git.revisions import did_you_mean
from gitmem.memory.exposure import is_knowledge
from gitmem.memory.indexing import Index, Indexing
from gitmem.okf.entries import SHORTEST_NAME, EntryKey, shown_name
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.index.lookup import Span
    from gitmem.memory.bundle import Bundle

_Place = tuple[str, str, str]
"""Path, space and key of an entry."""
_MANY = 50
"""So many events at most stand for a commit that brought nothing else."""
_FEW = 3


def entry_names(bundle: Bundle, given: str | Iterable[str]) -> tuple[str, ...]:
    """The names of what is given: hashes of entries, ids of events, files, commits, snapshots or sessions.

    Raises UnknownRevision for one that names nothing, with what could be meant.
    """
    found: dict[str, None] = {}
    for one in (given,) if isinstance(given, str) else given:
        index = bundle.part(Indexing).current()
        names = _by_hash(index, one) or _names(_places(bundle, index, one))
        if not names:
            raise UnknownRevision(
                f"Nothing here is called {one!r}: give an entry's hash, a file, a commit or a session.",
                hint=_hint(bundle, index, one),
            )
        found.update(dict.fromkeys(names))
    return tuple(found)


def _by_hash(index: Index, given: str) -> list[str]:
    """The one entry whose name begins so, also one that is gone."""
    if len(given) < SHORTEST_NAME or set(given) - set("0123456789abcdef"):
        return []
    # A § entry is named by its own hash; of anything else every name has to be made.
    names = _names(index.places("§", given)) or [
        name for name in _names(index.places()) if name.startswith(given)
    ]
    if len(names) > 1:
        some = ", ".join(names[:_FEW])
        raise UnknownRevision(
            f"{given!r} is ambiguous: it begins the names of {len(names)} entries ({some})."
        )
    return names


def _places(bundle: Bundle, index: Index, given: str) -> Sequence[_Place]:
    """Return where the entries stand that an event's id, a file, a session or a commit stands for."""
    if not given.strip():
        return ()
    found = index.spans(space="event", key=given) or index.spans_in(given.removeprefix("./"))
    if found:
        return [_place_of(span) for span in found]
    commits = [row.oid for row in index.commits_with("Session", given)] or _commit(bundle, given)
    brought = [_place_of(span) for oid in commits for span in index.spans(commit=oid)]
    return [place for place in brought if is_knowledge(place[0])] or brought[:_MANY]


def _commit(bundle: Bundle, given: str) -> list[Oid]:
    if span_of_time(given, now=bundle.world.clock()) is not None:
        return []  # a state of the whole memory, and nothing to follow from
    try:
        return [bundle.resolve(given)]
    except UnknownRevision:
        return []


def _place_of(span: Span) -> _Place:
    return span.path, span.space, span.key


def _names(places: Iterable[_Place]) -> list[str]:
    return list(dict.fromkeys(shown_name(path, EntryKey(space, key)) for path, space, key in places))


def _hint(bundle: Bundle, index: Index, given: str) -> str:
    alike = [one for one in index.spans_containing(given) if one.space == "§"] if given.strip() else []
    if alike:
        told = {one.key[:12]: shortened(one.text) for one in alike}
        return f"Did you mean {', '.join(f'{name} ({text})' for name, text in list(told.items())[:_FEW])}?"
    known = [
        *(path for path in bundle.file_paths() if is_knowledge(path)),
        *(one.name for one in index.sessions()),
    ]
    return did_you_mean(
        given, known, "`gitmem facts --json` and `gitmem search --json` show the hashes of entries."
    )
