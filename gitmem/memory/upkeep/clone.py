"""Cloning: a bundle out of what a remote holds, checked before any of it is written."""

from __future__ import annotations

import os
import shutil

from gitmem.config import Config
from gitmem.errors import BundleUnusable
from gitmem.files import disk_error, write_new
from gitmem.git.commit_graph import is_ancestor, only_in
from gitmem.git.message import Message
from gitmem.git.objects import Oid, Person
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.git.remotes import Remote, Remotes
from gitmem.git.repository import Repository
from gitmem.git.setup import make_repository
from gitmem.git.transaction import Draft, HandEditsInTheWay, publish, writing
from gitmem.git.transport import Fetched, check_url, choose, remote_ref, shown_url, take_over, throw_away
from gitmem.git.tree import Tree
from gitmem.memory.gate.holding import hold_back
from gitmem.memory.memory import Memory
from gitmem.memory.provenance import note_pulled
from gitmem.memory.sync.inspect import Checked, check_incoming, check_snapshots
from gitmem.memory.upkeep.create import install_hooks
from gitmem.notices import Notice, wrong_dates
from gitmem.okf import layout
from gitmem.permissions import make_directories
from gitmem.state import CLONING, LocalState
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

    Cloning is consent to sync with the remote later. One that was killed is finished by the same again.
    """
    check_url(url)
    if os.path.isdir(url):
        url = os.path.abspath(url)
    existed = os.path.isdir(root)
    state = LocalState(separate_git_dir or os.path.join(root, ".git"))
    again = state.has(CLONING)
    repository = _begin(root, state, url, separate_git_dir, world)
    with repository.lock.hold("clone", wait=0):
        try:
            fetched, checked = _fetch(repository, url, world, prefer)
            _check_out(repository, fetched, url)
        except BaseException:
            repository.store.close()
            if not again:  # else some of it may be a person's by now: it waits for the next try
                shutil.rmtree(repository.git_dir, ignore_errors=True)
                if not existed:
                    shutil.rmtree(root, ignore_errors=True)
            raise
        Remotes(repository).save(Remote("origin", url, consent=True))
        _set(repository, remote_ref("origin"), fetched.main or "")
        install_hooks(repository, python=python)
        bundle = Memory(repository, config, world)
        for path, kind in checked.secrets[:_FEW]:
            bundle.report(Notice("secret-came", path, kind))
        if checked.dates:
            bundle.report(wrong_dates(checked.dates))
        hold_back(bundle, checked.flagged)
        state.remove(CLONING)
    return bundle


def is_unfinished(root: str, git_dir: str | None = None) -> bool:
    """Return whether all that is in a place is what a clone left that was killed: the same one again finishes it."""
    state = LocalState(git_dir or os.path.join(root, ".git"))
    return state.has(CLONING) or not any(files for _, _, files in os.walk(root))


def _begin(root: str, state: LocalState, url: str, separate_git_dir: str | None, world: World) -> Repository:
    """The repository to clone into. What says so comes before anything else that a kill could leave."""
    try:
        make_directories(state.directory)
        if not state.has(CLONING):
            write_new(state.path(CLONING), f"{url}\n".encode())
    except OSError as error:
        raise disk_error(error) from error
    return make_repository(root, separate_git_dir=separate_git_dir, world=world)


def _set(repository: Repository, ref: str, oid: Oid) -> None:
    """Set a ref that an earlier try may have set already."""
    repository.refs.set(ref, oid, expected=repository.refs.read(ref))


def _fetch(repository: Repository, url: str, world: World, prefer: str) -> tuple[Fetched, Checked]:
    with throw_away(repository, [oid for oid in (repository.tip(),) if oid]) as room_dir:
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
            checked = check_incoming(room, fetched.main, fresh, None, world.clock(), patience=_PATIENCE)
            check_snapshots(room, fetched.main, fetched.snapshots)
        note_pulled(repository, fetched.main, None, "origin")
        take_over(room_dir, repository)
    return fetched, checked


def _check_out(repository: Repository, fetched: Fetched, url: str) -> None:
    """The files of the remote's newest commit become the work tree."""
    main = fetched.main
    assert main is not None
    who = Person("gitmem", "clone@gitmem", repository.store.commit(main).committer.time)
    arrival = Message("clone", f"from {shown_url(url)}")

    def plan(_: Tree) -> Draft:
        return Draft({}, arrival, who, who, onto=main, arrival=arrival)

    tip = repository.tip()
    if tip is not None and not is_ancestor(repository, tip, main):
        raise BundleUnusable(
            f"{repository.root} holds another memory than {shown_url(url)}: choose another place."
        )
    try:
        with writing(repository, "clone"):  # what a killed one left is finished first
            if tip != main:
                publish(repository, plan, purpose="clone")
    except HandEditsInTheWay as stop:
        raise BundleUnusable(f"{stop.edits[0].path} in {repository.root} is in the way: move it.") from stop
    assert repository.refs.read(BRANCH) == main
    repository.refs.set_new({SNAPSHOTS + name: oid for name, oid in fetched.snapshots.items()})
