"""An answer of a tool as lines for a model: one line a hit, ids first. The words came out through the gate already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from gitmem.memory.gate.egress import CUT
from gitmem.okf.timestamps import parse

_SPANS = ((365 * 86400, "y"), (30 * 86400, "mo"), (86400, "d"), (3600, "h"), (60, "m"))
_SIGNS = {"add": "+", "remove": "-", "change": "~", "move": ">"}


def in_lines(tool: str, value: Mapping[str, Any], now: datetime) -> str:
    """The answer as text."""
    if "error" in value:
        return str(value["error"])
    return "\n".join(_FORMS[tool](value, now))


def _search(value: Mapping[str, Any], now: datetime) -> Iterable[str]:
    for hit in value["hits"]:
        yield hit if hit == CUT else _line(hit["id"], age(hit["at"], now), hit["session"], _text(hit))
    if not value["hits"]:
        yield "Nothing found."


def _fetch(value: Mapping[str, Any], now: datetime) -> Iterable[str]:
    path = value.get("path")
    yield _line(value["id"], path, age(value.get("at", ""), now), value.get("session"))
    if value.get("holds"):
        yield f"({value['holds']})"
    yield "".join(value["text"])
    if value.get("left_out"):
        yield f"({value['left_out']:,} characters more: ask for level=full, or for a part.)"


def _recall(value: Mapping[str, Any], now: datetime) -> Iterable[str]:
    for one in value["sessions"]:
        if one == CUT:
            yield CUT
            continue
        yield _line(one["session"], age(one["started"], now), one["agent"], one["title"])
        if one.get("recap"):
            yield f"  {_flat(one['recap'])}"
        for line in (*one.get("matches", ()), *one.get("lines", ())):
            yield f"  {line}" if line == CUT else f"  {_line(line['id'], _text(line))}"
        if one.get("left_out"):
            yield f"  ({one['left_out']} lines between the first and the last are left out.)"
    if not value["sessions"]:
        yield "No earlier session had to do with it."


def _history(value: Mapping[str, Any], now: datetime) -> Iterable[str]:
    for one in value.get("commits", ()):
        if one == CUT:
            yield CUT
            continue
        yield _line(one["commit"], age(one["at"], now), one["kind"], one["agent"], one["session"], _why(one))
        yield from (f"  {_change(change)}" for change in one["changes"])
        if one.get("more_changes"):
            yield f"  and {one['more_changes']} more"
    for one in value.get("entries", ()):
        if one == CUT:
            yield CUT
            continue
        since, written = age(one["since"], now), age(one["written"], now)
        when = since if since == written else f"{since}, reworded {written}"
        yield _line(one.get("id"), when, one["agent"], one["session"], one["commit"], _why(one), _text(one))
    if not value.get("commits") and not value.get("entries"):
        yield "Nothing of it holds now." if "entries" in value else "No change fits."


def _diff(value: Mapping[str, Any], _: datetime) -> Iterable[str]:
    yield from map(_change, value["changes"])
    left = value["count"] - len(value["changes"])
    if left > 0:
        yield f"and {left} more"
    if not value["count"]:
        yield "Nothing changed."


def _kept(value: Mapping[str, Any], _: datetime) -> Iterable[str]:
    told = ["Kept."] if value["success"] else ["Not kept."]
    if not value["success"] or str(value["message"]).startswith("Already"):
        told.append(_flat(value["message"]))
    if "usage" in value:
        told.append(f"The store is at {value['usage']}.")
    if value.get("note"):
        told.append(str(value["note"]))
    yield _line(value.get("id"), " ".join(told))


def _snapshot(value: Mapping[str, Any], _: datetime) -> Iterable[str]:
    yield f"{value['snapshot']} is commit {value['commit'][:12]}; the user goes back to it with `{value['undo']}`."


def _undo(value: Mapping[str, Any], _: datetime) -> Iterable[str]:
    if "confirm" not in value:
        yield f"Taken back: {value['changed']} changes; {value['kept']} stay because they were changed since."
        return
    yield f"This would take back {value['commits']} commits with {value['count']} changes:"
    yield from map(_change, value["preview"])
    yield f"Nothing has gone yet. If the user wants that, call again with confirm={value['confirm']}."


def _skills(value: Mapping[str, Any], _: datetime) -> Iterable[str]:
    if "text" in value:
        yield _line(value["name"], value["file"], value.get("unconfirmed"))
        yield "".join(value["text"])
        if value.get("next_offset"):
            yield f"(There is more: ask with offset={value['next_offset']}.)"
        if value["files"]:
            yield f"files: {', '.join(value['files'])}"
        return
    yield from value.get("categories", ())
    for one in value.get("skills", ()):
        yield one if one == CUT else f"{one['name']}: {one['description']}"
    if not value.get("categories") and not value.get("skills"):
        yield "There are no skills."


def _managed(value: Mapping[str, Any], _: datetime) -> Iterable[str]:
    yield value["message"]


_FORMS: Mapping[str, Callable[[Mapping[str, Any], datetime], Iterable[str]]] = {
    "search": _search,
    "fetch": _fetch,
    "recall": _recall,
    "session_search": _recall,
    "history": _history,
    "diff": _diff,
    "remember": _kept,
    "revise": _kept,
    "memory": _kept,
    "skill_manage": _managed,
    "skills": _skills,
    "snapshot": _snapshot,
    "undo": _undo,
}


def age(at: str, now: datetime) -> str:
    """Return how long ago something was, in a few characters; empty where that is not known."""
    moment = parse(at)
    if moment is None:
        return ""
    seconds = (now - moment).total_seconds()
    return next((f"{int(seconds // span)}{name}" for span, name in _SPANS if seconds >= span), "now")


def _change(change: Mapping[str, Any] | str) -> str:
    if isinstance(change, str):
        return change
    words = change["new"] if change["new"] is not None else change["old"]
    return f"{_SIGNS.get(change['op'], change['op'])} {change['path']}: {_mark(change)}{_flat(words or '')}"


def _why(one: Mapping[str, Any]) -> str:
    said = [f"why: {_flat(one['reason'])}"] if one.get("reason") else []
    said += [f"from {_flat(one['source'])}"] if one.get("source") else []
    return ", ".join(said)


def _text(one: Mapping[str, Any]) -> str:
    since = f" ({_flat(one['since_then'])})" if one.get("since_then") else ""
    held = f" ({one['holds']})" if one.get("holds") else ""
    return f"{_mark(one)}{_flat(one['text'])}{since}{held}"


def _mark(one: Mapping[str, Any]) -> str:
    """Return what a text is worth, where that is not what the memory holds."""
    marks = {"said": "said: ", "tool": f"tool output, untrusted ({one.get('source', '')}): "}
    unconfirmed = f"unconfirmed ({one['unconfirmed']}): " if one.get("unconfirmed") else ""
    return marks.get(one.get("rank", ""), "") + unconfirmed


def _line(*parts: object) -> str:
    return " · ".join(str(part) for part in parts if part)


def _flat(text: object) -> str:
    return " ".join(str(text).split())
