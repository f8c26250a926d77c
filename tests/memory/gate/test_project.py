"""What comes from a project's files is confirmed in that project, and a claim everywhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gitmem.hosts.tools.calls import run
from gitmem.memory.curated.prompt_block import freeze, unconfirmed
from gitmem.memory.find.context import context
from gitmem.memory.gate.marks import is_unconfirmed
from gitmem.memory.gate.project import working_directory
from gitmem.memory.memory import Memory
from gitmem.memory.session import Session

from tests.git.support import run_git

FACT = "The tram service listens on port 48123."
FILE = {"tool_name": "read_file", "args": {"path": "docs/ports.md"}, "result": f"# Ports\n\n{FACT}\n"}


@pytest.fixture
def projects(tmp_path: Path) -> tuple[str, str]:
    """Two repositories in which something was committed here."""
    made = []
    for name in ("tram", "ferry"):
        run_git(tmp_path, "init", "-q", str(tmp_path / name))
        run_git(tmp_path / name, "commit", "-q", "--allow-empty", "-m", "begin")
        made.append(str(tmp_path / name))
    return made[0], made[1]


def work_in(bundle: Memory, directory: str) -> Memory:
    bundle.world = bundle.world._replace(cwd=directory)
    return bundle


def learn(bundle: Memory, text: str = FACT) -> None:
    """A session reads a file of its project and keeps what it says."""
    with bundle.session() as session:
        session.said("How do I start it?")
        session.record_tool_call(**FILE)  # type: ignore[arg-type]
        session.remember(text)


def seen(bundle: Memory) -> dict[str, bool]:
    """Each way to an agent by which the fact is there, and whether it is marked."""
    question = "Which port does the tram service listen on?"
    with Session(bundle) as session:
        answers = {
            name: run(name, given, bundle, session).text
            for name, given in (("search", {"query": "tram service port"}), ("fetch", {"id": "MEMORY"}))
        }
    ways = {"block": freeze(bundle).text, "unasked": context(bundle, question, block="").lines, **answers}
    return {way: "unconfirmed" in text for way, text in ways.items() if "48123" in text}


def test_a_fact_of_a_project_is_unmarked_there_alone(bundle: Memory, projects: tuple[str, str]) -> None:
    """In another directory every way to an agent says that it is a claim, and which project it is of."""
    here, elsewhere = projects
    learn(work_in(bundle, here))
    there = seen(work_in(bundle, elsewhere))
    assert dict.fromkeys(("block", "unasked", "search", "fetch"), True) == there
    assert "from project tram-" in freeze(bundle).text
    assert {*seen(work_in(bundle, here)).values()} == {False}
    assert {*seen(work_in(bundle, os.path.join(here, "docs"))).values()} == {False}
    assert [] == unconfirmed(bundle)


def test_a_person_shares_it(bundle: Memory, projects: tuple[str, str]) -> None:
    """Said by a person it holds everywhere; said by an agent in another project it stays a claim."""
    here, elsewhere = projects
    learn(work_in(bundle, here))
    work_in(bundle, elsewhere)
    with bundle.session() as session:
        session.said("Tidy up.")
        session.remember("Port 48123 is the tram service's.")
    assert all(map(is_unconfirmed, bundle.curated.entries("memory")[1:]))
    assert bundle.remember(FACT, by_person=True).message.startswith("Confirmed")
    assert FACT in freeze(bundle).text.splitlines()


def test_a_rewording_in_the_project_stays_in_it(bundle: Memory, projects: tuple[str, str]) -> None:
    """The agent need not read the file again for that."""
    here, elsewhere = projects
    learn(work_in(bundle, here))
    with bundle.session() as session:
        session.said("Make it shorter.")
        session.remember("Tram: port 48123.")
    assert "(unconfirmed, from project tram-" in freeze(work_in(bundle, elsewhere)).text
    assert 2 == freeze(bundle).text.count("(unconfirmed")


def test_what_the_user_says_and_what_a_command_prints_is_for_all(
    bundle: Memory, projects: tuple[str, str]
) -> None:
    """Only files belong to a project."""
    with work_in(bundle, projects[0]).session() as session:
        session.said(f"Keep in mind: {FACT}")
        session.remember(FACT)
        session.record_tool_call("terminal", {"command": "python3 --version"}, "Python 3.13.5")
        session.remember("This machine has Python 3.13.5.")
    assert "unconfirmed" not in freeze(work_in(bundle, projects[1])).text


def test_a_working_directory_is_ones_own_by_a_commit_made_here(tmp_path: Path) -> None:
    """A clone that nobody here committed to is another person's, unless a person calls it their own."""
    plain, mine, clone, linked = (tmp_path / name for name in ("plain", "mine", "clone", "linked"))
    (plain / "docs").mkdir(parents=True)
    run_git(tmp_path, "init", "-q", str(mine))
    run_git(mine, "commit", "-q", "--allow-empty", "-m", "begin")
    run_git(mine, "worktree", "add", "-q", str(linked))
    run_git(tmp_path, "clone", "-q", str(mine), str(clone))
    assert [str(plain / "docs"), str(mine), str(linked), None] == [
        working_directory(str(one)).own for one in (plain / "docs", mine, linked, clone)
    ]
    assert working_directory(str(mine)).project.endswith(working_directory(str(linked)).project[-7:])
    assert "" == working_directory(str(plain)).project
    assert str(clone) == working_directory(str(clone), str(clone)).own
    assert working_directory(str(clone), f"{clone}x").own is None
    run_git(clone, "commit", "-q", "--allow-empty", "-m", "go on")
    working_directory.cache_clear()
    assert str(clone) == working_directory(str(clone)).own


def test_files_of_another_persons_repository_are_foreign(
    bundle: Memory, projects: tuple[str, str], tmp_path: Path
) -> None:
    """They are marked everywhere, and ours where a person said so."""
    run_git(tmp_path, "clone", "-q", projects[0], str(tmp_path / "clone"))
    learn(work_in(bundle, str(tmp_path / "clone")))
    assert {*seen(bundle).values()} == {True}
    bundle.forget(FACT)
    bundle.config = replace(bundle.config, own_directories=str(tmp_path / "clone"))
    learn(bundle, "Port 48123 is the tram's, says the page on ports.")
    assert {*seen(bundle).values()} == {False}


def test_a_clone_of_the_same_origin_is_the_same_project(
    make_bundle: Callable[..., Memory], projects: tuple[str, str], tmp_path: Path
) -> None:
    """By its address, wherever it lies."""
    clones = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        run_git(tmp_path, "clone", "-q", projects[0], str(tmp_path / name / "tram"))
        clones.append(working_directory(str(tmp_path / name / "tram"), machine=name).project)
    assert clones[0] == clones[1] != working_directory(projects[0]).project
