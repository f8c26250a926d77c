"""Fingerprint of both sides after a successful sync; lets the next sync exit early when nothing changed.

Buys "a sync that finds nothing": interpreter and imports are nearly all that it costs, so only `os` is imported here.
"""

from __future__ import annotations

import os

from gitmem.state import HOST_LINK, JOURNAL, PENDING, PENDING_REF, PENDING_TOO, LocalState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Final

_BRANCH = "refs/heads/main"
_SNAPSHOTS = "refs/tags/snapshot/"
PATTERNS = (_BRANCH, _SNAPSHOTS + "*")
"""What `git ls-remote` is asked for."""
_SECOND = 1_000_000_000
_YOUNG = 50_000_000
"""Nanoseconds in which a file may change again and look the same: some ticks of the system's clock."""
_YOUNG_IN_SECONDS = 2 * _SECOND
"""The same on a file system that counts in whole seconds, or two."""
SETTLED = (b"settled ", b"durable ")
"""How a note of a commit begins that is finished."""
_FIRST = b"gitmem sync mark 2\n"


class Mark:
    """What a mark says."""

    __slots__ = ("is_default", "last_success", "state", "there", "url")

    def __init__(self, last_success: str, use: str, url: str, state: str, *there: str) -> None:
        self.last_success: Final = last_success
        """When both sides were last seen to agree, as bundles write a moment."""
        self.is_default: Final = use == "default"
        """Whether its remote is the one that is meant without a name."""
        self.url: Final = url
        self.state: Final = state
        self.there: Final = list(there)
        """The refs that the remote has."""


def render(last_success: str, url: str, state: str, there: Mapping[str, str], *, is_default: bool) -> bytes:
    """A mark: where the remote is, how all stands here, and the refs that the remote has."""
    lines = [last_success, "default" if is_default else "named", url, state]
    lines += [f"{oid} {ref}" for ref, oid in sorted(there.items())]
    return _FIRST + "".join(line + "\n" for line in lines).encode()


def read(path: str) -> Mark | None:
    """A mark; None where there is none, or one of another version."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    if not data.startswith(_FIRST) or not data.endswith(b"\n"):
        return None
    lines = data[len(_FIRST) : -1].decode("utf-8", "replace").split("\n")
    return Mark(*lines) if len(lines) >= 4 else None


def note_success(path: str) -> None:
    """Note in a mark that both sides still agree.

    Written over in place, in one piece and of one length: whoever dies here leaves the old moment or the new one,
    and a mark that somebody took away meanwhile does not come back.
    """
    import time

    seconds = time.time()
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03}Z"
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        if os.read(descriptor, len(_FIRST)) == _FIRST:
            os.write(descriptor, now.encode())
    finally:
        os.close(descriptor)


def listed(output: bytes) -> list[str]:
    """The refs that travel, out of what `git ls-remote` prints."""
    found = []
    for line in output.decode("utf-8", "replace").splitlines():
        oid, _, ref = line.partition("\t")
        named = ref.startswith(_SNAPSHOTS) and not ref.startswith(_SNAPSHOTS + "auto/")
        if ref == _BRANCH or (named and not ref.endswith("^{}")):
            found.append(f"{oid} {ref}")
    return sorted(found, key=lambda line: line.partition(" ")[2])


def state(root: str, git_dir: str, *, now: int | None = None) -> str:
    """Everything that a sync would send or take in, as one digest; empty where it cannot be told.

    It cannot where an event or an unfinished commit waits, where a host keeps files of its own, or, to
    make a mark at `now` (in nanoseconds), where something is so young that a later change could go unseen.
    """
    ours = LocalState(git_dir)
    if os.path.lexists(ours.path(HOST_LINK)) or _names(ours.folder(JOURNAL)):
        return ""
    if not all(_is_settled(ours.path(name)) for name in (PENDING, PENDING_TOO, PENDING_REF)):
        return ""
    from hashlib import blake2b

    digest = blake2b(digest_size=20)
    digest.update(repr(_names(git_dir)).encode())  # a merge or rebase under way shows there
    try:
        for path, found in _looked_at(root, git_dir):
            if now is not None and now - found.st_ctime_ns < (
                _YOUNG if found.st_ctime_ns % _SECOND else _YOUNG_IN_SECONDS
            ):
                return ""
            marks = (found.st_mode, found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
            digest.update(f"{path}\0{marks}\n".encode("utf-8", "surrogateescape"))
    except OSError:
        return ""
    return digest.hexdigest()


def _looked_at(root: str, git_dir: str) -> Iterator[tuple[str, os.stat_result]]:
    """Refs, settings and git's index, then the work tree."""
    for name in ("HEAD", "config", "index", "packed-refs", _BRANCH):
        path = os.path.join(git_dir, name)
        if os.path.lexists(path):
            yield name, os.lstat(path)
    yield from _below(os.path.join(git_dir, *_SNAPSHOTS.rstrip("/").split("/")), ".git/")
    yield from _below(root, "")


def _below(top: str, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    """What is in a directory and below it, directories by their names only."""
    todo = [(top, prefix)]
    while todo:
        directory, inside = todo.pop()
        try:
            with os.scandir(directory) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except FileNotFoundError:
            continue
        for entry in entries:
            name = inside + entry.name
            if name == ".git":
                continue
            if entry.is_dir(follow_symlinks=False):
                todo.append((entry.path, name + "/"))
            else:
                yield name, entry.stat(follow_symlinks=False)


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _is_settled(path: str) -> bool:
    """Whether a note tells of no commit under way, or cut short."""
    try:
        with open(path, "rb") as file:
            return file.read(8) in SETTLED
    except FileNotFoundError:
        return True
