"""The curated store: a small memory with hard limits, exact edits, and a prompt block that stays frozen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from gitmem.config import Config
from gitmem.errors import StoreRefusal, UsageError
from gitmem.git.message import Message
from gitmem.memory.curated import ages
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import Admission, Admitted, Held
from gitmem.memory.gate.marks import MARKS, confirmed, marks_of
from gitmem.memory.origin import Origin, source_trailer
from gitmem.okf import layout
from gitmem.okf.curated import MAX_STORE_BYTES, CuratedFile
from gitmem.okf.entries import Entry, entry_hash
from gitmem.okf.plain import Printed
from gitmem.okf.short_ids import is_meant, looks_like_id
from gitmem.okf.timestamps import later, parse
from gitmem.okf.validate import too_large
from gitmem.state import HOST_LINK

if TYPE_CHECKING:
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


class StoreOptions(TypedDict, total=False):
    """The store that a change is for, who asks for it, and whether that is a person."""

    target: Target
    machine: bool
    origin: Origin | None
    by_person: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a batch."""

    action: Literal["add", "replace", "remove"]
    content: str = ""
    old_text: str = ""


@dataclass(frozen=True, slots=True)
class Answer(Printed):
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
    near: tuple[Entry, ...] = ()
    """Entries that the new one may repeat or contradict; both are kept."""
    bounded: bool = True
    """Whether the store refuses what goes beyond its limit; else the prompt block has what fits."""

    @property
    def percent(self) -> int:
        return min(100, self.usage * 100 // self.limit)

    @property
    def note(self) -> str:
        if self.percent <= _NEARLY_FULL:
            return ""
        if not self.bounded:
            full = self.usage > self.limit
            return (
                "The prompt block is full: `gitmem status` names what is found by search only."
                if full
                else ""
            )
        return f"The store is {self.percent} % full: merge or shorten entries before adding more."


@dataclass(slots=True)
class _Done:
    """Effects of a batch inside a transaction."""

    target: Target
    what: list[str] = field(default_factory=list)
    """What the commit says."""
    told: list[str] = field(default_factory=list)
    """What the answer says."""
    added: str = ""
    """The newest text, as it is stored."""
    held: list[str] = field(default_factory=list)
    usage: int = 0
    count: int = 0
    changed: bool = False
    confirmed: bool = False
    """Whether a mark went, which is no part of what makes an entry."""
    sources: dict[str, None] = field(default_factory=dict)
    """Where the new texts came from, as far as the session heard it."""

    def message(self, kind: str, origin: Origin) -> Message:
        """Return what the commit says."""
        what = "; ".join(self.what) or f"hold {', '.join(self.held)}"
        if origin.user and self.target == "user":
            what = "change the page of a user"  # a subject is for every reader of the history
        return Message(kind, what, source_trailer(self.sources, origin))


class CuratedStore:
    """MEMORY.md and USER.md of one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    # Reading

    def limit(self, target: Target) -> int:
        config = self._bundle.config
        return config.memory_char_limit if target == "memory" else config.user_char_limit

    def is_bounded(self, target: Target) -> bool:
        """Return whether the limit is of the store, and not of the prompt block alone."""
        config = self._bundle.config
        if config.when_full != "auto":
            return config.when_full == "refuse"
        name = f"{target}_char_limit"
        is_set = config.origin(name) != "default" or getattr(config, name) != getattr(Config, name)
        return is_set or self._bundle.state.has(HOST_LINK)

    def is_enabled(self, target: Target) -> bool:
        config = self._bundle.config
        return config.memory_enabled if target == "memory" else config.user_profile_enabled

    def path(self, target: Target, *, machine: str = "", user: str = "") -> str:
        """The file of a target's entries; of one machine's, or of those about one user among several."""
        if target == "user":
            return layout.user_memory(user) if user else layout.USER
        return layout.machine_memory(machine) if machine else layout.MEMORY

    def entries(
        self, target: Target, *, revision: str = "HEAD", machine: str | None = None, user: str = ""
    ) -> list[Entry]:
        """Shared entries, then those of a machine (this one unless named) or a user, without duplicates."""
        if not self.is_enabled(target):
            return []
        tree = self._bundle.tree(revision)
        latest = latest_date(self._bundle)
        return _unique(
            dated(entry, latest)
            for path in self.paths(target, machine, user)
            for entry in ages.read(self._bundle, tree, path, revision=revision).entries
        )

    def paths(self, target: Target, machine: str | None = None, user: str = "") -> list[str]:
        """The files of a store: the shared one, and that of a machine (this one unless named) or of a user."""
        machine = self._bundle.config.machine if machine is None else machine
        return list(dict.fromkeys((self.path(target), self.path(target, machine=machine, user=user))))

    def target_of(self, path: str) -> Target:
        """The store that a file belongs to."""
        return "user" if path == layout.USER else "memory"

    def find(
        self, old: str, *, target: Target | None = None, machine: bool | None = None
    ) -> tuple[Target, bool]:
        """Return where the one entry that contains a text is: in which store, and whether it is this machine's alone."""
        places = {
            (one, local): CuratedFile.parse_leniently(self._bundle.read(path), path)
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

    def entry(self, old: str) -> Entry:
        """The one entry of both stores that contains a text, or has that id."""
        entries = [entry for target in TARGETS for entry in self.entries(target)]
        return _the_one(entries, old, "the curated store", usage=0, limit=self.limit("memory"))

    # Changing

    def add(self, text: str, **asked: Unpack[StoreOptions]) -> Answer:
        """Add an entry; one that is there already changes nothing."""
        return self.batch([Operation("add", text)], **asked)

    def replace(self, old: str, new: str, **asked: Unpack[StoreOptions]) -> Answer:
        """Put another text in the place of the one entry that contains `old`, or has that id."""
        return self.batch([Operation("replace", new, old)], **asked)

    def remove(self, old: str, **asked: Unpack[StoreOptions]) -> Answer:
        """Remove the one entry that contains `old`, or has that id."""
        return self.batch([Operation("remove", old_text=old)], **asked)

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
            return done.message("memory", origin) if done.changed or edits else None

        published = self._bundle.commit(work, purpose="memory", origin=origin)
        message = "; ".join(done.told) or "Nothing changed."
        if done.held:
            message = f"Held for a person to look at: {', '.join(done.held)}."
        answer = Answer(
            target,
            message,
            done.usage,
            self.limit(target),
            done.count,
            bounded=self.is_bounded(target),
            changed=published is not None and done.changed,
            held=tuple(done.held),
            commit=published.commit.oid if published and done.changed else "",
        )
        if answer.commit and done.added:
            from gitmem.memory.curated.conflicts import near

            answer = replace(answer, near=near(done.added, self.entries(target)))
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
        path = self.path(target, machine=self._bundle.config.machine if machine else "", user=origin.user)
        if machine and path == layout.MEMORY:
            raise UsageError("This machine has no name: set `machine` in the settings first.")
        start = ages.read(self._bundle, edits, path)
        file = start
        others = sum(
            len(entry.text) + 3
            for other in self.paths(target, None, origin.user)
            if other != path
            for entry in CuratedFile.parse_leniently(edits.read(other), other).entries
        )
        done = _Done(target)
        now = self._bundle.now()
        admission = Admission(self._bundle, edits, origin=origin, by_person=by_person)
        for number, operation in enumerate(operations):
            file = self._operate(file, path, operation, done, admission, at=later(now, number))
        done.usage, done.count = file.usage + others, len(file.entries)
        limit = self.limit(target)
        texts = [entry.text for entry in start.entries]
        refusal = partial(StoreRefusal, usage=start.usage + others, limit=limit, entries=texts)
        if done.usage > limit and file.usage > start.usage and self.is_bounded(target):
            raise refusal(
                f"The {target} store would hold {done.usage:,} of {limit:,} characters: merge, shorten or "
                "remove entries first, then add this again."
            )
        done.changed = file.entries != start.entries or done.confirmed
        if file.usage > start.usage and (reason := too_large(path, file.render())):
            raise refusal(f"{path} would be too large: {reason} Remove or shorten entries first.")
        if done.changed:
            edits.write_concept(path, file.as_concept())
            if self.is_bounded(
                target
            ):  # what an agent removed only because the store is full is found in the archive
                from gitmem.memory.curated.archive import lay_evicted

                left = {key for one in file.entries for key in (one.key.id, one.replaces)}
                gone = [one for one in start.entries if one.key.id not in left]
                full = {"usage": start.usage + others, "limit": limit}
                lay_evicted(edits, target, [one for one in gone if admission.evicts(one, **full)])
            if path == layout.USER:
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
        most = self.limit(done.target) if self.is_bounded(done.target) else MAX_STORE_BYTES
        if len(operation.content) > most:
            raise StoreRefusal(
                f"One text of {len(operation.content):,} characters is more than the {done.target} store holds "
                f"({most:,}): shorten it.",
                usage=file.usage,
                limit=self.limit(done.target),
                entries=[entry.text for entry in file.entries],
            )
        if operation.action == "add":
            came = _admitted(admission.entry(operation.content, path), done)
            if came is None:
                return file
            text = came.text
            known = file.get(entry_hash(text))
            if known is not None and admission.by_person and not known.extra.keys().isdisjoint(MARKS):
                done.confirmed = True
                done.what.append(f"confirm {text}")
                done.told.append(f"Confirmed {known.key.id[:8]}: {text}")
                return file.with_entries(confirmed(one) if one is known else one for one in file.entries)
            if known is not None:
                done.told.append(f"Already there: {text}")
                return file
            done.what.append(f"add {text}")
            done.told.append(f"Added {entry_hash(text)[:8]}: {text}")
            done.added = text
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
        done.what.append(f"replace {found.text} with {came.text}")
        done.told.append(f"Replaced {found.text!r} with {entry_hash(came.text)[:8]}: {came.text}")
        return file.replace(found.key.id, came.text, file.next_at(at), **came.marks)


def add_to_profile(edits: Edits, facts: Mapping[str, Mapping[str, Any]], at: str) -> None:
    """Append facts about the user, each with its marks, to the page of their day: it has also what USER.md lost since."""
    path = layout.user_profile(at)
    data = edits.read(path)
    title = f"User profile, {layout.day(at)}"
    new = CuratedFile.new(layout.USER_PROFILE, title, tags=["user", "profile"])
    known = grown = new if data is None else CuratedFile.parse(data, path)
    for text, marks in facts.items():
        grown = grown.add(text, grown.next_at(at), **marks)
    if grown != known:
        edits.write(path, grown.render())


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
        previews = "; ".join(f"{entry.key.id[:8]} {entry.text[:_PREVIEW]}" for entry in found)
        raise refusal(
            f"{len(found)} entries contain {old[:_PREVIEW]!r}: give more of one, or its id ({previews}).",
            [entry.text for entry in found],
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
