"""A push as the server sees it: the checks of a sync, before any ref of a shared bare repository moves."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from gitmem.errors import BundleBusy, BundleUnusable, GitMemError, UsageError
from gitmem.git.commit_graph import is_ancestor, merge_bases, only_in
from gitmem.git.git_directory import is_bare
from gitmem.git.git_settings import setting
from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.git.repository import Repository
from gitmem.git.store import ObjectStore
from gitmem.git.transport import MACHINES, Fetched, is_travelling
from gitmem.memory.erase.erased_list import erased_commits, erasures_known, note_erased
from gitmem.memory.sync.branches import look_at
from gitmem.memory.sync.fold import folded
from gitmem.memory.sync.inspect import check_incoming, check_snapshots
from gitmem.okf import layout
from gitmem.okf.receipts import Receipt, receipts_in

SERVER_HOOKS = ("pre-receive", "post-receive")
"""Hooks of a bare repository that people push to; a bundle has the others. The second one folds."""
_TRIES = 20

_NOTHING = "0" * 40
_SETTINGS = {"receive.fsckObjects": "true", "receive.maxInputSize": str(512 * 1024 * 1024)}


def received(git_dir: str, quarantine: str, lines: Iterable[str]) -> list[str]:
    """Sentences about a push that must not enter; none where it may.

    `lines` are git's (old, new, ref), `quarantine` the directory where git keeps the new objects
    until the hook has agreed.
    """
    repository = Repository("", git_dir)
    if quarantine:
        lender = repository.store
        repository.store = ObjectStore(git_dir, repository.state, objects=quarantine)
        repository.store.lender = lender
    main = repository.refs.read(BRANCH)
    snapshots: dict[str, Oid] = {}
    found: list[str] = []
    receipts: list[Receipt] = []
    erased = set(erased_commits(repository.state))
    try:
        for line in sorted(lines, key=lambda line: not line.rstrip("\n").endswith(f" {BRANCH}")):
            old, new, ref = (*line.split(" ", 2), "", "")[:3]
            ref = ref.rstrip("\n")
            try:
                if ref == BRANCH and is_travelling(ref):
                    receipts = _erasures(repository, old, new)
                    found += _main(repository, old, new, is_erasure=bool(receipts))
                    main = new
                elif ref.startswith(MACHINES) and is_travelling(ref):
                    erased.update(oid for one in receipts for oid in one.gone)
                    found += _branch(repository, main, old, new, erased)
                elif is_travelling(ref):
                    name = ref.removeprefix(SNAPSHOTS)
                    if not receipts and _NOTHING not in (old, new):
                        found.append(f"The snapshot {name!r} is there already: snapshots are never moved.")
                    if new != _NOTHING:
                        snapshots[name] = new
                else:
                    found.append(
                        f"{ref}: only main, branches of machines and named snapshots are taken here."
                    )
            except GitMemError as error:
                found.append(f"{ref}: {error}")
        if not found and snapshots:
            if main is None:
                found.append("Push main before pushing its snapshots.")
            else:
                check_snapshots(repository, main, snapshots)
        if not found:
            note_erased(repository.state, receipts)
    except GitMemError as error:
        found.append(str(error))
    finally:
        repository.store.close()
    return found


def _erasures(repository: Repository, old: Oid, new: Oid) -> list[Receipt]:
    """The receipts of a push that rewrites `main`, where the administrator has named one of them."""
    if _NOTHING in (old, new) or is_ancestor(repository, old, new):
        return []
    known = erasures_known(repository.state)
    receipts = receipts_in(repository.tree(new).read(layout.CONFIG_ERASED))
    fresh = [one for one in receipts if one.id not in known]
    return fresh if setting(repository, "gitmem.erasure") in {one.id for one in fresh} else []


def _main(repository: Repository, old: Oid, new: Oid, *, is_erasure: bool) -> list[str]:
    if new == _NOTHING:
        return ["main cannot be deleted: the memory of all who sync with this remote is there."]
    known = None if old == _NOTHING else old
    if known is not None and not is_erasure and not is_ancestor(repository, known, new):
        receipts = receipts_in(repository.tree(new).read(layout.CONFIG_ERASED))
        hint = (
            " If something was erased, the administrator of this server allows that by `git config gitmem.erasure "
            f"{receipts[-1].id}` in the repository."
            if receipts
            else ""
        )
        return [f"main cannot be rewritten: sync first, then push.{hint}"]
    if layout.CONFIG_AGENT not in repository.tree(new):
        return [f"This is not a bundle: it has no {layout.CONFIG_AGENT}."]
    return _unfit(repository, known, new)


def _branch(repository: Repository, main: Oid | None, old: Oid, new: Oid, erased: set[Oid]) -> list[str]:
    """Check what a machine sends for the next fold as it would be checked as `main`."""
    if main is None:
        return ["Push main before the branch of a machine."]
    goes_on = old == _NOTHING or (new != _NOTHING and is_ancestor(repository, old, new))
    left = [] if goes_on else only_in(repository, old, main)
    if left and erased.isdisjoint(left):
        return ["The branch of a machine is neither deleted nor rewritten before main has what is on it."]
    if new == _NOTHING:
        return []
    bases = merge_bases(repository, main, new)
    if not bases:
        return ["It is of another memory: it has no commit in common with main."]
    return _unfit(repository, bases[0], new)


def _unfit(repository: Repository, known: Oid | None, new: Oid) -> list[str]:
    gone = _retractions(repository, known) - _retractions(repository, new)
    if gone:
        return [f"{min(gone)}: what was taken back must not come back. Restore the file, then push."]
    fresh, erased = only_in(repository, new, known), erased_commits(repository.state)
    checked = check_incoming(repository, new, fresh, known, erased=erased)
    held = [f"{flag.path}: the scanner blocks an entry: {flag.result.explain()}" for flag in checked.flagged]
    return held + [f"{path} seems to hold a secret ({kind})." for path, kind in checked.secrets]


@dataclass(frozen=True, slots=True)
class Folded:
    """Result of a fold on the server."""

    main: Oid
    branches: int
    """Branches that `main` has now and had not before."""
    left_out: tuple[str, ...] = ()
    """Sentences about branches that wait."""


def fold_here(git_dir: str) -> Folded:
    """Fold the branches of machines into `main` of a bare repository; killed at any moment, `main` is before or after."""
    repository = Repository("", git_dir)
    try:
        for _ in range(_TRIES):
            refs = repository.refs
            main = refs.read(BRANCH)
            branches = {ref: oid for ref, oid in refs.under(MACHINES).items() if is_travelling(ref)}
            if main is None or not branches:
                return Folded(main or "", 0)
            erased = erased_commits(repository.state)
            found = look_at(repository, Fetched.of({BRANCH: main, **branches}), (), erased=erased)
            wanted = folded(repository, [main, *found.tips])
            if wanted == main or refs.set(BRANCH, wanted, expected=main):
                return Folded(wanted, len(found.tips), tuple(map(str, found.notices)))
        raise BundleBusy("Machines keep pushing to main: try again in a moment.")
    finally:
        repository.store.close()


def _retractions(repository: Repository, commit: Oid | None) -> set[str]:
    return {path for path, _ in repository.tree(commit).files("retractions")}


def guard(path: str, *, python: str) -> str:
    """Put the hook into a bare repository, with the settings it goes with; gives the path of the hook."""
    from gitmem.git import hook_scripts
    from gitmem.git.git_settings import set_values

    if not is_bare(path):
        raise UsageError(
            f"{path} is not a bare git repository.", hint="Make one with `git init --bare -b main`."
        )
    target = os.path.join(path, "hooks", SERVER_HOOKS[0])
    if SERVER_HOOKS[0] in hook_scripts.put(path, SERVER_HOOKS, python=python):
        how = "Add a line `gitmem hook pre-receive || exit` to it."
        raise BundleUnusable(f"{target} is somebody else's.", hint=how)
    set_values(Repository("", path), _SETTINGS)
    return target
