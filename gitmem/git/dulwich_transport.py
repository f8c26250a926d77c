"""dulwich as a transport: no git program is needed."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitmem.errors import RemoteError
from gitmem.files import write_new
from gitmem.git import git_command
from gitmem.git.deadline import in_time
from gitmem.git.objects import Oid
from gitmem.git.refs import Refs
from gitmem.git.transport import (
    INCOMING,
    MACHINES,
    Fetched,
    ThrowAway,
    Transport,
    Update,
    check_place,
    is_travelling,
    shown_url,
    too_much,
    without_credentials,
)
from gitmem.permissions import make_directories

_ZERO = b"0" * 40
_LOOKS = 5
_EMPTY_PACK = 32  # a header and a checksum: the server had nothing that we lack


class DulwichTransport(Transport):
    """Speaks the git protocol itself, over ssh, http and local paths."""

    name = "dulwich"

    def fetch(self, room: ThrowAway, url: str, *, branches: bool = False) -> Fetched:
        from dulwich.object_store import DiskObjectStore

        client, path = self._client(url, room)
        store: Any = DiskObjectStore(room.objects, fsync_object_files=True)
        haves = self._haves(room)
        wanted: dict[bytes, bytes] = {}

        def wants(refs: Any, depth: int | None = None) -> list[bytes]:  # noqa: ARG001 (dulwich hands it in)
            names = {ref: ref.decode("utf-8", "replace") for ref in refs}
            wanted.update(
                {
                    ref: refs[ref]
                    for ref, name in names.items()
                    if is_travelling(name) and (branches or not name.startswith(MACHINES))
                }
            )
            return [oid for oid in set(wanted.values()) if oid not in store]

        try:
            write, commit, abort = store.add_pack()
            written = 0

            def take(data: bytes) -> int:
                nonlocal written
                written += len(data)
                if written > self._max_fetch:
                    raise too_much(url, self._max_fetch)
                return int(write.write(data))

            try:
                walker = _Walker(store, haves)
                in_time(client, self._timeout, lambda: client.fetch_pack(path, wants, walker, take))
            except BaseException:
                abort()
                raise
            if written > _EMPTY_PACK:
                _check_trailer(write)
                commit()  # a server may leave out objects that we have: it is completed from those
            else:
                abort()
        except RemoteError:
            raise
        except Exception as error:
            raise self._error(url, error) from error
        finally:
            store.close()
        found = {ref.decode(): oid.decode() for ref, oid in wanted.items()}
        self._note(room, found)
        return Fetched.of(found)

    def _haves(self, room: ThrowAway) -> list[bytes]:
        return [oid.encode() for oid in Refs(room.git_dir).under("refs/have/").values()]

    def _note(self, room: ThrowAway, found: dict[str, Oid]) -> None:
        for ref, oid in found.items():
            name = INCOMING + ref.removeprefix("refs/")
            target = os.path.join(room.git_dir, *name.split("/"))
            make_directories(os.path.dirname(target))
            write_new(target, f"{oid}\n".encode())

    def push(self, room: ThrowAway, url: str, updates: Sequence[Update]) -> list[str]:
        from dulwich.pack import PackFileDisappeared

        for look in range(1, _LOOKS + 1):
            try:
                return self._push(room, url, updates)
            except PackFileDisappeared:  # somebody joined packs while they were read
                continue
            except RemoteError as error:
                if look == _LOOKS or not any(map(_is_lock, _causes(error))):
                    raise
                # In a repository on this machine refs are set by ourselves: another push is about to end.
                time.sleep(0.05 * look)
        raise RemoteError("The packs of this memory keep changing: try again in a moment.")

    def _push(self, room: ThrowAway, url: str, updates: Sequence[Update]) -> list[str]:
        from dulwich.object_store import DiskObjectStore
        from dulwich.pack import PackFileDisappeared

        client, path = self._client(url, room)
        store = DiskObjectStore(room.objects)
        moved: list[str] = []

        def update_refs(refs: Any) -> Any:
            for update in updates:
                present = refs.get(update.ref.encode())
                if (present.decode() if present else None) != update.expected:
                    moved.append(update.ref)
            if moved:
                return dict(refs)
            return {update.ref.encode(): (update.new or _ZERO.decode()).encode() for update in updates}

        try:
            _break_ancient_locks(client, path, [update.ref for update in updates])
            result = in_time(
                client, self._timeout, lambda: client.send_pack(path, update_refs, store.generate_pack_data)
            )
        except PackFileDisappeared:
            raise
        except Exception as error:
            raise self._error(url, error) from error
        finally:
            store.close()
        failed = {
            ref: status for ref, status in (getattr(result, "ref_status", None) or {}).items() if status
        }
        for status in failed.values():
            if "declined" in str(status):
                raise RemoteError(f"{shown_url(url)} refused the push: {_printable(str(status))}")
        return moved or [ref.decode() for ref in failed]

    def _client(self, url: str, room: ThrowAway) -> tuple[Any, Any]:
        from dulwich.client import HttpGitClient, get_transport_and_path

        check_place(url, room.lender)
        ssh = self._environment.get("GIT_SSH_COMMAND") or git_command.SSH
        client, path = get_transport_and_path(url, ssh_command=ssh)
        if isinstance(client, HttpGitClient) and "@" not in url.partition("://")[2].partition("/")[0]:
            login = _credentials(url, self._environment)
            if login:
                client, path = get_transport_and_path(url, username=login[0], password=login[1])
        return client, path

    def _error(self, url: str, error: BaseException) -> RemoteError:
        for cause in _causes(error):
            if isinstance(cause, TimeoutError) or "timed out" in str(cause):
                return self._late(url)
            if _is_lock(cause):
                return RemoteError(
                    f"{shown_url(url)} is locked: another program is at work there, or died in the last ten minutes."
                )
            for kind, told in _KNOWN:
                if isinstance(cause, kind):
                    return RemoteError(f"{shown_url(url)} cannot be used: {told}.")
        line = " ".join(str(error).split()) or type(error).__name__
        told = _printable(without_credentials(line, url))
        return RemoteError(f"{shown_url(url)} cannot be used: {told}")


_KNOWN: tuple[tuple[type[BaseException], str], ...] = (
    (socket.gaierror, "there is no host of that name"),
    (ConnectionRefusedError, "nobody listens there"),
    (ConnectionError, "the connection broke"),
)


def _check_trailer(pack: Any) -> None:
    """Refuse a pack whose checksum does not fit: dulwich takes each object as it came."""
    pack.flush()
    left = pack.tell() - 20
    pack.seek(0)
    digest = hashlib.sha1(usedforsecurity=False)
    while left > 0 and (piece := pack.read(min(left, 1 << 20))):
        digest.update(piece)
        left -= len(piece)
    if pack.read() != digest.digest():
        raise ValueError("the pack was damaged on the way")


def _break_ancient_locks(client: Any, path: Any, refs: Sequence[str]) -> None:
    """Dulwich writes to a repository on this machine in our own process: a killed push leaves locks of refs and packs."""
    from dulwich.client import LocalGitClient

    if not isinstance(client, LocalGitClient):
        return
    from tempfile import TemporaryFile

    from gitmem.git.git_locks import break_ancient

    root = os.fsdecode(path)
    git_dir = os.path.join(root, ".git") if os.path.isdir(os.path.join(root, ".git")) else root
    with TemporaryFile(dir=git_dir) as probe:  # the time as that file system has it
        now = os.fstat(probe.fileno()).st_mtime_ns
    packs = os.path.join(git_dir, "objects", "pack")
    left = [os.path.join(packs, name) for name in os.listdir(packs) if name.endswith(".lock")]
    for lock in (*left, *(os.path.join(git_dir, *ref.split("/")) + ".lock" for ref in refs)):
        break_ancient(lock, now)


def _printable(text: str) -> str:
    return "".join(char for char in text if char.isprintable())[:300]


def _is_lock(error: BaseException) -> bool:
    """Tell whether dulwich found the lock of another program."""
    return type(error).__name__ == "FileLocked"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it came from; urllib3 keeps that in `reason` and in the arguments."""
    todo: list[object] = [error]
    seen: set[int] = set()
    while todo:
        one = todo.pop()
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            todo += [one.__context__, one.__cause__, getattr(one, "reason", None), *one.args]


class _Walker:
    """Tells the server what we have: the tips, and what they stand on, newest first."""

    def __init__(self, store: Any, heads: Sequence[bytes]) -> None:
        from dulwich.object_store import ObjectStoreGraphWalker

        def parents(oid: bytes) -> Any:
            return store[oid].parents

        known: Any = [head for head in heads if head in store]
        self._inner = ObjectStoreGraphWalker(known, parents)
        self.shallow: set[bytes] = set()
        self.unshallow: set[bytes] = set()

    def __next__(self) -> Any:
        return next(self._inner)

    next = __next__

    def ack(self, oid: Any) -> None:
        self._inner.ack(oid)

    def nak(self) -> None:
        self._inner.nak()


def _credentials(url: str, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return what git's credential helpers know of a host, where git is installed."""
    if not shutil.which("git"):
        return None
    parts = urllib.parse.urlsplit(url)
    asked = f"protocol={parts.scheme}\nhost={parts.netloc}\npath={parts.path.lstrip('/')}\n\n"
    try:
        done = subprocess.run(
            git_command.command("credential", "fill"),
            input=asked,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env={**git_command.environment(environment), "GIT_ASKPASS": "true"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return (told["username"], told["password"]) if told.get("username") and told.get("password") else None
