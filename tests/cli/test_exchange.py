"""`gitmem import` and `export` on the command line."""

from __future__ import annotations

import json

from tests.cli.conftest import Cli


def test_export_and_import(mem: Cli) -> None:
    """Out of one bundle and into another, which says what came, and undo takes it back."""
    mem("remember", "The user likes tabs.")
    assert "exported" in mem("export", "--format", "jsonl", "../out.jsonl").out
    mem.cwd = mem.cwd.parent
    mem("init", "other")
    mem.cwd = mem.cwd / "other"
    assert "would import 1 entry" in mem("import", "jsonl", "../out.jsonl", "--dry-run").out
    done = mem("import", "jsonl", "../out.jsonl").out
    assert "imported 1 entry" in done
    assert "The user likes tabs." in mem("facts").out
    again = mem("import", "jsonl", "../out.jsonl", "--json").json
    assert (again["commit_count"], again["entry_count"]) == (0, 0)
    mem("undo")
    assert "The user likes tabs." not in mem("facts").out


def test_import_reports_what_it_left_out(mem: Cli) -> None:
    """A line that cannot be read costs itself."""
    (mem.root.parent / "in.jsonl").write_text("broken\n" + json.dumps({"gitmem": "entry", "text": "A fact."}))
    told = mem("import", "jsonl", "../in.jsonl").out
    assert "Line 1 of in.jsonl is not a JSON object" in told
    assert "no directory" in mem.fails("import", "markdown", "nowhere")
    assert "Say where" in mem.fails("import", "okf", code=2)


def test_export_stays_outside_and_writes_over_nothing(mem: Cli) -> None:
    """Not into the bundle itself; not over a file that is there."""
    assert "outside the bundle" in mem.fails("export", "--format", "markdown", "memory.md", code=2)
    mem("export", "--format", "markdown", "../memory.md")
    assert "nothing was written" in mem.fails("export", "--format", "markdown", "../memory.md")
    mem("export", "--format", "markdown", "../memory.md", "--overwrite")
    mem("export", "--format", "agents-md", "../AGENTS.md")
    assert "all of it already" in mem("export", "--format", "agents-md", "../AGENTS.md").out
    assert "Say where" in mem.fails("export", "--format", "okf", code=2)
