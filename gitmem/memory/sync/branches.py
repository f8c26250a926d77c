"""Branches of machines on a remote: looked at one by one, so that a bad one keeps no other from being folded."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType

from gitmem.errors import GitMemError, RefusedFetch
from gitmem.git.commit_graph import merge_bases, only_in, strangers
from gitmem.git.message import trailers_of
from gitmem.git.objects import Oid
from gitmem.git.repository import Repository
from gitmem.git.transport import MACHINES, Fetched
from gitmem.memory.sync.inspect import PATIENCE, Checked, check_incoming
from gitmem.notices import Notice
from gitmem.okf import paths
from gitmem.okf.plain import plain

_MOST = 1000
"""Branches with something new that one sync looks at: the rest waits for the next."""


@dataclass(slots=True)
class Branches:
    """Branches of a remote that can be folded, and notices about the others, of which nothing may enter."""

    tips: list[Oid] = field(default_factory=list)
    checked: list[Checked] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


def look_at(
    room: Repository,
    fetched: Fetched,
    known: Iterable[Oid],
    *,
    ours: str = "",
    erased: Mapping[Oid, str] = MappingProxyType({}),
) -> Branches:
    """Look at each branch that brings something to `main` and to what is `known`, as a sync looks at `main`.

    `ours` is this machine's own branch: it holds what was sent from here and nothing else, or somebody wrote it who is not
    this machine.
    """
    main = fetched.main
    found = Branches()
    assert main is not None
    seen = [main, *known]
    for name, complaint in fetched.unfit.items():
        found.notices.append(Notice("branch-waits", f"in/{name}", complaint))
    until = time.process_time() + PATIENCE
    ahead = strangers(room, fetched.branches.values(), main) if fetched.branches else set()
    listed = sorted((name, oid) for name, oid in fetched.branches.items() if oid in ahead)
    for name, oid in islice(listed, _MOST):
        try:
            fresh = only_in(room, oid, *seen)
            if not fresh:
                continue
            if MACHINES + name == ours:
                raise RefusedFetch(
                    "it has commits that this machine did not send. If two machines have this name, give one of them "
                    "another: `gitmem config machine NAME`."
                )
            if others := _others(room, fresh, name):
                raise RefusedFetch(
                    f"its commits name another machine: {', '.join(sorted(others))}. Each machine writes its own branch "
                    "only."
                )
            bases = merge_bases(room, oid, main)
            if not bases:
                raise RefusedFetch("it is of another memory: it has no commit in common with main.")
            left = until - time.process_time()
            checked = check_incoming(room, oid, fresh, bases[0], patience=left, erased=erased)
            for flag in checked.flagged:  # a guarded server would refuse `main` with it, for everybody
                raise RefusedFetch(f"the scanner blocks an entry of {flag.path}: {flag.result.explain()}.")
        except GitMemError as refused:
            found.notices.append(Notice("branch-waits", f"in/{name}", str(refused)))
            continue
        found.tips.append(oid)
        found.checked.append(checked)
        seen.append(oid)
    return found


def _others(room: Repository, commits: Iterable[Oid], name: str) -> set[str]:
    """The machines other than that of a branch which its commits name; a fold names none."""
    claims = (trailers_of(room.store.commit(oid).message).get("Machine", ()) for oid in commits)
    return {plain(machine) for named in claims for machine in named if paths.slug(machine) != name}
