"""Every type of result that has a renderer is rendered by the module that is named for it."""

from __future__ import annotations

import importlib
import re

import pytest
from gitmem.cli import render


@pytest.mark.parametrize("name", render._MODULE_OF)
def test_a_type_has_its_renderer(name: str) -> None:
    """The table names no type without one."""
    module = importlib.import_module(f"gitmem.cli.render.{render._MODULE_OF[name]}")
    assert callable(getattr(module, "tell" + re.sub("([A-Z])", r"_\1", name).lower()))
