"""The whole of a repository exchanged at once: its objects, refs and reflogs, its work tree, and files beside them.

All that takes the place of something is staged first, in a directory of this process. One rename of that directory decides:
before it nothing has happened, after it everything will, by whoever opens the bundle next if need be. No step after that
needs anything but what is staged, and each may be done twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from tempfile import mkdtemp
from typing import Any

from gitmem.errors import BundleBusy, BundleUnusable, GitMemError
from gitmem.files import (
    DiskGroup,
    durable_directory,
    make_durable,
    read_file,
    remove_file,
    replace_file,
)
from gitmem.git.git_locks import PreparedLock
from gitmem.git.objects import GitObject, Oid, TreeEntry
from gitmem.git.packs import StagedPack, compress
from gitmem.git.refs import BRANCH, check_ref_name
from gitmem.git.repository import Repository
from gitmem.git.tree import Tree
from gitmem.okf.paths import check_path
from gitmem.state import ERASING, INDEX_SEEN, PENDING

_MANIFEST = "manifest"
_REFS = "packed-refs"
_PACK = "objects"
_INDEX, _MAIN = "index", BRANCH


@dataclass(slots=True)
class Replacement:
    """New content of a repository, while it is collected."""

    repository: Repository
    seen: Mapping[str, Oid]
    """The refs that all of it was worked out from."""
    refs: dict[str, Oid] = field(default_factory=dict)
    """The refs that there will be, all of them."""
    files: dict[str, bytes | None] = field(default_factory=dict)
    """Files of the git directory by their path in it; None takes one away."""

    def carry_out(self, oids: Iterable[Oid], made: Mapping[Oid, GitObject]) -> None:
        """Make the repository this one, with these objects alone. The caller holds the bundle lock."""
        repository = self.repository
        old = _old_objects(repository)
        scratch = mkdtemp(prefix="replacement-", dir=repository.scratch)
        try:
            self._stage(scratch, oids, made, old)
            with _git_locks(repository) as locks:
                if repository.refs.under("refs/") != dict(self.seen):
                    raise BundleBusy("Somebody moved a branch or a tag meanwhile: run the command again.")
                os.rename(scratch, repository.state.path(ERASING))
                durable_directory(repository.state.directory)
                repository.on_stage("decided")
                _finish(repository, locks)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _stage(
        self, scratch: str, oids: Iterable[Oid], made: Mapping[Oid, GitObject], old: list[str]
    ) -> None:
        store = self.repository.store
        objects = (made.get(oid) or GitObject(*store.read(oid), oid) for oid in oids)
        pack = StagedPack(
            store.pack_directory, (compress(each) for each in objects), stem=os.path.join(scratch, _PACK)
        )
        name = f"{pack.name}.pack"
        manifest = {
            "pack": pack.name,
            "main": self.refs[BRANCH],
            "refs": sorted({*self.refs, *self.seen}),
            "files": [[str(number), path] for number, path in enumerate(sorted(self.files))],
            "gone": [path for path, data in self.files.items() if data is None],
            "objects": [path for path in old if os.path.basename(path) not in (name, f"{pack.name}.idx")],
            "worktree": self._worktree(made),
        }
        with DiskGroup() as disk:
            pack.write(disk)
            disk.write(os.path.join(scratch, _REFS), _rendered(self.refs))
            for number, path in enumerate(sorted(self.files)):
                if (data := self.files[path]) is not None:
                    disk.write(os.path.join(scratch, str(number)), data, mode=0o600)
            disk.write(os.path.join(scratch, _MANIFEST), json.dumps(manifest).encode())
            disk.flush()
        durable_directory(scratch)

    def _worktree(self, made: Mapping[Oid, GitObject]) -> dict[str, list[str]]:
        """The files of the work tree that differ: what they were, and what they become (nothing: an empty text)."""
        repository = self.repository
        old = dict(repository.tree(self.seen[BRANCH]).files())
        store = _Combined(repository, made)
        new = dict(Tree(store, store.commit_tree(self.refs[BRANCH])).files())  # type: ignore[arg-type]
        return {
            path: [_of(old.get(path)), _of(new.get(path))]
            for path in sorted(old.keys() | new.keys())
            if old.get(path) != new.get(path)
        }


class _Combined:
    """Enough of a store to list a tree some of whose objects are not written yet."""

    def __init__(self, repository: Repository, made: Mapping[Oid, GitObject]) -> None:
        self._repository = repository
        self._made = made

    def tree(self, oid: Oid) -> Mapping[bytes, TreeEntry]:
        from gitmem.git.objects import parse_tree

        made = self._made.get(oid)
        return parse_tree(made.content) if made else self._repository.store.tree(oid)

    def commit_tree(self, oid: Oid) -> Oid:
        from gitmem.git.objects import parse_commit

        made = self._made.get(oid)
        return (parse_commit(oid, made.content) if made else self._repository.store.commit(oid)).tree


def finish(repository: Repository) -> None:
    """Finish an exchange that was decided by somebody who died. The caller holds the bundle lock.

    A manifest that no exchange can have written is not obeyed: the directory may have come from a stranger.
    """
    if _manifest(repository) is None:
        _put_away(repository)
        return
    with _git_locks(repository) as locks:
        _finish(repository, locks)


_PACK_NAME = re.compile("pack-[0-9a-f]{40}")
_OID = re.compile("[0-9a-f]{40}")
_OBJECT = re.compile(r"pack/[\w.-]+|info/[\w.-]+|[0-9a-f]{2}/[\w.-]+")
_WAS = re.compile("(?:100644|100755) [0-9a-f]{40}|")
_NOT_EXCHANGED = ("objects", "refs", "hooks", "packed-refs", "index", "HEAD", "config", "config.worktree")
"""Names of the git directory that an exchange never lists among its files."""


def _manifest(repository: Repository) -> dict[str, Any] | None:
    """The manifest of the exchange under way; None where a name in it is not one that an exchange writes."""
    try:
        found = json.loads(read_file(os.path.join(repository.state.path(ERASING), _MANIFEST)) or b"")
        for name in found["refs"]:
            check_ref_name(name)
        for path, (old, new) in found["worktree"].items():
            check_path(path)
            if not (_WAS.fullmatch(old) and _WAS.fullmatch(new)):
                return None
        is_sound = (
            _PACK_NAME.fullmatch(found["pack"])
            and _OID.fullmatch(found["main"])
            and all(name.startswith("refs/") for name in found["refs"])
            and all(_OBJECT.fullmatch(path) for path in found["objects"])
            and all(number.isdecimal() and _may_exchange(repository, path) for number, path in found["files"])
            and {*found["gone"]} <= {path for _, path in found["files"]}
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, GitMemError):
        return None
    return found if is_sound else None


def _may_exchange(repository: Repository, path: str) -> bool:
    """Return whether a path is one of a file inside the git directory that an exchange may replace or remove."""
    parts = path.split("/")
    if parts[0] in _NOT_EXCHANGED or not {"", ".", ".."}.isdisjoint(parts) or "\0" in path or "\\" in path:
        return False
    above = [os.path.join(repository.git_dir, *parts[:depth]) for depth in range(1, len(parts) + 1)]
    return not any(map(os.path.islink, above))


def _put_away(repository: Repository) -> None:
    """Take the staged directory away at once: all of it goes, or nothing does."""
    done = mkdtemp(prefix="replaced-", dir=repository.scratch)
    os.rename(repository.state.path(ERASING), os.path.join(done, "all"))
    durable_directory(repository.state.directory)
    shutil.rmtree(done, ignore_errors=True)


def refuse_unusual(repository: Repository) -> None:
    """Refuse a repository whose objects are shared with others, or are not all here."""
    for name, what in (
        ("objects/info/alternates", "borrows objects from another repository"),
        ("shallow", "holds only a part of its history"),
        ("worktrees", "has more than one work tree"),
    ):
        path = os.path.join(repository.git_dir, *name.split("/"))
        if os.path.isfile(path) or (os.path.isdir(path) and os.listdir(path)):
            raise BundleUnusable(
                f"This bundle {what} (.git/{name}): its history cannot be exchanged.",
                hint="Make a clone with `gitmem clone`, and run the command there.",
            )


@contextlib.contextmanager
def _git_locks(repository: Repository) -> Iterator[dict[str, PreparedLock]]:
    """Git's own locks: no plain `git commit` comes between."""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(repository.refs.locked(name)) for name in (_INDEX, _REFS, _MAIN)}


