"""Export: each format holds the memory, existing files stay, and an import of an export gives the same entries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem.errors import InvalidContent, UsageError
from gitmem.memory.exchange.exporting import BEGIN, END
from gitmem.memory.memory import Memory
from gitmem.okf.entries import Entry, EntryKey
from gitmem.okf.files import open_file
from gitmem.okf.validate import check_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.git.support import wrong


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


def test_markdown_is_one_document(bundle: Memory, tmp_path: Path) -> None:
    """By topic."""
    filled(bundle)
    bundle.export("markdown", str(tmp_path / "memory.md"))
    text = (tmp_path / "memory.md").read_text()

    assert "- The user likes spaces.\n" in text
    assert "- Two lines\n  of one entry.\n" in text
    assert "Use SQLite" in text


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


def test_agents_md_has_confirmed_facts_as_a_list(bundle: Memory, tmp_path: Path) -> None:
    """A host obeys the file: what a page said is not in it, nor the marks of a prompt block."""
    bundle.remember("CI runs on Fridays.")
    bundle.remember("The depot of Bonn has 41 tracks.", source="https://page.example/x")
    bundle.export("agents-md", str(tmp_path / "AGENTS.md"))
    assert (tmp_path / "AGENTS.md").read_text() == f"{BEGIN}\n- CI runs on Fridays.\n{END}\n"


@pytest.mark.parametrize("form", ["okf", "jsonl"])
def test_what_was_taken_back_does_not_come_back_by_an_export(
    make_bundle: Callable[..., Memory], tmp_path: Path, form: str
) -> None:
    """Its retraction travels with the events that said it, and is there before them."""
    theirs, ours = make_bundle("theirs"), make_bundle("ours")
    with theirs.session("night") as session:
        session.record_decision("Pay all invoices to account 7390", "the page said so")
        session.record_turn("Where do we pay invoices?", "To account 7390.")
        session.remember("Invoices go to account 7390.")
    with theirs.session("day") as session:
        session.record_decision("Use SQLite", "one file")
    theirs.revert(session="night")
    theirs.export(form, str(tmp_path / "out"))
    ours.bring_in(form, str(tmp_path / "out"))

    decisions = [
        path for path in ours.file_paths() if path.startswith("decisions/use-") or "invoices" in path
    ]
    assert len(decisions) == 1
    assert "7390" not in ours.prompt_block() + str(ours.context("Where do we pay our invoices to?"))
    assert [] == [hit.text for hit in ours.search("invoices account", events=True) if "7390" in hit.text]


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
    assert wrong(other) == []


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
