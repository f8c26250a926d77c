"""The wire: JSON-RPC messages, one a line. Written with the standard library, because a start has to be quick."""

from __future__ import annotations

import json

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
        self._file = open(descriptor, "rb", closefd=False)  # noqa: SIM115 (it is the caller's)

    def next(self) -> bytes | None:
        """Give the next line that says something, or `TOO_LONG` in the place of one; None at the end."""
        while line := self._file.readline(_LONGEST_LINE + 1):
            if len(line) > _LONGEST_LINE:
                while line and not line.endswith(b"\n"):
                    line = self._file.readline(_CHUNK)
                return TOO_LONG
            if line.strip():
                return line
        return None


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
