"""The words of a text as they are compared across languages and wordings: anchors, which survive a paraphrase, and stems."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from gitmem.safety._lexicon import STOPPED


class Unit(NamedTuple):
    """One thing that a text says: an address, a number, a name, the stem of a word."""

    key: str
    is_anchor: bool
    """Whether it is of a form that a paraphrase keeps and that is hardly ever there by chance."""


_CHUNK = re.compile(r"[^\s\"'`<>()\[\]{},;|*!?“”‘’„«»…¿¡、。，；：！？（）「」]+")
_TRIMMED = ".:/\\-–—_=#~"
_ACCOUNT = re.compile(r"\b[A-Za-z]{2}\d{2}(?:[ \u00a0]?[A-Za-z0-9]{4}){2,7}(?:[ \u00a0]?[A-Za-z0-9]{1,4})?\b")
_PHONE = re.compile(r"(?<![\w.])\+?\d(?:[\d ()/\u00a0-]{6,18})\d(?![\w.])")
_BLANKS = re.compile(r"[\s()/\u00a0-]+")
_PIECE = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]")
_ENDING = re.compile(
    r"(?:ungen|ingen|ments?|tions?|ationen|iert|ieren|ung|ing|ed|es|en|er|em|ern|ly|s|e|n|o|a|os|as)$"
)
_LONG = 6
_LONGEST = 200
"""No pattern has to bear a blob of base64."""
_ANCHOR = re.compile(
    r"(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\S*\w\.\w*[a-z]\w*\S*|(?:~|\.{1,2})?/\S+|\w:\\\S+|--?[a-z][\w-]+"
    r"|(?=\S*\d)(?=\S*[a-z])[\w][\w.:/@-]{2,}|\w+(?:[-_]\w+)*_\w+|[\d.:,]*\d{5,}[\d.:,]*|\d{1,3}(?:\.\d{1,3}){3}\S*"
)


def units(text: str) -> list[tuple[Unit, ...]]:
    """The units of a text, those of each word with their pieces."""
    return [found for chunk in _chunks(text) if (found := _units_of(chunk[:_LONGEST]))]


def _chunks(text: str) -> Iterator[str]:
    text = _ACCOUNT.sub(lambda match: _BLANKS.sub("", match[0]), text)
    text = _PHONE.sub(lambda match: _BLANKS.sub("", match[0]), text)
    folded = unicodedata.normalize("NFKD", text.casefold())
    folded = (
        "".join(sign for sign in folded if not unicodedata.combining(sign)) if not text.isascii() else folded
    )
    for match in _CHUNK.finditer(unicodedata.normalize("NFKC", folded)):
        chunk = match[0].rstrip(_TRIMMED)
        if chunk := chunk.lstrip(".:=#") or chunk:
            yield chunk


@lru_cache(maxsize=8_192)
def _units_of(chunk: str) -> tuple[Unit, ...]:
    """The units of one word; a text, and a language, repeats its words."""
    return tuple(_of_chunk(chunk))


def _of_chunk(chunk: str) -> Iterator[Unit]:
    pieces = _PIECE.findall(chunk)
    if _ANCHOR.fullmatch(chunk) and len(chunk) > 2:
        yield Unit(_plain(chunk), True)
    for piece in pieces:
        if _CJK.search(piece):
            yield from (Unit(piece[at : at + 2], False) for at in range(max(1, len(piece) - 1)))
        elif piece.isdigit():
            if len(piece) > 1:
                yield Unit(piece, False)
        elif len(piece) > 1 and piece not in STOPPED:
            yield Unit(stem(piece), False)


def _plain(chunk: str) -> str:
    """An address without what may be left out of it."""
    for start in ("https://", "http://", "www."):
        chunk = chunk.removeprefix(start)
    return chunk.rstrip("/")


def stem(word: str) -> str:
    """A word without its ending, so that its forms, and its kin in a related language, are one."""
    for _ in range(2):
        cut = _ENDING.sub("", word)
        word = cut if len(cut) >= 3 else word
    return word[:_LONG]
