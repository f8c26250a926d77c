"""Receipts of what was erased for good: `config/erased.md`, which says that something went and never what it was.

A receipt knows a text again without holding it: by a salted, slow hash of its words. So no machine has to be told the text
to keep it out, and nobody can read it from the receipt. Words are compared, not characters: case, line ends and what
stands between two words make no difference.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from gitmem.errors import InvalidContent
from gitmem.okf import layout
from gitmem.okf.concept import Concept

What = Literal["text", "secret", "entry", "path", "session"]
"""What a person asked to erase."""

MARKER = "(erased)"
"""What stands in the place of an erased text. Plain in YAML, in markdown and in a name of git."""

_WORD = re.compile(r"[^\W_]+")
_BLANK = re.compile(r"\s+")
_ROUNDS = 100_000
"""Of the slow hash: a guess at a short password costs this much, times the chance that it passes the sieve."""
_SHORT = 6
"""A text of fewer words may be guessed."""
_SIEVE, _SIEVE_OF_LONG = 3, 16
"""Digits of a quick hash that say whether the slow one is worth while. Of a short text they must give little away."""
MAX_MARKS = 200
"""Texts that one receipt knows again, the longest first."""
_MOST_WORDS = 64
"""Of a long text its beginning is enough."""
_EDGE = 24
"""How many characters beside its words an erased text may begin or end with and be found again whole."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One text, known again by its words."""

    words: int
    sieve: str
    digest: str

    @classmethod
    def of(cls, text: str, salt: str) -> Mark | None:
        """The mark of a text; None where it has no word."""
        found = words_of(text)[:_MOST_WORDS]
        if not found:
            return None
        joined = " ".join(found)
        digits = _SIEVE if len(found) < _SHORT else _SIEVE_OF_LONG
        return cls(len(found), _quick(salt, joined)[:digits], slow_hash(salt, joined))


@dataclass(frozen=True, slots=True)
class Receipt:
    """That something was erased: when, by whom and why, and how to know it again."""

    what: What
    at: str
    by: str
    reason: str
    salt: str
    sieve: str
    whole: str
    """The salted hash of what was asked for: the exact text, the path, the id of a session or event; before it the
    beginning of a quick one, which says whether the slow one is worth while."""
    marks: tuple[Mark, ...] = ()

    @property
    def id(self) -> str:
        return self.salt[:12]

    @classmethod
    def new(cls, what: What, asked: str, texts: Iterable[str], *, at: str, by: str, reason: str) -> Receipt:
        """The receipt of an erase; `texts` are what must not come back."""
        salt = secrets.token_hex(16)
        wanted = sorted(set(texts), key=lambda text: (-len(text), text))[:MAX_MARKS]
        marks = tuple(mark for text in wanted if (mark := Mark.of(text, salt)) is not None)
        name = plain(asked)
        return cls(what, at, by, reason, salt, _quick(salt, name)[:_SIEVE], slow_hash(salt, name), marks)

    def is_of(self, asked: str) -> bool:
        """Return whether this is what was asked for."""
        name = plain(asked)
        return _quick(self.salt, name).startswith(self.sieve) and slow_hash(self.salt, name) == self.whole

    def found_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the text holds something that was erased: from its first word to its last."""
        if not self.marks:
            return
        spans = [(found.group().casefold(), *found.span()) for found in _WORD.finditer(text)]
        for count in {mark.words for mark in self.marks}:
            marks = [mark for mark in self.marks if mark.words == count]
            for first in range(len(spans) - count + 1):
                joined = " ".join(span[0] for span in spans[first : first + count])
                quick = _quick(self.salt, joined)
                near = [mark for mark in marks if quick.startswith(mark.sieve)]
                if near and slow_hash(self.salt, joined) in {mark.digest for mark in near}:
                    yield spans[first][1], spans[first + count - 1][2]

    def whole_in(self, text: str) -> str:
        """The exact text that was erased, where this text holds it; else nothing."""
        for start, end in self.found_in(text):
            before, after = text[max(0, start - _EDGE) : start], text[end : end + _EDGE]
            left = len(before) - max((at + 1 for at, ch in enumerate(before) if ch.isalnum()), default=0)
            right = next((at for at, ch in enumerate(after) if ch.isalnum()), len(after))
            sizes = ((one, two) for one in range(left + 1) for two in range(right + 1))
            for one, two in sorted(sizes, key=sum):
                if self.is_of(text[start - one : end + two]):
                    return text[start - one : end + two]
        return ""

    def as_item(self) -> dict[str, object]:
        item: dict[str, object] = {"id": self.id, "what": self.what, "at": self.at, "by": self.by}
        if self.reason:
            item["reason"] = self.reason
        marks = [f"{mark.words} {mark.sieve} {mark.digest}" for mark in self.marks]
        return {**item, "salt": self.salt, "sieve": self.sieve, "whole": self.whole, "marks": marks}

    @classmethod
    def of_item(cls, item: object) -> Receipt | None:
        """The receipt that an item of the list is; None where it is none."""
        if not isinstance(item, Mapping):
            return None
        texts = {
            name: item.get(name, "") for name in ("what", "at", "by", "reason", "salt", "sieve", "whole")
        }
        listed = item.get("marks", [])
        marks = [re.fullmatch(r"(\d{1,3}) ([0-9a-f]{3,16}) ([0-9a-f]{64})", str(one)) for one in listed or ()]
        if (
            not all(isinstance(text, str) for text in texts.values())
            or texts["what"] not in get_args(What)
            or not re.fullmatch(r"[0-9a-f]{32}", str(texts["salt"]))
            or not isinstance(listed, list)
            or not all(marks)
        ):
            return None
        return cls(**texts, marks=tuple(Mark(int(one[1]), one[2], one[3]) for one in marks if one))


def receipts_in(data: bytes | None) -> list[Receipt]:
    """The receipts of `config/erased.md`, in their order; none where it cannot be read."""
    if data is None:
        return []
    try:
        listed = Concept.parse(data, layout.CONFIG_ERASED).meta.get("receipts")
    except InvalidContent:
        return []
    found = [Receipt.of_item(item) for item in listed] if isinstance(listed, list) else []
    return [receipt for receipt in found if receipt is not None]


_BODY = """
What is listed above was erased from this memory and from its history, for good. The texts are not here: a receipt only
knows them again, so that they do not come back.
"""


def with_receipts(data: bytes | None, receipts: Sequence[Receipt]) -> bytes:
    """The file with more receipts in it."""
    known = receipts_in(data)
    items = {one.id: one.as_item() for one in (*known, *receipts)}
    concept = Concept.new(layout.ERASURE_RECEIPTS, _BODY, title="What was erased")
    return concept.with_meta(receipts=list(items.values())).render()


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared."""
    return [word.casefold() for word in _WORD.findall(unicodedata.normalize("NFC", text))]


def plain(text: str) -> str:
    """A text of which only the blanks do not count."""
    return _BLANK.sub(" ", unicodedata.normalize("NFC", text)).strip()


def _quick(salt: str, joined: str) -> str:
    return hashlib.sha256(f"{salt} {joined}".encode("utf-8", "replace")).hexdigest()


def slow_hash(salt: str, text: str) -> str:
    """A hash that is slow to guess at."""
    data = text.encode("utf-8", "replace")
    return hashlib.pbkdf2_hmac("sha256", data, bytes.fromhex(salt), _ROUNDS).hex()
