"""What a command works with: the world outside handed in once, the bundle it is about, its output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gitmem.cli.output import Output, complain
from gitmem.errors import BundleNotFound, BundleUnusable, GitMemError, UnsafePath

if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.git.repository import Repository
    from gitmem.memory.bundle import Bundle

_HOW_TO_MAKE = "Make one with `gitmem init DIR`, or name one with -C or $GITMEM_BUNDLE."


def _now() -> datetime:
    return datetime.now(UTC)


class World(NamedTuple):
    """Environment, home, working directory, clock and names: all that gitmem takes from outside."""

    env: Mapping[str, str]
    home: str
    cwd: str
    clock: Callable[[], datetime] = _now
    person: str = ""
    hostname: str = ""
    zone: tzinfo | None = None
    """The time zone that dates are shown in; None is the system's."""

    @classmethod
    def real(cls) -> World:
        env = dict(os.environ)
        try:
            cwd = os.getcwd()
        except OSError:
            raise GitMemError("The current directory is gone: change to one that exists.") from None
        return cls(env, os.path.expanduser("~"), cwd, person=_login_name(env), hostname=_host_name(env))

    @property
    def hermes_home(self) -> str:
        return self.env.get("HERMES_HOME") or os.path.join(self.home, ".hermes")

    def local(self, seconds: float) -> datetime:
        """A moment (seconds since the epoch) in the time zone that dates are shown in."""
        try:
            return datetime.fromtimestamp(seconds, UTC).astimezone(self.zone)
        except (OverflowError, ValueError, OSError):  # a date that no calendar has
            return datetime.fromtimestamp(0, UTC)


def _login_name(env: Mapping[str, str]) -> str:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        if env.get(name):
            return env[name]
    try:
        import pwd
    except ImportError:  # Windows
        return ""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except (KeyError, OSError):  # a container may run as a user without a name
        return ""


def _host_name(env: Mapping[str, str]) -> str:
    uname = getattr(os, "uname", None)
    name = uname().nodename if uname else env.get("COMPUTERNAME", "")
    return str(name).partition(".")[0]


