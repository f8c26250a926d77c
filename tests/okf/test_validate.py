from __future__ import annotations

import pytest
from gitmem.okf.validate import check_file
from hypothesis import given
from hypothesis import strategies as st

from tests.okf.strategies import TEXT


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "---\ntype: X\n---\n"),
        ("a.md", "\ufeff---\r\ntype: Unheard Of\r\nany: [1]\r\n---\r\nbody"),
        ("a.md", "---\ntype: X\nat: 2026-01-01\nc: !foo 1\n---\n"),
        ("a.txt", "anything"),
        ("a/b.MD", "anything"),
        ("index.md", '---\nokf_version: "0.2"\n---\n# A\n\n* [T](t.md) - d\n'),
        ("index.md", "---\nokf_version: 9\n---\n"),
        ("index.md", ""),
        (
            "a/index.md",
            "# A\n\nProse.\n\n* [T](t.md) - d\n- [U](/u.md)\n* **[V](v.md)**\n\n---\n\n```\n* code\n```\n",
        ),
        ("log.md", "# Log\n\n## 2026-05-22\n* **Update**: x\n* y\n\n## 2026-05-15\n### z\n"),
        ("a/log.md", "## 2026-05-22\n## 2026-05-22\nprose\n```\n## code\n```\n"),
        ("log.md", ""),
        ("big.md", "---\ntype: X\n---\n" + "x" * 2_000_000),
    ],
)
def test_what_okf_allows(path: str, text: str) -> None:
    """Unknown types and keys, missing optional fields, prose and any size are all right."""
    assert check_file(path, text.encode()) == []


@pytest.mark.parametrize(
    ("path", "data", "rule"),
    [
        ("a.md", b"no front matter", 1),
        ("README.md", b"", 1),
        ("SKILL.md", b"---\ntype: X\n", 1),
        ("a.md", b"---\ntype: [\n---\n", 1),
        ("a.md", b"---\n- type\n---\n", 1),
        ("a.md", b"\xff", 1),
        ("a.md", b"---\ntitle: X\n---\n", 2),
        ("a.md", b"---\ntype: ''\n---\n", 2),
        ("a.md", b"---\ntype: \n---\n", 2),
        ("a.md", b"---\n---\n", 2),
        ("projects/index.md", b"---\nokf_version: '0.2'\n---\n", 3),
        ("index.md", b"---\ntype: Index\n---\n", 3),
        ("index.md", b"---\nokf_version: [\n---\n", 3),
        ("a/index.md", b"# A\n* no link\n", 3),
        ("log.md", b"## 2026-05-15\n## 2026-05-22\n", 3),
        ("log.md", b"## 22 May\n", 3),
        ("log.md", b"## 2026-02-30\n", 3),
        ("log.md", b"\xff", 3),
    ],
)
def test_what_okf_forbids(path: str, data: bytes, rule: int) -> None:
    """Each rule, in each way to break it, is told with its number and a sentence."""
    found = check_file(path, data)
    assert [(one.path, one.rule) for one in found] == [(path, rule)]
    assert found[0].reason.endswith(".")


@given(
    st.sampled_from(["a.md", "index.md", "a/index.md", "log.md", "x"]),
    st.binary(max_size=80)
    | TEXT.map(str.encode)
    | TEXT.map(lambda text: f"---\n{text}\n---\n{text}".encode()),
)
def test_checking_never_fails(path: str, data: bytes) -> None:
    """Any bytes get an answer."""
    assert all(one.path == path for one in check_file(path, data))
