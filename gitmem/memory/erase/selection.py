"""The subject of an erase: a text, the secrets in a file, an entry, a path or a session, found in the history."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from gitmem.errors import GitMemError, UnknownRevision, UsageError
from gitmem.git.message import trailers_of
from gitmem.git.objects import Oid
from gitmem.git.repository import Repository
from gitmem.git.rewrite import files_of
from gitmem.git.tree import TreeDiff
from gitmem.memory.gate.admission import secrets_in
from gitmem.okf.files import open_file
from gitmem.okf.paths import safe_name
from gitmem.okf.receipts import What
from gitmem.okf.scrub import Scrub, worth_blanking
from gitmem.okf.text_pattern import TextPattern, words_of

SHORTEST = 4
_ENTRY = re.compile(r"[0-9a-f]{8,32}")
_EVENT = re.compile(r"[0-9a-f]{32}-\d+")
_MOST_QUOTED = 200


@dataclass(frozen=True, slots=True)
class EraseRequest:
    """A person's request to erase."""

    what: What
    name: str
    """The text, `COMMIT:PATH`, the id of an entry or session, or the path."""


def choose(
    repository: Repository, roots: list[Oid], asked: EraseRequest, *, now: datetime | None = None
) -> Scrub:
    """Make the rules for what was asked; raises where it can be nothing that is erased. `now` is for names of commits."""
    if asked.what == "text":
        return Scrub(TextPattern([_checked(asked.name)]))
    if asked.what == "regex":
        return Scrub(TextPattern((), asked.name))
    if asked.what == "secret":
        return Scrub(TextPattern(_secrets(repository, asked.name, now)))
    if asked.what == "person":
        return _person(repository, roots, asked)
    if asked.what == "entry":
        return _entry(repository, roots, asked)
    if asked.what == "path":
        return _path(repository, roots, asked)
    return _session(repository, roots, asked)


def _checked(text: str) -> str:
    text = text.strip()
    if len(text) < SHORTEST or not words_of(text):
        raise UsageError(f"A text to erase has at least {SHORTEST} characters, and a word among them.")
    return text


def _secrets(repository: Repository, name: str, now: datetime | None) -> list[str]:
    """The secrets that a file holds in a commit, as a refused sync names both."""
    from gitmem.git.revisions import resolve

    commit, _, path = name.partition(":")
    if not path or now is None:
        raise UsageError("Say `--secret COMMIT:PATH`, as the refused sync does.")
    data = repository.tree(resolve(repository, commit, now=now)).read(path)
    if data is None:
        raise UnknownRevision(f"There is no {path} in {commit}.")
    text = data.decode("utf-8", "replace")
    found = [text[secret.start : secret.end].strip() for secret in secrets_in(text)]
    found = [one for one in dict.fromkeys(found) if len(one) >= SHORTEST and words_of(one)]
    if not found:
        raise UnknownRevision(f"{path} in {commit} holds no secret that gitmem knows.")
    return found


def _entry(repository: Repository, roots: list[Oid], asked: EraseRequest) -> Scrub:
    if not (_ENTRY.fullmatch(asked.name) or _EVENT.fullmatch(asked.name)):
        raise UsageError(
            f"{asked.name[:64]!r} is not the id of an entry: `gitmem search --json` and `gitmem blame --json` show it."
        )
    found: dict[str, str] = {}
    events: dict[str, list[str]] = {}
    for path, data in _read(repository, files_of(repository.store, roots)):
        if asked.name.encode() not in data:
            continue
        for key, entry in open_file(path, data).entries.items():
            if key.space == "§" and key.id.startswith(asked.name):
                found[key.id] = entry.text
            elif key.space == "event" and key.id == asked.name:
                events[key.id] = [value for value in entry.extra.values() if isinstance(value, str)]
    if len(found) + len(events) > 1:
        raise UsageError(f"{len(found)} entries begin with {asked.name!r}: give more digits.")
    texts = [*found.values(), *(text for several in events.values() for text in several)]
    return Scrub(
        TextPattern(worth_blanking(texts)),
        _quoted(texts),
        entries=frozenset(found),
        events=frozenset(events),
    )


