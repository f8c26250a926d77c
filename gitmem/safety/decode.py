"""One layer of disguise taken off: what a text says once it is decoded, respelled or read backwards.

Buys "recovery of 10,000 events": every layer first looks for a cheap sign that it applies. A layer holds
only the stretches that decoding changed, with a little around them; nothing is decoded twice.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import lru_cache

from gitmem.safety.unicode import fold, latinise

_AROUND = 160  # characters kept on both sides of a stretch that was decoded
_LONG = 8000  # characters from which on a text is looked at by a sample first
_MAX_PIECES = 2000  # encoded pieces that are read in one text


@dataclass(frozen=True, slots=True)
class Layer:
    """A reading of a text: the folded text, how it was won, and the stretch of the original it came from."""

    name: str
    text: str
    span: tuple[int, int] | None = None  # None: somewhere in the text
    dense: bool = False  # written without spaces: only rules for squeezed text apply


def layers(text: str, folded: str, words: list[str], known: Container[str]) -> tuple[list[Layer], bool]:
    """The readings of a text beside the plain one, and whether there was more of it than could be read.

    `words` are the words of the folded text, `known` those that rules look for: where letters are
    guessed, a reading counts only if one of these comes out.
    """
    found: list[Layer] = []
    room = len(text) + 4000  # all readings together are about as long as the text: time stays linear
    for layer in _readings(text, folded, words, known):
        room -= len(layer.text)
        if room < 0 or len(found) >= _MAX_PIECES:
            return found, True
        found.append(layer)
    return found, False


def _readings(text: str, folded: str, words: list[str], known: Container[str]) -> Iterator[Layer]:
    if (latin := latinise(folded)) is not None:
        yield Layer("look-alike letters", latin)
        folded = latin
    if "_" in folded and folded.count("_") > folded.count(" ") + 2:
        folded = folded.replace("_", " ")
        yield Layer("underscores", folded)
    if "-\n" in folded and _BROKEN.search(folded):
        yield from _pieces("hyphenation", _BROKEN, lambda _: "", folded)
    odd: set[str] = set()
    if not folded.isascii() or _DIGIT.search(folded):
        odd = {word for word in set(words) if not word.isalpha() and not word.isdigit()}
    if "$" in folded or "@" in folded:
        odd.update(token.strip(_PUNCTUATION) for token in folded.split() if "$" in token or "@" in token)
    if any(_unleet(token) in known for token in odd):
        yield from _pieces("leet spelling", _LEET_WORD, lambda match: _unleet(match.group()), folded)
    try:
        lengths = bytes(map(len, words))
    except ValueError:  # a word of more than 255 letters
        lengths = bytes(min(len(word), 255) for word in words)
    longest = max(lengths, default=0)
    if b"\1\1\1\1\1" in lengths:
        yield from _spaced_out(text)
    if any(sign in folded for sign in _ROT13_SIGNS):
        yield Layer("rot13", codecs.encode(folded, "rot13"))
    if any(sign in folded for sign in _REVERSED_SIGNS):
        yield Layer("reversed", folded[::-1])
    if text.count("%") > 2:
        yield from _pieces("URL encoding", _PERCENT, _percent, text)
    if "&" in text:
        yield from _pieces("HTML entities", _ENTITY, _entity, text)
    if "\\" in text:
        yield from _pieces("escapes", _ESCAPE, _unescape, text)
        if "$'" in text:
            yield from _pieces("quoting of a shell", _SHELL_QUOTED, _shell_quoted, text)
    if "''" in text or '""' in text or "' +" in text or '" +' in text or "'+" in text or '"+' in text:
        yield from _pieces("pieces of a word", _JOINT, lambda _: "", text)
    if longest >= 12:
        for match in _RUN.finditer(text):
            for name, decode in (("base64", _base64), ("hex", _hex), ("base32", _base32)):
                if (decoded := decode(match.group())) is not None:
                    yield Layer(name, fold(decoded), match.span())
    if b"\2\2\2\2\2\2\2" in lengths:
        for match in _HEX_PAIRS.finditer(text):
            if (decoded := _hex(match.group())) is not None:
                yield Layer("hex", fold(decoded), match.span())


def _pieces(
    name: str, pattern: re.Pattern[str], decode: Callable[[re.Match[str]], str], text: str
) -> Iterator[Layer]:
    """The stretches of a text in which a pattern occurs, decoded, each with what stands around it."""
    start = end = -1
    if len(text) > _LONG and (first := pattern.search(text)):
        # Where it occurs all over, the whole is one stretch and is gone through once.
        sample = text[first.start() : first.start() + _LONG]
        if sum(1 for _ in pattern.finditer(sample)) * _AROUND > _LONG:
            yield Layer(name, fold(pattern.sub(decode, text)), (first.start(), len(text)))
            return
    for match in pattern.finditer(text):
        if start >= 0 and match.start() > end + 2 * _AROUND:
            yield _piece(name, pattern, decode, text, start, end)
            start = -1
        start = match.start() if start < 0 else start
        end = match.end()
    if start >= 0:
        yield _piece(name, pattern, decode, text, start, end)


def _piece(
    name: str,
    pattern: re.Pattern[str],
    decode: Callable[[re.Match[str]], str],
    text: str,
    start: int,
    end: int,
) -> Layer:
    piece = text[max(0, start - _AROUND) : end + _AROUND]
    return Layer(name, fold(pattern.sub(decode, piece)), (start, end))


def _readable(raw: bytes) -> str | None:
    """The bytes as text, if they look like a few words of it."""
    if len(raw) < 6:
        return None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    sample = text[:400]
    letters = sum(map(str.isalpha, sample))
    ordinary = sum(1 for char in sample if char.isprintable() or char in "\n\t\r")
    return text if ordinary == len(sample) and letters * 2 >= len(sample) else None


def _base64(run: str) -> str | None:
    if run.isdigit() or run.islower():
        return None
    run = run.rstrip("=")
    if len(run) % 4 == 1:
        return None
    if "-" in run or "_" in run:
        run = run.replace("-", "+").replace("_", "/")
    try:
        return _readable(binascii.a2b_base64(run + "=" * (-len(run) % 4)))
    except ValueError:  # binascii.Error is one
        return None


def _base32(run: str) -> str | None:
    run = run.rstrip("=")
    if not run.isupper():
        return None
    try:
        return _readable(base64.b32decode(run + "=" * (-len(run) % 8)))
    except ValueError:
        return None


def _hex(run: str) -> str | None:
    digits = run.removeprefix("0x")
    if digits.strip(_HEX_DIGITS):  # something else is in it
        digits = _HEX_SEPARATOR.sub("", digits)
        if digits.strip(_HEX_DIGITS):
            return None
    return _readable(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _percent(match: re.Match[str]) -> str:
    return bytes.fromhex(match.group().replace("%", "")).decode("utf-8", "replace")


def _entity(match: re.Match[str]) -> str:
    return _entity_of(match.group())


@lru_cache(maxsize=4096)
def _entity_of(written: str) -> str:
    name = written.strip("&;").lower()
    if not name.startswith("#"):
        return _NAMED[name]
    return _character(int(name[2:], 16) if name[1] == "x" else int(name[1:]))


def _unescape(match: re.Match[str]) -> str:
    return _unescaped(match.group())


@lru_cache(maxsize=4096)
def _unescaped(written: str) -> str:
    return _character(int(written.lstrip("\\uUxX{").rstrip("}"), 16))


def _shell_quoted(match: re.Match[str]) -> str:
    """Read `$'…'` of a shell, in which a letter may be a number: `\\x72`, `\\162`, `\\u0072`."""
    return _SHELL_ESCAPE.sub(
        lambda one: _character(int(one[2] or one[3], 16)) if one[2] or one[3] else _character(int(one[1], 8)),
        match.group()[2:-1],
    )


def _character(point: int) -> str:
    return chr(point) if point < 0x110000 else ""


def _unleet(word: str) -> str:
    return word.translate(_LEET_TABLE)


def _spaced_out(text: str) -> Iterator[Layer]:
    """Words written letter by letter: `i g n o r e`, `i.g.n.o.r.e`, `d]i[s]r[e]g[a]r[d`."""
    runs: list[str] = []

    def join(match: re.Match[str]) -> str:
        # Two or more blanks in a row part words, one parts letters.
        joined = _SEPARATORS.sub("", _WIDE_GAP.sub(_PARTED, match.group()))
        runs.append(joined.replace(_PARTED, ""))
        return joined.replace(_PARTED, " ")

    yield from _pieces("spacing", _SPACED, join, text)
    # Without wider gaps the words run together: `S a y t h a t` says `Saythat`.
    yield Layer("spacing", fold(" ".join(runs)), dense=True)


_DIGIT = re.compile("[0-9]")
_BROKEN = re.compile(r"-\n(?<=[^\W\d_]-\n)(?=[^\W\d_])")
_LEET_TABLE = str.maketrans("0134578@$!|", "oieastbasil")
_LEET_WORD = re.compile(r"(?<![a-z0-9@$!|./:#-])[a-z0-9@$!|]{2,24}(?![a-z0-9@$|/])")
_PUNCTUATION = ".,;:?\"'()[]{}<>*`"
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .\-_*|/~+\]\[]{1,3}[^\W_]){4,400}(?![^\W_])")
_WIDE_GAP = re.compile(r" {2,3}")
_PARTED = "\uff70"  # any letter that folding never meets here
_SEPARATORS = re.compile(r"[\W_]+")
_ROT13_SIGNS = ("rot13", "rot-13", "rot 13", " gur ", " lbh ", "vtaber", " naq ", "cebzcg", "vafgehpg")
_REVERSED_SIGNS = ("backwards", "erongi", "snoitcurtsni", " eht ", " uoy ", "tpmorp", "dragersid")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}){1,2000}")
_NAMED = {
    "lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'", "nbsp": " ", "colon": ":", "sol": "/", "period": ".",
}  # fmt: skip
_ENTITY = re.compile(rf"&#(\d{{2,7}});?|&#[xX]([0-9A-Fa-f]{{2,6}});?|&({'|'.join(_NAMED)});", re.IGNORECASE)
_ESCAPE = re.compile(r"\\u\{?[0-9A-Fa-f]{4,6}\}?|\\x[0-9A-Fa-f]{2}|\\U[0-9A-Fa-f]{8}")
_SHELL_QUOTED = re.compile(r"\$'(?:[^'\\\n]|\\[^\n]){1,400}'")
_SHELL_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4}))")
_JOINT = re.compile(r"""(?<=\w)(?:['"][ \t]?\+[ \t]?['"]|''|"")(?=\w)""")
_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,6}")
_HEX_PAIRS = re.compile(r"\b(?:[0-9A-Fa-f]{2}[ :,]){7,4000}[0-9A-Fa-f]{2}\b")
_HEX_DIGITS = "0123456789abcdefABCDEF"
_HEX_SEPARATOR = re.compile(r"[ :,]")
