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


_MAY_ASK_THE_WORLD = ("cli/", "hosts/", "world.py", "__main__.py")
_THE_WORLD = {
    ("os", "environ"),
    ("os", "getenv"),
    ("os", "getcwd"),
    ("path", "expanduser"),
    ("Path", "home"),
    ("Path", "cwd"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("date", "today"),
    ("time", "time"),
}


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


def test_the_environment_the_home_the_clock_and_print_come_from_outside() -> None:
    """`cli/`, `hosts/` and `world.py` read them and hand them in; no other module asks by itself."""
    found = set()
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                holder = (
                    node.value.attr
                    if isinstance(node.value, ast.Attribute)
                    else getattr(node.value, "id", "")
                )
                if (holder, node.attr) in _THE_WORLD:
                    found.add((name, f"{holder}.{node.attr}"))
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
                found.add((name, "print"))
    assert {"world.py"} <= {name for name, _ in found}
    assert [] == sorted(one for one in found if not one[0].startswith(_MAY_ASK_THE_WORLD))


def test_texts_go_in_and_out_of_the_pure_rooms() -> None:
    """`text`, `okf` and `safety` open no file; their data is read through `resources`."""
    opened = {
        name
        for name, tree in modules()
        if name.startswith(("text/", "okf/", "safety/"))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (
            getattr(node.func, "id", "") == "open"
            or (
                isinstance(node.func, ast.Attribute)
                and node.func.attr in ("read_text", "read_bytes", "listdir")
            )
        )
    }
    assert set() == opened


def test_every_notice_has_its_words_and_every_sentence_a_notice() -> None:
    """A kind without words would fail when it is shown; words without a caller are never shown."""
    from gitmem.notices import WORDS

    calls = [
        node.args[0]
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Notice"
    ]
    named = {one.value for call in calls for one in ast.walk(call) if isinstance(one, ast.Constant)}
    assert set(WORDS) == named
