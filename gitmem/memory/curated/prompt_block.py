"""The prompt block: the curated store as the host renders it, frozen for the length of a session."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.memory.curated.contests import uncontested
from gitmem.memory.curated.store import TARGETS, CuratedStore, Target
from gitmem.memory.gate.egress import Egress
from gitmem.okf.entries import DELIMITER, Entry, EntryKey

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle
    from gitmem.safety.verdict import Result

_RULE = "═" * 46
_HEADERS = {"memory": "MEMORY (your personal notes)", "user": "USER PROFILE (who the user is)"}
_FILES = {"memory": "MEMORY.md", "user": "USER.md"}


@dataclass(frozen=True, slots=True)
class FrozenBlock:
    """The text that goes into a prompt, and the commit it was made from."""

    text: str
    commit: str

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]


def freeze(bundle: Bundle, *, revision: str = "HEAD", machine: str | None = None) -> FrozenBlock:
    """The block of a revision as a session would see it; it never changes afterwards."""
    commit = bundle.resolve(revision)
    tree = bundle.repository.tree(commit)
    blocks = [_block(bundle, tree, commit, target, machine) for target in TARGETS]
    return FrozenBlock("\n\n".join(block for block in blocks if block), commit)


def _block(bundle: Bundle, tree: Tree, commit: str, target: Target, machine: str | None) -> str:
    store = bundle.part(CuratedStore)
    entries = store.entries(target, revision=commit, machine=machine)
    limit = store.limit(target)
    verdicts = {entry.key: (entry, result) for entry, result in Egress(bundle).curated(entries, tree)}
    kept = _fitting(uncontested([entry for entry, _ in verdicts.values()]), limit)
    texts = [_shown(*verdicts[entry.key], target) for entry in kept]
    return render(target, texts, limit) if texts else ""


def render(target: Target, texts: Sequence[str], limit: int) -> str:
    """One store in the host's layout: a rule, a header with percentage and counts, a rule, the entries."""
    content = DELIMITER.join(texts)
    percent = min(100, int(len(content) / limit * 100)) if limit > 0 else 0
    header = f"{_HEADERS[target]} [{percent}% — {len(content):,}/{limit:,} chars]"
    return f"{_RULE}\n{header}\n{_RULE}\n{content}"


def _shown(entry: Entry, result: Result, target: Target) -> str:
    """The entry, or a line in its place where the scanner flags it, whatever the entry begins with."""
    from gitmem.safety.verdict import Verdict

    if result.verdict is Verdict.ALLOW:
        return entry.text
    rules = ", ".join(result.rules)
    return (
        f"[BLOCKED: an entry of {_FILES[target]} is kept out of this prompt ({rules}) until a person looks.]"
    )


def _fitting(entries: Sequence[Entry], limit: int) -> list[Entry]:
    """The newest entries that fit, in their order: a merge may have made the store too large."""
    left = limit
    kept: set[EntryKey] = set()
    for entry in sorted(entries, key=lambda entry: (entry.at, entry.key), reverse=True):
        size = len(entry.text) + (len(DELIMITER) if kept else 0)
        if size <= left:
            kept.add(entry.key)
            left -= size
    return [entry for entry in entries if entry.key in kept]
