"""Git bundle files: a pack with the refs it holds, in one file that can travel by any means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gitmem.errors import InvalidContent
from gitmem.files import about, replace_file
from gitmem.git.commit_graph import only_in
from gitmem.git.objects import DIRECTORY, Oid, parse_tree
from gitmem.git.packs import pack_bytes
from gitmem.git.repository import Repository
from gitmem.git.transport import ThrowAway

_MAGIC = b"# v2 git bundle\n"


def write_bundle_file(repository: Repository, path: str, refs: Mapping[str, Oid]) -> int:
    """Write everything these refs stand on; gives the number of commits."""
    head = _MAGIC + b"".join(f"{oid} {ref}\n".encode() for ref, oid in sorted(refs.items())) + b"\n"
    commits, objects = _reachable(repository, refs.values())
    data = head + pack_bytes((repository.store.read(oid), oid) for oid in objects)
    with about(path):
        replace_file(path, data, scratch=os.path.dirname(os.path.abspath(path)), durable=True)
    return commits


def _reachable(repository: Repository, tips: Any) -> tuple[int, list[Oid]]:
    found: dict[Oid, None] = {}
    commits: dict[Oid, None] = {}
    for tip in tips:
        commit, tag = repository.store.peel(tip)
        if tag is not None:
            found[tip] = None
        commits.update(dict.fromkeys(only_in(repository, commit, None)))
    for oid in commits:
        found[oid] = None
        todo = [repository.store.commit(oid).tree]
        while todo:
            tree = todo.pop()
            if tree in found:
                continue
            found[tree] = None
            for entry in parse_tree(repository.store.read(tree)[1]).values():
                if entry.mode == DIRECTORY:
                    todo.append(entry.oid)
                else:
                    found[entry.oid] = None
    return len(commits), list(found)


def read_bundle_file(room: ThrowAway, path: str) -> dict[str, Oid]:
    """Put a bundle file's objects into a throw-away repository; gives its refs."""
    from dulwich.object_store import DiskObjectStore

    with open(path, "rb") as file:
        if file.readline() != _MAGIC:
            raise InvalidContent(f"{path} is not a git bundle file that gitmem reads (version 2).")
        refs: dict[str, Oid] = {}
        while (line := file.readline(4096)) not in (b"\n", b""):
            if line.startswith(b"-"):
                continue  # what the reader must have already; a missing one shows in the checks
            oid, _, ref = line.strip().partition(b" ")
            refs[ref.decode("utf-8", "replace")] = oid.decode("ascii", "replace")
        store: Any = DiskObjectStore(room.objects)
        try:
            store.add_thin_pack(file.read, None)
        except Exception as error:
            raise InvalidContent(f"{path} is damaged ({error}).") from error
        finally:
            store.close()
    return refs
