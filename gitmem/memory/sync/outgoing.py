"""What is about to leave: every entry that a commit brought is searched for secrets, also one a later commit took out."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent
from gitmem.git.objects import Oid, TreeEntry
from gitmem.git.repository import Repository
from gitmem.git.tree_diff import TreeDiff
from gitmem.memory.gate.admission import secrets_in as find
from gitmem.memory.gate.trust import Provenance
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.okf.files import open_file

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


def refuse_secrets(bundle: Bundle, commits: Collection[Oid]) -> None:
    """No commit that was made here leaves with a secret in it, also one that a later commit took out.

    What came from a remote only warns: one foreign key would block every other remote.
    """
    came: set[Oid] | None = None
    for oid, path, kind in secrets_in(bundle.repository, commits):
        if came is None:
            came = Provenance(bundle.repository).came(commits)
        if oid not in came:
            place = shlex.quote(f"{oid[:8]}:{path}")
            raise InvalidContent(
                f"{path} in commit {oid[:8]} holds a secret ({kind}): nothing was sent.",
                hint=f"It must leave the history first: run `gitmem erase --secret {place}`, then sync.",
            )
        bundle.report(Notice("secret-found", f"{path} in commit {oid[:8]}", kind))


def secrets_in(repository: Repository, commits: Iterable[Oid]) -> Iterator[tuple[Oid, str, str]]:
    """Commit, path and kind of every secret in what these commits brought and none of their parents had."""
    diff = TreeDiff(repository.store)
    for oid in commits:
        commit = repository.store.commit(oid)
        parents = [repository.tree(parent) for parent in commit.parents]
        for change in diff.of_commit(commit):
            before = [parent.entry(change.path) for parent in parents]
            if change.new is not None and change.new not in before:
                for kind in _fresh_secrets(repository, change.path, before, change.new):
                    yield oid, change.path, kind


def _fresh_secrets(
    repository: Repository, path: str, before: list[TreeEntry | None], after: TreeEntry
) -> Iterator[str]:
    known: set[str] = set()
    for entry in before:
        if entry is not None and not entry.is_directory:
            known.update(_texts(path, repository.store.blob(entry.oid)))
    for text in _texts(path, repository.store.blob(after.oid)):
        if text not in known:
            yield from (secret.kind for secret in find(text)[:1])


def _texts(path: str, data: bytes) -> list[str]:
    """A file in pieces that change one by one: entries and front matter, the lines of a generated page."""
    if layout.is_generated(path):
        return data.decode("utf-8", "replace").splitlines()
    return [entry.text for entry in open_file(path, data).parts.values()]
