"""docs/json-schema.json, made from the table of shapes, and a check of documents against it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitmem.shape import Shape, read_shape, shapes

PATH = Path(__file__).parents[2] / "docs/json-schema.json"

DOCUMENTS: dict[str, str] = {
    "init": "{bundle: str, git_dir: str, made: bool, commit: str}",
    "trust": "{bundle: str}",
    "status": "Status",
    "digest": "Digest",
    "import": "Imported",
    "export": "Exported",
    "erase": "Erased",
    "remember": "Answer",
    "replace": "Answer",
    "forget": "Answer",
    "facts": "Facts | FrozenBlock | {id: str, pinned: bool}",
    "note": "{path: str, commit: str?}",
    "edit": "{path: str, commit: str?}",
    "commit": "{commits: [LogEntry]}",
    "record": "Event | {recorded: int, skipped: int, problems: [str], commit: str}",
    "session start": "{session: str, started: str, resumed: bool}",
    "session end": "{session: str, commit: str?}",
    "plan create": "Plan",
    "plan step": "Plan",
    "plan complete": "Plan",
    "plan list": "{plans: [Plan]}",
    "log": "{sessions~: [Chapter], commits: [LogEntry]}",
    "show": "ShownCommit | ShownSession | ShownEntry | Pending | Reading | ShownFile | ShownDirectory | ShownSnapshot",
    "diff": "Diff | Pending",
    "blame": "{path: str, entries: [Blamed]} | ShownEntry | ShownSession | Pending | Reading | ShownCommit | ShownSnapshot",
    "why": "Traced | ShownEntry | ShownSession | Pending | Reading | ShownCommit | ShownSnapshot",
    "search": "Found",
    "recall": "Recalled | {sessions: [About]} | Reading",
    "snapshot": "Snapshot | {*gone: Snapshot, deleted_on: [str]} | {snapshots: [Snapshot]}",
    "restore": "Restored",
    "revert": "Reverted",
    "undo": "Reverted | {undoable: [Undoable]}",
    "redo": "Reverted",
    "remote add": "Remote",
    "remote list": "{remotes: [Remote]}",
    "remote remove": "Remote",
    "remote forget": "Remote",
    "remote confirm": "{machine: str, is_own: bool}",
    "sync": "Synced | {synced: [Synced]} | {started_remotes: [str]} | {file: str, commit_count: int}",
    "fold": "Synced | {main: str, branch_count: int, waiting_branches: [str]} | {forgotten: str}",
    "clone": "{bundle: str, commit: str, held: [str], steps: [any]}",
    "scan": "{flagged: [Flagged]}",
    "review": "{waiting: [Pending]} | Pending | Decided | ShownEntry | ShownSession | Reading | ShownCommit | ShownSnapshot",
    "skill create": "SkillWrite",
    "skill edit": "SkillWrite",
    "skill patch": "SkillWrite",
    "skill write-file": "SkillWrite",
    "skill remove-file": "SkillWrite",
    "skill delete": "SkillWrite",
    "skill list": "{skills: [ListedSkill]} | {prompt: str}",
    "skill show": "SkillView",
    "skill check": "{verdict: str, findings: [SkillFinding]}",
    "skill used": "{name: str, event: str?, uses: int, failed: int, failing: bool}",
    "connect": "Steps | {directory: str, written: [str]}",
    "disconnect": "Steps | {directory: str}",
    "connections": "{connections: [Connection], directories: [str]}",
    "check": "{ok: bool, problems: [Problem], commit_count: int, file_count: int}",
    "config": "Settings | Setting",
    "gc": "{ran: bool, by: str?, before: Weight?, after: Weight?}",
}
"""The document of each command: shapes, or an object `{name: type}`, with the types of `gitmem/shapes.toml`."""

BESIDE: dict[str, str] = {
    "Connection": "agent: str, ok: bool, checks: [ConnectionCheck]",
    "ConnectionCheck": "name: str, ok: bool, what: str, remedy: str?",
    "Flagged": "where: str, *result: Result",
    "Error": "error: str, hint: str?, exit_code: int",
    "Event": "event: str?, commit: str",
    "Decided": "id: str, kind: str, decided: str, commit: str?",
    "Setting": "key: str, value: any, origin: str, help: str",
    "Settings": "settings: [Setting]",
    "Problem": "check: str, serious: bool, what: str, remedy: str, fixable: bool, fixed: str",
}
"""Shapes of documents that a command puts together itself."""


def schema() -> dict[str, Any]:
    """JSON Schema of every document, made from the tables."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What gitmem prints with --json",
        "description": "By command. Any document may also have `warning`, a sentence. An error is the shape `Error`. What is"
        " not there is null; dates are ISO 8601 in UTC.",
        "type": "object",
        "properties": {command: _union(text) for command, text in DOCUMENTS.items()},
        "$defs": {name: _object(row) for name, row in _ROWS.items()},
    }


