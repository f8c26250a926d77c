"""Remotes, as git's configuration has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from gitmem.git.git_settings import Remote, Remotes, set_merge_driver, set_values
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


def test_what_a_person_wrote_in_the_configuration_stays(repository: Repository, git: Git) -> None:
    """Comments, values with a semicolon and further keys of a remote outlive a change of ours."""
    git("config", "alias.both", "!f() { git status; git log; }; f")
    git("remote", "add", "origin", "/old")
    git("config", "remote.origin.pushurl", "/push")
    path = Path(repository.git_dir, "config")
    path.write_text("# mine\n" + path.read_text())
    remotes = Remotes(repository)

    remotes.save(Remote("origin", '/with "quotes" and # signs'))
    remotes.save(Remote("other", "/b", consent=True))
    remotes.save(Remote("origin", "/new; and back\\slash"))
    set_values(repository, {"core.autocrlf": "false", "gc.auto": "0"})
    set_merge_driver(repository, '"$(git rev-parse)" merge-driver')

    assert git("config", "alias.both") == "!f() { git status; git log; }; f"
    assert git("config", "--get-all", "remote.origin.url") == "/new; and back\\slash"
    assert git("config", "remote.origin.pushurl") == "/push"
    assert git("config", "merge.gitmem.driver") == '"$(git rev-parse)" merge-driver'
    assert path.read_text().startswith("# mine\n")
    assert remotes.get("other").consent

    remotes.remove("other")
    assert [remote.url for remote in remotes.all()] == ["/new; and back\\slash"]
