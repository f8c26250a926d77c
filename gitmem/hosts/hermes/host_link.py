"""Bring the host along: after a restore, a revert, a sync or a release its own files must say the same."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.files import read_file, replace_file
from gitmem.hosts.hermes.home import LINK, Home
from gitmem.notices import Notice

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory

NEXT_SESSION = "A session that runs keeps its frozen prompt until the next one."


def link(bundle: Memory, home: Home) -> bool:
    """Let every command on the bundle find the home; gives whether that was news."""
    path = _path(bundle)
    # Relative: a backup that is put back elsewhere, or a home that moves, keeps its link.
    wanted = json.dumps({"home": os.path.relpath(home.path, bundle.repository.git_dir)}).encode()
    if read_file(path) == wanted:
        return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.makedirs(bundle.repository.scratch, exist_ok=True)
    replace_file(path, wanted, scratch=bundle.repository.scratch)
    return True


def linked_home(bundle: Memory) -> Home | None:
    """The home whose files belong to this bundle; None for a bundle without a host."""
    data = read_file(_path(bundle))
    if data is None:
        return None
    try:
        found = json.loads(data)["home"]
    except (ValueError, KeyError, TypeError):
        return None
    path = os.path.normpath(os.path.join(bundle.repository.git_dir, str(found)))
    return Home(path) if os.path.isdir(path) else None


def take_host_along(bundle: Memory) -> None:
    """Before a change of the whole: what the host wrote meanwhile is committed first, or would be lost."""
    _compare(bundle, settle=True)


def bring_host_along(bundle: Memory) -> list[str]:
    """After a change: write the host's files. Gives sentences for the user."""
    written = _compare(bundle, settle=False)
    if not written:
        return []
    shown = ", ".join(written[:4]) + (f" and {len(written) - 4} more" if len(written) > 4 else "")
    return [f"Brought along for Hermes: {shown}. {NEXT_SESSION}"]


def _compare(bundle: Memory, *, settle: bool) -> list[str]:
    home = linked_home(bundle)
    if home is None:
        return []
    from gitmem.hosts.hermes import write_notices
    from gitmem.hosts.hermes.memory_files import HostFiles
    from gitmem.hosts.hermes.skill_files import SkillFiles

    files = HostFiles.of(bundle, home)
    try:
        board = lambda: write_notices.everybody(bundle)  # noqa: E731
        done = files.settle(board) if settle else files.compare(board)
        skills = SkillFiles(bundle, home, enforce=bundle.config.enforce_host_files).compare()
    except (GitMemError, OSError) as error:
        bundle.report(Notice("host-left-behind", "Hermes", str(error)))
        return []
    return [*done.written, *(f"skills/{name}" for name in skills.written)]


def _path(bundle: Memory) -> str:
    return os.path.join(bundle.state_dir, "host", LINK)
