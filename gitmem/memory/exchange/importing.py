"""Import: what another program kept becomes commits here, each with its own date, through the same gate as everything.

A reader gives pieces, oldest first; each becomes one commit. A second run finds what it brought before by the ids of
events, the texts of entries and the content of files, so it brings only what is new, also after it was stopped half-way.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from posixpath import basename, dirname, splitext
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import GitMemError, InvalidContent, UsageError
from gitmem.files import read_regular
from gitmem.git.commit_graph import walk
from gitmem.git.message import Message, trailers_of
from gitmem.memory.capture.buffer import lay_events, marker
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.gate.admission import FOUND_ENTRY, Admission, Held, hand_file, redacted
from gitmem.memory.gate.skill_guard import SkillGuard, was_taken_back
from gitmem.memory.history.log import History
from gitmem.memory.history.revert import IMPORT_RUN
from gitmem.memory.retraction import is_retracted, retractions_of
from gitmem.okf import frontmatter, layout, paths, timestamps, validate
from gitmem.okf.concept import Concept, as_note
from gitmem.okf.curated import CuratedFile, check_text
from gitmem.okf.entries import Entry, section_key
from gitmem.okf.events import Event, place_of
from gitmem.okf.files import open_file
from gitmem.okf.plain import Printed, few, shortened
from gitmem.okf.skills import by_skill
from gitmem.okf.validate import who_obeys
from gitmem.safety.verdict import Result, Verdict
from gitmem.text.keys import GAP

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.origin import Origin


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry for a § file."""

    text: str
    path: str = layout.MEMORY
    at: str = ""
    replaces: str = ""
    extra: tuple[tuple[str, object], ...] = ()
    name: str = ""
    """Where it is in its source, where that is known: `Line 3 of facts.jsonl`."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file for the bundle; of another history the effect of a commit on it, which no `data` removes."""

    path: str
    data: bytes | None
    was: bytes | None = None
    is_step: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """Content of one commit."""

    source: str
    """Where it is from, for the commit: `hermes state.db session 42`."""
    at: float = 0.0
    """When it was made, in seconds; 0 where that is not known."""
    entries: tuple[NewEntry, ...] = ()
    gone: tuple[NewEntry, ...] = ()
    """Entries of an earlier piece that are not there any more."""
    events: tuple[Event, ...] = ()
    files: tuple[NewFile, ...] = ()
    reason: str = ""
    is_whole: bool = False
    """Whether the source has no other entries: what it brought before and has no more goes."""
    session: SessionInfo | None = None
    ended: str = ""
    """When the session ended, where it has."""


@dataclass(slots=True)
class Imported(Printed):
    """Result of an import, or of its dry run."""

    format: str
    commits: int = 0
    entries: int = 0
    events: int = 0
    files: int = 0
    removed: int = 0
    """Entries and files that were there in an earlier state, and went again."""
    sessions: int = 0
    known: int = 0
    """What was here already."""
    held: list[str] = field(default_factory=list)
    """What the gate holds back: where it is from."""
    redacted: list[str] = field(default_factory=list)
    """Where a secret was redacted."""
    problems: list[str] = field(default_factory=list)
    """What could not be read, and what was repaired, as sentences."""
    unread: list[str] = field(default_factory=list)
    """Files and lines that could not be read; the problems say why."""
    run: str = ""
    dry_run: bool = False


FORMATS = ("hermes", "holographic", "okf", "openclaw", "markdown", "jsonl")


def pieces(
    form: str, where: str, importer: Importer, *, since: float = 0.0, sessions: bool = False
) -> Iterator[Piece]:
    """Yield what a format's reader finds at a place, oldest first."""
    from gitmem.memory.exchange import from_folder, from_hermes, from_lines

    if form == "hermes":
        return from_hermes.home_pieces(where, importer, since=since, sessions=sessions)
    readers = {
        "holographic": from_hermes.fact_pieces,
        "okf": from_folder.okf_pieces,
        "openclaw": from_folder.openclaw_pieces,
        "markdown": from_folder.markdown_pieces,
        "jsonl": from_lines.line_pieces,
    }
    if form not in readers:
        raise UsageError(f"There is no format {form!r}: choose one of {', '.join(FORMATS)}.")
    return readers[form](where, importer)