def _finish(repository: Repository, locks: Mapping[str, PreparedLock]) -> None:
    staged = repository.state.path(ERASING)
    manifest = _manifest(repository)
    if manifest is None:
        raise BundleUnusable("The exchange of the history cannot be finished. This is a bug in gitmem.")
    _place_pack(repository, staged, manifest["pack"])
    _move_refs(repository, staged, manifest, locks)
    for number, path in manifest["files"]:
        _place_file(repository, os.path.join(staged, number), path, gone=path in manifest["gone"])
    repository.state.remove(PENDING)  # it speaks of commits that are no more
    repository.state.remove(INDEX_SEEN)
    for path, (old, new) in manifest["worktree"].items():
        _bring(repository, path, old, new)
    _write_index(repository, manifest["main"], locks[_INDEX])
    make_durable(repository.root, manifest["worktree"])
    make_durable(repository.git_dir, [_INDEX])
    repository.on_stage("exchanged")
    for path in manifest["objects"]:
        remove_file(os.path.join(repository.store.directory, *path.split("/")))
    repository.store.close()
    _put_away(repository)


def _place_pack(repository: Repository, staged: str, name: str) -> None:
    directory = repository.store.pack_directory
    os.makedirs(directory, exist_ok=True)
    for suffix in (".pack", ".idx"):  # the index last: git takes a pack for complete then
        with contextlib.suppress(FileNotFoundError):
            os.replace(os.path.join(staged, _PACK + suffix), os.path.join(directory, name + suffix))
    durable_directory(directory)
    repository.store.close()


