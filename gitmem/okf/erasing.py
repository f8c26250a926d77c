"""Effect of an erase on each file, name and message of a history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gitmem.errors import InvalidContent
from gitmem.okf import layout, pages, validate
from gitmem.okf.blanking import Blanking
from gitmem.okf.entries import Entry, entry_hash, retraction_hash, section_key
from gitmem.okf.erasures import MARKER
from gitmem.okf.files import EntryFile, PartFile, SectionsFile, open_file
from gitmem.okf.paths import safe_name

Oid = str
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{8,40}(?:-\d+)?(?![0-9a-f])")
_SHORTEST_ID = 8
_FULL, _HASH, _HELD = 40, 32, 12
_INDEXED = re.compile(
    r"(?:|decisions|memories|plans|plans/archive(?:/[^/]+)?|sessions(?:/[^/]+){0,2}|snapshots|tools)"
)
_LOG_WORDS = re.compile(r":[^:]*\Z")
"""What a line of the log that is not about an event ends its id with: a hash of what it says, or its words."""
_PROMPT_BLOCK = re.compile(rb"""(commit: ["']?)([0-9a-f]{40})(["']?,?\s+hash: ["']?)([0-9a-f]{8,64})""")
_HASHED_NAME = re.compile(r"~h[0-9a-f]{12}")


@dataclass(slots=True)
class Gone:
    """Files that go as a whole."""

    paths: frozenset[str] = frozenset()
    """Files and directories."""
    entries: frozenset[str] = frozenset()
    """§ entries by their hash."""
    events: frozenset[str] = frozenset()
    """Events by their id."""
    session: str = ""
    """A session whose decisions, plans and held texts go too."""

    @property
    def ids(self) -> frozenset[bytes]:
        return frozenset(name.encode() for name in self.entries | self.events)


@dataclass(slots=True)
class ErasureRules:
    """The rules of one erase; `survey` makes them know what there is before anything is rewritten."""

    blanking: Blanking
    gone: Gone
    quoted: Blanking = field(default_factory=lambda: Blanking(()))
    """What is blanked in messages and in the log alone: short texts, which a file may well hold for another reason."""
    hashes: dict[str, str] = field(default_factory=dict)
    """The hash of each § entry, retraction or held text that changes, and what takes its place."""
    held: set[tuple[str, Oid]] = field(default_factory=set)
    """The files that hold what goes."""
    _gone_ids: frozenset[bytes] = frozenset()
    _clean: set[Oid] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)
    _renamed: re.Pattern[bytes] = re.compile(rb"(?!)")

    def survey_names(self, paths: Iterable[str]) -> None:
        """Look at the names of all files first: a file may name another that gets a new name."""
        names = {name for path in paths for name in path.split("/")}
        renamed = sorted(name for name in names if self.name("", name) != name)
        if renamed:
            self._renamed = re.compile(b"|".join(re.escape(name.encode()) for name in renamed))

    def survey(self, path: str, oid: Oid, data: bytes) -> bool:
        """Look at one file of the history; whether it holds what goes."""
        if not self._gone_ids:
            self._gone_ids = self.gone.ids
        if oid in self._clean:
            return False
        if not self._is_held(path, data):
            self._clean.add(oid)
            return False
        self.held.add((path, oid))
        self._note_hashes(open_file(path, data))
        return True

    def _is_held(self, path: str, data: bytes) -> bool:
        if layout.is_generated(path) and self.quoted.is_in(data):
            return True
        if self.blanking.is_in(data) or self._renamed.search(data):
            return True
        if self._gone_ids and not self._gone_ids.isdisjoint(_ID.findall(data)):
            return True
        return bool(self.gone.session) and self.gone.session.encode() in data

    def _note_hashes(self, file: EntryFile) -> None:
        """A hash is as good as the text for whoever guesses at it: it goes too, wherever it is named."""
        if isinstance(file, SectionsFile):
            for entry in file.entries.values():
                text = self._entry_text(entry)
                if text != entry.text:
                    self.hashes[entry.key.id] = entry_hash(text) if text else "0" * _HASH
            return
        for key, entry in file.entries.items():
            text = self.blanking.text(entry.text)
            if text != entry.text and key.space in ("body", "meta"):
                old, new = (retraction_hash(key, file.path, one) for one in (entry.text, text))
                self.hashes[old] = new
        if file.concept is not None and file.concept.type == layout.QUARANTINED:
            self.hashes[file.path.removesuffix(".md")] = "0" * _HELD

    def _entry_text(self, entry: Entry) -> str:
        """Return what is left of a § entry: nothing where it goes."""
        if entry.key.id in self.gone.entries:
            return ""
        text = self.blanking.text(entry.text)
        return "" if text.strip() == MARKER else text

    # As the rewriter asks

    def takes_out(self, path: str) -> bool:
        if path in self.gone.paths:
            return True
        return any(path.startswith(f"{one}/") for one in self.gone.paths)

    def holds(self, path: str, blob: Oid) -> bool:
        return (path, blob) in self.held

    def content(self, path: str, data: bytes, commits: Mapping[Oid, Oid]) -> bytes | None:
        found = self._content(path, data)
        if found is None:
            return None
        changed = self.ids(_without_block_hashes(found, commits), commits)
        if changed != data and not validate.check_file(path, data):
            for violation in validate.check_file(path, changed):
                raise InvalidContent(
                    f"What is to be erased is part of the form of {path}: {violation.reason}",
                    hint="Choose a longer text, or erase the file with --path.",
                )
        return changed

    def _content(self, path: str, data: bytes) -> bytes | None:
        if not self._is_held(path, data):
            return data
        file = open_file(path, data)
        if file.concept is not None and self._goes_whole(file):
            return None
        if isinstance(file, SectionsFile):
            data = self._sections(file)
        elif isinstance(file, PartFile) and self.gone.events:
            left = file.without([key for key in file.entries if key.id in self.gone.events]).render()
            if left is None:
                return None
            data = left
        elif path.rpartition("/")[2] == layout.LOG:
            data = self._log(data)
        return self._renamed.sub(self._new_bytes, self.blanking.data(data))

    def _new_bytes(self, found: re.Match[bytes]) -> bytes:
        return self.name("", found.group().decode()).encode()

    def _log(self, data: bytes) -> bytes:
        lines = pages.parse_log(data)
        kept = []
        for line in lines:
            if line.id in self.gone.events:
                continue
            text = self.quoted.text(self.blanking.text(line.text))
            name = line.id if text == line.text else _LOG_WORDS.sub(":erased", line.id)
            kept.append(line._replace(text=text, id=name))
        return pages.log_page(kept) if kept != lines else data

    def _goes_whole(self, file: EntryFile) -> bool:
        assert file.concept is not None
        meta = file.concept.meta
        if file.concept.type == layout.QUARANTINED:
            return True
        if str(meta.get("event", "")) in self.gone.events:
            return True
        return bool(self.gone.session) and meta.get("session") == self.gone.session and file.kind == "concept"

    def _sections(self, file: SectionsFile) -> bytes:
        entries = []
        for entry in file.entries.values():
            if not (text := self._entry_text(entry)):
                continue
            replaces = self.hashes.get(entry.replaces, entry.replaces)
            extra = {
                key: self.blanking.text(value) if isinstance(value, str) else value
                for key, value in entry.extra.items()
            }
            key = section_key(text)
            replaced = replaces if replaces.strip("0") else ""
            entries.append(replace(entry, key=key, text=text, replaces=replaced, extra=extra))
        return file._with(entries).render() or b""

    def name(self, directory: str, name: str) -> str:
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = self._new_name(name)
        del directory
        return known

    def _new_name(self, name: str) -> str:
        stem, dot, extension = name.partition(".")
        if stem in self.hashes:
            return f"{self.hashes[stem]}{dot}{extension}"
        new = self.blanking.name(name)
        # The digits behind a name are a hash of all of it.
        return safe_name(_HASHED_NAME.sub("", new)) if new != name and _HASHED_NAME.search(new) else new

    def words(self, data: bytes, commits: Mapping[Oid, Oid]) -> bytes:
        blanked = self.blanking.data(data) if self.blanking.is_in(data) else data
        return self.ids(blanked, commits, abbreviated=True)

    def message(self, data: bytes, commits: Mapping[Oid, Oid], *, is_of: bool) -> bytes:
        if is_of:  # its subject may say what was there
            subject, end, rest = data.partition(b"\n")
            kind, colon, _ = subject.partition(b": ")
            data = (kind + colon + MARKER.encode() if colon else MARKER.encode()) + end + rest
        return self.words(self.quoted.data(data), commits)

    def page(self, directory: str, names: list[str], below: list[str]) -> bytes | None:
        if not _INDEXED.fullmatch(directory):
            return None
        return pages.index_page(directory, names, below)

    def ids(self, data: bytes, commits: Mapping[Oid, Oid], *, abbreviated: bool = False) -> bytes:
        """The data with the new ids of commits and entries in the place of the old ones."""
        if not self.hashes and not commits:
            return data

        def new(found: re.Match[bytes]) -> bytes:
            name = found.group().decode()
            if len(name) == _FULL:
                return commits.get(name, name).encode()
            if name in self.hashes:
                return self.hashes[name].encode()
            if abbreviated and _SHORTEST_ID <= len(name) < _FULL:
                return self._abbreviated(name, commits).encode()
            return found.group()

        return _ID.sub(new, data)

    def _abbreviated(self, name: str, commits: Mapping[Oid, Oid]) -> str:
        for known in (self._index(commits), self._index(self.hashes)):
            full = known.get(name[:_SHORTEST_ID], ("", ""))
            if full[0].startswith(name):
                return full[1][: len(name)]
        return name

    def _index(self, known: Mapping[str, str]) -> Mapping[str, tuple[str, str]]:
        cached = self._indexes.get(id(known))
        if cached is None or cached[0] != len(known):
            made = {old[:_SHORTEST_ID]: (old, new) for old, new in known.items() if old != new}
            cached = self._indexes[id(known)] = (len(known), made)
        return cached[1]

    _indexes: dict[int, tuple[int, dict[str, tuple[str, str]]]] = field(default_factory=dict)


def _without_block_hashes(data: bytes, commits: Mapping[Oid, Oid]) -> bytes:
    """A session's page without the hashes of the prompt blocks that commits gave which are others now."""

    def new(found: re.Match[bytes]) -> bytes:
        name = found[2].decode()
        is_other = commits.get(name, name) != name
        return found[1] + found[2] + found[3] + (b"0" * len(found[4]) if is_other else found[4])

    return _PROMPT_BLOCK.sub(new, data) if b"prompt_blocks" in data else data


def worth_blanking(texts: Iterable[str]) -> list[str]:
    """Of the texts of what goes those that are long enough to be nothing else, wherever they are quoted."""
    return [text for text in texts if len(text.strip()) >= 12 and len(text.split()) >= 3]