class _Trial(Admission):
    """The gate for a dry run, which holds nothing."""

    def hold_all(self, texts: Iterable[tuple[str, Result, Mapping[str, str]]]) -> list[str]:
        return ["" for _ in texts]


class _Converted(NamedTuple):
    data: bytes | None
    is_redacted: bool = False
    repair: str = ""
    unread: Sequence[int] = ()


class Importer:
    """One import into a bundle."""

    def __init__(self, bundle: Bundle, form: str, *, dry_run: bool = False) -> None:
        self._bundle = bundle
        self.done = Imported(form, run=secrets.token_hex(4), dry_run=dry_run)
        self._began_at = bundle.tip
        self._ever: dict[str, list[Blamed]] = {}
        self._written: set[str] = set()
        self._spelled: dict[str, dict[str, str]] = {}

    @cached_property
    def sources(self) -> frozenset[str]:
        """Return where all that was ever imported here is from."""
        repository, tip = self._bundle.repository, self._bundle.tip
        commits = walk(repository, tip) if tip else ()
        return frozenset(
            source
            for commit in commits
            if commit.subject.startswith("import: ")
            for source in trailers_of(commit.message).get("Source", ())
        )

    @cached_property
    def _protected(self) -> frozenset[str]:
        """The retractions that would take away what was here before: none of them is taken from elsewhere."""
        tree = self._bundle.repository.tree(self._began_at)
        known = (path for path, _ in tree.files() if path.endswith(".md") and not layout.is_record(path))
        return frozenset(name for path in known for name in retractions_of(open_file(path, tree.read(path))))

    @cached_property
    def _counting(self) -> Edits:
        """The tree as it would become, for a dry run."""
        from gitmem.memory.edits import Edits

        return Edits(self._bundle.tree())

    def problem(self, sentence: str) -> None:
        """Note what was left out or repaired, once; the rest is imported."""
        if sentence not in self.done.problems:
            self.done.problems.append(sentence)

    def leave_out(self, name: str, why: object) -> None:
        """Name what cannot be imported, which makes the import fail in the end."""
        self.problem(f"{name} was left out: {why}")
        if name not in self.done.unread:
            self.done.unread.append(name)

    def leave_out_lines(self, name: str, numbers: Iterable[int]) -> None:
        """Name the lines of a file that are not text."""
        for number in numbers:
            self.leave_out(f"Line {number} of {name}", NOT_UTF8)

    def texts_in(self, path: str, name: str, split: Callable[[str], Iterable[str]]) -> tuple[list[str], bool]:
        """The texts of a memory file, and whether all of it is text; the lines that are not are named."""
        found = read_regular(path).decode("utf-8", "surrogateescape").replace("\r\n", "\n")
        self.leave_out_lines(name, unread := _unread_lines(found))
        return [text for text in split(found) if is_utf8(text)], not unread

    def run(self, pieces: Iterable[Piece], progress: Callable[[Imported], None] = lambda _: None) -> Imported:
        """Bring every piece in, one commit each; a dry run only counts."""
        for piece in pieces:
            self._one(piece)
            progress(self.done)
        return self.done

    def _one(self, piece: Piece) -> None:
        before, origin = self.done, self._origin(piece)
        if before.dry_run:
            self._lay(self._counting, piece, origin)
            return

        def work(edits: Edits) -> Message | None:
            self.done = deepcopy(before)  # it may run again on a newer tip: what was counted is counted once
            return self._lay(edits, piece, origin)

        try:
            published = self._bundle.commit(work, purpose="import", origin=origin)
        except InvalidContent as error:
            self.done = before
            self.leave_out(piece.source, error)
            return
        self.done.commits += published is not None

    def _origin(self, piece: Piece) -> Origin:
        session = piece.session
        origin = self._bundle.origin(
            session=session.id if session else "",
            agent=session.agent if session else "",
            model=session.model if session else "",
            reason=piece.reason,
            source=piece.source,
        )
        if session is not None:
            origin = replace(origin, platform=session.platform, parent_session=session.parent)
        return replace(origin, at=piece.at)

    def _lay(self, edits: Edits, piece: Piece, origin: Origin) -> Message | None:
        done, before = self.done, replace(self.done)
        trailers: dict[str, str | tuple[str, ...]] = {"Source": (piece.source, f"{IMPORT_RUN}{done.run}")}
        self._entries(edits, piece, origin)
        if events := self._events(edits, piece, origin):
            trailers["Events"] = events
        self._files(edits, piece.files, origin)
        brought = {name: getattr(done, name) - getattr(before, name) for name in _one_of}
        if not any(brought.values()) or not edits.differs():
            return None
        told = [f"{count} {name if count > 1 else _one_of[name]}" for name, count in brought.items() if count]
        return Message("import", f"{', '.join(told)} from {piece.source}", trailers)

    def _admission(self, edits: Edits, origin: Origin) -> Admission:
        kind = _Trial if self.done.dry_run else Admission
        return kind(self._bundle, edits, origin=origin)

    # Entries

    def _entries(self, edits: Edits, piece: Piece, origin: Origin) -> None:
        by_path: dict[str, list[NewEntry]] = {}
        for entry in piece.entries:
            by_path.setdefault(entry.path, []).append(entry)
        for entry in piece.gone:
            by_path.setdefault(entry.path, [])
        for path, entries in by_path.items():
            file = CuratedFile.parse_leniently(edits.read(path), path)
            # By their age too: what was written here again stays.
            gone = {
                (section_key(redacted(old.text)), timestamps.canonical(old.at))
                for old in piece.gone
                if old.path == path
            }
            stories = self._stories(path)
            if piece.is_whole:
                now = {section_key(redacted(new.text.strip())) for new in entries}
                before = (one.entry for one in stories if _is_from(one.changed, piece.source))
                gone |= {(entry.key, entry.at) for entry in before if entry.key not in now}
            kept = [entry for entry in file.entries if (entry.key, entry.at) not in gone]
            added: list[Entry] = []
            # What a person removed does not come back with a second run.
            known = {entry.key.id for entry in (*file.entries, *(story.entry for story in stories))}
            room = validate.largest(path) - len(file.render())
            listed = frontmatter.MAX_YAML_BYTES - len(file.concept.yaml.encode())
            for new in entries:
                if (made := self._entry(edits, new, known, piece, origin)) is None:
                    continue
                line = len(frontmatter.dump_value(made.extra).encode()) + _LINE
                size = len(made.text.encode()) + line
                if size > room or line > listed:
                    self.leave_out(new.name or shortened(new.text, 60), f"{path} is full.")
                    continue
                room, listed = room - size, listed - line
                known.add(made.key.id)
                added.append(made)
            removed = len(file.entries) - len(kept)
            if added or removed:
                edits.write(path, file.with_entries([*kept, *added]).render())
                self.done.entries += len(added)
                self.done.removed += removed

    def _entry(
        self, edits: Edits, new: NewEntry, known: set[str], piece: Piece, origin: Origin
    ) -> Entry | None:
        done = self.done
        try:
            text = check_text(new.text)
            frontmatter.dump_value(dict(new.extra))
        except InvalidContent as error:
            self.leave_out(new.name or f"An entry of {piece.source}", error)
            return None
        clean = redacted(text)
        if clean != text:
            done.redacted.append(piece.source)
        key = section_key(clean)
        if key.id in known or is_retracted(edits, key):
            done.known += 1
            return None
        answer = self._admission(edits, origin).entry(clean, new.path, FOUND_ENTRY)
        if isinstance(answer, Held):
            where = new.name or piece.source
            done.held.append(f"{where}: {answer.id}" if answer.id else where)
            return None
        begun = timestamps.stamp_of(piece.at) if piece.at else self._bundle.now()
        at = timestamps.canonical(new.at) or begun
        extra = {**dict(new.extra), **answer.marks}
        return Entry(section_key(answer.text), answer.text, at, new.replaces, extra=extra)

    def _stories(self, path: str) -> list[Blamed]:
        """Every entry that was in a file when the import began, or ever before."""
        if path not in self._ever:
            from gitmem.memory.history.blame import blame_of

            try:
                self._ever[path] = blame_of(self._bundle, path, removed=True)
            except GitMemError:
                self._ever[path] = []
        return self._ever[path]

    # Events

    def _events(self, edits: Edits, piece: Piece, origin: Origin) -> str:
        if piece.session is None:
            return ""
        done, session = self.done, piece.session
        fresh = [
            replace(
                event,
                fields={name: redacted(text) for name, text in event.fields.items()},
                session=session.id,
            )
            for event in piece.events
        ]
        for old, new in zip(piece.events, fresh, strict=True):
            if old.fields != new.fields:
                done.redacted.append(f"{piece.source}, event of {new.at}")
        is_new = layout.find_session(edits, session.id) is None
        if done.dry_run:
            done.events += len(fresh)
            done.sessions += is_new
            return ""
        writer = place_of(fresh[0].id)[0]
        recorded = lay_events(
            self._bundle, edits, fresh, writer=writer, sessions={session.id: session}, origin=origin
        )
        brought = recorded.total()
        done.events += brought
        done.known += len(fresh) - brought
        done.sessions += is_new and bool(brought)
        if recorded["held"]:
            done.held += [piece.source] * recorded["held"]
        if not brought:
            return ""
        path = layout.find_session(edits, session.id)
        if path is not None and piece.ended:
            concept = Concept.parse(edits.read(path) or b"", path)
            edits.write(path, concept.with_meta(status="closed", ended=piece.ended).render())
        return marker(writer, fresh)

    # Files

    def _is_imported(self, path: str, source: str) -> bool:
        """Return whether a file is as an import from the same place left it, so that its next state replaces it."""
        if path in self._written:
            return True
        last = next(self._bundle.part(History).touching(path), None)
        return last is not None and _is_from(last, source)

    def _files(self, edits: Edits, files: Iterable[NewFile], origin: Origin) -> None:
        skills = {file.path: file for file in files if file.path.startswith(_SKILLS)}
        for file in files:
            if file.path in skills:
                continue
            if (taken := self._taken(file)) is not None:
                place = (
                    self._followed(edits, taken, origin)
                    if file.is_step
                    else self._place_for(edits, taken, origin)
                )
                if place and taken.data is not None:
                    self._write(edits, place, taken.data, origin)
        for root, names in by_skill(skills).items():
            self._skill(edits, root, [skills[name] for name in names], origin)

    def _taken(self, file: NewFile) -> NewFile | None:
        """A file by its place here and as it is kept here; None where it is left out."""
        try:
            path = _place(file.path)
            if path in SETTINGS:
                self.problem(f"{path} was left out: it says how another bundle is run.")
                return None
            if path in self._protected:
                self.problem(
                    f"{path} was left out: it takes back what is known here. `gitmem forget` does that, if you want it."
                )
                return None
            found, was = _converted(path, file.data), _converted(path, file.was).data
        except InvalidContent as error:
            self.leave_out(file.path, error)
            return None
        self.leave_out_lines(path, found.unread)
        if found.is_redacted and path not in self.done.redacted:
            self.done.redacted.append(path)
        if found.repair:
            self.problem(f"{path}: {found.repair}")
        return replace(file, path=path, was=was, data=found.data)

    def _place_for(self, edits: Edits, file: NewFile, origin: Origin) -> str:
        """The path for a file: its own, or one beside another file of that name; empty where it is here."""
        path, data = self._as_spelled(edits, file.path), file.data or b""
        above = path
        while (above := dirname(above)) and basename(above) not in edits.names(dirname(above)):
            pass
        if above or edits.names(path) or edits.directories(path):
            self.leave_out(path, f"{above} is a file here." if above else "it is a directory here.")
            return ""
        present, is_other = edits.read(path), basename(path) != basename(file.path)
        is_same = open_file(path, present).body == open_file(path, data).body
        is_here = present is not None and is_same and not is_other
        if is_other or (present is not None and not is_same and not self._is_imported(path, origin.source)):
            stem, extension = splitext(path)
            path = f"{stem}-{hashlib.sha256(data).hexdigest()[:8]}{extension}"
            is_here = path in edits
        self.done.known += is_here
        return "" if is_here else path

    def _as_spelled(self, edits: Edits, path: str) -> str:
        """The path with each name as it is spelled here, where only its case or its Unicode form differs."""
        spelled = ""
        for part in path.split("/"):
            if (here := self._spelled.get(spelled)) is None:
                names = (*edits.names(spelled), *edits.directories(spelled))
                here = self._spelled[spelled] = {paths.fold(name): name for name in names}
            spelled = f"{spelled}/{here.setdefault(paths.fold(part), part)}".lstrip("/")
        return spelled

    def _followed(self, edits: Edits, step: NewFile, origin: Origin) -> str:
        """The path of a file to write, where it is as its history left it; one that went is removed."""
        present, bundle = edits.read(step.path), origin.source.rpartition(" ")[0]
        is_ours = present != step.was and not self._is_imported(step.path, bundle)
        if is_ours or present == step.data:
            self.done.known += 1
        elif step.data is None:
            edits.remove(step.path)
            self._written.add(step.path)
            self.done.removed += 1
        else:
            return step.path
        return ""

    # Skills: all files of one, or none

    def _skill(self, edits: Edits, root: str, together: Sequence[NewFile], origin: Origin) -> None:
        """Bring a skill in whole. What the guard finds in any of its files keeps all of them out, for a person to see."""
        done = self.done
        taken = [one for file in together if (one := self._taken(file)) is not None]
        if len(taken) < len(together):
            return
        wanted = {file.path: file.data for file in taken}
        changed = {path: data for path, data in wanted.items() if edits.read(path) != data}
        done.known += len(wanted) - len(changed)
        if not changed:
            return
        before = {file.path: file.was for file in taken}
        if any(
            edits.read(path) != before[path] and not self._is_imported(path, origin.source)
            for path in changed
        ):
            done.known += len(changed)
            self.problem(
                f"{root} is another one here, which stays; `gitmem skill create NAME DIR` takes one in."
            )
            return
        files = {path: data for path, data in wanted.items() if data is not None}
        if any(was_taken_back(edits, path, data) for path, data in files.items()):
            done.known += len(changed)
            return
        found = SkillGuard(self._bundle, "community", origin=origin).inspect(files)
        if found.fate("community") != "allow":
            done.held += [str(one) for one in found.gravest]
            self._admission(edits, origin).hold_all(
                (files[path].decode("utf-8", "replace"), result, {"kind": "skill", "path": path})
                for path, result in found.results.items()
                if result.findings
            )
            return
        self._written.update(changed)
        for path, data in changed.items():
            edits.write(path, data)
            done.files += data is not None
            done.removed += data is None

    def _write(self, edits: Edits, path: str, data: bytes, origin: Origin) -> None:
        """Write a file; the lines of a page that the scanner doubts wait beside it, and anything else waits whole."""
        done, admission = self.done, self._admission(edits, origin)
        kept, doubted = _parted(path, data, lambda text: admission.judge(text, hand_file(path), path))
        for place, text in doubted.items():
            is_new = place == path or place not in edits
            if is_new and isinstance(admission.file(place, text, b""), Held):
                done.held.append(place if kept is None else f"{_differing(path, data, kept)}: {place}")
        if kept is None or edits.read(path) == kept:
            done.known += kept is not None
            return
        self._written.add(path)
        edits.write(path, kept)
        done.files += 1


