"""A model on loopback that says what a test wants, by the Responses API, which Codex speaks."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Step = Mapping[str, Any]


def call(name: str, **arguments: Any) -> Step:
    """A step in which the model calls a tool of our server."""
    item = {
        "type": "function_call",
        "name": name,
        "namespace": "mcp__gitmem",
        "arguments": json.dumps(arguments),
    }
    return {**item, "call_id": f"call_{name}"}


def say(text: str) -> Step:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "id": "msg_1", "content": content}


class ResponsesModel:
    """Each request gets the next step; `requests` keeps what came."""

    def __init__(self, *script: Step) -> None:
        self.script = deque(script)
        self.requests: list[dict[str, Any]] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                return

            def do_GET(self) -> None:
                self._send("application/json", json.dumps({"object": "list", "data": [{"id": "fake"}]}))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                events = model.answer(body)
                lines = (f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
                self._send("text/event-stream", "".join(lines))

            def _send(self, kind: str, text: str) -> None:
                data = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answer(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        self.requests.append(body)
        step = self.script.popleft() if self.script else say("Done.")
        response = {"id": f"resp_{len(self.requests)}"}
        usage = {"input_tokens": 99, "output_tokens": 1, "total_tokens": 100}
        return [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.done", "item": dict(step)},
            {"type": "response.completed", "response": {**response, "usage": usage}},
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
