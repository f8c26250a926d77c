"""Blame: for every entry of a file, when it came, from whom and why, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import UnknownRevision
from gitmem.memory.history import LogEntry
from gitmem.okf import entries as okf
from gitmem.okf.curated import listed_entry, raw_texts
from gitmem.okf.entries import Entry, EntryKey

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


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

    @property
    def verified(self) -> str:
        return str(self.entry.extra.get("verified", ""))

    def sentence(self) -> str:
        parts = [_told(self.introduced, "added")]
        if self.times:
            parts.append(_told(self.changed, f"reworded {self.times}x, last"))
        if self.verified:
            parts.append(f"verified by {self.verified}")
        if self.left is not None:
            parts.append(_told(self.left, "left"))
        return "; ".join(parts)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.entry.key.id,
            "space": self.entry.key.space,
            "text": self.entry.text,
            "at": self.entry.at or None,
            "introduced": _json(self.introduced),
            "changed": _json(self.changed),
            "times_changed": self.times,
            "replaced": self.replaced or None,
            "verified": self.verified or None,
            "left": _json(self.left) if self.left else None,
        }


def blame_of(
    bundle: Bundle, path: str, *, revision: str = "HEAD", removed: bool = False
) -> dict[EntryKey, Blamed]:
    """The story of every entry of a file, in its order; those that are gone come last."""
    commits = [entry.commit for entry in bundle.history.touching(path, start=revision)]
    if not commits:
        raise UnknownRevision(
            f"No file {path!r} was ever in this bundle.", hint="List files with `git ls-files`."
        )
    told: dict[EntryKey, Blamed] = {}
    before: Mapping[EntryKey, Entry] = {}
    last: tuple[bytes, ...] | None = ()
    for commit in reversed(commits):
        data = bundle.repository.tree(commit.oid).read(path)
        # Most revisions of a § file add or remove an entry or two: those are told apart by their raw
        # texts, and only the ones that came are read with their front matter.
        texts = raw_texts(data) if data is not None else ()
        if texts is not None and texts == last:
            continue
        now = _entries(path, data, before, texts, last)
        _step(told, before, now, LogEntry.of(commit))
        before, last = now, texts
    alive = {key: told[key] for key in before}
    gone = {key: story for key, story in told.items() if key not in before} if removed else {}
    return alive | gone


def _entries(
    path: str,
    data: bytes | None,
    before: Mapping[EntryKey, Entry],
    texts: tuple[bytes, ...] | None,
    last: tuple[bytes, ...] | None,
) -> Mapping[EntryKey, Entry]:
    """The entries of one revision, from those of the one before where nothing new came."""
    if data is None:
        return {}
    if texts is not None and last is not None:
        known = {entry.text.encode(): entry for entry in before.values() if entry.key.space == "§"}
        found = [known.get(text) or listed_entry(data, text) for text in texts]
        if len(known) == len(before) and None not in found:
            return {entry.key: entry for entry in found if entry is not None}
    return okf.entries_of(path, data)


def _step(
    told: dict[EntryKey, Blamed],
    before: Mapping[EntryKey, Entry],
    now: Mapping[EntryKey, Entry],
    by: LogEntry,
) -> None:
    """One commit's part in the stories."""
    for key in before.keys() - now.keys():
        told[key] = replace(told[key], left=by)
    for key, entry in now.items():
        if key in before:
            if before[key].text != entry.text and key.space != "§":
                old = told[key]
                told[key] = Blamed(entry, old.introduced, by, old.times + 1, before[key].text)
            elif before[key] is not entry:
                told[key] = replace(told[key], entry=entry)
            continue
        parent = told.get(EntryKey("§", entry.replaces)) if entry.replaces else None
        if parent is not None:
            told[key] = Blamed(entry, parent.introduced, by, parent.times + 1, parent.entry.text)
        else:
            told[key] = Blamed(entry, by, by)


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


def _json(entry: LogEntry) -> dict[str, Any]:
    return {
        "commit": entry.commit.oid,
        "at": entry.at,
        "kind": entry.kind,
        "session": entry.session or None,
        "agent": entry.first("Agent") or None,
        "machine": entry.first("Machine") or None,
        "author": entry.commit.author.name,
        "reason": entry.first("Reason") or None,
        "source": entry.first("Source") or None,
    }
