"""Each question that a person has about an agent's memory is answered by one command, in a life of three months."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from benchmarks.life import END, make
from gitmem.memory.opening import trust

from tests.cli.conftest import Cli
from tests.cli.json_runs import HELD


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("life") / "mem"
    with make(str(root), sessions=60) as memory:
        assert memory.remember(HELD).held
    return root


@pytest.fixture
def life(place: Path, gitmem: Cli) -> Cli:
    """The memory of Ines, on the last day of it."""
    gitmem.cwd, gitmem.now = place, END + timedelta(hours=1)
    trust(gitmem.world(), str(place))
    return gitmem


@pytest.mark.parametrize(
    ("asked", "answers"),
    [
        (["digest", "last month"], ["Learned\n  + ", "Decided\n  + ", "Thursday 1 October 2026"]),
        (["why", "staging server"], ["the user said:", "added", "reworded", 'in "', "by hermes"]),
        (["facts", "--contradicting", "--stale"], ["Is called Ines Okafor and signs mails as Ines"]),
        (["review", "--list"], ["held", HELD[:20]]),
        (["status"], ["2 held texts wait for a person", "tokens"]),
        (["restore", "2026-10-16", "--dry-run"], ["Back to Friday 16 October, 23:59 (", "Plans"]),
    ],
    ids=lambda words: words[0],
)
def test_a_question_has_one_command(life: Cli, asked: list[str], answers: list[str]) -> None:
    """Learned last month; who told it that, since when; contradicting or old; pending; the prompt's cost; Friday."""
    told = life(*asked).out
    for words in answers:
        assert words in told


def test_what_a_session_did_and_its_way_back(life: Cli) -> None:
    """By the id that `log` prints, with what follows from it."""
    sessions = life("log", "--json").json["sessions"]
    name = next(one["session"] for one in sessions if one["session"] and one["learned"]["items"])
    learned = next(one for one in sessions if one["session"] == name)["learned"]["items"][0]["text"]
    assert learned[:30] in life("show", name).out
    back = life("revert", "--session", name, "--derived", "--dry-run").out
    assert "Nothing was changed: this was a dry run." in back
    assert learned[:30] in back
