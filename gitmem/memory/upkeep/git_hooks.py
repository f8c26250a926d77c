"""Git hooks: a bundle stays a bundle when a person works on it with plain git."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gitmem.errors import BundleUnusable, InvalidContent, RefusedFetch
from gitmem.git import git_program
from gitmem.git.objects import MAX_COMMIT_BYTES
from gitmem.memory.erase.erased_list import erased_commits
from gitmem.memory.gate.admission import redacted

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.git.repository import Repository
    from gitmem.memory.bundle import Bundle

NAMES = ("pre-commit", "commit-msg", "reference-transaction", "post-merge", "pre-push")

PLAIN_PULL = "git pull"
"""What stands for the remote where plain git brought something."""
_NOTHING = "0" * 40
_PRIVATE = "refs/gitmem/"
_TO_MERGE = re.compile(r"GITHEAD_([0-9a-f]{40})")


def pre_commit(bundle: Bundle, index_path: str) -> list[str]:
    """Sentences about staged files that cannot be part of a bundle."""
    from gitmem.git.worktree_status import staged_files
    from gitmem.okf import validate

    changed, names = staged_files(bundle.repository, index_path)
    found: list[str] = []
    for path, entry in changed.items():
        found += _problems(bundle, path, entry.mode, entry.oid, bundle.read(path))
    for first, second in validate.collisions(names) if changed else ():
        if second in changed or any(path == first or path.startswith(first + "/") for path in changed):
            found.append(f"{second}: On a disk that ignores case it is the same as {first}: rename one.")
    return found


def commit_msg(bundle: Bundle, path: str) -> None:
    """Redact the secrets in a message, and add the trailers that it lacks: git knows where they go."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        message = file.read(MAX_COMMIT_BYTES)
    if len(message) == MAX_COMMIT_BYTES:
        raise InvalidContent(f"The message is too long: at most {MAX_COMMIT_BYTES >> 20} MB.")
    clean = redacted(message)
    if clean != message:
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(clean)
    if not any(line.strip() and not line.startswith("#") for line in clean.splitlines()):
        return  # git refuses an empty message, and trailers would make it one that is not
    is_merge = os.path.exists(bundle.repository.refs.path("MERGE_HEAD"))
    trailers = {"Kind": "merge" if is_merge else "edit", "Machine": bundle.config.machine}
    added = (f"--trailer={key}: {value}" for key, value in trailers.items() if value)
    _git(bundle, "interpret-trailers", "--in-place", "--if-exists=doNothing", *added, path)


def _git(bundle: Bundle, *arguments: str) -> bool:
    """Run git, and return whether it succeeded."""
    command = git_program.command(*arguments)
    environment = git_program.environment(bundle.world.env)
    return subprocess.run(command, capture_output=True, env=environment, check=False).returncode == 0


def pre_push(bundle: Bundle, lines: Iterable[str], to: str = "") -> list[str]:
    """Sentences about what must not leave: `lines` are git's, a local and a remote ref each, `to` the remote's name."""
    found: list[str] = []
    for line in lines:
        words = line.split()
        if len(words) != 4:
            continue
        local_ref, local, remote_ref, remote = words
        if local_ref.startswith(_PRIVATE) or remote_ref.startswith(_PRIVATE):
            found.append(f"{local_ref} is private state, which is never pushed.")
        elif local != _NOTHING:
            found += _outgoing_problems(bundle, local, remote, to)
    return list(dict.fromkeys(found))


def _outgoing_problems(bundle: Bundle, local: Oid, remote: Oid, to: str) -> Iterator[str]:
    from gitmem.git.commit_graph import only_in
    from gitmem.git.tree import TreeDiff
    from gitmem.memory.provenance import Provenance
    from gitmem.memory.sync.outgoing import secrets_in, secrets_in_tag

    repository = bundle.repository
    diff = TreeDiff(repository.store)
    tip, _ = repository.store.peel(local)
    seen = repository.refs.under("refs/remotes/").items()
    known = {
        repository.store.peel(oid)[0] for ref, oid in seen if to and ref.startswith(f"refs/remotes/{to}/")
    }
    checked: set[tuple[str, Oid]] = set()
    known |= {remote} if remote in repository.store else set()
    fresh = only_in(repository, tip, *known)
    told: set[str] = set()
    erased = erased_commits(bundle.state)
    for oid in fresh:
        if oid in erased:
            yield f"The commit {oid[:12]} was {erased[oid]}, and {local[:12]} has it in its history."
    for kind in secrets_in_tag(repository, local):
        yield f"What the tag {local[:12]} says holds a secret ({kind})."
    came = Provenance(repository).came(fresh)
    for commit in (repository.store.commit(oid) for oid in fresh if oid not in came):
        for change in diff.of_commit(commit):
            path, old, new = change.path, change.old, change.new
            if new is not None and (path, new.oid) not in checked:
                checked.add((path, new.oid))
                before = repository.store.blob(old.oid) if old is not None else None
                for sentence in _problems(bundle, path, new.mode, new.oid, before):
                    told.add(path)
                    yield f"{sentence} (commit {commit.oid[:12]})"
    for oid, place, kind in secrets_in(repository, [oid for oid in fresh if oid not in came]):
        if place not in told:
            yield f"{place} holds a secret ({kind}) (commit {oid[:12]})"


