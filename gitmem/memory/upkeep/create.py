"""Making a bundle: the repository, its skeleton from the templates, its git hooks."""

from __future__ import annotations

import os
import shlex

from gitmem import resources
from gitmem.config import Config
from gitmem.errors import BundleNotFound, BundleUnusable
from gitmem.files import close_to_others, make_directories, open_to_others
from gitmem.git import hook_scripts
from gitmem.git.git_directory import new_repository, open_repository, rejoin, take_away
from gitmem.git.git_settings import make_safe, set_merge_driver, write_attributes
from gitmem.git.message import Message
from gitmem.git.recovery import lost_tip
from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository
from gitmem.locate import enlist
from gitmem.memory.bundle import Work
from gitmem.memory.edits import Edits
from gitmem.memory.memory import Memory
from gitmem.notices import Notice
from gitmem.okf import layout, pages
from gitmem.okf.concept import Concept
from gitmem.version import __version__
from gitmem.world import World

_SKELETON = {
    layout.MEMORY: "templates/bundle/memories/MEMORY.md",
    layout.USER: "templates/bundle/memories/USER.md",
    layout.CONFIG_AGENT: "templates/bundle/config/agent.md",
    layout.INDEX: "templates/bundle/index.md",
    ".gitignore": "templates/bundle/dot_gitignore",
}


def create(
    world: World,
    root: str,
    *,
    config: Config,
    separate_git_dir: str | None = None,
    python: str = "",
) -> tuple[Memory, bool]:
    """A bundle at `root`, and whether it was made now; one that is there already is left as it is.

    `python` is the interpreter by which the git hooks call gitmem.
    """
    if separate_git_dir == f"{root}.git":
        rejoin(root)
    try:
        repository = open_repository(root, world)
    except BundleNotFound:
        return _new(world, root, config, separate_git_dir, python), True
    taken_in = repository.state.is_there
    bundle = Memory(repository, config, world)
    if repository.tip() is None:
        _prepare(repository)
        _begin(bundle, python)
        bundle.take_in_edits(strict=False)
        enlist(world, root)
        return bundle, True
    if layout.CONFIG_AGENT not in repository.tree(repository.tip()):
        raise _something_else(repository)
    if not taken_in:
        _take_over(bundle, python)
    return bundle, False


def _new(world: World, root: str, config: Config, separate_git_dir: str | None, python: str) -> Memory:
    """A bundle where there is no repository yet; one that cannot take in the files that are there is taken back."""
    with new_repository(root, separate_git_dir=separate_git_dir, world=world) as repository:
        _begin(Memory(repository, config, world), python)
    bundle = Memory(open_repository(root, world), config, world)
    enlist(world, root)
    try:
        with bundle.writing("init"):  # its files follow
            bundle.take_in_edits(strict=False)
    except BaseException:
        take_away(bundle.repository)
        raise
    return bundle


def _begin(bundle: Memory, python: str) -> None:
    """Make the first commit of a bundle, and give it its hooks."""
    bundle.commit(_skeleton(bundle.config, bundle.now()), purpose="init", origin=bundle.origin())
    for name in install_hooks(bundle.repository, python=python):
        bundle.report(Notice("hook-foreign", name))


def _take_over(bundle: Memory, python: str) -> None:
    """Make a memory that plain git cloned one of this machine's; what is in it stays somebody's claim."""
    repository = bundle.repository
    make_directories(repository.state.directory)
    make_safe(repository)
    write_attributes(repository)
    for name in install_hooks(repository, python=python):
        bundle.report(Notice("hook-foreign", name))


def _prepare(repository: Repository) -> None:
    """Make a repository that a person began with `git init` fit for a bundle."""
    refuse_history_elsewhere(repository)
    _unstage(repository)
    repository.refs.replace("HEAD", f"ref: {BRANCH}\n".encode())
    make_safe(repository)
    close(repository)


def close(repository: Repository) -> list[str]:
    """Close a bundle to other users; gives what another user owns, and stays as it is."""
    left = []
    for path in (repository.git_dir, *open_to_others(repository.root, repository.git_dir)):
        try:
            close_to_others(path)
        except PermissionError:
            left.append(path)
    return left


def refuse_history_elsewhere(repository: Repository) -> None:
    """Raise where a repository without `main` has a history already: one more would be unrelated to it."""
    branches, lost = repository.refs.under("refs/heads/"), lost_tip(repository)
    if lost is not None and lost not in branches.values():
        # Not from a remote: that would leave behind what was never sent.
        raise BundleUnusable(
            f"The branch main of {repository.root} is gone. Its last commit, {lost[:12]}, is still there.",
            hint=f"Put it back: `git update-ref refs/heads/main {lost}`, or `gitmem check --fix`.",
        )
    fetched = [ref for ref in repository.refs.under("refs/remotes/") if ref.endswith("/main")]
    for ref in fetched:
        name = ref.removeprefix("refs/remotes/")
        raise BundleUnusable(
            f"{repository.root} has fetched {name}, and has no branch main of its own.",
            hint=f"Check it out: `git checkout -b main {shlex.quote(name)}`.",
        )
    for ref, oid in branches.items():
        name = ref.removeprefix("refs/heads/")
        if layout.CONFIG_AGENT not in repository.tree(oid):
            raise _something_else(repository)
        raise BundleUnusable(
            f"{repository.root} has no branch main, which gitmem works on; the memory is on {name}.",
            hint=f"Rename it: `git branch -m {shlex.quote(name)} main`.",
        )


def _something_else(repository: Repository) -> BundleUnusable:
    return BundleUnusable(
        f"{repository.root} is a git repository of something else.",
        hint="Make the bundle in a directory of its own: `gitmem init DIR`.",
    )


def _unstage(repository: Repository) -> None:
    """Empty git's index: its files become edits of the first commit, as those that were never staged."""
    from gitmem.git.worktree_status import staged_files

    index = repository.index_file.path
    if not os.path.exists(index):
        return
    for path, entry in staged_files(repository, index)[0].items():
        if not repository.worktree.holds(path, entry):
            raise BundleUnusable(
                f"{path} is staged in another version than the file has: commit or unstage it first."
            )
    os.unlink(index)


def _skeleton(config: Config, at: str) -> Work:
    def work(edits: Edits) -> Message | None:
        for path, template in _SKELETON.items():
            edits.write(path, resources.read(template))
        agent = Concept.parse(resources.read(_SKELETON[layout.CONFIG_AGENT]))
        agent = agent.with_meta(
            title=config.agent_id,
            agent_id=config.agent_id,
            gitmem_format=layout.FORMAT,
            generated={"by": f"gitmem/{__version__}", "at": at},
        )
        edits.write(layout.CONFIG_AGENT, agent.render())
        edits.write(layout.LOG, pages.log_page([]))
        return Message("init", f"memory of {config.agent_id}")

    return work


def install_hooks(repository: Repository, *, python: str = "") -> list[str]:
    """Put our git hooks and merge driver in place; gives the names of foreign hooks that were left alone."""
    from gitmem.memory.upkeep.git_hooks import NAMES

    set_merge_driver(repository, hook_scripts.DRIVER)
    return hook_scripts.put(repository.git_dir, NAMES, python=python)
