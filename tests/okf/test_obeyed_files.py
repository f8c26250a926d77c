"""Files that other programs obey, by their names and, of a .gitignore, by its patterns."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from gitmem import resources
from gitmem.okf.validate import hides, who_obeys

OBEYED = (
    ".envrc", ".env", ".claude/settings.json", ".cursorrules", ".cursor/rules/x.mdc", ".github/workflows/x.yml",
    ".vscode/tasks.json", ".mcp.json", "CLAUDE.md", "claude.md", "AGENTS.md", "GEMINI.md", "SOUL.md", "notes/AGENTS.md",
    "conftest.py", "yaml.py", "yaml/__init__.py", "notes/click.so", "x.pth", "run.sh", "Makefile", "package.json",
    "pyproject.toml", "justfile", "skills/.envrc", "skills/deploy/.claude/settings.json",
)  # fmt: skip
HARMLESS = (
    ".gitignore", "README.md", "LICENSE", "index.md", "memories/MEMORY.md", "config/agent.md", "tools/claude.md",
    "config/soul.md", "notes/photo.png", "notes/table.csv", "skills/deploy/AGENTS.md", "skills/deploy/scripts/run.py",
    "skills/deploy/Makefile",
)  # fmt: skip
PATTERNS = ("*", "/*", "**", "*.md", "memories/", "/memories", "memories/*", "**/memories", "[mM]*", "MEMORY.md",
            "retractions/**", "/config/*.md", "*.m?", "decisions", "skills/*/SKILL.md", "s*/")  # fmt: skip
FINE = ("node_modules/", "/tmp/*", "*.swp", "# *", "!memories/", "", ".DS_Store", "photos/*.raw")


def test_what_programs_obey_is_known() -> None:
    """Each such name has a reason against it, and names of a memory have none."""
    assert [] == [path for path in OBEYED if not who_obeys(path)]
    assert {} == {path: who_obeys(path) for path in HARMLESS if who_obeys(path)}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_that_hides_a_memory(pattern: str, tmp_path: Path) -> None:
    """What makes git ignore a file of a memory is found, among patterns that do not."""
    assert pattern == hides(f"*.swp\n{pattern}\n".encode())
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text(pattern)
    paths = (
        "memories/MEMORY.md",
        "config/agent.md",
        "retractions/x.md",
        "decisions/x.md",
        "skills/a/SKILL.md",
    )
    asked = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", *paths]
    assert 0 == subprocess.run(asked, capture_output=True, check=False).returncode  # git agrees


def test_patterns_that_hide_nothing_are_fine() -> None:
    """So is the .gitignore that a new bundle gets; one that is too large to look at is not."""
    assert "" == hides("\n".join(FINE).encode()) == hides(resources.read("templates/bundle/dot_gitignore"))
    assert hides(b"x\n" * 40_000)
