"""Fetch and push by dulwich, in a process of its own: no git program is needed.

`transport.DulwichTransport` writes one request to the input and reads one answer, both JSON; logins are in neither the
arguments nor the environment. A process can be given up whatever its connection does, which no setting of dulwich allows.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from gitmem.git.packs import is_sealed
from gitmem.git.refs import ANCIENT
from gitmem.git.transport import MACHINES, is_travelling

_ZERO = "0" * 40
_LOOKS = 5
_EMPTY_PACK = 32  # a header and a checksum: the server had nothing that we lack


def main() -> None:
    """Answer the request on the input."""
    request: dict[str, Any] = json.load(sys.stdin)
    signal.alarm(int(request["seconds"]) + 5)  # the caller may be dead by then
    try:
        answer = _push(request) if "updates" in request else _fetch(request)
    except Exception as error:  # noqa: BLE001 (dulwich lets through whatever went wrong below it)
        is_full = any(getattr(cause, "errno", None) == errno.EFBIG for cause in _causes(error))
        answer = {"failed": _reason(error), "is_full": is_full}
    json.dump(answer, sys.stdout)


def _client(request: dict[str, Any]) -> tuple[Any, Any]:
    from dulwich.client import get_transport_and_path

    login = {key: request[key] for key in ("username", "password") if request[key]}
    return get_transport_and_path(request["url"], ssh_command=request["ssh"], **login)


def _fetch(request: dict[str, Any]) -> dict[str, Any]:
    """Fetch what is `wanted`: all, `main` (and snapshots), or one branch of a machine; gives the other branches' names."""
    from dulwich.object_store import DiskObjectStore, ObjectStoreGraphWalker

    resource.setrlimit(resource.RLIMIT_FSIZE, (request["largest"],) * 2)
    client, path = _client(request)
    store: Any = DiskObjectStore(request["objects"], fsync_object_files=True)
    wanted: dict[str, bytes] = {}
    branches: list[str] = []

    def wants(refs: Any, depth: int | None = None) -> list[bytes]:  # noqa: ARG001 (dulwich hands it in)
        for ref, oid in refs.items():
            name = ref.decode("utf-8", "replace")
            if not is_travelling(name):
                continue
            if name.startswith(MACHINES):
                branches.append(name)
            if request["wanted"] in ("all", name) or (request["wanted"] == "main" and name not in branches):
                wanted[name] = oid
        return [oid for oid in set(wanted.values()) if oid not in store]

    pack, commit, abort = store.add_pack()
    try:
        haves: Any = [oid.encode() for oid in request["haves"] if oid.encode() in store]
        walker = ObjectStoreGraphWalker(haves, lambda oid: store[oid].parents)
        client.fetch_pack(path, wants, walker, pack.write)
        pack.flush()
        is_new = pack.tell() > _EMPTY_PACK
        if is_new:
            pack.seek(0)
            if not is_sealed(pack):  # dulwich takes each object as it came
                raise ValueError("the pack was damaged on the way")
            pack.seek(0, os.SEEK_END)
    except BaseException:
        abort()
        raise
    if is_new:
        commit()  # a server may leave out objects that we have: it is completed from those
    else:
        abort()
    return {"refs": {ref: oid.decode() for ref, oid in wanted.items()}, "branches": branches}


def _push(request: dict[str, Any]) -> dict[str, Any]:
    from dulwich.pack import PackFileDisappeared

    for look in range(1, _LOOKS):
        try:
            return _push_once(request)
        except PackFileDisappeared:  # another process joined packs while they were read
            continue
        except Exception as error:
            if not any(map(_is_lock, _causes(error))):
                raise
            # In a repository on this machine refs are set by ourselves: another push is about to end.
            time.sleep(0.05 * look)
    return _push_once(request)


def _push_once(request: dict[str, Any]) -> dict[str, Any]:
    from dulwich.object_store import DiskObjectStore

    client, path = _client(request)
    updates: list[tuple[str, str | None, str | None]] = request["updates"]
    store = DiskObjectStore(request["objects"])
    moved: list[str] = []

    def update_refs(refs: Any) -> Any:
        for ref, _, expected in updates:
            present = refs.get(ref.encode())
            if (present.decode() if present else None) != expected:
                moved.append(ref)
        # Each for itself, as git does it: one that was moved keeps no other back.
        wanted = {ref.encode(): (new or _ZERO).encode() for ref, new, _ in updates if ref not in moved}
        return wanted or dict(refs)

    _break_ancient_locks(client, path, [ref for ref, _, _ in updates])
    result = client.send_pack(path, update_refs, store.generate_pack_data)
    failed = {ref: status for ref, status in (getattr(result, "ref_status", None) or {}).items() if status}
    declined = next((str(status) for status in failed.values() if "declined" in str(status)), "")
    return {"moved": moved + [ref.decode() for ref in failed], "declined": declined}


def _break_ancient_locks(client: Any, path: Any, refs: Sequence[str]) -> None:
    """Dulwich writes to a repository on this machine in our own process: a killed push leaves locks of refs and packs."""
    from dulwich.client import LocalGitClient

    if not isinstance(client, LocalGitClient):
        return
    root = os.fsdecode(path)
    git_dir = os.path.join(root, ".git") if os.path.isdir(os.path.join(root, ".git")) else root
    packs = os.path.join(git_dir, "objects", "pack")
    left = [os.path.join(packs, name) for name in os.listdir(packs) if name.endswith(".lock")]
    for lock in (*left, *(os.path.join(git_dir, *ref.split("/")) + ".lock" for ref in refs)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if time.time_ns() - os.stat(lock).st_mtime_ns > ANCIENT:
                os.unlink(lock)


def _reason(error: Exception) -> str:
    for cause in _causes(error):
        if _is_lock(cause):
            return "it is locked: another program is at work there, or died in the last ten minutes"
        for kind, reason in _KNOWN:
            if isinstance(cause, kind):
                return reason
    return " ".join(str(error).split()) or type(error).__name__


_KNOWN: tuple[tuple[type[BaseException], str], ...] = (
    (socket.gaierror, "there is no host of that name"),
    (ConnectionRefusedError, "no server listens there"),
    (ConnectionError, "the connection broke"),
)


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


if __name__ == "__main__":
    main()
