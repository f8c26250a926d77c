"""The scanner for people: over a text, a bundle's tree as it is, or everything its history holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.git.commit_graph import tree_changes
from gitmem.memory.gate.admission import scope_of
from gitmem.memory.gate.scan import Gate
from gitmem.okf.entries import entry_hash
from gitmem.okf.files import open_file
from gitmem.safety.verdict import Result, Scope, Verdict
from gitmem.state import SCANNED_WITH

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle


@dataclass(frozen=True, slots=True)
class Flagged:
    """An entry of the tree that the scanner flags: it stays there, and out of prompt and recall."""

    path: str
    text: str
    result: Result

    @property
    def id(self) -> str:
        """Return what a person names it by to release it."""
        return entry_hash(self.text)[:12]


def scan_text(text: str, scope: Scope) -> Result:
    """The verdict of the shipped scanner on any text, of a bundle or not."""
    from gitmem.safety.scanner import Scanner

    return Scanner.shipped().scan(text, scope)


def accept_rules(bundle: Bundle) -> bool:
    """A person says that this bundle's own rules hold here; False where it has none."""
    return bundle.part(Gate).accept_rules()


def scan_tree(bundle: Bundle, revision: str = "HEAD") -> Iterator[tuple[str, Result]]:
    """A verdict for every entry of the tree, with where it stands."""
    tree = bundle.tree(revision)
    for path, entry in tree.files():
        yield from _scan_file(bundle, path, tree.read_entry(entry), "")


def scan_history(bundle: Bundle) -> Iterator[tuple[str, Result]]:
    """A verdict for every entry that was ever committed, once for each version of its file."""
    seen: set[tuple[str, str]] = set()
    for commit, changes in tree_changes(bundle.repository, bundle.tip):
        for change in changes:
            if change.new is None or (change.path, change.new.oid) in seen:
                continue
            seen.add((change.path, change.new.oid))
            data = bundle.repository.store.blob(change.new.oid)
            yield from _scan_file(bundle, change.path, data, f" in {commit.oid[:8]}")


def _scan_file(bundle: Bundle, path: str, data: bytes, suffix: str) -> Iterator[tuple[str, Result]]:
    entries = open_file(path, data).entries
    judged = bundle.part(Gate).judge_entries(entries.values(), scope_of(path))
    for key, result in zip(entries, judged, strict=True):
        name = key.id[:12] if key.space in ("§", "event") else key.id
        yield f"{path}{f' ({name})' if name else ''}{suffix}", result


# What is in the tree and is flagged


def flagged(bundle: Bundle, directory: str = "") -> Iterator[Flagged]:
    """The entries below a directory that the scanner flags and nobody here has released."""
    tree = bundle.tree()
    for path, _ in tree.files(directory):
        yield from _flagged_in(bundle, tree, path)


def _flagged_in(bundle: Bundle, tree: Tree, path: str) -> list[Flagged]:
    entries = list(open_file(path, tree.read(path)).entries.values())
    results = bundle.part(Gate).judge_entries(entries, scope_of(path))
    return [
        Flagged(path, entry.text, result)
        for entry, result in zip(entries, results, strict=True)
        if result.verdict is not Verdict.ALLOW
    ]


def is_flagged(bundle: Bundle, path: str, text: str) -> bool:
    """Tell whether the scanner flags a text of a file, and nobody here has released it."""
    return any(one.text == text for one in _flagged_in(bundle, bundle.tree(), path))


def find_flagged(bundle: Bundle, name: str) -> Flagged:
    """A flagged entry by its id or the beginning of it: of the curated store, or of the rest of the tree."""
    for directory in ("memories", ""):
        near = {one.id: one for one in flagged(bundle, directory) if name and one.id.startswith(name)}
        if len(near) == 1:
            return next(iter(near.values()))
        if near:
            raise UnknownRevision(f"{len(near)} flagged entries begin with {name!r}: give more of the id.")
    raise UnknownRevision(
        f"Nothing in quarantine and no flagged entry begins with {name!r}.",
        hint="List them with `gitmem review --list`, and all flagged entries with `gitmem scan`.",
    )


# Which rules the tree was last found clean with


def is_scanned(bundle: Bundle) -> bool:
    """Return whether the whole tree was found clean with the very rules that hold here now."""
    return bundle.state.read_text(SCANNED_WITH) == bundle.part(Gate).scanner.fingerprint


def note_scanned(bundle: Bundle) -> None:
    """Remember that the whole tree was found clean with these rules."""
    bundle.state.write_text(SCANNED_WITH, bundle.part(Gate).scanner.fingerprint)
