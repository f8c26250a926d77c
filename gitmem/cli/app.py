"""The context of a command: the world outside, the bundle it is about, its output."""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gitmem.cli.terminal import Output, Piece, complain, yellow
from gitmem.errors import BundleUnusable, FoundSomething, GitMemError, UnknownRevision, UnsafePath, UsageError
from gitmem.locate import holds_files, is_bundle
from gitmem.state import PERSON
from gitmem.world import World

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gitmem.config import Config
    from gitmem.git.repository import Repository
    from gitmem.git.worktree import HandEdit
    from gitmem.memory.lifetime import Purpose
    from gitmem.memory.memory import Memory

_ABOUT_HEAD = "head-elsewhere"
_READING = (
    "blame", "check", "diff", "digest", "export", "facts", "log", "recall", "review", "scan", "search", "show",
    "status", "why",
)  # fmt: skip
"""Commands that may look at a memory which is not in the user's list."""
_VIEWS = ("diff", "digest", "facts", "log", "review", "show", "status")
"""Commands that show what is new."""
_SCREEN = "a terminal"
_FEW, _TITLE, _SHORT = 3, 40, 8


class App:
    """One run of the command line. Commands get it as their context object."""

    def __init__(self, world: World | None) -> None:
        self.env = world.env if world is not None else os.environ
        self._world = world
        self.chosen = ""
        """The memory that -C names."""
        self.command = ""
        """The command that runs."""
        self.out = Output(self.env)
        self.ages = sys.stdout.isatty()
        """Whether dates are shown as ages: for people at a terminal who did not ask for exact ones."""
        self._opened_at = ""
        self._told: set[str] = set()
        self._titles: dict[str, str] = {}

    @cached_property
    def world(self) -> World:
        return self._world or World.real()

    def is_in_a_memory(self) -> bool:
        """Return whether a command without -C would find a memory."""
        from gitmem.memory.opening import find_root

        try:
            return is_bundle(find_root(self.world))
        except GitMemError:
            return False

    # The bundle

    @cached_property
    def bundle(self) -> Memory:
        """The bundle that this command is about, opened; what a crash left undone is finished first, but for `check`."""
        from gitmem.memory.opening import by_caller, open_bundle

        purpose: Purpose = "as is" if self.command == "check" else "read"
        root = self.repository.root
        bundle = open_bundle(self.world, root, purpose, foreign=self.repository.is_foreign)
        bundle.config = by_caller(bundle.config, self.world)
        with suppress(GitMemError):  # a damaged memory, of which `check` says what is wrong
            self._opened_at = bundle.tip
        self.out.warning = " ".join(str(notice) for notice in bundle.notices if notice.kind == _ABOUT_HEAD)
        return bundle

    @cached_property
    def writing_bundle(self) -> Memory:
        """The bundle, to add something to: dead writers' events and hand edits are committed first."""
        self.bundle.prepare("write")
        return self.bundle

    @cached_property
    def whole_bundle(self) -> Memory:
        """The bundle, to act on as a whole: every hand edit is committed first, or nothing happens."""
        self.bundle.prepare("whole")
        return self.bundle

    @cached_property
    def repository(self) -> Repository:
        """The repository of the bundle, also where it cannot be opened as one."""
        from gitmem.git.git_directory import open_repository
        from gitmem.memory.opening import find_root, is_trusted, of_others, passed_by

        root = find_root(self.world, self.chosen)
        if not self.chosen and (passed := passed_by(self.world)) not in ("", root):
            self.warn(f"{passed} looks like a memory and is not in your list: it is not opened.")
        repository = open_repository(root, self.world)
        repository.is_foreign = holds_files(root) and not is_trusted(self.world, root)
        if repository.is_foreign and self.command not in _READING:
            raise of_others(self.world, root)
        return repository

    def config_of(self, repository: Repository | None) -> Config:
        """The settings that hold for a repository, or without one."""
        from gitmem.memory.opening import by_caller, config_for

        return by_caller(config_for(self.world, repository.state if repository else None), self.world)

    # The person, and results

    @property
    def is_person(self) -> bool:
        """Return whether a person types this: a terminal on both ends, and no agent does it for them."""
        return sys.stdin.isatty() and sys.stdout.isatty() and not self.world.agent

    def need_a_person(self, does: str = "decides what enters the memory", *, script: bool = False) -> None:
        """Refuse where no person is at a terminal: the one question for every command that only a person may run.

        With `script`, a person's script may do it too (it says `--yes`), and an agent may not.
        """
        if self.world.agent if script else not self.is_person:
            by = f", and {self.world.agent} is not one" if self.world.agent and sys.stdin.isatty() else ""
            raise UsageError(
                f"Only a person at a terminal {does}{by}.",
                hint="List what waits with `gitmem review --list`." if "enters" in does else "",
            )

    def show(self, result: object, *, more: Collection[str] = (), **view: Any) -> None:
        """Print a result, as JSON or for people; one that holds something back ends the command with exit code 3."""
        self.out.json(result, more=more)
        self.tell(result, **view)
        self.refuse_held(getattr(result, "held", ()))

    def tell(self, result: object, **view: Any) -> None:
        """Print a result for people; where JSON is asked for, nothing."""
        if not self.out.is_json:
            from gitmem.cli.render import render

            render(self, result, **view)

    def answer(self, document: object, *pieces: Piece) -> None:
        """Print what was done: a document, or one line for people."""
        self.out.json(document)
        self.out.line(*pieces)

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

    # Ids and paths

    def session(self, session: str, *, whole: bool = False) -> str:
        """A session by its title in quotation marks, or by its id where it has none; `whole` by both."""
        from gitmem.okf.plain import shortened

        if session not in self._titles:
            self._titles[session] = shortened(self.bundle.session_title(session), _TITLE)
        title = self._titles[session]
        if not title:
            return f"session {session}"
        return f'"{title}" ({self.short_session(session)})' if whole else f'"{title}"'

    def short_session(self, session: str) -> str:
        """As much of a session's id as no other begins with, and at least eight letters of it."""
        place = bisect_left(self._sessions, session)
        beside = [name for name in self._sessions[max(place - 1, 0) : place + 2] if name != session]
        shorter = (session[:length] for length in range(_SHORT, len(session)))
        return next((one for one in shorter if not any(name.startswith(one) for name in beside)), session)

    @cached_property
    def _sessions(self) -> list[str]:
        from gitmem.okf import layout

        return sorted(map(layout.session_name, layout.session_pages(self.bundle.tree())))

    def revision(self, typed: str) -> str:
        """The revision that a person means by any id that was printed."""
        from gitmem.memory.printed_ids import revision_of

        return revision_of(self.bundle, typed)

    def revision_or_first(self, typed: str) -> str:
        """The revision that is meant; of a date before the first commit that one, which is said."""
        from gitmem.dates import span

        try:
            return self.revision(typed)
        except UnknownRevision as unknown:
            if span(typed, now=self.world.here()) is None:
                raise
            self.warn(f"{unknown} From its beginning:")
            return list(self.bundle.log())[-1].id[:12]

    def path(self, given: str) -> str:
        """A path in the bundle from what a person typed.

        It counts from the bundle's root; `./x`, `../x` and absolute paths count from the working directory.
        """
        from_here = given.startswith(("./", "../")) or given in (".", "..") or os.path.isabs(given)
        if not from_here:
            inside = os.path.normpath(given)
        else:
            full = os.path.realpath(self.world.path(given))
            inside = os.path.relpath(full, os.path.realpath(self.repository.root))
        if inside == ".." or inside.startswith("../"):
            raise UnsafePath(f"{given} is outside the memory {self.repository.root}.")
        return "" if inside == "." else inside

    # The end

    def take_in_edits(self) -> None:
        """Commit what was written into files by hand, so that it is listed; where a file is gone, nothing is."""
        edits = self._hand_edits()
        if edits and all(edit.data is not None for edit in edits):
            with suppress(GitMemError, OSError):  # another write is under way: it stays announced
                self.bundle.take_in_edits(strict=False)

    def tell_hand_edits(self, below: str = "") -> None:
        """Say that files were edited and are not committed yet: what is listed does not have it."""
        edited = [edit.path for edit in self._hand_edits() if edit.path.startswith(below)]
        if edited:
            more = f" and {len(edited) - 1} more" if len(edited) > 1 else ""
            verb = "were" if more else "was"
            told = f"{edited[0]}{more} {verb} edited by hand and not committed yet: `gitmem commit` does it."
            self.out.block(yellow(told), indent="")

    def _hand_edits(self) -> list[HandEdit]:
        if not self.repository.is_foreign:
            with suppress(GitMemError, OSError):  # a merge under way: what is committed is listed
                return list(self.bundle.hand_edits())
        return []

    def note_seen(self, by: str = PERSON) -> None:
        """Note that a person looked at what is known, where one did; a memory of others is only read."""
        if self.is_person and not self.repository.is_foreign:
            from gitmem.hosts.brief import note_seen

            note_seen(self.bundle, by)

    def is_news(self, commit: str) -> bool:
        """Return whether a commit is newer than what the person at this terminal last looked at."""
        from gitmem.git.commit_graph import is_ancestor
        from gitmem.hosts.brief import last_seen

        seen = last_seen(self.bundle, _SCREEN)
        known = bool(seen) and seen in self.repository.store
        return self.is_person and not (known and is_ancestor(self.repository, commit, seen))

    def close(self, failure: GitMemError | None = None) -> None:
        """Flush the output and report, once, what the bundle had to warn about; `failure` is said after this."""
        bundle = self.__dict__.get("bundle")
        try:
            self.out.close()
            sys.stdout.flush()
            if bundle is not None and failure is None:
                with suppress(GitMemError, OSError):  # a memory that is damaged or busy
                    if self.command in _VIEWS or bundle.tip != self._opened_at:
                        self.note_seen(_SCREEN)
        finally:
            try:
                for notice in bundle.close() if bundle is not None else ():
                    complain(str(notice), env=self.env)
            finally:
                for notice in bundle.notices if bundle is not None else ():
                    # Where HEAD stopped the command, the error says it.
                    if notice.kind != _ABOUT_HEAD or not isinstance(failure, BundleUnusable):
                        self.warn(str(notice))

    def warn(self, warning: str) -> None:
        if warning not in self._told:
            self._told.add(warning)
            complain(f"warning: {warning}", env=self.env)

    # Dates

    def date(self, at: float | str, *, exact: bool = False) -> str:
        """A moment, in seconds or as a file has it: an age on a terminal, else local time to the minute.

        A moment to come has no age: it is shown `exact`. A text that is no moment is shown as it is.
        """
        from gitmem.dates import age
        from gitmem.okf.timestamps import parse

        if isinstance(at, str):
            found = parse(at)
            if found is None:
                return at
            at = found.timestamp()
        local = self.world.local(at)
        return age(local, now=self.world.here()) if self.ages and not exact else f"{local:%Y-%m-%d %H:%M}"

    def day(self, at: str) -> str:
        """A timestamp of a file as an age, or as its local day."""
        return self.date(at) if self.ages else self.date(at, exact=True)[:10]

    def moment_of(self, typed: str, revision: str) -> str:
        """The moment that a date became, or that of a commit: `Friday 13 November, 23:59 (3630fa3e)`."""
        from gitmem.dates import span

        commit = self.bundle.repository.store.commit(self.bundle.resolve(revision))
        dated = None if self.bundle.snapshots.has(typed) else span(typed, now=self.world.here())
        when = dated.end if dated is not None and typed == revision else self.world.local(commit.made)
        return f"{when:%A} {when.day} {when:%B}, {when:%H:%M} ({commit.oid[:8]})"


def _why_held(bundle: Memory, name: str) -> str:
    try:
        return "; ".join(bundle.ledger.get(name).reasons) or "doubtful"
    except GitMemError:  # it was decided on meanwhile
        return "decided already"
