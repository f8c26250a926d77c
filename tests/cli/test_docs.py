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


def test_the_docs_know_no_other_command() -> None:
    """A command that went is gone from the docs too."""
    named = re.findall(r"^    (?:.*\| |\$ )?gitmem ([a-z-]+)", DOCS.read_text(), re.MULTILINE)
    assert set(named) == set(COMMANDS)


def test_no_page_names_a_command_that_does_not_exist() -> None:
    """A specification must not promise what is not there."""
    for page in (*DOCS.parent.glob("*.md"), *DOCS.parents[1].glob("*.md")):
        assert set(re.findall(r"`gitmem ([a-z][a-z-]*)", page.read_text())) <= set(COMMANDS), page


PAGES = [*sorted(DOCS.parent.glob("*.md")), DOCS.parents[1] / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_in_the_docs_exist(page: Path) -> None:
    """Every command in an example is one that there is, and takes the long options that it is given."""
    for line in re.findall(
        r"^(?:    (?:\$ )?|\$ )(?:.*\| )?(?:hermes )?gitmem ([a-z][^#\n]*)", page.read_text(), re.MULTILINE
    ):
        words = line.split()
        path = " ".join(words[:2]) if " ".join(words[:2]) in ALL else words[0]
        taken = {name for option in ALL[path].params for name in option.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= taken, line


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


def test_links_between_pages_lead_somewhere() -> None:
    """The file is there, and the heading."""
    top = DOCS.parents[1]
    pages = {page.resolve(): page.read_text() for page in (*top.glob("*.md"), *DOCS.parent.glob("*.md"))}
    dead = []
    for page, text in pages.items():
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, heading = link.partition("#")
            to = (page.parent / file).resolve() if file else page
            headings = re.findall(r"^#+ (.+)$", pages.get(to, ""), re.MULTILINE)
            names = {re.sub(r"[^\w -]", "", one).strip().lower().replace(" ", "-") for one in headings}
            if "://" not in link and not (to.exists() and (not heading or heading in names)):
                dead.append((page.name, link))
    assert [] == dead


def _named() -> Iterator[tuple[str, str]]:
    """Every command in back-ticks, of the source, the pages, the hooks and the templates, with the file it is in."""
    root = DOCS.parents[1]
    files = [*root.glob("gitmem/**/*.py"), *root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("hooks/*")]
    for path in (*files, *root.glob("templates/**/*.*")):
        if path.is_file() and path.name != "CHANGELOG.md":
            for line in re.findall(r"`gitmem ([^`\n]+)`", path.read_text()):
                yield str(path.relative_to(root)), line


def _wrong(line: str) -> str:
    """The word of a command line that gitmem does not know; empty where it knows all of them."""
    words = [word for word in re.sub(r"\{[^}]*\}", "X", line).replace("\\", "").split() if word != "…"]
    if words[:1] == ["-C"]:
        words = words[2:]
    command: click.Command = cli
    while words and isinstance(command, click.Group) and re.fullmatch(r"(?!help$)[a-z][a-z-]*", words[0]):
        inner = command.get_command(click.Context(command), words[0])
        if inner is None:
            return words[0]
        command, words = inner, words[1:]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    options = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return next((one for one in options if one not in {*known, "-h", "--help", "--json", "--all"}), "")


def test_every_command_in_back_ticks_exists() -> None:
    """Hints, help and pages name commands and options that gitmem has."""
    named = list(_named())
    assert len(named) > 200
    assert [] == [(path, line) for path, line in named if "|" not in line and _wrong(line)]
