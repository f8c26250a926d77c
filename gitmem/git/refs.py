"""Refs: read them cheaply, move them only under git's own lock file and by compare-and-swap."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from gitmem.errors import VERIFY, BundleUnusable, InvalidContent
from gitmem.files import append_to, durable_directory, read_file, remove_file
from gitmem.git.objects import Oid, Person
from gitmem.permissions import make_directories
from gitmem.state import LocalState

if TYPE_CHECKING:
    from gitmem.git.git_locks import PreparedLock

BRANCH = "refs/heads/main"
SNAPSHOTS = "refs/tags/snapshot/"
AUTOMATIC = "refs/gitmem/auto/"
"""Automatic snapshots: no tags, since they have no name of their own, and there are many."""
_AUTO = "auto/"

_OID = re.compile(rb"[0-9a-f]{40}")
_ZERO = "0" * 40
_BESIDE = ("index", "HEAD", "packed-refs", "config")


def snapshot_ref(name: str) -> str:
    """The ref of a snapshot of that name."""
    name = name.removeprefix("snapshot/")
    return AUTOMATIC + name.removeprefix(_AUTO) if name.startswith(_AUTO) else SNAPSHOTS + name


def snapshot_name(ref: str) -> str:
    """The name of the snapshot that a ref is."""
    return _AUTO + ref.removeprefix(AUTOMATIC) if ref.startswith(AUTOMATIC) else ref.removeprefix(SNAPSHOTS)


class Refs:
    """Refs of one repository, as files and in `packed-refs`."""

    def __init__(
        self,
        git_dir: str,
        hold: Callable[[], contextlib.AbstractContextManager[object]] = contextlib.nullcontext,
    ) -> None:
        self._git_dir = git_dir
        self._hold = hold
        self._taken = 0

    def path(self, name: str) -> str:
        return os.path.join(self._git_dir, *name.split("/"))

    def read(self, name: str, *, hops: int = 5) -> Oid | None:
        """The object a ref names, or None where there is no such ref."""
        if not _can_be_named(name):
            return None
        try:
            with open(self.path(name), "rb") as file:
                value = file.read(4096).strip()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return self._packed().get(name)
        if value.startswith(b"ref: ") and hops:
            return self.read(value[5:].strip().decode("utf-8", "replace"), hops=hops - 1)
        if not _OID.fullmatch(value):
            raise BundleUnusable(f"The ref {name} is damaged.", hint=VERIFY)
        return value.decode()

    def head(self) -> str:
        """Return the target of HEAD: a ref, or an object id when it is detached."""
        try:
            with open(self.path("HEAD"), "rb") as file:
                value = file.read(4096).strip().decode("utf-8", "replace")
        except FileNotFoundError:
            raise BundleUnusable("This repository has no HEAD.", hint=VERIFY) from None
        return value.removeprefix("ref: ").strip()

    def under(self, prefix: str) -> dict[str, Oid]:
        """All refs whose name begins with `prefix` (which ends in a slash), by full name."""
        found = {name: oid for name, oid in self._packed().items() if name.startswith(prefix)}
        top = self.path(prefix.rstrip("/"))
        for directory, _, files in os.walk(top):
            for file in files:
                if file.endswith(".lock"):
                    continue
                name = prefix + os.path.relpath(os.path.join(directory, file), top)
                oid = self.read(name)
                if oid is not None:
                    found[name] = oid
        return dict(sorted(found.items()))

    def set(self, name: str, new: Oid, *, expected: Oid | None) -> bool:
        """Move a ref if it still is what the caller saw; False where someone was faster.

        It is on disk when this returns. The caller holds the bundle lock.
        """
        check_ref_name(name)
        if expected is None:
            self._refuse_in_the_way({name})
        with self.locked(name) as lock:
            if self.read(name) != expected:
                return False
            self.publish(lock, new.encode() + b"\n")
        return True

    def set_new(self, refs: Mapping[str, Oid]) -> list[str]:
        """Make refs that are not there yet, however many, in one step; gives their names. They are on disk then."""
        self._refuse_in_the_way(refs.keys())
        present = self.under("refs/")
        made = {name: oid for name, oid in refs.items() if name not in present}
        if made:
            self._repack(lambda packed: packed | made)
        return list(made)

    def delete(self, refs: Mapping[str, Oid]) -> None:
        """Delete those refs that still are what the caller saw, however many, in one step; under the bundle lock."""
        if not self._packed().keys().isdisjoint(refs):
            self._repack(lambda packed: {ref: oid for ref, oid in packed.items() if refs.get(ref) != oid})
        self._remove_files(refs)

    def pack(self) -> None:
        """Put refs into one file, all but `main`: each file of its own is looked for by every reader."""
        with self._hold():
            loose = {
                name: oid
                for name, oid in self.under("refs/").items()
                if name != BRANCH and self._is_loose(name, oid)
            }
            if loose:
                self._repack(lambda packed: packed | loose)
                self._remove_files(loose)

    def _remove_files(self, refs: Mapping[str, Oid]) -> None:
        for name, oid in refs.items():
            if self._is_loose(name, oid):
                with self.locked(name):
                    if self._is_loose(name, oid):  # else git has moved it meanwhile
                        remove_file(self.path(name))

    def _is_loose(self, name: str, oid: Oid) -> bool:
        """Return whether a ref has a file of its own with this value."""
        return os.path.isfile(self.path(name)) and read_file(self.path(name)) == f"{oid}\n".encode()

    def logged(self) -> Iterator[tuple[Oid, Oid]]:
        """Every move that a reflog has."""
        top = os.path.join(self._git_dir, "logs")
        for directory, _, files in os.walk(top):
            for file in files:
                name = os.path.relpath(os.path.join(directory, file), top)
                yield from ((old, new) for old, new, _ in self.moves(name))

    def replace(self, name: str, data: bytes) -> None:
        """Write a file of the git directory under git's own lock on it; it is on disk when this returns."""
        with self.locked(name) as lock:
            self.publish(lock, data)

    @contextlib.contextmanager
    def locked(self, name: str) -> Iterator[PreparedLock]:
        """Git's own lock on a file: should we die, the next writer breaks it.

        The bundle lock is held as long: a lock of ours that no process here holds is a dead writer's then.
        """
        from gitmem.git.git_locks import PreparedLock, break_ancient

        path, state = self.path(name), LocalState(self._git_dir)
        make_directories(os.path.dirname(path))
        scratch = state.scratch  # made, and with it the directory of the lock
        with self._hold():
            self.break_stale([name])
            self._taken += 1
            lock = PreparedLock(path, os.path.join(scratch, f"{threading.get_ident()}-ref{self._taken}"))
            try:
                if name != "index":  # whose lock an editor may hold for long
                    break_ancient(lock.lock_path)
                lock.take()
                yield lock
            finally:
                lock.release()
                lock.forget()

    def stale_locks(self, names: Iterable[str] | None = None) -> list[str]:
        """The lock files that dead writers of ours left. The caller holds the bundle lock."""
        from gitmem.git.git_locks import stale_locks

        wanted = self.locks() if names is None else names
        return stale_locks([self.path(name) + ".lock" for name in wanted], LocalState(self._git_dir).scratch)

    def break_stale(self, names: Iterable[str] | None = None) -> None:
        """Give back the locks that dead writers held. The caller holds the bundle lock."""
        for path in self.stale_locks(names):
            remove_file(path)

    def locks(self) -> list[str]:
        """Git's locks that are held, on a ref or on a file beside them, by the name of what they lock."""
        found = [name for name in _BESIDE if os.path.exists(self.path(name) + ".lock")]
        for directory, _, files in os.walk(self.path("refs")):
            inside = os.path.relpath(directory, self._git_dir)
            found += sorted(f"{inside}/{file[:-5]}" for file in files if file.endswith(".lock"))
        return found

    def publish(self, lock: PreparedLock, data: bytes) -> None:
        """Put data in the place of the file that is locked, which gives the lock back; it is on disk then."""
        from gitmem.files import DiskGroup

        with DiskGroup() as disk:
            lock.write(data, disk)
            disk.flush()
        lock.commit()
        durable_directory(os.path.dirname(lock.target))

    def _refuse_in_the_way(self, names: Collection[str]) -> None:
        """Git cannot have a ref below another one."""
        known = {*self.under("refs/"), *names}
        directories = {directory for ref in known for directory in _above(ref)}
        for name in names:
            check_ref_name(name)
            if name in directories or not known.isdisjoint(_above(name)):
                raise InvalidContent(f"{name} cannot be made beside another ref: choose another name.")
            for directory, _, _ in os.walk(self.path(name), topdown=False):
                os.rmdir(directory)  # of refs that are gone

    def log(self, name: str, old: Oid | None, new: Oid, who: Person, message: str) -> None:
        """Append to the reflog, as git does, so that `git reflog` tells the same story."""
        line = b"%s %s %s\t%s\n" % (
            (old or _ZERO).encode(),
            new.encode(),
            who.render(),
            message.partition("\n")[0].encode("utf-8", "replace"),
        )
        path = os.path.join(self._git_dir, "logs", *name.split("/"))
        try:
            append_to(path, line)
        except FileNotFoundError:
            make_directories(os.path.dirname(path))
            append_to(path, line)

    def moves(self, name: str) -> Iterator[tuple[Oid, Oid, str]]:
        """The reflog of a ref, newest first: from where, to where, and why."""
        try:
            with open(os.path.join(self._git_dir, "logs", *name.split("/")), "rb") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return
        for line in reversed(lines):
            head, _, message = line.decode("utf-8", "replace").partition("\t")
            old, _, rest = head.partition(" ")
            if len(old) == 40 and len(rest) >= 40:
                yield old, rest[:40], message

    def last_known(self, name: str) -> Oid | None:
        """Return the last value of a ref in its reflog, which outlives it; None where there is none."""
        return next((new for _, new, _ in self.moves(name)), None)

    def _packed(self) -> dict[str, Oid]:
        refs: dict[str, Oid] = {}
        for line in (read_file(self.path("packed-refs")) or b"").split(b"\n"):
            oid, _, name = line.partition(b" ")
            if _OID.fullmatch(oid):
                refs[name.decode("utf-8", "replace")] = oid.decode()
        return refs

    def _repack(self, change: Callable[[dict[str, Oid]], dict[str, Oid]]) -> None:
        """Write the file of packed refs again."""
        with self.locked("packed-refs") as lock:
            refs = change(self._packed())
            lines = [f"{refs[name]} {name}\n".encode() for name in sorted(refs)]
            self.publish(lock, b"".join((_PACKED_HEAD, *lines)))


_PACKED_HEAD = b"# pack-refs with: sorted \n"
"""Without what git notes of the objects that tags name: it looks for itself then."""


def _above(ref: str) -> list[str]:
    parts = ref.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


_LONGEST = 200
_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|\.$|\.lock(/|$)|(^|/)\.")


def _can_be_named(name: str) -> bool:
    """Return whether a file system and git can have something of that name: no NUL, no half of a character, not too long."""
    try:
        return len(name.encode()) <= _LONGEST and "\0" not in name
    except UnicodeEncodeError:
        return False


def check_ref_name(name: str) -> None:
    """Refuse a name that git would not take as a ref."""
    if not name or _BAD_REF.search(name) or name == "@" or not _can_be_named(name):
        raise InvalidContent(
            f"{name.rpartition('snapshot/')[2]!r} cannot be a name in git: "
            "use letters, digits, '-', '_' and '.'."
        )
