"""The curated store: a small memory with hard limits, exact edits, and a prompt block that stays frozen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from gitmem.errors import StoreRefusal, UsageError
from gitmem.git.message import Message
from gitmem.memory.curated import ages
from gitmem.memory.curated.user_profile import add_to_profile
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import Admission, Admitted, Held
from gitmem.memory.gate.hearing import marks_of
from gitmem.memory.origin import Origin, source_trailer
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import Entry, entry_hash
from gitmem.okf.short_ids import is_meant, looks_like_id
from gitmem.okf.timestamps import later, parse
from gitmem.okf.validate import too_large

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.memory.bundle import Bundle

Target = Literal["memory", "user"]
TARGETS: tuple[Target, ...] = ("memory", "user")
_MACHINE = (
    "It names a path of this machine. If it is true here only, remove it and add it again with --machine: "
    "then it enters no other machine's prompt."
)
_LOCAL_PATH = re.compile(
    r"(?<![\w/:.])(?:~/|/(?:home|Users|root|mnt|media|opt|srv|var|usr|etc|tmp|data|Volumes)/)[\w.]|\b[A-Za-z]:\\\w"
)
_NEARLY_FULL = 80
_PREVIEW = 80


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a batch."""

    action: Literal["add", "replace", "remove"]
    content: str = ""
    old_text: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The state of a store after an action."""

    target: Target
    message: str
    usage: int
    limit: int
    count: int
    changed: bool = True
    held: tuple[str, ...] = ()
    """Ids in quarantine of texts that wait for a person."""
    commit: str = ""
    suggestion: str = ""
    """What may be better done another way, if anything."""

    @property
    def percent(self) -> int:
        return min(100, self.usage * 100 // self.limit)

    @property
    def note(self) -> str:
        if self.percent <= _NEARLY_FULL:
            return ""
        return f"The store is {self.percent} % full: merge or shorten entries before adding more."


@dataclass(slots=True)
class _Done:
    """Effects of a batch inside a transaction."""

    target: Target
    what: list[str] = field(default_factory=list)
    """What the commit says."""
    told: list[str] = field(default_factory=list)
    """What the answer says."""
    held: list[str] = field(default_factory=list)
    usage: int = 0
    count: int = 0
    changed: bool = False
    sources: dict[str, None] = field(default_factory=dict)
    """Where the new texts came from, as far as the session heard it."""

    def message(self, kind: str, origin: Origin) -> Message:
        """Return what the commit says."""
        what = "; ".join(self.what) or f"hold {', '.join(self.held)}"
        return Message(kind, what, source_trailer(self.sources, origin))


class CuratedStore:
    """MEMORY.md and USER.md of one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    # Reading

    def limit(self, target: Target) -> int:
        config = self._bundle.config
        return config.memory_char_limit if target == "memory" else config.user_char_limit

    def is_enabled(self, target: Target) -> bool:
        config = self._bundle.config
        return config.memory_enabled if target == "memory" else config.user_profile_enabled

    def path(self, target: Target, *, machine: str = "") -> str:
        """Return where a target's entries stand; with a machine, those that are true there only."""
        if target == "user":
            return layout.USER
        return layout.machine_memory(machine) if machine else layout.MEMORY

    def entries(self, target: Target, *, revision: str = "HEAD", machine: str | None = None) -> list[Entry]:
        """Shared entries, then those of a machine (this one unless named), without duplicates."""
        if not self.is_enabled(target):
            return []
        tree = self._bundle.tree(revision)
        latest = latest_date(self._bundle)
        return _unique(
            dated(entry, latest)
            for path in self.paths(target, machine)
            for entry in ages.read(self._bundle, tree, path, revision=revision).entries
        )

    def paths(self, target: Target, machine: str | None = None) -> list[str]:
        """The files of a store: the shared one, and that of a machine (this one unless named)."""
        machine = self._bundle.config.machine if machine is None else machine
        shared = [self.path(target)]
        return [*shared, self.path("memory", machine=machine)] if target == "memory" and machine else shared

    def find(
        self, old: str, *, target: Target | None = None, machine: bool | None = None
    ) -> tuple[Target, bool]:
        """Return where the one entry that contains a text is: in which store, and whether it is this machine's alone."""
        places = {
            (one, local): CuratedFile.salvage(self._bundle.read(path), path)
            for one in ((target,) if target else TARGETS)
            if self.is_enabled(one)
            for local, path in enumerate(self.paths(one))
            if machine in (None, bool(local))
        }
        entries = [entry for file in places.values() for entry in file.entries]
        limit = sum(self.limit(one) for one in dict.fromkeys(one for one, _ in places))
        usage = sum(file.usage for file in places.values())
        found = _the_one(entries, old, "the curated store", usage=usage, limit=limit)
        one, local = next(place for place, file in places.items() if found in file.entries)
        return one, bool(local)

    # Changing

    def add(
        self,
        text: str,
        *,
        target: Target = "memory",
        machine: bool = False,
        origin: Origin | None = None,
        by_person: bool = False,
    ) -> Answer:
        operations = [Operation("add", text)]
        return self.batch(operations, target=target, machine=machine, origin=origin, by_person=by_person)

    def replace(
        self,
        old: str,
        new: str,
        *,
        target: Target = "memory",
        machine: bool = False,
        origin: Origin | None = None,
        by_person: bool = False,
    ) -> Answer:
        operations = [Operation("replace", new, old)]
        return self.batch(operations, target=target, machine=machine, origin=origin, by_person=by_person)

    def remove(
        self, old: str, *, target: Target = "memory", machine: bool = False, origin: Origin | None = None
    ) -> Answer:
        return self.batch([Operation("remove", old_text=old)], target=target, machine=machine, origin=origin)

    def batch(
        self,
        operations: Sequence[Operation],
        *,
        target: Target = "memory",
        machine: bool = False,
        origin: Origin | None = None,
        by_person: bool = False,
    ) -> Answer:
        """All operations in one commit, or none of them. The limit counts at the end only.

        `by_person` says that a person asks: then what was retracted may come back.
        """
        origin = origin or self._bundle.origin()
        done = _Done(target)

        def work(edits: Edits) -> Message | None:
            nonlocal done
            done = self.lay(
                edits, operations, target=target, machine=machine, origin=origin, by_person=by_person
            )
            if not done.changed and not edits:
                return None
            return done.message("memory", origin)

        published = self._bundle.commit(work, purpose="memory", origin=origin)
        answer = self._answer(done, published)
        local = any(names_local_path(one.content) for one in operations)
        if local and published and target == "memory" and not machine and self._bundle.config.machine:
            return replace(answer, suggestion=_MACHINE)
        return answer

    def lay(
        self,
        edits: Edits,
        operations: Sequence[Operation],
        *,
        target: Target,
        machine: bool = False,
        origin: Origin,
        by_person: bool = False,
    ) -> _Done:
        """Put operations into a transaction that may hold more; raises before anything is laid."""
        if target not in TARGETS:
            raise UsageError(f"There is no target {target!r}: the targets are {', '.join(TARGETS)}.")
        if not self.is_enabled(target):
            raise UsageError(f"The store {target!r} is switched off in the settings.")
        if machine and target == "user":
            raise UsageError(
                "What is known of the user holds on every machine: it cannot be this machine's alone.",
                hint="Leave `machine` out, or add it to the memory.",
            )
        if not operations:
            raise UsageError("There is nothing to do: give at least one operation.")
        path = self.path(target, machine=self._bundle.config.machine if machine else "")
        if machine and path == layout.MEMORY:
            raise UsageError("This machine has no name: set `machine` in the settings first.")
        start = ages.read(self._bundle, edits, path)
        file = start
        others = sum(
            len(entry.text) + 3
            for other in self.paths(target, None)
            if other != path
            for entry in CuratedFile.salvage(edits.read(other), other).entries
        )
        done = _Done(target)
        now = self._bundle.now()
        admission = Admission(self._bundle, edits, origin=origin, by_person=by_person)
        for number, operation in enumerate(operations):
            file = self._operate(file, path, operation, done, admission, at=later(now, number))
        done.usage, done.count = file.usage + others, len(file.entries)
        limit = self.limit(target)
        if done.usage > limit and file.usage > start.usage:
            raise StoreRefusal(
                f"The {target} store would hold {done.usage:,} of {limit:,} characters: merge, shorten or "
                "remove entries first, then add this again.",
                usage=start.usage + others,
                limit=limit,
                entries=[entry.text for entry in start.entries],
            )
        done.changed = file.entries != start.entries
        if file.usage > start.usage and (reason := too_large(path, file.render())):
            raise StoreRefusal(
                f"{path} would be too large: {reason} Remove or shorten entries first.",
                usage=start.usage + others,
                limit=limit,
                entries=[entry.text for entry in start.entries],
            )
        if done.changed:
            edits.write_concept(path, file.as_concept())
            if target == "user":
                learned = [entry for entry in file.entries if entry not in start.entries]
                add_to_profile(edits, {entry.text: marks_of(entry) for entry in learned}, now)
        return done

    def _operate(
        self,
        file: CuratedFile,
        path: str,
        operation: Operation,
        done: _Done,
        admission: Admission,
        *,
        at: str,
    ) -> CuratedFile:
        if len(operation.content) > self.limit(done.target):
            raise StoreRefusal(
                f"One text of {len(operation.content):,} characters is more than the {done.target} store holds "
                f"({self.limit(done.target):,}): shorten it.",
                usage=file.usage,
                limit=self.limit(done.target),
                entries=[entry.text for entry in file.entries],
            )
        if operation.action == "add":
            came = _admitted(admission.entry(operation.content, path), done)
            if came is None:
                return file
            text = came.text
            if file.get(entry_hash(text)) is not None:
                done.told.append(f"Already there: {text}")
                return file
            done.what.append(f"add {text}")
            done.told.append(f"Added {entry_hash(text)[:8]}: {text}")
            return file.add(text, file.next_at(at), **came.marks)
        if operation.action not in ("replace", "remove"):
            raise UsageError(
                f"There is no action {operation.action!r}: the actions are add, replace, remove."
            )
        where, limit = f"the {done.target} store", self.limit(done.target)
        found = _the_one(file.entries, operation.old_text, where, usage=file.usage, limit=limit)
        if operation.action == "remove":
            done.what.append(f"remove {found.text}")
            done.told.append(f"Removed {found.key.id[:8]}: {found.text}")
            return file.remove(found.key.id)
        came = _admitted(admission.entry(operation.content, path, replaces=found), done)
        if came is None:
            return file
        done.what.append(f"replace {found.text} by {came.text}")
        done.told.append(f"Replaced {found.text!r} with {entry_hash(came.text)[:8]}: {came.text}")
        return file.replace(found.key.id, came.text, file.next_at(at), **came.marks)

    def _answer(self, done: _Done, published: Published | None) -> Answer:
        message = "; ".join(done.told) or "Nothing changed."
        if done.held:
            message = f"Held for a person to look at: {', '.join(done.held)}."
        return Answer(
            done.target,
            message,
            done.usage,
            self.limit(done.target),
            done.count,
            changed=published is not None and done.changed,
            held=tuple(done.held),
            commit=published.commit.oid if published and done.changed else "",
        )


