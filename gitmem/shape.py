"""Every result as JSON, by the table of shapes in `shapes.toml`. One thing has one name in all of them (docs/json.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

Json = Any

_NAMES = {"review.Item": "Pending"}
"""Shapes of classes whose names two modules have."""


# --- a result as JSON ------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A field of a shape, its type, and where a result has it; the fields of an `included` shape are the object's own."""

    name: str
    type: str
    path: str
    is_optional: bool
    is_included: bool


Shape = tuple[Field, ...]


def read_shape(row: Mapping[str, str]) -> Shape:
    """Read a shape as it is written in the table."""
    found = []
    for written, says in row.items():
        name, (kind, _, path) = written.strip("*~"), says.partition(" = ")
        found.append(Field(name, kind, path or name, written.endswith("~"), written.startswith("*")))
    return tuple(found)


@cache
def shapes() -> Mapping[str, Shape]:
    """Return every shape by its name."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "shapes.toml"), "rb") as file:
        return {name: read_shape(row) for name, row in tomllib.load(file).items()}


def shape(result: object, *, more: Collection[str] = ()) -> Json:
    """Give a result, or what lists and mappings hold of results, as JSON; `more` names optional fields."""
    if result is None or isinstance(result, bool | int | float | str):
        return result
    if isinstance(result, Mapping):
        return {str(name): shape(one, more=more) for name, one in result.items()}
    module, name = type(result).__module__.rpartition(".")[2], type(result).__name__
    name = _NAMES.get(f"{module}.{name}", name)
    if name in shapes():
        return _object(result, name, more)
    if isinstance(result, Iterable):
        return [shape(one, more=more) for one in result]
    return _text(result)


def _object(value: Any, name: str, more: Collection[str]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for field in shapes()[name]:
        if field.is_included:
            found |= _object(_at(value, field.path), field.type, more)
        elif not field.is_optional or field.name in more:
            found[field.name] = _as(_at(value, field.path), field.type, more)
    return found


def _as(value: Any, kind: str, more: Collection[str]) -> Json:
    """A value as JSON of a type; an empty text is null where the type may be."""
    if value is None or (kind.endswith("?") and value == ""):
        return None if kind.endswith("?") else ""
    kind = kind.removesuffix("?")
    if isinstance(value, Mapping) and kind[0] in "[{":
        return {str(name): _as(one, kind[1:-1], more) for name, one in value.items()}
    if kind[0] == "[":
        return [_as(one, kind[1:-1], more) for one in value]
    if kind in shapes():
        return _object(value, kind, more)
    return _text(value) if kind == "str" else shape(value, more=more)


def _at(value: Any, path: str) -> Any:
    """Return what a path of the table names."""
    if path.endswith(")"):
        name, _, argument = path[:-1].partition("(")
        return COMPUTED[name](_at(value, argument) if argument else value)
    for part in path.split(".") if path != "." else ():
        if part == "#":
            value = len(value)
        elif part.isdecimal():
            value = value[int(part)]
        elif part.startswith("@"):
            value = value.get(part[1:])
        else:
            value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, "")
        value = value() if callable(value) else value
    return value


def _text(value: object) -> str:
    from gitmem.okf.timestamps import stamp

    return stamp(value) if isinstance(value, datetime) else str(value)


# --- what is computed ------------------------------------------------------------------------------------


def _iso(seconds: float) -> str:
    from gitmem.okf.timestamps import of_seconds, stamp

    return stamp(of_seconds(seconds))


def _is_record(change: Any) -> bool:
    from gitmem.okf import layout

    return layout.is_record(change.path)


def _shown_url(remote: Any) -> str:
    from gitmem.git.remote_address import shown_url

    return shown_url(remote.url)


def _learned(changes: Iterable[Any]) -> Any:
    from gitmem.okf.learned import learned

    return learned(changes)


def _by_topic(digest: Any) -> dict[str, list[Any]]:
    from gitmem.memory.history.digest import TOPICS

    return {topic.lower().replace(" ", "_"): digest.of(topic) for topic in TOPICS}


def counts_by_file(changes: Iterable[Any]) -> list[Json]:
    """Return how many entries of each file were added, removed, changed and moved."""
    found: dict[str, Json] = {}
    for change in changes:
        row = found.setdefault(
            change.path, {"path": change.path, "counts": dict.fromkeys(COUNTED.values(), 0)}
        )
        row["counts"][COUNTED[change.op]] += 1
    return list(found.values())


def _base64(file: Any) -> str:
    import base64

    return "" if file.text is not None else base64.b64encode(file.data).decode()


def written_line(change: Any) -> str:
    """One line about an entry that a session wrote."""
    from gitmem.okf.plain import shortened

    return f"{change.op} in {change.path}: {shortened((change.new or change.old).text)}"


def knowledge(changes: Iterable[Any]) -> list[Any]:
    """Leave retractions out: they are bookkeeping."""
    return [change for change in changes if not change.path.startswith("retractions/")]


COUNTED = {"add": "added", "remove": "removed", "change": "changed", "move": "moved"}
_OF_A_SESSION = (
    "title", "status", "started", "ended", "source", "platform", "model", "agent", "machine", "parent",
    "type", "session", "counts", "generated",
)  # fmt: skip

COMPUTED: dict[str, Callable[[Any], Any]] = {
    "archived_texts": lambda done: [text for store in done.archived for text in store.texts],
    "base64": _base64,
    "by_file": counts_by_file,
    "by_topic": _by_topic,
    "chapter_kind": lambda one: "session" if one.session else one.entry.kind,
    "commit_ids": lambda one: [entry.id for entry in one.commits],
    "commit_oids": lambda done: [commit.oid for commit in done.commits],
    "content": lambda view: view.text if view.is_text else None,
    "counts": lambda state: state.concept.meta.get("counts") or {},
    "is_confirmed": lambda item: not item.unconfirmed,
    "is_record": _is_record,
    "iso": _iso,
    "knowledge": knowledge,
    "last_gc": lambda status: _iso(status.last_gc) if status.last_gc is not None else "",
    "learned": _learned,
    "more": lambda state: {k: v for k, v in state.concept.meta.items() if k not in _OF_A_SESSION},
    "session_title": lambda state: "" if state.get("title") == f"Session {state.id}" else state.get("title"),
    "shown_url": _shown_url,
    "unified": lambda diff: "".join(diff.unified()),
    "written": lambda one: [written_line(derived.change) for derived in one.wrote],
}
