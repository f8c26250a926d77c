"""Results for people: one renderer for each type of result."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

_Renderer = TypeVar("_Renderer", bound=Callable[..., None])
_RENDERERS: dict[str, Callable[..., None]] = {}
_MODULES = {
    "history": ("Digest", "Traced", "ShownSession", "ShownEntry"),
    "answers": ("Answer", "Facts", "FrozenBlock", "Status", "Item"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def renders(name: str) -> Callable[[_Renderer], _Renderer]:
    """Register the renderer of a type of result, by the name of its class."""

    def register(renderer: _Renderer) -> _Renderer:
        _RENDERERS[name] = renderer
        return renderer

    return register


def render(app: object, result: object, **view: Any) -> None:
    """Print a result for people."""
    name = type(result).__name__
    importlib.import_module(f"gitmem.cli.render.{_MODULE_OF[name]}")
    _RENDERERS[name](app, result, **view)
