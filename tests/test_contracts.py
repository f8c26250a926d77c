"""Rules between modules that `lint-imports` cannot express: who calls what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import gitmem

_ROOT = Path(gitmem.__file__).parent
_MAY_WRITE_RETRACTIONS = (
    "memory/gate/",
    "memory/history/revert.py",
    "memory/sync/keeping.py",
    "memory/retraction.py",
)


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(_ROOT.rglob("*.py")):
        yield path.relative_to(_ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_only_the_gate_revert_and_sync_write_retractions() -> None:
    """Everybody may read them; `retract` and `set_state` are named elsewhere in no module."""
    writers = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "gitmem.memory.retraction"
            and {"retract", "set_state"} & {alias.name for alias in node.names}
        )
        or (
            isinstance(node, ast.Attribute)
            and node.attr in ("retract", "set_state")
            and isinstance(node.value, ast.Name)
            and node.value.id == "retraction"
        )
    }
    assert writers
    assert [] == [name for name in sorted(writers) if not name.startswith(_MAY_WRITE_RETRACTIONS)]
