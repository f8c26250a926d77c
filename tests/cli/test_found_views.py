"""`search` and `recall` as they look, whole, on a screen of 80 and of 120 columns.

A view that changes on purpose is written again: GITMEM_VIEWS=write, and look at what git says.
"""

from __future__ import annotations

import os
import re
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.git.support import PROJECT

VIEWS = PROJECT / "tests" / "cli" / "found_views"
COMMANDS = {
    "search": ("search", "which", "database", "did", "we", "choose?"),
    "search-plain": ("search", "staging", "database", "--limit", "3"),
    "search-explain": ("search", "deploys", "--explain"),
    "list": ("search", "--since", "2026-06-30"),
    "recall": ("recall", "which", "database", "did", "we", "choose?"),
    "session": ("recall", "--session", "monday"),
    "sessions": ("recall",),
}


@pytest.fixture
def life(gitmem: Cli) -> Cli:
    """A few days: a question and what was decided, a fact that changed, and a check that says the same every night."""
    gitmem.init()
    gitmem("remember", "Deploys happen on Tuesdays")
    gitmem("session", "start", "monday", "--title", "What to keep orders in", "--model", "fable")
    gitmem("record", "turn", "--user", "Good morning", "--assistant", "Good morning. What shall we do today?")
    gitmem(
        "record", "turn", "--user", "Which database do we choose for the orders?", "--assistant",
        "One that locks rows: two people may change the same order at the same moment, and neither should lose what "
        "they typed. That leaves PostgreSQL or MySQL.",
    )  # fmt: skip
    gitmem(
        "record", "decision", "Use PostgreSQL for orders", "--rationale", "It locks rows", "--tag", "orders"
    )
    gitmem(
        "record", "tool-call", "terminal", "--args", '{"command": "psql --version"}', "--result", "psql 17"
    )
    gitmem("session", "end")
    for night, free in enumerate((81, 78, 74)):
        gitmem.now += timedelta(days=1)
        gitmem(
            "record", "observation", f"The staging database has {free} GB free", "--session", f"night-{night}"
        )
    gitmem(
        "replace",
        "Tuesdays",
        "Deploys happen on Thursdays, after the stand-up and never before a holiday",
    )
    gitmem("remember", "Prefers short answers, with the command first", "--target", "user")
    return gitmem


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_view(life: Cli, monkeypatch: pytest.MonkeyPatch, name: str, columns: int) -> None:
    life.env |= {"TERM": "dumb", "COLUMNS": str(columns)}  # no pager and no colours
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    out = re.sub(r"\b[0-9a-f]{8}-(\d+)", r"0a1b2c3d-\1", life(*COMMANDS[name]).out)
    path = VIEWS / f"{name}-{columns}.txt"
    if os.environ.get("GITMEM_VIEWS") == "write":
        path.write_text(out, encoding="utf-8")
    assert out == Path(path).read_text(encoding="utf-8")
    assert max(map(len, out.splitlines())) <= columns
