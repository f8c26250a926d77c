"""Refs: read them cheaply, move them only under git's own lock file and by compare-and-swap.

Git's locks are taken so that a crash at any moment leaves none that only a person could clear. Each lock file is first made
under another name in this process's scratch directory, and that name stays while the lock is held. So a lock is ours when
a scratch directory has its other name, and a dead writer's when no process here holds it: taking one needs the bundle lock.
After a power cut the other name may be gone; no lock is older than the boot.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from gitmem.errors import VERIFY, BundleBusy, BundleUnusable, InvalidContent
from gitmem.files import (
    DiskGroup,
    append_to,
    close_later,
    create,
    durable_directory,
    hold_replaced,
    make_directories,
    read_file,
    remove_file,
    write_all,
)
from gitmem.git.objects import Oid, Person
from gitmem.state import LocalState

if TYPE_CHECKING:
    from gitmem.git.git_index import GitIndex

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
        """Return the target of HEAD: a ref, or an object id when it is detached; empty where it is lost or damaged."""
        value = (read_file(self.path("HEAD")) or b"").strip()
        is_whole = value.startswith(b"ref: refs/") or _OID.fullmatch(value)
        return value.decode("utf-8", "replace").removeprefix("ref: ").strip() if is_whole else ""

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
            self._repack(made, {})
        return list(made)

    def delete(self, refs: Mapping[str, Oid]) -> None:
        """Delete those refs that still are what the caller saw, however many, in one step; under the bundle lock."""
        if not self._packed().keys().isdisjoint(refs):
            self._repack({}, refs)
        self._remove_files(refs)

    def pack(self) -> None:
        """Put refs into one file, all but `main`: each file of its own is looked for by every reader."""
        with self._hold():
            known = self.under("refs/").items()
            if loose := {name: oid for name, oid in known if name != BRANCH and self._is_loose(name, oid)}:
                self._repack(loose, {})
                self._remove_files(loose)

    def _repack(self, made: Mapping[str, Oid], gone: Mapping[str, Oid]) -> None:
        """Write the file of packed refs again."""
        with self.locked("packed-refs") as lock:
            kept = {name: oid for name, oid in self._packed().items() if gone.get(name) != oid}
            lines = [f"{oid} {name}\n".encode() for name, oid in sorted({**kept, **made}.items())]
            self.publish(lock, b"".join((_PACKED_HEAD, *lines)))

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
        path, state = self.path(name), LocalState(self._git_dir)
        make_directories(os.path.dirname(path))
        scratch = state.scratch  # made, and with it the directory of the lock
        with self._hold():
            self.break_stale([name])
            self._taken += 1
            lock = PreparedLock(path, os.path.join(scratch, f"{threading.get_ident()}-ref{self._taken}"))
            try:
                lock.take()
                yield lock
            finally:
                lock.release()

    def stale_locks(self, names: Iterable[str] | None = None) -> list[str]:
        """The lock files of dead writers: of ours, or older than the boot or than git holds one.

        The caller holds the bundle lock.
        """
        present = {}
        for name in self.locks() if names is None else names:
            path = self.path(name) + ".lock"
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                present[path] = os.lstat(path)
        if not present:
            return []
        others: set[int] = set()
        for directory in os.scandir(os.path.dirname(LocalState(self._git_dir).scratch)):
            with contextlib.suppress(OSError):
                if directory.is_dir(follow_symlinks=False):
                    others |= {entry.inode() for entry in os.scandir(directory.path)}
        uptime = time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
        begun = time.time_ns() - uptime - _BOOT_SLACK
        index = self.path("index.lock")  # an editor may hold it for long
        oldest = max(begun, time.time_ns() - ANCIENT)
        return [
            path
            for path, found in present.items()
            if _identity(found) not in PreparedLock.held
            and (found.st_ino in others or found.st_mtime_ns < (begun if path == index else oldest))
        ]

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

    def _packed(self) -> dict[str, Oid]:
        refs: dict[str, Oid] = {}
        for line in (read_file(self.path("packed-refs")) or b"").split(b"\n"):
            oid, _, name = line.partition(b" ")
            if _OID.fullmatch(oid):
                refs[name.decode("utf-8", "replace")] = oid.decode()
        return refs


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


# Git's locks

ANCIENT = 10 * 60 * 1_000_000_000
"""Nanoseconds: git holds the lock on a ref for some of a second."""
_BOOT_SLACK = 60 * 1_000_000_000
PATIENCE = 30.0
"""Seconds to wait for another program: plain git under load needs more than a few, and no agent's thread waits here."""
_LINGER = 0.0005
_LINGER_PER_FILE = 0.25e-6


