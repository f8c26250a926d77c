"""Refs: read them cheaply, move them only under git's own lock file and by compare-and-swap."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.errors import BundleUnusable, InvalidContent
from gitmem.files import durable_directory, remove_file, write_all
from gitmem.git.objects import Oid, Person
from gitmem.state import PENDING_REF, LocalState

if TYPE_CHECKING:
    from gitmem.git.lock_files import PreparedLock

BRANCH = "refs/heads/main"
QUARANTINE = "refs/gitmem/quarantine"
SNAPSHOTS = "refs/tags/snapshot/"

_OID = re.compile(rb"[0-9a-f]{40}")
_ZERO = "0" * 40
_LOCK_WAIT = 2.0


class Refs:
    """Refs of one repository, as files and in `packed-refs`."""

    def __init__(self, git_dir: str) -> None:
        self._git_dir = git_dir
        self._noted: dict[str, int] = {}

    def path(self, name: str) -> str:
        return os.path.join(self._git_dir, *name.split("/"))

    def read(self, name: str, *, hops: int = 5) -> Oid | None:
        """The object a ref names, or None where there is no such ref."""
        try:
            with open(self.path(name), "rb") as file:
                value = file.read(4096).strip()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return self._packed().get(name) if self._in_packed(name) else None
        if value.startswith(b"ref: ") and hops:
            return self.read(value[5:].strip().decode("utf-8", "replace"), hops=hops - 1)
        if not _OID.fullmatch(value):
            raise BundleUnusable(f"The ref {name} is damaged; run `gitmem verify`.")
        return value.decode()

    def head(self) -> str:
        """What HEAD names: a ref, or an object id when it is detached."""
        try:
            with open(self.path("HEAD"), "rb") as file:
                value = file.read(4096).strip().decode("utf-8", "replace")
        except FileNotFoundError:
            raise BundleUnusable("This repository has no HEAD; run `gitmem verify`.") from None
        return value.removeprefix("ref: ").strip()

    def under(self, prefix: str) -> dict[str, Oid]:
        """All refs whose name begins with `prefix` (which ends in a slash), by full name."""
        found = {name: oid for name, oid in self._packed().items() if name.startswith(prefix)}
        top = self.path(prefix.rstrip("/"))
        for directory, _, files in os.walk(top):
            for file in files:
                if file.endswith(".lock"):
                    continue
                name = prefix + os.path.relpath(os.path.join(directory, file), top).replace(os.sep, "/")
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
            self._refuse_in_the_way(name)
        with self._locked(name) as lock:
            if self.read(name) != expected:
                return False
            self._publish(lock, new.encode() + b"\n")
        return True

    def delete(self, name: str, *, expected: Oid) -> bool:
        """Delete a ref if it still is what the caller saw. The caller holds the bundle lock."""
        with self._locked(name):
            if self.read(name) != expected:
                return False
            if self._in_packed(name):
                self._drop_packed(name)
            remove_file(self.path(name))
        return True

    @contextlib.contextmanager
    def _locked(self, name: str) -> Iterator[PreparedLock]:
        """Git's own lock on a file, noted before it is taken: should we die, the next writer breaks it."""
        from gitmem.git.lock_files import PreparedLock
        from gitmem.git.pending import Pending, PendingFile

        path, state = self.path(name), LocalState(self._git_dir)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.makedirs(state.scratch, exist_ok=True)
        note = PendingFile(state, PENDING_REF)
        aside = f"{os.getpid()}-{threading.get_ident()}-ref{len(self._noted)}"
        lock = PreparedLock(path, os.path.join(state.scratch, aside))
        outermost = not self._noted
        self._noted[f"{name}.lock"] = lock.inode
        try:
            note.rewrite(Pending(None, _ZERO, (), dict(self._noted)))
            lock.take(time.monotonic() + _LOCK_WAIT)
            yield lock
        finally:
            lock.release()
            if outermost:
                self._noted.clear()
                with contextlib.suppress(OSError):
                    note.settle()
            lock.forget()

    def _publish(self, lock: PreparedLock, data: bytes) -> None:
        from gitmem.files import DiskGroup

        with DiskGroup() as disk:
            lock.write(data, disk)
            disk.flush()
        lock.commit()
        durable_directory(os.path.dirname(lock.target))

    def _refuse_in_the_way(self, name: str) -> None:
        """Git cannot have a ref below another one."""
        parts = name.split("/")
        above = {"/".join(parts[:depth]) for depth in range(3, len(parts))}
        other = next((ref for ref in above if self.read(ref) is not None), "") or next(
            iter(self.under(name + "/")), ""
        )
        if other:
            raise InvalidContent(f"{name} cannot be made beside {other}: choose another name.")
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
        descriptor = _open_append(path)
        try:
            write_all(descriptor, line)
        finally:
            os.close(descriptor)

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

    def _in_packed(self, name: str) -> bool:
        return b" " + name.encode() + b"\n" in self._packed_bytes()

    def _packed_bytes(self) -> bytes:
        try:
            with open(os.path.join(self._git_dir, "packed-refs"), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def _packed(self) -> dict[str, Oid]:
        refs: dict[str, Oid] = {}
        for line in self._packed_bytes().split(b"\n"):
            oid, _, name = line.partition(b" ")
            if _OID.fullmatch(oid):
                refs[name.decode("utf-8", "replace")] = oid.decode()
        return refs

    def _drop_packed(self, name: str) -> None:
        with self._locked("packed-refs") as lock:
            kept: list[bytes] = []
            dropping = False
            for line in self._packed_bytes().splitlines(keepends=True):
                if line.startswith(b"^") and dropping:
                    continue
                dropping = line.rstrip(b"\n").endswith(b" " + name.encode())
                if not dropping:
                    kept.append(line)
            self._publish(lock, b"".join(kept))


_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|\.$|\.lock(/|$)|(^|/)\.")


def check_ref_name(name: str) -> None:
    """Refuse a name that git would not take as a ref."""
    if not name or _BAD_REF.search(name) or name == "@" or len(name.encode("utf-8", "replace")) > 200:
        raise InvalidContent(
            f"{name.rpartition('snapshot/')[2]!r} cannot be a name in git: "
            "use letters, digits, '-', '_' and '.'."
        )


def _open_append(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    try:
        return os.open(path, flags, 0o644)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o644)
