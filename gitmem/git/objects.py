"""Git objects as values: ids, trees, commits and tags, encoded and decoded without a repository."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitmem.errors import VERIFY, BundleUnusable, RefusedFetch
from gitmem.okf.timestamps import clamped

Oid = str
"""A 40-character hexadecimal object id."""

FILE = 0o100644
EXECUTABLE = 0o100755
DIRECTORY = 0o040000

EMPTY_TREE: Oid = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

TYPE_NUMBERS = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
TYPE_NAMES = {number: name for name, number in TYPE_NUMBERS.items()}


@dataclass(frozen=True, slots=True)
class GitObject:
    """One object about to be written: its type, its content and the id that follows from them."""

    type: bytes
    content: bytes
    oid: Oid

    @classmethod
    def of(cls, kind: bytes, content: bytes) -> GitObject:
        return cls(kind, content, object_id(kind, content))


def object_id(kind: bytes, content: bytes) -> Oid:
    digest = hashlib.sha1(b"%s %d\0" % (kind, len(content)), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


def blob_id(content: bytes) -> Oid:
    return object_id(b"blob", content)


@dataclass(frozen=True, slots=True)
class TreeEntry:
    mode: int
    oid: Oid

    @property
    def is_directory(self) -> bool:
        return self.mode == DIRECTORY


def file_id(entry: TreeEntry | None) -> Oid | None:
    """The blob of a file; None for a directory, and where there is nothing."""
    return None if entry is None or entry.is_directory else entry.oid


def path_bytes(path: str) -> bytes:
    """A path, or a name in it, as trees and git's index have it."""
    return path.encode("utf-8", "surrogateescape")


def path_text(name: bytes) -> str:
    """A path of a tree or of git's index as text, whatever its bytes are."""
    return name.decode("utf-8", "surrogateescape")


RawEntry = bytes
"""Mode, name and id as a tree has them. One piece: comparing and keeping thousands of them costs least so."""
_ENTRY = re.compile(rb"[0-7]{5,6} [^\0]+\0.{20}", re.DOTALL)


def raw_entries(raw: bytes) -> list[RawEntry] | None:
    """The entries of a tree's bytes; None where they are not a tree's."""
    listed: list[RawEntry] = _ENTRY.findall(raw)
    return listed if b"".join(listed) == raw else None  # a search skips what it does not know


def entries_by_name(entries: Iterable[RawEntry]) -> dict[bytes, TreeEntry]:
    """Raw entries as values, by name, in their order."""
    return {
        entry[(end := entry.index(b" ")) + 1 : -21]: TreeEntry(int(entry[:end], 8), entry[-20:].hex())
        for entry in entries
    }


def parse_tree(raw: bytes) -> dict[bytes, TreeEntry]:
    """The entries of a raw tree by name, in stored order."""
    listed = raw_entries(raw)
    if listed is None:
        raise BundleUnusable("A tree object is damaged.", hint=VERIFY)
    return entries_by_name(listed)


@dataclass(frozen=True, slots=True)
class Person:
    """An author or committer, with the moment they acted (seconds since the epoch, offset in minutes).

    One that was read has a moment that every calendar has, whatever the commit says.
    """

    name: str
    email: str
    time: int
    offset: int = 0

    def render(self) -> bytes:
        sign = "-" if self.offset < 0 else "+"
        hours, minutes = divmod(abs(self.offset), 60)
        name, email = _identity(self.name) or "unknown", _identity(self.email)
        moment = int(clamped(self.time))  # a clock before 1970 makes a date that git refuses
        return f"{name} <{email}> {moment} {sign}{hours:02d}{minutes:02d}".encode()

    @classmethod
    def parse(cls, line: bytes) -> Person:
        text = line.decode("utf-8", "replace")
        head, _, tail = text.rpartition("> ")
        name, _, email = head.partition(" <")
        seconds, _, zone = tail.partition(" ")
        try:
            time = int(clamped(int(seconds)))
            offset = int(zone[1:3]) * 60 + int(zone[3:5]) if zone else 0
        except ValueError:
            time, offset = 0, 0
        return cls(name, email, time, -offset if zone.startswith("-") else offset)


def _identity(text: str) -> str:
    """Git has no escape for these characters in a name: they would break the line's form."""
    cleaned = "".join(" " if ord(ch) < 32 or ch in "<>\x7f" else ch for ch in text)
    return cleaned.encode("utf-8", "replace").decode().strip(" .,:;\"'")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as it is in the store."""

    oid: Oid
    tree: Oid
    parents: tuple[Oid, ...]
    author: Person
    committer: Person
    message: str

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0]

    @property
    def made(self) -> int:
        """Return when its content was written: the author's date of an import, otherwise the commit date."""
        return self.author.time if self.message.startswith("import: ") else self.committer.time


def render_commit(
    tree: Oid, parents: Iterable[Oid], author: Person, committer: Person, message: str
) -> GitObject:
    lines = [b"tree " + tree.encode()]
    lines += [b"parent " + parent.encode() for parent in parents]
    lines += [b"author " + author.render(), b"committer " + committer.render(), b"", b""]
    return GitObject.of(b"commit", b"\n".join(lines) + message.encode("utf-8", "replace"))