def _admitted(answer: Admitted | Held, done: _Done) -> Admitted | None:
    """The text as it may be stored; None where it is held for a person."""
    if isinstance(answer, Held):
        done.held.append(answer.id)
        return None
    done.sources |= dict.fromkeys(answer.sources)
    return answer


def names_local_path(text: str) -> bool:
    """Return whether a text names a file of one machine."""
    return _LOCAL_PATH.search(text) is not None


def _the_one(entries: Sequence[Entry], old: str, where: str, *, usage: int, limit: int) -> Entry:
    """The one entry that contains a text, or has that id."""
    old = old.strip()
    texts = [entry.text for entry in entries]

    def refusal(message: str, near: Sequence[str] = ()) -> StoreRefusal:
        return StoreRefusal(message, usage=usage, limit=limit, entries=texts, near=near)

    if not old:
        raise refusal("Say which entry is meant: give a part of its text.")
    found = [entry for entry in entries if old in entry.text]
    found = [entry for entry in found if entry.text == old] or found
    if not found and looks_like_id(old):
        found = [entry for entry in entries if is_meant(old, entry.key.id)]
    if not found:
        raise refusal(f"No entry of {where} contains {old[:_PREVIEW]!r}.", _near(old, texts))
    if len(found) > 1:
        near = [entry.text for entry in found]
        previews = "; ".join(text[:_PREVIEW] for text in near)
        raise refusal(
            f"{len(found)} entries contain {old[:_PREVIEW]!r}: give more of one text ({previews}).", near
        )
    return found[0]


def _near(old: str, texts: Iterable[str]) -> list[str]:
    """Texts that have some of the words, or nearly; those with most of them first."""
    from difflib import get_close_matches

    words = old.casefold().split()
    scores = {
        text: sum(bool(get_close_matches(word, text.casefold().split(), 1, 0.7)) for word in words)
        for text in texts
    }
    return sorted((text for text in texts if scores[text]), key=lambda text: -scores[text])[:3]


def _unique(entries: Iterable[Entry]) -> list[Entry]:
    found: dict[str, Entry] = {}
    for entry in entries:
        found.setdefault(entry.key.id, entry)
    return list(found.values())


def latest_date(bundle: Bundle) -> datetime:
    """The latest date that an entry can rightly have: clocks differ by less than a day."""
    return bundle.world.clock() + timedelta(days=1)


def dated(entry: Entry, latest: datetime) -> Entry:
    """The entry; without its date where that cannot be right, so that it outdoes no other by being the newest."""
    at = parse(entry.at) if entry.at else None
    return replace(entry, at="") if at is not None and at > latest else entry
