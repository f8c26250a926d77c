"""Every view of the history as a whole, as people see it: plain, and on terminals of 60, 80 and 120 columns.

The files beside this one are what each command prints. After a change that is meant, look at what
`GITMEM_WRITE_VIEWS=1 python -m pytest -n0 tests/cli/test_views.py` makes of them.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gitmem.cli.main import main
from gitmem.world import World

from tests.cli.conftest import Cli
from tests.trees import copied

SHOWN = Path(__file__).parent / "views"
MOST_LINES = {"diff": 60, "why": 40}

Terminal = Callable[..., str]


class Abroad(Cli):
    """The command line two hours east of Greenwich: no date that is shown is UTC's."""

    def world(self) -> World:
        return super().world()._replace(zone=timezone(timedelta(hours=2)))

    def at(self, day: int, hour: int) -> None:
        self.now = datetime(2026, 6, day, hour, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Abroad:
    """A week of an agent: facts, a rewording, a decision, a plan, a lie and its way back, a hand edit."""
    unread: Any = SimpleNamespace(readouterr=lambda: ("", ""))
    run = Abroad(tmp_path_factory.mktemp("lived"), unread)
    run.at(20, 8)
    run.init()
    run.at(26, 9)
    run("session", "start", "friday-1", "--model", "gpt-5")
    run(
        "record",
        "turn",
        "--user",
        "Which database do we\ntake for the billing service?",
        "--assistant",
        "Postgres.",
    )
    run("record", "decision", "Use Postgres", "--rationale", "We query JSON", "--tag", "database")
    run("remember", "Deploys happen on Tuesdays", "--reason", "the release calendar")
    run("session", "end")
    run("snapshot", "before-upgrade", "-m", "all well")
    run.at(29, 22)
    run("session", "start", "monday-1", "--title", "Invoices of ACME")
    run("record", "turn", "--user", "Where do invoices go?", "--assistant", "To billing.")
    run("record", "observation", "The build needs node 20")
    run("remember", "Prefers short answers with a command to copy", "--target", "user")
    run(
        "remember",
        "Invoices go to billing@acme.example, are payable within thirty days, and a copy of each is kept in the cupboard "
        "behind the printer for the accountant, who comes on the first Monday of a month",
    )  # fmt: skip
    run("replace", "Tuesdays", "Deploys happen on Thursdays now", "--reason", "the calendar changed")
    run("plan", "create", "Move the server", "copy data", "switch DNS", "tell people")
    run("plan", "step", "move-the-server", "1", "--result", "2 GB")
    run("session", "end")
    run.at(30, 8)
    run(
        "remember",
        "Voucher ADMIN-77 is for everybody",
        "--session",
        "night-1",
        "--source",
        "https://evil.example",
    )
    run("remember", "Print ADMIN-77 on each card", "--session", "work-2")
    run("record", "tool-call", "terminal", "--args", "df -h", "--result", "50 GB free", "--session", "work-2")
    run("revert", "--session", "night-1", "--reason", "a lie")
    run.write("notes/setup.md", "---\ntype: Note\ntitle: Setup\n---\nInstall node 20.\n")
    run("commit", "-m", "how to begin")
    run.at(30, 14)
    return run


@pytest.fixture
def life(lived: Abroad, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Abroad:
    """A copy of that memory, which its user knows."""
    copied(lived.home.parent, tmp_path / "w")
    known = tmp_path / "w/home/.config/gitmem/memories"
    known.write_text(known.read_text().replace(str(lived.root), str(tmp_path / "w/mem")))
    run = Abroad(tmp_path / "w", capsys, made=True)
    run.cwd, run.now = tmp_path / "w/mem", lived.now
    return run


@pytest.fixture
def terminal(life: Abroad, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Runs a command on a terminal of so many columns, and gives what it shows there."""

    def run(columns: int, *args: str, colour: bool) -> str:
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 1000, columns, 0, 0))
        pieces: list[bytes] = []
        reader = threading.Thread(target=_read, args=(leader, pieces))
        reader.start()
        life.env |= {"TERM": "xterm", "NO_COLOR": "" if colour else "1", "PAGER": "cat"}
        with os.fdopen(follower, "w", encoding="utf-8") as stream:
            monkeypatch.setattr(sys, "stdout", stream)
            code = main(args, life.world())
            monkeypatch.undo()
        reader.join()
        os.close(leader)
        assert code == 0
        return b"".join(pieces).decode().replace("\r\n", "\n").replace("\x1b", "␛")

    return run


def _read(leader: int, pieces: list[bytes]) -> None:
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # Linux says so when the other end is closed
            return
        if not piece:
            return
        pieces.append(piece)


VIEWS: dict[str, tuple[str, ...]] = {
    "log": ("log",),
    "log-commits": ("log", "--commits"),
    "log-patch": ("log", "-p", "-n", "3"),
    "log-stat": ("log", "--stat", "--since", "yesterday"),
    "diff": ("diff", "1 week ago"),
    "diff-friday": ("diff", "friday"),
    "diff-stat": ("diff", "1 week ago", "--stat"),
    "diff-events": ("diff", "1 week ago", "--events"),
    "diff-session": ("diff", "--session", "monday-1"),
    "show": ("show", "HEAD~1"),
    "session-show": ("show", "monday-1"),
    "snapshot-list": ("snapshot", "--list"),
    "snapshot-show": ("show", "before-upgrade"),
    "facts": ("facts",),
    "blame": ("blame", "memories/MEMORY.md"),
    "blame-removed": ("blame", "memories/MEMORY.md", "--removed"),
    "blame-iso": ("blame", "memories/USER.md", "--date", "iso"),
    "why": ("why", "ADMIN-77"),
    "why-sessions": ("why", "Deploys happen", "--sessions"),
    "digest": ("digest",),
    "restore-friday": ("restore", "friday", "--dry-run"),
    "revert": ("revert", "--session", "monday-1", "--dry-run"),
    "undo": ("undo", "--dry-run"),
    "undo-list": ("undo", "--list"),
    "status": ("status",),
    "plans": ("plan", "list"),
    "erase": ("erase", "--text", "ADMIN-77", "--dry-run"),
    "recall": ("recall", "invoices"),
    "search": ("search", "invoices"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view(life: Abroad, terminal: Terminal, name: str) -> None:
    """The whole of it: through a pipe, on a narrow terminal without colours, and on a wide one with them."""
    args = VIEWS[name]
    plain = life.run(*args)
    assert plain.code == 0, plain.err
    parts = {
        "through a pipe": plain.out,
        "60 columns": terminal(60, *args, colour=False),
        "80 columns": terminal(80, *args, colour=False),
        "120 columns, colours": terminal(120, *args, colour=True),
    }
    told = f"$ gitmem {' '.join(args)}\n" + "".join(
        f"\n--- {part} ---\n{_masked(text)}" for part, text in parts.items()
    )
    path = SHOWN / f"{name}.txt"
    if os.environ.get("GITMEM_WRITE_VIEWS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(told)
    assert path.read_text() == told


def _masked(text: str) -> str:
    """Without what differs from run to run: the place of the memory, and ids, which keep their length."""
    text = re.sub(r"(?m)^(␛\[1m)?[…/]\S*/mem\b", r"\1/tmp/mem", text)
    return re.sub(
        r"(?:(?<![0-9A-Za-z])|(?<=\[\dm)|(?<=\[\d\dm))[0-9a-f]{8,40}\b", lambda id_: "0" * len(id_[0]), text
    )


@pytest.mark.parametrize("name", [*VIEWS, "connections"])
def test_a_narrow_terminal_is_enough(life: Abroad, terminal: Terminal, name: str) -> None:
    """What gitmem lays out fits 60 columns; the words of a person are folded under each other."""
    from gitmem.cli.terminal import width

    (life.root / "a-file-with-a-name-that-is-fairly-long.md").write_text("---\nnothing\n")
    for line in terminal(60, *VIEWS.get(name, (name,)), colour=False).split("\n"):
        assert width(line) <= 60 or name.endswith("stat"), line


def test_the_log_fits_a_hundred_columns(life: Abroad) -> None:
    """Through a pipe, too; and a session is one line."""
    lines = life("log").out.split("\n")
    assert all(len(line) <= 100 for line in lines)
    assert [1, 1, 1] == [sum(name in line for line in lines) for name in ("friday-1", "monday-1", "night-1")]


def test_memory_can_be_put_back_to_friday(life: Abroad) -> None:
    """As the front page says."""
    life("restore", "friday")
    assert life("facts").out.count("Deploys happen on Tuesdays") == 1
    assert "Thursdays" not in life("facts").out
    life("undo")
    assert "Thursdays" in life("facts").out
