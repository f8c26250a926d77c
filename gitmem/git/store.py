"""The object store: read any object, write the new objects of one commit durably."""

from __future__ import annotations

import contextlib
import os
import threading
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.errors import VERIFY, BundleUnusable, MissingObject
from gitmem.git.objects import (
    EMPTY_TREE,
    Commit,
    Directory,
    GitObject,
    Oid,
    Tag,
    TreeEntry,
    object_id,
    parse_commit,
    parse_tag,
    refuse_large,
)
from gitmem.git.pack_reader import Pack

if TYPE_CHECKING:
    from gitmem.state import LocalState

_CACHED_TREES = 2048
_CACHED_ENTRIES = 250_000
"""Of all trees together: a directory of thousands of files is there once for each commit that changed it."""
_CACHED_COMMITS = 16 * 1024 * 1024
_COMMIT = 1024
"""Bytes of all commits together, and of each beside its message, which may be of any length."""
# Buys "flush of 50 at 10,000 files": it reads the writer's part and log.md, which the last ones wrote.
_COMMITS_REMEMBERED = 4
_SMALL = 64 * 1024
_FEW = 256
_PACKS_TO_JOIN = 16
_LARGEST_TO_JOIN = 32 * 1024 * 1024
_LOOKS = 20


class ObjectStore:
    """Objects of one repository, in packs and loose."""

    def __init__(self, git_dir: str, state: LocalState, *, objects: str = "") -> None:
        self.directory = objects or os.path.join(git_dir, "objects")
        self.pack_directory = os.path.join(self.directory, "pack")
        self._state = state
        self._packs: dict[str, Pack] = {}
        self._latest: Pack | None = None
        """Buys "fetch + merge + push": what is read together was mostly written together."""
        self._listed = False
        self._trees: dict[Oid, Directory] = {}
        self._entries = 0
        self._commits: dict[Oid, Commit] = {}
        self._commits_size = 0
        self.lender: ObjectStore | None = None
        """The store that a throw-away repository borrows from."""
        self._written: deque[dict[Oid, bytes]] = deque(maxlen=_COMMITS_REMEMBERED)
        self._unfit_packs: set[str] = set()
        self._staged: dict[Oid, GitObject] = {}

    @contextlib.contextmanager
    def staging(self) -> Iterator[dict[Oid, GitObject]]:
        """Objects that are read as if they were written, to the end of the block: the steps of a merge."""
        outer, self._staged = self._staged, {**self._staged}
        try:
            yield self._staged
        finally:
            self._staged = outer

    def read(self, oid: Oid) -> tuple[bytes, bytes]:
        """Type and content of an object."""
        if staged := self._staged.get(oid):
            return staged.type, staged.content
        if oid == EMPTY_TREE:
            return b"tree", b""
        damage: list[BundleUnusable] = []
        for name in self._searches(oid):
            if found := self._read_packed(name, damage) or self._read_loose(oid, damage):
                return found
        if self.lender is not None:
            return self.lender.read(oid)
        raise damage[0] if damage else MissingObject(oid)

    def _searches(self, oid: Oid) -> Iterator[bytes]:
        """Yield the name of an object as packs have it: once, and again while packs come or go, or are listed anew.

        Nothing for what is not an id, as a damaged object may name anything.
        """
        with contextlib.suppress(ValueError):
            name = bytes.fromhex(oid)
            for _ in range(_LOOKS if len(name) == 20 and len(oid) == 40 else 0):
                searched = self._packs
                yield name
                if not self._list_packs() and self._packs is searched:
                    return

    def measure(self, oid: Oid) -> tuple[bytes, int]:
        """Type and size of an object, where possible without building it."""
        with contextlib.suppress(BundleUnusable):  # reading it tells more
            for name in self._searches(oid):
                if found := self._measure_packed(name):
                    return found
        kind, content = self.read(oid)
        return kind, len(content)

    def _measure_packed(self, name: bytes) -> tuple[bytes, int] | None:
        return next(filter(None, (pack.measure(name) for pack in self._known_packs())), None)

    def _read_packed(self, name: bytes, damage: list[BundleUnusable]) -> tuple[bytes, bytes] | None:
        for pack in self._known_packs():
            try:
                if found := pack.read(name):
                    self._latest = pack
                    return found
            except BundleUnusable as error:  # another copy may be whole
                damage.append(error)
        return None

    def _read_loose(self, oid: Oid, damage: list[BundleUnusable]) -> tuple[bytes, bytes] | None:
        try:
            with open(self._loose_path(oid), "rb") as file:
                header, _, content = zlib.decompress(file.read()).partition(b"\0")
            kind = header.partition(b" ")[0]
            if object_id(kind, content) == oid:
                return kind, content
            reason = "its content does not match its hash"
        except FileNotFoundError:
            return None
        except (zlib.error, OSError) as error:
            reason = str(error)
        damage.append(BundleUnusable(f"Object {oid} cannot be read ({reason}).", hint=VERIFY))
        return None

    def _known_packs(self) -> Iterator[Pack]:
        if not self._listed:
            self._list_packs()
        if self._latest is not None:
            yield self._latest
        yield from self._packs.values()

    def _list_packs(self) -> bool:
        """List the packs; gives whether some came or went since the last time."""
        try:
            names = {name for name in os.listdir(self.pack_directory) if name.endswith(".idx")}
        except FileNotFoundError:
            names = set()
        changed = not self._listed or names != self._packs.keys()
        if changed:
            known = self._packs
            stems = {name: os.path.join(self.pack_directory, name[: -len(".idx")]) for name in names}
            self._packs = {name: known.get(name) or Pack(stem) for name, stem in stems.items()}
            self._latest, self._listed = None, True
        return changed

    def blob(self, oid: Oid) -> bytes:
        for written in tuple(self._written):  # another thread may add to it meanwhile
            if oid in written:
                return written[oid]
        return self._typed(oid, b"blob")

    def tree(self, oid: Oid) -> dict[bytes, TreeEntry]:
        """Entries of a tree by name. The mapping is shared: copy it before changing it."""
        return self.tree_object(oid).entries

    def tree_object(self, oid: Oid) -> Directory:
        """A tree with its bytes."""
        cached = self._trees.get(oid)
        if cached is None:
            cached = Directory.parse(self._typed(oid, b"tree"))
            self.remember_tree(oid, cached)
        return cached

    def raw_tree(self, oid: Oid) -> bytes:
        """The bytes of a tree. They are not kept: a comparison of many trees would keep all of them."""
        known = self._trees.get(oid)
        return self._typed(oid, b"tree") if known is None else known.raw

    def remember_tree(self, oid: Oid, directory: Directory) -> None:
        if oid in self._trees:
            return
        self._trees[oid] = directory
        self._entries += len(directory.entries)
        while len(self._trees) > 1 and (len(self._trees) > _CACHED_TREES or self._entries > _CACHED_ENTRIES):
            oldest = next(iter(self._trees))
            self._entries -= len(self._trees.pop(oldest).entries)

    def commit(self, oid: Oid) -> Commit:
        known = self._commits.get(oid)
        if known is None:
            self._refuse_large(oid)
            known = parse_commit(oid, self._typed(oid, b"commit"))
            self._keep(known)
        return known

    def _keep(self, commit: Commit) -> None:
        size = _COMMIT + len(commit.message)
        self._commits_size += size
        if self._commits_size > _CACHED_COMMITS:
            self._commits, self._commits_size = {}, size
        self._commits[commit.oid] = commit

    def _refuse_large(self, oid: Oid) -> None:
        """Raise RefusedFetch for what arrives and cannot be read at an acceptable cost, before it is read."""
        if self.lender is None:
            return
        for name in islice(self._searches(oid), 1):  # what is not in a pack of these was here before
            if found := self._measure_packed(name):
                refuse_large(oid, *found)

    def remember_commit(self, commit: Commit, objects: Sequence[GitObject] = ()) -> None:
        """The commit just made is the one asked for next, and its small files are read again by the next."""
        self._keep(commit)
        small = [each for each in objects if each.type == b"blob" and len(each.content) <= _SMALL]
        self._written.appendleft({each.oid: each.content for each in small[:_FEW]})

    def remember_commits_of(self, other: ObjectStore) -> None:
        """Take over what another store has read of commits that are ours now too. Buys "fetch + merge + push"."""
        self._commits = {**self._commits, **other._commits}

    def peel(self, oid: Oid) -> tuple[Oid, Tag | None]:
        """The commit that an object stands for, and the tag on the way."""
        tag: Tag | None = None
        for _ in range(10):  # a tag may name a tag; deeper nesting is never meant
            self._refuse_large(oid)
            kind, content = self.read(oid)
            if kind == b"commit":
                return oid, tag
            if kind != b"tag":
                raise BundleUnusable(f"Object {oid} is a {kind.decode()}, not a commit.")
            inner = parse_tag(oid, content)
            tag = tag or inner
            oid = inner.target
        raise BundleUnusable(f"Tag {oid} is nested more than 10 levels deep.")

    def __contains__(self, oid: Oid) -> bool:
        for name in self._searches(oid):
            for pack in self._known_packs():
                with contextlib.suppress(BundleUnusable):  # another one may have it
                    if pack.find(name) is not None:
                        return True
            if os.path.exists(self._loose_path(oid)):
                return True
        return False

    def with_prefix(self, prefix: str = "") -> set[Oid]:
        """Ids that begin with these hexadecimal digits, whether anything leads to them or not."""
        self._list_packs()
        found = {oid for pack in self._packs.values() for oid in pack.ids(prefix)}
        for directory in os.listdir(self.directory):
            if len(directory) == 2 and (directory.startswith(prefix[:2]) or not prefix):
                inside = os.listdir(os.path.join(self.directory, directory))
                found |= {directory + name for name in inside if len(name) == 38}
        return {oid for oid in found if oid.startswith(prefix)}

    def write(self, objects: Sequence[GitObject]) -> None:
        """Write objects so that they survive a power cut, outside a transaction (a tag, say)."""
        from gitmem.git.packs import StagedPack

        StagedPack(self.pack_directory, objects, stem=self._stem()).place()

    def tidy(self) -> int:
        """Join small packs when there are many; cheap enough to follow every commit."""
        from gitmem.git.packs import join_small_packs

        return join_small_packs(
            self.pack_directory,
            stem=self._stem() + "-join",
            at_least=_PACKS_TO_JOIN,
            largest=_LARGEST_TO_JOIN,
            unfit=self._unfit_packs,
        )

    def _stem(self) -> str:
        return os.path.join(self._state.scratch, f"{os.getpid()}-{threading.get_ident()}-objects")

    def close(self) -> None:
        """Let go of all packs; the next read lists them again."""
        self._packs, self._latest, self._listed = {}, None, False

    def _typed(self, oid: Oid, kind: bytes) -> bytes:
        found, content = self.read(oid)
        if found != kind:
            raise BundleUnusable(f"Object {oid} is a {found.decode()}, not a {kind.decode()}.")
        return content

    def _loose_path(self, oid: Oid) -> str:
        return os.path.join(self.directory, oid[:2], oid[2:])
