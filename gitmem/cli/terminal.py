"""Everything that reaches a terminal: made safe, coloured, paged, or as one JSON document.

Text goes in as plain strings and `Styled` pieces. Only this module makes escape sequences, after what
came in was made safe; so nothing from a file, a path or an author can act on a terminal.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from typing import IO, TYPE_CHECKING, NamedTuple

from gitmem.cli import ReaderGone

if TYPE_CHECKING:
    from subprocess import Popen

    from gitmem.memory.memory import Memory

# The patterns are compiled when the first text needs them: plain ASCII does not.

# Control characters, surrogates, line separators, variation selectors and every format character of
# Unicode, spelled out so that the answer does not depend on the Unicode version of the running Python.
_UNSAFE = (
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Where an invisible character is part of a picture or a letter, it is left alone: one that chooses the
# coloured form of an emoji, one that joins two of them, one that parts two Persian letters.
_PICTURE = "[\u00a9\u00ae\u2190-\u2bff\u3030-\u329f\U0001f000-\U0001faff]"
_HARMLESS = (
    f"(?<={_PICTURE})[\ufe0e\ufe0f]|(?:(?<={_PICTURE})|(?<=\ufe0f))\u200d(?={_PICTURE})"
    "|(?<=[\u0620-\u06ff])\u200c(?=[\u0620-\u06ff])"
)
# Letters of scripts that are written without spaces: a line may end behind each.
_WIDE = "\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uff60"
_PAGER_DEFAULTS = {"LESS": "FRX", "LV": "-c"}

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Styled(NamedTuple):
    """A piece of text in a style; the text is made safe like any other."""

    text: str
    style: str


Piece = str | Styled


bold, dim, red, green, yellow, cyan = (partial(Styled, style=style) for style in _CODES)


def safe(text: str, *, keep: str = "") -> str:
    """The text with every character that could act unseen shown instead; those in `keep` stay."""
    if text.isascii() and text.isprintable():
        return text
    harmless = {match.start() for match in re.finditer(_HARMLESS, text)} if not text.isascii() else ()

    def shown(match: re.Match[str]) -> str:
        char = match[0]
        return char if char in keep or match.start() in harmless else _shown(ord(char))

    return re.sub(_UNSAFE, shown, text)


def _shown(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python carries it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def to_json(value: object) -> str:
    """One JSON document, readable, without a character that could act on a terminal."""
    import json

    # Such characters, but for the line ends between them, are inside strings only, where their escape means the same.
    return re.sub(_UNSAFE, _json_escape, json.dumps(value, ensure_ascii=False, indent=2))


def _json_escape(match: re.Match[str]) -> str:
    import json

    char = match[0]
    return char if char == "\n" else json.dumps(char)[1:-1] if char != "\x7f" else r"\u007f"


def wants_colour(env: Mapping[str, str], stream: IO[str]) -> bool:
    """Colours are for terminals, and not for those who said no."""
    return stream.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb"


class Output:
    """Standard output of one command; or what would be written there into a file, which is given to `sink`."""

    def __init__(self, env: Mapping[str, str], sink: Callable[[str], object] | None = None) -> None:
        self._env, self._sink = env, sink
        self._pager: Popen[str] | None = None
        self._paged = False
        self.has_json = False
        """Whether the one document is out."""
        self._margin = ""
        self.is_json = False
        """Whether the command was asked for JSON: then nothing else is printed."""
        self.warning = ""
        """A warning for the reader of the answer; a JSON document has it as `warning`."""
        self.colour = sink is None and wants_colour(env, sys.stdout)

    def line(self, *pieces: Piece, between: str = "") -> None:
        """One line; a line end inside a piece is shown, not obeyed."""
        self._write(self._margin + between.join(self._rendered(piece, "\t") for piece in pieces) + "\n")

    @contextmanager
    def indented(self, margin: str) -> Iterator[None]:
        """Print everything meanwhile behind a margin."""
        before, self._margin = self._margin, self._margin + margin
        try:
            yield
        finally:
            self._margin = before

    def text(self, *pieces: Piece) -> None:
        """Text of several lines, unchanged; ended with a line end where it has none."""
        whole = "".join(self._rendered(piece, "\t\n") for piece in pieces)
        self._write(whole if whole.endswith("\n") or not whole else whole + "\n")

    @property
    def columns(self) -> int:
        """Return how wide the reader's screen is; 0 where there is none, and a line may be as long as it is."""
        if self._sink is not None or not sys.stdout.isatty():
            return 0
        named = self._env.get("COLUMNS", "")
        return int(named if named.isdecimal() else 0) or os.get_terminal_size(sys.stdout.fileno()).columns

    def block(self, *pieces: Piece, indent: str = "    ") -> None:
        """A text whose later lines are below its first: at its own line ends, and where a screen's line is full."""
        columns = self.columns
        for number, line in enumerate(
            _folded(pieces, width(indent), max(columns - width(self._margin), 20) if columns else 0)
        ):
            self.line(indent if number else "", *line)

    def json(self, value: object, *, more: Collection[str] = ()) -> None:
        """The one document of a command with `--json`; without it nothing."""
        if self.is_json:
            from gitmem.shape import shape

            self.has_json = True
            document = shape(value, more=more)
            told = {**document, "warning": self.warning} if self.warning else document
            _echo(to_json(told) + "\n", colour=False)

    def bytes(self, data: bytes) -> None:
        """Bytes exactly as they are, for a file or another program, never for a terminal."""
        self.close()
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def paged(self) -> None:
        """Send what follows through a pager, which leaves by itself where everything fits on the screen."""
        self._paged = bool(self.columns) and os.name == "posix" and self._env.get("TERM") != "dumb"

    def close(self) -> None:
        """Everything is out, and the pager, if any, was left by its reader."""
        if self._pager is not None:
            pager, self._pager = self._pager, None
            assert pager.stdin is not None
            try:
                pager.stdin.close()
            except BrokenPipeError:
                pass  # the reader has seen enough
            while True:
                try:
                    pager.wait()
                except KeyboardInterrupt:
                    continue  # for the pager to act on
                break
        self._paged = False

    def _rendered(self, piece: Piece, keep: str) -> str:
        if isinstance(piece, str):
            return safe(piece, keep=keep)
        text = safe(piece.text, keep=keep)
        if not self.colour or not text or not piece.style:
            return text
        start = f"\x1b[{_CODES[piece.style]}m"
        # Line by line: a pager forgets a colour at the end of a line.
        return "\n".join(f"{start}{part}\x1b[0m" if part else "" for part in text.split("\n"))

    def _write(self, text: str) -> None:
        if self.is_json:
            return
        if self._paged:
            self._paged = False
            self._start_pager()
        if self._sink is not None:
            self._sink(text)
        elif self._pager is None:
            _echo(text, colour=self.colour)
        else:
            assert self._pager.stdin is not None
            self._pager.stdin.write(text)

    def _start_pager(self) -> None:
        import shlex
        import shutil
        import subprocess

        wanted = self._env.get("PAGER")
        try:
            command = shlex.split("less" if wanted is None else wanted)
        except ValueError:
            command = []
        if command and command != ["cat"] and shutil.which(command[0]):
            self._pager = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                env={**_PAGER_DEFAULTS, **self._env},
                encoding="utf-8",
                errors="backslashreplace",
            )


