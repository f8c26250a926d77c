"""Every command has help, and docs/cli.md knows every command."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from gitmem.cli.main import COMMANDS, cli

from tests.git.support import plain_environment

DOCS = Path(__file__).parents[2] / "docs/cli.md"


def _commands(
    command: click.Command, context: click.Context, path: str = ""
) -> Iterator[tuple[str, click.Command]]:
    if path:
        yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            if not inner.hidden:
                child = click.Context(inner, info_name=name, parent=context)
                yield from _commands(inner, child, f"{path} {name}".strip())


ALL = dict(_commands(cli, click.Context(cli, info_name="gitmem")))


@pytest.mark.parametrize("path", ALL)
def test_a_command_has_help(path: str) -> None:
    """Help is a sentence, and so is the help of each option."""
    command = ALL[path]
    assert command.help
    assert command.help.split("\n\n")[0].strip().endswith(".")
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name


@pytest.mark.parametrize("path", ALL)
def test_a_command_is_in_the_docs(path: str) -> None:
    """With an example."""
    text = DOCS.read_text()
    assert re.search(rf"^    .*\bgitmem {re.escape(path)}\b", text, re.MULTILINE) or isinstance(
        ALL[path], click.Group
    )
    if " " not in path:
        assert f"\n### gitmem {path}\n" in text


def test_the_docs_know_no_other_command() -> None:
    """A command that went is gone from the docs too."""
    headings = re.findall(r"^### gitmem (.+)$", DOCS.read_text(), re.MULTILINE)
    assert sorted(headings) == sorted(COMMANDS)


def test_no_page_names_a_command_that_does_not_exist() -> None:
    """A specification must not promise what is not there."""
    for page in (*DOCS.parent.glob("*.md"), *DOCS.parents[1].glob("*.md")):
        assert set(re.findall(r"`gitmem ([a-z][a-z-]*)", page.read_text())) <= set(COMMANDS), page


def test_options_in_the_docs_exist() -> None:
    """Every long option in an example is one that its command takes."""
    for line in re.findall(r"^    \$ (?:.*\| )?gitmem (.+)$", DOCS.read_text(), re.MULTILINE):
        words = line.split()
        path = " ".join(words[:2]) if " ".join(words[:2]) in ALL else words[0]
        taken = {name for option in ALL[path].params for name in option.opts}
        if isinstance(ALL[path], click.Group):  # `snapshot NAME` is short for a command inside
            continue
        assert {word for word in words if word.startswith("--")} <= taken, line


def test_the_first_minute_runs_when_pasted(tmp_path: Path) -> None:
    """Every command of the README's first block works in a fresh directory, and shows what the README shows."""
    text = (DOCS.parents[1] / "README.md").read_text()
    block = text.partition("```console\n")[2].partition("```")[0]
    pasted = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    call = f'gitmem() {{ {shlex.quote(sys.executable)} -P -m gitmem "$@"; }}'
    done = subprocess.run(
        ["bash", "-euc", "\n".join([call, *pasted])],
        cwd=tmp_path,
        env={**plain_environment(), "HOME": str(tmp_path), "GITMEM_MACHINE": "laptop", "LC_ALL": "C.UTF-8"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    shown = [line for line in block.splitlines() if not line.startswith("$ ")]
    assert shown
    assert [] == [line for line in shown if line not in done.stdout]
