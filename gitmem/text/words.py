"""Words of a text: the one tokenizer, sentence splitter and stop list."""

from __future__ import annotations

import re
import unicodedata

from gitmem.text.stem import stem

WORD = re.compile(r"[^\W_]+")
"""A word: a run of letters and digits of any script."""

# English alone: in other languages what is frequent in a bundle weighs little anyway.
_STOP = """a about also am an and any are as at be been being both but by can could d did do does few for from get gets
getting got had has have he her hers him his how i if in into is it its just ll m me more most my no not now of on or other
our re s she should so some such t than that the their them then there these they this those to too up us ve very was we were
what when where which while who whom whose why will with would you your aren couldn didn doesn don hadn hasn
haven isn shouldn wasn weren won wouldn"""
STOP = frozenset(_STOP.split())
"""Words that carry no meaning in a question."""

_SENTENCE_END = re.compile(
    r"(?<=[.!?…。！？])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bDr\.)(?=\s|[^\W\d_a-zA-Z])\s*|\n+"
)


def fold(text: str) -> str:
    """Return the text without case and accents, as the word table sees it."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFD", text.lower()).translate(_WITHOUT_MARKS)


class _Marks(dict[int, int | None]):
    """A table for `str.translate` that drops combining marks, and learns each character once."""

    def __missing__(self, code: int) -> int | None:
        found = self[code] = None if unicodedata.combining(chr(code)) else code
        return found


_WITHOUT_MARKS = _Marks()


def sentences(text: str) -> list[str]:
    """Split a text into sentences, each on one line, without headings."""
    pieces = (" ".join(piece.split()) for piece in _SENTENCE_END.split(text) if piece)
    return [piece for piece in pieces if piece and not piece.startswith("#")]


def roots(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without those that carry no meaning."""
    return frozenset(stem(word) for word in WORD.findall(fold(text)) if word not in STOP) - STOP
