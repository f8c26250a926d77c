from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from gitmem.errors import EndpointError, GitMemError
from gitmem.memory.endpoint import MAX_RESPONSE, Endpoint, Reply, ToolCall

KEY = "sk-secret-0123456789"
ASK = [{"role": "user", "content": "hello"}]


def completion(content: Any = "hi", tool_calls: Any = None) -> bytes:
    message = {"role": "assistant", "content": content}
    if tool_calls is not None:
        message["tool_calls"] = tool_calls
    return json.dumps(
        {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": message}]}
    ).encode()


Answer = tuple[int, bytes] | tuple[int, bytes, dict[str, str]] | Callable[[BaseHTTPRequestHandler], None]


class Server:
    """A chat completions server on loopback that answers from a list; the last answer repeats."""

    def __init__(self) -> None:
        self.answers: list[Answer] = [(200, completion())]
        self.seen: list[tuple[str, dict[str, str], Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.seen.append((self.path, dict(self.headers), body))
                answer = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                if callable(answer):
                    answer(self)
                    return
                status, content, *more = answer
                self.send_response(status)
                for name, value in (more[0] if more else {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that hung up is what some tests want

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def endpoint(server: Server, clock: Clock, **more: Any) -> Endpoint:
    return Endpoint(server.url, "small", KEY, clock=clock, **{"timeout": 5.0, **more})


def failure(endpoint: Endpoint) -> str:
    with pytest.raises(EndpointError) as caught:
        endpoint.chat(ASK)
    message = str(caught.value)
    assert KEY not in message + repr(caught.value) + caught.value.hint
    assert message.endswith(".")
    assert "\n" not in message
    return message


class TestAnswers:
    def test_text(self, server: Server, clock: Clock) -> None:
        """The model, the messages and the key reach the server, and its text comes back."""
        assert endpoint(server, clock).chat(ASK) == Reply("hi")
        ((path, headers, body),) = server.seen
        assert path == "/v1/chat/completions"
        assert headers["Authorization"] == f"Bearer {KEY}"
        assert body == {"model": "small", "messages": ASK, "stream": False}

    def test_tool_calls(self, server: Server, clock: Clock) -> None:
        """Tools are offered as given, and calls come back in order; broken ones are left out."""
        calls = [
            {"id": "1", "type": "function", "function": {"name": "memory", "arguments": '{"a": 1}'}},
            {"id": "2", "type": "function", "function": {"name": "memory", "arguments": {"b": 2}}},
            {"id": "3", "type": "function", "function": {"arguments": "{}"}},
            "nonsense",
        ]
        server.answers = [(200, completion(None, calls))]
        tools = [{"type": "function", "function": {"name": "memory", "parameters": {}}}]
        reply = endpoint(server, clock).chat(ASK, tools, "auto")
        assert reply == Reply("", (ToolCall("memory", '{"a": 1}'), ToolCall("memory", '{"b": 2}')))
        assert (server.seen[0][2]["tools"], server.seen[0][2]["tool_choice"]) == (tools, "auto")

    def test_content_in_parts(self, server: Server, clock: Clock) -> None:
        """A content in parts is joined."""
        server.answers = [
            (
                200,
                completion([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]),
            )
        ]
        assert endpoint(server, clock).chat(ASK).text == "ab"

    def test_without_a_key(self, server: Server) -> None:
        """A local server needs no key, and gets no header for one."""
        Endpoint(server.url + "/", "small").chat(ASK)
        path, headers, _ = server.seen[0]
        assert path == "/v1/chat/completions"
        assert "Authorization" not in headers

    def test_query_stays_behind_the_path(self, server: Server) -> None:
        """An address with a query is called as some hosted endpoints want it."""
        Endpoint(server.url + "?api-version=1", "small").chat(ASK)
        assert server.seen[0][0] == "/v1/chat/completions?api-version=1"

    def test_strange_text_in_the_question(self, server: Server, clock: Clock) -> None:
        """Any text can be sent, also lone surrogates."""
        endpoint(server, clock).chat([{"role": "user", "content": "ä \ud800 \x00"}])
        assert server.seen[0][2]["messages"][0]["content"] == "ä \ud800 \x00"


class TestFailures:
    @pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500, 503])
    def test_is_asked_once(self, server: Server, clock: Clock, status: int) -> None:
        """It is not asked again; the endpoint's words are passed on without the key."""
        said = f"no such\nmodel for {KEY}. " + "x" * 5000
        server.answers = [(status, json.dumps({"error": {"message": said}}).encode())]
        message = failure(endpoint(server, clock))
        assert f"answered {status}: no such model for [key]" in message
        assert len(message) < 300
        assert len(server.seen) == 1

    def test_error_with_status_200(self, server: Server, clock: Clock) -> None:
        """An error that a gateway sends as a success is an error."""
        server.answers = [(200, b'{"error": {"message": "model is away"}}')]
        assert "reported an error: model is away." in failure(endpoint(server, clock))

    @pytest.mark.parametrize(
        "garbage",
        [
            b"",
            b"<html>",
            b"[]",
            b"{}",
            b'{"choices": []}',
            b'{"choices": [{"message": null}]}',
            b"\xff\xfe",
            b"[" * 200_000,
            b"1",
        ],
        ids=lambda garbage: garbage[:12].hex(),
    )
    def test_garbage(self, server: Server, clock: Clock, garbage: bytes) -> None:
        """An answer that is not a chat completion is one clear error."""
        server.answers = [(200, garbage)]
        assert "not a chat completion" in failure(endpoint(server, clock))

    def test_too_large(self, server: Server, clock: Clock) -> None:
        """An answer over the limit is not read to its end."""
        server.answers = [(200, completion("x" * MAX_RESPONSE))]
        assert f"more than {MAX_RESPONSE} bytes" in failure(endpoint(server, clock))

    def test_silence(self, server: Server, clock: Clock) -> None:
        """A server that does not answer costs one timeout, not one per retry."""
        release = threading.Event()

        def silent(handler: BaseHTTPRequestHandler) -> None:
            release.wait(120)

        server.answers = [silent]
        message = failure(endpoint(server, clock, timeout=0.2))
        while not server.seen:  # on a busy machine the server may read the request after we gave up
            time.sleep(0.01)
        release.set()
        assert "did not answer within 0.2 s" in message
        assert len(server.seen) == 1

    @pytest.mark.parametrize("where", ["headers", "body"])
    def test_drip(self, server: Server, clock: Clock, where: str) -> None:
        """A server that sends a byte now and then does not outlast the timeout."""
        release = threading.Event()

        def drip(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if where == "body" else b""))
            while not release.wait(0.05):
                handler.wfile.write(b"X")

        server.answers = [drip]
        message = failure(endpoint(server, clock, timeout=0.4))
        release.set()
        assert "did not answer within 0.4 s" in message

    def test_broken_off(self, server: Server, clock: Clock) -> None:
        """An answer that stops in the middle is an error, and the next question is asked afresh."""

        def half(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"choices": ')

        server.answers = [half, lambda handler: handler.connection.close(), (200, completion("whole"))]
        client = endpoint(server, clock)
        assert "broke off" in failure(client)
        assert "cannot be reached" in failure(client)
        assert client.chat(ASK).text == "whole"

    def test_nobody_there(self, clock: Clock) -> None:
        """A refused connection is reported."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            message = failure(Endpoint(url, "small", KEY, clock=clock))
        assert "cannot be reached" in message

    def test_redirect_is_not_followed(self, server: Server, clock: Clock) -> None:
        """The key and the conversation do not go where a redirect points."""
        other = Server()
        try:
            for status in (301, 302, 307, 308):
                server.answers = [(status, b"", {"Location": other.url + "/chat/completions"})]
                assert "base_url" in failure(endpoint(server, clock))
            assert other.seen == []
        finally:
            other.close()

    def test_question_that_is_no_json(self, server: Server, clock: Clock) -> None:
        """A question that cannot be written is an error, and no request."""
        with pytest.raises(EndpointError):
            endpoint(server, clock).chat([{"role": "user", "content": object()}])
        assert server.seen == []


class TestConstruction:
    @pytest.mark.parametrize(
        "url",
        [
            "",
            "localhost:1",
            "file:///etc/passwd",
            "ftp://x",
            "http://",
            "http://a b/",
            "http://a\r\nX: y/",
            "http://x:99999",
            "http://[::1",
        ],
    )
    def test_address(self, url: str) -> None:
        """Only http and https addresses are taken."""
        with pytest.raises(EndpointError, match="http or https"):
            Endpoint(url, "small")

    def test_password_in_the_address(self) -> None:
        """A password in the address is refused, and not repeated."""
        with pytest.raises(EndpointError) as caught:
            Endpoint("http://me:hunter2@localhost/v1", "small")
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize("key", [f"{KEY}\r\nX-Evil: 1", f"{KEY} x", f"{KEY}ä"])
    def test_key_that_is_none(self, key: str) -> None:
        """A key that would break the request is refused, and not repeated."""
        with pytest.raises(EndpointError) as caught:
            Endpoint("http://localhost", "small", key)
        assert KEY not in str(caught.value)

    def test_repr(self) -> None:
        """A printed endpoint shows neither key nor query."""
        shown = repr(Endpoint("https://api.example/v1?key=abc", "small", KEY))
        assert "api.example" in shown
        assert KEY not in shown
        assert "abc" not in shown

    def test_error_is_ours(self) -> None:
        """Callers can catch it as every other error of gitmem."""
        assert issubclass(EndpointError, GitMemError)

    def test_import_is_light(self) -> None:
        """Importing the client brings neither ssl nor http with it."""
        code = "import sys, gitmem.memory.endpoint; print({'ssl', 'http.client'} & set(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "set()\n"


class TestPauses:
    def test_left_alone_after_three_failures(self, server: Server, clock: Clock) -> None:
        """After three failures in a row it is left alone for a minute, and after each further one."""
        server.answers = [(500, b"")]
        client = endpoint(server, clock)
        for _ in range(3):
            assert "answered 500" in failure(client)
        assert "asked again in 60 s" in failure(client)
        clock.now += 61
        assert "answered 500" in failure(client)
        assert "asked again in 60 s" in failure(client)
        assert len(server.seen) == 4

    def test_an_answer_starts_the_count_again(self, server: Server, clock: Clock) -> None:
        """Only failures in a row count."""
        server.answers = [(500, b""), (500, b""), (200, completion())] * 2
        client = endpoint(server, clock)
        for _ in range(2):
            failure(client)
            failure(client)
            assert client.chat(ASK).text == "hi"

    def test_threads_share_the_pause(self, server: Server, clock: Clock) -> None:
        """Threads that fail together let all of them pause."""
        server.answers = [(500, b"")]
        client = endpoint(server, clock)
        threads = [threading.Thread(target=failure, args=(client,)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        asked = len(server.seen)
        assert asked >= 3
        failure(client)
        assert len(server.seen) == asked