def parse_commit(oid: Oid, raw: bytes) -> Commit:
    tree, parents, author, committer = "", [], Person("", "", 0), Person("", "", 0)
    for key, value in _headers(raw):
        if key == b"tree":
            tree = value.decode("ascii", "replace")
        elif key == b"parent":
            parents.append(value.decode("ascii", "replace"))
        elif key == b"author":
            author = Person.parse(value)
        elif key == b"committer":
            committer = Person.parse(value)
    return Commit(oid, tree, tuple(parents), author, committer, _body(raw))


@dataclass(frozen=True, slots=True)
class Tag:
    """An annotated tag."""

    oid: Oid
    target: Oid
    name: str
    tagger: Person
    message: str


def render_tag(target: Oid, name: str, tagger: Person, message: str) -> GitObject:
    lines = [
        b"object " + target.encode(),
        b"type commit",
        b"tag " + name.encode(),
        b"tagger " + tagger.render(),
        b"",
        b"",
    ]
    return GitObject.of(b"tag", b"\n".join(lines) + message.encode("utf-8", "replace"))


def parse_tag(oid: Oid, raw: bytes) -> Tag:
    target, name, tagger = "", "", Person("", "", 0)
    for key, value in _headers(raw):
        if key == b"object":
            target = value.decode("ascii", "replace")
        elif key == b"tag":
            name = value.decode("utf-8", "replace")
        elif key == b"tagger":
            tagger = Person.parse(value)
    return Tag(oid, target, name, tagger, _body(raw))


def _headers(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    for line in raw.partition(b"\n\n")[0].split(b"\n"):
        key, _, value = line.partition(b" ")
        yield key, value


def _body(raw: bytes) -> str:
    return raw.partition(b"\n\n")[2].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Directory:
    """The entries of a tree in git's order, and the tree's bytes. Shared: never changed in place."""

    entries: dict[bytes, TreeEntry]
    raw: bytes

    @classmethod
    def parse(cls, raw: bytes) -> Directory:
        return cls(parse_tree(raw), raw)

    def changed(self, changes: Mapping[bytes, TreeEntry | None]) -> Directory:
        """This directory with some entries set, or dropped where they are None."""
        entries = {**self.entries, **changes}
        kept = [(name, entry) for name, entry in entries.items() if entry is not None]
        kept.sort(key=lambda item: item[0] + b"/" if item[1].mode == DIRECTORY else item[0])
        raw = (b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.oid)) for name, entry in kept)
        return Directory(dict(kept), b"".join(raw))


_PERSON = rb"[^<>\n]* <[^<>\n]*> (?:0|[1-9][0-9]{0,18}) [+-][0-9]{4}\n"
_HEADS = {
    b"commit": re.compile(
        rb"tree [0-9a-f]{40}\n(?:parent [0-9a-f]{40}\n)*author " + _PERSON + rb"committer " + _PERSON
    ),
    b"tag": re.compile(
        rb"object [0-9a-f]{40}\ntype commit\ntag [^\n]+\n(?:tagger " + _PERSON + rb"|(?!tagger))"
    ),
}


MAX_COMMIT_BYTES = 1024 * 1024
"""Of a commit or tag from elsewhere: every walk over the history reads it."""


def refuse_large(oid: Oid, kind: bytes, size: int) -> None:
    """Raise RefusedFetch for a commit or tag that is too large to be read again and again."""
    if kind not in (b"blob", b"tree") and size > MAX_COMMIT_BYTES:
        raise RefusedFetch(
            f"The remote sends a {kind.decode()} of {size >> 20} MB ({oid[:12]}): at most "
            f"{MAX_COMMIT_BYTES >> 20} MB are taken.",
            hint="Shorten its message where it was written.",
        )


def check_strictly(oid: Oid, kind: bytes, raw: bytes) -> None:
    """Nothing for a commit or tag that git would take; else RefusedFetch."""
    refuse_large(oid, kind, len(raw))
    head = _HEADS.get(kind)
    if head is None:
        raise RefusedFetch(f"The remote sends a {kind.decode()} as {oid[:12]}, where a commit belongs.")
    if not head.match(raw) or b"\0" in raw or not (b"\n\n" in raw or raw.endswith(b"\n")):
        raise RefusedFetch(f"The remote sends a damaged {kind.decode()} ({oid[:12]}), which git refuses too.")


def named_in(oid: Oid, kind: bytes, content: bytes) -> Iterator[Oid]:
    """The objects that an object stands on, but for commits of other repositories."""
    if kind == b"commit":
        commit = parse_commit(oid, content)
        yield commit.tree
        yield from commit.parents
    elif kind == b"tag":
        yield parse_tag(oid, content).target
    elif kind == b"tree":
        for entry in parse_tree(content).values():
            if entry.mode == DIRECTORY or entry.mode >> 12 == 0o10:
                yield entry.oid
