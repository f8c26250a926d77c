"""Every check of a bundle in one table: each problem with what to do, and repaired where that is safe."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.errors import VERIFY, GitMemError
from gitmem.files import open_to_others, write_new
from gitmem.git import git_index, git_settings, housekeeping, transaction
from gitmem.git.commit_graph import walk
from gitmem.git.objects import Oid
from gitmem.git.recovery import is_due, lost_tip
from gitmem.git.refs import BRANCH
from gitmem.git.tree import MAX_FILE_BYTES, TreeDiff
from gitmem.memory.bundle import format_of
from gitmem.okf import layout, validate
from gitmem.okf.plain import few

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_FAR = 1_000
_MARKERS = (b"\n<<<<<<< ", b"\n=======\n", b"\n>>>>>>> ")
_LOST = "Bring them back from a remote or a backup: `git fetch --refetch REMOTE`, or copy its objects/pack."

Fix = Callable[[], str]
"""Mends a problem; gives a sentence that says what was done."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, and what to do. A note (`serious` is False) does not stop gitmem from working."""

    check: str
    what: str
    remedy: str
    serious: bool = True
    fix: Fix | None = None


class Checks:
    """All checks of one bundle, with what they looked at. `python` is what the git hooks are to call."""

    def __init__(self, bundle: Bundle, *, history: bool = False, python: str = "") -> None:
        self._bundle = bundle
        self._repository = bundle.repository
        self._history = history
        self._python = python
        self.commits = 0
        self.files = 0

    def run(self) -> Iterator[Problem]:
        """Every problem found; one that stops a check is told once and does not stop the next."""
        told: set[str] = set()
        for check in _TABLE:
            try:
                for problem in check(self):
                    told |= {problem.check, problem.what}
                    yield problem
            except GitMemError as error:
                # Damage, or a merge under way, stops more than one check.
                if "objects" not in told and str(error) not in told:
                    told.add(str(error))
                    yield Problem("unreadable", str(error), _LOST if error.hint == VERIFY else error.hint)

    # The disk and its locks

    def _disk(self) -> Iterator[Problem]:
        try:
            probe = os.path.join(self._repository.scratch, "probe")
            write_new(probe, b"x")
            os.unlink(probe)
        except OSError as error:
            yield Problem(
                "disk",
                f"The bundle cannot be written ({error.strerror}: {error.filename}).",
                "Mount the disk for writing, or repair owner and mode of that directory.",
            )

    def _permissions(self) -> Iterator[Problem]:
        root, git_dir = self._repository.root, self._repository.git_dir
        # No other user gets at what is in a directory that is closed to them, however open the files are.
        tops = [top for top in (root, git_dir) if os.stat(top).st_mode & 0o077]
        if found := sorted(set(open_to_others(*tops))):
            yield Problem(
                "permissions",
                f"Other users of this machine may see {few([os.path.relpath(path, root) for path in found])}.",
                "`gitmem check --fix` gives each file and directory of yours the mode that it should have.",
                serious=False,
                fix=self._close,
            )

    def _close(self) -> str:
        from gitmem.memory.upkeep.create import close

        left = close(self._repository)
        return "Nobody but you can read and write the bundle" + (
            f"; another user owns {few(left)}." if left else "."
        )

    def _interrupted(self) -> Iterator[Problem]:
        if not is_due(self._repository) or self._repository.lock.is_held:
            return
        yield Problem(
            "interrupted",
            "A write was interrupted, by a kill or a power cut: work tree files or git's index lag behind.",
            "The next write finishes it; so does `gitmem check --fix`.",
            fix=self._mend,
        )

    def _mend(self) -> str:
        with transaction.writing(self._repository, "check"):
            pass
        return "The interrupted write is finished."

    def _locks(self) -> Iterator[Problem]:
        refs = self._repository.refs
        held = refs.locks()
        ours = refs.stale_locks(held) if held else ()  # the next write removes them
        for name in held:
            if (path := refs.path(name) + ".lock") in ours:
                continue
            yield Problem(
                "lock",
                f"Another program holds {path}, and what needs it waits.",
                "Let that program end. If no git command is running, remove the file.",
            )

    # The branch

    def _head(self) -> Iterator[Problem]:
        try:
            self._repository.refuse_if_busy()
        except GitMemError as error:
            if self._repository.refs.read("MERGE_HEAD") is not None:
                remedy = "Run `git merge --abort`, then `gitmem sync`, which merges entry by entry."
                yield Problem("head", str(error), remedy)
            else:
                remedy = f"{error.hint} Until then gitmem reads, and commits nothing.".strip()
                fix = None if self._repository.refs.head() else self._write_head
                yield Problem("head", str(error), remedy, fix=fix)
        what = "The branch main is gone."
        try:
            if self._repository.tip() is not None:
                return
        except GitMemError as damaged:
            what = str(damaged)
        if (lost := lost_tip(self._repository)) is not None:
            remedy = f"`gitmem check --fix` puts it back to its last commit, {lost[:12]}."
            yield Problem("branch", what, remedy, fix=partial(self._put_back, lost))
        else:
            yield Problem(
                "branch", what, "No commit of it is left here: restore a backup, or clone it again."
            )

    def _write_head(self) -> str:
        write_new(self._repository.refs.path("HEAD"), f"ref: {BRANCH}\n".encode())
        return "HEAD names the branch main again."

    def _put_back(self, lost: Oid) -> str:
        self._repository.refs.replace(BRANCH, f"{lost}\n".encode())
        return f"The branch main is at {lost[:12]} again."

    def _conflicts(self) -> Iterator[Problem]:
        if self._repository.tip() is None:
            return
        if broken := _left_in_conflict(self._bundle):
            yield Problem(
                "conflict",
                f"A merge by plain git left conflict markers in {few(broken)}.",
                f"Keep what holds with `gitmem edit {shlex.quote(broken[0])}`, and take the markers out.",
            )

    def _format(self) -> Iterator[Problem]:
        if self._repository.tip() is None:
            return
        agent = self._repository.tree(self._repository.tip()).read(layout.CONFIG_AGENT)
        if agent is None:
            yield Problem(
                "format",
                f"{layout.CONFIG_AGENT} is missing, which names the bundle's format.",
                f"Bring it back: `git checkout HEAD~1 -- {layout.CONFIG_AGENT}`, from a commit that has it.",
            )
        elif format_of(agent) > layout.FORMAT:
            yield Problem(
                "format",
                f"The bundle has format {format_of(agent)}, newer than this gitmem writes ({layout.FORMAT}).",
                "Upgrade gitmem. Until then it reads, and commits nothing.",
            )

    # The work tree

    def _index(self) -> Iterator[Problem]:
        if self._repository.tip() is None:
            return
        path = self._repository.index_file.path
        if not os.path.exists(path):
            yield Problem(
                "index",
                "Git's index is missing, so git takes every file for deleted.",
                "The next write makes it again; so does `git reset`.",
                fix=self._renew_index,
            )
        elif git_index.load(path) is None:
            yield Problem(
                "index",
                "Git's index is damaged, split or sparse; what was staged in it cannot be read by gitmem.",
                "Run `git update-index --no-split-index`, or `git reset` if git cannot read it either.",
                fix=self._renew_index,
            )

    def _renew_index(self) -> str:
        from gitmem.git.recovery import renew_index

        with transaction.writing(self._repository, "check"):
            renew_index(self._repository)
        return "Git's index is rebuilt."

    def _hand_edits(self) -> Iterator[Problem]:
        from gitmem.memory.hand_edits import problems_of

        if self._repository.refs.head() != BRANCH or self._repository.tip() is None:
            return
        for path, problem in problems_of(self._bundle, self._bundle.hand_edits()).items():
            yield Problem(
                "hand edit",
                f"{path} {problem}.",
                "Repair or remove the file: `gitmem commit` stops at it until then.",
            )

    def _journals(self) -> Iterator[Problem]:
        if not os.path.isdir(self._bundle.journal_dir):
            return
        from gitmem.memory.capture.journal_format import unsettled
        from gitmem.memory.capture.recovery import TURN, abandoned, damaged

        events, unreadable = 0, 0
        for journal in abandoned(self._bundle.journal_dir):
            # Notes for the next session of a host stay there until it begins.
            turns = [one for one in unsettled(journal.records) if one.kind == TURN]
            events += len(turns) + sum(not one.is_control for one in journal.records)
            unreadable += bool(journal.problems)
            journal.release()
        if events or unreadable:
            also = f"; {unreadable} cannot be read in full" if unreadable else ""
            yield Problem(
                "journal",
                f"A process ended without a flush and left events in its journal ({events}{also}).",
                "The next session commits them; so does `gitmem check --fix`.",
                fix=self._recover_journals,
            )
        for path in damaged(self._bundle.journal_dir):
            yield Problem(
                "journal",
                f"Some lines of a journal could not be read: {path} holds them.",
                "What could be read is committed. Look at the file, and remove it when you are done.",
                serious=False,
            )

    def _recover_journals(self) -> str:
        from gitmem.memory.capture.recovery import recover

        return " ".join(map(str, recover(self._bundle))) or "Nothing was left in the journals."

    # Around it

    def _hooks(self) -> Iterator[Problem]:
        from gitmem.git import hook_scripts
        from gitmem.memory.upkeep.git_hooks import NAMES

        elsewhere = git_settings.hooks_path(self._repository, self._bundle.world)
        if elsewhere:
            yield Problem(
                "hooks",
                f"core.hooksPath sends git to {elsewhere} for hooks, so gitmem's hooks do not run.",
                f"Run `git -C {shlex.quote(self._repository.root)} config core.hooksPath "
                f"{shlex.quote(os.path.join(self._repository.git_dir, 'hooks'))}`, or call `gitmem hook NAME` "
                "from the hooks there.",
                serious=False,
            )
        states = {name: hook_scripts.state(self._repository.git_dir, name) for name in NAMES}
        missing = [name for name, state in states.items() if state == "missing"]
        broken = [name for name, state in states.items() if state == "broken"]
        if missing or broken:
            which = ", ".join(missing + broken)
            yield Problem(
                "hooks",
                f"Git hooks of gitmem are missing, old, or call a gitmem that is gone: {which}.",
                "`gitmem check --fix` puts them in place; without them plain git checks nothing.",
                serious=bool(broken),
                fix=self._put_hooks,
            )
        foreign = [name for name, state in states.items() if state == "foreign"]
        if foreign:
            yield Problem(
                "hooks",
                f"Git hooks of somebody else are in place: {', '.join(foreign)}.",
                'Add a line `gitmem hook NAME "$@" || exit` to each, for gitmem to check commits.',
                serious=False,
            )

        if not git_settings.merges_entries(self._repository):
            yield Problem(
                "merge driver",
                "Plain `git pull` does not know how to merge a bundle: attributes or merge driver are missing.",
                "`gitmem check --fix` puts them in place; `gitmem sync` needs neither.",
                serious=False,
                fix=self._put_hooks,
            )

    def _put_hooks(self) -> str:
        from gitmem.memory.upkeep.create import install_hooks

        git_settings.write_attributes(self._repository)
        install_hooks(self._repository, python=self._python)
        return "The git hooks and the merge driver are in place."

    def _settings(self) -> Iterator[Problem]:
        for setting in git_settings.unsafe_settings(self._repository):
            now = f"is {setting.value}" if setting.value else "is not set"
            yield Problem(
                "settings",
                f"{setting.key} {now} in this repository: {setting.why}.",
                f"Run `git config {setting.key} {setting.wanted}`.",
                serious=bool(setting.value),
                fix=partial(self._make_safe, setting),
            )

    def _make_safe(self, setting: git_settings.UnsafeSetting) -> str:
        git_settings.set_values(self._repository, {setting.key: setting.wanted})
        return f"{setting.key} is {setting.wanted} now."

    # The proof that it is whole

    def _objects(self) -> Iterator[Problem]:
        packs = dict(housekeeping.damaged_packs(self._repository))
        lost = [
            f"{oid} (needed by {origin})" for oid, origin in housekeeping.damaged_objects(self._repository)
        ]
        if packs:
            what = f"Damaged: {few([f'{path} ({why})' for path, why in packs.items()])}."
            remedy = (
                _LOST
                if lost
                else "Its objects are elsewhere too: `gitmem check --fix` moves it out of the way."
            )
            fix = None if lost else partial(self._set_aside, sorted(packs))
            yield Problem("objects", what, remedy, fix=fix)
        if lost:
            yield Problem("objects", f"Missing or damaged ({len(lost)}): {few(lost)}.", _LOST)

    def _set_aside(self, packs: list[str]) -> str:
        for path in packs:
            stem = os.path.join(self._repository.git_dir, os.path.splitext(path)[0])
            for ending in (".idx", ".pack"):  # git takes a pack without its index for unfinished
                with contextlib.suppress(FileNotFoundError):
                    os.replace(stem + ending, stem + ending + ".damaged")
        self._repository.store.close()
        return f"{few(packs)} ends in .damaged now, and can be removed."

    def _files(self) -> Iterator[Problem]:
        tree = self._repository.tree(self._repository.tip())
        names: list[str] = []
        for path, entry in tree.files():
            self.files += 1
            names.append(path)
            yield from self._file(path, entry.mode, entry.oid)
        for first, second in validate.collisions(names):
            what = f"{second}: On a disk that ignores case it is the same as {first}."
            yield Problem("files", what, f"Rename one: `git mv {shlex.quote(second)} NEW`.")
        if names and layout.INDEX not in names:
            yield Problem(
                "files", f"{layout.INDEX} is missing, and every bundle has one.", _repair(layout.INDEX)
            )

    def _file(self, path: str, mode: int, oid: Oid, where: str = "") -> Iterator[Problem]:
        with contextlib.suppress(GitMemError):  # told by the check of objects
            data = b"" if mode == 0o160000 else self._repository.store.blob(oid)
            for reason in validate.reasons(path, mode, data, limit=MAX_FILE_BYTES):
                yield Problem("files", f"{path}: {reason}{where}", _repair(path))

    def _commits(self) -> Iterator[Problem]:
        tip, diff = self._repository.tip(), TreeDiff(self._repository.store)
        seen: set[tuple[str, Oid]] = set()
        for commit in walk(self._repository, tip) if tip else ():
            self.commits += 1
            for change in diff.of_commit(commit) if self._history else ():
                if change.new is not None and (change.path, change.new.oid) not in seen:
                    seen.add((change.path, change.new.oid))
                    where = f" (commit {commit.oid[:12]})"
                    yield from self._file(change.path, change.new.mode, change.new.oid, where)


