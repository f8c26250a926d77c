"""Opening a bundle: found, its settings read, and made ready for what is to be done with it.

The command line, the hosts, plain Python programs and the git hooks all open a bundle here.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from gitmem import config as settings
from gitmem.config import Config
from gitmem.errors import BundleNotFound, BundleUnusable, GitMemError, UsageError
from gitmem.files import read_file, read_settings
from gitmem.git.commit_graph import strangers
from gitmem.git.git_directory import open_repository, rejoin
from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository
from gitmem.locate import enlist, holds_files, is_bundle, is_repository, memories, upwards
from gitmem.memory.lifetime import Purpose
from gitmem.memory.memory import Memory
from gitmem.notices import Notice
from gitmem.state import CONFIG, LocalState
from gitmem.world import World

_PROJECT = ".memory"
_HOW_TO_MAKE = "Create one with `gitmem init`, or name one with -C or $GITMEM_BUNDLE."


def open_bundle(
    world: World,
    path: str = "",
    purpose: Purpose = "write",
    *,
    config: Config | None = None,
    foreign: bool = False,
    **given: Any,
) -> Memory:
    """The bundle at `path`, or the one that `find_root` finds; `given` are settings that go before all others.

    A `foreign` one is only read: its own state is not looked at, and its entries are unconfirmed.
    """
    root = world.path(path) if path else find_root(world)
    _rejoin_own(world, root)
    repository = open_repository(root, world)
    if foreign:
        scratch = tempfile.TemporaryDirectory(prefix="gitmem-")
        repository.only_read(LocalState(scratch.name))
    config = config or config_for(world, repository.state)
    memory = Memory(repository, with_settings(config, given), world)
    if memory.config.redact.iban:
        from gitmem.memory.gate.admission import redact_ibans

        redact_ibans()
    for key in config.ignored:
        memory.report(Notice("setting-ignored", key, settings.GIT_DIR_CONFIG))
    if purpose != "as is":
        _refuse_without_main(repository)
    if foreign:
        memory.on_close(scratch.cleanup)
    elif not is_bundle(repository.root):
        _refuse_without_main(repository)
        if holds_files(repository.root):
            raise of_others(world, repository.root)
        raise BundleUnusable(f"{repository.root} is a git repository, but not a memory.", hint=_HOW_TO_MAKE)
    memory.prepare(purpose)
    return memory


def _refuse_without_main(repository: Repository) -> None:
    if repository.tip() is None:
        from gitmem.memory.upkeep.create import refuse_history_elsewhere

        refuse_history_elsewhere(repository)
        raise BundleNotFound(
            f"{repository.root} is a repository without commits, not a memory yet.",
            hint="Make it one with `gitmem init .`.",
        )


# --- where it is -----------------------------------------------------------------------------------------


def find_root(world: World, chosen: str = "", *, by_place: bool = True) -> str:
    """The memory that is meant: chosen, $GITMEM_BUNDLE, the nearest above that is in the user's list, the user's own.

    Without `by_place` the working directory is not looked at: an agent may have been started anywhere.
    """
    chosen = chosen or world.env.get("GITMEM_BUNDLE", "")
    if chosen:
        _rejoin_own(world, world.path(chosen))
        return _chosen(world.path(chosen))
    here = world.path(".") if by_place else ""
    known = set(memories(world))
    for path in _around(here) if by_place else ():
        if os.path.realpath(path) in known and is_bundle(path):
            return path
    for path in _own_places(world):
        _rejoin_own(world, path)
        if is_bundle(path):
            return path
    if passed := passed_by(world) if by_place else "":
        raise of_others(world, passed) if is_repository(passed) else _without_history(passed)
    some_repository = next((above for above in upwards(here) if is_repository(above)), "") if by_place else ""
    if some_repository:  # opening it says what is wrong with it
        return some_repository
    where = f"in {here} or above it" if by_place else f"in {default_root(world)}"
    raise BundleNotFound(f"There is no memory {where}.", hint=_HOW_TO_MAKE)


def _around(here: str) -> Iterator[str]:
    """Directories that may be the memory of a place: those above, and the one of the project."""
    yield from upwards(here)
    root = next((above for above in upwards(here) if is_repository(above)), "")
    if root:
        yield os.path.join(root, _PROJECT)


def passed_by(world: World) -> str:
    """The nearest directory that looks like a memory and is not in the user's list; empty where there is none."""
    known = set(memories(world))
    for path in _around(world.path(".")):
        if holds_files(path):
            return "" if os.path.realpath(path) in known and is_bundle(path) else path
    return ""


def is_trusted(world: World, root: str) -> bool:
    """Return whether a memory is the user's: in their list, in a place of their own, or a plain clone of one of these."""
    place = os.path.realpath(root)
    known = memories(world)
    if is_bundle(root):
        return place in known or place in map(os.path.realpath, _own_places(world))
    if not is_repository(root) or not any(_has_all(world, one, root) for one in known):
        return False
    trust(world, root)
    return True


def _has_all(world: World, mine: str, root: str) -> bool:
    """Return whether a memory of the user's has the whole history of a clone that nothing was done to since."""
    try:
        clone, repository = open_repository(root, world), open_repository(mine, world)
        tip, main = clone.tip(), repository.tip()
        if tip is None or main is None or tip not in repository.store:
            return False
        return len(list(clone.refs.moves(BRANCH))) < 2 and not strangers(repository, {tip}, main)
    except GitMemError:
        return False


