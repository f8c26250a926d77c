"""What `import gitmem` offers, and what it costs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import gitmem
import pytest
from gitmem import errors


def test_the_public_names() -> None:
    """These and no others: a name that comes or goes is a decision."""
    assert dir(gitmem) == [
        "AsyncMemory",
        "AsyncSession",
        "BlockedContent",
        "BlockedSkill",
        "BrokenConcept",
        "BundleBusy",
        "BundleNotFound",
        "BundleUnusable",
        "Config",
        "ConfigError",
        "EndpointError",
        "FoundSomething",
        "GitMemError",
        "HotMemoryBuffer",
        "IndexTrouble",
        "InvalidContent",
        "Memory",
        "MemoryManager",
        "MemoryProvider",
        "MissingObject",
        "NewerFormat",
        "Prefetch",
        "Reader",
        "Refused",
        "RefusedFetch",
        "RefusedPush",
        "RemoteError",
        "RewrittenRemote",
        "Session",
        "StoreRefusal",
        "TooLarge",
        "UnknownRevision",
        "UnrelatedHistories",
        "UnsafePath",
        "UsageError",
        "__version__",
        "fence",
        "memorize_decision",
        "memorize_tool",
        "open",
        "open_async",
        "sanitize",
    ]
    everything: dict[str, object] = {}
    exec("from gitmem import *", everything)
    assert dir(gitmem) == sorted(everything.keys() - {"__builtins__"})


@pytest.mark.parametrize("name", dir(gitmem))
def test_every_public_name_is_there(name: str) -> None:
    """Each can be had, and is the same thing when it is asked for again."""
    assert getattr(gitmem, name) is getattr(gitmem, name)


def test_every_error_is_public_and_in_the_tree() -> None:
    """Whoever catches one can name it; all are defined in one place, and drawn there with their parents."""
    for module in walk_packages(gitmem.__path__, "gitmem."):
        if module.name != "gitmem.__main__":
            import_module(module.name)
    found = [errors.GitMemError]
    for each in found:
        found += [child for child in each.__subclasses__() if child.__module__.startswith("gitmem.")]
    assert {"gitmem.errors"} == {each.__module__ for each in found}
    assert {each.__name__ for each in found} <= set(dir(gitmem))

    drawn = dict[str, str]()
    above = list[str]()
    for line in inspect.cleandoc(errors.__doc__ or "").splitlines()[2:]:
        depth = (len(line) - len(line.lstrip("│├└─ "))) // 4
        name = line.lstrip("│├└─ ").split()[0]
        above[depth:] = [name]
        drawn[name] = above[depth - 1] if depth else "Exception"
    assert drawn == {each.__name__: each.__base__.__name__ for each in found if each.__base__}


def test_type_checkers_see_what_a_program_gets() -> None:
    """The names that are imported for type checkers are those that are loaded when they are used."""
    imports = [
        (each.module, name.name)
        for each in ast.walk(ast.parse(Path(gitmem.__file__).with_suffix(".pyi").read_text()))
        if isinstance(each, ast.ImportFrom) and each.module not in ("gitmem.errors", "gitmem.version")
        for name in each.names
    ]
    assert sorted(imports) == [
        (home, name) for name, home in sorted(vars(gitmem)["_HOMES"].items(), key=_by_home)
    ]


def _by_home(item: tuple[str, str]) -> tuple[str, str]:
    return item[1], item[0]


def test_other_names_are_not_there() -> None:
    """A misspelled name is the usual error."""
    with pytest.raises(AttributeError, match="no attribute 'Bundel'"):
        gitmem.Bundel  # type: ignore[attr-defined]  # noqa: B018


def test_importing_gitmem_imports_nothing_else() -> None:
    """No module of weight is loaded before a name is used."""
    script = (
        "import sys; before = set(sys.modules); import gitmem; "
        "print(sorted(set(sys.modules) - before - {'__future__'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['gitmem', 'gitmem.version']\n"