def _path(repository: Repository, roots: list[Oid], asked: EraseRequest) -> Scrub:
    if asked.name in ("", "index.md", "log.md", "config", "config/agent.md", "config/erased.md"):
        raise UsageError(f"{asked.name or 'All of it'} cannot be erased: without it this is not a bundle.")
    inside = (
        (path, oid)
        for path, oid in files_of(repository.store, roots)
        if path == asked.name or path.startswith(f"{asked.name}/")
    )
    texts: list[str] = []
    events: set[str] = set()
    for path, data in _read(repository, inside):
        for key, entry in open_file(path, data).entries.items():
            texts.append(entry.text)
            if key.space == "event":
                events.add(key.id)
    return Scrub(TextPattern(()), _quoted(texts), paths=frozenset((asked.name,)), events=frozenset(events))


def _session(repository: Repository, roots: list[Oid], asked: EraseRequest) -> Scrub:
    name = safe_name(asked.name)
    place = re.compile(rf"(sessions/[^/]+/[^/]+/{re.escape(name)})(?:\.md|/.*)")
    gone: set[str] = set()
    events: set[str] = set()
    inside: list[tuple[str, Oid]] = []
    for path, oid in files_of(repository.store, roots):
        if found := place.fullmatch(path):
            gone |= {found[1], f"{found[1]}.md"}
            inside.append((path, oid))
    for path, data in _read(repository, inside):
        events |= {key.id for key in open_file(path, data).entries if key.space == "event"}
    written = dict(_written_by(repository, roots, asked.name))
    return Scrub(
        TextPattern(worth_blanking(written.values())),
        _quoted(written.values()),
        paths=frozenset(gone),
        entries=frozenset(written),
        events=frozenset(events),
        session=asked.name,
    )


def _person(repository: Repository, roots: list[Oid], asked: EraseRequest) -> Scrub:
    """Take entries, events and pages whole that name somebody; elsewhere the names are blanked."""
    pattern = TextPattern(_checked(name) for name in asked.name.split(","))
    found: dict[str, set[str]] = {"§": set(), "event": set()}
    paths: set[str] = set()
    for path, data in _read(repository, files_of(repository.store, roots)):
        if not pattern.is_in(path.encode() + b"\n" + data):
            continue
        file = open_file(path, data)
        if file.kind == "concept" and pattern.is_in(f"{path}\n{file.front.get('title', '')}".encode()):
            paths.add(path)
        for key, entry in file.entries.items():
            said = f"{entry.text}\n{json.dumps(entry.extra, default=str)}" if key.space in found else ""
            if said and pattern.is_in(said.encode()):
                found[key.space].add(key.id)
    return Scrub(
        pattern, paths=frozenset(paths), entries=frozenset(found["§"]), events=frozenset(found["event"])
    )


def _written_by(repository: Repository, roots: list[Oid], session: str) -> Iterator[tuple[str, str]]:
    """The § entries that commits of a session brought: their hashes and texts."""
    from gitmem.git.commit_graph import only_in

    store, diff = repository.store, TreeDiff(repository.store)
    commits = (oid for number, root in enumerate(roots) for oid in only_in(repository, root, *roots[:number]))
    for commit in map(store.commit, commits):
        is_its = session in trailers_of(commit.message).get("Session", ())
        for change in diff.of_commit(commit) if is_its else ():
            if change.new is None or not change.path.endswith(".md"):
                continue
            known = open_file(change.path, store.blob(change.old.oid) if change.old else None).entries
            for key, entry in open_file(change.path, store.blob(change.new.oid)).entries.items():
                if key.space == "§" and key not in known:
                    yield key.id, entry.text


def _read(repository: Repository, files: Iterable[tuple[str, Oid]]) -> Iterator[tuple[str, bytes]]:
    seen: set[Oid] = set()
    for path, oid in files:
        if oid not in seen:
            seen.add(oid)
            with contextlib.suppress(GitMemError):  # what is damaged is said by the rewriting
                yield path, repository.store.blob(oid)


def _quoted(texts: Iterable[str]) -> TextPattern:
    """The texts that a subject or a line of the log may quote; of very many only some, and their commits are known."""
    return TextPattern([text for text in dict.fromkeys(texts) if len(text) >= SHORTEST][:_MOST_QUOTED])
