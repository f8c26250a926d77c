"""Patience with a server that dulwich talks to: a whole conversation has an end, however slowly it drips.

A timeout on a socket counts from byte to byte, so a server that sends one now and then is never given up. dulwich
has no setting for either; what it opens is watched here, and cut off when the time is over.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from typing import Any, TypeVar

Found = TypeVar("Found")

_AFTERWARDS = 5.0
"""Seconds to let a thread end whose connection was cut."""


def in_time(client: Any, seconds: float, work: Callable[[], Found]) -> Found:
    """Return what `work` gives, which talks through `client`; a TimeoutError when it takes longer.

    Whatever was opened meanwhile is closed at the end: dulwich forgets that where it fails.
    """
    watch = _Watch(client)
    outcome: list[Found] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 (raised again, by the thread that waits)
            failure.append(error)

    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    thread = threading.Thread(target=run, name="gitmem-transport", daemon=True)
    try:
        thread.start()
        thread.join(seconds)
        late = thread.is_alive()
        if late:
            watch.cut()
            thread.join(_AFTERWARDS)
    except BaseException:
        watch.cut()  # interrupted: nobody waits for the thread any more
        raise
    finally:
        socket.setdefaulttimeout(before)
        watch.close()
    if late:
        raise TimeoutError
    if failure:
        raise failure[0]
    return outcome[0]


class _Watch:
    """The connections that a client opens from here on."""

    def __init__(self, client: Any) -> None:
        self._protocols: list[Any] = []
        self._responses: list[Any] = []
        self._sockets: list[socket.socket] = []
        self._is_over = False
        self._pool = getattr(client, "pool_manager", None)
        if self._pool is not None:
            _watch_pool(self._pool, self._connected)
            self._pool.request = _noting(self._pool.request, self._responses.append)
        elif hasattr(client, "_connect"):
            client._connect = _noting(client._connect, lambda made: self._protocols.append(made[0]))

    def _connected(self, made: socket.socket) -> socket.socket:
        if self._is_over:  # urllib3 tries again what was cut
            made.close()
            raise TimeoutError
        self._sockets.append(socket.socket(fileno=os.dup(made.fileno())))
        return made

    def cut(self) -> None:
        """End all of them for both sides, also under a thread that is reading."""
        self._is_over = True
        for protocol in self._protocols:
            process = getattr(getattr(protocol._close, "__self__", None), "proc", None)  # ssh
            if process is not None:
                process.kill()
            stream = getattr(getattr(protocol.read, "__self__", None), "raw", None)
            opened = getattr(stream, "_sock", None)
            if opened is not None:
                self._sockets.append(opened.dup())
        for one in self._sockets:
            with contextlib.suppress(OSError):  # it may be closed already, or broken
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for one in (*self._protocols, *self._responses, *self._sockets):
            with contextlib.suppress(Exception):  # the same
                one.close()
        if self._pool is not None:
            self._pool.clear()


def _watch_pool(pool: Any, note: Callable[[socket.socket], socket.socket]) -> None:
    """Let a pool of urllib3 hand over every connection it makes: a second handle, which TLS does not take away."""
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return note(super()._new_conn())

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return note(super()._new_conn())

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    pool.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}


def _noting(call: Callable[..., Any], note: Callable[[Any], object]) -> Callable[..., Any]:
    def noted(*arguments: Any, **options: Any) -> Any:
        made = call(*arguments, **options)
        note(made)
        return made

    return noted
