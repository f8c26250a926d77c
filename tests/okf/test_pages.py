from __future__ import annotations

import pytest
from gitmem.okf.pages import LogLine, index_page, log_page, merge_log, parse_log
from gitmem.okf.validate import check_file
from hypothesis import example, given
from hypothesis import strategies as st

from tests.okf.strategies import TEXT

TIMES = st.sampled_from(
    [
        "2026-06-30T14:00:00.000Z",
        "2026-06-30T16:00:00+02:00",
        "2026-06-29T00:00:00.001Z",
        "2026-06-30",
        "",
        "never",
    ]
)
IDS = st.sampled_from(["", "a", "b", "0123-7", "x y", "-->", "é"]) | TEXT
LINES = st.lists(st.builds(LogLine, TIMES, TEXT, TEXT, IDS), max_size=6)
MANY = st.lists(
    st.builds(
        LogLine,
        st.integers(0, 70).map(lambda second: f"2026-06-30T14:{second // 60:02d}:{second % 60:02d}.000Z"),
        st.sampled_from(["A", "B"]),
        st.sampled_from(["x", "y"]),
        st.integers(0, 70).map(str),
    ),
    max_size=90,
)


def test_an_index_page() -> None:
    """Directories, then concepts, newest date first and the others by name."""
    names = [
        "use-tabs_2026-06-30.md",
        "b.md",
        "use-go_2026-07-01.md",
        "index.md",
        "log.md",
        "A b.md",
        "x.png",
    ]
    assert index_page("decisions", names, ["archive"]).decode() == (
        "# Decisions\n\n## Directories\n\n* [Archive](archive/) - directory\n\n## Concepts\n\n"
        "* [Use go](use-go_2026-07-01.md) - decision of 2026-07-01\n"
        "* [Use tabs](use-tabs_2026-06-30.md) - decision of 2026-06-30\n"
        "* [A b](A%20b.md) - decision\n* [B](b.md) - decision\n"
    )


def test_the_root_page_carries_the_version() -> None:
    """Only the root has front matter, and only the version in it."""
    assert index_page("", ["README.md"], []).decode().startswith('---\nokf_version: "0.2"\n---\n# Index\n')
    assert index_page("sessions", [], ["2026-05", "2026-06"]).decode() == (
        "# Sessions\n\n## Directories\n\n"
        "* [2026-06](2026-06/) - directory\n* [2026-05](2026-05/) - directory\n"
    )


def test_an_index_page_is_bounded() -> None:
    """After two hundred lines it says how many more there are."""
    text = index_page("tools", (f"t{number:04d}.md" for number in range(1000)), ["d"]).decode()
    assert text.count("\n* [") == 200
    assert text.endswith("\nAnd 801 more.\n")


@given(st.lists(TEXT.map(lambda name: f"{name}.md")), st.lists(TEXT), st.sampled_from(["", "a", "a/b"]))
def test_index_pages_obey_okf(names: list[str], folders: list[str], directory: str) -> None:
    """Whatever the names, the page has the form of OKF, one line each, and does not depend on their order."""
    page = index_page(directory, names, folders)
    assert check_file(f"{directory}/index.md".lstrip("/"), page) == []
    assert page == index_page(directory, reversed(names), reversed(folders))
    count = len(set(folders)) + len(set(names) - {"index.md", "log.md"})
    assert page.decode().count("\n* [") == min(count, 200)


def test_a_log_page() -> None:
    """Days newest first, each line with its time and id."""
    lines = [
        LogLine("2026-06-29T10:00:00.000Z", "Decision", "Use tabs", "a-1"),
        LogLine("2026-06-30T10:00:00.000Z", "Memory", "Likes *stars* --> § ---\n## 2020-01-01", "a-2"),
        LogLine("2026-06-30", "Note", "by hand"),
    ]
    assert log_page(lines).decode() == (
        "# Log\n\n## 2026-06-30\n\n"
        "* **Memory**: Likes \\*stars\\* --\\> &sect; \\-\\-\\- \\#\\# 2020-01-01"
        " <!-- 2026-06-30T10:00:00.000Z a-2 -->\n"
        "* **Note**: by hand <!-- 2026-06-30 -->\n"
        "\n## 2026-06-29\n\n* **Decision**: Use tabs <!-- 2026-06-29T10:00:00.000Z a-1 -->\n"
    )


