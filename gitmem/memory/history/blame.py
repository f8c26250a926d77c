"""Blame: for every entry of a file, when it came, from whom and why, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import UnknownRevision
from gitmem.git.objects import Oid
from gitmem.memory.gate.trust import Vouching
from gitmem.memory.history.log import History, LogEntry
from gitmem.okf.curated import listed_entry, raw_texts
from gitmem.okf.entries import Entry, EntryKey
from gitmem.okf.files import open_file

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_PULLED = " on another machine, which counts as a machine's word here"


@dataclass(frozen=True, slots=True)
class Blamed:
    """One entry's story: the commit that brought the fact, the one that gave it its present words."""

    entry: Entry
    introduced: LogEntry
    changed: LogEntry
    times: int = 0
    """How often it was reworded on the way."""
    replaced: str = ""
    """The words it had before."""
    left: LogEntry | None = None
    """The commit in which it went, where it is gone."""
    vouched: LogEntry | None = None
    """The commit that brought the word of who verified it."""
    verified_here: bool = False
    """Whether that was a person on this machine; anybody else's word is a machine's."""

    @property
    def verified(self) -> str:
        return _verified(self.entry)

    def sentence(self) -> str:
        parts = [_told(self.introduced, "added")]
        if self.times:
            parts.append(_told(self.changed, f"reworded {self.times}x, last"))
        if self.verified:
            pulled = self.verified.startswith("human:") and not self.verified_here
            parts.append(f"verified by {self.verified}" + (_PULLED if pulled else ""))
        if self.left is not None:
            parts.append(_told(self.left, "left"))
        return "; ".join(parts)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.entry.key.id,
            "space": self.entry.key.space,
            "text": self.entry.text,
            "at": self.entry.at or None,
            "introduced": self.introduced.as_json(),
            "changed": self.changed.as_json(),
            "times_changed": self.times,
            "replaced": self.replaced or None,
            "verified": self.verified or None,
            "verified_here": self.verified_here,
            "left": self.left.as_json() if self.left else None,
        }


def blame_of(
    bundle: Bundle, path: str, *, revision: str = "HEAD", removed: bool = False
) -> dict[EntryKey, Blamed]:
    """The story of every entry of a file, in its order; those that are gone come last."""
    commits = [entry.commit for entry in bundle.part(History).touching(path, start=revision)]
    if not commits:
        raise UnknownRevision(
            f"No file {path!r} was ever in this bundle.", hint="List files with `git ls-files`."
        )
    told: dict[EntryKey, Blamed] = {}
    versions = _Versions(bundle, path)
    for commit in reversed(commits):
        before = versions.at(commit.parents[0] if commit.parents else None)
        _step(told, before, versions.at(commit.oid), LogEntry.of(commit))
    now = versions.at(bundle.resolve(revision))
    alive = {key: replace(told[key], entry=entry, left=None) for key, entry in now.items() if key in told}
    gone = {key: story for key, story in told.items() if key not in now} if removed else {}
    vouching = Vouching(bundle.repository, bundle.config.machine)
    return {key: _vouched(story, vouching) for key, story in (alive | gone).items()}


def _vouched(story: Blamed, vouching: Vouching) -> Blamed:
    by = story.vouched
    if by is None or not story.verified:
        return story
    here = vouching.vouches(
        by.commit.oid, kind=by.kind, machine=by.first("Machine"), source=by.first("Source")
    )
    return replace(story, verified_here=here)


class _Versions:
    """The entries of one file at many commits; each version of it is read once."""

    def __init__(self, bundle: Bundle, path: str) -> None:
        self._bundle = bundle
        self._path = path
        self._read: dict[Oid, Mapping[EntryKey, Entry]] = {}
        self._entries: dict[bytes, Entry] = {}

    def at(self, commit: Oid | None) -> Mapping[EntryKey, Entry]:
        entry = self._bundle.repository.tree(commit).entry(self._path)
        if entry is None or entry.is_directory:
            return {}
        found = self._read.get(entry.oid)
        if found is None:
            data = self._bundle.repository.store.blob(entry.oid)
            found = self._sections(data) or open_file(self._path, data).entries
            self._read[entry.oid] = found
        return found

    def _sections(self, data: bytes) -> Mapping[EntryKey, Entry]:
        """The entries of a § file as gitmem writes it, without reading its YAML: a file may have
        thousands of versions, and each brings an entry or two."""
        found = []
        for text in raw_texts(data) or ():
            entry = self._entries.get(text) or listed_entry(data, text)
            if entry is None:
                return {}
            self._entries[text] = entry
            found.append(entry)
        return {entry.key: entry for entry in found}


def _step(
    told: dict[EntryKey, Blamed],
    before: Mapping[EntryKey, Entry],
    now: Mapping[EntryKey, Entry],
    by: LogEntry,
) -> None:
    """One commit's part in the stories."""
    for key in before.keys() - now.keys():
        if key in told:
            told[key] = replace(told[key], left=by)
    for key, entry in now.items():
        old = told.get(key)
        if old is not None and _verified(entry) != _verified(before.get(key, old.entry)):
            old = told[key] = replace(old, entry=entry, vouched=by)
        if key in before:
            if old is not None and before[key].text != entry.text and key.space != "§":
                told[key] = Blamed(
                    entry, old.introduced, by, old.times + 1, before[key].text, vouched=old.vouched
                )
            continue
        if old is not None:  # it came on another line of history, or is back after an undo
            told[key] = replace(old, left=None)
            continue
        parent = told.get(EntryKey("§", entry.replaces)) if entry.replaces else None
        if parent is not None:
            told[key] = Blamed(entry, parent.introduced, by, parent.times + 1, parent.entry.text, vouched=by)
        else:
            told[key] = Blamed(entry, by, by, vouched=by)


def _verified(entry: Entry) -> str:
    return str(entry.extra.get("verified", ""))


def _told(entry: LogEntry, verb: str) -> str:
    who = " ".join(
        f"{word} {value}"
        for word, value in (
            ("in session", entry.session),
            ("by", entry.first("Agent") or entry.commit.author.name),
            ("on", entry.first("Machine")),
        )
        if value
    )
    why = "; ".join(
        f"{word}: {value}"
        for word, value in (("reason", entry.first("Reason")), ("source", entry.first("Source")))
        if value
    )
    return f"{verb} {entry.at[:16].replace('T', ' ')} {who} ({entry.commit.oid[:8]})" + (
        f", {why}" if why else ""
    )