def _move_refs(
    repository: Repository, staged: str, manifest: Mapping[str, Any], locks: Mapping[str, PreparedLock]
) -> None:
    refs = repository.refs
    with open(os.path.join(staged, _REFS), "rb") as file:
        refs.publish(locks[_REFS], file.read())
    # `main` is never without a value for a reader; of the others the packed value counts once the file is gone.
    refs.publish(locks[_MAIN], manifest["main"].encode() + b"\n")
    for name in manifest["refs"]:
        if name != _MAIN and os.path.isfile(refs.path(name)):
            with refs.locked(name):
                remove_file(refs.path(name))
    repository.on_stage("refs")


def _place_file(repository: Repository, staged: str, path: str, *, gone: bool) -> None:
    target = os.path.join(repository.git_dir, *path.split("/"))
    if gone:
        if os.path.isdir(target) and not os.path.islink(target):
            shutil.rmtree(target, ignore_errors=True)
        else:
            remove_file(target)
        return
    try:
        with open(staged, "rb") as file:
            data = file.read()
        mode = os.stat(target).st_mode & 0o777
    except FileNotFoundError:
        if not os.path.exists(staged):
            return
        mode = 0o644
    if os.path.isdir(os.path.dirname(target)):
        replace_file(target, data, scratch=repository.scratch, durable=True, mode=mode)


def _bring(repository: Repository, path: str, old: str, new: str) -> None:
    """Write one file of the work tree, on disk before it gets its name; what a person changed meanwhile stays."""
    worktree = repository.worktree
    if not worktree.is_below_link(path) and worktree.holds(path, _entry(old)):
        worktree.bring(path, _entry(new))


def _write_index(repository: Repository, main: Oid, lock: PreparedLock) -> None:
    import time

    tree = repository.tree(main)
    index = repository.index_file.made(tree, lock.moment)
    begun = time.monotonic()
    lock.put(index.raw, index.mtime)
    lock.linger(begun, len(index.names))


def _old_objects(repository: Repository) -> list[str]:
    """Every file of the object store, by its path there."""
    top = repository.store.directory
    found: list[str] = []
    for directory, _, files in os.walk(top):
        inside = os.path.relpath(directory, top).replace(os.sep, "/")
        if inside != "info" or files:
            found += [name if inside == "." else f"{inside}/{name}" for name in files]
    return sorted(found, key=lambda path: (not path.endswith(".idx"), path))


def _rendered(refs: Mapping[str, Oid]) -> bytes:
    return b"# pack-refs with: sorted \n" + b"".join(
        f"{oid} {name}\n".encode() for name, oid in sorted(refs.items()) if name != _MAIN
    )


def _of(entry: TreeEntry | None) -> str:
    return f"{entry.mode:o} {entry.oid}" if entry else ""


def _entry(text: str) -> TreeEntry | None:
    mode, _, oid = text.partition(" ")
    return TreeEntry(int(mode, 8), oid) if oid else None
