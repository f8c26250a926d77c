"""Files that other programs obey: a shell, an editor, Python, another agent. None of them comes from a remote.

A person may keep one in a bundle of their own. What a stranger sends would be run, or followed, by whoever opens the
directory. So outside of skills only plain names come, and at the root nothing but markdown.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from gitmem.okf import layout

IGNORE = ".gitignore"
_IGNORE_BYTES = 64 * 1024

_FOR_AGENTS = frozenset(
    ("agent.md", "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md",
     "copilot-instructions.md", "soul.md", "hermes.md")
)  # fmt: skip
_CODE = (".py", ".pyc", ".pyd", ".pyi", ".pyw", ".pyz", ".pth", ".so", ".dll", ".sh", ".bat", ".cmd", ".ps1")
_AT_ROOT = frozenset(("license", "copying", "notice"))
_HIDDEN_IN_SKILLS = frozenset(
    (".env", ".envrc", ".claude", ".cursor", ".cursorrules", ".vscode", ".mcp.json")
)
_OURS = (
    "index.md", "log.md", "config/agent.md", "config/scanner.md", "memories/MEMORY.md", "memories/USER.md",
    "memories/machines/laptop/MEMORY.md", "memories/archive/memory.md", "decisions/tabs_2026-06-30.md",
    "plans/move_2026-06-30.md", "sessions/2026-06/s-1.md", "sessions/2026-06/s-1/0001.md", "tools/web.md",
    "skills/deploy/SKILL.md", "skills/deploy/scripts/run.py", "snapshots/good.md",
    "retractions/0123456789abcdef0123456789abcdef.md", "hermes/observations/user_profile_2026-06-30.md",
)  # fmt: skip


def who_obeys(path: str) -> str:
    """Why a file of this name must not come from a remote; empty where it may."""
    parts = path.casefold().split("/")
    name, in_skills = parts[-1], parts[0] == "skills" and len(parts) > 1
    if path == IGNORE:
        return ""
    hidden = [part for part in parts if part.startswith(".")]
    if hidden and (not in_skills or not _HIDDEN_IN_SKILLS.isdisjoint(hidden)):
        return "programs obey hidden files of that kind"
    if in_skills:
        return ""
    # tools/claude.md is a note about a tool, and config/soul.md a record of what was imported.
    if name in _FOR_AGENTS and not layout.default_type(path) and path != layout.CONFIG_SOUL:
        return "agents take a file of that name for orders"
    if name.endswith(_CODE):
        return "it is code, which belongs into skills"
    if len(parts) == 1 and not name.endswith(".md") and name not in _AT_ROOT:
        return "programs look for files at the root of a directory"
    return ""


def hides(ignore: bytes) -> str:
    """A pattern of a `.gitignore` that hides files of a memory from git; empty where none does."""
    if len(ignore) > _IGNORE_BYTES:
        return "more than 64 KB of patterns"
    return next((line for line in _patterns(ignore) if any(_matches(line, path) for path in _OURS)), "")


def _patterns(ignore: bytes) -> Iterator[str]:
    for line in ignore.decode("utf-8", "replace").splitlines():
        pattern = line.strip()
        if pattern and not pattern.startswith(("#", "!")):
            yield pattern


def _matches(pattern: str, path: str) -> bool:
    """Whether git would ignore the path for this pattern; in doubt it would."""
    bare = pattern.removeprefix("\\").strip("/")
    parts = path.casefold().split("/")
    bare = bare.casefold()
    if "/" not in bare and not pattern.startswith("/"):
        return any(fnmatchcase(part, bare) for part in parts)
    bare = bare.removeprefix("**/").removesuffix("/**")
    leading = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return any(fnmatchcase(one, bare) for one in leading)
