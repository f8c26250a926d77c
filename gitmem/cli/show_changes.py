"""Changes of entries, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from gitmem.cli.output import Output, Piece, Styled, bold, cyan, dim, green, padded, red, safe, width

if TYPE_CHECKING:
    from gitmem.json_shapes import Json
    from gitmem.okf.entries import Change, Entry, Op

_MARKS = {"add": "+", "remove": "-", "change": "~", "move": ">"}
_STYLES = {"add": "green", "remove": "red", "change": "yellow", "move": "cyan"}
_COUNTED: dict[Op, str] = {"add": "added", "remove": "removed", "change": "changed", "move": "moved"}
_MARGIN = "    "


def tell(out: Output, changes: Iterable[Change]) -> None:
    """Print changes, grouped by file."""
    for path, group in groupby(changes, key=lambda change: change.path):
        out.line(bold(path))
        for change in group:
            _tell_one(out, change)


def _tell_one(out: Output, change: Change) -> None:
    entry = change.new or change.old
    assert entry is not None
    mark = Styled(f"  {_MARKS[change.op]} ", _STYLES[change.op])
    label = _label(entry)
    if change.op == "move":
        _block(out, [mark, *label, dim(f"from {change.from_path}: "), entry.text])
    elif change.op == "change":
        assert change.old is not None
        assert change.new is not None
        _changed(out, mark, label, change.old.text, change.new.text)
    else:
        _block(out, [mark, *label, Styled(entry.text.rstrip("\n"), _STYLES[change.op])])


def _label(entry: Entry) -> list[Piece]:
    """What kind of entry it is, where the text alone does not say."""
    space = entry.key.space
    if space == "meta":
        return [cyan(f"{entry.key.id}: ")]
    if space in ("concept", "event") and entry.kind:
        return [cyan(f"{entry.kind}: ")]
    return [cyan("body: ")] if space == "body" else []


def _changed(out: Output, mark: Piece, label: list[Piece], old: str, new: str) -> None:
    if "\n" in old.strip("\n") and "\n" in new.strip("\n"):
        out.line(mark, *label, dim("lines changed"))
        for line in _line_diff(old, new):
            out.line(_MARGIN, line)
        return
    from gitmem.okf.comparison import words

    pieces: list[Piece] = [mark, *label]
    for sign, text in words(old.strip("\n"), new.strip("\n")):
        pieces += _word(out, sign, text)
    _block(out, pieces)


def _word(out: Output, sign: str, text: str) -> list[Piece]:
    """A run of words that came or went; without colours in the brackets of git's word diff."""
    if sign == " ":
        return [text]
    core = text.lstrip()
    gap = text[: len(text) - len(core)]
    style = green if sign == "+" else red
    if out.colour:
        return [gap, style(core)]
    return [gap, f"[-{core}-]" if sign == "-" else f"{{+{core}+}}"]


def _line_diff(old: str, new: str) -> Iterator[Piece]:
    import difflib

    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1)
    yield from (coloured(line) for line in lines if not line.startswith(("---", "+++", "@@")))


def coloured(line: str) -> Piece:
    """One line of a unified diff in its colour."""
    if line.startswith(("--- ", "+++ ")):
        return bold(line)
    style = {"+": green, "-": red, "@": cyan}.get(line[:1])
    return style(line) if style else line


def _block(out: Output, pieces: list[Piece]) -> None:
    """A text of several lines, the later ones under the first."""
    out.text(
        *(
            piece.replace("\n", "\n" + _MARGIN)
            if isinstance(piece, str)
            else Styled(piece.text.replace("\n", "\n" + _MARGIN), piece.style)
            for piece in pieces
        )
    )


def stat(changes: Iterable[Change]) -> list[Json]:
    """How many entries came, went and changed, by file."""
    found: list[Json] = []
    for path, group in groupby(changes, key=lambda change: change.path):
        ops = [change.op for change in group]
        found.append({"path": path, **{name: ops.count(op) for op, name in _COUNTED.items()}})
    return found


def tell_stat(out: Output, rows: list[Json]) -> None:
    columns = max((width(safe(row["path"])) for row in rows), default=0)
    for row in rows:
        counts = {op: row[name] for op, name in _COUNTED.items() if row[name]}
        told = [Styled(f" {_MARKS[op]}{number}", _STYLES[op]) for op, number in counts.items()]
        out.line(padded(safe(row["path"]), columns), " ", *told)