class App:
    """One run of the command line. Commands get it as their context object."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.chosen = ""
        """The bundle that -C names."""
        self.out = Output(world.env)
        self._told: set[str] = set()
        self._began_at: str | None = None

    # The bundle

    @cached_property
    def bundle(self) -> Bundle:
        """The bundle that this command is about, opened; what a crash left undone is finished first."""
        from gitmem.memory.bundle import Bundle

        repository = self.repository
        bundle = Bundle.open(
            repository.root,
            config=self.config_of(repository),
            clock=self.world.clock,
            person=self.world.person,
        )
        if not _is_bundle(repository.root):
            raise BundleUnusable(
                f"{repository.root} is a git repository, but not a bundle.", hint=_HOW_TO_MAKE
            )
        bundle.mend()
        self._began_at = repository.tip()
        return bundle

    @cached_property
    def writing_bundle(self) -> Bundle:
        """The bundle, to add something to: dead writers' events and hand edits are committed first.

        A hand edit that can not be committed is told and left alone: it must not stop an agent.
        """
        bundle = self.bundle
        bundle.recover_journals()
        bundle.take_in_edits(strict=False)
        return bundle

    @cached_property
    def whole_bundle(self) -> Bundle:
        """The bundle, to act on as a whole: every hand edit is committed first, or nothing happens."""
        bundle = self.bundle
        bundle.recover_journals()
        if _has_host(bundle):
            from gitmem.hosts.hermes.host_link import take_host_along

            take_host_along(bundle, self.world.env)
        bundle.take_in_edits(strict=True)
        return bundle

    @property
    def session(self) -> str:
        """The session that the environment names."""
        return self.world.env.get("GITMEM_SESSION", "")

    @cached_property
    def repository(self) -> Repository:
        """The repository of the bundle, also where it can not be opened as one."""
        from gitmem.git.setup import open_repository

        return open_repository(self._find())

    def any_bundle(self) -> Bundle:
        """The bundle as it stands, damaged or not: for the commands that say what is wrong with it."""
        from gitmem.memory.bundle import Bundle

        repository = self.repository
        bundle = Bundle(repository, self.config_of(repository), self.world.clock, self.world.person)
        if not _is_bundle(repository.root):
            Bundle.open(repository.root, clock=self.world.clock)  # says so where there are no commits
            raise BundleUnusable(
                f"{repository.root} is a git repository, but not a bundle.", hint=_HOW_TO_MAKE
            )
        self.bundle = bundle
        return bundle

    def _find(self) -> str:
        chosen = self.chosen or self.world.env.get("GITMEM_BUNDLE", "")
        if chosen:
            path = self._from_here(chosen)
            if not os.path.isdir(path):
                raise BundleNotFound(f"There is no directory {path}.", hint=_HOW_TO_MAKE)
            if _holds_files(path) and not _is_bundle(path):
                raise _no_repository(path)
            return path
        here = self.world.cwd
        some_repository = ""
        for directory in _upwards(here):
            if _is_bundle(directory):
                return directory
            if not some_repository and _is_repository(directory):
                some_repository = directory
        for path in (os.path.join(self.world.hermes_home, "gitmem", "bundle"), self._configured()):
            if path and _is_bundle(path):
                return path
        if _holds_files(here):
            raise _no_repository(here)
        if some_repository:  # opening it says what is wrong with it
            return some_repository
        raise BundleNotFound(f"There is no bundle in {here} or above it.", hint=_HOW_TO_MAKE)

    def refuse_inside_a_bundle(self, path: str) -> None:
        """Refuse a place for a new bundle that belongs to another one."""
        for directory in _upwards(path)[1:]:
            if _is_bundle(directory):
                raise BundleUnusable(
                    f"{path} lies inside the bundle {directory}: make the new one elsewhere."
                )

    def _configured(self) -> str:
        path = self.config_of(None).bundle_path
        if path == "~" or path.startswith("~/"):
            path = self.world.home + path[1:]
        return self._from_here(path) if path else ""

    def _from_here(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.world.cwd, path))

    # Settings

    def config_of(self, repository: Repository | None) -> Config:
        """The settings that hold for a repository, or without one."""
        from gitmem import config
        from gitmem.files import read_settings

        home = self.world.hermes_home
        texts = [
            read_settings(os.path.join(repository.state_dir, "config"), config.GIT_DIR_CONFIG)
            if repository
            else "",
            read_settings(os.path.join(home, "gitmem.yaml"), config.HERMES_YAML),
            read_settings(os.path.join(home, "config.yaml"), config.HERMES_CONFIG),
        ]
        return config.resolve(self.world.env, config.sources(*texts), hostname=self.world.hostname)

    # Paths

    def path(self, given: str) -> str:
        """A path in the bundle from what a person typed.

        It counts from the bundle's root; `./x`, `../x` and absolute paths count from where they stand.
        """
        from_here = given.startswith(("./", "../")) or given in (".", "..") or os.path.isabs(given)
        if not from_here:
            inside = os.path.normpath(given).replace(os.sep, "/")
        else:
            full = os.path.realpath(self._from_here(given))
            try:
                inside = os.path.relpath(full, os.path.realpath(self.repository.root)).replace(os.sep, "/")
            except ValueError:  # another drive
                inside = ".."
        if inside == ".." or inside.startswith("../"):
            raise UnsafePath(f"{given} is outside the bundle {self.repository.root}.")
        return "" if inside == "." else inside

    # The end

    def close(self) -> None:
        """Flush the output and tell, once, what the bundle had to warn about."""
        try:
            self.out.close()
            sys.stdout.flush()
        finally:
            bundle = self.__dict__.get("bundle")
            if bundle is not None:
                self._bring_host_along(bundle)
                bundle.repository.store.close()
            for warning in bundle.warnings if bundle is not None else ():
                self.warn(warning)

    def _bring_host_along(self, bundle: Bundle) -> None:
        """An agent that keeps files of its own must see what changed; its next session does."""
        if self._began_at is None or not _has_host(bundle) or bundle.repository.tip() == self._began_at:
            return
        from gitmem.hosts.hermes.host_link import bring_host_along

        for sentence in bring_host_along(bundle, self.world.env):
            complain(sentence, env=self.world.env)

    def warn(self, warning: str) -> None:
        if warning not in self._told:
            self._told.add(warning)
            complain(f"warning: {warning}", env=self.world.env)

    # Dates

    def date(self, seconds: float) -> str:
        """A moment for people: local time, to the minute."""
        return f"{self.world.local(seconds):%Y-%m-%d %H:%M}"

    def iso(self, seconds: float) -> str:
        """A moment for programs."""
        from gitmem.okf.timestamps import stamp

        return stamp(datetime.fromtimestamp(seconds, UTC))

    def outside_path(self, given: str) -> str:
        """A path anywhere, from what a person typed."""
        return self._from_here(given)

    def long_date(self, seconds: float) -> str:
        return f"{self.world.local(seconds):%Y-%m-%d %H:%M:%S %z}"


def _has_host(bundle: Bundle) -> bool:
    return os.path.exists(os.path.join(bundle.state_dir, "host", "link"))


def _upwards(path: str) -> list[str]:
    found = [path]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found


def _holds_files(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "config", "agent.md"))


def _is_bundle(path: str) -> bool:
    """Whether a directory is the work tree of a bundle, by the cheapest signs."""
    linked = os.path.lexists(os.path.join(path, ".git"))
    if not linked and not os.path.isdir(f"{path}.git"):
        return False
    if linked and _holds_files(path):
        return True
    from gitmem.git.setup import git_dir_of

    try:
        git_dir = git_dir_of(path)
    except GitMemError:
        return False
    return git_dir is not None and os.path.isdir(os.path.join(git_dir, "gitmem"))


def _is_repository(path: str) -> bool:
    """Whether a directory is any git repository, a bare one too."""
    if os.path.lexists(os.path.join(path, ".git")):
        return True
    return os.path.isfile(os.path.join(path, "HEAD")) and os.path.isdir(os.path.join(path, "objects"))


def _no_repository(path: str) -> BundleNotFound:
    return BundleNotFound(
        f"{path} holds the files of a bundle, but it is no git repository.",
        hint="Restore its git directory from a backup, or begin a new history with `gitmem init`.",
    )