def _union(text: str) -> dict[str, Any]:
    parts = text.split(" | ")
    found = [_object(_row(part[1:-1])) if part.startswith("{") else _type(part) for part in parts]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _row(text: str) -> Shape:
    return read_shape(dict(part.split(": ") for part in text.split(", ")))


def _object(shape: Shape) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field in shape:
        if field.is_included:
            inner = _object(_ROWS[field.type])
            properties |= inner["properties"]
            required += inner["required"]
            continue
        properties[field.name] = _type(field.type)
        required += [] if field.is_optional else [field.name]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _type(kind: str) -> dict[str, Any]:
    may_be_null, kind = kind.endswith("?"), kind.removesuffix("?")
    if kind in _PLAIN:
        name = _PLAIN[kind]
        return {} if name == "any" else {"type": [name, "null"] if may_be_null else name}
    if kind.startswith("{"):
        found: dict[str, Any] = {"type": "object", "additionalProperties": _type(kind[1:-1])}
    elif kind.startswith("["):
        found = {"type": "array", "items": _type(kind[1:-1])}
    else:
        assert kind in _ROWS, kind
        found = {"$ref": f"#/$defs/{kind}"}
    return {"anyOf": [found, {"type": "null"}]} if may_be_null else found


_ROWS = {**shapes(), **{name: _row(text) for name, text in BESIDE.items()}}
_PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "any": "any"}
SCHEMA: dict[str, Any] = schema()
_KNOWN = {
    "$ref", "type", "enum", "anyOf", "items", "properties", "required", "additionalProperties", "description",
}  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def problems(value: Any, schema: dict[str, Any], where: str = "") -> Iterator[str]:
    """What about a value is not as the schema says."""
    assert schema.keys() <= _KNOWN, f"the test does not know {schema.keys() - _KNOWN}"
    if "$ref" in schema:
        yield from problems(value, resolved(schema), where)
        return
    if "anyOf" in schema:
        tried = [list(problems(value, one, where)) for one in schema["anyOf"]]
        if all(tried):
            yield from min(tried, key=len)
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, none of {schema['enum']}"
    if not _is_of(value, schema.get("type")):
        yield f"{where} is {value!r}, not {schema['type']}"
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from problems(one, schema.get("items", {}), f"{where}[{number}]")
    elif isinstance(value, dict):
        yield from _inside(value, schema, where)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that is meant."""
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    return found


def _inside(value: dict[str, Any], schema: dict[str, Any], where: str) -> Iterator[str]:
    known, other = schema.get("properties", {}), schema.get("additionalProperties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}.{name} is not there"
    for name, one in value.items():
        if name not in known and other is False:
            yield f"{where}.{name} is not in the schema: add it to docs/json-schema.json"
        else:
            yield from problems(one, known.get(name, other or {}), f"{where}.{name}")


def _is_of(value: Any, wanted: str | list[str] | None) -> bool:
    if wanted is None:
        return True
    names = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _TYPES[name]) for name in names)
