"""Field values on their way into a journal: whatever comes, JSON can hold it and gives it back unchanged."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from gitmem.errors import TooLarge

MAX_EVENT_BYTES = 8 << 20
MAX_DEPTH = 64

# Git and SQLite store UTF-8, which has no half characters, and a NUL ends a text in too many places.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_PLAIN_LENGTH = 1 << 16

encoded = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
).encode
"""JSON as journals have it."""


def plain(text: object) -> str:
    """The value as a text that can be stored."""
    if type(text) is str and text.isascii() and "\0" not in text:
        return text
    return _Cleaner().text(text)


def texts(values: Mapping[str, str]) -> dict[str, str]:
    """Names and texts that can be stored."""
    return {plain(key): plain(value) for key, value in values.items()} if values else {}


def cleaned(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields as JSON can hold them; the usual ones, short and plain texts, at once."""
    result: dict[str, object] = {}
    for key, value in list(fields.items()):
        if not (
            type(key) is str
            and type(value) is str
            and key.isascii()
            and value.isascii()
            and len(value) < _PLAIN_LENGTH
            and "\0" not in value
            and "\0" not in key
        ):
            return _Cleaner().mapping(fields, 0)
        result[key] = value
    return result


def too_large() -> TooLarge:
    """What to tell whoever pushes more than fits."""
    return TooLarge(
        f"The event was NOT stored: it is larger than {MAX_EVENT_BYTES >> 20} MiB; "
        "keep the text in a file and push where it is, or push it in parts."
    )


class _Cleaner:
    """Turns any value into one that JSON gives back unchanged, however strange, deep or large it is."""

    def __init__(self) -> None:
        self._left = MAX_EVENT_BYTES
        self._path: set[int] = set()

    def value(self, value: object, depth: int) -> object:
        self._spend(2)  # no value takes less in JSON, with its comma
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            # Python refuses to write or read very long numbers in decimal.
            return int.__int__(value) if value.bit_length() <= 2048 else hex(value)
        if isinstance(value, float):
            if math.isnan(value):
                return "NaN"
            if math.isinf(value):
                return "Infinity" if value > 0 else "-Infinity"
            return float.__float__(value)
        if isinstance(value, dict | list | tuple | set | frozenset | Mapping):
            if id(value) in self._path:
                return "(circular)"
            if depth >= MAX_DEPTH:
                return "(nested too deeply)"
            self._path.add(id(value))
            try:
                if isinstance(value, Mapping):
                    return self.mapping(value, depth + 1)
                items = [self.value(item, depth + 1) for item in list(value)]
            finally:
                self._path.discard(id(value))
            return sorted(items, key=encoded) if isinstance(value, set | frozenset) else items
        return self.text(value)

    def mapping(self, values: Mapping[str, object], depth: int) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, value in list(values.items()):  # a copy: another thread may change it
            name = self.text(key)
            count = 1
            while name in result:  # 1 and "1" were two keys
                count += 1
                name = f"{name.removesuffix(f'~{count - 1}')}~{count}"
            result[name] = self.value(value, depth)
        return result

    def text(self, value: object) -> str:
        if isinstance(value, str):
            text = str.__str__(value)
        elif isinstance(value, bytes | bytearray):
            text = value.decode("utf-8", "replace")
        else:
            try:
                text = str.__str__(str(value))
            except Exception:  # noqa: BLE001 - somebody else's __str__ may raise anything
                text = f"({type(value).__name__})"
        self._spend(len(text))
        return _UNSTORABLE.sub(lambda found: "\u2400" if found.group() == "\0" else "\ufffd", text)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise too_large()
