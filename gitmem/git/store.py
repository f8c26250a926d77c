"""The object store: read any object, write the new objects of one commit durably."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
import zlib
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.errors import VERIFY, BundleBusy, BundleUnusable, MissingObject
from gitmem.files import remove_file
from gitmem.git.objects import (
    EMPTY_TREE,
    TYPE_NAMES,
    Commit,
    Directory,
    GitObject,
    Oid,
    Tag,
    TreeEntry,
    object_id,
    parse_commit,
    parse_tag,
)
from gitmem.git.pack_reader import PackReader, UnreadablePack

if TYPE_CHECKING:
    from dulwich.object_store import DiskObjectStore

    from gitmem.state import LocalState

_CACHED_TREES = 2048
_CACHED_ENTRIES = 250_000
"""Of all trees together: a directory of thousands of files is there once for each commit that changed it."""
_CACHED_COMMITS = 8192
# Buys "flush of 50 at 10,000 files": it reads the writer's part and log.md, which the last ones wrote.
_COMMITS_REMEMBERED = 4
_SMALL = 64 * 1024
_FEW = 256
_PACKS_TO_JOIN = 16
_LARGEST_TO_JOIN = 32 * 1024 * 1024
_LOOKS = 20


class ObjectStore:
    """Objects of one repository. We read and write packs ourselves; dulwich reads whatever looks odd."""

    def __init__(self, git_dir: str, state: LocalState, *, objects: str = "") -> None:
        self.directory = objects or os.path.join(git_dir, "objects")
        self.pack_directory = os.path.join(self.directory, "pack")
        self._state = state
        self._reader = PackReader(self.pack_directory)
        self._packs: DiskObjectStore | None = None
        self._one_at_a_time = threading.RLock()
        """Dulwich's store is not made for threads: two that open a pack at once leave one of them open."""
        self._trees: OrderedDict[Oid, Directory] = OrderedDict()
        self._entries = 0
        self._commits: dict[Oid, Commit] = {}
        self.lender: ObjectStore | None = None
        """The store that a throw-away repository borrows from: asked before dulwich is."""
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
        found = self._read_quickly(oid) or self._read_loose(oid)
        if found is None and oid == EMPTY_TREE:
            return b"tree", b""
        # Another process may have added packs, or joined some under our feet.
        if found is None and self._reader.look_again():
            found = self._read_quickly(oid)
        if found is None and self.lender is not None:
            with contextlib.suppress(MissingObject):
                return self.lender.read(oid)
        return found or self._read_with_dulwich(oid)

    def measure(self, oid: Oid) -> tuple[bytes, int]:
        """Type and size of an object, where possible without building it."""
        try:
            found = self._reader.measure(oid)
        except UnreadablePack:  # reading it tells more
            found = None
        if found is None:
            kind, content = self.read(oid)
            found = kind, len(content)
        return found

    def _read_quickly(self, oid: Oid) -> tuple[bytes, bytes] | None:
        try:
            found = self._reader.read(oid)
            return None if found is None else _checked(oid, *found)
        except (UnreadablePack, BundleUnusable):  # dulwich has the last word
            return None

    def _read_with_dulwich(self, oid: Oid) -> tuple[bytes, bytes]:
        """Read what only dulwich may find, in alternates say, or be sure that it is not there."""
        with self._one_at_a_time:
            with contextlib.suppress(KeyError, BundleUnusable):
                return self._read_packed(oid)
            self.close()  # look once more with fresh eyes: packs may have been joined
            try:
                return self._read_packed(oid)
            except KeyError:
                raise MissingObject(oid) from None

    def _read_packed(self, oid: Oid) -> tuple[bytes, bytes]:
        try:
            number, content = self._dulwich().get_raw(oid.encode())  # type: ignore[arg-type]
        except KeyError:
            raise
        except Exception as error:
            raise BundleUnusable(f"Object {oid} cannot be read ({error}).", hint=VERIFY) from error
        return _checked(oid, TYPE_NAMES.get(number, b""), content)

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
        else:
            with contextlib.suppress(KeyError):  # another thread dropped it just now
                self._trees.move_to_end(oid)
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
        while len(self._trees) > _CACHED_TREES or (self._entries > _CACHED_ENTRIES and len(self._trees) > 1):
            _, dropped = self._trees.popitem(last=False)
            self._entries -= len(dropped.entries)

    def commit(self, oid: Oid) -> Commit:
        known = self._commits.get(oid)
        if known is None:
            if len(self._commits) >= _CACHED_COMMITS:
                self._commits = {}
            known = self._commits[oid] = parse_commit(oid, self._typed(oid, b"commit"))
        return known

    def remember_commit(self, commit: Commit, objects: Sequence[GitObject] = ()) -> None:
        """The commit just made is the one asked for next, and its small files are read again by the next."""
        self._commits[commit.oid] = commit
        small = [each for each in objects if each.type == b"blob" and len(each.content) <= _SMALL]
        self._written.appendleft({each.oid: each.content for each in small[:_FEW]})

    def remember_commits_of(self, other: ObjectStore) -> None:
        """Take over what another store has read of commits that are ours now too. Buys "fetch + merge + push"."""
        self._commits = {**self._commits, **other._commits}

    def peel(self, oid: Oid) -> tuple[Oid, Tag | None]:
        """The commit that an object stands for, and the tag on the way."""
        tag: Tag | None = None
        for _ in range(10):  # a tag may name a tag; deeper nesting is never meant
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
        with contextlib.suppress(UnreadablePack):
            if oid in self._reader:
                return True
        if os.path.exists(self._loose_path(oid)):
            return True
        with self._one_at_a_time:
            return self._dulwich().contains_packed(oid.encode())  # type: ignore[arg-type]

    def with_prefix(self, prefix: str) -> list[Oid]:
        """Ids that begin with these hexadecimal digits."""
        from dulwich.pack import PackFileDisappeared

        # Packs may have been joined since dulwich listed them, or are joined right now, and it stumbles over that.
        for _ in range(_LOOKS):
            with self._one_at_a_time, contextlib.suppress(PackFileDisappeared):
                self.close()
                return sorted({found.decode() for found in self._dulwich().iter_prefix(prefix.encode())})
        raise BundleBusy("Another process keeps joining packs: try again in a moment.")

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

    def all_ids(self) -> set[Oid]:
        """Every object that is here, whether anything leads to it or not."""
        with self._one_at_a_time:
            return {oid.decode() for oid in self._dulwich()}

    def repack(self) -> None:
        """Put all objects into one pack, and take away the packs and files that held them; under the lock."""
        from gitmem.git.packs import replace_packs

        known = self.all_ids()
        objects = (GitObject(*self.read(oid), oid) for oid in known)
        replace_packs(self.pack_directory, objects, stem=self._stem())
        for oid in known:
            remove_file(self._loose_path(oid))
        self.close()

    def _stem(self) -> str:
        return os.path.join(self._state.scratch, f"{os.getpid()}-{threading.get_ident()}-objects")

    def close(self) -> None:
        self._reader.close()
        with self._one_at_a_time:
            packs, self._packs = self._packs, None
            if packs is not None:
                with contextlib.suppress(BufferError):  # an error still holds on to a pack
                    packs.close()

    def _typed(self, oid: Oid, kind: bytes) -> bytes:
        found, content = self.read(oid)
        if found != kind:
            raise BundleUnusable(f"Object {oid} is a {found.decode()}, not a {kind.decode()}.")
        return content

    def _loose_path(self, oid: Oid) -> str:
        return os.path.join(self.directory, oid[:2], oid[2:])

    def _read_loose(self, oid: Oid) -> tuple[bytes, bytes] | None:
        try:
            with open(self._loose_path(oid), "rb") as file:
                raw = zlib.decompress(file.read())
        except FileNotFoundError:
            return None
        except (zlib.error, OSError) as error:
            raise BundleUnusable(f"Object {oid} cannot be read ({error}).", hint=VERIFY) from error
        header, _, content = raw.partition(b"\0")
        return _checked(oid, header.partition(b" ")[0], content)

    def _dulwich(self) -> DiskObjectStore:
        if self._packs is None:
            from dulwich.object_store import DiskObjectStore

            self._packs = DiskObjectStore(self.directory)
            # Closed before the interpreter takes dulwich's modules apart.
            weakref.finalize(self, self._packs.close)
        return self._packs


def _checked(oid: Oid, kind: bytes, content: bytes) -> tuple[bytes, bytes]:
    """A flipped bit is never taken for memory."""
    if object_id(kind, content) != oid:
        raise BundleUnusable(f"Object {oid} is corrupt: its content does not match its hash.", hint=VERIFY)
    return kind, content
