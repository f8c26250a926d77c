"""A small client for any OpenAI-compatible endpoint: `/chat/completions` and `/embeddings`.

It is asked for facts or for a summary, never for anything that gitmem cannot do without: it is asked once, every failure
is an `EndpointError`, soon, and after a few of them it is left alone for a while.
"""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit

from gitmem.errors import EndpointError
from gitmem.notices import Notice
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from socket import socket

    from gitmem.config import EndpointConfig
    from gitmem.memory.bundle import Bundle

MAX_RESPONSE = 4 << 20
_FAILURES, _PAUSE = 3, 60.0
"""After so many failures in a row, and after each further one, an endpoint is left alone for so many seconds."""


@dataclass(frozen=True)
class ToolCall:
    """A call that the model asks for; `arguments` is what it wrote, which may not be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Reply:
    text: str
    tool_calls: tuple[ToolCall, ...] = ()


class ChatModel(Protocol):
    """A model to chat with: an `Endpoint` or another; a failure is a GitMemError."""

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | None = None,
    ) -> Any: ...


class Endpoint:
    """One endpoint and one model. Threads may share it."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        timeout: float = 20.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        try:
            url = urlsplit(base_url.strip())
            host, port = url.hostname, url.port
        except ValueError:
            host = port = None
        if not host or url.scheme not in ("http", "https") or not _plain(base_url.strip()):
            raise EndpointError(
                "The base_url of the endpoint is not an http or https address.",
                hint="For example: http://localhost:11434/v1",
            )
        if "@" in url.netloc:
            # It would end up in logs and errors; keys have a place of their own.
            raise EndpointError("The base_url of the endpoint must not hold a user name or password.")
        if not _plain(api_key.strip()):
            # http.client would refuse it too, with the key in its message.
            raise EndpointError("The key for the endpoint holds characters that no key has.")
        self._secure = url.scheme == "https"
        self._host, self._port = host, port
        self.is_loopback = host in ("localhost", "::1") or host.startswith("127.")
        if api_key.strip() and url.scheme == "http" and not self.is_loopback:
            raise EndpointError("A key is sent by https only.", hint="Set base_url to an https address.")
        self._path, self._query = url.path.rstrip("/"), f"?{url.query}" if url.query else ""
        self._key = api_key.strip()
        self._timeout = timeout
        self._clock = clock
        self._failed, self._until = 0, 0.0
        self.model = model
        self.name = f"The endpoint at {host}" + (f":{port}" if port else "")

    def __repr__(self) -> str:
        return f"<Endpoint {self._host} model={self.model!r}>"

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
    ) -> Reply:
        """The model's answer."""
        request: dict[str, Any] = {"model": self.model, "messages": list(messages), "stream": False}
        if tools:
            request["tools"] = list(tools)
            if tool_choice is not None:
                request["tool_choice"] = tool_choice
        return self._asked("/chat/completions", request, self._reply)  # type: ignore[no-any-return]

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, all of one length."""
        vectors: list[list[float]] = self._asked(
            "/embeddings", {"model": self.model, "input": list(texts)}, self._vectors
        )
        if len(vectors) != len(texts):
            raise EndpointError(f"{self.name} answered with {len(vectors)} vectors for {len(texts)} texts.")
        return vectors

    def _vectors(self, answer: bytes) -> list[list[float]]:
        found = _json(answer)
        try:
            rows = sorted(found["data"], key=lambda row: int(row["index"]))
            vectors = [[float(number) for number in row["embedding"]] for row in rows]
        except (TypeError, KeyError, ValueError, AttributeError):
            raise EndpointError(f"{self.name} answered with something that is not embeddings.") from None
        if not all(math.isfinite(number) for vector in vectors for number in vector):
            raise EndpointError(f"{self.name} answered with numbers that are none.")
        if len({len(vector) for vector in vectors}) > 1 or not all(vectors):
            raise EndpointError(f"{self.name} answered with vectors of several lengths.")
        return vectors

    def _asked(self, path: str, request: Mapping[str, Any], read: Callable[[bytes], Any]) -> Any:
        """Return what the endpoint answers to a request, unless it is left alone."""
        left = self._until - self._clock() if self._failed >= _FAILURES else 0.0
        if left > 0:
            raise EndpointError(
                f"{self.name} failed {self._failed} times in a row; it is asked again in {left:.0f} s."
            )
        try:
            body = json.dumps(request).encode("ascii")
        except (TypeError, ValueError, RecursionError):
            raise EndpointError("The question for the endpoint cannot be written as JSON.") from None
        try:
            answer = read(self._post(path, body))
        except BaseException:
            self._failed += 1
            self._until = self._clock() + _PAUSE
            raise
        self._failed = 0
        return answer

    def _post(self, path: str, body: bytes) -> bytes:
        # Not at the top: http.client brings ssl and email with it, and most runs ask no endpoint.
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "gitmem"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        kind = HTTPSConnection if self._secure else HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout)
        # The socket's timeout is per read, and an endpoint that sends a byte now and then would hold us for
        # hours. The watchdog bounds the whole attempt.
        late = threading.Event()
        sockets: list[socket] = []  # none while connecting: there the socket's own timeout holds

        def hang_up() -> None:
            late.set()
            for open_socket in sockets:
                with contextlib.suppress(OSError):  # over already
                    # close() would leave a read that is under way hanging; shutdown wakes it. 2 is SHUT_RDWR.
                    open_socket.shutdown(2)

        watchdog = threading.Timer(self._timeout, hang_up)
        watchdog.daemon = True
        response: HTTPResponse | None = None
        try:
            watchdog.start()
            connection.connect()
            sockets.append(connection.sock)  # the connection forgets it when the server says "close"
            connection.request("POST", self._path + path + self._query, body, headers)
            response = connection.getresponse()
            answer = response.read(MAX_RESPONSE + 1)
        # RuntimeError: no threads at exit
        except (OSError, HTTPException, ValueError, RuntimeError) as error:
            if late.is_set() or isinstance(error, TimeoutError):
                raise EndpointError(f"{self.name} did not answer within {self._timeout:g} s.") from error
            raise EndpointError(f"{self.name} cannot be reached ({type(error).__name__}).") from error
        finally:
            watchdog.cancel()
            if response is not None:
                response.close()
            connection.close()
        if late.is_set():
            raise EndpointError(f"{self.name} did not answer within {self._timeout:g} s.")
        if response.length and len(answer) <= MAX_RESPONSE:
            raise EndpointError(f"{self.name} broke off in the middle of its answer.")
        status = response.status
        if 300 <= status < 400:
            # Followed, it could carry the key and the conversation to somebody else.
            raise EndpointError(
                f"{self.name} points elsewhere ({status}); set base_url to the final address."
            )
        if len(answer) > MAX_RESPONSE:
            raise EndpointError(f"{self.name} answered with more than {MAX_RESPONSE} bytes.")
        if status != 200:
            raise EndpointError(f"{self.name} answered {status}{self._said(_json(answer))}.")
        return answer

    def _reply(self, answer: bytes) -> Reply:
        found = _json(answer)
        if isinstance(found, dict) and found.get("error") and not found.get("choices"):
            # Some gateways report their failures with status 200.
            raise EndpointError(f"{self.name} reported an error{self._said(found)}.")
        try:
            message = found["choices"][0]["message"]
            content, calls = message.get("content"), message.get("tool_calls")
        except (TypeError, KeyError, IndexError, AttributeError):
            raise EndpointError(
                f"{self.name} answered with something that is not a chat completion."
            ) from None
        if isinstance(content, list):
            parts = [part.get("text") for part in content if isinstance(part, dict)]
            content = "".join(text for text in parts if isinstance(text, str))
        return Reply(content if isinstance(content, str) else "", tuple(_calls(calls)))

    def _said(self, found: Any) -> str:
        """The endpoint's own words about an error, short, on one line, without the key."""
        said = found.get("error", found.get("message", "")) if isinstance(found, dict) else ""
        if isinstance(said, dict):
            said = said.get("message", "")
        if not isinstance(said, str):
            return ""
        said = said.replace(self._key, "[key]") if self._key else said
        said = shortened("".join(char if char.isprintable() else " " for char in said[:2000]), 200)
        return f": {said.rstrip('.')}" if said else ""


def endpoint_for(
    bundle: Bundle, purpose: Literal["distiller", "summarizer", "embeddings"], notice: str
) -> Endpoint | None:
    """The endpoint that the settings name for a purpose; None without one, or where it cannot be used."""
    settings: EndpointConfig = getattr(bundle.config, purpose)
    if not settings.base_url:
        return None
    key = bundle.world.env.get(settings.api_key_env, "") if settings.api_key_env else ""
    try:
        return Endpoint(settings.base_url, settings.model, key, timeout=settings.timeout)
    except EndpointError as error:
        bundle.report(Notice("endpoint-unusable", notice, str(error)))
        return None


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _json(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None


def _calls(calls: Any) -> Iterator[ToolCall]:
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        arguments = function.get("arguments", "")
        # Some servers send the arguments as an object where the protocol says text.
        yield ToolCall(function["name"], arguments if isinstance(arguments, str) else json.dumps(arguments))
