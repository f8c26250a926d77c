"""What comes from a remote is looked at before any of it enters: objects, paths, sizes, OKF, content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from gitmem.errors import GitMemError, UnsafePath
from gitmem.git.ancestry import is_ancestor
from gitmem.git.objects import (
    DIRECTORY,
    EXECUTABLE,
    FILE,
    Oid,
    TreeEntry,
    parse_commit,
    parse_tree,
    render_tree,
)
from gitmem.git.refs import SNAPSHOTS, check_ref_name
from gitmem.git.repository import Repository
from gitmem.okf import entries as okf
from gitmem.okf import layout, paths, validate
from gitmem.okf.entries import Entry
from gitmem.safety.scanner import Scanner
from gitmem.safety.verdict import Result, Verdict

MAX_BLOB = 8 * 1024 * 1024
MAX_FILES = 200_000
MAX_COMMITS = 200_000
MAX_DEPTH = paths.MAX_COMPONENTS


class RefusedFetch(GitMemError):
    """Something in what a remote sent must not enter; nothing of it did."""


@dataclass(frozen=True, slots=True)
class Flagged:
    """An entry that the shipped rules block."""

    path: str
    entry: Entry
    result: Result


@dataclass(slots=True)
class Checked:
    """What was looked at: how much, and which entries must be held back."""

    commits: int = 0
    files: int = 0
    entries: int = 0
    flagged: list[Flagged] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def check_incoming(room: Repository, tip: Oid, commits: list[Oid], known: Oid | None) -> Checked:
    """Look at every new commit and at all that differs from what we know; raises RefusedFetch.

    `room` is the throw-away repository with what was fetched; `known` the commit to compare with.
    """
    done = Checked()
    if len(commits) > MAX_COMMITS:
        raise RefusedFetch(
            f"The remote sends {len(commits):,} commits at once: at most {MAX_COMMITS:,} are taken."
        )
    seen: set[Oid] = set()
    for oid in reversed(commits):
        kind, content = room.store.read(oid)
        if kind != b"commit":
            raise RefusedFetch(f"The remote sends a {kind.decode()} where a commit belongs.")
        commit = parse_commit(oid, content)
        done.commits += 1
        parent = _tree_of(room, commit.parents[0]) if commit.parents else None
        for path, _, new in _differences(room, parent, commit.tree, done):
            if new is not None and new.oid not in seen:
                seen.add(new.oid)
                _check_blob(room, path, new)
    before = _tree_of(room, known) if known else None
    for path, old, new in _differences(room, before, _tree_of(room, tip), Checked()):
        if new is not None:
            _check_content(room, path, old, new, done)
    return done


def check_snapshots(room: Repository, main: Oid, snapshots: Mapping[str, Oid]) -> None:
    """A snapshot names a commit of the history that was looked at, or the fetch is refused."""
    for name, oid in snapshots.items():
        try:
            check_ref_name(SNAPSHOTS + name)
            commit, _ = room.store.peel(oid)
            known = is_ancestor(room, commit, main)
        except GitMemError as error:
            raise RefusedFetch(f"The remote sends a snapshot that is none: {error}") from error
        if not known:
            raise RefusedFetch(f"The remote's snapshot {name!r} names a commit that is not in its memory.")


def _tree_of(room: Repository, commit: Oid) -> Oid:
    return room.store.commit(commit).tree


def _differences(
    room: Repository, old: Oid | None, new: Oid, done: Checked
) -> Iterator[tuple[str, TreeEntry | None, TreeEntry | None]]:
    """Files that differ, with every tree on the way checked; never deeper or more than the limits."""
    stack: list[tuple[str, Oid | None, Oid]] = [("", old, new)]
    while stack:
        prefix, before, after = stack.pop()
        if before == after:
            continue
        if prefix.count("/") > MAX_DEPTH:
            raise RefusedFetch(f"The remote sends directories deeper than {MAX_DEPTH} levels.")
        left = room.store.tree(before) if before else {}
        right = _checked_tree(room, after, prefix, left)
        for name, entry in right.items():
            was = left.get(name)
            if was == entry:
                continue
            path = prefix + name.decode()
            done.files += 1
            if done.files > MAX_FILES:
                raise RefusedFetch(f"The remote sends more than {MAX_FILES:,} files at once.")
            if entry.is_directory:
                stack.append((path + "/", was.oid if was and was.is_directory else None, entry.oid))
            else:
                yield path, (was if was and not was.is_directory else None), entry


def _checked_tree(
    room: Repository, oid: Oid, prefix: str, known: Mapping[bytes, TreeEntry]
) -> dict[bytes, TreeEntry]:
    """A tree whose entries may enter. Those that `known` has under the same name and mode were looked at."""
    kind, raw = room.store.read(oid)
    if kind != b"tree":
        raise RefusedFetch(f"The remote sends a {kind.decode()} where a directory belongs.")
    found = parse_tree(raw)
    if render_tree(found) != raw:
        raise RefusedFetch(f"The remote sends a damaged directory at {prefix or 'the root'!r}.")
    fresh = [
        (name, entry)
        for name, entry in found.items()
        if (was := known.get(name)) is None or was.mode != entry.mode
    ]
    for name, entry in fresh:
        try:
            text = name.decode()
            paths.check_path(prefix + text)
        except (UnicodeDecodeError, UnsafePath) as error:
            raise RefusedFetch(f"The remote sends a path that must not enter a bundle: {error}") from error
        if entry.mode not in (FILE, DIRECTORY, EXECUTABLE):
            raise RefusedFetch(f"The remote sends {prefix + text!r} as a link, submodule or special file.")
        if entry.mode == EXECUTABLE and not _may_run(prefix + text):
            raise RefusedFetch(
                f"The remote sends {prefix + text!r} as a program: only scripts of skills may be."
            )
    if any(name not in known for name, _ in fresh):
        _refuse_collisions(found)
    return found


def _refuse_collisions(names: Iterable[bytes]) -> None:
    folded: dict[str, str] = {}
    for name in names:
        text = name.decode()
        rival = folded.setdefault(_folded(text), text)
        if rival != text:
            raise RefusedFetch(
                f"The remote sends {rival!r} and {text!r}, which some systems take for one file."
            )


@lru_cache(maxsize=65536)  # a directory is looked at again with every commit that adds to it
def _folded(name: str) -> str:
    return paths.fold(name)


def _may_run(path: str) -> bool:
    parts = path.split("/")
    return parts[0] == "skills" and "scripts" in parts[1:-1]


def _check_blob(room: Repository, path: str, entry: TreeEntry) -> None:
    kind, data = room.store.read(entry.oid)
    if kind != b"blob":
        raise RefusedFetch(f"The remote sends a {kind.decode()} as the file {path!r}.")
    if len(data) > MAX_BLOB:
        raise RefusedFetch(
            f"The remote sends {path!r} with {len(data) >> 20} MB: at most {MAX_BLOB >> 20} are taken."
        )


def _check_content(room: Repository, path: str, old: TreeEntry | None, new: TreeEntry, done: Checked) -> None:
    data = room.store.blob(new.oid)
    for violation in validate.check_file(path, data):
        raise RefusedFetch(
            f"The remote's {path!r} is not valid: {violation.reason} Mend it where it was written, then sync."
        )
    if layout.is_generated(path):
        return
    before = okf.entries_of(path, room.store.blob(old.oid)) if old else {}
    scanner = Scanner.shipped()
    for key, entry in okf.entries_of(path, data).items():
        was = before.get(key)
        if was is not None and was.text == entry.text:
            continue
        done.entries += 1
        result = _judged(scanner, path, entry.text)
        if result.verdict is Verdict.BLOCK:
            done.flagged.append(Flagged(path, entry, result))


def _judged(scanner: Scanner, path: str, text: str) -> Result:
    """Only the shipped block rules: every machine comes to the same verdict."""
    from gitmem.memory.handedits import scope_of

    limit = 256 * 1024
    results = [
        scanner.scan(text[start : start + limit], scope_of(path), statistics=False)
        for start in range(0, max(1, len(text)), limit)
    ]
    return max(results, key=lambda result: (result.verdict is Verdict.BLOCK, result.verdict is Verdict.HOLD))