def _folded(pieces: Sequence[Piece], indent: int, columns: int) -> list[list[Piece]]:
    """Lines of at most so many columns (0: any), all but the first behind an indent; words stay whole."""
    plain = (Styled(piece, "") if isinstance(piece, str) else piece for piece in pieces)
    joined = groupby((piece for piece in plain if piece.text), key=lambda piece: piece.style)
    styled = [Styled("".join(piece.text for piece in run), style) for style, run in joined]
    bounds = list(_bounds("".join(piece.text for piece in styled), indent, columns))
    lines: list[list[Piece]] = [[] for _ in bounds]
    number = at = 0
    for text, style in styled:
        while number < len(bounds):
            start, end = (max(bound - at, 0) for bound in bounds[number])
            if text[start:end]:
                lines[number].append(Styled(text[start:end], style))
            if end > len(text):
                break
            number += 1
        at += len(text)
    return lines


def _bounds(text: str, indent: int, columns: int) -> Iterator[tuple[int, int]]:
    """Yield the beginning and the end of each line; a gap at which a line is folded is in none."""
    start = end = used = 0
    for word in re.finditer(rf"\n|[^\S\n]+|[{_WIDE}]|[^\s{_WIDE}]+" if columns else r"\n|[^\n]+", text):
        taken = width(safe(word[0])) if columns else 0
        if word[0] == "\n" or (end > start and not word[0].isspace() and used + taken > columns > 0):
            yield start, end
            start = end = word.end() if word[0] == "\n" else word.start()
            used = indent
        if not word[0].isspace() or not columns:
            end = max(end, word.end())
        used += taken
    yield start, len(text)


def _echo(text: str, *, colour: bool) -> None:
    import click

    try:
        click.echo(text, nl=False, color=colour)
    except BrokenPipeError:
        raise ReaderGone from None


def complain(message: str, *, env: Mapping[str, str], prefix: str = "gitmem: ") -> None:
    """One line on standard error, however many the message has."""
    import click

    line = safe(" ".join(message.split()))
    colour = wants_colour(env, sys.stderr)
    click.echo(f"\x1b[1m{prefix}\x1b[0m{line}" if colour else prefix + line, err=True, color=colour)


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `3 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(number: int) -> str:
    """A number of bytes as people say it."""
    value = float(number)
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide characters take two, marks none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def cut(text: str, columns: int) -> str:
    """The text on one line of at most so many columns, with an ellipsis where it is longer."""
    line = safe(" ".join(text.split()))
    if width(line) <= columns:
        return line
    kept, used = 0, 1
    for char in line:
        used += width(char)
        if used > columns:
            break
        kept += 1
    return line[:kept].rstrip() + "…"


AGE = len("59 minutes ago")
"""Columns for the longest age, where what follows has a column of its own."""


def padded(text: str, columns: int) -> str:
    """The text with spaces behind it, so that what follows begins at the same column."""
    return text + " " * (columns - width(text))


# --- progress, on a terminal that is watched -------------------------------------------------------------

_AFTER = 1.0


@contextmanager
def indexing(bundle: Memory) -> Iterator[Memory]:
    """The bundle, for a block that reads its index: progress while it is built, the connection given back at the end."""
    began = drawn = time.monotonic()

    def draw(done: int, of: int) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - began >= _AFTER and now - drawn >= 0.1:
            drawn = now
            _status(f"indexing {done:,} of {of:,} commits …")

    if sys.stderr.isatty():
        bundle.index.progress = draw
    try:
        yield bundle
    finally:
        if drawn != began:
            _status("")
        bundle.index.close()


@contextmanager
def stages() -> Iterator[Callable[[str], None] | None]:
    """Takes a few words for what is under way, which are gone at the end; None where no terminal is."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        yield lambda stage: _status(f"{stage} …")
    finally:
        _status("")


def _status(text: str) -> None:
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()
