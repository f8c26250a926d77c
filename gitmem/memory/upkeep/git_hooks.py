"""Git hooks: a bundle stays a bundle when a person works on it with plain git."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gitmem.git.message import trailers_of

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.memory.bundle import Bundle

NAMES = ("pre-commit", "commit-msg", "post-commit", "post-merge", "post-checkout", "pre-push")

_NOTHING = "0" * 40
_PRIVATE = "refs/gitmem/"
_SCISSORS = re.compile(r"^. -+ >8 -+$", re.MULTILINE)


def pre_commit(bundle: Bundle, index_path: str) -> list[str]:
    """Sentences about staged files that cannot be part of a bundle."""
    from gitmem.git.index_diff import staged_files
    from gitmem.okf import admission

    changed, names = staged_files(bundle.repository, index_path)
    found: list[str] = []
    for file in changed:
        found += _problems(bundle, file.path, file.mode, file.oid, bundle.read(file.path))
    touched = {file.path for file in changed}
    for first, second in admission.collisions(names) if touched else ():
        if second in touched or any(path == first or path.startswith(first + "/") for path in touched):
            found.append(f"{second}: On a disk that ignores case it is the same as {first}: rename one.")
    return found


def commit_msg(message: str, *, kind: str, machine: str, comments: bool) -> str:
    """The message with the trailers that it lacks; what the person wrote stays as it is.

    `comments` says that git will take lines with `#` out, as it does after an editor.
    """
    text, rest = _without_comments(message) if comments else (message, "")
    text, blank = text.rstrip("\n"), text[len(text.rstrip("\n")) :]
    if not text.strip():
        return message  # git refuses an empty message, and trailers would make it one that is not
    # The first paragraph is the subject, even where it reads like a trailer.
    known = trailers_of(text) if "\n\n" in text.strip("\n") else {}
    missing = [
        f"{key}: {value}\n"
        for key, value in (("Kind", kind), ("Machine", machine))
        if value and key not in known
    ]
    if not missing:
        return message
    return text + ("\n" if known else "\n\n") + "".join(missing) + (blank[1:] if rest else "") + rest


def _without_comments(message: str) -> tuple[str, str]:
    """The message up to the comments at its end, and these."""
    cut = _SCISSORS.search(message)
    text = message[: cut.start()] if cut else message
    lines = text.splitlines(keepends=True)
    while lines and (lines[-1].startswith("#") or not lines[-1].strip()):
        lines.pop()
    text = "".join(lines)
    return text, message[len(text) :]


def pre_push(bundle: Bundle, lines: Iterable[str]) -> list[str]:
    """Sentences about what must not leave: `lines` are git's, a local and a remote ref each."""
    found: list[str] = []
    for line in lines:
        words = line.split()
        if len(words) != 4:
            continue
        local_ref, local, remote_ref, remote = words
        if local_ref.startswith(_PRIVATE) or remote_ref.startswith(_PRIVATE):
            found.append(f"{local_ref} is quarantine or other private state, which is never pushed.")
        elif local != _NOTHING:
            found += _outgoing_problems(bundle, local, remote)
    return list(dict.fromkeys(found))


def _outgoing_problems(bundle: Bundle, local: Oid, remote: Oid) -> Iterator[str]:
    from gitmem.git.tree_diff import TreeDiff
    from gitmem.git.walk import not_in

    repository = bundle.repository
    diff = TreeDiff(repository.store)
    tip, _ = repository.store.peel(local)
    known = {repository.store.peel(oid)[0] for oid in repository.refs.under("refs/remotes/").values()}
    checked: set[tuple[str, Oid]] = set()
    for commit in not_in(repository, tip, known | {remote} if remote != _NOTHING else known):
        for change in diff.of_commit(commit):
            path, old, new = change.path, change.old, change.new
            if new is not None and (path, new.oid) not in checked:
                checked.add((path, new.oid))
                before = repository.store.blob(old.oid) if old is not None else None
                yield from (
                    f"{sentence} (commit {commit.oid[:12]})"
                    for sentence in _problems(bundle, path, new.mode, new.oid, before)
                )


def _problems(bundle: Bundle, path: str, mode: int, oid: Oid, before: bytes | None) -> list[str]:
    from gitmem.git.tree import MAX_FILE_BYTES
    from gitmem.okf import admission

    data = b"" if mode == 0o160000 else bundle.repository.store.blob(oid)  # a submodule's commit is elsewhere
    reasons = admission.reasons(path, mode, data, limit=MAX_FILE_BYTES)
    return [f"{path}: {reason}" for reason in (*reasons, *_refusals(bundle, path, data, before))]


def _refusals(bundle: Bundle, path: str, data: bytes, before: bytes | None) -> Iterator[str]:
    """Why entries of a file may not enter, new ones only: a person may keep what was there."""
    from gitmem.memory.gate.admission import Admission, plain_git
    from gitmem.okf.files import open_file

    known = open_file(path, before).entries
    for key, entry in open_file(path, data).entries.items():
        if key not in known or known[key].text != entry.text:
            yield from Admission(bundle).refusals(entry.text, plain_git(path), before or b"")


def afterwards(bundle: Bundle) -> None:
    """After plain git moved the branch or the work tree: finish what was left undone, bring views up."""
    bundle.finish_pending()
    bring_up(bundle)


def merged(bundle: Bundle) -> None:
    """After `git merge` or `git pull`: what it brought came from elsewhere."""
    from gitmem.memory.gate.trust import note_pulled

    before, now = bundle.repository.refs.read("ORIG_HEAD"), bundle.repository.tip()
    if before is not None and now is not None and before != now:
        note_pulled(bundle.repository, now, before)


def bring_up(bundle: Bundle) -> None:
    """Bring the search index up to the tip, where there is one: a reader would do it anyway."""
    from gitmem.memory.find.index import Indexing

    if os.path.exists(bundle.part(Indexing).path):
        bundle.part(Indexing).current()