class PreparedLock:
    """A lock file made aside, with the content that its target will have."""

    held: ClassVar[set[tuple[int, int]]] = set()
    """The locks that this process holds now, by device and inode."""

    def __init__(self, target: str, aside: str) -> None:
        self.target = target
        self.lock_path = target + ".lock"
        self._aside = aside
        self._descriptor = _new_file(aside)
        self._held = self._stays = False
        made = os.fstat(self._descriptor)
        self.moment = made.st_mtime_ns
        self._identity = _identity(made)

    def write(self, data: bytes, disk: DiskGroup) -> None:
        """Set the target's next content; it is on disk when `disk` was flushed."""
        write_all(self._descriptor, data)
        disk.add(self._descriptor)

    def put(self, index: GitIndex, *directories: str) -> os.stat_result:
        """Make this index the target's content while the lock stays; gives the stat of the new file.

        It is on disk before it gets its name, and so are the names in `directories`.

        It gets the mtime of the lock's making, or an older one: git distrusts records of files
        that are no older than the index, so it must not look younger than it is, as a file may
        change while we write it.
        """
        begun = time.monotonic()
        new = self._aside + "-new"
        descriptor = _new_file(new)
        try:
            write_all(descriptor, index.raw)
            moment = min(self.moment, (index.mtime + 1) * 1_000_000_000 - 1)
            os.utime(new, ns=(moment, moment))
            with DiskGroup() as disk:
                disk.add(descriptor)
                for directory in directories:
                    disk.add_directory(directory)
                disk.flush()
            stat = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        os.replace(new, self.target)
        # `git commit` reads the index before it takes the lock. Had it read the old one and found the lock free, it would
        # write the old one back and commit that: the change would be gone. It takes this long to read, so a program that
        # read the old one runs into our lock.
        time.sleep(max(0.0, begun + _LINGER + _LINGER_PER_FILE * len(index.names) - time.monotonic()))
        return stat

    def take(self, over: Iterable[str] = ()) -> None:
        """Take the lock, waiting for another program; raises BundleBusy when our patience is over.

        One that is among `over`, those of dead writers, is replaced: it never is free in between.
        """
        until = time.monotonic() + PATIENCE
        while not self._held:
            try:
                if self.lock_path in over:
                    os.link(self._aside, self._aside + "-over")
                    os.replace(self._aside + "-over", self.lock_path)
                else:
                    os.link(self._aside, self.lock_path)
            except FileExistsError:
                if time.monotonic() >= until:
                    raise BundleBusy(
                        f"Another program holds {self.lock_path}: wait for it to end, or remove that file "
                        "if no git command is running."
                    ) from None
                time.sleep(0.01)
            else:
                self._held = True
                PreparedLock.held.add(self._identity)

    def commit(self) -> None:
        """Put the prepared file in the target's place, which also gives the lock back."""
        replaced = hold_replaced(self.target)
        try:
            os.replace(self.lock_path, self.target)
        finally:
            close_later(replaced)
        self._end()

    def leave(self) -> None:
        """Keep the lock file in place: what it protects is not yet right."""
        self._end()
        self._stays = True

    def release(self) -> None:
        """Give the lock back without a change; one that cannot be removed is a dead writer's for the next."""
        if self._stays:
            return
        if self._end():
            remove_file(self.lock_path)
        with contextlib.suppress(OSError):  # the other name: the next writer sweeps it up
            os.unlink(self._aside)

    def _end(self) -> bool:
        """Let it be nobody's here; gives whether this process held it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        PreparedLock.held.discard(self._identity)
        held, self._held, self._descriptor = self._held, False, -1
        return held


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


os.register_at_fork(after_in_child=PreparedLock.held.clear)


def _new_file(path: str) -> int:
    """A new file: one that a dead writer left may be another name of a file in use."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    try:
        return create(path, flags)
    except FileExistsError:
        os.unlink(path)
        return create(path, flags)
