"""Erase: what a person says must be gone, gone from every commit, ref and file of this bundle; a receipt stays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gitmem.errors import BundleUnusable, GitMemError, UnknownRevision
from gitmem.files import read_file
from gitmem.git.message import Message
from gitmem.git.objects import Oid, parse_commit, render_commit
from gitmem.git.refs import BRANCH, QUARANTINE, snapshot_name
from gitmem.git.replacement import Replacement, refuse_unusual
from gitmem.git.rewrite import Rewriter, Rewritten, files_of, reachable, with_file
from gitmem.memory.erase import beside
from gitmem.memory.erase.selection import Asked, Chosen, choose
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.okf.erasures import Receipt, with_receipts

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.erasing import ErasureRules

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Holding:
    """A commit that brought what goes: its subject, and the files it is in."""

    commit: Oid
    subject: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Erased:
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


@dataclass(slots=True)
class Plan:
    """An erase worked out on the refs as they were seen."""

    rules: ErasureRules
    seen: dict[str, Oid]
    done: Rewritten
    tip: Oid = ""
    """What `main` becomes, where that is a commit on top of what it was rewritten to."""
    files: dict[str, bytes | None] = field(default_factory=dict)

    @property
    def ids(self) -> dict[Oid, Oid]:
        return self.done.commits | self.done.tags

    @property
    def is_empty(self) -> bool:
        return not self.done.changed and all(old == new for old, new in self.done.tags.items())

    def refs(self) -> dict[str, Oid]:
        """The refs that there will be."""
        ids = self.ids
        named = {name: self.rules.blanking.name(name.rpartition("/")[2]) for name in self.seen}
        found: dict[str, Oid] = {}
        for name, oid in self.seen.items():
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

    def run(self, asked: Asked, *, by: str, reason: str = "", dry_run: bool = False) -> Erased:
        """Erase what was asked for, or say what that would do. Raises where it is nowhere."""
        refuse_unusual(self._repository)
        with self._bundle.writing("erase"):
            self._repository.refuse_if_busy()
            chosen = choose(self._repository, self.commits(), asked, now=self._bundle.world.clock())
            plan = self.plan(chosen.rules)
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
            receipts = self._receipts(chosen, by, reason)
            commit = self._with_receipts(plan, receipts, reason)
            self.carry_out(plan)
        self.look_again(plan.rules)
        if endpoint := self._bundle.config.embeddings.base_url:
            self._bundle.report(Notice("endpoint-has-it", endpoint))
        left = tuple(beside.left_over(self._bundle, plan.rules))
        return replace(report, receipts=tuple(one.id for one in receipts), commit=commit, left=left)

    def plan(self, rules: ErasureRules) -> Plan:
        """Return what becomes of the history by some rules; the caller holds the bundle lock."""
        seen = self._repository.refs.under("refs/")
        roots = self._roots()
        self._tell("looking")
        files = list(files_of(self._repository.store, map(self._peeled, roots)))
        rules.survey_names(path for path, _ in files)
        for path, oid in files:
            rules.survey(path, oid, self._repository.store.blob(oid))
        self._tell("rewriting")
        done = Rewriter(self._repository.store, rules).run(roots)
        return Plan(rules, seen, done)

    def carry_out(self, plan: Plan) -> None:
        """Make the bundle what the plan says, whatever happens; the caller holds the bundle lock."""
        from gitmem.memory.indexing import Indexing

        refs = plan.refs()
        plan.files |= beside.changed_files(self._bundle, plan.rules, plan.ids)
        self._log_tip(plan)
        oids = reachable(self._repository.store, {*refs.values(), *plan.ids.values()}, plan.done.objects)
        self._check(plan, oids)
        if self._bundle.has_part(Indexing):
            self._bundle.part(Indexing).close_all()
        self._tell("exchanging")
        Replacement(self._repository, plan.seen, refs, plan.files).carry_out(oids, plan.done.objects)

    def _log_tip(self, plan: Plan) -> None:
        """The commit with the receipts in the reflogs, as every commit that is made here."""
        if not plan.tip:
            return
        made = parse_commit(plan.tip, plan.done.objects[plan.tip].content)
        line = b"%s %s %s\t%s\n" % (
            made.parents[0].encode(),
            made.oid.encode(),
            made.committer.render(),
            made.subject.encode(),
        )
        for name in (BRANCH, "HEAD"):
            path = f"logs/{name}"
            data = plan.files.get(path, read_file(os.path.join(self._repository.git_dir, path)))
            plan.files[path] = (data or b"") + line

    def _roots(self) -> list[Oid]:
        """All that git keeps: `main` first, then every other ref, then what only a reflog names."""
        refs = self._repository.refs.under("refs/")
        known = {name: oid for name, oid in refs.items() if self._is_history(oid)}
        order = sorted(known, key=lambda name: (name != BRANCH, not name.startswith("refs/tags/"), name))
        logged = [oid for oid in beside.reflog_ids(self._repository.git_dir) if self._is_history(oid)]
        return list(dict.fromkeys([*(known[name] for name in order), *logged]))

    def commits(self) -> list[Oid]:
        """The commits that all of the history is below."""
        return list(dict.fromkeys(self._peeled(oid) for oid in self._roots()))

    def _is_history(self, oid: Oid) -> bool:
        try:
            return self._repository.store.read(oid)[0] in (b"commit", b"tag")
        except GitMemError:
            return False

    def _peeled(self, oid: Oid) -> Oid:
        return self._repository.store.peel(oid)[0]

    def _report(self, asked: Asked, plan: Plan, *, dry_run: bool) -> Erased:
        store, done = self._repository.store, plan.done
        quarantined = set(self._commits_of(QUARANTINE))
        holding = [
            Holding(oid, store.commit(oid).subject, tuple(sorted(paths)))
            for oid, paths in done.brings.items()
            if oid not in quarantined
        ]
        snapshots = [
            snapshot_name(name).removeprefix("refs/")
            for name, oid in plan.seen.items()
            if name.startswith(("refs/tags/", "refs/gitmem/")) and name != QUARANTINE and oid in done.holding
        ]
        held = {path.removesuffix(".md") for oid in quarantined for path in done.brings.get(oid, ()) if path}
        changed = beside.changed_files(self._bundle, plan.rules, {oid: oid for oid in plan.ids})
        dirty = [path for path in changed if self._holds(path, plan.rules)]
        remotes = sorted(
            {
                name.split("/")[2]
                for name, oid in plan.seen.items()
                if name.startswith("refs/remotes/") and plan.ids.get(oid, oid) != oid
            }
        )
        return Erased(
            asked.what,
            tuple(holding),
            tuple(snapshots),
            tuple(sorted(held)),
            tuple(dirty),
            len(done.changed),
            remotes=tuple(remotes),
            dry_run=dry_run,
        )

    def _holds(self, path: str, rules: ErasureRules) -> bool:
        full = os.path.join(self._repository.git_dir, path)
        return os.path.isfile(full) and rules.blanking.is_in(read_file(full) or b"")

    def _commits_of(self, ref: str) -> Iterable[Oid]:
        from gitmem.git.commit_graph import only_in

        tip = self._repository.refs.read(ref)
        return only_in(self._repository, tip, None) if tip else ()

    def _receipts(self, chosen: Chosen, by: str, reason: str) -> list[Receipt]:
        at, what = self._bundle.now(), chosen.asked.what
        is_text = what in ("text", "secret")
        return [
            Receipt.new(what, name, [name] if is_text else chosen.texts, at=at, by=by, reason=reason)
            for name in chosen.names
        ]

    def _with_receipts(self, plan: Plan, receipts: list[Receipt], reason: str) -> Oid:
        """The receipts in a commit on top of what `main` becomes; gives its id."""
        store, made = self._repository.store, plan.done.objects
        main = plan.seen[BRANCH]
        tip = plan.done.commits[main]
        tree = parse_commit(tip, made[tip].content).tree if tip in made else store.commit(tip).tree
        known = self._repository.tree(main).read(layout.CONFIG_ERASED)
        tree = with_file(store, made, tree, layout.CONFIG_ERASED, with_receipts(known, receipts))
        moment = int(self._bundle.world.clock().timestamp())
        origin = self._bundle.commit_gate.origin(self._bundle.origin(reason=reason))
        what = f"{receipts[0].what}, receipt {', '.join(one.id for one in receipts)}"
        message = Message("erase", what, origin.trailers()).render()
        commit = render_commit(
            tree,
            [tip],
            self._bundle.person_named(origin.agent or self._bundle.config.agent_id, moment),
            self._bundle.person_named("gitmem", moment),
            message,
        )
        made[commit.oid] = commit
        plan.tip = commit.oid
        return commit.oid

    def _check(self, plan: Plan, oids: Iterable[Oid]) -> None:
        """No object that stays holds the text: found before anything has happened, or never."""
        store, made, blanking = self._repository.store, plan.done.objects, plan.rules.blanking
        for oid in oids:
            data = made[oid].content if oid in made else store.read(oid)[1]
            if blanking.is_in(data):
                raise BundleUnusable(
                    f"The text would still be in the object {oid}: nothing was changed. This is a bug in gitmem."
                )

    def look_again(self, rules: ErasureRules) -> None:
        """Look at what is on disk now, and let a linked host's files follow."""
        from gitmem.memory.linked_host import bring_host_along

        store = self._repository.store
        for oid in store.all_ids():
            if rules.blanking.is_in(store.read(oid)[1]):
                raise BundleUnusable(
                    f"The history was rewritten, and somebody added the object {oid} with the text meanwhile.",
                    hint="Run the same command again.",
                )
        for notice in bring_host_along(self._bundle):
            self._bundle.report(notice)
