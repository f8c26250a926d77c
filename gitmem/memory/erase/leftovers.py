"""Files beside the objects that may hold an erased text: reflogs, git's own notes, this machine's state."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gitmem.errors import BundleBusy
from gitmem.files import make_directories, read_file, remove_file, write_new
from gitmem.git.objects import Oid
from gitmem.git.worktree import Marks, marks
from gitmem.locks import ProcessLock
from gitmem.state import HELD, name_of

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.scrub import Scrub

_ZERO = "0" * 40
# Of one moment only, or made again.
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
_MADE = ("objects", "refs", "packed-refs", "index", "gitmem", "logs")
_LEFT_ALONE = ("config", "hooks/")
"""What is a person's to change: it is copied as it is, and reported."""
_STATE = "gitmem/"


def reflog_ids(git_dir: str) -> Iterator[Oid]:
    """Every commit that a reflog still keeps."""
    for path in files_in(git_dir, "logs"):
        for line in _read(git_dir, path).decode("utf-8", "replace").splitlines():
            yield from (oid for oid in line.split(" ", 2)[:2] if len(oid) == len(_ZERO) and oid != _ZERO)


def holding_text(git_dir: str, rules: Scrub) -> list[str]:
    """The files beside the objects that have the text, by their path."""
    found = (path for path in files_in(git_dir) if not path.startswith(("objects/", f"{_STATE}tmp/")))
    return [path for path in found if rules.pattern.is_in(f"{path}\n".encode() + _read(git_dir, path))]


def held_key(path: str) -> str:
    """The id of the held text at a path of the git directory; empty for any other."""
    inside = path.removeprefix(_STATE)
    return HELD.key(os.path.basename(inside)) if HELD.has(inside) else ""


def copy_rest(git_dir: str, new: str, rules: Scrub, ids: Mapping[Oid, Oid]) -> None:
    """Copy what git keeps beside objects and refs, without the text: reflogs, settings, hooks, files of other programs."""
    for path in files_in(git_dir):
        top = path.partition("/")[0]
        if top in (*_MADE, *_DROPPED) and top != "logs":
            continue
        data = _read(git_dir, path)
        if top == "logs":
            data = _reflog(data, rules, ids)
        elif not path.startswith(_LEFT_ALONE):
            data = rules.pattern.data(data)
        if (data or top != "logs") and not path.endswith(".lock"):
            _write(os.path.join(new, path), data, os.stat(os.path.join(git_dir, path)).st_mode & 0o777)
    for directory in ("", "hooks", "info"):
        for entry in os.scandir(path) if os.path.isdir(path := os.path.join(git_dir, directory)) else ():
            if entry.is_symlink():
                make_directories(os.path.join(new, directory))
                os.symlink(os.readlink(entry.path), os.path.join(new, directory, entry.name))


def _reflog(data: bytes, rules: Scrub, ids: Mapping[Oid, Oid]) -> bytes:
    """A reflog with new ids and without what goes; a line about a commit that is not here any more goes with it."""
    lines = []
    for line in data.splitlines(keepends=True):
        old, new, rest = (*line.split(b" ", 2), b"", b"")[:3]
        moved = [ids.get(oid, _ZERO if oid == _ZERO else "") for oid in (old.decode(), new.decode())]
        if all(moved):
            lines.append(" ".join(moved).encode() + b" " + rules.words(rest, ids))
    return b"".join(lines)


class StateCopy:
    """The state directory of a git directory, copied into another by what the table says of each name.

    A journal and a lock are linked: who holds or writes one goes on. What changes meanwhile is copied by the next run.
    """

    def __init__(self, git_dir: str, new: str, rules: Scrub, ids: Mapping[Oid, Oid]) -> None:
        self._git_dir = git_dir
        self._new = new
        self._rules = rules
        self._ids = ids
        self._seen: dict[str, Marks] = {}

    def run(self) -> bool:
        """Copy what is new or another than last time, and return whether anything was.

        Raises where a live process has the text in its journal.
        """
        present: set[str] = set()
        changed = False
        for path in files_in(self._git_dir, "gitmem"):
            try:
                found = marks(os.lstat(os.path.join(self._git_dir, path)))
            except FileNotFoundError:
                continue
            present.add(path)
            if self._seen.get(path) != found:
                self._copy(path)
                self._seen[path], changed = found, True
        for path in self._seen.keys() - present:
            remove_file(os.path.join(self._new, path))
            del self._seen[path]
        return changed

    def _copy(self, path: str) -> None:
        row = name_of(path.removeprefix(_STATE))
        fate = row.erase if row is not None else "scrub"
        source, target = (os.path.join(top, path) for top in (self._git_dir, self._new))
        data = (read_file(source) or b"") if fate != "drop" else b""
        has_text = fate in ("link", "scrub") and self._rules.pattern.is_in(data)
        if fate == "drop" or (row is HELD and has_text):
            return
        if fate == "link" and not has_text:
            make_directories(os.path.dirname(target))
            remove_file(target)
            os.link(source, target)
            return
        if fate == "link":
            data = self._journal(source, data)
        elif fate == "scrub":
            data = self._rules.words(data, self._ids)
        _write(target, data)

    def _journal(self, path: str, data: bytes) -> bytes:
        """A journal without the text. Who writes it has it open: while they do, nobody else can change it."""
        lock_path = os.path.splitext(path)[0] + ".lock"
        if os.path.exists(lock_path):
            lock = ProcessLock.take(lock_path, create=False)
            if lock is None:
                raise BundleBusy(
                    "A session that is running holds the text in its journal: nothing was changed.",
                    hint="End that session, or let it commit (`gitmem status` shows it), and run the command again.",
                )
            lock.release()
        bodies = [self._rules.pattern.data(line[9:]) for line in data.splitlines()]
        return b"".join(b"%08x %b\n" % (zlib.crc32(body), body) for body in bodies)


def left_over(bundle: Bundle, rules: Scrub) -> list[str]:
    """Files that still have the text and are not gitmem's to change: a setting, an ignored file of the work tree."""
    root, git_dir = bundle.repository.root, bundle.repository.git_dir
    found = [os.path.join(git_dir, path) for path in holding_text(git_dir, rules)]
    files = (os.path.join(root, path) for path, _ in bundle.repository.worktree.files())
    return found + [
        path for path in files if os.path.isfile(path) and rules.pattern.is_in(read_file(path) or b"")
    ]


def files_in(git_dir: str, directory: str = "") -> Iterator[str]:
    """The files of a git directory, by their path in it; no link is followed."""
    for inside, _, names in os.walk(os.path.join(git_dir, directory) if directory else git_dir):
        below = os.path.relpath(inside, git_dir).replace(os.sep, "/")
        for name in sorted(names):
            if not os.path.islink(os.path.join(inside, name)):
                yield name if below == "." else f"{below}/{name}"


def _read(git_dir: str, path: str) -> bytes:
    return read_file(os.path.join(git_dir, path)) or b""


def _write(path: str, data: bytes, mode: int = 0o600) -> None:
    make_directories(os.path.dirname(path))
    remove_file(path)  # it may be another name of a file in use
    write_new(path, data, mode=mode)
