"""As much of JSON Schema as docs/json-schema.json uses: whether a document is what its command promises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATH = Path(__file__).parents[2] / "docs/json-schema.json"
SCHEMA: dict[str, Any] = json.loads(PATH.read_text())
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
