"""The history as a graph of commits: ancestry, merge bases, and walks.

It goes by the graph. A date decides only what is looked at first, never the answer: clocks are wrong, and a commit may claim
to be older than those it stands on. `skew` knows by how many seconds, so that a walk by dates knows when it may end: usually
it is 0, and a walk ends at once; after a machine whose clock was a month behind it goes a month further.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence, Set

from gitmem.errors import GitMemError
from gitmem.git.objects import Commit, GitObject, Oid, named_in
from gitmem.git.repository import Repository
from gitmem.git.store import ObjectStore
from gitmem.git.tree import Tree, TreeChange, TreeDiff
from gitmem.state import CACHE

OURS, THEIRS, COMMON = 1, 2, 4


def paint(
    repository: Repository, ours: Sequence[Oid], theirs: Sequence[Oid], *, skew: int | None = None
) -> dict[Oid, int]:
    """Commits with the sides that stand on them, until all that is left is below something common.

    A colour is never wrong, but one may be missing: of a commit that is ours, and below something common which
    claims to be older. With the history's `skew` the walk goes on until there is none.
    """
    store = repository.store
    colours: dict[Oid, int] = {}
    waiting: list[tuple[int, Oid]] = []
    queued: set[Oid] = set()
    undecided = 0
    oldest: int | None = None
    """What may stand on a commit that is ours alone so far is not older than this; negative, as in `waiting`."""

    def add(oid: Oid, colour: int) -> None:
        nonlocal undecided
        before = colours.get(oid, 0)
        after = before | colour
        if after == before:
            return
        colours[oid] = after
        if oid not in queued:
            queued.add(oid)
            heapq.heappush(waiting, (-store.commit(oid).committer.time, oid))
            undecided += not after & COMMON
        elif after & COMMON and not before & COMMON:
            undecided -= 1

    for oid in ours:
        add(oid, OURS)
    for oid in theirs:
        add(oid, THEIRS)
    while waiting and (undecided or (oldest is not None and waiting[0][0] <= oldest)):
        rank, oid = heapq.heappop(waiting)
        queued.discard(oid)
        colour = colours[oid]
        undecided -= not colour & COMMON
        if colour == OURS and skew is not None:
            oldest = rank + skew if oldest is None else max(oldest, rank + skew)
        below = colour | COMMON if colour & 3 == 3 else colour
        for parent in store.commit(oid).parents:
            add(parent, below)
    return colours


_CLOCKS = "clocks"
_FEW = 64
"""So many new commits are looked at again rather than noted."""


def skew(repository: Repository, tips: Iterable[Oid]) -> int:
    """The most seconds by which a commit of these histories claims to be older than one that it stands on."""
    tips = sorted(set(tips))
    noted = repository.clocks.read_json(CACHE, _CLOCKS)
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
                repository.state.write_json(CACHE, {"tip": here, "skew": found}, _CLOCKS)
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


def is_ancestor(repository: Repository, ancestor: Oid, descendant: Oid) -> bool:
    """Return whether `descendant` stands on `ancestor`."""
    return merge_bases(repository, ancestor, descendant) == [ancestor]


def strangers(repository: Repository, commits: Iterable[Oid], tip: Oid) -> set[Oid]:
    """Of some commits those that `tip` does not stand on, in one walk for all of them."""
    asked = sorted(set(commits))
    colours = paint(repository, asked, [tip], skew=skew(repository, [tip, *asked]))
    return {oid for oid in asked if colours[oid] == OURS}


def merge_bases(repository: Repository, ours: Oid, theirs: Oid) -> list[Oid]:
    """The best common ancestors of two commits, in order of their ids; several after a criss-cross."""
    return [ours] if ours == theirs else bases_of_groups(repository, [ours], [theirs])


def bases_of_groups(repository: Repository, ours: Sequence[Oid], theirs: Sequence[Oid]) -> list[Oid]:
    """The best commits that some of ours and some of theirs stand on, in order of their ids."""
    # What is below something common is not asked for: whichever way the clocks went, the walk may end there.
    colours = paint(repository, ours, theirs)
    common = {oid for oid, colour in colours.items() if colour & 3 == 3}
    inner = {parent for oid in common for parent in repository.store.commit(oid).parents}
    return _without_ancestors(repository, sorted(common - inner))


def maximal(repository: Repository, tips: Iterable[Oid]) -> list[Oid]:
    """Of some commits those that no other one stands on, in order of their ids."""
    first, *others = sorted(set(tips))
    if not others:
        return [first]
    colours = paint(repository, others, [first], skew=skew(repository, [first, *others]))
    fresh = {oid for oid, colour in colours.items() if colour == OURS}
    below = {parent for oid in fresh for parent in repository.store.commit(oid).parents}
    kept = [oid for oid in others if oid in fresh and oid not in below]
    return kept if colours[first] & OURS else [first, *kept]


def only_in(repository: Repository, tip: Oid, *known: Oid | None) -> list[Oid]:
    """Commits that `tip` stands on and none of `known` does, children before parents, else the newest first."""
    others = [oid for oid in known if oid is not None]
    reach = skew(repository, [tip, *others])
    colours = paint(repository, [tip], others, skew=reach)
    fresh = {oid for oid, colour in colours.items() if colour == OURS}
    return [commit.oid for commit in _walk(repository, tip, fresh, reach)] if tip in fresh else []


def _without_ancestors(repository: Repository, commits: list[Oid]) -> list[Oid]:
    """Of common ancestors those that no other one stands on; clocks that lie can leave more."""
    if len(commits) < 2:
        return commits
    seen: set[Oid] = set()
    todo = [parent for one in commits for parent in repository.store.commit(one).parents]
    while todo:
        oid = todo.pop()
        if oid not in seen:
            seen.add(oid)
            todo += repository.store.commit(oid).parents
    return sorted(set(commits) - seen)


def walk(repository: Repository, tip: Oid) -> Iterator[Commit]:
    """Every commit that `tip` stands on, newest first.

    A commit is given before its parents, whatever the clocks said: it waits until all that may stand on it was seen.
    """
    return _walk(repository, tip, None, skew(repository, [tip]))


def _walk(repository: Repository, tip: Oid, among: Set[Oid] | None, reach: int) -> Iterator[Commit]:
    """Walk only `among` some commits, where they are given; with one of them are all that stand on it."""
    store = repository.store
    ahead = [(-store.commit(tip).committer.time, tip)]
    children = {tip: 0}
    ready = list(ahead)
    given: set[Oid] = set()

    def parents(commit: Commit) -> Iterable[Oid]:
        return commit.parents if among is None else filter(among.__contains__, commit.parents)

    while ready:
        rank, oid = ready[0]
        while ahead and ahead[0][0] - reach <= rank:
            _, seen = heapq.heappop(ahead)
            for parent in parents(store.commit(seen)):
                if parent not in children:
                    children[parent] = 0
                    heapq.heappush(ahead, (-store.commit(parent).committer.time, parent))
                children[parent] += 1
        heapq.heappop(ready)
        if children[oid] or oid in given:  # another one stands on it: it is given after that one
            continue
        given.add(oid)
        commit = store.commit(oid)
        yield commit
        for parent in parents(commit):
            children[parent] -= 1
            if not children[parent]:
                heapq.heappush(ready, (-store.commit(parent).committer.time, parent))


def first_parents(repository: Repository, tip: Oid) -> Iterator[Commit]:
    """The line of commits that `main` itself stood at, newest first."""
    current: Oid | None = tip
    while current is not None:
        commit = repository.store.commit(current)
        yield commit
        current = commit.parents[0] if commit.parents else None


def tree_changes(repository: Repository, tip: Oid) -> Iterator[tuple[Commit, list[TreeChange]]]:
    """Every commit on the line of `main` with the files it changed, oldest first."""
    diff = TreeDiff(repository.store)
    for commit in reversed(list(first_parents(repository, tip))):
        yield commit, list(diff.of_commit(commit))


def touches(repository: Repository, commit: Commit, path: str) -> bool:
    """Return whether the commit changed something at or below `path`, against each of its parents."""
    here = Tree(repository.store, commit.tree).entry(path)
    if not commit.parents:
        return here is not None
    return all(repository.tree(parent).entry(path) != here for parent in commit.parents)


def reachable(store: ObjectStore, tips: Iterable[Oid]) -> Iterator[GitObject]:
    """Every object that these commits and tags stand on."""
    todo = list(tips)
    seen = set(todo)
    while todo:
        found = GitObject(*store.read(oid := todo.pop()), oid)
        yield found
        below = [one for one in named_in(oid, found.type, found.content) if one not in seen]
        seen.update(below)
        todo += dict.fromkeys(below)
