"""Sync: fetch, check, fold, push; never half done, and no push is refused for good.

A push of `main` that another machine beat goes to a branch of this machine, `in/<machine>`. The next sync of any machine
folds all such branches into `main`. A merge is pushed before it is made here: of many machines that fold at once one wins,
and the others make no merge.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import (
    GitMemError,
    InvalidContent,
    RemoteError,
    RewrittenRemote,
    UnknownRevision,
    UsageError,
)
from gitmem.git.commit_graph import is_ancestor, only_in
from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.git.remotes import Remote, Remotes
from gitmem.git.repository import Repository
from gitmem.git.transport import (
    MACHINES,
    Fetched,
    ThrowAway,
    Transport,
    Update,
    choose,
    is_travelling,
    remote_ref,
    shown_url,
    take_over,
    throw_away,
)
from gitmem.memory.provenance import note_pulled
from gitmem.memory.results import brief
from gitmem.memory.review import after_sync
from gitmem.memory.sync.remote_state import SyncState, sync_lock
from gitmem.notices import Notice, wrong_dates
from gitmem.okf import layout, paths
from gitmem.state import ERASED_COMMITS

# Most syncs find nothing new: what only others need is imported where it is used.

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.curated.archive import Archived
    from gitmem.memory.sync.branches import Branches
    from gitmem.memory.sync.inspect import Checked
    from gitmem.memory.sync.keeping import Agree
    from gitmem.okf.entries import Change

_TRIES = 8
_FOLDS = 3
"""How often a sync folds again that another one beat; what is here is on its branch then."""
_FOLDERS = 4
"""Of many machines with something to fold about so many do it: each one folds all branches."""


def _silent(_stage: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class Synced:
    """Result of one sync, or of its dry run."""

    remote: str
    came: tuple[Change, ...] = ()
    """What this agent believes now that it did not before, and the other way round."""
    sent: int = 0
    received: int = 0
    held: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()
    """Named snapshots that came."""
    checked: int = 0
    tip: Oid = ""
    dry_run: bool = False
    notices: tuple[Notice, ...] = ()
    """What there is to say about it."""
    waiting: str = ""
    """How much waits for a person here, as a sentence."""
    taken: str = ""
    """What of this memory the remote took away, in words."""
    archived: tuple[Archived, ...] = ()
    """Entries that left a curated store which the sync had made too full."""
    branch: str = ""
    """The branch on the remote that has what was sent, where `main` has it only after the next fold."""

    def __repr__(self) -> str:
        sent, received, held = self.sent, self.received, len(self.held)
        return brief(self, remote=self.remote, received=received, sent=sent, held=held, tip=self.tip[:8])


@dataclass(slots=True)
class _Progress:
    """A sync under way."""

    remote: str
    dry_run: bool
    shared: bool = False
    """Whether others than this user write there."""
    came: list[Change] = field(default_factory=list)
    sent: int = 0
    received: int = 0
    held: list[str] = field(default_factory=list)
    snapshots: list[str] = field(default_factory=list)
    there: dict[str, Oid] = field(default_factory=dict)
    """The named snapshots that the remote has now."""
    main: Oid | None = None
    """Where its `main` stands now."""
    checked: int = 0
    waiting: str = ""
    archived: list[Archived] = field(default_factory=list)
    branch: str = ""
    lost: bool = False
    """Whether the fold of what is here was left to another machine."""
    beaten: bool = False
    """Whether another machine moved `main` in this round before the merge that was made for it."""
    said_before: int = 0
    """How many notices the bundle had before."""

    def finished(self, bundle: Bundle) -> Synced:
        taken = ""
        if self.came:
            from gitmem.memory.sync.keeping import in_words

            taken = in_words(self.came)
        return Synced(
            self.remote,
            tuple(self.came),
            self.sent,
            self.received,
            tuple(self.held),
            tuple(self.snapshots),
            self.checked,
            bundle.tip,
            self.dry_run,
            tuple(bundle.notices[self.said_before :]),
            self.waiting,
            taken,
            tuple(self.archived),
            self.branch,
        )


class Sync:
    """Syncing one bundle with its remotes."""

    def __init__(
        self,
        bundle: Bundle,
        *,
        timeout: float = 120.0,
        prefer: str = "",
        progress: Callable[[str], None] | None = None,
        agree: Agree | None = None,
        accept_erasure: bool = False,
        folds: bool = False,
    ) -> None:
        """`folds` says that this machine is asked to fold, however many others could.

        `accept_erasure` is a person's word that what a remote's receipts name is erased here too.

        `agree` asks a person whether much of a store, or what they verified, may go; without it that stays.
        """
        self._bundle = bundle
        self._agree = agree
        self._accepts_erasure = accept_erasure
        self._folds = folds
        self._takes_branches = True
        self._repository = bundle.repository
        self._remotes = Remotes(self._repository)
        self._state = SyncState(bundle)
        self._tell = progress or _silent
        self._transport: Transport = choose(bundle.world.env, timeout=timeout, prefer=prefer)

    # One round after the other

    def run(
        self, name: str = "", *, dry_run: bool = False, allow_unrelated: bool = False, wait: float = 30.0
    ) -> Synced:
        """Bring a remote and this bundle together. The state is as before or as after, never between.

        One at a time: while another syncs this bundle, so many seconds are waited.
        """
        remote = self._remote(name)
        if remote.pushes and not remote.consent and not dry_run:
            raise UsageError(
                f"You have not allowed sending this memory to {remote.name} yet.",
                hint=f"Run `gitmem remote add {remote.name} {shown_url(remote.url)} --yes`.",
            )
        with sync_lock(self._bundle.state).hold("sync", wait=wait):
            return self._run_alone(remote, dry_run=dry_run, allow_unrelated=allow_unrelated)

    def _run_alone(self, remote: Remote, *, dry_run: bool, allow_unrelated: bool) -> Synced:
        done = _Progress(remote.name, dry_run, remote.shared, said_before=len(self._bundle.notices))
        try:
            for _ in range(_TRIES):
                self._rounds(remote, done, allow_unrelated=allow_unrelated)
                # Whoever wanted to sync meanwhile was sent away: what they committed goes too.
                if dry_run or not remote.pushes or done.branch or self._bundle.tip == done.main:
                    break
        except GitMemError as error:
            if not dry_run:
                self._state.failed(remote.name, f"{error} {error.hint}".strip())
            raise
        if not dry_run:
            done.waiting = after_sync(self._bundle)
            on_branch = self._bundle.tip if done.branch else ""
            self._state.succeeded(remote.name, self._agreed(remote.name, done.there), on_branch)
        return done.finished(self._bundle)

    def from_file(self, path: str, *, dry_run: bool = False, allow_unrelated: bool = False) -> Synced:
        """Take in a git bundle file, with the same checks as from a remote."""
        from gitmem.memory.sync.bundle_file import fetch_file

        done = _Progress(path, dry_run, said_before=len(self._bundle.notices))
        with throw_away(self._repository, [self._bundle.tip]) as room_dir:
            fetched = fetch_file(room_dir, path)
            if fetched.main is None:
                raise InvalidContent(f"{path} holds no memory: it has no branch main.")
            with room_dir.opened() as room:
                self._take(room, room_dir, fetched, done, allow_unrelated=allow_unrelated)
        return done.finished(self._bundle)

    def _rounds(self, remote: Remote, done: _Progress, *, allow_unrelated: bool) -> None:
        for attempt in range(1, _TRIES + 1):
            done.lost = done.beaten = False
            fetched = self._pull(remote, done, allow_unrelated=allow_unrelated)
            done.main = fetched.main
            done.there = dict(fetched.snapshots)
            if done.dry_run or not remote.pushes:
                return
            if not done.lost and not done.beaten and self._push(remote, fetched, done):
                return
            if remote.pulls and self._push_branch(remote, fetched, done):
                if done.lost or attempt >= _FOLDS:
                    return
                done.branch = ""  # it may still be folded in this sync
            time.sleep(random.uniform(0, 0.05 * 2**attempt))  # noqa: S311 (jitter, not a secret)
        raise RemoteError(f"Other machines keep pushing to {remote.name}: try again in a moment.")

    # Pull

    def _pull(self, remote: Remote, done: _Progress, *, allow_unrelated: bool) -> Fetched:
        repository = self._repository
        last = repository.refs.read(remote_ref(remote.name))
        haves = [oid for oid in (repository.tip(), last) if oid]
        with throw_away(repository, haves) as room_dir:
            self._tell(f"asking {remote.name}")
            fetched = self._transport.fetch(room_dir, remote.url, branches=remote.pulls)
            with room_dir.opened() as room:
                if self._bundle.state.has(ERASED_COMMITS):
                    from gitmem.memory.sync.erased import translated

                    fetched = translated(self._bundle, room_dir, room, fetched)
                if done.dry_run and remote.pushes:
                    done.sent = len(only_in(room, self._bundle.tip, fetched.main))
                if not remote.pulls:
                    self._refuse_foreign(remote, room, fetched.main)
                    return fetched
                if self._follows_erasure(remote, room, last, fetched.main, dry_run=done.dry_run):
                    return self._pull(remote, done, allow_unrelated=allow_unrelated)
                if fetched.main is not None and not self._knows(fetched):
                    fetched = self._take(
                        room, room_dir, fetched, done, allow_unrelated=allow_unrelated, remote=remote
                    )
        if not done.dry_run and fetched.main is not None and fetched.main != last:
            repository.refs.set(remote_ref(remote.name), fetched.main, expected=last)
        return fetched

    def _knows(self, fetched: Fetched) -> bool:
        """Return whether the remote has nothing that we lack."""
        return (
            fetched.main == self._bundle.tip
            and not self._unknown(fetched)
            and all(oid == fetched.main for oid in fetched.branches.values())
            and not fetched.unfit
        )

    def _unknown(self, fetched: Fetched) -> dict[str, Oid]:
        """The named snapshots of a remote that are not here, or are others here."""
        ours = self._repository.refs.under(SNAPSHOTS) if fetched.snapshots else {}
        return {name: oid for name, oid in fetched.snapshots.items() if ours.get(SNAPSHOTS + name) != oid}

    def _take(
        self,
        room: Repository,
        room_dir: ThrowAway,
        fetched: Fetched,
        done: _Progress,
        *,
        allow_unrelated: bool,
        remote: Remote | None = None,
    ) -> Fetched:
        """Bring in what was fetched, if it is fit to; gives it as it is there now."""
        from gitmem.memory.curated.archive import archive_overfull
        from gitmem.memory.history.log import History
        from gitmem.memory.sync.fold import arriving, folded
        from gitmem.memory.sync.inspect import Checked, check_incoming, check_snapshots
        from gitmem.memory.sync.keeping import settle

        main = fetched.main
        assert main is not None
        tip = self._bundle.tip
        fresh = only_in(room, main, tip) if main != tip else []
        if fresh:
            self._tell(f"checking {len(fresh):,} commits")
        checked = check_incoming(room, main, fresh, tip, self._bundle.world.clock()) if fresh else Checked()
        new_snapshots = self._unknown(fetched)
        check_snapshots(room, main, new_snapshots)
        branches = self._branches(room, fetched)
        if remote is not None and remote.pushes and not done.dry_run:
            self._choose(room, main, tip, branches, done)
        self._say_what_came([checked, *branches.checked], branches, done)
        theirs = [*([main] if fresh else ()), *branches.tips]
        if done.dry_run:
            if theirs:
                wanted = folded(room, [tip, *theirs], allow_unrelated=allow_unrelated)
                done.came = _between(room.tree(tip), room.tree(wanted))
            done.held = [f"{flag.path}: {flag.result.explain()}" for flag in checked.flagged]
            return fetched
        if branches.left_out:
            from gitmem.memory.sync.erased import keep_only

            keep_only(room_dir, room, self._repository, {main, *theirs, *new_snapshots.values()}, {})
        for oid in theirs:
            note_pulled(self._repository, oid, tip, done.remote)  # before any of it can be read
        take_over(room_dir, self._repository)
        self._repository.store.close()
        self._repository.store.remember_commits_of(room.store)
        if theirs and not done.lost:
            self._tell("merging")
            onto = arriving(self._repository, theirs, done.remote, allow_unrelated=allow_unrelated)
            wanted, _ = onto(tip)
            if remote is not None and remote.pushes and wanted not in (tip, main) and fetched.there is None:
                if not self._offer(remote, fetched, wanted, done):
                    done.beaten = True
                    return fetched
                fetched = replace(fetched, main=wanted)
            done.held += settle(
                self._bundle,
                done.remote,
                arriving=onto,
                flagged=checked.flagged,
                shared=done.shared,
                agree=self._agree,
            )
            done.came += self._bundle.part(History).between(tip, self._bundle.tip)
            # Before the push: each machine keeps its own, and two that find a store too full would take from both.
            done.archived += archive_overfull(self._bundle)
        self._take_snapshots(new_snapshots, done)
        return fetched

    def _branches(self, room: Repository, fetched: Fetched) -> Branches:
        """The branches of other machines that are fit to be folded."""
        from gitmem.memory.sync.branches import Branches, look_at

        if not (fetched.branches or fetched.unfit) or fetched.there is not None:
            return Branches()
        erased: set[Oid] = set()
        if self._bundle.state.has(ERASED_COMMITS):
            from gitmem.memory.sync.erased import erased_commits

            erased = set(erased_commits(self._bundle))
        return look_at(
            room,
            fetched,
            [self._bundle.tip],
            ours=self._branch,
            now=self._bundle.world.clock(),
            is_erased=lambda commits: not erased.isdisjoint(commits),
        )

    @property
    def _branch(self) -> str:
        from gitmem.memory.sync.branches import branch_of

        return branch_of(self._bundle.config.machine)

    def _choose(self, room: Repository, main: Oid, tip: Oid, branches: Branches, done: _Progress) -> None:
        """Leave the fold to another machine, where many have something to fold: each would do it all."""
        ours = bool(only_in(room, tip, main))
        ahead = len(branches.tips) + ours
        if self._folds or not branches.tips or random.random() < _FOLDERS / ahead:  # noqa: S311 (a choice, no secret)
            return
        branches.tips.clear()
        branches.checked.clear()
        done.lost = ours and not is_ancestor(room, main, tip)

    def _say_what_came(self, checked: Iterable[Checked], branches: Branches, done: _Progress) -> None:
        for notice in branches.notices:
            self._bundle.report(notice)
        for one in checked:
            for path, kind in one.secrets:
                self._bundle.report(Notice("secret-came", f"{path}, which comes from {done.remote},", kind))
            for path, why in one.hidden.items():
                self._bundle.report(Notice("hidden-came", f"{path}, which comes from {done.remote},", why))
            if one.dates:
                self._bundle.report(wrong_dates(one.dates))
            done.checked += one.entries
            done.received += one.commits

    def _refuse_foreign(self, remote: Remote, room: Repository, main: Oid | None) -> None:
        """Refuse to push over commits that a backup has and this memory does not."""
        if main is None or is_ancestor(room, main, self._bundle.tip):
            return
        raise RewrittenRemote(
            f"The remote {remote.name} holds commits that this memory does not have, and it is push-only. Nothing "
            "was sent.",
            hint=f"To take them in, run `gitmem remote add {remote.name} URL` without --push-only and `gitmem sync`; "
            "else choose an empty repository for the backup.",
        )

    def _follows_erasure(
        self, remote: Remote, room: Repository, last: Oid | None, main: Oid | None, *, dry_run: bool
    ) -> bool:
        """Return whether the remote was rewritten, its receipts explain that, and the same was erased here just now.

        A remote that was emptied or rewritten otherwise never deletes local memory.
        """
        if last is None or main == last or (main is not None and is_ancestor(room, last, main)):
            return False
        if main is not None:
            from gitmem.memory.erase.following import explains, new_receipts
            from gitmem.memory.sync.erased import follow, in_words

            receipts = new_receipts(room, main, self._bundle.tip)
            if receipts and self._accepts_erasure and not dry_run and follow(self._bundle, room, last, main):
                return True
            if receipts and explains(room, receipts, last, main):
                raise RewrittenRemote(
                    f"On {remote.name} something was erased for good: {in_words(receipts)}. Nothing was changed here.",
                    hint=f"To erase it here too run `gitmem sync {remote.name} --accept-erasure`.",
                )
        what = "was emptied" if main is None else "was rewritten: it does not continue what was there before"
        raise RewrittenRemote(
            f"The remote {remote.name} {what}. Nothing was changed here.",
            hint=f"To put this memory there again run `gitmem remote forget {remote.name}` and "
            f"`gitmem sync {remote.name}`; to leave it alone run `gitmem remote remove {remote.name}`.",
        )

    # After the merge

    def _take_snapshots(self, theirs: Mapping[str, Oid], done: _Progress) -> None:
        """Named snapshots are add-only, and a name keeps what it means here, whatever the remote says of it.

        The same name from two machines is kept under two: theirs comes as `<name>@<remote>`, and ours travels as
        `<name>@<machine>`.
        """
        seen = self._seen_snapshots(done.remote)
        here = self._repository.refs.under(SNAPSHOTS) if theirs else {}
        # One that was deleted here does not come back by itself.
        fresh = {
            SNAPSHOTS + n: oid
            for n, oid in theirs.items()
            if SNAPSHOTS + n not in here and seen.get(n) != oid
        }
        done.snapshots += sorted(ref.removeprefix(SNAPSHOTS) for ref in self._repository.refs.set_new(fresh))
        for name, oid in sorted(theirs.items()):
            ours = here.get(SNAPSHOTS + name)
            if ours is None:
                continue
            if seen.get(name) == ours:
                self._bundle.report(Notice("snapshot-moved", name, done.remote))
            else:
                self._part_names(name, ours, oid, done)

    def _part_names(self, name: str, ours: Oid, theirs: Oid, done: _Progress) -> None:
        """Two machines chose one name: ours keeps it here, and each gets a name that both sides can have."""
        _, tag = self._repository.store.peel(ours)
        machine = tag.tagger.email.rpartition("@")[2] if tag else self._bundle.config.machine
        self._also_name(name, machine or "here", ours)
        if other := self._also_name(name, done.remote, theirs):
            done.snapshots.append(other)
            self._bundle.report(Notice("snapshot-twice", name, other))

    def _also_name(self, name: str, whose: str, oid: Oid) -> str:
        """Give a snapshot one more name; empty where it has such a name already."""
        number = 1
        whose = paths.slug(whose)  # a name of a ref, which the path of a bundle file is not
        other = f"{name}@{whose}"
        while (found := self._repository.refs.read(SNAPSHOTS + other)) is not None and found != oid:
            number += 1
            other = f"{name}@{whose}-{number}"
        is_new = found is None and self._repository.refs.set(SNAPSHOTS + other, oid, expected=None)
        return other if is_new else ""

    def _seen_snapshots(self, remote: str) -> dict[str, Oid]:
        """The named snapshots that a remote had when it was last seen."""
        found = self.state(remote).get("snapshots")
        return found if isinstance(found, dict) else {}

    def _agreed(self, remote: str, there: Mapping[str, Oid]) -> dict[str, Oid]:
        """Return what to remember of a remote's snapshots: of one that was moved there, where it was when both agreed."""
        seen = self._seen_snapshots(remote)
        refs = self._repository.refs
        return {
            name: oid if refs.read(SNAPSHOTS + name) == oid else seen.get(name, oid)
            for name, oid in there.items()
        }

    def delete_snapshot(self, name: str, remote: str = "") -> bool:
        """Delete a snapshot's name on a remote; False where it has none. The history it named stays."""
        where = self._remote(remote)
        with throw_away(self._repository, [self._bundle.tip]) as room:
            there = self._transport.fetch(room, where.url).snapshots
            ref = SNAPSHOTS + name
            if name not in there:
                return False
            taken = self._transport.push(room, where.url, [Update(ref, None, there[name])])
        if taken:
            raise RemoteError(f"Somebody changed the snapshot {name!r} on {where.name} meanwhile: try again.")
        return True

    def forget_branch(self, machine: str, remote: str = "") -> None:
        """Delete the branch of a machine that has gone, if the remote's `main` has all of it."""
        from gitmem.memory.sync.branches import branch_of

        where, ref = self._remote(remote), branch_of(machine)
        with throw_away(self._repository, [self._bundle.tip]) as room_dir:
            fetched = self._transport.fetch(room_dir, where.url, branches=True)
            there = fetched.branches.get(ref.removeprefix(MACHINES))
            name = ref.removeprefix("refs/heads/")
            if there is None or fetched.main is None:
                raise UnknownRevision(f"There is no branch {name} on {where.name}.")
            with room_dir.opened() as room:
                if not is_ancestor(room, there, fetched.main):
                    raise UsageError(
                        f"main does not have all of {name} yet.",
                        hint=f"Run `gitmem fold {where.name}` first.",
                    )
            if self._transport.push(room_dir, where.url, [Update(ref, None, there)]):
                raise RemoteError(f"Somebody pushed to {name} meanwhile: it is in use.")

    # Push

    def _push(self, remote: Remote, fetched: Fetched, done: _Progress) -> bool:
        """Send what is new; False where someone else was faster."""
        tip = self._bundle.tip
        there = fetched.there or fetched
        updates = [Update(BRANCH, tip, there.main)] if tip != there.main else []
        updates += _moved(fetched)
        seen = self._seen_snapshots(remote.name)
        for ref, oid in self._repository.refs.under(SNAPSHOTS).items():
            name = ref.removeprefix(SNAPSHOTS)
            # One that was there and is gone was deleted there on purpose; what is there needs no second name.
            is_there = name in fetched.snapshots or oid in fetched.snapshots.values()
            if is_travelling(ref) and not is_there and seen.get(name) != oid:
                updates.append(Update(ref, oid, None))
        if not updates:
            return True
        fresh = only_in(self._repository, tip, fetched.main)
        if self._is_erased(fresh) or not self._send(remote, updates, fresh):
            return False
        done.sent += len(fresh)
        done.main = tip
        done.there |= {
            update.ref.removeprefix(SNAPSHOTS): update.new
            for update in updates
            if update.new and update.ref != BRANCH
        }
        self._repository.refs.set(
            remote_ref(remote.name), tip, expected=self._repository.refs.read(remote_ref(remote.name))
        )
        return True

    def _send(self, remote: Remote, updates: list[Update], fresh: list[Oid]) -> bool:
        """Move refs on a remote, with these commits of ours; False where someone else was faster."""
        from gitmem.memory.sync.outgoing import refuse_secrets

        refuse_secrets(self._bundle, fresh, [update.new for update in updates if update.new])
        self._tell(f"sending {len(fresh):,} commits to {remote.name}")
        with throw_away(self._repository, []) as room:
            return not self._transport.push(room, remote.url, updates)

    def _offer(self, remote: Remote, fetched: Fetched, merge: Oid, done: _Progress) -> bool:
        """Push a merge before it is made here; False where another machine was faster, and it is not made."""
        fresh = only_in(self._repository, merge, fetched.main)
        if self._is_erased(fresh) or not self._send(remote, [Update(BRANCH, merge, fetched.main)], fresh):
            return False
        done.sent += len(only_in(self._repository, self._bundle.tip, fetched.main))
        return True

    def _push_branch(self, remote: Remote, fetched: Fetched, done: _Progress) -> bool:
        """Send what is here to this machine's own branch; False where that branch is not to be had."""
        tip, ref = self._bundle.tip, self._branch
        there = fetched.branches.get(ref.removeprefix(MACHINES))
        if not self._takes_branches or (there is not None and there not in self._repository.store):
            return False
        fresh = only_in(self._repository, tip, fetched.main, there)
        if there is not None and there != tip and not is_ancestor(self._repository, there, tip):
            return False  # somebody else wrote it, which was said
        if fresh and tip != there:
            try:
                if not self._send(remote, [Update(ref, tip, there)], fresh):
                    return False
            except RemoteError as refused:
                self._takes_branches = False
                self._bundle.report(Notice("branch-refused", remote.name, str(refused)))
                return False
            done.sent += len(fresh)
        if only_in(self._repository, tip, fetched.main):
            done.branch = ref.removeprefix("refs/heads/")
        return True

    def _is_erased(self, commits: list[Oid]) -> bool:
        """Return whether a person accepted the receipts, and something of what would go was erased by them here just now.

        Receipts arrive with any sync. Without a person's word they are text: they change, refuse and delay nothing.
        """
        if not self._accepts_erasure or layout.CONFIG_ERASED not in self._repository.tree(self._bundle.tip):
            return False
        from gitmem.memory.sync.erased import erase_by_receipts, erased_in_commits

        if erased_in_commits(self._repository, commits) is None:
            return False
        erase_by_receipts(self._bundle)
        return True

    # State

    def _remote(self, name: str) -> Remote:
        return self._remotes.get(name or self._default())

    def _default(self) -> str:
        """The remote that is meant where none is named."""
        remotes = self._remotes.all()
        return remotes[0].name if len(remotes) == 1 else "origin"

    def forget(self, name: str) -> None:
        """Forget what was seen of a remote: where it stood, and which snapshots it had."""
        refs = self._repository.refs
        seen = refs.read(remote_ref(name))
        if seen is not None:
            refs.delete(remote_ref(name), expected=seen)
        self._state.forget(name)

    def state(self, name: str) -> dict[str, Any]:
        """Return how the last sync with a remote ended, and what was seen there."""
        return self._state.of(name)


def _between(old: Tree, new: Tree) -> list[Change]:
    """Return what a tree has that another has not, entry by entry."""
    from gitmem.okf.comparison import compare

    changes = list(old.changes(new))
    return compare(
        {one.path: old.read_entry(one.old) for one in changes if one.old},
        {one.path: new.read_entry(one.new) for one in changes if one.new},
    )


def _moved(fetched: Fetched) -> list[Update]:
    """The snapshots that the remote has as they were before an erase: moved, or given their new names."""
    there = fetched.there
    if there is None:
        return []
    updates = []
    for name, oid in there.snapshots.items():
        new = fetched.snapshots.get(name)
        if new != oid:
            updates.append(Update(SNAPSHOTS + name, new, oid))
    return updates + [
        Update(SNAPSHOTS + name, oid, None)
        for name, oid in fetched.snapshots.items()
        if name not in there.snapshots
    ]
