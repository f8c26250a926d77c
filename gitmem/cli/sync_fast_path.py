"""`gitmem sync` where nothing changed, here or there: answered before anything heavy is imported.

Buys "a sync that finds nothing, against `git fetch` plus interpreter start".
Whatever is not plain to see (an option, a host, a young file, a server that says no) is left to the command itself.
"""

from __future__ import annotations

import os
import sys

from gitmem.git import git_command, sync_mark
from gitmem.git.safe_directory import is_safe
from gitmem.locate import holds_files, nearest_bundle
from gitmem.process_lock import ProcessLock
from gitmem.state import SYNC_LOCK, SYNC_MARK, LocalState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PATIENCE = 20.0


def answered(argv: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a plain `sync` had nothing to do and said so."""
    told = _nothing_to_sync(argv, env)
    if told:
        try:
            sys.stdout.write(told + "\n")
            sys.stdout.flush()
        except BrokenPipeError:  # whoever read our output went away
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return bool(told)


def _nothing_to_sync(argv: Sequence[str], env: Mapping[str, str]) -> str:
    words = list(argv)
    chosen = env.get("GITMEM_BUNDLE", "")
    if words[:1] == ["-C"] and len(words) > 1:
        chosen, words = words[1], words[2:]
    if words[:1] != ["sync"] or len(words) > 2 or not hasattr(os, "posix_spawnp"):
        return ""
    name = "".join(words[1:])
    if name and (name == "status" or not name[0].isalnum() or "/" in name):
        return ""
    try:
        root = os.path.abspath(chosen) if chosen else nearest_bundle(os.getcwd())
        git_dir = os.path.join(root, ".git")
        state = LocalState(git_dir)
        if not root or not holds_files(root) or not state.is_there or not is_safe(root, git_dir, env):
            return ""
        remote, url, there = _marked(root, git_dir, state, name)
        lock = ProcessLock.take(state.path(SYNC_LOCK), create=True) if remote else None
        if lock is None:  # nothing is known, or another sync is running
            return ""
        try:
            if there != _listed(url, env):
                return ""
            sync_mark.note_success(state.path(SYNC_MARK, remote))
        finally:
            lock.release()
    except (OSError, ValueError):
        return ""
    return f"synced with {remote}: 0 commits came, 0 went"


def _marked(root: str, git_dir: str, state: LocalState, name: str) -> tuple[str, str, list[str]]:
    """Name, address and last known refs of the remote that is meant, where nothing moved here since."""
    for one in [name] if name else state.keys(SYNC_MARK):
        mark = sync_mark.read(state.path(SYNC_MARK, one))
        if mark is not None and (name or mark.is_default):
            same = _is_remote(git_dir, mark.url) and mark.state == sync_mark.state(root, git_dir)
            return (one, mark.url, mark.there) if same else ("", "", [])
    return "", "", []


def _is_remote(git_dir: str, url: str) -> bool:
    """Whether the repository's own configuration names this address too, and no program may be asked for another."""
    with open(os.path.join(git_dir, "config"), "rb") as file:
        return f"url = {url}\n".encode() in file.read() and "::" not in url and url[:1] not in ("-", ".")


def _listed(url: str, env: Mapping[str, str]) -> list[str] | None:
    """The refs of a remote now, by the git program; None where it does not say."""
    import select
    import time

    where, out = os.pipe()
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        pid = os.posix_spawnp(
            "git",
            git_command.command("ls-remote", "-q", "--", url, *sync_mark.PATTERNS),
            git_command.environment(env),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, nothing, 0),
                (os.POSIX_SPAWN_DUP2, out, 1),
                (os.POSIX_SPAWN_DUP2, nothing, 2),
            ],
            setpgroup=0,  # git starts ssh and others, which must end with it
        )
    except BaseException:
        os.close(where)
        raise
    finally:
        os.close(out)
        os.close(nothing)
    pieces: list[bytes] = []
    until = time.monotonic() + _PATIENCE
    done = False
    try:
        while not done and select.select([where], [], [], max(0.0, until - time.monotonic()))[0]:
            piece = os.read(where, 65536)
            pieces.append(piece)
            done = not piece
    finally:
        os.close(where)
        if not done:
            os.killpg(pid, 9)
        _, status = os.waitpid(pid, 0)
    return sync_mark.listed(b"".join(pieces)) if done and status == 0 else None
