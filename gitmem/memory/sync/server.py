"""A push as the server sees it: the checks of a sync, before any ref of a shared bare repository moves."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gitmem.errors import BundleUnusable, GitMemError, UsageError
from gitmem.git.commit_graph import is_ancestor, only_in
from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.git.repository import Repository
from gitmem.git.store import ObjectStore
from gitmem.git.transport import is_travelling
from gitmem.memory.sync.inspect import check_incoming, check_snapshots
from gitmem.okf import layout

SERVER_HOOKS = ("pre-receive",)
"""Hooks of a bare repository that people push to; a bundle has the others."""

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
    is_erasure = False
    try:
        for line in sorted(lines, key=lambda line: not line.rstrip("\n").endswith(f" {BRANCH}")):
            old, new, ref = (*line.split(" ", 2), "", "")[:3]
            ref = ref.rstrip("\n")
            try:
                if ref == BRANCH and is_travelling(ref):
                    is_erasure = _is_erasure(repository, old, new)
                    found += _main(repository, old, new, is_erasure=is_erasure)
                    main = new
                elif is_travelling(ref):
                    found += [] if is_erasure else _snapshot(ref, old, new)
                    if new != _NOTHING:
                        snapshots[ref.removeprefix(SNAPSHOTS)] = new
                else:
                    found.append(f"{ref}: only main and named snapshots are taken here.")
            except GitMemError as error:
                found.append(f"{ref}: {error}")
        if not found and snapshots:
            if main is None:
                found.append("Push main before pushing its snapshots.")
            else:
                check_snapshots(repository, main, snapshots)
    except GitMemError as error:
        found.append(str(error))
    finally:
        repository.store.close()
    return found


def _is_erasure(repository: Repository, old: Oid, new: Oid) -> bool:
    """Whether a push rewrites `main`, and its receipts explain all of that."""
    if _NOTHING in (old, new) or is_ancestor(repository, old, new):
        return False
    from gitmem.memory.erase.following import explains, new_receipts

    return explains(repository, new_receipts(repository, new, old), old, new)


def _main(repository: Repository, old: Oid, new: Oid, *, is_erasure: bool) -> list[str]:
    if new == _NOTHING:
        return ["main cannot be deleted: the memory of all who sync with this remote is there."]
    known = None if old == _NOTHING else old
    if known is not None and not is_erasure and not is_ancestor(repository, known, new):
        return ["main cannot be rewritten: sync first, then push."]
    if layout.CONFIG_AGENT not in repository.tree(new):
        return [f"This is not a bundle: it has no {layout.CONFIG_AGENT}."]
    gone = _retractions(repository, known) - _retractions(repository, new)
    if gone:
        return [f"{min(gone)}: what was taken back must not come back. Restore the file, then push."]
    checked = check_incoming(repository, new, only_in(repository, new, known), known)
    held = [f"{flag.path}: the scanner blocks an entry: {flag.result.explain()}" for flag in checked.flagged]
    return held + [f"{path} seems to hold a secret ({kind})." for path, kind in checked.secrets]


def _retractions(repository: Repository, commit: Oid | None) -> set[str]:
    return {path for path, _ in repository.tree(commit).files("retractions")}


def _snapshot(ref: str, old: Oid, new: Oid) -> list[str]:
    if _NOTHING not in (old, new):
        return [f"The snapshot {ref.removeprefix(SNAPSHOTS)!r} is there already: snapshots are never moved."]
    return []


def guard(path: str, *, python: str) -> str:
    """Put the hook into a bare repository, with the settings it goes with; gives the path of the hook."""
    from gitmem.git import hook_scripts
    from gitmem.git.git_config import UnsafeSetting, make_safe

    if not os.path.isfile(os.path.join(path, "HEAD")) or not os.path.isdir(os.path.join(path, "objects")):
        raise UsageError(
            f"{path} is not a bare git repository.", hint="Make one with `git init --bare -b main`."
        )
    target = os.path.join(path, "hooks", SERVER_HOOKS[0])
    if hook_scripts.put(path, SERVER_HOOKS, python=python):
        how = "Add a line `gitmem hook pre-receive || exit` to it."
        raise BundleUnusable(f"{target} is somebody else's.", hint=how)
    make_safe(Repository("", path), [UnsafeSetting(key, "", value, "") for key, value in _SETTINGS.items()])
    return target
