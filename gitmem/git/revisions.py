"""Names of revisions: commits, tags, branches, `HEAD~3`, dates and `session:<id>`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from itertools import islice

from gitmem.errors import UnknownRevision
from gitmem.git.commit_graph import first_parents
from gitmem.git.message import trailer_value, trailers_of
from gitmem.git.objects import Oid
from gitmem.git.refs import AUTOMATIC, SNAPSHOTS, snapshot_name, snapshot_ref
from gitmem.git.repository import Repository
from gitmem.okf.timestamps import of_seconds

_HEX = re.compile(r"[0-9a-f]{4,40}")
_STEPS = re.compile(r"(.+)~(\d{0,9})")
_LONGEST = 1000


def resolve(repository: Repository, name: str, *, now: datetime) -> Oid:
    """The commit that a name stands for. `now` carries the time zone in which dates are meant."""
    name = name.strip()
    if len(name) > _LONGEST:
        raise UnknownRevision(f"Nothing here is called {name[:40]!r}…: it is too long for a name.")
    tip = repository.tip()
    if tip is None:
        raise UnknownRevision("This bundle has no commits yet.", hint="Run `gitmem init`.")
    if name.startswith("session:"):
        return before_session(repository, name.removeprefix("session:"))
    found = _plain(repository, name, tip)
    if found is None and (match := _STEPS.fullmatch(name)):
        start = _plain(repository, match[1], tip)
        steps = int(match[2] or 1)
        back = islice(first_parents(repository, start), steps, None) if start else iter(())
        found = next((commit.oid for commit in back), None)
        if start and found is None:
            raise UnknownRevision(f"{name!r} goes back further than the history does.")
    is_id = found is not None and _HEX.fullmatch(name) and _by_name(repository, name, tip) is None
    if found is not None and not is_id:
        return found
    from gitmem import dates

    when = dates.span(name, now=now)
    if found is not None and when is not None:
        raise UnknownRevision(
            f"{name!r} is a date, and begins the id of a commit too.",
            hint=f"Give more of it: {found[:12]}, or write the date in another way.",
        )
    if when is not None:
        found = at_date(repository, when.end)
    if found is None:
        raise _unknown(repository, name)
    return found


def before_session(repository: Repository, session: str) -> Oid:
    """The state just before a session's first commit."""
    earliest = None
    wanted = trailer_value(session)
    known: dict[str, None] = {}
    for commit in first_parents(repository, repository.tip() or ""):
        for found in trailers_of(commit.message).get("Session", ()):
            known[found] = None
            if found == wanted:
                earliest = commit
    if earliest is None:
        hint = did_you_mean(session, known, "List them with `gitmem log`.")
        raise UnknownRevision(f"No commit belongs to a session {session!r}.", hint=hint)
    if not earliest.parents:
        raise UnknownRevision(f"The session {session!r} began with the bundle itself: nothing is before it.")
    return earliest.parents[0]


def at_date(repository: Repository, moment: datetime) -> Oid:
    """Return the tip of `main` at a moment; before the bundle existed, the import of that time."""
    limit = moment.timestamp()
    oldest = imported = None
    for commit in first_parents(repository, repository.tip() or ""):
        if commit.committer.time <= limit:
            return commit.oid
        if imported is None and commit.made <= limit:
            imported = commit.oid
        oldest = commit
    if imported is not None:
        return imported
    assert oldest is not None
    begins = of_seconds(oldest.committer.time).astimezone(moment.tzinfo)
    raise UnknownRevision(f"The history begins on {begins:%Y-%m-%d %H:%M}, after the date you gave.")


def _plain(repository: Repository, name: str, tip: Oid) -> Oid | None:
    found = _by_name(repository, name, tip)
    return _by_prefix(repository, name) if found is None and _HEX.fullmatch(name) else found


def _by_name(repository: Repository, name: str, tip: Oid) -> Oid | None:
    if name in ("HEAD", "main", "@"):
        return tip
    for full in (name, snapshot_ref(name), f"refs/tags/{name}", f"refs/heads/{name}", f"refs/{name}"):
        if not full.startswith("refs/") or ".." in full:
            continue
        oid = repository.refs.read(full)
        if oid is not None:
            return repository.store.peel(oid)[0]
    return None


def _by_prefix(repository: Repository, prefix: str) -> Oid | None:
    store = repository.store
    commits = [oid for oid in sorted(store.with_prefix(prefix)) if store.read(oid)[0] == b"commit"]
    if len(commits) > 1:
        some = ", ".join(oid[:12] for oid in commits[:4])
        raise UnknownRevision(f"{prefix!r} is ambiguous: it begins {len(commits)} commits ({some}).")
    return commits[0] if commits else None


def _unknown(repository: Repository, name: str) -> UnknownRevision:
    from gitmem import dates

    refs = repository.refs.under(SNAPSHOTS) | repository.refs.under(AUTOMATIC)
    snapshots = [snapshot_name(ref) for ref in refs]
    return UnknownRevision(
        f"Nothing here is called {name!r}: give a commit, a snapshot, a date or `session:<id>`.",
        hint=did_you_mean(name.removeprefix("snapshot/"), snapshots, f"Dates: {dates.UNDERSTOOD}."),
    )


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A hint: the names that may be meant, or another one where none is near."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.4)
    return f"Did you mean {', '.join(near)}?" if near else otherwise
