"""Erase: what a person says must be gone, gone from every commit, ref and file of this bundle; a receipt stays."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from gitmem.errors import BundleBusy, BundleUnusable, GitMemError, UnknownRevision
from gitmem.files import DiskGroup, make_directories, make_durable, write_new
from gitmem.git.commit_graph import reachable
from gitmem.git.git_directory import beside, place, refuse_unusual
from gitmem.git.message import Message
from gitmem.git.objects import GitObject, Oid, file_id, render_commit
from gitmem.git.recovery import CommitNote, recover
from gitmem.git.refs import BRANCH, snapshot_name
from gitmem.git.repository import Repository
from gitmem.git.rewrite import Rewriter, Rewritten, files_of, words_in
from gitmem.memory.erase import leftovers
from gitmem.memory.erase.erased_list import lines_of
from gitmem.memory.erase.selection import EraseRequest, choose
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.okf.plain import Printed
from gitmem.okf.receipts import Receipt, new_receipts, with_receipts
from gitmem.state import ERASED, TABLE, TMP

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.scrub import Scrub

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Holding:
    """A commit that brought what goes: its subject, and the files it is in."""

    commit: Oid
    subject: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Erased(Printed):
    """Result of an erase, or of its dry run."""

    what: str
    commits: tuple[Holding, ...] = ()
    """The commits that brought it, the oldest first."""
    snapshots: tuple[str, ...] = ()
    """Snapshots, automatic ones too, that hold it."""
    quarantine: tuple[str, ...] = ()
    """Items in quarantine that hold it, by their ids."""
    beside: tuple[str, ...] = ()
    """Files of the git directory that hold it."""
    rewritten: int = 0
    """Commits that become others: those, and all that stand on them."""
    receipts: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """Files that hold it and are not gitmem's to change."""
    remotes: tuple[str, ...] = ()
    """Remotes that still have the old history."""
    commit: Oid = ""
    dry_run: bool = False
    forms: tuple[str, ...] = ()
    """The text as it is written in files here, with how often."""


@dataclass(slots=True)
class ErasePlan:
    """An erase worked out on the refs as they were seen."""

    rules: Scrub
    seen: dict[str, Oid]
    done: Rewritten
    tip: Oid = ""
    """What `main` becomes, where that is a commit on top of what it was rewritten to."""
    instead: dict[str, tuple[str, Oid]] = field(default_factory=dict)
    """Refs that become others than the rules make of them, with their names."""

    @property
    def ids(self) -> dict[Oid, Oid]:
        return self.done.commits | self.done.tags

    @property
    def is_empty(self) -> bool:
        return not self.done.changed and all(old == new for old, new in self.done.tags.items())

    def refs(self) -> dict[str, Oid]:
        """The refs that there will be."""
        ids = self.ids
        named = {name: self.rules.pattern.name(name.rpartition("/")[2]) for name in self.seen}
        found: dict[str, Oid] = {}
        for name, oid in self.seen.items():
            if name in self.instead:
                found.setdefault(*self.instead[name])
                continue
            parent = name.rpartition("/")[0]
            new = f"{parent}/{named[name]}" if parent else name
            while new in found:
                new += "-2"
            found[new] = ids.get(oid, oid)
        return {**found, BRANCH: self.tip or found[BRANCH]}


