"""The scanner over a whole bundle: its tree as it is, or everything its history holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.memory.handedits import scope_of
from gitmem.okf import entries as okf
from gitmem.safety.verdict import Result

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


def scan_tree(bundle: Bundle, revision: str = "HEAD") -> Iterator[tuple[str, Result]]:
    """A verdict for every entry of the tree, with where it stands."""
    tree = bundle.tree(revision)
    for path, entry in tree.files():
        yield from _scan_file(bundle, path, tree.read_entry(entry), "")


def scan_history(bundle: Bundle) -> Iterator[tuple[str, Result]]:
    """A verdict for every entry that was ever committed, once for each version of its file."""
    seen: set[tuple[str, str]] = set()
    for commit, changes in bundle.history.tree_changes():
        for change in changes:
            if change.new is None or (change.path, change.new.oid) in seen:
                continue
            seen.add((change.path, change.new.oid))
            data = bundle.repository.store.blob(change.new.oid)
            yield from _scan_file(bundle, change.path, data, f" in {commit.oid[:8]}")


def _scan_file(bundle: Bundle, path: str, data: bytes, suffix: str) -> Iterator[tuple[str, Result]]:
    for key, entry in okf.entries_of(path, data).items():
        name = key.id[:12] if key.space in ("§", "event") else key.id
        place = f"{path}{f' ({name})' if name else ''}{suffix}"
        yield place, bundle.gate.judge(entry.text, scope_of(path))
