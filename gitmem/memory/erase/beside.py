"""Files beside the objects that may hold an erased text: reflogs, git's own notes, this machine's state, host files."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gitmem.errors import BundleBusy
from gitmem.files import read_file
from gitmem.git.objects import Oid
from gitmem.locks import ProcessLock
from gitmem.state import ERASED_COMMITS, TABLE, name_of

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.erasing import ErasureRules

_ZERO = "0" * 40
# Made again from the history, or of one moment only.
_DROPPED = (
    "ORIG_HEAD",
    "FETCH_HEAD",
    "COMMIT_EDITMSG",
    "MERGE_MSG",
    "SQUASH_MSG",
    "MERGE_RR",
    "rr-cache",
    "lost-found",
)
_HANDLED = ("objects", "refs", "logs", "gitmem", "hooks", "packed-refs", "index", "HEAD", "config")
_OTHERS = tuple(name.path() for name in TABLE if name.format == "directory")


def reflog_ids(git_dir: str) -> Iterator[Oid]:
    """Every commit that a reflog still keeps."""
    for _, data in _reflogs(git_dir):
        for line in data.decode("utf-8", "replace").splitlines():
            for oid in line.split(" ", 2)[:2]:
                if len(oid) == 40 and oid != _ZERO:
                    yield oid


def changed_files(bundle: Bundle, rules: ErasureRules, ids: Mapping[Oid, Oid]) -> dict[str, bytes | None]:
    """The files of the git directory that are other than before, by their path in it; None: it goes.

    Raises where a live process holds the text in a journal of its own.
    """
    git_dir = bundle.repository.git_dir
    found: dict[str, bytes | None] = {}
    for path, data in _reflogs(git_dir):
        new = _reflog(data, rules, ids)
        if new != data:
            found[path] = new or None
    for name in _DROPPED:
        if os.path.lexists(os.path.join(git_dir, name)):
            found[name] = None
    for path in _files(git_dir, "", skip=(*_HANDLED, *_DROPPED)):
        data = read_file(os.path.join(git_dir, path)) or b""
        if rules.blanking.is_in(data):
            found[path] = rules.blanking.data(data)
    for path in _files(git_dir, "gitmem", skip=_OTHERS):
        row = name_of(path.removeprefix("gitmem/"))
        fate = row.erase if row is not None else "scrub"
        if fate == "drop":
            found[path] = None
        elif fate == "scrub":
            data = read_file(os.path.join(git_dir, path)) or b""
            if (new := _state_file(git_dir, path, data, rules, ids)) != data:
                found[path] = new
    found[f"gitmem/{ERASED_COMMITS.pattern}"] = _mapping(bundle, rules, ids)
    return found


def _reflogs(git_dir: str) -> Iterator[tuple[str, bytes]]:
    for path in _files(git_dir, "logs"):
        yield path, read_file(os.path.join(git_dir, path)) or b""


def _reflog(data: bytes, rules: ErasureRules, ids: Mapping[Oid, Oid]) -> bytes:
    """A reflog with new ids and without what goes; a line about a commit that is not here any more goes with it."""
    lines = []
    for line in data.splitlines(keepends=True):
        old, new, rest = (*line.split(b" ", 2), b"", b"")[:3]
        moved = [ids.get(oid, _ZERO if oid == _ZERO else "") for oid in (old.decode(), new.decode())]
        if all(moved):
            lines.append(" ".join(moved).encode() + b" " + rules.words(rest, ids))
    return b"".join(lines)


def _state_file(git_dir: str, path: str, data: bytes, rules: ErasureRules, ids: Mapping[Oid, Oid]) -> bytes:
    if path.endswith((".jsonl", ".damaged", ".new")):
        return _journal(git_dir, path, data, rules)
    blanked = rules.blanking.data(data) if rules.blanking.is_in(data) else data
    return rules.ids(blanked, ids)


def _journal(git_dir: str, path: str, data: bytes, rules: ErasureRules) -> bytes:
    """A journal without the text. Who writes it has it open: while they do, nobody else can change it."""
    if not rules.blanking.is_in(data):
        return data
    lock_path = os.path.join(git_dir, os.path.splitext(path)[0] + ".lock")
    lock = ProcessLock.take(lock_path, create=False) if os.path.exists(lock_path) else None
    if lock is None and os.path.exists(lock_path):
        raise BundleBusy(
            "A session that is running holds the text in its journal: nothing was changed.",
            hint="End that session, or let it commit (`gitmem status` shows it), and run the command again.",
        )
    if lock is not None:
        lock.release()
    lines = []
    for line in data.splitlines(keepends=True):
        body = rules.blanking.data(line[9:].rstrip(b"\n"))
        is_in = rules.blanking.is_in(line)
        lines.append(b"%08x %b\n" % (zlib.crc32(body), body) if is_in else line)
    return b"".join(lines)


def _mapping(bundle: Bundle, rules: ErasureRules, ids: Mapping[Oid, Oid]) -> bytes:
    before = rules.ids(bundle.state.read(ERASED_COMMITS) or b"", ids)
    lines = [f"{old} {new}\n" for old, new in ids.items() if old != new]
    return before + "".join(lines).encode()


def _files(git_dir: str, directory: str, *, skip: tuple[str, ...] = ()) -> Iterator[str]:
    """The files below a directory of the git directory, by their path in it; without names at its top."""
    top = os.path.join(git_dir, directory) if directory else git_dir
    prefix = f"{directory}/" if directory else ""
    for name in sorted(os.listdir(top)) if os.path.isdir(top) else []:
        full = os.path.join(top, name)
        if name in skip or os.path.islink(full):
            continue
        if os.path.isdir(full):
            for inside, _, files in os.walk(full):
                below = os.path.relpath(inside, git_dir).replace(os.sep, "/")
                yield from (f"{below}/{file}" for file in sorted(files))
        elif os.path.isfile(full):
            yield prefix + name


def left_over(bundle: Bundle, rules: ErasureRules) -> list[str]:
    """Files that still hold the text and are not gitmem's to change: a setting, an ignored file of the work tree."""
    root, git_dir = bundle.repository.root, bundle.repository.git_dir
    found = []
    for path in ("config", *_files(git_dir, "hooks"), *_files(git_dir, "gitmem", skip=_OTHERS)):
        data = read_file(os.path.join(git_dir, path)) or b""
        if rules.blanking.is_in(data):
            found.append(os.path.join(git_dir, path))
    for path, _ in bundle.repository.worktree.files():
        full = os.path.join(root, path)
        if os.path.isfile(full) and rules.blanking.is_in(read_file(full) or b""):
            found.append(full)
    return found