SETTINGS = frozenset((layout.CONFIG_AGENT, layout.CONFIG_SCANNER, layout.CONFIG_ERASED))
_SKILLS = "skills/"
_LINE = 160
"""Bytes of an entry's line in the front matter, without what its source says of it."""
_LINES = (".md", ".txt", ".log")
"""Names of pages and logs: a line can be left out of them."""
_ROUNDS = 5
"""Readings of a page, each without the lines that the one before it doubted."""


NOT_UTF8 = "it is not UTF-8 text."
_BYTES = re.compile("[\ud800-\udfff]")
_one_of = {"entries": "entry", "events": "event", "files": "file", "removed": "removed"}


def _converted(path: str, data: bytes | None) -> _Converted:
    """A file as it is kept here: without secrets, as OKF wants it, without the lines of a page that are not UTF-8."""
    if data is None:
        return _Converted(None)
    text = data.decode("utf-8", "surrogateescape")
    unread = _unread_lines(text)
    if unread and not path.endswith(".md"):
        return _Converted(data)
    if unread:
        lines = text.split("\n")
        head = text[: text.find("\n---\n") + 1].count("\n") + 1 if frontmatter.begins(text) else 0
        if unread[0] <= head or 2 * len(unread) >= sum(map(bool, lines)) or "\0" in text:
            raise InvalidContent(NOT_UTF8)
        text = "\n".join(GAP if number in unread else line for number, line in enumerate(lines, 1))
    clean, said = redacted(text), ""
    kept = clean.encode()
    if path.endswith(".md") and validate.check_file(path, kept):
        concept, said = as_note(path, clean)
        kept = concept.render()
    return _Converted(kept, clean != text, said, unread)


