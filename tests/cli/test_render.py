"""Every type of result that has a renderer is registered by the module that is named for it."""

from __future__ import annotations

import importlib

import pytest
from gitmem.cli import render


@pytest.mark.parametrize("name", render._MODULE_OF)
def test_a_type_has_its_renderer(name: str) -> None:
    """The table names no type without one."""
    importlib.import_module(f"gitmem.cli.render.{render._MODULE_OF[name]}")
    assert name in render._RENDERERS
