"""Housekeeping: keep a bundle fast and small after tens of thousands of commits, and prove that its objects are whole.

Small packs are joined after every commit, with deltas along time (`packs.py`). The rest is left to the git program: objects
that another program wrote, and those that nothing leads to. Without git there is neither.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from gitmem.errors import GitMemError
from gitmem.git.objects import Oid, named_in
from gitmem.git.packs import is_sealed
from gitmem.git.repository import Repository
from gitmem.state import CACHE

_LAST_GC = "gc"
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
    last = repository.state.read_json(CACHE, _LAST_GC).get("bytes")
    most = _GROWTH_LIMIT + 2 * (last if isinstance(last, int) else 0)
    is_large = now.loose >= _LOOSE_LIMIT or now.packs >= _PACK_LIMIT or now.bytes >= most
    return is_large and shutil.which("git") is not None


def last_time(repository: Repository) -> float | None:
    """Return the time of the last housekeeping."""
    try:
        return os.stat(repository.state.path(CACHE, _LAST_GC)).st_mtime
    except OSError:
        return None


def clean(repository: Repository) -> Cleaned:
    """Compress the object store, while commits go on."""
    with repository.state.lock("gc", "Housekeeping is running already: let it end.").hold("gc", wait=0):
        before = Weight.of(repository)
        by = "git" if shutil.which("git") else "gitmem"
        if by == "git":
            _with_git(repository)
        repository.refs.pack()
        repository.store.close()
        after = Weight.of(repository)
        repository.state.write_json(CACHE, asdict(after), _LAST_GC)
        return Cleaned(before, after, by)


def _with_git(repository: Repository) -> None:
    """Compress by git, which works on our objects from a git directory of its own: it sees no setting and no hook.

    It keeps the deltas that are there: those along time are better than what it would find. What no ref, reflog and index
    names stays for two weeks.
    """
    import subprocess

    from gitmem.git import git_program
    from gitmem.git.transport import throw_away

    env = {
        **git_program.environment(repository.env),
        "GIT_OBJECT_DIRECTORY": os.path.abspath(repository.store.directory),
    }
    expire = f"--unpack-unreachable={_UNREACHABLE}"
    repack = ("repack", "-q", "-A", "-d", "--no-write-bitmap-index", expire)
    try:
        with throw_away(repository, sorted(_kept(repository))) as room:
            for arguments in (repack, ("prune", f"--expire={_UNREACHABLE}")):
                words = git_program.command(*arguments, git_dir=room.git_dir)
                done = git_program.run(words, env=env, seconds=_TIMEOUT)
                if done.returncode:
                    raise OSError(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitMemError(
            f"Housekeeping by git failed ({error}); nothing was lost, try again later."
        ) from error


def _kept(repository: Repository) -> set[Oid]:
    """Return the roots of reachability: refs, reflogs, git's index."""
    found = set(repository.refs.under("refs/").values())
    found |= {oid for oids in repository.refs.logged() for oid in oids}
    with contextlib.suppress(GitMemError):  # in the middle of a merge; what it staged is young
        index = repository.index_file.read()
        found |= {index.oid(place) for place in range(len(index.names))} if index else set()
    known = repository.store.with_prefix()
    return found & known


def damaged_packs(repository: Repository) -> Iterator[tuple[str, str]]:
    """Packs and indexes of packs that are not what they were, and why: each ends in a checksum of all before it."""
    directory = repository.store.pack_directory
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        if not name.endswith((".pack", ".idx")):
            continue
        try:
            with open(os.path.join(directory, name), "rb") as file:
                if not is_sealed(file):
                    yield f"objects/pack/{name}", "its checksum does not match its content"
        except FileNotFoundError:
            continue  # joined into another pack meanwhile
        except OSError as error:
            yield f"objects/pack/{name}", f"cannot be read ({error.strerror})"


def damaged_objects(repository: Repository) -> Iterator[tuple[Oid, str]]:
    """Objects that the refs stand on and that are missing or damaged, with what needs each."""
    todo = [(oid, name) for name, oid in repository.refs.under("refs/").items()]
    seen = {oid for oid, _ in todo}
    while todo:
        oid, origin = todo.pop()
        try:
            kind, content = repository.store.read(oid)
            below = [child for child in named_in(oid, kind, content) if child not in seen]
        except GitMemError:
            yield oid, origin
            continue
        seen.update(below)
        todo += [(child, f"{kind.decode()} {oid[:12]}") for child in dict.fromkeys(below)]
