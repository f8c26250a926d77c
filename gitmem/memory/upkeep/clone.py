"""Cloning: a bundle out of what a remote holds, checked before any of it is written."""

from __future__ import annotations

import os

from gitmem.config import Config
from gitmem.errors import BundleUnusable
from gitmem.files import TEMPORARY
from gitmem.git.commit_graph import only_in
from gitmem.git.git_directory import new_repository, open_repository, rejoin
from gitmem.git.git_settings import Remote, Remotes
from gitmem.git.message import Message
from gitmem.git.objects import Person
from gitmem.git.refs import SNAPSHOTS
from gitmem.git.remote_address import check_url, shown_url
from gitmem.git.repository import Repository
from gitmem.git.transaction import Draft, publish
from gitmem.git.transport import Fetched, choose, remote_ref, take_over, throw_away
from gitmem.git.tree import Tree
from gitmem.locate import enlist
from gitmem.memory.erase.erased_list import note_erased
from gitmem.memory.gate.holding import hold_back
from gitmem.memory.memory import Memory
from gitmem.memory.provenance import note_pulled
from gitmem.memory.sync.inspect import Checked, check_incoming, check_snapshots
from gitmem.memory.upkeep.create import install_hooks
from gitmem.okf import layout
from gitmem.okf.receipts import receipts_in
from gitmem.world import World

_FEW = 10
_PATIENCE = 3600.0
"""Seconds of processor time: whoever clones waits for all of it."""


def clone(
    world: World,
    url: str,
    root: str,
    *,
    config: Config,
    python: str = "",
    separate_git_dir: str | None = None,
    prefer: str = "",
) -> Memory:
    """A bundle at `root` with everything the remote has; what the rules block is in its quarantine.

    Cloning is consent to sync with the remote later. One that was killed left nothing there, or all of it.
    """
    check_url(url)
    if os.path.isdir(url):
        url = os.path.abspath(url)
    if separate_git_dir == f"{root}.git":
        rejoin(root)
    if os.path.lexists(os.path.join(root, ".git")):
        raise BundleUnusable(f"{root} has a history already: choose another place.")
    with new_repository(root, separate_git_dir=separate_git_dir, world=world) as repository:
        fetched, checked = _fetch(repository, url, world, prefer)
        _check_out(repository, fetched, url)
        Remotes(repository).save(Remote("origin", url, consent=True))
        repository.refs.set(remote_ref("origin"), fetched.main or "", expected=None)
        install_hooks(repository, python=python)
        made = Memory(repository, config, world)
        for notice in checked.notices()[:_FEW]:
            made.report(notice)
        hold_back(made, checked.flagged)
        made.close()
    bundle = Memory(open_repository(root, world), config, world)
    bundle.notices += made.notices
    enlist(world, root)
    with bundle.writing("clone"):  # its files follow
        pass
    return bundle


def is_free(root: str) -> bool:
    """Return whether there is nothing in a place but what a clone left that was killed."""
    if not os.path.lexists(root):
        return True
    return os.path.isdir(root) and all(name.startswith(TEMPORARY) for name in os.listdir(root))


def _fetch(repository: Repository, url: str, world: World, prefer: str) -> tuple[Fetched, Checked]:
    with throw_away(repository, []) as room_dir:
        fetched = choose(world.env, timeout=600.0, prefer=prefer).fetch(room_dir, url)
        if fetched.main is None:
            raise BundleUnusable(
                f"{shown_url(url)} holds no memory yet.",
                hint="Make one with `gitmem init` and add it as a remote.",
            )
        with room_dir.opened() as room:
            if layout.CONFIG_AGENT not in room.tree(fetched.main):
                raise BundleUnusable(f"{shown_url(url)} is a repository of something else, not a bundle.")
            fresh = only_in(room, fetched.main, None)
            checked = check_incoming(room, fetched.main, fresh, None, patience=_PATIENCE)
            check_snapshots(room, fetched.main, fetched.snapshots)
            note_erased(repository.state, receipts_in(room.tree(fetched.main).read(layout.CONFIG_ERASED)))
        note_pulled(repository, fetched.main, None, "origin")
        take_over(room_dir, repository)
    return fetched, checked


def _check_out(repository: Repository, fetched: Fetched, url: str) -> None:
    """Let `main` be the remote's, and take its snapshots."""
    main = fetched.main
    assert main is not None
    who = Person("gitmem", "clone@gitmem", repository.store.commit(main).committer.time)
    arrival = Message("clone", f"from {shown_url(url)}")

    def plan(_: Tree) -> Draft:
        return Draft({}, arrival, who, who, onto=main, arrival=arrival)

    publish(repository, plan, purpose="clone")
    repository.refs.set_new({SNAPSHOTS + name: oid for name, oid in fetched.snapshots.items()})
