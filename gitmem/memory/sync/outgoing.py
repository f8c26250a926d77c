"""Search for secrets in what is about to leave: messages, names and every file, also what a later commit removed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent
from gitmem.git.commit_graph import only_in
from gitmem.git.objects import Commit, Oid, TreeEntry
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.git.repository import Repository
from gitmem.git.tree import TreeDiff
from gitmem.memory.gate.admission import secrets_in as find
from gitmem.memory.provenance import Provenance
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.okf.files import open_file

_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
_QUOTED = "> "

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


def refuse_secrets(bundle: Bundle, commits: Collection[Oid], refs: Iterable[Oid] = ()) -> None:
    """No commit that was made here leaves with a secret in it, also one that a later commit took out.

    What came from a remote only warns: one foreign key would block every other remote.
    """
    came: set[Oid] | None = None
    repository = bundle.repository
    for oid, path, kind in secrets_in(repository, commits):
        if came is None:
            came = Provenance(repository).came(commits)
        if oid not in came:
            named = repository.tree(oid).entry(path) is not None
            which = f"--secret {shlex.quote(f'{oid[:8]}:{path}')}" if named else "--text -"
            raise InvalidContent(
                f"{path} in commit {oid[:8]} holds a secret ({kind}): nothing was sent.",
                hint=f"It must leave the history first: run `gitmem erase {which}`, then sync.",
            )
        bundle.report(Notice("secret-found", f"{path} in commit {oid[:8]}", kind))
    for oid in refs:
        for kind in secrets_in_tag(repository, oid):
            raise InvalidContent(
                f"What a snapshot says holds a secret ({kind}, {oid[:8]}): nothing was sent.",
                hint="Delete it with `gitmem snapshot --delete`, and make it again without.",
            )


def write_file(bundle: Bundle, path: str) -> int:
    """Write `main` and named snapshots into a file that plain git can also read; gives the commits in it.

    A file leaves this machine as a push does: not with a secret that was committed here.
    """
    from gitmem.git.transport import write_bundle_file
    from gitmem.memory.snapshots import Snapshots

    refs = {"HEAD": bundle.tip, BRANCH: bundle.tip}  # without HEAD `git clone` checks out nothing
    for snapshot in bundle.part(Snapshots).all(automatic=False):
        oid = bundle.repository.refs.read(SNAPSHOTS + snapshot.name)
        if oid:
            refs[SNAPSHOTS + snapshot.name] = oid
    refuse_secrets(bundle, only_in(bundle.repository, bundle.tip), refs.values())
    return write_bundle_file(bundle.repository, path, refs)


def secrets_in(repository: Repository, commits: Iterable[Oid]) -> Iterator[tuple[Oid, str, str]]:
    """Commit, place and kind of every secret in what these commits say, and in what they brought and no parent had."""
    diff = TreeDiff(repository.store)
    clean: set[Oid | str] = set()  # files and pieces of text without a secret: versions share most of them
    for oid in commits:
        commit = repository.store.commit(oid)
        for kind in _kinds(_head(commit)):
            yield oid, "The message", kind
        parents = [repository.tree(parent) for parent in commit.parents]
        for change in diff.of_commit(commit):
            before = [parent.entry(change.path) for parent in parents]
            if change.new is not None and change.new not in before:
                if not any(before):
                    for kind in _kinds(change.path):
                        yield oid, "The name of a file", kind
                for kind in _fresh_secrets(repository, change.path, before, change.new, clean):
                    yield oid, change.path, kind


def secrets_in_tag(repository: Repository, oid: Oid) -> list[str]:
    """The kinds of secret in what an annotated tag says."""
    kind, content = repository.store.read(oid)
    return list(_kinds(content.decode("utf-8", "replace"))) if kind == b"tag" else []


def _head(commit: Commit) -> str:
    people = (commit.author, commit.committer)
    return "\n".join([commit.message, *(text for person in people for text in (person.name, person.email))])


def _kinds(text: str) -> Iterator[str]:
    """The kind of the first secret: one is enough to stay."""
    return (secret.kind for secret in find(text)[:1])


def _fresh_secrets(
    repository: Repository,
    path: str,
    before: list[TreeEntry | None],
    after: TreeEntry,
    clean: set[Oid | str],
) -> list[str]:
    """The kinds of secret in the pieces of a file that no version before it had."""
    if after.oid in clean:
        return []
    found: list[tuple[str, str]] = []
    for text in _texts(path, repository.store.blob(after.oid)):
        if text not in clean:
            kinds = list(_kinds(text))
            found += [(text, kind) for kind in kinds]
            if not kinds:
                clean.add(text)
    if not found:
        clean.add(after.oid)
        return []
    files = [entry.oid for entry in before if entry is not None and not entry.is_directory]
    known = {text for oid in files for text in _texts(path, repository.store.blob(oid))}
    return [kind for text, kind in found if text not in known]


def _texts(path: str, data: bytes) -> list[str]:
    """A file in pieces that change one by one: entries and front matter, then the lines that are in none of them."""
    text = data.decode("utf-8", "replace")
    if "\0" in text:  # of two bytes a letter, or not a text
        return [text.replace("\0", ""), *_NO_TEXT.sub("\n", text).splitlines()]
    lines = text.splitlines()
    if layout.is_generated(path):
        return lines
    pieces = [entry.text for entry in open_file(path, data).parts.values()]
    covered = {line.strip() for piece in pieces for line in piece.splitlines()}
    return [*pieces, *(line for line in lines if line.removeprefix(_QUOTED).strip() not in covered)]
