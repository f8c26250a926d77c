"""Cloning: a bundle out of what a remote holds, checked before any of it is written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from gitmem.config import Config
from gitmem.errors import BundleUnusable
from gitmem.git.ancestry import only_in
from gitmem.git.message import Message
from gitmem.git.objects import Person
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.git.remotes import Remote, Remotes
from gitmem.git.repository import Repository
from gitmem.git.setup import make_repository
from gitmem.git.transaction import Draft, publish
from gitmem.git.transport import Fetched, choose, remote_ref, shown_url, take_over, throw_away
from gitmem.git.tree import Tree
from gitmem.memory.gate.holding import hold_back
from gitmem.memory.gate.trust import note_pulled
from gitmem.memory.memory import Memory
from gitmem.memory.sync.inspect import Checked, check_incoming, check_snapshots
from gitmem.memory.upkeep.create import install_hooks
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.world import World

_FEW = 10


def clone(
    world: World,
    url: str,
    root: str,
    *,
    config: Config,
    command: str = "gitmem",
    separate_git_dir: str | None = None,
    prefer: str = "",
) -> Memory:
    """A bundle at `root` with everything the remote has; what the rules block is in its quarantine.

    Cloning is consent to sync with the remote later.
    """
    if os.path.isdir(url):
        url = os.path.abspath(url)
    existed = os.path.isdir(root)
    repository = make_repository(root, separate_git_dir=separate_git_dir)
    try:
        fetched, checked = _fetch(repository, url, world.env, prefer)
        _check_out(repository, fetched, url)
    except BaseException:
        repository.store.close()
        shutil.rmtree(repository.git_dir, ignore_errors=True)
        if not existed:
            shutil.rmtree(root, ignore_errors=True)
        raise
    Remotes(repository).save(Remote("origin", url, consent=True))
    repository.refs.set(remote_ref("origin"), fetched.main or "", expected=None)
    install_hooks(repository, command=command)
    bundle = Memory(repository, config, world)
    for path, kind in checked.secrets[:_FEW]:
        bundle.report(Notice("secret-came", path, kind))
    hold_back(bundle, checked.flagged)
    return bundle


def _fetch(
    repository: Repository, url: str, environment: Mapping[str, str], prefer: str
) -> tuple[Fetched, Checked]:
    with throw_away(repository, []) as room_dir:
        fetched = choose(environment, timeout=600.0, prefer=prefer).fetch(room_dir, url)
        if fetched.main is None:
            raise BundleUnusable(
                f"{shown_url(url)} holds no memory yet: make one with `gitmem init` and add it as a remote."
            )
        with room_dir.opened() as room:
            if layout.CONFIG_AGENT not in room.tree(fetched.main):
                raise BundleUnusable(f"{shown_url(url)} is a repository of something else, not a bundle.")
            checked = check_incoming(room, fetched.main, only_in(room, fetched.main, None), None)
            check_snapshots(room, fetched.main, fetched.snapshots)
        note_pulled(repository, fetched.main, None)
        take_over(room_dir, repository)
    return fetched, checked


def _check_out(repository: Repository, fetched: Fetched, url: str) -> None:
    """The files of the remote's newest commit become the work tree."""
    main = fetched.main
    assert main is not None
    wanted = repository.tree(main)
    moment = repository.store.commit(main).committer.time

    def plan(empty: Tree) -> Draft:
        files = {change.path: change.new for change in empty.changes(wanted)}
        who = Person("gitmem", "clone@gitmem", moment)
        return Draft(files, Message("merge", f"clone of {shown_url(url)}"), who, who, adopts=main)

    publish(repository, plan, purpose="clone")
    assert repository.refs.read(BRANCH) == main
    for name, oid in fetched.snapshots.items():
        repository.refs.set(SNAPSHOTS + name, oid, expected=None)
