"""The state directory: docs/format.md has exactly its names, and only the table knows them."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest
from gitmem import state
from gitmem.state import (
    CACHE,
    JOURNAL,
    LEDGER,
    PULLED,
    SESSION,
    SYNC,
    TABLE,
    LocalState,
    Name,
    name_of,
)

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "gitmem").rglob("*.py"))


@pytest.fixture
def local(tmp_path: Path) -> LocalState:
    """The state of a git directory that has none yet."""
    return LocalState(str(tmp_path))


# --- the table -------------------------------------------------------------------------------------------


def test_the_page_has_exactly_the_names_of_the_table() -> None:
    """Name, format and whether it may be deleted, in both directions; and the page says what it is for and what is lost."""
    section = (ROOT / "docs/format.md").read_text().partition("\n## 6. ")[2].partition("\n### ")[0]
    row = re.compile(r"^- (`[^`]+`) \((\w+)\): .+?\. (\*\*Keep\.\*\* )?Lost: .+\.$", re.MULTILINE)
    rows = row.findall(section)
    assert len(rows) == section.count("\n- ")
    expected = [(f"`{name.pattern}`", name.format, "" if name.deletable else "**Keep.** ") for name in TABLE]
    assert sorted(expected) == sorted(rows)


def test_no_name_is_in_the_table_twice() -> None:
    """A file belongs to one row."""
    assert len(TABLE) == len({name.pattern for name in TABLE})


@pytest.mark.parametrize("name", TABLE, ids=repr)
def test_a_path_is_found_in_its_row(name: Name) -> None:
    """An erase goes by the table, so each file has one row."""
    path = name.path("k-1.2" if "<" in name.pattern else "") + (
        f"{os.sep}inside" if name.format == "directory" else ""
    )
    assert name is name_of(path)
    assert name.erase == "link" or name.format != "lock"


def test_a_file_that_is_not_ours_has_no_row() -> None:
    """Nor has one that only begins as ours does."""
    for path in ("pending-no", "notes.txt", "journal/a/b.jsonl", "index.db.old", "tmp", "locks"):
        assert None is name_of(path)


def test_nobody_else_knows_a_name() -> None:
    """No module writes the name of a state file in its own code."""
    ends = {name.pattern.rpartition("/")[2] for name in TABLE}
    # Words and host files have other uses.
    plain = {end for end in ends if re.fullmatch(r"[a-z]+[-.][a-z.1]+", end)}
    assert {"index.db", "last-seen"} <= plain
    for path in SOURCES:
        if path.name == "state.py":
            continue
        texts = {
            node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)
        }
        assert not texts & plain, path


# --- paths -----------------------------------------------------------------------------------------------


def test_a_key_stands_in_its_name(local: LocalState) -> None:
    """Paths are made of name and key, and keys are found again among other files."""
    assert os.path.join(local.directory, "sync", "origin.json") == local.path(SYNC, "origin")
    assert os.path.join(local.directory, "journal") == local.folder(JOURNAL)
    assert [] == local.keys(SYNC)
    for remote in ("team", "origin"):
        local.write_text(SYNC, "", remote)
    assert ["origin", "team"] == local.keys(SYNC)


# --- reading ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000, b"9" * 10_000, b"\0" * 50]
)
def test_damaged_json_reads_as_nothing(local: LocalState, data: bytes) -> None:
    """Also of another shape, and for what must not be deleted."""
    for name in (SESSION, LEDGER):
        local.write(name, data)
        assert {} == local.read_json(name)


def test_a_text_that_is_not_utf8_reads_as_nothing(local: LocalState) -> None:
    """As if there were none."""
    local.write(state.CACHE, b"\xff", "x")
    assert "" == local.read_text(state.CACHE, "x")
    assert "" == local.read_text(state.CACHE, "y")
    assert local.read(state.CACHE, "y") is None


def test_where_the_disk_refuses_only_what_may_be_deleted_reads_as_nothing(local: LocalState) -> None:
    """What a person decided is never taken for empty, and so never written over."""
    for path in (local.path(CACHE, "x"), local.path(PULLED), local.path(LEDGER)):
        os.makedirs(path)  # a directory can be read by nobody, not even by root
    assert {} == local.read_json(CACHE, "x")
    for name in (PULLED, LEDGER):
        with pytest.raises(OSError, match="not a regular file"):
            local.read_json(name)


# --- writing ---------------------------------------------------------------------------------------------


def test_missing_directories_are_made(local: LocalState) -> None:
    """By a write and by an added line; a backup may leave out empty directories."""
    local.write_json(SYNC, {"failures": 0}, "origin")
    assert {"failures": 0} == local.read_json(SYNC, "origin")
    assert ["lock"] == os.listdir(local.scratch)


def test_lines_are_added(local: LocalState) -> None:
    """One after the other, in a file that is made first."""
    local.append_line(PULLED, "one", durable=True)
    local.append_line(PULLED, "two")
    assert "one\ntwo\n" == local.read_text(PULLED)


def test_a_bundle_that_was_removed_stays_removed(tmp_path: Path) -> None:
    """A late write does not bring a part of it back."""
    gone = LocalState(str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError):
        gone.write_json(SESSION, {})
    with pytest.raises(FileNotFoundError):
        gone.append_line(PULLED, "x")
    assert [] == os.listdir(tmp_path)


def test_a_private_file_is_private(local: LocalState) -> None:
    """The mode is that of the new file, also where there was one."""
    local.write_json(state.HOST_LINK, {})
    os.chmod(local.path(state.HOST_LINK), 0o644)
    local.write_json(state.HOST_LINK, {"memory": {}})
    assert 0o600 == os.stat(local.path(state.HOST_LINK)).st_mode & 0o777


def test_removing_may_come_twice(local: LocalState) -> None:
    """What is gone already is no error."""
    local.write_json(SESSION, {"id": "s1"})
    local.remove(SESSION)
    local.remove(SESSION)
    assert not local.has(SESSION)