def _unread_lines(text: str) -> list[int]:
    """The numbers of the lines that were not UTF-8 before `surrogateescape`."""
    if is_utf8(text):
        return []
    return [number for number, line in enumerate(text.split("\n"), 1) if not is_utf8(line)]


def is_utf8(text: str) -> bool:
    """Return whether a text that was read with `surrogateescape` has no other bytes in it."""
    return not _BYTES.search(text)


def _parted(path: str, data: bytes, judge: Callable[[str], Result]) -> tuple[bytes | None, dict[str, bytes]]:
    """A page without the lines that the scanner doubts, and those as a note of their own; or None, and all of it."""
    text, doubted = data.decode("utf-8", "replace"), list[str]()
    all_of_it = None, {path: data}
    for _ in range(_ROUNDS):
        result = judge(text)
        if result.verdict is Verdict.ALLOW:
            break
        spans = [one.span for one in result.findings if one.severity is not Verdict.ALLOW]
        begin = text.find("\n---\n") + len("\n---\n") if path.endswith(".md") else 0
        if not path.endswith(_LINES) or not spans or min(spans)[0] < begin:
            return all_of_it
        lines = text.split("\n")
        for start, end in spans:
            first, last = (text.count("\n", 0, at) for at in (start, max(start, end - 1)))
            doubted += (line for line in lines[first : last + 1] if line != GAP)
            lines[first : last + 1] = [GAP] * (last + 1 - first)
        text = "\n".join(lines)
    else:
        return all_of_it
    if not doubted:
        return data, {}
    kept = text.encode()
    is_empty = not any(char.isalnum() for char in text[begin:])
    if is_empty or open_file(path, kept).units.keys() != open_file(path, data).units.keys():
        return all_of_it
    held = Concept.new("Note", "\n".join(doubted) + "\n", title=f"Held out of {path}").render()
    name = f"{splitext(path)[0]}-held-{hashlib.sha256(held).hexdigest()[:8]}.md"
    return kept, {name: held}


