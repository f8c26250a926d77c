"""The tests of `make test` run against the built wheel, and the wheel is complete."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import gitmem
import pytest
from gitmem import resources

from tests.git.support import PROJECT

INSTALLED = Path(sysconfig.get_path("purelib"), "gitmem")

pytestmark = pytest.mark.skipif(
    "WHEEL_IS_INSTALLED" not in os.environ, reason="the source tree is tested: `make test` tests the wheel"
)


def test_the_wheel_is_what_is_tested(tmp_path: Path) -> None:
    """Here and in a process of its own, gitmem comes from site-packages."""
    code = "import gitmem; print(gitmem.__file__)"
    for directory in (None, tmp_path):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=directory
        )
        assert str(INSTALLED / "__init__.py") == done.stdout.strip()
    assert INSTALLED / "__init__.py" == Path(gitmem.__file__)


@pytest.mark.parametrize("kind", ["hooks", "templates"])
def test_the_wheel_carries_hooks_and_templates(kind: str) -> None:
    """Each file of the source tree is under `_data`, byte for byte, and there gitmem looks for it."""
    carried = INSTALLED / "_data" / kind
    assert str(carried) == resources.directory(kind)
    wanted = _files(PROJECT / kind)
    assert wanted
    assert wanted == _files(carried)


def test_the_wheel_has_every_module() -> None:
    """No module is forgotten, none is left from a version before, and data files come along."""
    installed = {path: data for path, data in _files(INSTALLED).items() if not path.startswith("_data/")}
    assert _files(PROJECT / "gitmem") == installed


def _files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
