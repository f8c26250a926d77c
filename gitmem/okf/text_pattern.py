"""A text in every form that a memory writes it in: found, listed, and blanked.

Whole words are found, in upper or lower case and in whatever Unicode form; between two of them stand blanks, line breaks,
quote signs, or what joins words in a name. The same text is a quoted line of a session, YAML, JSON, escaped markdown, cut
short in the subject of a commit, and a part of a file's name. What is encoded (base64, say) is not found.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from gitmem.errors import UsageError
from gitmem.okf.paths import slug
from gitmem.okf.receipts import MARKER

_GAP = r"(?:[\s>_\-.+]|%20|\\[nrt])+"
_BEFORE, _AFTER = r"(?<![^\W_])", r"(?![^\W_]|[\u0300-\u036f])"
_WORD = re.compile(r"[^\W_]+")
_SHORTEST_CUT = 4
_SHORTEST_SLUG = 6
_LONG_NAME = 40
"""A name that is shorter was not cut."""
_STEM = re.compile(r"[0-9a-z-]+")
_NAME_MARKER = "erased"


class TextPattern:
    """Some texts, and expressions of a person who knows them, to be found and blanked."""

    def __init__(self, texts: Iterable[str], expression: str = "") -> None:
        self.texts = tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
        longest = sorted(self.texts, key=len, reverse=True)
        slugs = {text: name for text in longest if len(name := slug(text)) >= _SHORTEST_SLUG}
        self._slugs = list(slugs.values())
        spelled = {text: name.replace("-", " ") for text, name in slugs.items()}
        whole = [name for text, name in spelled.items() if len(name.split()) >= len(words_of(text))]
        forms = [*map(_form, longest), *map(_form, whole)]
        self._patterns = [re.compile("|".join(dict.fromkeys(forms)), re.IGNORECASE)] if forms else []
        if expression:
            self._patterns.append(_compiled(expression))
        self._beginnings = {" ".join(text.split()).casefold() for text in self.texts}
        self._beginnings |= {text.split("\n")[0].rstrip().casefold() for text in self.texts}

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def is_in(self, data: bytes) -> bool:
        """Return whether the data has one of the texts, whole or cut short."""
        return next(self._spans(_text(data)), None) is not None

    def forms(self, data: bytes) -> Counter[str]:
        """The texts as they are written there, and how often."""
        text = _text(data)
        return Counter(text[start:end] for start, end in self._spans(text))

    def data(self, data: bytes) -> bytes:
        """The data with the marker in the place of each text; where nothing is found the very same."""
        text = _text(data)
        blanked = self.text(text)
        return data if blanked is text else blanked.encode("utf-8", "surrogateescape")

    def text(self, text: str, marker: str = MARKER) -> str:
        """The same for a text."""
        parts, at = [], 0
        for start, end in sorted(self._spans(text)):
            if start >= at:
                parts += [text[at:start], marker]
            at = max(at, end)
        return "".join([*parts, text[at:]]) if parts else text

    def name(self, name: str) -> str:
        """A name of a file, directory or ref without the texts, whose words it may have."""
        new = self.text(unicodedata.normalize("NFC", name), _NAME_MARKER)
        stem = _STEM.match(new)
        if stem is not None and len(stem[0]) >= _LONG_NAME:  # it may have been cut in the middle of one
            for words in self._slugs:
                for size in range(len(words), _SHORTEST_SLUG - 1, -1):
                    if stem[0].endswith("-" + words[:size]):
                        return stem[0][:-size] + _NAME_MARKER + new[len(stem[0]) :]
        return new

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        for pattern in self._patterns:
            yield from (found.span() for found in pattern.finditer(text) if found[0])
        at = text.find("…")
        while at >= 0:
            for beginning in self._beginnings:
                before = text[max(0, at - len(beginning)) : at].casefold()
                for size in range(min(len(beginning), len(before)), _SHORTEST_CUT - 1, -1):
                    if before.endswith(beginning[:size]):
                        yield at - size, at
                        break
            at = text.find("…", at + 1)


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared."""
    return [word.casefold() for word in _WORD.findall(unicodedata.normalize("NFC", text))]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _compiled(expression: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(expression)
    except re.error as error:
        raise UsageError(f"{expression!r} is not a regular expression ({error}).") from None
    if pattern.search("") or pattern.search("x y"):
        raise UsageError(f"{expression!r} matches everything: name more of what is to go.")
    return pattern


def _form(text: str) -> str:
    """A pattern for a text however it is wrapped, quoted and escaped."""
    words = unicodedata.normalize("NFC", text).split()
    joined = _GAP.join("".join(map(_character, word)) for word in words)
    first, last = words[0][0], words[-1][-1]
    return (_BEFORE if first.isalnum() else "") + joined + (_AFTER if last.isalnum() else "")


def _character(char: str) -> str:
    if char.isascii() and char.isalnum():
        return char
    if char.isascii():
        return rf"\\{{0,2}}(?:{re.escape(char)}{'''|''' + chr(39) * 2 if char == chr(39) else ''})"
    cases = (char, char.upper(), char.casefold())
    forms = {unicodedata.normalize(form, one) for one in cases for form in ("NFC", "NFD")}
    escaped = [_escaped(form) for form in forms]
    entity = ["&sect;"] if char == "§" else []
    return f"(?:{'|'.join([*map(re.escape, sorted(forms)), *sorted(escaped), *entity])})"


def _escaped(text: str) -> str:
    r"""A pattern for a text as JSON writes it, with \u before four digits."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(rf"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
