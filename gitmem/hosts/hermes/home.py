"""A Hermes home: where its files lie, and what its settings say."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gitmem.errors import BundleNotFound, UsageError
from gitmem.files import read_file, read_settings

if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.memory.bundle import Bundle

PROVIDER = "gitmem"
LINK = "link"
_HOW = "Run `gitmem hermes install`."


@dataclass(frozen=True, slots=True)
class Home:
    """One Hermes home, a profile's or the default one."""

    path: str

    @property
    def bundle(self) -> str:
        return os.path.join(self.path, "gitmem", "bundle")

    @property
    def git_dir(self) -> str:
        # Not `.git`: `hermes backup` leaves out every directory of that name.
        return os.path.join(self.path, "gitmem", "bundle.git")

    @property
    def trouble(self) -> str:
        """Where the provider notes why it could not begin; not in the git directory, which may be why."""
        return os.path.join(self.path, "gitmem", "last-error")

    @property
    def shim(self) -> str:
        return os.path.join(self.path, "plugins", PROVIDER)

    @property
    def config(self) -> str:
        return os.path.join(self.path, "config.yaml")

    @property
    def settings(self) -> str:
        return os.path.join(self.path, "gitmem.yaml")

    @property
    def memories(self) -> str:
        return os.path.join(self.path, "memories")

    @property
    def skills(self) -> str:
        return os.path.join(self.path, "skills")

    @property
    def profiles(self) -> str:
        return os.path.join(self.path, "profiles")


def present_home(env: Mapping[str, str], home: str) -> Home:
    """The home that this process works for: as the running host says, the environment, or the default."""
    constants = sys.modules.get("hermes_constants")  # only where the host has loaded it
    if constants is not None:
        return Home(str(constants.get_hermes_home()))
    named = env.get("HERMES_HOME", "").strip()
    return Home(os.path.abspath(named) if named else os.path.join(home, ".hermes"))


def real_home() -> Home:
    return present_home(os.environ, os.path.expanduser("~"))


def choose_home(env: Mapping[str, str], home: str, *, path: str = "", profile: str = "") -> Home:
    """The home that a person means: a directory, a profile, $HERMES_HOME, the profile in use, the default."""
    if path:
        return Home(path)
    named = env.get("HERMES_HOME", "").strip()
    root = os.path.abspath(named) if named else os.path.join(home, ".hermes")
    if (
        os.path.basename(os.path.dirname(root)) == "profiles"
    ):  # a profile's own home: the others lie beside it
        root = os.path.dirname(os.path.dirname(root))
    if not profile and named:
        return Home(os.path.abspath(named))
    if not profile:
        profile = (read_file(os.path.join(root, "active_profile")) or b"").decode("utf-8", "replace").strip()
    if profile in ("", "default"):
        return Home(root)
    found = Home(os.path.join(root, "profiles", profile.lower()))
    if not os.path.isdir(found.path):
        raise UsageError(f"There is no Hermes profile {profile!r} in {root}.")
    return found


def now() -> datetime:
    return datetime.now(UTC)


def host_name(env: Mapping[str, str]) -> str:
    uname = getattr(os, "uname", None)
    name = uname().nodename if uname else env.get("COMPUTERNAME", "")
    return str(name).partition(".")[0]


def resolve_config(home: Home, env: Mapping[str, str], state_dir: str = "") -> Config:
    """The settings that hold for a home, and for the bundle whose state directory is given."""
    from gitmem import config

    texts = [
        read_settings(os.path.join(state_dir, "config"), config.GIT_DIR_CONFIG) if state_dir else "",
        read_settings(home.settings, config.HERMES_YAML),
        read_settings(home.config, config.HERMES_CONFIG),
    ]
    return config.resolve(env, config.sources(*texts), hostname=host_name(env))


def bundle_root(home: Home, env: Mapping[str, str]) -> str:
    """The work tree of the home's bundle: in the home, or where the settings say."""
    if os.path.lexists(os.path.join(home.bundle, ".git")):
        return home.bundle
    named = resolve_config(home, env).bundle_path
    return os.path.expanduser(named) if named else home.bundle


def open_bundle(home: Home, env: Mapping[str, str], clock: Callable[[], datetime] = now) -> Bundle:
    """The bundle of a home; the error says what to do where there is none."""
    from gitmem.git.setup import open_repository
    from gitmem.memory.bundle import Bundle

    root = bundle_root(home, env)
    if not os.path.isdir(root):
        raise BundleNotFound(f"There is no memory bundle at {root}.", hint=_HOW)
    repository = open_repository(root)
    config = resolve_config(home, env, repository.state_dir)
    return Bundle.open(root, config=config, clock=clock, person=env.get("USER", ""))
