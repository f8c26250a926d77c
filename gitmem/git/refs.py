"""Refs: read them cheaply, move them only under git's own lock file and by compare-and-swap."""

from __future__ import annotations

import contextlib
import os
import re
import time

from gitmem.errors import BundleBusy, BundleUnusable, InvalidContent
from gitmem.git.files import durable_directory, write_all
from gitmem.git.objects import Oid, Person

BRANCH = "refs/heads/main"
QUARANTINE = "refs/gitmem/quarantine"
SNAPSHOTS = "refs/tags/snapshot/"

_OID = re.compile(rb"[0-9a-f]{40}")
_ZERO = "0" * 40


class Refs:
    """Refs of one repository, as files and in `packed-refs`."""

    def __init__(self, git_dir: str) -> None:
        self._git_dir = git_dir

    def path(self, name: str) -> str:
        return os.path.join(self._git_dir, *name.split("/"))

    def read(self, name: str) -> Oid | None:
        """The object a ref names, or None where there is no such ref."""
        try:
            with open(self.path(name), "rb") as file:
                value = file.read(4096).strip()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return self._packed().get(name) if self._in_packed(name) else None
        if value.startswith(b"ref: "):
            return self.read(value[5:].strip().decode("utf-8", "replace"))
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

    def lock(self, name: str, *, wait: float = 2.0) -> LockFile:
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return LockFile(path, wait=wait, what=f"the ref {name}")

    def publish(self, lock: LockFile, name: str, new: Oid) -> None:
        """Move a ref that we hold the lock of; on disk when this returns."""
        lock.commit(new.encode() + b"\n", durable=True)
        durable_directory(os.path.dirname(self.path(name)))

    def set(self, name: str, new: Oid, *, expected: Oid | None) -> bool:
        """Move a ref if it still is what the caller saw; False where someone was faster."""
        check_ref_name(name)
        with self.lock(name) as lock:
            if self.read(name) != expected:
                return False
            self.publish(lock, name, new)
        return True

    def delete(self, name: str, *, expected: Oid) -> bool:
        """Delete a ref if it still is what the caller saw."""
        with self.lock(name):
            if self.read(name) != expected:
                return False
            if self._in_packed(name):
                self._drop_packed(name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path(name))
        return True

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
        with LockFile(os.path.join(self._git_dir, "packed-refs"), wait=2.0, what="packed refs") as lock:
            kept: list[bytes] = []
            dropping = False
            for line in self._packed_bytes().splitlines(keepends=True):
                if line.startswith(b"^") and dropping:
                    continue
                dropping = line.rstrip(b"\n").endswith(b" " + name.encode())
                if not dropping:
                    kept.append(line)
            lock.commit(b"".join(kept), durable=True)


class LockFile:
    """Git's own lock on a file: `<path>.lock`, made exclusively, renamed over the file to publish."""

    def __init__(self, path: str, *, wait: float, what: str) -> None:
        self.path = path
        self.lock_path = path + ".lock"
        self._wait = wait
        self._what = what
        self._descriptor = -1

    def __enter__(self) -> LockFile:
        deadline = time.monotonic() + self._wait
        while True:
            try:
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
                self._descriptor = os.open(self.lock_path, flags, 0o644)
                return self
            except FileExistsError:
                if time.monotonic() >= deadline:
                    raise BundleBusy(
                        f"Another program holds {self._what} ({self.lock_path}): wait for it to end, "
                        "or remove that file if no git command is running."
                    ) from None
                time.sleep(0.01)

    @property
    def inode(self) -> int:
        return os.fstat(self._descriptor).st_ino

    def commit(self, data: bytes, *, durable: bool) -> None:
        """Make `data` the file's content."""
        write_all(self._descriptor, data)
        if durable:
            os.fsync(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1
        os.replace(self.lock_path, self.path)

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.lock_path)


_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|\.$|\.lock(/|$)|(^|/)\.")


def check_ref_name(name: str) -> None:
    """Refuse a name that git would not take as a ref."""
    if not name or _BAD_REF.search(name) or name == "@" or len(name.encode("utf-8", "replace")) > 200:
        raise InvalidContent(
            f"{name.rpartition('snapshot/')[2]!r} can not be a name in git: "
            "use letters, digits, '-', '_' and '.'."
        )


def _open_append(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    try:
        return os.open(path, flags, 0o644)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o644)
