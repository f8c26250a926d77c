"""Journals that dead writers left: found by their free locks, and taken over to commit."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gitmem.errors import BundleUnusable
from gitmem.files import READ, write_new
from gitmem.locks import ProcessLock
from gitmem.memory.capture import journal_format
from gitmem.memory.capture.journal_format import Record, is_control

_NAME = re.compile(r"([0-9a-f]{32})\.(jsonl|lock)", re.ASCII)
DAMAGED = ".damaged"
"""The ending of a journal that was recovered as far as it could be read."""


@dataclass(frozen=True, slots=True)
class AbandonedJournal:
    """A journal that no other process holds: ours until `discard` or `release`.

    `problems` are sentences about what could not be read. `uuid` is what its head says: a file may be a copy.
    """

    uuid: str
    records: list[Record]
    problems: list[str]
    _lock: ProcessLock | None = field(default=None, repr=False)
    _path: str = field(default="", repr=False)
    _kept: str = field(default="", repr=False)
    """Where the file goes instead of nowhere: some of its lines could not be read."""

    def discard(self, keep: Sequence[Record] = ()) -> None:
        """Remove it: its records are committed, but for those to keep for a later process.

        One with damaged lines is kept aside, as it is. One that could not be read at all stays.
        """
        aside = _aside(self._path)
        try:
            if self._lock is None or not self._lock.held:
                return
            if keep and keep == self.records and not self._kept:
                return
            if keep:
                lines = [journal_format.header(self.uuid), *map(journal_format.event_line, keep)]
                write_new(aside, b"".join(lines))
            if self._kept:
                os.replace(self._path, self._kept)
            if keep:
                os.replace(aside, self._path)
            else:
                self._lock.remove(aside, self._path)
        except OSError as error:
            raise BundleUnusable(
                f"The recovered journal {self._path} cannot be settled ({error.strerror or error}): repair "
                "that; until then it is read at every start, and none of its events is stored twice."
            ) from error
        finally:
            self.release()

    def release(self) -> None:
        """Leave it for another time."""
        if self._lock is not None:
            self._lock.release()


def abandoned(directory: str) -> list[AbandonedJournal]:
    """The journals with free locks, each now held by us, the one with the oldest event first.

    Files without an event are cleared away; journals that another process holds and other files are left alone.
    """
    names = _names(directory)
    found: list[AbandonedJournal] = []
    for uuid in sorted(names):
        path = os.path.join(directory, f"{uuid}.jsonl")
        lock: ProcessLock | None = None
        try:
            lock = ProcessLock.take(os.path.join(directory, f"{uuid}.lock"), create="jsonl" in names[uuid])
            if lock is None:
                continue
            if not os.path.lexists(path):  # a stray lock, or another process was faster
                lock.remove()
                continue
            journal = _opened(path, uuid, lock)
        except OSError as error:
            if lock is not None:
                lock.release()
            if error.errno != errno.ENOENT:
                problem = f"The journal {path} cannot be taken up ({error.strerror or error}): it waits."
                found.append(AbandonedJournal(uuid, [], [problem]))
            continue
        if journal is not None:
            found.append(journal)
    return sorted(found, key=lambda journal: (journal.records[0].at if journal.records else "", journal.uuid))


def _opened(path: str, uuid: str, lock: ProcessLock) -> AbandonedJournal | None:
    with open(os.open(path, READ), "rb") as file:
        contents = journal_format.parse(file, uuid)
    if contents.newer:
        lock.release()
        sentence = f"The journal {path} was written by a newer gitmem: it waits for that one."
        return AbandonedJournal(contents.uuid, [], [sentence])
    told = contents.problems()
    if not contents.records and not told:
        lock.remove(_aside(path), path)
        return None
    kept = _free_name(path.removesuffix(".jsonl")) if contents.damaged else ""
    end = f"; recovery keeps the file as {kept}." if kept else "."
    problems = [f"Journal {contents.uuid}: {problem}{end}" for problem in told]
    return AbandonedJournal(contents.uuid, contents.records, problems, lock, path, kept)


def pending_count(directory: str) -> int:
    """Return how many events wait in all journals, live ones too: their lines, counted without a lock."""
    total = 0
    for uuid in journals_in(directory):
        with contextlib.suppress(OSError), open(os.path.join(directory, f"{uuid}.jsonl"), "rb") as file:
            lines = sum(line.endswith(b"\n") and not is_control(line) for line in file)
            total += max(0, lines - 1)
    return total


def journals_in(directory: str) -> list[str]:
    """The names of the journals there, held or not."""
    return sorted(uuid for uuid, endings in _names(directory).items() if "jsonl" in endings)


def damaged(directory: str) -> list[str]:
    """Files of journals that were recovered but for some lines, and wait for a person."""
    try:
        return sorted(
            os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(DAMAGED)
        )
    except OSError:
        return []


def _names(directory: str) -> dict[str, set[str]]:
    """The endings of our files by uuid."""
    names: dict[str, set[str]] = {}
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                match = _NAME.fullmatch(entry.name)
                if match is not None and entry.is_file(follow_symlinks=False):
                    names.setdefault(match.group(1), set()).add(match.group(2))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise BundleUnusable(
            f"The journals in {directory} cannot be looked at ({error.strerror or error})."
        ) from error
    return names


def _aside(path: str) -> str:
    """Return what a writer that died while it forgot events may have left beside its journal."""
    return path.removesuffix(".jsonl") + ".new"


def _free_name(stem: str) -> str:
    """A free name; no other process looks for one while we hold the journal's lock."""
    name, number = stem + DAMAGED, 1
    while os.path.lexists(name):
        number += 1
        name = f"{stem}.{number}{DAMAGED}"
    return name
