"""Remotes, as git's configuration has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from gitmem.git.git_settings import Remotes
from gitmem.git.repository import Repository

from tests.git.support import Git


@pytest.mark.parametrize(
    "config",
    [
        "",
        "[core]\n\tbare = false\n",
        '[remote "origin"]\n\turl = /somewhere\n',
        '[Remote "origin"]\n\turl = /somewhere\n[REMOTE "b"]\n\turl = /b\n',
        "[include]\n\tpath = more\n",
    ],
)
def test_the_look_for_a_section_finds_what_git_finds(repository: Repository, git: Git, config: str) -> None:
    """Whether dulwich is asked or the file is plainly without remotes: the names are those of `git remote`."""
    Path(repository.git_dir, "config").write_text(config)
    Path(repository.git_dir, "more").write_text('[remote "included"]\n\turl = /c\n')

    assert git("remote").split() == sorted(remote.name for remote in Remotes(repository).all())
