"""Blame: for every entry of a file, when it came, from whom and why, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import UnknownRevision
from gitmem.git.objects import Oid
from gitmem.memory.find.filter_names import check_path
from gitmem.memory.history.log import History, LogEntry
from gitmem.memory.provenance import Provenance
from gitmem.okf.entries import Entry, EntryKey
from gitmem.okf.files import open_file
from gitmem.okf.plain import Printed, brief

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


class Wording(NamedTuple):
    """Words that an entry had, and the commit that gave them to it."""

    text: str
    by: LogEntry


@dataclass(frozen=True, slots=True)
class Blamed(Printed):
    """One entry's story: the commit that brought the fact, the one that gave it its present words."""

    entry: Entry
    introduced: LogEntry
    """Who brought it; of one that was gone and came back, who brought it back."""
    changed: LogEntry
    earlier: tuple[Wording, ...] = ()
    """The words it had before, the last ones first."""
    first: LogEntry | None = None
    """Who brought it the first time, where it was gone in between."""
    left: LogEntry | None = None
    """The commit in which it went, where it is gone."""
    vouched: LogEntry | None = None
    """The commit that brought the word of who verified it."""
    source: str = ""
    """Where its present words came from; a commit that brought them back is not their source."""
    verified_here: bool = False
    """Whether that was a person on this machine; anybody else's word is a machine's."""

    @property
    def times(self) -> int:
        """Return how often it was reworded on the way."""
        return len(self.earlier)

    @property
    def replaced(self) -> str:
        """The words it had before."""
        return self.earlier[0].text if self.earlier else ""

    @property
    def verified(self) -> str:
        return _verified(self.entry)

    def __repr__(self) -> str:
        left = self.left.id[:8] if self.left else ""
        came = self.introduced
        return brief(
            self, text=repr(self.entry.text), introduced=came.id[:8], session=came.session, left=left
        )


def blame_of(bundle: Bundle, path: str, *, revision: str = "HEAD", removed: bool = False) -> list[Blamed]:
    """The story of every entry of a file, in its order; those that are gone come last."""
    check_path(bundle, path, directory=False)
    commits = list(bundle.part(History).touching(path, start=revision))
    if not commits:
        raise UnknownRevision(f"No file {path!r} was in this memory then.")
    told: dict[EntryKey, Blamed] = {}

    @cache
    def version(oid: Oid) -> Mapping[EntryKey, Entry]:
        return open_file(path, bundle.repository.store.blob(oid)).entries

    def at(commit: Oid | None) -> Mapping[EntryKey, Entry]:
        found = bundle.repository.tree(commit).entry(path)
        return {} if found is None or found.is_directory else version(found.oid)

    for entry in reversed(commits):
        _step(told, at(entry.commit.parents[0] if entry.commit.parents else None), at(entry.id), entry)
    now = at(bundle.resolve(revision))
    alive = {key: replace(told[key], entry=one, left=None) for key, one in now.items() if key in told}
    gone = {key: story for key, story in told.items() if key not in now} if removed else {}
    provenance = Provenance(bundle.repository)
    return [_vouched(story, provenance, bundle.config.machine) for story in (alive | gone).values()]


def _vouched(story: Blamed, provenance: Provenance, machine: str) -> Blamed:
    by = story.vouched
    if by is None or not story.verified:
        return story
    is_ours = by.machine == machine
    here = is_ours and provenance.is_by_person(by.commit.oid, kind=by.kind, source=by.source)
    return replace(story, verified_here=here)


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
                earlier = (Wording(before[key].text, old.changed), *old.earlier)
                source = _source_again(entry.text, earlier) if by.brings_back else by.source
                told[key] = Blamed(
                    entry, old.introduced, by, earlier, old.first, vouched=old.vouched, source=source
                )
            continue
        if old is not None and old.left is not None:  # it was gone: whoever brought it back answers for it
            source = old.source if by.brings_back else by.source
            first = old.first or old.introduced
            told[key] = replace(old, introduced=by, changed=by, first=first, left=None, source=source)
            continue
        if old is not None:  # it came on another line of history too
            continue
        parent = told.get(EntryKey("§", entry.replaces)) if entry.replaces else None
        if parent is not None:
            earlier = (Wording(parent.entry.text, parent.changed), *parent.earlier)
            told[key] = Blamed(
                entry, parent.introduced, by, earlier, parent.first, vouched=by, source=by.source
            )
        else:
            told[key] = Blamed(entry, by, by, vouched=by, source=by.source)


def _source_again(text: str, earlier: Iterable[Wording]) -> str:
    """The source of words that an entry had before."""
    by = next((one.by for one in earlier if one.text == text and not one.by.brings_back), None)
    return by.source if by is not None else ""


def _verified(entry: Entry) -> str:
    return str(entry.extra.get("verified", ""))
