"""A model that says what a test wants: a small OpenAI-compatible server on loopback."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    """A step in which the model calls one tool."""
    return {"calls": [(name, arguments)]}


def calls(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": list(wanted)}


def say(text: str) -> dict[str, Any]:
    """A step in which the model answers."""
    return {"text": text}


class Model:
    """Answers requests that offer tools with the next step of its script, all others with one sentence."""

    def __init__(self) -> None:
        self.script: deque[dict[str, Any]] = deque()
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        """What each request had for a key."""
        self.rule: Callable[[str], list[dict[str, Any]]] | None = None
        """Instead of the script: the steps of a turn, by what the user says in it."""
        self.hang = threading.Event()
        """While set, an agent that asks gets no answer."""
        self._closed = threading.Event()
        self._count = 0
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                return

            def do_GET(self) -> None:
                self._send({"object": "list", "data": [{"id": "scripted", "context_length": 200000}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.keys.append(self.headers.get("Authorization", ""))
                answer = model.answer(body)
                with contextlib.suppress(ConnectionError):  # who asked was killed
                    if body.get("stream"):
                        self._stream(answer)
                    else:
                        self._send(answer)

            def _send(self, value: dict[str, Any]) -> None:
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self, answer: dict[str, Any]) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for part in _chunks(answer):
                    self.wfile.write(f"data: {json.dumps(part)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(body)
        if not body.get("tools"):
            step = say("A short summary of what was said so far.")
        else:
            while self.hang.is_set() and not self._closed.wait(0.02):
                pass
            step = self._next(body["messages"])
        self._count += 1
        message: dict[str, Any] = {"role": "assistant", "content": step.get("text")}
        if "calls" in step:
            message["tool_calls"] = [
                {
                    "id": f"call_{self._count}_{number}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for number, (name, arguments) in enumerate(step["calls"])
            ]
        return {
            "id": f"chatcmpl-{self._count}",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted",
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if "calls" in step else "stop"}
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }

    def _next(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        if self.rule is None:
            return self.script.popleft() if self.script else say("Done.")
        asked = max(place for place, message in enumerate(messages) if message["role"] == "user")
        said = str(messages[asked]["content"]).partition("\n\n<memory-context>")[0]
        step: dict[str, Any] = self.rule(said)[sum(one["role"] == "assistant" for one in messages[asked:])]
        return step

    def asked(self, text: str) -> bool:
        """Whether an agent has asked about this."""
        return any(text in json.dumps(body) for body in list(self.requests) if body.get("tools"))

    def system_prompts(self) -> list[str]:
        """The system prompt of every request that offered tools, in order."""
        return [
            str(message["content"])
            for body in self.requests
            if body.get("tools")
            for message in body["messages"]
            if message["role"] == "system"
        ]

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()


def _chunks(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    head = {"id": answer["id"], "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    choice = answer["choices"][0]
    message = choice["message"]
    delta: dict[str, Any] = {"role": "assistant", "content": message.get("content") or ""}
    if "tool_calls" in message:
        delta["tool_calls"] = [{**one, "index": number} for number, one in enumerate(message["tool_calls"])]
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**head, "choices": [], "usage": answer["usage"]}
