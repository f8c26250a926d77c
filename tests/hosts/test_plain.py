"""The door for plain Python programs, and the page that explains it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import gitmem
import pytest
from gitmem.memory.capture.buffer import HotMemoryBuffer

from tests.git.support import fsck_clean

DOCS = Path(__file__).parents[2] / "docs"
README = Path(__file__).parents[2] / "README.md"


def examples(page: Path) -> str:
    """The Python examples of a page as one program."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that names nothing."""
    for name in list(os.environ):
        if name.startswith(("GITMEM_", "HERMES_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def run(program: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )


def test_the_page_is_a_program_that_runs(tmp_path: Path) -> None:
    """Every example of docs/python.md, in order, and the bundle it leaves is sound."""
    done = run(examples(DOCS / "python.md"), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "User prefers tabs over spaces." in done.stdout
    with gitmem.open(tmp_path / "mem") as memory:
        assert memory.warnings == []
        fsck_clean(memory.repository)


def test_the_readme_is_a_program_that_runs(tmp_path: Path) -> None:
    """The example on the front page, in a fresh directory."""
    done = run(examples(README), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    with gitmem.open(tmp_path / "mem") as memory:
        facts = [entry.text for entry in memory.curated.entries("memory")]
        assert sorted(facts) == ["Deploys happen on Tuesdays", "The staging host is stage1"]
        fsck_clean(memory.repository)


def test_create_makes_a_bundle_once(tmp_path: Path) -> None:
    """A second call opens the one that is there; without `create` a missing one is an error that says how."""
    with pytest.raises(gitmem.BundleNotFound) as caught:
        gitmem.open(tmp_path / "mem")
    assert "create=True" in caught.value.hint
    first = gitmem.open(tmp_path / "mem", create=True)
    tip = first.tip
    assert gitmem.open(str(tmp_path / "mem"), create=True).tip == tip


def test_the_environment_names_bundle_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the command line; what the program says goes first, and a name that is none is an error."""
    gitmem.open(tmp_path / "mem", create=True)
    monkeypatch.setenv("GITMEM_BUNDLE", "mem")
    monkeypatch.setenv("GITMEM_AGENT_ID", "ana")
    monkeypatch.setenv("GITMEM_HOT_MEMORY_MAX", "7")
    monkeypatch.setenv("THE_KEY", "secret")
    bundle = gitmem.open(hot_memory_max=3)
    assert (bundle.config.agent_id, bundle.config.hot_memory_max) == ("ana", 3)
    assert bundle.config.machine != ""
    assert bundle.world.env["THE_KEY"] == "secret"
    with pytest.raises(gitmem.UsageError, match="no setting 'hot_memory'"):
        gitmem.open(hot_memory=3)
    with pytest.raises(gitmem.UsageError, match="no setting '_origins'"):
        gitmem.open(_origins={})


def test_opening_takes_up_what_was_left(tmp_path: Path) -> None:
    """A dead writer's journal and a person's edit are committed before anything else."""
    bundle = gitmem.open(tmp_path / "mem", create=True)
    buffer = HotMemoryBuffer(bundle, "s1")
    buffer.push(content="left behind")
    buffer.abandon()
    (tmp_path / "mem/notes.md").write_text("---\ntype: Note\n---\nBy hand.\n")
    again = gitmem.open(tmp_path / "mem")
    assert [event.fields["content"] for event in again.sessions.events("s1")] == ["left behind"]
    assert again.read("notes.md") is not None
    assert "Recovered 1 event" in again.warnings[0]