def trust(world: World, root: str) -> None:
    """Take a memory that others made, or that was moved, for the user's own."""
    from gitmem.memory.upkeep.create import create

    create(world, root, config=by_caller(config_for(world), world), python=sys.executable)
    enlist(world, root)


def _chosen(path: str) -> str:
    if not os.path.isdir(path):
        raise BundleNotFound(f"There is no directory {path}.", hint=_HOW_TO_MAKE)
    if holds_files(path) and not is_repository(path):
        raise _without_history(path)
    return path


def _own_places(world: World) -> list[str]:
    """Return where this user's memory is when no other is named: in the Hermes home, and where the settings say."""
    configured = configured_root(world)
    hermes = os.path.join(world.hermes_home, "gitmem", "bundle")
    return [hermes, *filter(None, (configured, default_root(world)))]


def default_root(world: World) -> str:
    """The one memory of this user; empty where there is no home."""
    return os.path.join(world.home, ".gitmem") if os.path.isabs(world.home) else ""


def place_for(world: World, given: str) -> str:
    """The place for a new memory: the one given, this directory where it holds one, $GITMEM_BUNDLE, the default."""
    here = world.path(".")
    if given or is_bundle(here) or holds_files(here):
        return world.path(given or ".")
    named = world.env.get("GITMEM_BUNDLE", "")
    root = world.path(named) if named else default_root(world)
    if not root:
        raise UsageError(
            "There is no home directory for a memory.", hint="Name a directory: `gitmem init DIR`."
        )
    if not named and (os.path.islink(root) or os.stat(world.home).st_uid != os.getuid()):
        raise UsageError(
            f"{root} is not a place of yours alone.", hint="Name a directory: `gitmem init DIR`."
        )
    return root


def create_first(world: World, chosen: str) -> str:
    """Make the user's own memory where no command would find one; gives its place, or nothing where there is one."""
    try:
        find_root(world, chosen)
    except BundleNotFound:
        root = place_for(world, "")
        if chosen or world.agent or os.path.lexists(root):
            raise
        trust(world, root)
        return root
    return ""


def project_memory(world: World) -> str:
    """The place of the memory of the project that this directory belongs to."""
    root = next((above for above in upwards(world.path(".")) if is_repository(above)), "")
    if not root or not os.path.isdir(os.path.join(root, ".git")):
        raise UsageError("There is no git repository here to give a memory to.")
    return os.path.join(root, _PROJECT)


def leave_out(root: str) -> None:
    """Keep the memory of a project out of the project's own git."""
    path = os.path.join(os.path.dirname(root), ".git", "info", "exclude")
    line = f"/{_PROJECT}/"
    text = (read_file(path) or b"").decode("utf-8", "surrogateescape")
    if line not in text.splitlines():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(("" if not text or text.endswith("\n") else "\n") + line + "\n")


def _rejoin_own(world: World, root: str) -> None:
    if not os.path.lexists(os.path.join(root, ".git")) and os.path.isdir(f"{root}.git"):
        places = map(os.path.realpath, _own_places(world))
        if os.path.realpath(root) in places:
            rejoin(root)


def configured_root(world: World) -> str:
    """The bundle that the settings name; empty where they name none."""
    path = config_for(world).bundle_path
    return world.path(path) if path else ""


def refuse_inside_a_bundle(path: str) -> None:
    """Refuse a place for a new bundle that belongs to another one."""
    above = next((one for one in upwards(os.path.dirname(path)) if is_bundle(one)), "")
    if above and os.path.dirname(path) != path:
        raise BundleUnusable(f"{path} is inside the memory {above}: create the new one elsewhere.")


def of_others(world: World, path: str) -> BundleUnusable:
    """The refusal of a memory that is not in the user's list."""
    open_repository(path, world)  # a linked work tree, or one without its git directory, is refused for that
    return BundleUnusable(
        f"{path} looks like a memory and is not in your list: it is not opened.",
        hint=f"If it is yours, run `gitmem trust {shlex.quote(path)}`; `gitmem -C` only reads it.",
    )


def _without_history(path: str) -> BundleNotFound:
    return BundleNotFound(
        f"{path} holds the files of a memory, but it is not a git repository.",
        hint="Restore its git directory from a backup, or begin a new history with `gitmem init .`.",
    )


# --- its settings ----------------------------------------------------------------------------------------


def config_for(world: World, state: LocalState | None = None) -> Config:
    """The settings that hold in a world, and for the bundle whose state is given."""
    home = world.hermes_home
    texts = [
        read_settings(state.path(CONFIG), settings.GIT_DIR_CONFIG) if state else "",
        read_settings(os.path.join(home, "gitmem.yaml"), settings.HERMES_YAML),
        read_settings(os.path.join(home, "config.yaml"), settings.HERMES_CONFIG),
    ]
    if world.config_home:
        texts.append(read_settings(os.path.join(world.config_home, "config.yaml"), settings.USER_YAML))
    return settings.resolve(world.env, settings.sources(*texts), hostname=world.hostname)


def by_caller(config: Config, world: World) -> Config:
    """The settings with the author of what is written: the agent that runs this, else the person; unless one is set."""
    author = world.agent or world.person
    return replace(config, agent_id=author) if author and config.origin("agent_id") == "default" else config


def with_settings(config: Config, given: Mapping[str, Any]) -> Config:
    """The settings, with those that a program gives in the place of what was found."""
    known = {each.name for each in fields(config) if not each.name.startswith("_")}
    for name in given:
        if name not in known:
            raise UsageError(f"There is no setting {name!r}: the settings are {', '.join(sorted(known))}.")
    return config.given(given) if given else config
