"""Where in gitmem/ something is called, found in the source: what a table must not miss."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import gitmem

_ROOT = Path(gitmem.__file__).parent
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def call_sites(is_wanted: Callable[[ast.Call], bool]) -> set[str]:
    """The functions that make such a call, as `module:qualname`; what is defined inside one is part of it."""
    return {
        f"{module}:{function}"
        for module, tree in _modules().items()
        for function, body in _functions(tree)
        if any(isinstance(node, ast.Call) and is_wanted(node) for node in ast.walk(body))
    }


def called(call: ast.Call) -> str:
    """The last name of what is called: `commit` of `bundle.commit(…)`."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@cache
def names_used() -> set[str]:
    """Every name that some module uses, other than by defining or importing it."""
    return {
        node.id
        for tree in _modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


@cache
def _modules() -> dict[str, ast.Module]:
    return {
        ".".join(("gitmem", *path.relative_to(_ROOT).with_suffix("").parts)): ast.parse(path.read_bytes())
        for path in sorted(_ROOT.rglob("*.py"))
    }


def _functions(node: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.AST]]:
    """The functions of a module and of its classes, and its own body, which is called `<module>`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{inside}{child.name}.")
        else:
            yield (f"{inside}{child.name}" if isinstance(child, _FUNCTIONS) else f"{inside}<module>"), child
