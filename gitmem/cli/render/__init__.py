"""Results for people: one renderer for each type of result."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_Renderer = TypeVar("_Renderer", bound=Callable[..., None])
_RENDERERS: dict[str, Callable[..., None]] = {}
_MODULES = {
    "answers": "Answer Erased Exported Facts FrozenBlock Imported Item Plan Remote SkillView SkillWrite Status Steps",
    "changes": "Diff Restored Reverted ShownCommit ShownSnapshot Snapshot Synced",
    "found": "About Found Reading Recalled",
    "history": "Blamed Digest LogEntry ShownDirectory ShownEntry ShownFile ShownSession Traced Undoable",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


def renders(name: str) -> Callable[[_Renderer], _Renderer]:
    """Register the renderer of a type of result, by the name of its class."""

    def register(renderer: _Renderer) -> _Renderer:
        _RENDERERS[name] = renderer
        return renderer

    return register


def render(app: Any, result: object, *, none: str = "", **view: Any) -> None:
    """Print a result for people; of a document what it lists, or `none` where it lists nothing."""
    if isinstance(result, Mapping):
        listed = [one for value in result.values() if isinstance(value, list | tuple) for one in value]
        for one in listed:
            render(app, one, **view)
        if none and not listed:
            app.out.line(none)
        return
    name = type(result).__name__
    importlib.import_module(f"gitmem.cli.render.{_MODULE_OF[name]}")
    _RENDERERS[name](app, result, **view)