class Eraser:
    """Erasing in one bundle. The caller has made it ready as a whole."""

    def __init__(self, bundle: Bundle, progress: Progress | None = None) -> None:
        self._bundle = bundle
        self._repository = bundle.repository
        self._tell = progress or (lambda _: None)

    def run(self, asked: EraseRequest, *, by: str, reason: str = "", dry_run: bool = False) -> Erased:
        """Erase what was asked for, or say what that would do. Raises where it is nowhere."""
        refuse_unusual(self._repository)
        with contextlib.ExitStack() as stack:
            for what in () if dry_run else ("sync", "gc"):
                busy = f"A {what} of this memory is running: try again when it is done."
                stack.enter_context(self._bundle.state.lock(what, busy).hold("erase"))
            stack.enter_context(self._bundle.writing("erase"))
            made = stack.enter_context(self._repository.store.staging())
            self._repository.refuse_if_busy()
            rules = choose(self._repository, self.commits(), asked, now=self._bundle.world.clock())
            plan = self.plan(rules, made)
            report = self._report(asked, plan, dry_run=dry_run)
            if plan.is_empty and not report.beside:
                raise UnknownRevision(
                    f"This {asked.what} is nowhere in this memory or its history: nothing was changed.",
                    hint=""
                    if asked.what == "text"
                    else "`gitmem log` and `gitmem search --removed` show what there is.",
                )
            if dry_run:
                return report
            gone = self._first(plan)
            at = self._bundle.now()
            receipts = new_receipts(asked.what, len(plan.done.changed), gone, at=at, by=by, reason=reason)
            commit = self._with_receipts(plan, receipts, reason)
            self.carry_out(plan, receipts)
        self.look_again(plan.rules)
        if endpoint := self._bundle.config.embeddings.base_url:
            self._bundle.report(Notice("endpoint-has-it", endpoint))
        left = tuple(leftovers.left_over(self._bundle, plan.rules))
        return replace(report, receipts=tuple(one.id for one in receipts), commit=commit, left=left)

    def plan(
        self,
        rules: Scrub,
        made: dict[Oid, GitObject],
        known: Mapping[Oid, Oid] = MappingProxyType({}),
    ) -> ErasePlan:
        """Return what becomes of the history by some rules; the caller holds the bundle lock.

        `made` takes the new objects, which are staged in the store until the plan is carried out. `known` are commits of
        which it was found out already what they become.
        """
        seen = self._repository.refs.under("refs/")
        roots = self._roots()
        self._tell("looking")
        files = list(files_of(self._repository.store, self.commits(roots)))
        rules.survey(files, self._repository.store.blob)
        self._tell("rewriting")
        done = Rewriter(self._repository.store, rules, made, known).run(roots)
        return ErasePlan(rules, seen, done)

    def carry_out(self, plan: ErasePlan, receipts: Iterable[Receipt]) -> None:
        """Make the bundle what the plan says, whatever happens; the caller holds the bundle lock.

        The commits of the receipts are on this machine's list then.
        """
        from gitmem.memory.indexing import Indexing

        if self._bundle.has_part(Indexing):
            self._bundle.part(Indexing).close_all()
        git_dir, old = self._repository.git_dir, self._repository.tree(plan.seen[BRANCH])
        with beside(git_dir) as new:
            repository = self._written(plan, new)
            leftovers.copy_rest(git_dir, new, plan.rules, plan.ids)
            state = leftovers.StateCopy(git_dir, new, plan.rules, plan.ids)
            state.run()
            repository.state.write_text(ERASED, self._bundle.state.read_text(ERASED) + lines_of(receipts))
            if plan.tip:  # the commit with the receipts is in the reflog as every commit that is made here
                made = repository.store.commit(plan.tip)
                repository.refs.log(BRANCH, made.parents[0], made.oid, made.committer, made.subject)
            self._note(repository, old)
            self._check_files(new, plan.rules)
            repository.store.close()
            shutil.rmtree(repository.state.path(TMP), ignore_errors=True)
            make_durable(new, list(leftovers.files_in(new)))
            self._tell("exchanging")
            refs = self._repository.refs
            with contextlib.ExitStack() as stack:  # no plain `git commit` comes between
                locks = [stack.enter_context(refs.locked(name)) for name in ("index", "packed-refs", BRANCH)]
                if refs.under("refs/") != plan.seen:
                    raise BundleBusy("Somebody moved a branch or a tag meanwhile: run the command again.")
                if state.run():
                    make_durable(new, list(leftovers.files_in(new)))
                place(new, git_dir)
                self._repository.on_stage("placed")
                for lock in locks:
                    lock.leave()  # it went with the old directory
            self._repository.store.close()
            recover(self._repository)  # its files follow, and the old directory goes

    def _written(self, plan: ErasePlan, new: str) -> Repository:
        """A git directory with the objects and refs that there will be, and with nothing else yet."""
        refs = plan.refs()
        objects = list(reachable(self._repository.store, {*refs.values(), *plan.ids.values()}))
        for one in objects:  # found before anything has happened, or never
            if plan.rules.pattern.is_in(words_in(one.type, one.content)):
                raise BundleUnusable(
                    f"The text would still be in the object {one.oid}: nothing was changed. This is a bug in gitmem."
                )
        for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
            make_directories(os.path.join(new, *name.split("/")))
        repository = Repository(self._repository.root, new, self._repository.env)
        repository.store.write(objects)
        repository.refs.set_new({name: oid for name, oid in refs.items() if name != BRANCH})
        write_new(repository.refs.path(BRANCH), refs[BRANCH].encode() + b"\n")
        return repository

    def _note(self, repository: Repository, old: Tree) -> None:
        """Note which files of the work tree are to follow, and make git's index."""
        tip = repository.tip()
        assert tip is not None
        tree = repository.tree(tip)
        before, after = ({path: file_id(entry) for path, entry in one.files()} for one in (old, tree))
        paths = [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]
        note = CommitNote(None, tip, paths, was={path: before.get(path) for path in paths})
        with DiskGroup() as disk:
            repository.note.write(note, disk)
        moment = os.stat(repository.git_dir).st_mtime_ns
        write_new(repository.index_file.path, repository.index_file.made(tree, moment).raw)

    def _check_files(self, new: str, rules: Scrub) -> None:
        """Refuse to go on where a file that gitmem writes would still have the text."""
        kept = [name.path().partition(os.sep)[0] for name in TABLE if name.erase == "keep"]
        # The note names files that are to be removed, until they are.
        allowed = ("config", "hooks/", "gitmem/pending", *(f"gitmem/{name}" for name in kept))
        for path in leftovers.holding_text(new, rules):
            if not path.startswith(allowed):
                raise BundleUnusable(
                    f"The text would still be in {path}: nothing was changed. This is a bug in gitmem."
                )

    def _roots(self) -> list[Oid]:
        """All that git keeps: `main` first, then every other ref, then what only a reflog names."""
        refs = self._repository.refs.under("refs/")
        known = {name: oid for name, oid in refs.items() if self._is_history(oid)}
        order = sorted(known, key=lambda name: (name != BRANCH, not name.startswith("refs/tags/"), name))
        logged = [oid for oid in leftovers.reflog_ids(self._repository.git_dir) if self._is_history(oid)]
        return list(dict.fromkeys([*(known[name] for name in order), *logged]))

    def commits(self, roots: Iterable[Oid] | None = None) -> list[Oid]:
        """The commits that all of the history is below."""
        found = self._roots() if roots is None else roots
        return list(dict.fromkeys(self._repository.store.peel(oid)[0] for oid in found))

    def _is_history(self, oid: Oid) -> bool:
        try:
            return self._repository.store.read(oid)[0] in (b"commit", b"tag")
        except GitMemError:
            return False

    def _report(self, asked: EraseRequest, plan: ErasePlan, *, dry_run: bool) -> Erased:
        store, done = self._repository.store, plan.done
        holding = [
            Holding(oid, store.commit(oid).subject, tuple(sorted(paths)))
            for oid, paths in done.brings.items()
        ]
        snapshots = (
            snapshot_name(name).removeprefix("refs/")
            for name, oid in plan.seen.items()
            if name.startswith(("refs/tags/", "refs/gitmem/")) and oid in done.holding
        )
        remotes = {
            name.split("/")[2]
            for name, oid in plan.seen.items()
            if name.startswith("refs/remotes/") and plan.ids.get(oid, oid) != oid
        }
        dirty = leftovers.holding_text(self._repository.git_dir, plan.rules)
        return Erased(
            asked.what,
            tuple(holding),
            tuple(snapshots),
            tuple(sorted(filter(None, map(leftovers.held_key, dirty)))),
            tuple(dirty),
            len(done.changed),
            remotes=tuple(sorted(remotes)),
            dry_run=dry_run,
            forms=tuple(f"{form} ({many})" for form, many in plan.rules.forms.most_common()),
        )

    def _first(self, plan: ErasePlan) -> list[Oid]:
        """The commits that become others and stand on none that does, and the tags."""
        changed, store = plan.done.changed, self._repository.store
        first = [oid for oid in changed if changed.keys().isdisjoint(store.commit(oid).parents)]
        return first + [old for old, new in plan.done.tags.items() if old != new]

    def _with_receipts(self, plan: ErasePlan, receipts: list[Receipt], reason: str) -> Oid:
        """The receipts in a commit on top of what `main` becomes; gives its id."""
        main = plan.seen[BRANCH]
        tip = plan.done.commits[main]
        known = self._repository.tree(main).read(layout.CONFIG_ERASED)
        edits = {layout.CONFIG_ERASED: with_receipts(known, receipts)}
        tree, objects = self._repository.tree(tip).apply(edits)
        moment = int(self._bundle.world.clock().timestamp())
        origin = self._bundle.admitted_origin(self._bundle.origin(reason=reason))
        what = f"{receipts[0].what}, receipt {', '.join(one.id for one in receipts)}"
        message = Message("erase", what, origin.trailers()).render()
        commit = render_commit(
            tree.oid,
            [tip],
            self._bundle.person_named(origin.agent or self._bundle.config.agent_id, moment),
            self._bundle.person_named("gitmem", moment),
            message,
        )
        plan.done.objects.update((one.oid, one) for one in (*objects, commit))
        plan.tip = commit.oid
        return commit.oid

    def look_again(self, rules: Scrub) -> None:
        """Look at what is on disk now, and let a linked host's files follow."""
        from gitmem.memory.mirror.links import after_change

        store = self._repository.store
        for oid in store.with_prefix():
            if rules.pattern.is_in(words_in(*store.read(oid))):
                raise BundleUnusable(
                    f"The history was rewritten, and somebody added the object {oid} with the text meanwhile.",
                    hint="Run the same command again.",
                )
        for notice in after_change(self._bundle):
            self._bundle.report(notice)
