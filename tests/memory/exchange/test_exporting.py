"""Export: each format holds the memory, existing files stay, and an import of an export gives the same entries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem.errors import InvalidContent, UsageError
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.verify import Verification
from gitmem.okf.entries import Entry, EntryKey
from gitmem.okf.files import open_file
from gitmem.okf.validate import check_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.git.support import run_git


def filled(memory: Memory) -> Memory:
    memory.remember("The user likes tabs.")
    memory.remember("Two lines\nof one entry.")
    memory.replace("The user likes tabs.", "The user likes spaces.")
    memory.remember("Ada is the user's name.", target="user")
    with memory.session("work-1") as session:
        session.record_observation("It rains.")
        session.record_decision("Use SQLite", "It is there")
        session.record_turn("hello", "good day")
    memory.plans.create("Move house", ["pack", "drive"])
    memory.snapshot("moved")
    return memory


def entries(memory: Memory) -> dict[tuple[str, EntryKey], Entry]:
    """Every § entry and event of a memory, by its place."""
    tree = memory.tree()
    return {
        (path, key): entry
        for path, one in tree.files()
        for key, entry in open_file(path, tree.read_entry(one)).entries.items()
        if key.space in ("§", "event")
    }


def test_okf_is_a_conformant_tree_without_history(bundle: Memory, tmp_path: Path) -> None:
    """The files of the tip, byte for byte."""
    filled(bundle)
    done = bundle.export("okf", str(tmp_path / "out"))

    assert not (tmp_path / "out" / ".git").exists()
    for path in done.files:
        data = (tmp_path / "out" / path).read_bytes()
        assert data == bundle.read(path)
        assert check_file(path, data) == []


def test_hermes_gets_what_its_home_holds(bundle: Memory, tmp_path: Path) -> None:
    """The § files as the host writes them."""
    filled(bundle)
    bundle.export("hermes", str(tmp_path / "home"))

    assert (
        tmp_path / "home/memories/MEMORY.md"
    ).read_text() == "The user likes spaces.\n§\nTwo lines\nof one entry."
    assert (tmp_path / "home/memories/USER.md").read_text() == "Ada is the user's name."


@pytest.mark.parametrize("by", ["topic", "day"])
def test_markdown_is_one_document(bundle: Memory, tmp_path: Path, by: str) -> None:
    """By topic or by day."""
    filled(bundle)
    bundle.export("markdown", str(tmp_path / "memory.md"), by=by)
    text = (tmp_path / "memory.md").read_text()

    assert "- The user likes spaces.\n" in text
    assert "- Two lines\n  of one entry.\n" in text
    assert "Use SQLite" in text
    assert ("## 2026-06-30" in text) == (by == "day")


def test_jsonl_says_where_each_entry_came_from(bundle: Memory, tmp_path: Path) -> None:
    """A line for each entry, event and file."""
    filled(bundle)
    bundle.export("jsonl", str(tmp_path / "out.jsonl"))
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    (likes,) = [line for line in lines if line.get("text") == "The user likes spaces."]

    assert likes["gitmem"] == "entry"
    assert likes["came"]["machine"] == "laptop"
    assert "replaces" in likes
    assert {"entry", "event", "file"} == {line["gitmem"] for line in lines}


def test_agents_md_touches_its_block_alone(bundle: Memory, tmp_path: Path) -> None:
    """Made at the end, written over in place, and a half pair of markers is refused."""
    filled(bundle)
    file = tmp_path / "AGENTS.md"
    file.write_text("# Rules\n\nUse make.\n")
    bundle.export("agents-md", str(file))
    first = file.read_text()
    assert first.startswith("# Rules\n\nUse make.\n\n<!-- gitmem:begin -->\n")
    assert "The user likes spaces." in first
    file.write_text(first + "\nAfter it.\n")
    bundle.remember("A new fact.")
    bundle.export("agents-md", str(file))
    second = file.read_text()
    assert second.startswith("# Rules\n\nUse make.\n\n<!-- gitmem:begin -->\n")
    assert second.endswith("<!-- gitmem:end -->\n\nAfter it.\n")
    assert "A new fact." in second
    assert bundle.export("agents-md", str(file)).files == ()
    file.write_text("<!-- gitmem:begin -->\nbroken\n")
    with pytest.raises(InvalidContent, match="not a pair"):
        bundle.export("agents-md", str(file))


def test_bundle_is_a_file_of_git(bundle: Memory, tmp_path: Path) -> None:
    """With history and named snapshots, without what is only for this machine."""
    filled(bundle)
    bundle.export("bundle", str(tmp_path / "m.bundle"))
    refs = run_git(tmp_path, "bundle", "list-heads", "m.bundle")

    assert "refs/heads/main" in refs
    assert "refs/tags/snapshot/moved" in refs
    assert "refs/gitmem" not in refs


def test_nothing_is_written_over_by_accident(bundle: Memory, tmp_path: Path) -> None:
    """Refused as a whole, unless it is said; an unknown format is refused too."""
    filled(bundle)
    (tmp_path / "out" / "memories").mkdir(parents=True)
    mine = tmp_path / "out" / "memories" / "MEMORY.md"
    mine.write_text("mine")
    with pytest.raises(InvalidContent, match="nothing was written"):
        bundle.export("okf", str(tmp_path / "out"))
    assert mine.read_text() == "mine"
    assert not (tmp_path / "out" / "index.md").exists()
    bundle.export("okf", str(tmp_path / "out"), overwrite=True)
    assert mine.read_text() != "mine"
    with pytest.raises(UsageError):
        bundle.export("pdf", str(tmp_path / "x"))


@pytest.mark.parametrize("form", ["jsonl", "okf"])
def test_an_import_of_an_export_gives_the_same_entries(
    make_bundle: Callable[..., Memory], tmp_path: Path, form: str
) -> None:
    """Texts, ages, replacements and events are the same; a second import brings nothing."""
    one, other = filled(make_bundle("one")), make_bundle("other")
    where = str(tmp_path / "out")
    one.export(form, where)
    done = other.bring_in(form, where)

    assert done.problems == []
    assert entries(other) == entries(one)
    again = other.bring_in(form, where)
    assert (again.commits, again.entries, again.events, again.files) == (0, 0, 0, 0)
    assert list(Verification(other).run()) == []


TEXTS = st.lists(
    st.text(
        st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp")),
        min_size=1,
        max_size=60,
    )
    .map(str.strip)
    .filter(lambda text: text and text != "§"),
    min_size=1,
    max_size=6,
    unique=True,
)


@given(texts=TEXTS)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("form", ["jsonl", "okf"])
def test_any_text_makes_the_round_trip(
    make_bundle: Callable[..., Memory], tmp_path_factory: pytest.TempPathFactory, form: str, texts: list[str]
) -> None:
    """Whatever the gate lets in comes out and in again as the same entry."""
    folder = tmp_path_factory.mktemp("trip")
    one, other = make_bundle(str(folder / "one")), make_bundle(str(folder / "other"))
    for text in texts:
        try:
            one.remember(text)
        except InvalidContent:
            continue
    one.export(form, str(folder / "out"))
    other.bring_in(form, str(folder / "out"))

    assert entries(other) == entries(one)
