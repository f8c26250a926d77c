"""Housekeeping: keep a bundle fast and small after tens of thousands of commits.

Small packs are joined after every commit (`packs.py`). What is left is compression with deltas,
which git does well and dulwich does not: the git program is used when it is there.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict, dataclass

from gitmem.errors import BundleBusy, GitMemError
from gitmem.git.repository import Repository
from gitmem.state import GC_LOCK, LAST_GC

_LOOSE_LIMIT = 5000
_PACK_LIMIT = 60
_GROWTH_LIMIT = 48 * 1024 * 1024
_TIMEOUT = 3600


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

    from filelock import FileLock, Timeout

    os.makedirs(repository.scratch, exist_ok=True)
    lock = FileLock(repository.state.path(GC_LOCK))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BundleBusy("Housekeeping is running already: let it end.") from None
    try:
        before = Weight.of(repository)
        by = _with_git(repository) if shutil.which("git") else _with_dulwich(repository)
        repository.store.close()
        after = Weight.of(repository)
        repository.state.write_json(LAST_GC, asdict(after))
        return Cleaned(before, after, by)
    finally:
        lock.release()


def _with_git(repository: Repository) -> str:
    import subprocess

    command = ["git", "--git-dir", repository.git_dir, "gc", "--quiet"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitMemError(
            f"Housekeeping by git failed ({error}); nothing was lost, try again later."
        ) from error
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise GitMemError(f"Housekeeping by git failed ({reason[0]}); nothing was lost, try again later.")
    return "git"


def _with_dulwich(repository: Repository) -> str:
    """Without git: everything into one pack, without deltas, while no one else writes."""
    from dulwich.object_store import DiskObjectStore

    from gitmem.git.transaction import writing

    with writing(repository, "gc"):
        store = DiskObjectStore(repository.store.directory, fsync_object_files=True)
        try:
            store.pack_loose_objects()
            store.repack()
        finally:
            store.close()
    return "dulwich"
