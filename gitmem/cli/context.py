"""The context of a command: the world outside, the bundle it is about, its output."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gitmem.cli.output import Output, complain
from gitmem.errors import BundleUnusable, FoundSomething, GitMemError, UnsafePath, UsageError
from gitmem.world import World

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gitmem.config import Config
    from gitmem.git.repository import Repository
    from gitmem.memory.lifetime import Purpose
    from gitmem.memory.memory import Memory
    from gitmem.okf.entries import Change

_ABOUT_HEAD = "head-elsewhere"
_FEW = 3


class App:
    """One run of the command line. Commands get it as their context object."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.chosen = ""
        """The bundle that -C names."""
        self.out = Output(world.env)
        self.ages = sys.stdout.isatty()
        """Whether dates are told as ages: for people at a terminal who did not ask for exact ones."""
        self._told: set[str] = set()

    # The bundle

    @cached_property
    def bundle(self) -> Memory:
        """The bundle that this command is about, opened; what a crash left undone is finished first."""
        return self._open("read")

    @cached_property
    def writing_bundle(self) -> Memory:
        """The bundle, to add something to: dead writers' events and hand edits are committed first."""
        return self._prepared("write")

    @cached_property
    def whole_bundle(self) -> Memory:
        """The bundle, to act on as a whole: every hand edit is committed first, or nothing happens."""
        return self._prepared("whole")

    def any_bundle(self) -> Memory:
        """The bundle as it stands, damaged or not: for the commands that say what is wrong with it."""
        self.bundle = self._open("as is")
        return self.bundle

    def _open(self, purpose: Purpose) -> Memory:
        from gitmem.memory.opening import open_bundle

        bundle = open_bundle(self.world, self.repository.root, purpose)
        author = self.world.agent or (self.world.person if self.at_terminal else "")
        if author and bundle.config.origin("agent_id") == "default":
            bundle.config = replace(bundle.config, agent_id=author)
        self.out.warning = " ".join(str(notice) for notice in bundle.notices if notice.kind == _ABOUT_HEAD)
        return bundle

    def _prepared(self, purpose: Purpose) -> Memory:
        self.bundle.prepare(purpose)
        return self.bundle

    @cached_property
    def repository(self) -> Repository:
        """The repository of the bundle, also where it cannot be opened as one."""
        from gitmem.git.setup import open_repository
        from gitmem.memory.opening import find_root

        return open_repository(find_root(self.world, self.chosen), self.world)

    def config_of(self, repository: Repository | None) -> Config:
        """The settings that hold for a repository, or without one."""
        from gitmem.memory.opening import config_for

        return config_for(self.world, repository.state if repository else None)

    # The person, and results

    @property
    def at_terminal(self) -> bool:
        """Return whether a person types this: at a terminal, and no agent does it for them."""
        return sys.stdin.isatty() and not self.world.agent

    def need_a_person(self) -> None:
        """Refuse where no person is at a terminal: only a person decides what enters the memory."""
        if not (self.at_terminal and sys.stdout.isatty()):
            by = f", and {self.world.agent} is not one" if self.world.agent and sys.stdin.isatty() else ""
            raise UsageError(
                f"Only a person at a terminal decides what enters the memory{by}.",
                hint="List what waits with `gitmem review --list`.",
            )

    def show(self, result: object, *, more: Collection[str] = (), **view: Any) -> None:
        """Print a result, as JSON or for people; one that holds something back ends the command with exit code 3."""
        self.out.json(result, more=more)
        if not self.out.is_json:
            from gitmem.cli.render import render

            render(self, result, **view)
        self.refuse_held(getattr(result, "held", ()))

    def tell_changes(self, changes: Iterable[Change], *, events: bool = False, stat: bool = False) -> None:
        """Print what was learned, changed and forgotten."""
        from gitmem.cli.render.changes import tell

        tell(self.out, changes, events=events, stat=stat)

    def refuse_held(self, held: Sequence[str], bundle: Memory | None = None) -> None:
        """End a command that held something back with a sentence about it, and exit code 3."""
        if not held:
            return
        if len(held) > _FEW:
            raise FoundSomething(
                f"{len(held):,} entries held back for a person.", hint="Run `gitmem review`."
            )
        told = "; ".join(f"{name} ({_why_held(bundle or self.bundle, name)})" for name in held)
        raise FoundSomething(
            f"Held back for a person, and not in the memory: {told}.",
            hint=f"Look at it with `gitmem review {held[0]}`, decide with `gitmem review`.",
        )

    # Paths

    def path(self, given: str) -> str:
        """A path in the bundle from what a person typed.

        It counts from the bundle's root; `./x`, `../x` and absolute paths count from where they stand.
        """
        from_here = given.startswith(("./", "../")) or given in (".", "..") or os.path.isabs(given)
        if not from_here:
            inside = os.path.normpath(given).replace(os.sep, "/")
        else:
            full = os.path.realpath(self.world.path(given))
            try:
                inside = os.path.relpath(full, os.path.realpath(self.repository.root)).replace(os.sep, "/")
            except ValueError:  # another drive
                inside = ".."
        if inside == ".." or inside.startswith("../"):
            raise UnsafePath(f"{given} is outside the bundle {self.repository.root}.")
        return "" if inside == "." else inside

    # The end

    def close(self, failure: GitMemError | None = None) -> None:
        """Flush the output and report, once, what the bundle had to warn about; `failure` is said after this."""
        try:
            self.out.close()
            sys.stdout.flush()
        finally:
            bundle = self.__dict__.get("bundle")
            try:
                for notice in bundle.close() if bundle is not None else ():
                    complain(str(notice), env=self.world.env)
            finally:
                for notice in bundle.notices if bundle is not None else ():
                    # Where HEAD stopped the command, the error says it.
                    if notice.kind != _ABOUT_HEAD or not isinstance(failure, BundleUnusable):
                        self.warn(str(notice))

    def warn(self, warning: str) -> None:
        if warning not in self._told:
            self._told.add(warning)
            complain(f"warning: {warning}", env=self.world.env)

    # Dates

    def date(self, seconds: float) -> str:
        """A moment for people: an age on a terminal, else local time to the minute."""
        from gitmem.dates import age

        local = self.world.local(seconds)
        return age(local, now=self.world.here()) if self.ages else f"{local:%Y-%m-%d %H:%M}"

    def moment(self, at: str) -> str:
        """A timestamp of a file as `date` gives it; as it is where it is none."""
        from gitmem.okf.timestamps import parse

        found = parse(at)
        return self.date(found.timestamp()) if found else at

    def day(self, at: str) -> str:
        """A timestamp of a file as an age, or as its local day."""
        return self.moment(at) if self.ages else self.exact(at)[:10]

    def exact(self, at: str) -> str:
        """A timestamp of a file in local time, to the minute: for a moment to come, which has no age."""
        from gitmem.okf.timestamps import parse

        found = parse(at)
        return f"{self.world.local(found.timestamp()):%Y-%m-%d %H:%M}" if found else at

    def long_date(self, seconds: float) -> str:
        return f"{self.world.local(seconds):%Y-%m-%d %H:%M:%S %z}"


def _why_held(bundle: Memory, name: str) -> str:
    try:
        found = bundle.quarantine.get(name).findings
    except GitMemError:  # somebody decided on it meanwhile
        return "decided already"
    return "; ".join(finding.get("reason") or finding.get("rule", "") for finding in found) or "doubtful"
