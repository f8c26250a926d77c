"""Housekeeping: keep a bundle fast and small after tens of thousands of commits.

Small packs are joined after every commit (`packs.py`). What is left is compression with deltas,
which git does best: the git program is used when it is there.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict, dataclass

from gitmem.errors import GitMemError
from gitmem.files import write_new
from gitmem.git.objects import Oid
from gitmem.git.repository import Repository
from gitmem.git.setup import CONFIGURATION
from gitmem.permissions import make_directory
from gitmem.scratch import scratch_directory
from gitmem.state import LAST_GC

_LOOSE_LIMIT = 5000
_PACK_LIMIT = 60
_GROWTH_LIMIT = 48 * 1024 * 1024
_TIMEOUT = 3600
_UNREACHABLE = "2.weeks.ago"


@dataclass(frozen=True, slots=True)
class Weight:
    """Size of the object store."""

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
    """Result of housekeeping."""

    before: Weight
    after: Weight
    by: str


def due(repository: Repository) -> bool:
    """Return whether loose objects, packs or uncompressed bytes have piled up since the last time."""
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
    """Return when housekeeping last ran."""
    try:
        return os.stat(repository.state.path(LAST_GC)).st_mtime
    except OSError:
        return None


def clean(repository: Repository) -> Cleaned:
    """Compress the object store. Commits go on meanwhile when git does it."""
    import shutil

    with repository.state.lock("gc", "Housekeeping is running already: let it end.").hold("gc", wait=0):
        before = Weight.of(repository)
        by = "git" if shutil.which("git") else "gitmem"
        _with_git(repository) if by == "git" else _with_own_deltas(repository)
        repository.store.close()
        after = Weight.of(repository)
        repository.state.write_json(LAST_GC, asdict(after))
        return Cleaned(before, after, by)


def _with_git(repository: Repository) -> None:
    """Compress by git, which works on our objects from a git directory of its own: it sees no setting and no hook.

    It keeps the deltas that are there: those along time are better than what it would find. What no ref, reflog and index
    names stays for two weeks.
    """
    import shutil
    import subprocess

    from gitmem.git import git_command

    path = scratch_directory(repository.scratch, "gc-")
    env = {
        **git_command.environment(repository.env),
        "GIT_OBJECT_DIRECTORY": os.path.abspath(repository.store.directory),
    }
    try:
        for name in ("objects", "refs"):
            make_directory(os.path.join(path, name))
        write_new(os.path.join(path, "HEAD"), b"ref: refs/heads/none\n")
        write_new(os.path.join(path, "config"), CONFIGURATION.encode())
        lines = [f"{oid} refs/kept/{number}\n" for number, oid in enumerate(sorted(_kept(repository)))]
        write_new(os.path.join(path, "packed-refs"), "".join(lines).encode())
        repack = ("repack", "-q", "-A", "-d", f"--unpack-unreachable={_UNREACHABLE}")
        for arguments in (repack, ("prune", f"--expire={_UNREACHABLE}")):
            done = subprocess.run(
                git_command.command(*arguments, git_dir=path),
                cwd=path, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, check=False,
            )  # fmt: skip
            if done.returncode:
                told = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
                raise GitMemError(
                    f"Housekeeping by git failed ({told[-1]}); nothing was lost, try again later."
                )
        repository.refs.pack()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitMemError(
            f"Housekeeping by git failed ({error}); nothing was lost, try again later."
        ) from error
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _kept(repository: Repository) -> set[Oid]:
    """Return what all that stays is reached from: refs, reflogs, git's index."""
    found = set(repository.refs.under("refs/").values())
    found |= {oid for oids in repository.refs.logged() for oid in oids}
    with contextlib.suppress(GitMemError):  # in the middle of a merge; what it staged is young
        index = repository.index_file.read()
        found |= {index.oid(place) for place in range(len(index.names))} if index else set()
    known = repository.store.all_ids()
    return found & known


def _with_own_deltas(repository: Repository) -> None:
    """Without git: everything into one pack, while no one else writes."""
    from gitmem.git.delta_pack import packed
    from gitmem.git.transaction import writing

    store = repository.store
    with writing(repository, "gc"):
        known = store.all_ids()
        tips = [oid for oid in repository.refs.under("refs/").values() if oid in known]
        store.replace_all(packed(repository, {store.peel(oid)[0] for oid in tips}, sorted(known)))
