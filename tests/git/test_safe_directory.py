"""Whose directories gitmem works on, and through which program it calls git."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import gitmem
import pytest
from gitmem.errors import BundleUnusable
from gitmem.git.git_directory import open_repository
from gitmem.git.repository import Repository
from gitmem.world import World

_NOBODY = 65534
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)


@pytest.fixture
def foreign(repository: Repository) -> str:
    """A repository of another user."""
    os.chown(repository.root, _NOBODY, _NOBODY)
    return repository.root


@as_root
def test_a_directory_of_another_user_is_refused(foreign: str) -> None:
    """The sentence names the directory, the hint how to allow it."""
    with pytest.raises(BundleUnusable, match="belongs to another user") as refused:
        open_repository(foreign)
    assert f"set GITMEM_SAFE_DIRECTORY to {foreign}" in refused.value.hint
    with pytest.raises(BundleUnusable):  # whoever called sudo owns it, and that is not root's caller
        open_repository(foreign, World({"SUDO_UID": "1000"}))


@as_root
@pytest.mark.parametrize("how", ["star", "variable", "sudo"])
def test_it_can_be_allowed(foreign: str, how: str) -> None:
    """By a variable, and for the caller of sudo."""
    named = "*" if how == "star" else f"/elsewhere{os.pathsep}{foreign}"
    env = {"SUDO_UID": str(_NOBODY)} if how == "sudo" else {"GITMEM_SAFE_DIRECTORY": named}
    assert open_repository(foreign, World(env)).root == foreign


def test_git_is_called_in_one_place() -> None:
    """Only `git_program.command` makes the words of a call, so that every call leaves the bundle's configuration out."""
    found = set()
    top = Path(gitmem.__file__).parent
    for file in top.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            words = (
                [each.value for each in node.elts if isinstance(each, ast.Constant)]
                if isinstance(node, ast.List)
                else []
            )
            if words[:1] == ["git"] and words != ["git", "dulwich"]:  # those are the names of the transports
                found.add(file.relative_to(top).as_posix())
    assert found == {"git/git_program.py"}
