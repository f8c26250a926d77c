"""One layer of disguise taken off: what a text says once it is decoded, respelled or read backwards.

Every layer first looks for a cheap sign that it applies and costs nothing without it. Only what
then looks like text is handed on; nothing is decoded twice.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from dataclasses import dataclass

from gitmem.safety.unicode import fold, latinise

MAX_PIECES = 2000  # encoded pieces that are decoded in one text; more of them is a finding of its own


@dataclass(frozen=True, slots=True)
class Layer:
    """A reading of a text: the folded text, how it was won, and the stretch of the original it came from."""

    name: str
    text: str
    span: tuple[int, int] | None = None  # None: the whole text, position by position unknown
    dense: bool = False  # written without spaces: only rules for squeezed text apply
    respelled: bool = False  # letters were guessed: rules apply, statistics do not


def layers(text: str, folded: str, words: list[str]) -> tuple[list[Layer], bool]:
    """The readings of a text beside the plain one, and whether it held too many encoded pieces to read them all.

    `words` are the words of the folded text; they show cheaply whether a layer can apply.
    """
    found: list[Layer] = []
    if (latin := latinise(folded)) is not None:
        found.append(Layer("look-alike letters", latin))
        folded = latin
    if "_" in folded and folded.count("_") > folded.count(" ") + 2:
        folded = folded.replace("_", " ")
        found.append(Layer("underscores", folded))
    if "-\n" in folded:
        found.append(Layer("hyphenation", folded.replace("-\n", "")))
    mixed = [word for word in words if not word.isalpha() and not word.isdigit()]
    if (len(mixed) > 1 or "$" in folded) and _LEET.search(folded) and (plain := _unleet(folded)) is not None:
        found.append(Layer("leet spelling", plain, respelled=True))
    singles = sum(1 for word in words if len(word) == 1)
    if singles > 4:
        found.extend(_spaced_out(text))
    if any(word in folded for word in _ROT13_SIGNS):
        found.append(Layer("rot13", codecs.encode(folded, "rot13")))
    if any(word in folded for word in _REVERSED_SIGNS):
        found.append(Layer("reversed", folded[::-1]))
    pieces, flooded = _pieces(text, words)
    found.extend(pieces)
    return found, flooded


def _pieces(text: str, words: list[str]) -> tuple[list[Layer], bool]:
    found = []
    flooded = False
    if text.count("%") > 2 and (decoded := _percent(text)) is not None:
        found.append(Layer("URL encoding", decoded))
    if "&" in text and _ENTITY.search(text):
        found.append(Layer("HTML entities", fold(_ENTITY.sub(_entity, text))))
    if "\\" in text and _ESCAPES.search(text):
        found.append(Layer("escapes", fold(_ESCAPES.sub(_unescape, text))))
    if max(map(len, words), default=0) >= 12:
        encodings = _ENCODINGS
    elif sum(1 for word in words if len(word) == 2) >= 8:
        encodings = _ENCODINGS[-1:]
    else:
        return found, flooded
    for pattern, name, decode in encodings:
        for number, match in enumerate(pattern.finditer(text)):
            if number >= MAX_PIECES:
                flooded = True
                break
            decoded = decode(match.group())
            if decoded is not None:
                found.append(Layer(name, fold(decoded), match.span()))
    return found, flooded


def _readable(raw: bytes) -> str | None:
    """The bytes as text, if they look like a few words of it."""
    if len(raw) < 6:
        return None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    letters = sum(map(str.isalpha, text[:400]))
    ordinary = sum(1 for c in text[:400] if c.isprintable() or c in "\n\t\r")
    size = min(len(text), 400)
    return text if ordinary == size and letters * 2 >= size else None


def _base64(piece: str) -> str | None:
    piece = piece.rstrip("=").replace("-", "+").replace("_", "/")
    if piece.isdigit() or piece.islower() or len(piece) % 4 == 1:
        return None
    try:
        return _readable(base64.b64decode(piece + "=" * (-len(piece) % 4)))
    except (ValueError, binascii.Error):
        return None


def _base32(piece: str) -> str | None:
    piece = piece.rstrip("=")
    try:
        return _readable(base64.b32decode(piece + "=" * (-len(piece) % 8)))
    except (ValueError, binascii.Error):
        return None


def _hex(piece: str) -> str | None:
    digits = _NOT_HEX.sub("", piece)
    return _readable(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _percent(text: str) -> str | None:
    def byte_run(match: re.Match[str]) -> str:
        return bytes.fromhex(match.group().replace("%", "")).decode("utf-8", "replace")

    decoded, count = _PERCENT.subn(byte_run, text)
    return fold(decoded) if count else None


def _entity(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return _NAMED.get(name.lower(), match.group())
    point = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(point) if point < 0x110000 else ""


def _unescape(match: re.Match[str]) -> str:
    point = int(match.group().lstrip("\\uUxX{").rstrip("}"), 16)
    return chr(point) if point < 0x110000 else ""


def _spaced_out(text: str) -> list[Layer]:
    """Words written letter by letter: `i g n o r e`, `i.g.n.o.r.e`, `d]i[s]r[e]g[a]r[d`."""
    if not _SPACED.search(text):
        return []
    runs: list[str] = []

    def join(match: re.Match[str]) -> str:
        # Two or more blanks in a row part words, one parts letters.
        words = [_NOT_LETTER_OR_DIGIT.sub("", word) for word in _WIDE_GAP.split(match.group())]
        runs.append("".join(words))
        return " ".join(words)

    joined = fold(_SPACED.sub(join, text))
    # Without wider gaps the words run together: `S a y t h a t` says `Saythat`.
    return [Layer("spacing", joined), Layer("spacing", fold(" ".join(runs)), dense=True)]


def _unleet(folded: str) -> str | None:
    changed = 0

    def respell(match: re.Match[str]) -> str:
        nonlocal changed
        word = match.group()
        plain = word.translate(_LEET_TABLE)
        changed += plain != word
        return plain

    plain = _LEET_WORD.sub(respell, folded)
    return plain if changed else None


_LEET_TABLE = str.maketrans(
    {
        "0": "o",
        "1": "i",
        "3": "e",
        "4": "a",
        "5": "s",
        "7": "t",
        "8": "b",
        "@": "a",
        "$": "s",
        "!": "i",
        "|": "l",
    }
)
# A digit or sign between letters, or the short words `7h3`, `4ll`, `y0u`.
_LEET = re.compile(r"[a-z][013457@$!|]{1,2}[a-z]|\b[013457@$][a-z]|[a-z]\$")
_LEET_WORD = re.compile(r"(?<![a-z0-9@$!|./:#-])[a-z0-9@$!|]{2,24}(?![a-z0-9@$|/])")
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .\-_*|/~+\]\[]{1,3}[^\W_]){4,400}(?![^\W_])")
_WIDE_GAP = re.compile(r" {2,3}")
_NOT_LETTER_OR_DIGIT = re.compile(r"[\W_]+")
_ROT13_SIGNS = ("rot13", "rot-13", "rot 13", " gur ", " lbh ", "vtaber", " naq ", "cebzcg", "vafgehpg")
_REVERSED_SIGNS = ("backward", "revers", "erongi", "snoitcurtsni", " eht ", " uoy ", "tpmorp", "dragersid")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}){1,2000}")
_ENTITY = re.compile(
    r"&#(\d{2,7});?|&#[xX]([0-9A-Fa-f]{2,6});?|&(lt|gt|amp|quot|apos|nbsp|colon|sol|period);", re.IGNORECASE
)
_NAMED = {
    "lt": "<",
    "gt": ">",
    "amp": "&",
    "quot": '"',
    "apos": "'",
    "nbsp": " ",
    "colon": ":",
    "sol": "/",
    "period": ".",
}
_ESCAPES = re.compile(r"\\u\{?[0-9A-Fa-f]{4,6}\}?|\\x[0-9A-Fa-f]{2}|\\U[0-9A-Fa-f]{8}")
_NOT_HEX = re.compile(r"[^0-9A-Fa-f]+")
_ENCODINGS = (
    (re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{16,}={0,2}"), "base64", _base64),
    (re.compile(r"(?<![A-Z2-7])[A-Z2-7]{16,}={0,6}(?![A-Za-z0-9])"), "base32", _base32),
    (re.compile(r"(?<![0-9A-Fa-f])(?:0[xX])?[0-9A-Fa-f]{16,}(?![0-9A-Fa-f])"), "hex", _hex),
    (
        re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}[ :,]){7,4000}[0-9A-Fa-f]{2}(?![0-9A-Fa-f])"),
        "hex",
        _hex,
    ),
)
