"""dulwich as a transport: no git program is needed."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitmem.errors import RemoteError
from gitmem.git.deadline import in_time
from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH
from gitmem.git.transport import (
    INCOMING,
    MAX_FETCH,
    Fetched,
    ThrowAway,
    Update,
    check_url,
    is_travelling,
    shown_url,
    too_much,
    without_credentials,
)

_ZERO = b"0" * 40
_EMPTY_PACK = 32  # a header and a checksum: the server had nothing that we lack


class DulwichTransport:
    """Speaks the git protocol itself, over ssh, http and local paths."""

    name = "dulwich"

    def __init__(self, environment: Mapping[str, str], *, timeout: float, max_fetch: int = MAX_FETCH) -> None:
        self._environment = environment
        self._timeout = timeout
        self._max_fetch = max_fetch

    def fetch(self, room: ThrowAway, url: str) -> Fetched:
        from dulwich.object_store import DiskObjectStore

        client, path = self._client(url)
        store: Any = DiskObjectStore(room.objects, fsync_object_files=True)
        haves = self._haves(room)
        wanted: dict[bytes, bytes] = {}

        def wants(refs: Any, depth: int | None = None) -> list[bytes]:  # noqa: ARG001 (dulwich hands it in)
            wanted.update(
                {ref: oid for ref, oid in refs.items() if is_travelling(ref.decode("utf-8", "replace"))}
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
        return Fetched(
            found.get(BRANCH),
            {ref.removeprefix("refs/tags/snapshot/"): oid for ref, oid in found.items() if ref != BRANCH},
        )

    def _haves(self, room: ThrowAway) -> list[bytes]:
        directory = os.path.join(room.git_dir, "refs", "have")
        found = []
        for name in sorted(os.listdir(directory)):
            with open(os.path.join(directory, name), "rb") as file:
                found.append(file.read().strip())
        return found

    def _note(self, room: ThrowAway, found: dict[str, Oid]) -> None:
        for ref, oid in found.items():
            name = INCOMING + ("main" if ref == BRANCH else ref.removeprefix("refs/tags/"))
            target = os.path.join(room.git_dir, *name.split("/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="ascii") as file:
                file.write(oid + "\n")

    def push(self, git_dir: str, url: str, updates: Sequence[Update]) -> list[str]:
        from dulwich.object_store import DiskObjectStore

        client, path = self._client(url)
        store = DiskObjectStore(os.path.join(git_dir, "objects"))
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
            result = in_time(
                client,
                self._timeout,
                lambda: client.send_pack(path, update_refs, store.generate_pack_data),
            )
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

    def _client(self, url: str) -> tuple[Any, Any]:
        from dulwich.client import HttpGitClient, get_transport_and_path

        check_url(url)
        ssh = self._environment.get("GIT_SSH_COMMAND") or _SSH
        client, path = get_transport_and_path(url, ssh_command=ssh)
        if isinstance(client, HttpGitClient) and "@" not in url.partition("://")[2].partition("/")[0]:
            login = _credentials(url, self._environment)
            if login:
                client, path = get_transport_and_path(url, username=login[0], password=login[1])
        return client, path

    def _error(self, url: str, error: BaseException) -> RemoteError:
        for cause in _causes(error):
            if isinstance(cause, TimeoutError) or "timed out" in str(cause):
                return RemoteError(
                    f"{shown_url(url)} did not answer in {self._timeout:g} seconds: try again later."
                )
            for kind, told in _KNOWN:
                if isinstance(cause, kind):
                    return RemoteError(f"{shown_url(url)} cannot be used: {told}.")
        line = " ".join(str(error).split()) or type(error).__name__
        told = _printable(without_credentials(line, url))
        return RemoteError(f"{shown_url(url)} cannot be used: {told}")


_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
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


def _printable(text: str) -> str:
    return "".join(char for char in text if char.isprintable())[:300]


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
    """What git's credential helpers know of a host, where git is installed."""
    if not shutil.which("git"):
        return None
    parts = urllib.parse.urlsplit(url)
    asked = f"protocol={parts.scheme}\nhost={parts.netloc}\npath={parts.path.lstrip('/')}\n\n"
    try:
        done = subprocess.run(
            ["git", "credential", "fill"],
            input=asked,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env={**environment, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return (told["username"], told["password"]) if told.get("username") and told.get("password") else None
