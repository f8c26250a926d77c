"""Proof that the object store is whole: every object is what its name says, nothing is missing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from gitmem.errors import GitMemError
from gitmem.git.objects import Oid, named_in
from gitmem.git.repository import Repository


def damaged_packs(repository: Repository) -> Iterator[tuple[str, str]]:
    """Packs and indexes of packs that are not what they were, and why: each ends in a checksum of all before it."""
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
