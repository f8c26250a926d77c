"""How wrong the clocks of a history are: by how many seconds a commit may claim to be older than one it stands on.

With that number a walk that goes by dates knows when it may end: usually it is 0, and a walk ends at once; after a machine
whose clock was a month behind it goes a month further. It is found by looking at every commit once, and kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitmem.errors import GitMemError
from gitmem.git.objects import Oid
from gitmem.git.painting import OURS, paint
from gitmem.git.repository import Repository
from gitmem.state import CLOCKS

_FEW = 64
"""So many new commits are looked at again rather than noted."""


def skew(repository: Repository, tips: Iterable[Oid]) -> int:
    """The most seconds by which a commit of these histories claims to be older than one that it stands on."""
    tips = sorted(set(tips))
    noted = repository.clocks.read_json(CLOCKS)
    tip, reach = noted.get("tip"), noted.get("skew")
    if not isinstance(tip, str) or not isinstance(reach, int) or not _is_there(repository, tip):
        tip, reach = None, 0
    # Some of these may be old: those are looked at again, which does no harm.
    colours = paint(repository, tips, [tip] if tip else [])
    fresh = {oid for oid, colour in colours.items() if colour == OURS}
    found = _of(repository, fresh, reach)
    if len(fresh) > _FEW and repository.clocks is repository.state and repository.state.is_there:
        here = repository.tip()
        if here in tips:
            try:
                repository.state.write_json(CLOCKS, {"tip": here, "skew": found})
            except OSError:  # a disk that is full or may not be written: the next one looks again
                return found
    return found


def _is_there(repository: Repository, oid: Oid) -> bool:
    try:
        repository.store.commit(oid)
    except GitMemError:
        return False
    return True


def _of(repository: Repository, commits: set[Oid], reach: int) -> int:
    """The skew of these commits on top of others, of which it is `reach`."""
    store = repository.store
    newest: dict[Oid, int] = {}
    """The newest date below each commit, its own among them."""
    todo = list(commits)
    while todo:
        oid = todo[-1]
        if oid in newest:
            todo.pop()
            continue
        commit = store.commit(oid)
        above = [parent for parent in commit.parents if parent in commits and parent not in newest]
        if above:
            todo += above
            continue
        below = [
            newest[parent] if parent in commits else store.commit(parent).committer.time + reach
            for parent in commit.parents
        ]
        newest[oid] = max([commit.committer.time, *below])
        todo.pop()
    return max([reach, *(date - store.commit(oid).committer.time for oid, date in newest.items())])
