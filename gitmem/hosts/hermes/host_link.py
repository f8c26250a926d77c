"""Bring the host along: after a restore, a revert, a sync or a release its own files must say the same."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.files import read_file
from gitmem.hosts.hermes.home import Home, bundle_root
from gitmem.memory.linked_host import Proposal
from gitmem.notices import Notice
from gitmem.okf import timestamps
from gitmem.state import HOST_LINK

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory


_MOST_PROPOSALS = 200
_LARGEST_PROPOSAL = 1 << 21


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


def proposals(bundle: Memory) -> list[Proposal]:
    """The skills that Hermes keeps back until its user has looked (`skills.write_approval`), the oldest first."""
    home = linked_home(bundle)
    directory = os.path.join(home.path, "pending", "skills") if home is not None else ""
    found: list[tuple[float, Proposal]] = []
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(directory))[:_MOST_PROPOSALS] if directory else ():
            path = os.path.join(directory, name)
            if name.endswith(".json") and os.path.isfile(path) and os.path.getsize(path) <= _LARGEST_PROPOSAL:
                found += _proposal(name.removesuffix(".json"), read_file(path) or b"")
    return [one for _, one in sorted(found, key=lambda each: each[0])]


def _proposal(name: str, data: bytes) -> list[tuple[float, Proposal]]:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return []
    payload = told.get("payload") if isinstance(told, dict) else None
    if not isinstance(payload, dict):
        return []
    created = told.get("created_at")
    at = float(created) if isinstance(created, int | float) and not isinstance(created, bool) else 0.0
    words = [payload.get(key) for key in ("content", "file_content", "new_string")]
    text = "\n\n".join(
        [str(told.get("summary") or ""), *(one for one in words if isinstance(one, str) and one)]
    )
    what = f"{payload.get('action', '')} {payload.get('name', '')}".strip()
    moment = timestamps.stamp(timestamps.of_seconds(at)) if at else ""
    return [(at, Proposal(name, f"skills: {what}", text.strip(), moment))]


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
