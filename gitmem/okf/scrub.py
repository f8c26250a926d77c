"""Effect of an erase on each file, name and message of a history."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gitmem.errors import InvalidContent
from gitmem.okf import layout, pages, validate
from gitmem.okf.entries import Entry, entry_hash, retraction_hash, section_key
from gitmem.okf.files import EntryFile, open_file
from gitmem.okf.paths import safe_name
from gitmem.okf.receipts import MARKER
from gitmem.okf.text_pattern import TextPattern

Oid = str
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{12,40}(?:-\d+)?(?![0-9a-f])")
_HASH = 32
_INDEXED = re.compile(
    r"(?:|decisions|memories|plans|plans/archive(?:/[^/]+)?|sessions(?:/[^/]+){0,2}|snapshots|tools)"
)
_LOG_WORDS = re.compile(r":[^:]*\Z")
"""What a line of the log that is not about an event ends its id with: a hash of what it says, or its words."""
_PROMPT_BLOCK = re.compile(rb"""(commit: ["']?)([0-9a-f]{40})(["']?,?\s+hash: ["']?)([0-9a-f]{8,64})""")
_HASHED_NAME = re.compile(r"~h[0-9a-f]{12}")


@dataclass(slots=True)
class Scrub:
    """The rules of one erase; `survey` makes them know what there is before anything is rewritten."""

    pattern: TextPattern
    quoted: TextPattern = field(default_factory=lambda: TextPattern(()))
    """What is blanked in messages and in the log alone: short texts, which a file may well have for another reason."""
    paths: frozenset[str] = frozenset()
    """Files and directories that go as a whole."""
    entries: frozenset[str] = frozenset()
    """§ entries that go, by their hash."""
    events: frozenset[str] = frozenset()
    """Events that go, by their id."""
    session: str = ""
    """A session whose decisions and plans go too."""
    hashes: dict[str, str] = field(default_factory=dict)
    """The hash of each § entry or retraction that changes, and what takes its place."""
    held: set[tuple[str, Oid]] = field(default_factory=set)
    """The files that hold what goes."""
    forms: Counter[str] = field(default_factory=Counter)
    """The texts as they are written in those files, and how often."""
    _names: dict[str, str] = field(default_factory=dict)
    _renamed: re.Pattern[bytes] = re.compile(rb"(?!)")

    def survey(self, files: list[tuple[str, Oid]], read: Callable[[Oid], bytes]) -> None:
        """Look at every file of the history; their names first, because a file may name another that gets a new one."""
        names = {name for path, _ in files for name in path.split("/")}
        if renamed := sorted(name for name in names if self.name(name) != name):
            self._renamed = re.compile(b"|".join(re.escape(name.encode()) for name in renamed))
        clean: set[Oid] = set()
        for path, oid in files:
            if oid in clean:
                continue
            data = read(oid)
            if self._is_held(path, data):
                self.held.add((path, oid))
                self.forms += self.pattern.forms(data)
                self._note_hashes(open_file(path, data))
            else:
                clean.add(oid)

    def _is_held(self, path: str, data: bytes) -> bool:
        if layout.is_generated(path) and self.quoted.is_in(data):
            return True
        if self.pattern.is_in(data) or self._renamed.search(data):
            return True
        gone = {name.encode() for name in self.entries | self.events}
        if gone and not gone.isdisjoint(_ID.findall(data)):
            return True
        return bool(self.session) and self.session.encode() in data

    def _note_hashes(self, file: EntryFile) -> None:
        """A hash confirms a guess at the text: it goes too, wherever it is named."""
        for key, entry in file.entries.items():
            if key.space == "§" and (text := self._entry_text(entry)) != entry.text:
                self.hashes[key.id] = entry_hash(text) if text else "0" * _HASH
            elif key.space in ("body", "meta") and (text := self.pattern.text(entry.text)) != entry.text:
                old, new = (retraction_hash(key, file.path, one) for one in (entry.text, text))
                self.hashes[old] = new

    def _entry_text(self, entry: Entry) -> str:
        """Return the remaining text of a § entry; empty where it is erased."""
        if entry.key.id in self.entries:
            return ""
        text = self.pattern.text(entry.text)
        return "" if text.strip() == MARKER else text

    # As the rewriter asks

    def takes_out(self, path: str) -> bool:
        """Return whether a file or a directory goes as a whole."""
        return path in self.paths or any(path.startswith(f"{one}/") for one in self.paths)

    def holds(self, path: str, blob: Oid) -> bool:
        """Return whether a file holds what is to go; another may change too, because it names a commit."""
        return (path, blob) in self.held

    def content(self, path: str, data: bytes, commits: Mapping[Oid, Oid]) -> bytes | None:
        """A file's new content; None takes it out. `commits` are those that have a new id."""
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
        if file.kind == "curated":
            data = self._sections(file)
        elif file.kind == "events" and self.events:
            left = file.without([key for key in file.entries if key.id in self.events]).render()
            if left is None:
                return None
            data = left
        elif path.rpartition("/")[2] == layout.LOG:
            data = self._log(data)
        return self._renamed.sub(lambda found: self.name(found[0].decode()).encode(), self.pattern.data(data))

    def _log(self, data: bytes) -> bytes:
        lines = pages.parse_log(data)
        kept = []
        for line in lines:
            if line.id in self.events:
                continue
            text = self.quoted.text(self.pattern.text(line.text))
            name = line.id if text == line.text else _LOG_WORDS.sub(":erased", line.id)
            kept.append(line._replace(text=text, id=name))
        return pages.log_page(kept) if kept != lines else data

    def _goes_whole(self, file: EntryFile) -> bool:
        assert file.concept is not None
        meta = file.concept.meta
        if str(meta.get("event", "")) in self.events:
            return True
        return bool(self.session) and meta.get("session") == self.session and file.kind == "concept"

    def _sections(self, file: EntryFile) -> bytes:
        entries = []
        for entry in file.entries.values():
            if not (text := self._entry_text(entry)):
                continue
            replaces = self.hashes.get(entry.replaces, entry.replaces)
            extra = {
                key: self.pattern.text(value) if isinstance(value, str) else value
                for key, value in entry.extra.items()
            }
            replaced = replaces if replaces.strip("0") else ""
            entries.append(replace(entry, key=section_key(text), text=text, replaces=replaced, extra=extra))
        return file.with_texts(entries).render() or b""

    def name(self, name: str) -> str:
        """The new name of a file or directory."""
        if name not in self._names:
            self._names[name] = self._new_name(name)
        return self._names[name]

    def _new_name(self, name: str) -> str:
        stem, dot, extension = name.partition(".")
        if stem in self.hashes:
            return f"{self.hashes[stem]}{dot}{extension}"
        new = self.pattern.name(name)
        # The digits behind a name are a hash of all of it.
        return safe_name(_HASHED_NAME.sub("", new)) if new != name and _HASHED_NAME.search(new) else new

    def words(self, data: bytes, commits: Mapping[Oid, Oid]) -> bytes:
        """A message, or the name of a person, as it becomes."""
        return self.ids(self.pattern.data(data), commits)

    def message(self, data: bytes, commits: Mapping[Oid, Oid], *, is_of: bool) -> bytes:
        """The message of a commit; `is_of`: it brought, changed or took away what goes as a whole."""
        subject, end, rest = data.partition(b"\n")
        kind, colon, what = subject.partition(b": ") if b": " in subject else (b"", b"", subject)
        what = MARKER.encode() if is_of else self.quoted.data(what)  # which may say what was there
        lines = [one if one.startswith(b"Kind: ") else self.quoted.data(one) for one in rest.split(b"\n")]
        return self.words(kind + colon + what + end + b"\n".join(lines), commits)

    def page(self, directory: str, names: list[str], below: list[str]) -> bytes | None:
        """The page that lists a directory whose names changed; None where it has none."""
        return pages.index_page(directory, names, below) if _INDEXED.fullmatch(directory) else None

    def ids(self, data: bytes, commits: Mapping[Oid, Oid]) -> bytes:
        """The data with the new ids of commits and entries in the place of the old ones."""
        if not self.hashes and not commits:
            return data

        def new(found: re.Match[bytes]) -> bytes:
            name = found[0].decode()
            return (commits.get(name) or self.hashes.get(name, name)).encode()

        return _ID.sub(new, data)


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
