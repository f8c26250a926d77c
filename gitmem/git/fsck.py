"""Proof that the object store is whole: every object is what its name says, nothing is missing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gitmem.errors import GitMemError
from gitmem.files import read_file
from gitmem.git.objects import DIRECTORY, Oid, object_id, parse_commit, parse_tag, parse_tree
from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is wrong, and where."""

    where: str
    what: str


def check_objects(repository: Repository, progress: Callable[[int], None] | None = None) -> Iterator[Damage]:
    """Damage in packs, objects and refs; nothing where all is well."""
    yield from _check_packs(repository)
    yield from _check_reachable(repository, progress or _ignore)


def _check_packs(repository: Repository) -> Iterator[Damage]:
    """Packs and their indexes end in a checksum of all that comes before it."""
    directory = repository.store.pack_directory
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        if not name.endswith((".pack", ".idx")):
            continue
        digest = hashlib.sha1(usedforsecurity=False)
        try:
            with open(os.path.join(directory, name), "rb") as file:
                left = os.fstat(file.fileno()).st_size - 20
                while left > 0 and (piece := file.read(min(left, 1 << 20))):
                    digest.update(piece)
                    left -= len(piece)
                if file.read() != digest.digest():
                    yield Damage(f"objects/pack/{name}", "its checksum does not match its content")
        except FileNotFoundError:
            continue  # joined into another pack meanwhile
        except OSError as error:
            yield Damage(f"objects/pack/{name}", f"cannot be read ({error.strerror})")


def _check_reachable(repository: Repository, progress: Callable[[int], None]) -> Iterator[Damage]:
    todo: list[tuple[Oid, str]] = []
    for ref in ("refs/heads/", "refs/tags/", "refs/gitmem/", "refs/remotes/"):
        try:
            todo += [(oid, name) for name, oid in repository.refs.under(ref).items()]
        except GitMemError as error:
            yield Damage(ref, str(error))
    seen = {oid for oid, _ in todo}
    while todo:
        oid, origin = todo.pop()
        progress(len(seen))
        try:
            kind, content = repository.store.read(oid)
            below = list(_named_in(oid, kind, content))
        except GitMemError as error:
            yield Damage(f"object {oid}", f"{error} (needed by {origin})")
            continue
        if object_id(kind, content) != oid:
            yield Damage(f"object {oid}", f"its content is not what its name says (needed by {origin})")
            continue
        for child in below:
            if child not in seen:
                seen.add(child)
                todo.append((child, f"{kind.decode()} {oid[:12]}"))


def _named_in(oid: Oid, kind: bytes, content: bytes) -> Iterator[Oid]:
    if kind == b"commit":
        commit = parse_commit(oid, content)
        yield commit.tree
        yield from commit.parents
    elif kind == b"tag":
        yield parse_tag(oid, content).target
    elif kind == b"tree":
        for entry in parse_tree(content).values():
            if entry.mode == DIRECTORY or entry.mode >> 12 == 0o10:
                yield entry.oid


def _ignore(_: int) -> None:
    return


def check_index(repository: Repository) -> Iterator[Damage]:
    """Damage in git's index, whose last bytes are a checksum of all that comes before them."""
    raw = read_file(repository.index_file.path)
    if raw is None:
        yield Damage("index", "git's index is missing; the next write makes it again")
    elif len(raw) < 32 or raw[:4] != b"DIRC":
        yield Damage("index", "git's index cannot be read; the next write rebuilds it")
    # Twenty zeros stand there when git was told not to compute one (index.skipHash).
    elif raw[-20:] not in (b"\0" * 20, hashlib.sha1(raw[:-20], usedforsecurity=False).digest()):
        yield Damage("index", "the checksum of git's index does not match; the next write makes it again")


def check_head(repository: Repository) -> Iterator[Damage]:
    """Damage in HEAD and the branch that gitmem writes to."""
    try:
        head = repository.refs.head()
        if "/" in head and not head.startswith("refs/"):
            yield Damage("HEAD", "it names no ref and no commit")
        if repository.tip() is None:
            yield Damage(BRANCH, "the branch is gone; its last commit is in `git reflog`")
    except GitMemError as error:
        yield Damage("HEAD", str(error))