def _problems(bundle: Bundle, path: str, mode: int, oid: Oid, before: bytes | None) -> list[str]:
    from gitmem.git.tree import MAX_FILE_BYTES
    from gitmem.okf import validate

    data = b"" if mode == 0o160000 else bundle.repository.store.blob(oid)  # a submodule's commit is elsewhere
    reasons = validate.reasons(path, mode, data, limit=MAX_FILE_BYTES)
    return [f"{path}: {reason}" for reason in (*reasons, *_refusals(bundle, path, data, before))]


def _refusals(bundle: Bundle, path: str, data: bytes, before: bytes | None) -> Iterator[str]:
    """Why entries of a file may not enter, new ones only: a person may keep what was there."""
    from gitmem.memory.gate.admission import Admission, plain_git
    from gitmem.okf.files import open_file

    known = open_file(path, before).entries
    for key, entry in open_file(path, data).entries.items():
        if key not in known or known[key].text != entry.text:
            yield from Admission(bundle).refusals(entry.text, plain_git(path), before or b"", path)


def merging(bundle: Bundle) -> None:
    """Before `git merge` or `git pull` touches a file: what a sync would refuse is refused.

    Any other hook runs when the files are written, and small objects can stand for so many that memory or disk runs full.
    """
    from gitmem.git.commit_graph import only_in
    from gitmem.git.refs import BRANCH
    from gitmem.memory.sync.inspect import check_incoming

    repository, before = bundle.repository, bundle.repository.tip()
    if before is None or repository.refs.head() != BRANCH:
        return
    erased = erased_commits(bundle.state)
    for theirs in (found[1] for name in bundle.world.env if (found := _TO_MERGE.fullmatch(name))):
        fresh = only_in(repository, theirs, before)
        try:
            if fresh:
                check_incoming(repository, theirs, fresh, before, erased=erased)
        except RefusedFetch as refused:
            raise RefusedFetch(f"{refused} Nothing was merged.", hint=refused.hint) from refused


def merged(bundle: Bundle, before: Oid | None) -> None:
    """After `git merge` or `git pull`: what it brought is checked as a sync would, and taken back where that refuses."""
    from gitmem.git.commit_graph import is_ancestor, only_in
    from gitmem.memory.provenance import note_pulled
    from gitmem.memory.sync.inspect import check_incoming
    from gitmem.memory.sync.keeping import settle

    repository, now = bundle.repository, bundle.repository.tip()
    if before is None or now is None or before == now or not is_ancestor(repository, before, now):
        return
    _end_merge(repository, now)
    note_pulled(repository, now, before, PLAIN_PULL)
    fresh = only_in(repository, now, before)
    try:
        erased = erased_commits(bundle.state)
        checked = check_incoming(repository, now, fresh, before, erased=erased)
    except RefusedFetch as refused:
        _take_back(bundle, before)
        raise RefusedFetch(f"{refused} What git brought was taken back.") from refused
    settle(bundle, PLAIN_PULL, before=before, flagged=checked.flagged)


def _end_merge(repository: Repository, tip: Oid) -> None:
    """Git calls the hook when the merge is committed, and takes its notes away only then: nothing could be committed."""
    if repository.refs.read("MERGE_HEAD") in repository.store.commit(tip).parents:
        for name in ("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(repository.refs.path(name))


def _take_back(bundle: Bundle, before: Oid) -> None:
    """`main` and the work tree as they were; what a person has edited there stays."""
    if not _git(bundle, "-C", bundle.root, "reset", "--quiet", "--keep", before):
        raise BundleUnusable(
            "What git brought must not enter a bundle, and could not be taken back.",
            hint=f"Run `git reset --keep {before}`.",
        )
