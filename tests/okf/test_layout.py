from __future__ import annotations

import pytest
from gitmem.okf import layout
from gitmem.okf.paths import check_path
from hypothesis import given

from tests.okf.strategies import AT, TEXT


class Paths(set[str]):
    """The files of a bundle by their paths."""

    def names(self, directory: str) -> list[str]:
        return [path.rpartition("/")[2] for path in self if path.rpartition("/")[0] == directory]

    def directories(self, directory: str) -> list[str]:
        below = (path.removeprefix(f"{directory}/") for path in self if path.startswith(f"{directory}/"))
        return sorted({rest.partition("/")[0] for rest in below if "/" in rest})


def test_where_things_stand() -> None:
    """The paths of the design, for ordinary names."""
    assert layout.machine_memory("laptop") == "memories/machines/laptop/MEMORY.md"
    assert layout.archive("user") == "memories/archive/user.md"
    assert layout.session("20260630_1", AT) == "sessions/2026-06/30/20260630_1.md"
    assert layout.decision("Use tabs!", AT) == "decisions/use-tabs_2026-06-30.md"
    assert layout.tool("terminal") == "tools/terminal.md"
    assert layout.user_profile("2026-06-30") == "hermes/observations/user_profile_2026-06-30.md"
    assert layout.plan("Ship it", AT) == "plans/ship-it_2026-06-30.md"
    assert layout.plan_archive("plans/ship-it_2026-06-30.md") == "plans/archive/2026/ship-it_2026-06-30.md"
    assert layout.snapshot("before") == "snapshots/before.md"
    assert layout.retraction("0" * 32) == f"retractions/00/{'0' * 32}.md"


def test_months_and_days_are_utc() -> None:
    """A session that began at the turn of the month stands where UTC puts it; a bad time costs no session."""
    assert layout.session("s", "2026-07-01T01:00:00+02:00") == "sessions/2026-06/30/s.md"
    assert layout.session("s", "whenever") == "sessions/undated/00/s.md"
    assert layout.day("2026-02-30") == "undated"


@pytest.mark.parametrize(
    ("session", "path"),
    [
        ("20260629-231500-ab12cd", "sessions/2026-06/29/20260629-231500-ab12cd.md"),
        ("daily-laptop-2026-07-01", "sessions/2026-07/01/daily-laptop-2026-07-01.md"),
        ("v20261301", "sessions/2026-06/30/v20261301.md"),
        ("120260629", "sessions/2026-06/30/120260629.md"),
    ],
)
def test_the_date_in_an_id_names_the_day(session: str, path: str) -> None:
    """So the session is found by its id alone; a number that is no date counts for nothing."""
    assert path == layout.session(session, AT)
    files = Paths({path, "sessions/2026-06/index.md", "sessions/2025-01/02/other.md"})
    assert path == layout.find_session(files, session)
    assert {path, "sessions/2025-01/02/other.md"} == set(layout.session_pages(files))
    assert layout.find_session(files, "other-2025-01-03") is None
    assert session == layout.session_name(path) == layout.session_name(f"{path[:-3]}/w-0001.md")


def test_a_taken_decision_gets_another_path() -> None:
    """Two decisions of one day with one title do not share a file, and no counter chooses it."""
    first = layout.decision("Use tabs", AT)
    second = layout.decision("Use tabs", AT, {first}.__contains__, "u-1")
    third = layout.decision("Use tabs", AT, {first, second}.__contains__, "u-2")
    assert len({first, second, third}) == 3
    assert second == layout.decision("Use tabs", AT, {first}.__contains__, "u-1")
    assert layout.decision("Use tabs", AT, {first, second}.__contains__, "u-1") not in (first, second)
    assert layout.plan("Use tabs", AT, lambda path: path == layout.plan("Use tabs", AT), "x") != first


@given(TEXT, TEXT)
def test_every_path_is_safe(name: str, at: str) -> None:
    """Whatever the names and times, the paths may enter a bundle and are no reserved pages."""
    made = [
        layout.machine_memory(name),
        layout.archive(name),
        layout.session(name, at),
        layout.decision(name, at, lambda path: "-" not in path, name),
        layout.tool(name),
        layout.user_profile(at),
        layout.plan(name, at),
        layout.snapshot(name),
        layout.retraction(name),
    ]
    for path in made:
        check_path(path)
        assert not layout.is_generated(path)
    assert [layout.default_type(path) for path in made] == [
        *("CuratedMemory", "ArchivedMemory", "Session", "Decision", "Tool", "UserProfile"),
        *("Plan", "Snapshot", "Retraction"),
    ]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (layout.MEMORY, "CuratedMemory"),
        (layout.USER, "CuratedMemory"),
        (layout.CONFIG_AGENT, "AgentConfig"),
        (layout.CONFIG_SCANNER, "ScannerRules"),
        (layout.CONFIG_ERASED, "ErasureReceipts"),
        ("plans/archive/2026/x.md", "Plan"),
        ("sessions/2026-06/30/s/w-0007.md", "SessionEvents"),
        ("skills/git/rebase/SKILL.md", "Skill"),
        ("plans/index.md", ""),
        ("README.md", ""),
    ],
)
def test_types_of_fixed_paths(path: str, name: str) -> None:
    """Each fixed place has its type; other places have none."""
    assert layout.default_type(path) == name


def test_generated_and_session_paths() -> None:
    """Generated pages at any level; sessions by their directory."""
    assert layout.is_generated("a/b/index.md")
    assert layout.is_generated("log.md")
    assert not layout.is_generated("catalog.md")
    assert layout.is_session("sessions/2026-06/s.md")
    assert not layout.is_session("sessions.md")
