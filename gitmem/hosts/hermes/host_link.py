"""Bring the host along: after a restore, a revert, a sync or a release its own files must say the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.hosts.hermes.home import Home, bundle_root
from gitmem.notices import Notice
from gitmem.state import HOST_LINK

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory


def link(bundle: Memory, home: Home) -> bool:
    """Let every command on the bundle find the home; gives whether that was news."""
    # Relative: a backup that is put back elsewhere, or a home that moves, keeps its link.
    wanted = {"home": os.path.relpath(home.path, bundle.repository.git_dir)}
    if bundle.state.read_json(HOST_LINK) == wanted:
        return False
    bundle.state.write_json(HOST_LINK, wanted)
    return True


def linked_home(bundle: Memory) -> Home | None:
    """The home whose files belong to this bundle; None for a bundle without a host.

    The home must say the same: the bundle's word alone may be somebody else's, and its entries go into the home's files.
    """
    found = bundle.state.read_json(HOST_LINK).get("home")
    path = os.path.normpath(os.path.join(bundle.repository.git_dir, str(found)))
    if not found or "\0" in path or not os.path.isdir(path):
        return None
    home = Home(path)
    return (
        home if os.path.realpath(bundle_root(home, bundle.world)) == os.path.realpath(bundle.root) else None
    )


def take_host_along(bundle: Memory) -> None:
    """Before a change of the whole: what the host wrote meanwhile is committed first, or would be lost."""
    _compare(bundle, settle=True)


def bring_host_along(bundle: Memory) -> list[Notice]:
    """After a change: write the host's files. Gives what there is to say."""
    written = _compare(bundle, settle=False)
    if not written:
        return []
    shown = ", ".join(written[:4]) + (f" and {len(written) - 4} more" if len(written) > 4 else "")
    return [Notice("host-followed", "Hermes", shown)]


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