_TABLE: tuple[Callable[[Checks], Iterator[Problem]], ...] = (
    Checks._disk, Checks._head, Checks._objects, Checks._permissions, Checks._interrupted, Checks._locks, Checks._conflicts,
    Checks._format, Checks._index, Checks._hand_edits, Checks._journals, Checks._hooks, Checks._settings,
    Checks._files, Checks._commits,
)  # fmt: skip


def _left_in_conflict(bundle: Bundle) -> list[str]:
    """Files with conflict markers that a merge brought; a note that only tells of markers came by an ordinary commit."""
    repository, tip = bundle.repository, bundle.tree()
    found: set[str] = set()
    for commit in islice(walk(repository, bundle.tip), _FAR):
        if len(commit.parents) < 2:
            continue
        tree = repository.tree(commit.oid)
        for change in repository.tree(commit.parents[0]).changes(tree):
            if _has_markers(tip.read(change.path)) and _has_markers(tree.read(change.path)):
                found.add(change.path)
    return sorted(found)


def _has_markers(data: bytes | None) -> bool:
    text, at = b"\n" + (data or b""), 0
    for mark in _MARKERS:
        at = text.find(mark, at)
        if at < 0:
            return False
    return True


def _repair(path: str) -> str:
    name = shlex.quote(path)
    return f"Read it with `git log -p -- {name}`, then correct it: `gitmem edit {name}`."
