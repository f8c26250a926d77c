"""Every fast path says which figure it buys, and the figure is one that is measured."""

from __future__ import annotations

import re
from pathlib import Path

import gitmem

from tests.git.support import PROJECT

_ROOT = Path(gitmem.__file__).parent
_BUYS = re.compile(r'Buys "([^"]+)"')


def test_every_figure_that_is_bought_is_measured() -> None:
    """What a comment says that it buys is named in docs/performance.md, word for word."""
    figures = " ".join((PROJECT / "docs" / "performance.md").read_text(encoding="utf-8").split())
    bought = {
        (path.relative_to(_ROOT).as_posix(), figure)
        for path in _ROOT.rglob("*.py")
        for figure in _BUYS.findall(path.read_text(encoding="utf-8"))
    }
    assert len(bought) > 30
    assert set() == {(path, figure) for path, figure in bought if figure not in figures}
