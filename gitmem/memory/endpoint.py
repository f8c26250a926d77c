"""A small client for any OpenAI-compatible endpoint: `/chat/completions` and `/embeddings`.

It is asked for facts or for a summary, never for anything that gitmem cannot do without: every failure
is an `EndpointError`, soon, and after a few of them nobody is asked for a while.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from gitmem.errors import EndpointError

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from socket import socket

_Read = TypeVar("_Read")

MAX_RESPONSE = 4 << 20
MAX_WAIT = 8.0  # seconds between two attempts, at most


@dataclass(frozen=True)
class ToolCall:
    """A call that the model asks for; `arguments` is what it wrote, which may not be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Reply:
    text: str
    tool_calls: tuple[ToolCall, ...] = ()


class Breaker:
    """Stops asking after `failures` in a row, and lets one caller try again after `cooldown` seconds."""

    def __init__(
        self, failures: int = 3, cooldown: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = max(1, failures)
        self._cooldown = cooldown
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = 0
        self._opened: float | None = None
        self._probing = False

    @contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """Run the block if the breaker allows it; whatever leaves it as an exception is a failure."""
        probe = self._enter(name)
        try:
            yield
        except BaseException:
            self._leave(probe, failed=True)
            raise
        self._leave(probe, failed=False)

    def _enter(self, name: str) -> bool:
        with self._lock:
            if self._opened is None:
                return False
            left = self._opened + self._cooldown - self._clock()
            if left > 0 or self._probing:
                when = f"in {left:.0f} s" if left > 0 else "when the attempt under way is over"
                raise EndpointError(f"{name} failed {self._failed} times in a row; it is asked again {when}.")
            self._probing = True
            return True

    def _leave(self, probe: bool, *, failed: bool) -> None:
        with self._lock:
            if probe:
                self._probing = False
            if not failed:
                self._failed, self._opened = 0, None
                return
            self._failed += 1
            if self._failed >= self._limit:
                self._opened = self._clock()


class _Transient(Exception):
    """It may work a moment later; `wait` is what the endpoint asked for, in seconds."""

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class Endpoint:
    """One endpoint and one model. Threads may share it."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        timeout: float = 20.0,
        retries: int = 2,
        breaker: Breaker | None = None,
        sleep: Callable[[float], None] = time.sleep,
        max_response: int = MAX_RESPONSE,
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
        self._retries = max(0, retries)
        self._sleep = sleep
        self._max_response = max_response
        self._breaker = breaker or Breaker()
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
        """The model's answer, after a few attempts if need be."""
        request: dict[str, Any] = {"model": self.model, "messages": list(messages), "stream": False}
        if tools:
            request["tools"] = list(tools)
            if tool_choice is not None:
                request["tool_choice"] = tool_choice
        return self._asked("/chat/completions", request, self._reply)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, all of one length."""
        vectors = self._asked("/embeddings", {"model": self.model, "input": list(texts)}, self._vectors)
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
        if len({len(vector) for vector in vectors}) > 1 or not all(vectors):
            raise EndpointError(f"{self.name} answered with vectors of several lengths.")
        return vectors

    def _asked(self, path: str, request: Mapping[str, Any], read: Callable[[bytes], _Read]) -> _Read:
        """Return what the endpoint answers to a request, after a few attempts if need be."""
        try:
            body = json.dumps(request).encode("ascii")
        except (TypeError, ValueError, RecursionError):
            raise EndpointError("The question for the endpoint cannot be written as JSON.") from None

        with self._breaker.attempt(self.name):
            for attempt in range(self._retries + 1):
                try:
                    return read(self._post(path, body))
                except _Transient as error:
                    wait = max(error.wait, 0.5 * 2**attempt)
                    # An endpoint that asks for a long pause gets it, from the next call on.
                    if attempt == self._retries or error.wait > MAX_WAIT:
                        raise EndpointError(str(error)) from error
                    self._sleep(min(wait, MAX_WAIT))
        raise AssertionError("the last attempt returns or raises")

    # --- one attempt -------------------------------------------------------------------------------------

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
        sockets: list[socket] = []
        watchdog = threading.Timer(self._timeout, _hang_up, (sockets, late))
        watchdog.daemon = True
        response: HTTPResponse | None = None
        try:
            watchdog.start()
            connection.connect()
            sockets.append(connection.sock)  # the connection forgets it when the server says "close"
            connection.request("POST", self._path + path + self._query, body, headers)
            response = connection.getresponse()
            answer = response.read(self._max_response + 1)
        except (
            OSError,
            HTTPException,
            ValueError,
            RuntimeError,
        ) as error:  # RuntimeError: no threads at exit
            if late.is_set() or isinstance(error, TimeoutError):
                # Asking a slow model once more would double the wait, not the chance.
                raise EndpointError(f"{self.name} did not answer within {self._timeout:g} s.") from error
            raise _Transient(f"{self.name} cannot be reached ({type(error).__name__}).") from error
        finally:
            watchdog.cancel()
            if response is not None:
                response.close()
            connection.close()
        if late.is_set():
            raise EndpointError(f"{self.name} did not answer within {self._timeout:g} s.")
        if response.length and len(answer) <= self._max_response:
            raise _Transient(f"{self.name} broke off in the middle of its answer.")
        self._check(response, answer)
        return answer

    def _check(self, response: HTTPResponse, answer: bytes) -> None:
        status = response.status
        if 300 <= status < 400:
            # Followed, it could carry the key and the conversation to somebody else.
            raise EndpointError(
                f"{self.name} points elsewhere ({status}); set base_url to the final address."
            )
        if len(answer) > self._max_response:
            raise EndpointError(f"{self.name} answered with more than {self._max_response} bytes.")
        if status == 200:
            return
        message = f"{self.name} answered {status}{self._said(_json(answer))}."
        if status == 429 or status >= 500:
            raise _Transient(message, wait=_seconds(response.getheader("Retry-After")))
        raise EndpointError(message)

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
        return Reply(_text(content), tuple(_calls(calls)))

    def _said(self, found: Any) -> str:
        """The endpoint's own words about an error, short, on one line, without the key."""
        said = found.get("error", found.get("message", "")) if isinstance(found, dict) else ""
        if isinstance(said, dict):
            said = said.get("message", "")
        if not isinstance(said, str):
            return ""
        if self._key:
            said = said.replace(self._key, "[key]")
        said = " ".join("".join(char if char.isprintable() else " " for char in said[:2000]).split())
        said = said if len(said) <= 200 else said[:199] + "…"
        return f": {said.rstrip('.')}" if said else ""


def _hang_up(sockets: list[socket], late: threading.Event) -> None:
    late.set()
    for open_socket in sockets:  # none while connecting: there the socket's own timeout holds
        try:
            # close() would leave a read that is under way hanging; shutdown wakes it. 2 is SHUT_RDWR.
            open_socket.shutdown(2)
        except OSError:
            pass  # over already


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _json(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None


def _seconds(header: str | None) -> float:
    try:
        return max(0.0, float(header or 0))
    except ValueError:
        return 0.0  # a date; our own pause will do


def _text(content: Any) -> str:
    if isinstance(content, list):
        content = "".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return content if isinstance(content, str) else ""


def _calls(calls: Any) -> Iterator[ToolCall]:
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        arguments = function.get("arguments", "")
        # Some servers send the arguments as an object where the protocol says text.
        yield ToolCall(function["name"], arguments if isinstance(arguments, str) else json.dumps(arguments))