def _differing(path: str, one: bytes, other: bytes) -> str:
    pairs = zip(one.split(b"\n"), other.split(b"\n"), strict=False)
    lines = [str(number) for number, (left, right) in enumerate(pairs, 1) if left != right]
    return f"{path}, line {few(lines)}"


def _is_from(commit: LogEntry, source: str) -> bool:
    """Return whether a commit is an import from a source, or from a former state of it."""
    return commit.kind == "import" and any(
        one.startswith(source) for one in commit.trailers.get("Source", ())
    )


def _place(path: str) -> str:
    """A path of the bundle for a file from elsewhere: safe, and of no name that another program obeys."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    if not parts:
        raise InvalidContent("it has no name.")
    safe = "/".join([*(paths.slug(part) if part.startswith(".") else part for part in parts[:-1]), parts[-1]])
    if who_obeys(safe) or layout.is_generated(safe):
        folder, _, name = safe.rpartition("/")
        stem, extension = splitext(name)
        safe = f"{folder or 'notes'}/{paths.slug(stem)}-imported{extension}"
        if who_obeys(safe):
            raise InvalidContent(f"{who_obeys(safe)}.")
    try:
        paths.check_path(safe)
    except InvalidContent:
        safe = "/".join(paths.safe_name(part) for part in safe.split("/"))
        if path.endswith(".md") and not safe.endswith(".md"):
            safe += ".md"
        paths.check_path(safe)
    return safe


def event_id(source: str, number: int) -> str:
    """The id of an event from elsewhere: the same in every run, on every machine."""
    return f"{hashlib.sha256(source.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}-{number}"
