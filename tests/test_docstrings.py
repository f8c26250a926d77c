"""Docstrings are imperative sentences or noun phrases; a public class has a name of its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import gitmem

_TOP = Path(gitmem.__file__).parent
_QUESTION = re.compile(r"(What|Whether|Where|Who|Whom|Whose|Which|How|When)\b")


def test_no_docstring_begins_with_a_question_word() -> None:
    """ "Return whether …", "Result of …": a reader sees at once what a function does and what a class is."""
    found = [
        f"{path.relative_to(_TOP)}: {said.splitlines()[0]}"
        for path in sorted(_TOP.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (said := ast.get_docstring(node))
        and _QUESTION.match(said)
    ]
    assert [] == found


def test_no_public_class_name_has_two_meanings() -> None:
    """A name that is found in one module is not another thing in the next."""
    homes: dict[str, list[str]] = {}
    for path in sorted(_TOP.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(_TOP)))
    assert {} == {name: where for name, where in homes.items() if len(where) > 1}
