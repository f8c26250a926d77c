"""What a text is worth, by what it is: knowledge, said, a tool's, or an echo of the memory."""

from __future__ import annotations

import pytest
from gitmem.okf.ranks import is_echo, rank_of_event, source_of


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory", "{}"),
        ("skill_manage", "{}"),
        ("skills_list", ""),
        ("session_search", ""),
        ("gitmem_search", ""),
        ("mcp_gitmem_search", ""),
        ("mcp__gitmem__recall", ""),
        ("terminal", '{"command": "cd /tmp && gitmem search port"}'),
        ("terminal", '{"command": "hermes gitmem log"}'),
    ],
)
def test_tools_of_the_memory_echo(tool: str, arguments: str) -> None:
    """By whatever name they are called, and by a shell."""
    assert is_echo(tool, arguments)
    assert "echo" == rank_of_event("tool_call", tool, arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("web_extract", '{"urls": ["https://example.org"]}'),
        ("memory_profiler", ""),
        ("terminal", '{"command": "cd gitmem && make test"}'),
        ("read_file", '{"path": "gitmem search"}'),
        ("terminal", "[not json gitmem"),
    ],
)
def test_other_tools_do_not(tool: str, arguments: str) -> None:
    """Also where they are about a directory of that name."""
    assert "tool" == rank_of_event("tool_call", tool, arguments)


def test_a_source_is_the_tool_and_what_it_was_given() -> None:
    """A URL, a file or a command; the tool alone where none is known."""
    assert "web_extract https://a.example/x" == source_of(
        "web_extract", '{"urls": ["https://a.example/x", "b"]}'
    )
    assert "read_file notes.md" == source_of("read_file", '{"path": "notes.md", "limit": 3}')
    assert "terminal make test" == source_of("terminal", '{"command": "make\\ntest"}')
    assert "clock" == source_of("clock", "{}") == source_of("clock", "{broken")
    assert ["said", "said", "knowledge"] == [
        rank_of_event(kind) for kind in ("turn", "observation", "decision")
    ]
