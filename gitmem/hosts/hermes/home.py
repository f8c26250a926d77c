"""A Hermes home: where its files lie, and what its settings say."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import BundleNotFound, UsageError
from gitmem.files import read_file
from gitmem.world import World, real_world

if TYPE_CHECKING:
    from gitmem.memory.lifetime import Purpose
    from gitmem.memory.memory import Memory

# Discovery imports this at every `hermes memory status`: what opens a bundle is imported where it is opened.

PROVIDER = "gitmem"
_HOW = "Run `gitmem connect hermes`."


class _Inside:
    """A place in a home, as a path."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, home: Home, _: type) -> str:
        return os.path.join(home.path, *self._parts)


@dataclass(frozen=True, slots=True)
class Home:
    """One Hermes home, a profile's or the default one."""

    path: str

    bundle = _Inside("gitmem", "bundle")
    # Not `.git`: `hermes backup` leaves out every directory of that name.
    git_dir = _Inside("gitmem", "bundle.git")
    # Where the provider notes why it could not begin; not in the git directory, which may be why.
    trouble = _Inside("gitmem", "last-error")
    shim = _Inside("plugins", PROVIDER)
    config = _Inside("config.yaml")
    settings = _Inside("gitmem.yaml")
    memories = _Inside("memories")
    skills = _Inside("skills")
    profiles = _Inside("profiles")

    def memory_file(self, name: str) -> bytes:
        """A file of the host's own memory; empty where there is none that can be read."""
        with contextlib.suppress(OSError):
            return read_file(os.path.join(self.memories, name)) or b""
        return b""


def real_home() -> Home:
    return Home(real_world().hermes_home)


def choose_home(world: World, *, path: str = "", profile: str = "") -> Home:
    """The home that a person means: a directory, a profile, $HERMES_HOME, the profile in use, the default."""
    if path:
        return Home(path)
    named = bool(world.env.get("HERMES_HOME", "").strip())
    root = world.hermes_home
    if (
        os.path.basename(os.path.dirname(root)) == "profiles"
    ):  # a profile's own home: the others lie beside it
        root = os.path.dirname(os.path.dirname(root))
    if not profile and named:
        return Home(world.hermes_home)
    if not profile:
        profile = (read_file(os.path.join(root, "active_profile")) or b"").decode("utf-8", "replace").strip()
    if profile in ("", "default"):
        return Home(root)
    found = Home(os.path.join(root, "profiles", profile.lower()))
    if not os.path.isdir(found.path):
        raise UsageError(f"There is no Hermes profile {profile!r} in {root}.")
    return found


def bundle_root(home: Home, world: World) -> str:
    """The work tree of the home's bundle: in the home, or where the settings say."""
    if os.path.lexists(os.path.join(home.bundle, ".git")):
        return home.bundle
    from gitmem.memory.opening import configured_root

    return configured_root(world.with_hermes_home(home.path)) or home.bundle


def open_home(home: Home, world: World, purpose: Purpose = "look") -> Memory:
    """The memory of a home; the error says what to do where there is none."""
    root = bundle_root(home, world)
    if not os.path.isdir(root):
        raise BundleNotFound(f"There is no memory bundle at {root}.", hint=_HOW)
    from gitmem.memory.opening import open_bundle

    return open_bundle(world.with_hermes_home(home.path), root, purpose)
