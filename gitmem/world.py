"""The world outside: environment, home, working directory, clock and names, handed in once.

Nothing below `cli/` and `hosts/` looks at any of these by itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType
from typing import NamedTuple

from gitmem.errors import GitMemError, UsageError

Clock = Callable[[], datetime]
"""Gives the present moment as an aware datetime."""


_SETTINGS_SIZE = 1 << 16
AGENTS = frozenset({"claude", "codex", "cursor-agent", "gemini", "hermes", "opencode"})
_AGENT_VARIABLES = {
    "CLAUDECODE": "claude",
    "CODEX_SANDBOX": "codex",
    "CURSOR_AGENT": "cursor-agent",
    "GEMINI_CLI": "gemini",
    "OPENCODE": "opencode",
}
"""Variables that agents set for the commands that they run."""
_MOST_ANCESTORS = 64


def now() -> datetime:
    return datetime.now(UTC)


class SystemZone(tzinfo):
    """The time zone of this system with its summer and winter, where `datetime.astimezone` knows today's offset only."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return moment.replace(tzinfo=None).astimezone().utcoffset() if moment is not None else None

    def dst(self, moment: datetime | None) -> timedelta | None:  # noqa: ARG002 (the standard library's)
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return moment.replace(tzinfo=None).astimezone().tzname() if moment is not None else None

    def fromutc(self, moment: datetime) -> datetime:
        exact = moment.replace(tzinfo=UTC).astimezone()
        here = exact.replace(tzinfo=self)
        return here if here.utcoffset() == exact.utcoffset() else here.replace(fold=1)


class World(NamedTuple):
    """All that gitmem takes from outside. `World.real()` is this process's; tests make their own."""

    env: Mapping[str, str] = MappingProxyType({})
    home: str = ""
    cwd: str = ""
    clock: Clock = now
    person: str = ""
    """Who sits here: git's `user.name`, else the name of the account."""
    hostname: str = ""
    zone: tzinfo | None = None
    """The time zone that dates are shown in; None is the system's."""
    ancestors: tuple[str, ...] = ()
    """Names of the programs that started this one, the nearest first."""

    @classmethod
    def real(cls) -> World:
        env = dict(os.environ)
        try:
            cwd = os.getcwd()
        except OSError:
            cwd = ""  # it was deleted under us; only who needs it minds
        home = os.path.expanduser("~")
        person = _name_in_git(env, home) or _login_name()
        return cls(
            env,
            home,
            cwd,
            person=person,
            hostname=os.uname().nodename.partition(".")[0],
            ancestors=_ancestors(),
        )

    @property
    def agent(self) -> str:
        """The agent that runs this process, by its variables or its place among the ancestors; empty for a person."""
        named = next((agent for name, agent in _AGENT_VARIABLES.items() if self.env.get(name)), "")
        return named or next((name for name in self.ancestors if name in AGENTS), "")

    @property
    def hermes_home(self) -> str:
        named = self.env.get("HERMES_HOME", "").strip()
        return os.path.abspath(named) if named else os.path.join(self.home, ".hermes")

    @property
    def config_home(self) -> str:
        """The directory of this user's own settings of gitmem; empty where there is no home."""
        named = self.env.get("XDG_CONFIG_HOME", "")
        home = self.home or self.env.get("HOME", "")
        base = named if os.path.isabs(named) else os.path.join(home, ".config")
        return os.path.join(base, "gitmem") if os.path.isabs(base) else ""

    def with_hermes_home(self, path: str) -> World:
        """The same world for another Hermes home; what is started from here sees it too."""
        return self._replace(env={**self.env, "HERMES_HOME": path})

    def path(self, given: str) -> str:
        """A path anywhere, from what a person typed."""
        if given == "~" or given.startswith("~/"):
            given = self.home + given[1:]
        if not self.cwd and not os.path.isabs(given):
            raise GitMemError("The current directory is gone: change to one that exists.")
        try:
            os.fsencode(given)
        except UnicodeEncodeError:
            raise UsageError(f"{given[:80]!a} cannot be the name of a file.") from None
        if "\0" in given:
            raise UsageError(f"{given[:80]!a} cannot be the name of a file.")
        return os.path.normpath(os.path.join(self.cwd, given))

    def here(self) -> datetime:
        """The present moment in the time zone that people here live in."""
        return self.clock().astimezone(self.zone or SystemZone())

    def local(self, seconds: float) -> datetime:
        """A moment (seconds since the epoch) in the time zone that dates are shown in."""
        try:
            return datetime.fromtimestamp(seconds, UTC).astimezone(self.zone or SystemZone())
        except (OverflowError, ValueError, OSError):  # a date that no calendar has
            return datetime.fromtimestamp(0, UTC)


def _ancestors() -> tuple[str, ...]:
    """Programs above this process, as /proc names them; none where there is no /proc."""
    found: list[str] = []
    process = os.getppid()
    while process > 1 and len(found) < _MOST_ANCESTORS:
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                words = file.read(4096).split(b"\0")[
                    :2
                ]  # a script is the second word, behind its interpreter
            with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
                process = int(file.read(4096).rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        found += [os.path.basename(word).decode("utf-8", "replace") for word in words if word]
    return tuple(found)


def real_world() -> World:
    """The world of this process, for the Hermes home of the running host where there is one."""
    world = World.real()
    constants = sys.modules.get("hermes_constants")  # only where the host has loaded it
    return world.with_hermes_home(str(constants.get_hermes_home()) if constants else world.hermes_home)


def _name_in_git(env: Mapping[str, str], home: str) -> str:
    """Return what git calls the person: $GIT_AUTHOR_NAME, or `user.name` in his own settings, where it is written plainly.

    Read by hand: to ask git, or to import what reads its settings, costs more than most commands.
    """
    if env.get("GIT_AUTHOR_NAME"):
        return env["GIT_AUTHOR_NAME"].strip()
    more = os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git", "config")
    own = env.get("GIT_CONFIG_GLOBAL")
    for path in (own,) if own is not None else (os.path.join(home, ".gitconfig"), more):
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(_SETTINGS_SIZE)
        except (OSError, UnicodeDecodeError):
            continue
        section = ""
        for line in map(str.strip, text.split("\n")):
            if line.startswith("["):
                section = line.partition("]")[0].strip("[ ").lower()
            key, equals, value = line.partition("=")
            if section == "user" and equals and key.strip().lower() == "name":
                return value.strip().strip('"')
    return ""


def platform_name() -> str:
    """Return the system that this is, as skills name it: `linux` or `macos`."""
    return "macos" if sys.platform == "darwin" else "linux"


def _login_name() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError):  # a container may run as a user without a name
        return ""
