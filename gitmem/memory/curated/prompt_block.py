"""The prompt block: the curated store as the host renders it, frozen for the length of a session."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.memory.curated.contests import uncontested
from gitmem.memory.curated.store import TARGETS, CuratedStore, Target
from gitmem.memory.gate.egress import Egress
from gitmem.memory.gate.foreign import Foreign
from gitmem.memory.gate.hearing import came_from, is_unconfirmed
from gitmem.okf.entries import CONCEPT, DELIMITER, Entry, EntryKey
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle
    from gitmem.safety.verdict import Result

_RULE = "═" * 46
_QUOTED = 200
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


def freeze(
    bundle: Bundle,
    *,
    revision: str = "HEAD",
    machine: str | None = None,
    targets: Sequence[Target] = TARGETS,
) -> FrozenBlock:
    """The block of a revision as a session would see it, or that of one store; it never changes afterwards."""
    commit = bundle.resolve(revision)
    tree = bundle.repository.tree(commit)
    blocks = [_block(bundle, tree, commit, target, machine) for target in targets]
    return FrozenBlock("\n\n".join(block for block in blocks if block), commit)


def _block(bundle: Bundle, tree: Tree, commit: str, target: Target, machine: str | None) -> str:
    store = bundle.part(CuratedStore)
    entries = store.entries(target, revision=commit, machine=machine)
    limit = store.limit(target)
    egress = Egress(bundle)
    verdicts = {entry.key: (entry, result) for entry, result in egress.curated(entries, tree)}
    kept = _fitting(uncontested([entry for entry, _ in verdicts.values()]), limit, Foreign(bundle))
    texts = [_shown(*verdicts[entry.key], target, egress) for entry in kept]
    return render(target, texts, limit) if texts else ""


def unconfirmed(bundle: Bundle) -> list[str]:
    """A line for each entry and skill that a prompt of this machine has and nobody confirmed: what, and from where."""
    from gitmem.safety.verdict import Verdict

    store, egress, tree = bundle.part(CuratedStore), Egress(bundle), bundle.tree()
    entries = [
        f"{shortened(egress.clean(entry.text), _QUOTED)} (from {egress.name(came_from(entry))})"
        for target in TARGETS
        for entry, result in egress.curated(store.entries(target), tree)
        if is_unconfirmed(entry) and result.verdict is Verdict.ALLOW
    ]
    skills = [path for path, _ in tree.files("skills") if path.endswith("/SKILL.md")]
    return entries + [
        f"the skill {egress.name(path.split('/')[-2])} (from {source})"
        for path in skills
        if (source := egress.came_from(path, CONCEPT))
    ]


def render(target: Target, texts: Sequence[str], limit: int) -> str:
    """One store in the host's layout: a rule, a header with percentage and counts, a rule, the entries."""
    content = DELIMITER.join(texts)
    percent = min(100, int(len(content) / limit * 100)) if limit > 0 else 0
    header = f"{_HEADERS[target]} [{percent}% — {len(content):,}/{limit:,} chars]"
    return f"{_RULE}\n{header}\n{_RULE}\n{content}"


def _shown(entry: Entry, result: Result, target: Target, egress: Egress) -> str:
    """The entry, or a line in its place where the scanner flags it, whatever the entry begins with."""
    from gitmem.safety.verdict import Verdict

    if result.verdict is Verdict.ALLOW:
        if not is_unconfirmed(entry):
            return entry.text
        return f"(unconfirmed, from {shortened(egress.name(came_from(entry)), _QUOTED)}) {entry.text}"
    rules = ", ".join(result.rules)
    return (
        f"[BLOCKED: an entry of {_FILES[target]} is kept out of this prompt ({rules}) until a person looks.]"
    )


def _fitting(entries: Sequence[Entry], limit: int, foreign: Foreign) -> list[Entry]:
    """The newest entries that fit, in their order, our own first: a merge may have made the store too large."""
    left = limit
    kept: set[EntryKey] = set()
    for entry in sorted(entries, key=foreign.precedence, reverse=True):
        size = len(entry.text) + (len(DELIMITER) if kept else 0)
        if size <= left:
            kept.add(entry.key)
            left -= size
    return [entry for entry in entries if entry.key in kept]
