"""What `import gitmem` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import gitmem
import pytest
from gitmem import errors


def test_the_public_names() -> None:
    """These and no others: a name that comes or goes is a decision."""
    assert gitmem.__all__ == [
        "BrokenConcept",
        "BundleBusy",
        "BundleNotFound",
        "BundleUnusable",
        "Config",
        "ConfigError",
        "FoundSomething",
        "GitMemError",
        "HotMemoryBuffer",
        "InvalidContent",
        "Memory",
        "NewerFormat",
        "Prefetch",
        "Session",
        "TooLarge",
        "UnknownRevision",
        "UnsafePath",
        "UsageError",
        "Wanted",
        "__version__",
        "context",
        "fence",
        "memorize_decision",
        "memorize_tool",
        "open",
        "sanitize",
    ]
    assert dir(gitmem) == gitmem.__all__


@pytest.mark.parametrize("name", gitmem.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """Each can be had, and is the same thing when it is asked for again."""
    assert getattr(gitmem, name) is getattr(gitmem, name)


def test_every_error_is_public() -> None:
    """Whoever catches one of them must be able to name it."""
    raised = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert raised <= set(gitmem.__all__)


def test_other_names_are_not_there() -> None:
    """A misspelled name is the usual error."""
    with pytest.raises(AttributeError, match="no attribute 'Bundel'"):
        gitmem.Bundel  # noqa: B018


def test_importing_gitmem_imports_nothing_else() -> None:
    """No module of weight is loaded before a name is used."""
    script = (
        "import sys; before = set(sys.modules); import gitmem; "
        "print(sorted(set(sys.modules) - before - {'__future__'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['gitmem', 'gitmem.version']\n"
