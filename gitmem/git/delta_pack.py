"""A whole object store as one pack with deltas along time, for machines without the git program."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from gitmem.git.commit_graph import walk
from gitmem.git.deltas import replaced_by
from gitmem.git.objects import TYPE_NUMBERS, Oid
from gitmem.git.packs import Packed, delta_entry, entry_header
from gitmem.git.repository import Repository

_DEEPEST = 50


def packed(repository: Repository, tips: Iterable[Oid], everything: Iterable[Oid]) -> Iterator[Packed]:
    """The entry of every object; those that a commit replaced are deltas of what replaced them."""
    store = repository.store
    commits = {commit.oid: commit for tip in tips for commit in walk(repository, tip)}
    bases = replaced_by(
        lambda oid: store.read(oid)[0], lambda oid: store.read(oid)[1], commits.values(), deepest=_DEEPEST
    )
    for oid in everything:
        kind, content = store.read(oid)
        base = bases.get(oid)
        entry = delta_entry(kind, oid, content, base, store.read(base)[1]) if base else None
        if entry is None:
            raw = entry_header(TYPE_NUMBERS[kind], len(content)) + zlib.compress(content)
            entry = Packed(oid, zlib.crc32(raw), raw)
        yield entry
