"""The wire: JSON-RPC messages, one a line. Written with the standard library, because a start has to be quick."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # as type checkers know it; `typing` itself would be a good part of what a start costs

if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL_ERROR = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
)
_LONGEST_LINE = 32 * 2**20
_CHUNK = 1 << 16
TOO_LONG = b"\0"
"""In the place of a line that is too long to be read."""


class WireError(Exception):
    """A request that gets an error for an answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Lines:
    """The lines of a descriptor. The last one may lack its end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pieces: list[bytes] = []
        self._ready: list[bytes] = []
        self._size = 0
        self._is_skipping = False
        self.ended = False

    def next(self) -> bytes | None:
        """Give the next line; None at the end."""
        while not self._ready:
            if self.ended:
                return None
            self._take(os.read(self._descriptor, _CHUNK))
        return self._ready.pop(0)

    def _take(self, data: bytes) -> None:
        if not data:
            self.ended = True
            rest = b"".join(self._pieces)
            self._ready += [rest] if rest.strip() else []
            return
        first, *more = data.split(b"\n")
        self._add(first)
        for line in more:
            whole, self._pieces, self._size = b"".join(self._pieces), [], 0
            if self._is_skipping:
                self._is_skipping = False
            elif whole.strip():
                self._ready.append(whole)
            self._add(line)

    def _add(self, piece: bytes) -> None:
        if self._is_skipping:
            return
        self._size += len(piece)
        if self._size > _LONGEST_LINE:
            self._pieces, self._size, self._is_skipping = [], 0, True
            self._ready.append(TOO_LONG)
            return
        self._pieces.append(piece)


def parsed(line: bytes) -> Any:
    """Return what a line says; a WireError where that is not JSON."""
    try:
        return json.loads(line.decode())
    except (ValueError, RecursionError):
        raise WireError(PARSE_ERROR, "That is not JSON in UTF-8.") from None


def rendered(message: Message) -> bytes:
    """A message as one line. Half a character, which is no text, goes as its escape."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def result(ident: object, value: Message) -> Message:
    return {"jsonrpc": "2.0", "id": ident, "result": value}


def error(ident: object, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}}
