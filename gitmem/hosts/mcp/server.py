"""The server: reads requests, answers what it can at once, and hands the rest to one worker.

Nothing but the standard library's `json` and our own tables is imported until the memory is opened: a client waits for
this start. Standard output carries the protocol and nothing else.
"""

from __future__ import annotations

import os
import sys

from gitmem.hosts.mcp import wire
from gitmem.hosts.mcp.catalogue import INSTRUCTIONS, PROMPTS, VERSIONS
from gitmem.hosts.tools.table import Tool, offered
from gitmem.version import __version__

TYPE_CHECKING = False  # as type checkers know it; `typing` itself would be a good part of what a start costs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gitmem.hosts.mcp.connection import Connection
    from gitmem.memory.worker import Worker

_SETTLE = 1.0
"""Seconds of silence before what was kept is committed."""
_LAST_COMMIT = 60.0
_BLOCK_WAIT = 2.0
"""Seconds that the answer to `initialize` waits for the facts of the memory."""
_CLOSED = 143
_OF_PROMPTS = ("prompts/list", "prompts/get")
_METHODS = ("tools/list", "tools/call", *_OF_PROMPTS)


class Server:
    """One client on two descriptors."""

    def __init__(
        self,
        descriptor: int,
        write: Callable[[bytes], object],
        connect: Callable[[str, str], Connection],
        *,
        allow_undo: bool = False,
        tools_only: bool = False,
        has_memory: bool = True,
    ) -> None:
        self._lines = wire.Lines(descriptor)
        self._write = write
        self._connect = connect
        self._tools = offered("mcp", undo=allow_undo)
        self._tools_only = tools_only
        self._has_memory = has_memory
        self._client: tuple[str, str] | None = None
        self._connection: Connection | None = None
        self._worker: Worker | None = None
        self._running: dict[object, bool] = {}
        """The requests under way, and whether their client still wants an answer."""
        self._is_gone = False
        """The client does not read any more."""
        self.is_serving = False
        """The client may still ask; then what it was promised is committed, and nothing may stop that."""

    def _listed(self) -> list[Tool]:
        """The tools as the settings of the memory allow them."""
        past = self._connection is not None and self._connection.shows_past
        return self._tools if past else [row.without_past() for row in self._tools]

    # The loop

    def serve(self) -> None:
        """Until the client closes its end; then what it was promised is committed."""
        try:
            self.is_serving = True
            while not self._is_gone and (line := self._lines.next()) is not None:
                self._take(line)
            self.is_serving = False
        finally:
            self._finish()

    def _take(self, line: bytes) -> None:
        try:
            if line == wire.TOO_LONG:
                raise wire.WireError(wire.INVALID_REQUEST, "That message is too long: send less.")
            found = wire.parsed(line)
        except wire.WireError as error:
            self.send(wire.error(None, error.code, str(error)))
        else:
            self._handle(found)

    def _handle(self, message: Any) -> None:
        ident = message.get("id") if isinstance(message, dict) else None
        try:
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise wire.WireError(wire.INVALID_REQUEST, "That is not a JSON-RPC 2.0 message.")
            method, params = message.get("method"), message.get("params", {})
            if method is None and ("result" in message or "error" in message):
                return  # an answer: we asked for nothing
            if not isinstance(method, str):
                raise wire.WireError(wire.INVALID_REQUEST, "The message has no method.")
            if not isinstance(params, dict):
                raise wire.WireError(wire.INVALID_PARAMS, "`params` must be an object.")
            if "id" not in message:
                self._notified(method, params)
                return
            if not isinstance(ident, str | int) or isinstance(ident, bool):
                ident = None
                raise wire.WireError(wire.INVALID_REQUEST, "The id of a request must be a text or a number.")
            if _key(ident) in self._running:
                raise wire.WireError(wire.INVALID_REQUEST, "Another request with this id is under way.")
            self._request(ident, method, params)
        except wire.WireError as error:
            self.send(wire.error(ident, error.code, str(error)))

    def send(self, message: Mapping[str, Any]) -> None:
        try:
            self._write(wire.rendered(dict(message)))
        except OSError:
            self._is_gone = True

    # Requests

    def _request(self, ident: str | int, method: str, params: dict[str, Any]) -> None:
        if method == "ping":
            self.send(wire.result(ident, {}))
        elif method == "initialize":
            self.send(wire.result(ident, self._begin(params)))
        elif method not in _METHODS or (self._tools_only and method in _OF_PROMPTS):
            raise wire.WireError(wire.NO_METHOD, f"There is no method {method[:80]!r} here.")
        elif self._client is None:
            raise wire.WireError(wire.INVALID_REQUEST, "The connection has not begun: send initialize first.")
        elif method == "tools/list":
            self.send(wire.result(ident, {"tools": [row.for_mcp() for row in self._listed()]}))
        elif method == "prompts/list":
            self.send(wire.result(ident, {"prompts": list(PROMPTS)}))
        else:
            work = self._call(params) if method == "tools/call" else self._prompt(params)
            self._running[_key(ident)] = True
            self._work().submit(lambda: self._answer(ident, work))

    def _begin(self, params: dict[str, Any]) -> dict[str, Any]:
        wanted, info = params.get("protocolVersion"), params.get("clientInfo")
        known = info if isinstance(info, dict) else {}
        name, version = (str(known.get(key) or "") for key in ("name", "version"))
        if self._client is None:
            self._client = (name, version)
        more: dict[str, Any] = {} if self._tools_only else {"prompts": {}}
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
            "capabilities": {"tools": {}, **more},
            "serverInfo": {"name": "gitmem", "version": __version__},
            "instructions": INSTRUCTIONS + self._block(),
        }

    def _block(self) -> str:
        """The facts of the memory, where there is one and it can be opened in time."""
        if not self._has_memory:
            return ""

        def read() -> str:
            from gitmem.hosts.mcp.reading import block

            return block(self._opened())

        try:
            found: str = self._work().submit(read).result(_BLOCK_WAIT)
        except Exception:  # noqa: BLE001 (a memory in trouble says so when a tool is called)
            return ""
        return f"\n\n{found}" if found else ""

    def _call(self, params: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        name, arguments = _text(params, "name"), params.get("arguments") or {}
        if name not in [row.name for row in self._tools]:
            raise wire.WireError(wire.INVALID_PARAMS, f"There is no tool {name[:80]!r} here.")
        if not isinstance(arguments, dict):
            raise wire.WireError(wire.INVALID_PARAMS, "`arguments` must be an object.")

        def call() -> dict[str, Any]:
            answer = self._opened().call(name, arguments)
            # No structured content beside the text: hosts show the model both.
            content = [{"type": "text", "text": answer.text}]
            return {"content": content, **({"isError": True} if answer.failed else {})}

        return call

    def _prompt(self, params: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        name, arguments = _text(params, "name"), params.get("arguments") or {}
        known = {one["name"]: one for one in PROMPTS}
        if name not in known or not isinstance(arguments, dict):
            raise wire.WireError(wire.INVALID_PARAMS, f"There is no prompt {name[:80]!r} here.")
        for one in known[name].get("arguments", ()):
            _text(arguments, one["name"])

        def get() -> dict[str, Any]:
            from gitmem.hosts.mcp.reading import prompt

            text = prompt(self._opened(), name, arguments)
            message = {"role": "user", "content": {"type": "text", "text": text}}
            return {"description": known[name]["description"], "messages": [message]}

        return get

    # Notifications

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        if method == "notifications/cancelled" and (ident := _key(params.get("requestId"))) in self._running:
            self._running[ident] = False

    # The worker

    def _answer(self, ident: str | int, work: Callable[[], dict[str, Any]]) -> None:
        answer = self._safely(ident, work) if self._running[_key(ident)] else {}
        if self._running.pop(_key(ident)):
            self.send(answer)
        connection = self._connection
        if connection is not None and connection.waits:
            if connection.is_full:
                self._work().soon("settle", connection.settle)
            else:
                self._work().later(_SETTLE, "settle", connection.settle)

    def _safely(self, ident: str | int, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            return wire.result(ident, work())
        except wire.WireError as error:
            return wire.error(ident, error.code, str(error))
        except Exception as error:  # noqa: BLE001 (one call must not end the connection)
            said = self._connection.failure(error) if self._connection is not None else str(error)
            return wire.error(ident, wire.INTERNAL_ERROR, said)

    def _opened(self) -> Connection:
        if self._connection is None:
            self._connection = self._connect(*(self._client or ("", "")))
        return self._connection

    def _work(self) -> Worker:
        if self._worker is None:
            from gitmem.memory.worker import Worker

            # What could not be committed waits in the journal: the next flush, or the next start, has it.
            self._worker = Worker(failed=lambda error: _say(str(error)), idle=lambda: self._opened().rest())
        return self._worker

    def _finish(self) -> None:
        if self._worker is None:
            return
        self._worker.forget_timed()
        try:
            # Behind what was asked for.
            self._worker.submit(lambda: self._opened().close()).result(_LAST_COMMIT)
        except Exception as error:  # noqa: BLE001 (the journal keeps what could not be committed)
            _say(str(error) or "The memory is busy: what this session did waits in the journal.")


def _key(ident: object) -> tuple[str, object]:
    """An id among others: 1 and "1" are two."""
    return type(ident).__name__, ident if isinstance(ident, str | int) else repr(ident)


def _text(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value.strip():
        raise wire.WireError(wire.INVALID_PARAMS, f"`{name}` must be a text.")
    return value


def _say(text: str) -> None:
    sys.stderr.write(f"gitmem: {text}\n")


# --- as a command ----------------------------------------------------------------------------------------


def serve(bundle: str = "", *, allow_undo: bool = False, tools_only: bool = False) -> int:
    """Serve the client that started this process; gives an exit code."""
    write = _take_standard_output()
    import signal

    server = Server(
        0,
        write,
        lambda name, version: _connect(bundle, name, version),
        allow_undo=allow_undo,
        tools_only=tools_only,
        has_memory=not bundle or os.path.isdir(bundle),
    )

    def end(*_: object) -> None:
        if server.is_serving:  # clients ask again while we commit; who cannot wait kills us
            server.is_serving = False
            raise SystemExit(_CLOSED)

    signal.signal(signal.SIGTERM, end)
    try:
        server.serve()
    except KeyboardInterrupt:
        return 130
    return 0


def _connect(bundle: str, name: str, version: str) -> Connection:
    from gitmem.hosts.mcp.connection import Connection
    from gitmem.world import real_world

    return Connection(real_world(), bundle, name, version)


def _take_standard_output() -> Callable[[bytes], object]:
    """Return the only function that writes to standard output; anything else that is printed goes to standard error."""
    from _thread import allocate_lock  # `threading` itself would be a good part of what a start costs

    descriptor = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    lock = allocate_lock()

    def write(data: bytes) -> None:
        with lock:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]

    return write