@given(LINES)
@example([LogLine("2026-06-30", "**", "x <!-- 2026-06-30 b -->", "a")])
@example([LogLine("2026-06-30", "a**: b", "\\*\\&sect;§&", "")])
@example([LogLine("2026-06-30", "", "", "")])
def test_a_log_is_read_back(lines: list[LogLine]) -> None:
    """Any category, text and id stays one entry and comes back; the page obeys OKF."""
    page = log_page(lines)
    assert parse_log(page) == merge_log(lines)
    assert log_page(parse_log(page)) == page
    assert check_file("log.md", page) == []
    assert page.decode().count("\n* ") == len(merge_log(lines))


def test_long_texts_are_cut() -> None:
    """A hundred and twenty characters, with a sign that there was more."""
    (line,) = merge_log([LogLine("2026-06-30", "A", "x" * 400)])
    assert line.text == "x" * 119 + "…"
    assert merge_log([line]) == [line]


def test_a_log_keeps_the_newest_fifty() -> None:
    """The older lines go, whichever way the lists are joined."""
    lines = [LogLine(f"2026-06-30T14:00:{second:02d}.000Z", "A", "x", str(second)) for second in range(60)]
    assert [line.id for line in merge_log(lines)] == [str(second) for second in range(59, 9, -1)]
    assert merge_log(lines[:55], lines[5:]) == merge_log(merge_log(lines[5:]), lines[:55]) == merge_log(lines)


def test_foreign_logs_are_read() -> None:
    """Lines without our comment get the day of their heading; their text is taken as it stands."""
    text = "# Log\r\n* lost\r\n\r\n## 2026-05-22\r\n"
    text += "* **Update**: Added [x](/x.md) a\\*b.\r\n- plain <!-- todo -->\r\nprose\r\n"
    assert parse_log(text.encode() + b"\xff") == [
        LogLine("1970-01-01", "Note", "lost"),
        LogLine("2026-05-22", "Update", "Added [x](/x.md) a\\*b."),
        LogLine("2026-05-22", "Note", "plain <!-- todo -->"),
    ]


@given(st.binary(max_size=200))
def test_any_bytes_are_a_log(data: bytes) -> None:
    """Nothing on disk stops the reader."""
    parse_log(data)


@given(MANY, MANY, MANY)
def test_merging_logs_does_not_depend_on_order(
    one: list[LogLine], two: list[LogLine], three: list[LogLine]
) -> None:
    """Commutative, associative, idempotent, and never more than fifty."""
    merged = merge_log(one, two, three)
    assert merged == merge_log(three, two, one)
    assert merged == merge_log(merge_log(one, two), three) == merge_log(one, merge_log(three, two))
    assert merged == merge_log(merged) == merge_log(merged, one)
    assert len(merged) <= 50
    assert merged == sorted(merged, key=lambda line: (line.at, line.id), reverse=True)


@given(LINES, LINES)
def test_merging_odd_logs_commutes(one: list[LogLine], two: list[LogLine]) -> None:
    """Lines of any form too."""
    assert merge_log(one, two) == merge_log(two, one) == merge_log(merge_log(one, two), one)


@pytest.mark.parametrize("at", ["", "never", "2026-02-30"])
def test_a_line_without_a_time_is_kept(at: str) -> None:
    """It stands at the end, under the first day of the calendar."""
    assert b"\n## 1970-01-01\n" in log_page([LogLine(at, "A", "b", "c")])
