"""A client of `gitmem mcp` that a test drives: over two pipes in this process, or with a server of its own."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from gitmem.hosts.mcp.connection import Connection
from gitmem.hosts.mcp.server import Server
from gitmem.world import World

Message = dict[str, Any]
PATIENCE = 120
"""Seconds after which a test gives up; nothing depends on how long something takes."""


class Client:
    """What both have in common: requests with ids, and answers found by them."""

    def __init__(self) -> None:
        self.id = 0
        self.heard: list[Message] = []
        """Messages that answered no request of ours."""

    def send(self, data: bytes) -> None:
        raise NotImplementedError

    def receive(self) -> Message:
        raise NotImplementedError

    def post(self, method: str, /, **params: Any) -> int:
        """Ask, and do not wait."""
        self.id += 1
        self.tell({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        return self.id

    def tell(self, message: object) -> None:
        self.send(json.dumps(message).encode() + b"\n")

    def answer(self, ident: object) -> Message:
        """The answer to a request; what else comes before it is kept."""
        while True:
            message = self.receive()
            if "method" not in message and message.get("id") == ident:
                return message
            self.heard.append(message)

    def ask(self, method: str, /, **params: Any) -> Message:
        """The result of a request; an assertion that it has one."""
        found = self.answer(self.post(method, **params))
        assert "result" in found, found
        result = found["result"]
        assert isinstance(result, dict)
        return result

    def error(self, method: str, /, **params: Any) -> tuple[int, str]:
        found = self.answer(self.post(method, **params))["error"]
        return found["code"], found["message"]

    def begin(self, name: str = "codex", version: str = "1.2") -> Message:
        known = {"name": name, "version": version}
        begun = self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=known)
        self.instructions = str(begun["instructions"])
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return begun

    def call(self, tool: str, /, **arguments: Any) -> Message:
        return self.ask("tools/call", name=tool, arguments=arguments)

    def use(self, tool: str, /, **arguments: Any) -> str:
        """What a tool answers; an assertion that it did not fail."""
        found = self.call(tool, **arguments)
        assert "isError" not in found, found
        return text_of(found)

    def fail(self, tool: str, /, **arguments: Any) -> str:
        """The sentence that a tool fails with."""
        found = self.call(tool, **arguments)
        assert found["isError"], found
        return text_of(found)


def text_of(result: Message) -> str:
    assert {"content", "isError"} >= result.keys()
    [content] = result["content"]
    assert {"type", "text"} == content.keys()
    return str(content["text"])


class Inside(Client):
    """A server in this process, on threads."""

    def __init__(self, world: World, bundle: str, **options: Any) -> None:
        super().__init__()
        reading, self._writing = os.pipe()
        self._answers: queue.Queue[bytes] = queue.Queue()
        self.connections: list[Connection] = []

        def connect(name: str, version: str) -> Connection:
            self.connections.append(Connection(world, bundle, name, version))
            return self.connections[-1]

        self.server = Server(reading, self._answers.put, connect, **options)

        def serve() -> None:
            try:
                self.server.serve()
            finally:
                os.close(reading)

        self._thread = threading.Thread(target=serve)
        self._thread.start()
        self._is_open = True

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._writing, view) :]

    def receive(self) -> Message:
        found = json.loads(self._answers.get(timeout=PATIENCE))
        assert isinstance(found, dict)
        return found

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self._writing)
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Process(Client):
    """A server in a process of its own, as a client starts it."""

    def __init__(self, *words: str, env: Mapping[str, str], cwd: str | None = None) -> None:
        super().__init__()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gitmem", *words],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self) -> Message:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), line
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    def close(self) -> int:
        """Close our end; gives the exit code, after an assertion that nothing else was printed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        rest = self.process.stdout.read()
        complaint = self.process.stderr.read().decode()
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        assert (b"", "") == (rest, complaint)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
