"""Changes of entries, for people: knowledge first, the record on request, counted in one closing line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gitmem.cli.output import Output, Piece, Styled, bold, cyan, dim, green, padded, red, safe, width, yellow

if TYPE_CHECKING:
    from gitmem.okf.entries import Change, Entry, Op
    from gitmem.okf.learned import Item, Learned
    from gitmem.shape import Json

_STYLES: dict[Op, str] = {"add": "green", "remove": "red", "change": "yellow", "move": "yellow"}
_COUNTED: dict[Op, str] = {"add": "added", "remove": "removed", "change": "changed", "move": "moved"}
_SIGNS: dict[Op, str] = {"add": "+", "remove": "-", "change": "~", "move": "~"}
_MARGIN, _DEEPER = "    ", "      "
_LABELS = {"body": "text", "meta": ""}
_SAID = {"observation": "noted: ", "decision": "decided: ", "held": "held back: ", "recalled": "recalled: "}
_LONGEST_WHY = 200


def tell(out: Output, changes: Iterable[Change], *, events: bool = False, stat: bool = False) -> None:
    """Print what was learned, by what it is; with `events` the record too, with `stat` only how much of it.

    Every command that shows changes shows them by this.
    """
    from gitmem.okf.learned import learned

    changes = list(changes)
    what = learned(changes)
    if stat:
        _tell_stat(out, changes, what, events=events)
    else:
        for heading, items in groupby(what.items, key=lambda item: item.heading):
            _tell_group(out, heading, list(items))
        if events:
            _tell_events(out, what.events)
    counted = what.record.told()
    if counted and not events:
        out.block(dim(f"… and {counted} (--events)" if what else f"Nothing learned; {counted} (--events)"))


def _tell_group(out: Output, heading: str, items: Sequence[Item]) -> None:
    where = f"  {items[0].path}" if items[0].noun == "fact" and items[0].path != heading else ""
    out.line(bold(heading), dim(where))
    for item in items:
        _tell_item(out, item)


def _tell_item(out: Output, item: Item) -> None:
    mark = Styled(f"  {item.sign} ", _STYLES[item.op])
    label = [cyan(f"{item.noun}: ")] if item.heading == item.path and item.title else []
    tail = _tail(item)
    if item.was:
        _changed(out, [mark, *label], item.was, item.title, tail, _MARGIN)
    else:
        text = item.title.rstrip("\n")
        out.block(
            mark, *label, Styled(text, _STYLES[item.op]) if item.op in ("add", "remove") else text, *tail
        )
    for line in item.lines:
        out.block(_MARGIN, dim(line.removeprefix("- ")), indent=_MARGIN + "    ")
    for change in item.parts:
        if change.key.id != "title" or change.op == "change":
            _tell_part(out, change)


def _tail(item: Item) -> list[Piece]:
    from gitmem.okf.plain import shortened

    told: list[Piece] = [dim(f"  ({shortened(item.about, _LONGEST_WHY)})")] if item.about else []
    return [*told, yellow("  unconfirmed")] if item.unconfirmed else told


def _tell_part(out: Output, change: Change) -> None:
    """Print the differences inside a file."""
    mark = Styled(f"{_MARGIN}{_SIGNS[change.op]} ", _STYLES[change.op])
    space = change.key.space
    name = _LABELS.get(space, "") or (change.key.id.replace("_", " ") if space == "meta" else "")
    label: list[Piece] = [cyan(f"{name}: ")] if name else []
    if change.op == "change" and change.old is not None and change.new is not None:
        _changed(out, [mark, *label], change.old.text, change.new.text, [], _DEEPER)
        return
    entry = change.new or change.old
    assert entry is not None
    if entry.kind != "binary":
        out.block(mark, *label, Styled(entry.text.rstrip("\n"), _STYLES[change.op]), indent=_DEEPER)


def _changed(out: Output, lead: list[Piece], old: str, new: str, tail: list[Piece], margin: str) -> None:
    if "\n" in old.strip("\n") and "\n" in new.strip("\n"):
        out.line(*lead, dim("lines changed"), *tail)
        for line in _line_diff(old, new):
            out.line(margin, line)
        return
    out.block(*lead, *told_words(out, old, new), *tail, indent=margin)


def told_words(out: Output, old: str, new: str) -> list[Piece]:
    """A text with the words that went and came."""
    from gitmem.okf.comparison import words

    return [
        piece for sign, text in words(old.strip("\n"), new.strip("\n")) for piece in _word(out, sign, text)
    ]


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


# The record


def _tell_events(out: Output, changes: Sequence[Change]) -> None:
    from gitmem.okf.layout import session_name

    places: dict[str, list[Change]] = {}
    for change in changes:
        places.setdefault(session_name(change.path) or change.path, []).append(change)
    for place, listed in places.items():
        listed.sort(key=_moment)  # a session's events are in a file for each process that recorded some
        page = next((one.new or one.old for one in listed if one.key.space == "concept"), None)
        of_session = bool(session_name(listed[0].path))
        named = page.text if page is not None and page.text not in ("", f"Session {place}") else ""
        if of_session:
            out.line(bold(f"Session {place}"), dim(f"  {named}" if named else ""))
        else:
            out.line(bold(place.removeprefix("hermes/observations/").removesuffix(".md").replace("_", " ")))
        for change in listed:
            if change.key.space == "event" or not of_session:
                _tell_event(out, change)


def _moment(change: Change) -> str:
    entry = change.new or change.old
    return entry.at if entry is not None else ""


def _tell_event(out: Output, change: Change) -> None:
    entry = change.new or change.old
    assert entry is not None
    mark = Styled(f"  {_SIGNS[change.op]} ", _STYLES[change.op])
    label, text = _said(entry)
    out.block(mark, cyan(label), Styled(text, _STYLES[change.op]) if change.op in ("add", "remove") else text)


def _said(entry: Entry) -> tuple[str, str]:
    """Return what happened, as people say it: a label, and the words."""
    fields = {name: str(value) for name, value in entry.extra.items()}
    if entry.kind == "turn" and fields:
        sides = (("user", fields.get("user", "")), ("agent", fields.get("assistant", "")))
        told = [f"{who}: {words}" for who, words in sides if words]
        return "", "\n".join(told)
    if entry.kind == "tool_call" and fields:
        result = f" → {fields['result']}" if fields.get("result") else ""
        return f"used {fields.get('tool_name', 'a tool')}: ", f"{fields.get('args', '')}{result}"
    words = fields.get("content") or fields.get("decision") or entry.text
    return _SAID.get(entry.kind, f"{entry.kind}: " if entry.kind else ""), words.rstrip("\n")


# How much


def stat(changes: Iterable[Change]) -> list[Json]:
    """Return how many entries came, went and changed, by file."""
    found: dict[str, Json] = {}
    for change in changes:
        row = found.setdefault(change.path, {"path": change.path, **dict.fromkeys(_COUNTED.values(), 0)})
        row[_COUNTED[change.op]] += 1
    return list(found.values())


def _tell_stat(out: Output, changes: Sequence[Change], what: Learned, *, events: bool) -> None:
    from gitmem.cli.output import count

    wanted = {path for item in what.items for path in (item.path, item.from_path)}
    wanted |= {change.path for change in what.events} if events else set()
    rows = stat(change for change in changes if change.path in wanted)
    columns = max((width(safe(row["path"])) for row in rows), default=0)
    for row in rows:
        counts: dict[Op, int] = {op: row[name] for op, name in _COUNTED.items() if row[name]}
        told = [Styled(f" {_SIGNS[op]}{number}", _STYLES[op]) for op, number in counts.items()]
        out.line(padded(safe(row["path"]), columns), " ", *told)
    total = sum(row[name] for row in rows for name in _COUNTED.values())
    if rows:
        out.line(dim(f"{count(total, 'change')} in {count(len(rows), 'file')}"))
