"""Results for people: the renderer of a type of result is called `tell_` and its name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

_MODULES = {
    "answers": "Answer Erased Exported Facts FrozenBlock Imported Item Plan Remote SkillView SkillWrite Status Steps",
    "changes": "Diff Restored Reverted ShownCommit ShownSnapshot Snapshot Synced",
    "found": "About Found Reading Recalled",
    "history": "Blamed Digest LogEntry ShownDirectory ShownEntry ShownFile ShownSession Traced Undoable",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


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
    module = importlib.import_module(f"gitmem.cli.render.{_MODULE_OF[name]}")
    getattr(module, "tell_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())(app, result, **view)
