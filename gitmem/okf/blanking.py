"""Blanking: a text found in every form that a memory writes it in, and a marker put in its place.

One text looks different in a § file, as a quoted line of a session, as YAML, as JSON, escaped in log.md, cut short in the
subject of a commit, and as a part of a file's name. What is encoded (base64, say) is not found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from gitmem.okf.erasures import MARKER, words_of
from gitmem.okf.paths import slug

_GAP = rb"(?:[\s>]|\\[nrt])+"
_NAME_GAP = r"[^0-9a-z]+"
_SHORTEST_CUT = 4
_ELLIPSIS = "…".encode()
_MARKER = MARKER.encode()
_NAME_MARKER = "erased"
_SHORTEST_SLUG = 6
_LONG_NAME = 40
"""A name that is shorter was not cut."""
_STEM = re.compile(r"[0-9a-z-]+")


class Blanking:
    """Some texts, to be found and blanked."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
        longest_first = sorted(self.texts, key=len, reverse=True)
        slugs = [name for text in longest_first if (name := slug(text)) and len(name) >= _SHORTEST_SLUG]
        forms = [*map(_form, longest_first), *(re.escape(name.encode()) for name in slugs)]
        self._pattern = re.compile(b"|".join(forms) or rb"(?!)")
        names = [_NAME_GAP.join(map(re.escape, words)) for text in longest_first if (words := _slugs(text))]
        names += map(re.escape, slugs)
        self._slugs = tuple(slugs)
        self._name = re.compile(f"(?<![0-9a-z])(?:{'|'.join(names)})(?![0-9a-z])" if names else "(?!)")
        self._beginnings = [
            beginning
            for text in self.texts
            for beginning in {one_line(text).encode(), text.split("\n")[0].rstrip().encode()}
        ]

    def __bool__(self) -> bool:
        return bool(self.texts)

    def is_in(self, data: bytes) -> bool:
        """Return whether the data holds one of the texts, whole or cut short."""
        return self._pattern.search(data) is not None or any(True for _ in self._cuts(data))

    def data(self, data: bytes) -> bytes:
        """The data with the marker in the place of each text."""
        found = self._pattern.sub(_MARKER, data)
        for start, end in sorted(set(self._cuts(found)), reverse=True):
            found = found[:start] + _MARKER + found[end:]
        return found

    def text(self, text: str) -> str:
        """The same for a text; where nothing is found the very same."""
        data = text.encode("utf-8", "surrogateescape")
        return self.data(data).decode("utf-8", "surrogateescape") if self.is_in(data) else text

    def name(self, name: str) -> str:
        """A name of a file, directory or ref without the texts, whose words it may hold."""
        data = unicodedata.normalize("NFC", name)
        if self._name.search(data.casefold()) is None:
            return self._without_cut(self.text(name).replace(MARKER, _NAME_MARKER))
        return self._name.sub(_NAME_MARKER, data.casefold())

    def _without_cut(self, name: str) -> str:
        """A name without the beginning of a text, where it was too long and cut there."""
        stem = _STEM.match(name)
        if stem is None or len(stem[0]) < _LONG_NAME:
            return name
        for words in self._slugs:
            for size in range(len(words), _SHORTEST_SLUG - 1, -1):
                if stem[0].endswith("-" + words[:size]):
                    return stem[0][:-size] + _NAME_MARKER + name[len(stem[0]) :]
        return name

    def _cuts(self, data: bytes) -> Iterable[tuple[int, int]]:
        """Return where a text was cut with an ellipsis: the beginning of it that is left."""
        at = data.find(_ELLIPSIS)
        while at >= 0:
            for beginning in self._beginnings:
                for size in range(min(len(beginning), at), _SHORTEST_CUT - 1, -1):
                    if data[at - size : at] == beginning[:size]:
                        yield at - size, at
                        break
            at = data.find(_ELLIPSIS, at + 1)


def one_line(text: str) -> str:
    """A text as a subject or a line of the log has it."""
    return " ".join(text.split())


def _slugs(text: str) -> list[str]:
    return [word for word in words_of(text) if word.isascii()]


def _form(text: str) -> bytes:
    """A pattern for the text however it is wrapped, quoted and escaped."""
    return _GAP.join(b"".join(map(_character, word)) for word in text.split())


def _character(char: str) -> bytes:
    if char.isascii() and char.isalnum():
        return char.encode()
    forms = {unicodedata.normalize(form, char).encode("utf-8", "surrogateescape") for form in ("NFC", "NFD")}
    plain = b"|".join(re.escape(form) for form in sorted(forms))
    if char.isascii():
        extra = {"'": rb"|''", "§": b""}.get(char, b"")
        return rb"(?:\\{0,2}(?:" + plain + extra + rb"))"
    units = char.encode("utf-16-be", "surrogatepass")
    escaped = b"".join(rb"\\u(?i:%02x%02x)" % (units[at], units[at + 1]) for at in range(0, len(units), 2))
    entity = rb"|&sect;" if char == "§" else b""
    return rb"(?:" + plain + b"|" + escaped + entity + rb")"
