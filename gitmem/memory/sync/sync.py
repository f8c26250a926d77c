"""Sync: fetch, check, fold, push; never half done, and no push is refused for good.

One push moves a branch of this machine, `in/<machine>`, and `main`. Where another machine was faster with `main`, what is
here is on the remote all the same, and the next sync of any machine folds all such branches into `main`. A merge is pushed
before it is made here: of many machines that fold at once one wins, and the others make no merge.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gitmem.errors import (
    GitMemError,
    InvalidContent,
    RefusedPush,
    RemoteError,
    RewrittenRemote,
    UsageError,
)
from gitmem.git.commit_graph import is_ancestor, only_in, strangers
from gitmem.git.git_settings import Remote
from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.git.repository import Repository
from gitmem.git.transport import (
    MACHINES,
    Fetched,
    ThrowAway,
    Transport,
    Update,
    choose,
    remote_ref,
    take_over,
    throw_away,
)
from gitmem.memory.erase.erased_list import erased_commits
from gitmem.memory.provenance import note_pulled
from gitmem.memory.review import in_words, waiting_quietly
from gitmem.memory.sync.named_snapshots import NamedSnapshots
from gitmem.memory.sync.remote_state import RemoteState, branch_of, remote_named, sync_lock
from gitmem.notices import Notice
from gitmem.okf.plain import Printed, brief

# Most syncs find nothing new: what only others need is imported where it is used.

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.curated.archive import Archived
    from gitmem.memory.sync.branches import Branches
    from gitmem.memory.sync.inspect import Checked
    from gitmem.okf.entries import Change

_TRIES = 8
_FOLDS = 3
"""How often a sync folds again that another one beat; what is here is on its branch then."""
_FOLDERS = 4
"""Of many machines with something to fold about so many do it: each one folds all branches."""


@dataclass(slots=True)
class Synced(Printed):
    """Result of one sync, or of its dry run."""

    remote: str
    dry_run: bool = False
    came: tuple[Change, ...] = ()
    """What this agent believes now that it did not before, and the other way round."""
    sent: int = 0
    received: int = 0
    held: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()
    """Named snapshots that came."""
    checked: int = 0
    tip: Oid = ""
    notices: tuple[Notice, ...] = ()
    """What there is to say about it."""
    waiting: str = ""
    """How much waits for a person here, as a sentence."""
    archived: tuple[Archived, ...] = ()
    """Entries that left a curated store which the sync had made too full."""
    branch: str = ""
    """The branch on the remote that has what was sent, where `main` has it only after the next fold."""

    def __repr__(self) -> str:
        sent, received, held = self.sent, self.received, len(self.held)
        return brief(self, remote=self.remote, received=received, sent=sent, held=held, tip=self.tip[:8])


class Sync:
    """One sync of a bundle with a remote."""

    def __init__(
        self,
        bundle: Bundle,
        *,
        timeout: float = 120.0,
        prefer: str = "",
        progress: Callable[[str], None] | None = None,
        accept_erasure: bool = False,
        leave_out: bool = False,
        folds: bool = False,
    ) -> None:
        """`folds` says that this machine is asked to fold, however many others could.

        `accept_erasure` is a person's word that what was erased on a remote is erased here too; with `leave_out` commits
        that were never sent go too if they hold it.
        """
        self._bundle = bundle
        self._repository = bundle.repository
        self._accepts_erasure = accept_erasure
        self._leaves_out = leave_out
        self._erased = erased_commits(bundle.state)
        self._folds = folds
        self._takes_branches = True
        self._tell = progress or (lambda _stage: None)
        self._transport: Transport = choose(bundle.world.env, timeout=timeout, prefer=prefer)
        self._branch = branch_of(bundle.config.machine)
        self._main: Oid | None = None
        """Where the remote's `main` stands now."""
        self._there: dict[str, Oid] = {}
        """The named snapshots that the remote has now."""
        self._machines = 0
        """Machines with a branch on the remote."""
        self._is_left = False
        """Whether the fold of what is here is left to another machine."""

    # One round after the other

    def run(
        self, name: str = "", *, dry_run: bool = False, allow_unrelated: bool = False, wait: float = 30.0
    ) -> Synced:
        """Bring a remote and this bundle together. The state is as before or as after, never between.

        One at a time: while another syncs this bundle, so many seconds are waited.
        """
        remote = remote_named(self._repository, name)
        if remote.pushes and not remote.consent and not dry_run:
            raise UsageError(
                f"You have not allowed sending this memory to {remote.name} yet.",
                hint=f"Run `{remote.agreeing}`.",
            )
        with sync_lock(self._bundle.state).hold("sync", wait=wait):
            state = RemoteState(self._bundle, remote)
            with self._syncing(remote, state.snapshots, dry_run, allow_unrelated):
                try:
                    self._rounds()
                except GitMemError as error:
                    if not dry_run:
                        state.failed(f"{error} {error.hint}".strip())
                    raise
                if not dry_run:
                    self._done.waiting = in_words(waiting_quietly(self._bundle))
                    on_branch = self._bundle.tip if self._done.branch else ""
                    state.succeeded(self._named.agreed(self._there), on_branch)
        return self._done

    def from_file(self, path: str, *, dry_run: bool = False, allow_unrelated: bool = False) -> Synced:
        """Take in a git bundle file, with the same checks as from a remote."""
        path = os.path.abspath(path)
        if not os.path.isfile(path):
            raise InvalidContent(f"There is no file {path}.")
        file = Remote(path, path, mode="pull-only")
        with (
            self._syncing(file, {}, dry_run, allow_unrelated),
            throw_away(self._repository, [self._bundle.tip]) as room_dir,
        ):
            fetched = self._transport.fetch(room_dir, path)
            if fetched.main is None:
                raise InvalidContent(f"{path} holds no memory: it has no branch main.")
            with room_dir.opened() as room:
                self._take(room, room_dir, fetched)
        return self._done

    @contextmanager
    def _syncing(
        self, remote: Remote, seen: Mapping[str, Oid], dry_run: bool, allow_unrelated: bool
    ) -> Iterator[None]:
        """Begin a result, and complete it."""
        said_before = len(self._bundle.notices)
        self._remote = remote
        self._allow_unrelated = allow_unrelated
        self._named = NamedSnapshots(self._bundle, remote.name, seen)
        self._done = Synced(remote.name, dry_run)
        yield
        self._done.tip = self._bundle.tip
        self._done.notices = tuple(self._bundle.notices[said_before:])

    def _rounds(self) -> None:
        """Pull and push, until the remote has what is here: in `main`, or after some tries on this machine's branch."""
        for attempt in range(1, _TRIES + 1):
            self._is_left, self._done.branch = False, ""
            fetched = self._pull()
            if self._done.dry_run or not self._remote.pushes:
                return
            if fetched is not None and self._push(fetched):
                # A machine that wanted to sync meanwhile was sent away: what it committed goes too.
                if self._bundle.tip == self._main or attempt == _TRIES:
                    return
                continue
            if self._done.branch and (
                self._is_left or attempt >= _FOLDS or not self._is_folder(self._machines)
            ):
                return
            time.sleep(random.uniform(0, 0.05 * 2**attempt))  # noqa: S311 (jitter, not a secret)
        raise RemoteError(f"Other machines keep pushing to {self._remote.name}: try again in a moment.")

    # Pull

    def _pull(self) -> Fetched | None:
        """Bring in what a remote has; gives its refs as they are now, None where another machine was faster to fold."""
        repository, remote = self._repository, self._remote
        last = repository.refs.read(remote_ref(remote.name))
        haves = [oid for oid in (repository.tip(), last) if oid]
        with throw_away(repository, haves) as room_dir:
            self._tell(f"asking {remote.name}")
            fetched = self._transport.fetch(room_dir, remote.url, branches=remote.pulls)
            with room_dir.opened() as room:
                if self._erased and remote.pushes:
                    from gitmem.memory.sync.following import carried_over

                    fetched = carried_over(self._bundle, room_dir, room, fetched, self._branch)
                self._main, self._there = fetched.main, dict(fetched.snapshots)
                self._machines = len(fetched.branches)
                if self._done.dry_run and remote.pushes:
                    self._done.sent = len(only_in(room, self._bundle.tip, fetched.main))
                if not remote.pulls:
                    self._refuse_foreign(room)
                    return fetched
                if self._follows_erasure(room, room_dir, last, fetched):
                    return self._pull()
                if (
                    fetched.main is not None
                    and not self._knows(room, fetched)
                    and not self._take(room, room_dir, fetched)
                ):
                    return None
        if not self._done.dry_run:
            self._note_main()
        return replace(fetched, main=self._main)

    def _note_main(self) -> None:
        """Remember where the remote's `main` is."""
        refs, ref = self._repository.refs, remote_ref(self._remote.name)
        last = refs.read(ref)
        if self._main is not None and self._main != last:
            refs.set(ref, self._main, expected=last)

    def _knows(self, room: Repository, fetched: Fetched) -> bool:
        """Return whether the remote has nothing that we lack."""
        return (
            fetched.main == self._bundle.tip
            and not self._named.unknown(fetched.snapshots)
            and not fetched.unfit
            and not strangers(room, {*fetched.branches.values(), fetched.main}, fetched.main)
        )

    def _take(self, room: Repository, room_dir: ThrowAway, fetched: Fetched) -> bool:
        """Bring in what was fetched, if it is fit to; False where another machine was faster to fold it."""
        from gitmem.memory.sync.branches import look_at
        from gitmem.memory.sync.fold import arriving, folded
        from gitmem.memory.sync.inspect import Checked, check_incoming, check_snapshots
        from gitmem.memory.sync.keeping import settle

        main, tip, done, remote = fetched.main, self._bundle.tip, self._done, self._remote
        assert main is not None
        fresh = only_in(room, main, tip) if main != tip else []
        if fresh:
            self._tell(f"checking {len(fresh):,} commits")
        checked = check_incoming(room, main, fresh, tip, erased=self._erased) if fresh else Checked()
        new_snapshots = self._named.unknown(fetched.snapshots)
        check_snapshots(room, main, new_snapshots)
        branches = look_at(room, fetched, [tip], ours=self._branch, erased=self._erased)
        if remote.pushes and not done.dry_run:
            self._choose(room, main, branches)
        self._say_what_came([checked, *branches.checked], branches.notices)
        theirs = [*([main] if fresh else ()), *branches.tips]
        if done.dry_run:
            if theirs:
                wanted = folded(room, [tip, *theirs], allow_unrelated=self._allow_unrelated)
                done.came = tuple(_between(room.tree(tip), room.tree(wanted)))
            done.held = tuple(f"{flag.path}: {flag.result.explain()}" for flag in checked.flagged)
            return True
        if branches.notices:
            from gitmem.memory.sync.following import keep_only

            keep_only(room_dir, room, self._repository, {main, *theirs, *new_snapshots.values()})
        for oid in theirs:
            note_pulled(self._repository, oid, tip, done.remote)  # before any of it can be read
        take_over(room_dir, self._repository)
        self._repository.store.close()
        self._repository.store.remember_commits_of(room.store)
        if theirs and not self._is_left:
            self._tell("merging")
            onto = arriving(self._repository, theirs, done.remote, allow_unrelated=self._allow_unrelated)
            wanted, _ = onto(tip)
            is_merge = wanted not in (tip, main) and fetched.there is None
            # Pushed before it is made here: where another machine was faster, it is not made.
            if remote.pushes and is_merge and not self._send(fetched, wanted):
                return False
            settled = settle(
                self._bundle, done.remote, arriving=onto, flagged=checked.flagged, shared=remote.shared
            )
            done.held += settled.held
            done.archived += settled.archived
            done.came += settled.came
        done.snapshots += tuple(self._named.take(new_snapshots))
        return True

    def _choose(self, room: Repository, main: Oid, branches: Branches) -> None:
        """Leave the fold to another machine, where many have something to fold: each would do it all."""
        tip = self._bundle.tip
        ours = bool(only_in(room, tip, main))
        ahead = len(branches.tips) + ours
        if not self._takes_branches or not branches.tips or self._is_folder(ahead):
            return
        branches.tips.clear()
        branches.checked.clear()
        self._is_left = ours and not is_ancestor(room, main, tip)

    def _is_folder(self, machines: int) -> bool:
        """Choose whether this machine folds, of so many that could."""
        return self._folds or random.random() * machines < _FOLDERS  # noqa: S311 (a choice, no secret)

    def _say_what_came(self, checked: Iterable[Checked], notices: Iterable[Notice]) -> None:
        found = list(notices)
        for one in checked:
            found += one.notices(f", which comes from {self._done.remote},")
            self._done.checked += one.entries
            self._done.received += one.commits
        for notice in found:
            self._bundle.report(notice)

    def _refuse_foreign(self, room: Repository) -> None:
        """Refuse to push over commits that a backup has and this memory does not."""
        if self._main is None or is_ancestor(room, self._main, self._bundle.tip):
            return
        name = self._remote.name
        raise RewrittenRemote(
            f"The remote {name} holds commits that this memory does not have, and it is push-only. Nothing was sent.",
            hint=f"To take them in, run `gitmem remote add {name} URL` without --push-only and `gitmem sync`; "
            "else choose an empty repository for the backup.",
        )

    def _follows_erasure(
        self, room: Repository, room_dir: ThrowAway, last: Oid | None, fetched: Fetched
    ) -> bool:
        """Return whether something was erased on the remote, and now here too.

        A remote that was emptied or rewritten otherwise never deletes local memory.
        """
        main, name = fetched.main, self._remote.name
        if last is None or main == last or (main is not None and is_ancestor(room, last, main)):
            return False
        if main is not None:
            from gitmem.memory.sync.following import accept, new_receipts
            from gitmem.memory.sync.inspect import check_incoming

            receipts = new_receipts(self._bundle, room, main)
            if receipts and self._accepts_erasure and not self._done.dry_run:
                fresh, tip = only_in(room, main, self._bundle.tip), self._bundle.tip
                check_incoming(room, main, fresh, tip, erased=self._erased)
                accept(self._bundle, room_dir, fetched, last, receipts, leave_out=self._leaves_out)
                self._erased = erased_commits(self._bundle.state)
                return True
            if receipts:
                said = "; ".join(map(str, receipts))
                raise RewrittenRemote(
                    f"On {name} something was erased for good: {said}. Nothing was changed here.",
                    hint=f"To erase it here too run `gitmem sync {name} --accept-erasure`.",
                )
        what = "was emptied" if main is None else "was rewritten: it does not continue what was there before"
        raise RewrittenRemote(
            f"The remote {name} {what}. Nothing was changed here.",
            hint=f"To put this memory there again run `gitmem remote forget {name}` and "
            f"`gitmem sync {name}`; to leave it alone run `gitmem remote remove {name}`.",
        )

    # Push

    def _push(self, fetched: Fetched) -> bool:
        """Send what is new; False where `main` does not have it yet."""
        main = None if self._is_left else self._bundle.tip
        is_sent = self._send(fetched, main, self._named.to_send(fetched))
        if is_sent and (there := fetched.there) is not None:
            # Branches that have what was erased go, where `main` has all else that is on them.
            for name, oid in fetched.branches.items():
                old, is_own = there.branches[name], MACHINES + name == self._branch
                if oid != old and not is_own and is_ancestor(self._repository, oid, self._bundle.tip):
                    self._pushed([], [Update(MACHINES + name, None, old)])
        return is_sent

    def _send(self, fetched: Fetched, main: Oid | None, named: Sequence[Update] = ()) -> bool:
        """Move this machine's branch, `main` and snapshots by one push; False where another machine was faster with `main`.

        Each ref moves for itself: what is here is on the branch even then. Without `main` it is left to another machine.
        """
        there, tip, repository = fetched.there or fetched, self._bundle.tip, self._repository
        machine = self._branch.removeprefix(MACHINES)
        old = there.branches.get(machine)
        is_rewritten = old != fetched.branches.get(machine)  # by an erase here
        is_ours = (
            is_rewritten or old is None or (old in repository.store and is_ancestor(repository, old, tip))
        )
        is_there = old == tip  # from an earlier round
        own, known = list[Update](), [fetched.main]
        # Where it is not ours another machine wrote it, which was reported.
        if is_ours and self._takes_branches and self._remote.pulls:
            if is_rewritten or (not is_there and only_in(repository, tip, fetched.main)):
                own = [Update(self._branch, tip, old)]
            known += [] if is_rewritten else [old]
        updates = [*own, *([Update(BRANCH, main, there.main)] if main and main != there.main else ()), *named]
        moved = self._sent(own, updates, only_in(repository, main or tip, *known)) if updates else []
        is_in_main = main is not None and BRANCH not in moved
        is_on_branch = is_there or (bool(own) and self._branch not in moved)
        if is_on_branch:
            there.branches[machine] = fetched.branches[machine] = tip
        if is_in_main or is_on_branch:
            self._done.sent += len(only_in(repository, tip, *known))
        self._done.branch = f"in/{machine}" if is_on_branch and not is_in_main else ""
        for update in named:
            if update.new and update.ref not in moved:
                self._there[update.ref.removeprefix(SNAPSHOTS)] = update.new
        if is_in_main:
            self._main = main
            self._note_main()
        return is_in_main

    def _sent(self, own: list[Update], updates: list[Update], commits: list[Oid]) -> list[str]:
        """Push, if there is no secret in these commits; gives the refs that did not move."""
        from gitmem.memory.sync.outgoing import refuse_secrets

        refuse_secrets(self._bundle, commits, [update.new for update in updates if update.new])
        self._tell(f"sending {len(commits):,} commits to {self._remote.name}")
        return self._pushed(own, updates)

    def _pushed(self, own: list[Update], updates: list[Update]) -> list[str]:
        """Push; gives the refs that did not move. A remote that takes no branch of a machine gets the rest."""
        url = self._remote.url
        try:
            with throw_away(self._repository, []) as room:
                return self._transport.push(room, url, updates)
        except RefusedPush as refused:
            if not own:
                raise
            with throw_away(self._repository, []) as room:
                rest = [update for update in updates if update not in own]
                moved = self._transport.push(room, url, rest) if rest else []
            self._takes_branches = False
            self._bundle.report(Notice("branch-refused", self._remote.name, str(refused)))
            return [*moved, self._branch]


def _between(old: Tree, new: Tree) -> list[Change]:
    """Return what a tree has that another has not, entry by entry."""
    from gitmem.okf.comparison import compare

    changes = list(old.changes(new))
    return compare(
        {one.path: old.read_entry(one.old) for one in changes if one.old},
        {one.path: new.read_entry(one.new) for one in changes if one.new},
    )
