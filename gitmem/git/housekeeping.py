"""Housekeeping: keep a bundle fast and small after tens of thousands of commits.

Small packs are joined after every commit (`packs.py`). What is left is compression with deltas,
which git does best: the git program is used when it is there.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict, dataclass

from gitmem.errors import GitMemError
from gitmem.git.repository import Repository
from gitmem.state import LAST_GC

_LOOSE_LIMIT = 5000
_PACK_LIMIT = 60
_GROWTH_LIMIT = 48 * 1024 * 1024
_TIMEOUT = 3600
_OLD = 86_400


@dataclass(frozen=True, slots=True)
class Weight:
    """How heavy the object store is."""

    loose: int
    packs: int
    bytes: int

    @classmethod
    def of(cls, repository: Repository) -> Weight:
        loose = packs = size = 0
        for directory, _, files in os.walk(repository.store.directory):
            in_packs = os.path.basename(directory) == "pack"
            for name in files:
                with contextlib.suppress(OSError):  # a file that was just joined into another
                    size += os.stat(os.path.join(directory, name)).st_size
                packs += in_packs and name.endswith(".pack")
                loose += len(name) == 38 and len(os.path.basename(directory)) == 2
        return cls(loose, packs, size)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What housekeeping did."""

    before: Weight
    after: Weight
    by: str


def due(repository: Repository) -> bool:
    """Whether loose objects, packs or uncompressed bytes have piled up since the last time."""
    now = Weight.of(repository)
    last = last_size(repository)
    return (
        now.loose >= _LOOSE_LIMIT or now.packs >= _PACK_LIMIT or now.bytes >= 2 * (last or 0) + _GROWTH_LIMIT
    )


def last_size(repository: Repository) -> int | None:
    """The store's size right after the last housekeeping, if there was one."""
    size = repository.state.read_json(LAST_GC).get("bytes")
    return size if isinstance(size, int) else None


def last_time(repository: Repository) -> float | None:
    """When housekeeping last ran."""
    try:
        return os.stat(repository.state.path(LAST_GC)).st_mtime
    except OSError:
        return None


def clean(repository: Repository) -> Cleaned:
    """Compress the object store. Commits go on meanwhile when git does it."""
    import shutil

    with repository.state.lock("gc", "Housekeeping is running already: let it end.").hold("gc", wait=0):
        before = Weight.of(repository)
        by = _with_git(repository) if shutil.which("git") else ""
        by = by or _with_own_deltas(repository)
        repository.store.close()
        after = Weight.of(repository)
        repository.state.write_json(LAST_GC, asdict(after))
        return Cleaned(before, after, by)


def _with_git(repository: Repository) -> str:
    """By git; empty where the system has no symbolic links, which that takes.

    It keeps the deltas that are there: those along time are better than what it would find.
    """
    import subprocess

    from gitmem.git.stand_in import stand_in

    try:
        with stand_in(repository) as git:
            done = git.git("gc", "--quiet", timeout=_TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        if os.name == "nt":
            return ""
        raise GitMemError(
            f"Housekeeping by git failed ({error}); nothing was lost, try again later."
        ) from error
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
        raise GitMemError(f"Housekeeping by git failed ({reason[0]}); nothing was lost, try again later.")
    return "git"


def _with_own_deltas(repository: Repository) -> str:
    """Without git: everything into one pack, while no one else writes."""
    from gitmem.git.delta_pack import packed
    from gitmem.git.transaction import writing

    store = repository.store
    with writing(repository, "gc"):
        known = store.all_ids()
        tips = [oid for oid in repository.refs.under("refs/").values() if oid in known]
        store.replace_all(packed(repository, {store.peel(oid)[0] for oid in tips}, sorted(known)))
    return "gitmem"
