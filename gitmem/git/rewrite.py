"""A history rewritten: every commit, tree, file and tag that rules change, in the same order and with the same words.

What the rules leave alone keeps its id. Everything that stands on a changed commit becomes another commit, with the date
and the parents that it had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from gitmem.git.objects import (
    DIRECTORY,
    EMPTY_TREE,
    Directory,
    GitObject,
    Oid,
    TreeEntry,
    path_bytes,
    path_text,
)
from gitmem.git.store import ObjectStore
from gitmem.git.tree import TreeDiff

if TYPE_CHECKING:
    from gitmem.okf.scrub import Scrub

_NO_FILE = 0o160000


Held = frozenset[tuple[str, Oid]]
"""The files of a tree that rules change: their paths and what they were."""


@dataclass(slots=True)
class Rewritten:
    """Result of a rewrite."""

    commits: dict[Oid, Oid] = field(default_factory=dict)
    """Every commit that was looked at, in order, the parents first: what it became, which may be itself."""
    tags: dict[Oid, Oid] = field(default_factory=dict)
    objects: dict[Oid, GitObject] = field(default_factory=dict)
    """The objects that are new."""
    brings: dict[Oid, set[str]] = field(default_factory=dict)
    """The commits that brought what goes: the files, and an empty path for the message."""
    holding: set[Oid] = field(default_factory=set)
    """The commits and tags that hold any of it."""

    @property
    def changed(self) -> dict[Oid, Oid]:
        """The commits that became others."""
        return {old: new for old, new in self.commits.items() if old != new}


class Rewriter:
    """One pass over a history."""

    def __init__(
        self, store: ObjectStore, rules: Scrub, made: dict[Oid, GitObject], known: Mapping[Oid, Oid]
    ) -> None:
        """`made` takes the objects that are new; `known` are commits of which it is known already what they become."""
        self._store = store
        self._rules = rules
        self._tree = cache(self._rewritten_tree)
        self._blob = cache(self._rewritten_blob)
        self._held: dict[Oid, Held] = {}
        self.done = Rewritten(dict(known), objects=made)

    def run(self, roots: Iterable[Oid]) -> Rewritten:
        """Rewrite all that these commits and tags stand on."""
        for root in roots:
            self._root(root)
        return self.done

    def _root(self, oid: Oid) -> Oid:
        kind, content = self._store.read(oid)
        if kind == b"tag":
            return self._tag(oid, content)
        if kind == b"commit":
            for commit in _parents_first(self._store, oid, self.done.commits):
                self._commit(commit)
            return self.done.commits[oid]
        raise ValueError(kind)

    def _tag(self, oid: Oid, raw: bytes) -> Oid:
        if oid not in self.done.tags:
            head, _, message = raw.partition(b"\n\n")
            lines = head.split(b"\n")
            target = lines[0].partition(b" ")[2].decode()
            new = [self._header(line, self._root(target)) for line in lines]
            if target in self.done.holding or self._rules.words(raw, {}) != raw:
                self.done.holding.add(oid)
            words = self._rules.words(message, self.done.commits)
            self.done.tags[oid] = self._new(b"tag", b"\n".join(new) + b"\n\n" + words)
        return self.done.tags[oid]

    def _commit(self, oid: Oid) -> None:
        commit = self._store.commit(oid)
        head, _, message = self._store.read(oid)[1].partition(b"\n\n")
        entry, held = self._tree(commit.tree, "")
        self._held[oid] = held
        before = frozenset().union(*(self._held.get(parent, frozenset()) for parent in commit.parents))
        is_of = any(self._rules.takes_out(path) for path, _ in held ^ before)
        words = self._rules.message(message, self.done.commits, is_of=is_of)
        lines = head.split(b"\n")
        new = [self._header(line, entry.oid if entry else EMPTY_TREE) for line in lines]
        if (new, words) == (lines, message):
            self.done.commits[oid] = oid
        else:
            if entry is None:
                self._new(b"tree", b"")
            # A signature was made of what the commit said before.
            content = b"\n".join(_without_signature(new)) + b"\n\n" + words
            self.done.commits[oid] = self._new(b"commit", content)
        brought = {path for path, _ in held - before}
        has_names = any(one != line for one, line in zip(new, lines, strict=True) if b"> " in line)
        if has_names or self._rules.message(message, {}, is_of=False) != message:
            brought.add("")
        if brought:
            self.done.brings[oid] = brought
        if brought or held:
            self.done.holding.add(oid)

    def _header(self, line: bytes, stands_on: Oid) -> bytes:
        """A line above the message, of a commit with that tree or a tag of that object; the date of a person stays."""
        key, _, value = line.partition(b" ")
        if key in (b"tree", b"object"):
            return key + b" " + stands_on.encode()
        if key == b"parent":
            parent = value.decode()
            return b"parent " + self.done.commits.get(parent, parent).encode()
        if key == b"tag":
            return b"tag " + self._rules.name(value.decode("utf-8", "replace")).encode()
        if key in (b"author", b"committer", b"tagger"):
            name, end, date = line.rpartition(b"> ")
            return self._rules.words(name, self.done.commits) + end + date
        return line

    def _new(self, kind: bytes, content: bytes) -> Oid:
        made = GitObject.of(kind, content)
        self.done.objects.setdefault(made.oid, made)
        return made.oid

    def _rewritten_tree(self, oid: Oid, prefix: str) -> tuple[TreeEntry | None, Held]:
        """Return the rewritten tree (None when it is left empty), and the changes in it."""
        before = Directory.parse(self._store.raw_tree(oid))
        changes: dict[bytes, TreeEntry | None] = {}
        held: set[tuple[str, Oid]] = set()
        directory = prefix.rstrip("/")
        for raw_name, entry in before.entries.items():
            name = path_text(raw_name)
            path = prefix + name
            if self._rules.takes_out(path):
                changes[raw_name] = None
                held.add((path, entry.oid))
                continue
            if entry.mode == DIRECTORY:
                new, inside = self._tree(entry.oid, path + "/")
                held |= inside
            elif entry.mode == _NO_FILE:
                new = entry
            else:
                blob = self._blob(entry.oid, path)
                new = TreeEntry(entry.mode, blob) if blob else None
            if new != entry:
                changes[raw_name] = new
                if entry.mode != DIRECTORY and self._rules.holds(path, entry.oid):
                    held.add((path, entry.oid))
            if new is not None and (other := self._rules.name(name)) != name:
                changes[raw_name] = None
                changes[_free(path_bytes(other), (*before.entries, *changes))] = new
                held.add((path, entry.oid))
        if not changes:
            return TreeEntry(DIRECTORY, oid), frozenset(held)
        after = before.changed(changes)
        if after.entries.keys() != before.entries.keys():
            after = self._with_page(directory, after)
        if not after.entries and prefix:
            return None, frozenset(held)
        return TreeEntry(DIRECTORY, self._new(b"tree", after.raw)), frozenset(held)

    def _with_page(self, directory: str, tree: Directory) -> Directory:
        """The tree with the page that lists it made again, where it has one."""
        if b"index.md" not in tree.entries:
            return tree
        items = {path_text(name): entry for name, entry in tree.entries.items() if name != b"index.md"}
        below = [name for name, entry in items.items() if entry.is_directory]
        page = self._rules.page(directory, [name for name in items if name not in below], below)
        if page is None:
            return tree
        if not items and directory:
            return tree.changed({b"index.md": None})
        mode = tree.entries[b"index.md"].mode
        return tree.changed({b"index.md": TreeEntry(mode, self._new(b"blob", page))})

    def _rewritten_blob(self, oid: Oid, path: str) -> Oid | None:
        data = self._store.blob(oid)
        new = self._rules.content(path, data, self.done.commits)
        return oid if new == data else None if new is None else self._new(b"blob", new)


def _free(name: bytes, taken: Iterable[bytes]) -> bytes:
    """The name, or one like it that no other file of the directory has."""
    known, number = set(taken), 1
    stem, dot, extension = name.partition(b".")
    while name in known:
        number += 1
        name = b"%s-%d%s%s" % (stem, number, dot, extension)
    return name


def _without_signature(lines: list[bytes]) -> Iterator[bytes]:
    inside = False
    for line in lines:
        inside = line.startswith((b"gpgsig", b"mergetag")) or (inside and line.startswith(b" "))
        if not inside:
            yield line


def _parents_first(store: ObjectStore, tip: Oid, known: Mapping[Oid, Oid]) -> Iterator[Oid]:
    """The commits that a tip stands on and that are not known yet, each after its parents."""
    given: set[Oid] = set()
    stack = [(tip, False)]
    while stack:
        oid, is_ready = stack.pop()
        if oid in known or oid in given:
            continue
        if is_ready:
            given.add(oid)
            yield oid
            continue
        stack.append((oid, True))
        stack += [(parent, False) for parent in reversed(store.commit(oid).parents) if parent not in known]


def files_of(store: ObjectStore, roots: Iterable[Oid]) -> Iterator[tuple[str, Oid]]:
    """Every file of every commit that these stand on, once for each place and content."""
    seen: set[tuple[str, Oid]] = set()
    commits: dict[Oid, Oid] = {}
    diff = TreeDiff(store)
    for root in roots:
        for oid in _parents_first(store, root, commits):
            commits[oid] = oid
            for path, _, new in diff.of_commit(store.commit(oid)):
                if new is not None and new.mode != _NO_FILE and (path, new.oid) not in seen:
                    seen.add((path, new.oid))
                    yield path, new.oid


def words_in(kind: bytes, content: bytes) -> bytes:
    """Text of an object that people wrote: names in a tree, persons and message of a commit or tag, a file."""
    if kind == b"tree":
        return b"\n".join(Directory.parse(content).entries)
    if kind == b"blob":
        return content
    head, _, message = content.partition(b"\n\n")
    persons = [line.rpartition(b"> ")[0] for line in head.split(b"\n") if b"> " in line]
    return b"\n".join([*persons, message])
