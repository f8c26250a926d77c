"""The curated store: a small memory with hard limits, exact edits, and a prompt block that stays frozen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack

from gitmem.config import Config
from gitmem.errors import StoreRefusal, UsageError
from gitmem.git.message import Message
from gitmem.memory.curated import ages
from gitmem.memory.curated.conflicts import near
from gitmem.memory.edits import Edits, Files
from gitmem.memory.gate.admission import ENTRY, Admission, Admitted, Held, Policy, redacted
from gitmem.memory.gate.marks import MARKS, confirmed, marks_of
from gitmem.memory.origin import Origin, source_trailer
from gitmem.okf import layout
from gitmem.okf.curated import MAX_STORE_BYTES, CuratedFile
from gitmem.okf.entries import Entry, entry_hash
from gitmem.okf.plain import Printed
from gitmem.okf.short_ids import is_meant, looks_like_id
from gitmem.okf.timestamps import parse
from gitmem.okf.validate import too_large
from gitmem.state import HOST_LINK

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.safety.verdict import Result

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
    """The store that a change is for, who asks, and whether that is a person: then what was retracted may come back."""

    target: Target
    machine: bool
    origin: Origin | None
    by_person: bool


class Operation(NamedTuple):
    """One step of a change: a text to add, one to put in the place of an entry, or an entry to remove."""

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
        if self.bounded:
            return f"The store is {self.percent} % full: merge or shorten entries before adding more."
        is_over = self.usage > self.limit
        return "The prompt block is full: `gitmem status` names what search alone finds." if is_over else ""


class StoreEdit:
    """Changes of one store, laid over the edits of one commit: each text passes the gate.

    Commands, tools, distilled facts and the mirror of a host's file write by it. New entries go to `path`; those of
    all `paths` count. `policy` says what becomes of a text that the scanner flags.
    """

    def __init__(
        self,
        bundle: Bundle,
        edits: Edits,
        target: Target,
        *,
        paths: Sequence[str],
        path: str,
        origin: Origin,
        by_person: bool = False,
        policy: Policy = ENTRY,
        at: str = "",
    ) -> None:
        store = bundle.part(CuratedStore)
        self._edits, self.target, self.path = edits, target, path
        self._origin, self._policy = origin, policy
        self._admission = Admission(bundle, edits, origin=origin, by_person=by_person)
        self._start = {one: ages.read(bundle, edits, one) for one in paths}
        self._files = dict(self._start)
        self._usage_before = self.usage
        self._most, self._is_bounded = store.limit(target), store.is_bounded(target)
        self._at = at or bundle.now()
        self._evicted: list[Entry] = []
        self._is_confirmed = False
        self.what: list[str] = []
        """What the commit says."""
        self.told: list[str] = []
        """What an answer says."""
        self.added = ""
        """The newest text, as it is stored."""
        self.held: dict[str, Result] = {}
        """What waits for a person, by its id in quarantine."""
        self.sources: dict[str, None] = {}
        """Where the new texts came from, as far as the session heard it."""

    @property
    def entries(self) -> list[Entry]:
        """The entries of the file that new ones go to."""
        return list(self._files[self.path].entries)

    @property
    def usage(self) -> int:
        """Size of the store: the characters in all its files."""
        return sum(file.usage for file in self._files.values())

    @property
    def is_changed(self) -> bool:
        return self._is_confirmed or any(
            file.entries != self._start[path].entries for path, file in self._files.items()
        )

    def get(self, name: str) -> Entry | None:
        """The entry with a hash, in any of the files."""
        return next(filter(None, (file.get(name) for file in self._files.values())), None)

    def do(self, action: str, text: str, old: str) -> None:
        """Do one step of a change, whose entry is named by a part of its text, or by its id."""
        most = self._most if self._is_bounded else MAX_STORE_BYTES
        if len(text) > most:  # before the scanner reads it
            size = f"{len(text):,} characters is more than the {self.target} store holds ({most:,})"
            raise self.refusal(f"One text of {size}: shorten it.")
        if action == "add":
            self.add(text)
            return
        found = _the_one(self.entries, old, f"the {self.target} store", self.refusal)
        if action == "replace":
            self.replace(found, text)
        else:
            self.remove(found)

    def add(self, text: str) -> Held | None:
        """Add an entry; one that is there already is confirmed where a person asks. Gives what holds it back."""
        came = self._admitted(text)
        if isinstance(came, Held):
            return came
        name = entry_hash(came.text)
        known = self.get(name)
        if known is None:
            file = self._files[self.path]
            self._files[self.path] = file.add(came.text, file.next_at(self._at), **came.marks)
            self._say(f"add {came.text}", f"Added {name[:8]}: {came.text}")
            self.added = came.text
        elif self._admission.by_person and not known.extra.keys().isdisjoint(MARKS):
            path, file = self._home(known)
            self._files[path] = file.with_entries(
                confirmed(one) if one is known else one for one in file.entries
            )
            self._is_confirmed = True  # a mark is no part of what makes an entry
            self._say(f"confirm {came.text}", f"Confirmed {name[:8]}: {came.text}")
        else:
            self.told.append(f"Already there: {came.text}")
        return None

    def replace(self, old: Entry, text: str) -> Held | None:
        """Put another text in the place of an entry; gives what holds it back."""
        came = self._admitted(text, old)
        if isinstance(came, Held):
            return came
        path, file = self._home(old)
        self._files[path] = file.replace(old.key.id, came.text, file.next_at(self._at), **came.marks)
        told = f"Replaced {old.text!r} with {entry_hash(came.text)[:8]}: {came.text}"
        self._say(f"replace {old.text} with {came.text}", told)
        return None

    def remove(self, old: Entry) -> None:
        """Remove an entry."""
        path, file = self._home(old)
        self._files[path] = file.remove(old.key.id)
        self._say(f"remove {old.text}", f"Removed {old.key.id[:8]}: {old.text}")
        if self._is_bounded and self._admission.evicts(old, usage=self._usage_before, limit=self._most):
            self._evicted.append(old)

    def write(self, *, learned: bool = True) -> None:
        """Lay the files. What was `learned` about the user is also noted in the profile of its day."""
        from gitmem.memory.curated.archive import lay_evicted

        lay_evicted(self._edits, self.target, [one for one in self._evicted if self.get(one.key.id) is None])
        for path, file in self._files.items():
            before = self._start[path].entries
            if file is self._start[path]:  # equality leaves marks out
                continue
            if file.usage > self._start[path].usage and (reason := too_large(path, file.render())):
                raise self.refusal(f"{path} would be too large: {reason} Remove or shorten entries first.")
            self._edits.write_concept(path, file.as_concept())
            if learned and path == layout.USER:
                fresh = {one.text: marks_of(one) for one in file.entries if one not in before}
                _add_to_profile(self._edits, fresh, self._at)

    def message(self, kind: str) -> Message:
        """Return what the commit says."""
        what = "; ".join(self.what) or f"hold {', '.join(self.held)}"
        if self._origin.user and self.target == "user":
            what = "change the page of a user"  # a subject is for every reader of the history
        return Message(kind, what, source_trailer(self.sources, self._origin))

    def check_limit(self) -> None:
        """Raise where the store would be fuller than it may be; what was too full already may shrink."""
        if self._is_bounded and self.usage > max(self._usage_before, self._most):
            raise self.refusal(
                f"The {self.target} store would hold {self.usage:,} of {self._most:,} characters: merge, shorten "
                "or remove entries first, then add this again."
            )

    def refusal(self, message: str) -> StoreRefusal:
        """A refusal that says how full the store is and what it holds."""
        texts = [one.text for file in self._start.values() for one in file.entries]
        return StoreRefusal(message, usage=self._usage_before, limit=self._most, entries=texts)

    def _home(self, entry: Entry) -> tuple[str, CuratedFile]:
        return next((path, file) for path, file in self._files.items() if file.get(entry.key.id) is not None)

    def _say(self, what: str, told: str) -> None:
        self.what.append(what)
        self.told.append(told)

    def _admitted(self, text: str, replaces: Entry | None = None) -> Admitted | Held:
        answer = self._admission.entry(text, self.path, self._policy, replaces=replaces)
        if isinstance(answer, Held):
            self.held[answer.id] = answer.result
        else:
            self.sources |= dict.fromkeys(answer.sources)
        return answer


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

    def entries(self, target: Target, *, revision: str = "HEAD", user: str = "") -> list[Entry]:
        """Shared entries, then those of this machine or of a user, without duplicates."""
        if not self.is_enabled(target):
            return []
        tree = self._bundle.tree(revision)
        latest = latest_date(self._bundle)
        found: dict[str, Entry] = {}
        for path in self.paths(target, user):
            for entry in ages.read(self._bundle, tree, path, revision=revision).entries:
                found.setdefault(entry.key.id, dated(entry, latest))
        return list(found.values())

    def paths(self, target: Target, user: str = "") -> list[str]:
        """The files of a store: the shared one, and that of this machine or of a user."""
        own = self.path(target, machine=self._bundle.config.machine, user=user)
        return list(dict.fromkeys((self.path(target), own)))

    def usage(self, files: Files, target: Target) -> int:
        """Count the characters of a store, with what is true on this machine only."""
        paths = self.paths(target)
        return sum(CuratedFile.parse_leniently(files.read(path), path).usage for path in paths)

    def target_of(self, path: str) -> Target:
        """The store that a file belongs to."""
        return "user" if path == layout.USER else "memory"

    def find(
        self, old: str, *, target: Target | None = None, machine: bool | None = None
    ) -> tuple[Target, bool, Entry]:
        """The one entry that contains a text, or has that id: its store, whether it is this machine's alone, and itself."""
        found = [
            (one, bool(local), entry)
            for one in ((target,) if target else TARGETS)
            if self.is_enabled(one)
            for local, path in enumerate(self.paths(one))
            if machine in (None, bool(local))
            for entry in CuratedFile.parse_leniently(self._bundle.read(path), path).entries
        ]

        def refusal(message: str) -> StoreRefusal:
            texts = [entry.text for *_, entry in found]
            limit = sum(self.limit(one) for one in dict.fromkeys(one for one, *_ in found))
            return StoreRefusal(message, usage=sum(map(len, texts)), limit=limit, entries=texts)

        entry = _the_one([entry for *_, entry in found], old, "the curated store", refusal)
        return next(one for one in found if one[2] is entry)

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

    def batch(self, operations: Iterable[Operation], **asked: Unpack[StoreOptions]) -> Answer:
        """All operations in one commit, or none of them. The limit counts at the end only."""
        origin = asked["origin"] = asked.get("origin") or self._bundle.origin()
        operations = tuple(operations)
        done: StoreEdit

        def work(edits: Edits) -> Message | None:
            nonlocal done
            done = self.lay(edits, operations, **asked)
            return done.message("memory") if done.is_changed or edits else None

        published = self._bundle.commit(work, purpose="memory", origin=origin)
        commit = published.commit.oid if published and done.is_changed else ""
        message = "; ".join(done.told) or "Nothing changed."
        if done.held:
            message = f"Held for a person to look at: {', '.join(done.held)}."
        is_shared = done.path == layout.MEMORY and self._bundle.config.machine
        is_local = is_shared and any(_LOCAL_PATH.search(one.content) for one in operations)
        return Answer(
            done.target,
            message,
            done.usage,
            self.limit(done.target),
            len(done.entries),
            bool(commit),
            tuple(done.held),
            commit,
            _MACHINE if is_local and published else "",
            near(done.added, self.entries(done.target)) if commit and done.added else (),
            self.is_bounded(done.target),
        )

    def lay(
        self,
        edits: Edits,
        operations: Iterable[Operation],
        *,
        target: Target = "memory",
        machine: bool = False,
        origin: Origin | None = None,
        by_person: bool = False,
    ) -> StoreEdit:
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
        origin = origin or self._bundle.origin()
        path = self.path(target, machine=self._bundle.config.machine if machine else "", user=origin.user)
        if machine and path == layout.MEMORY:
            raise UsageError("This machine has no name: set `machine` in the settings first.")
        paths = self.paths(target, origin.user)
        done = StoreEdit(
            self._bundle, edits, target, paths=paths, path=path, origin=origin, by_person=by_person
        )
        for operation in operations:
            done.do(*operation)
        done.check_limit()
        done.write()
        return done


def _add_to_profile(edits: Edits, facts: Mapping[str, Mapping[str, Any]], at: str) -> None:
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


def _the_one(entries: Sequence[Entry], old: str, where: str, refusal: Callable[[str], StoreRefusal]) -> Entry:
    """The one entry that contains a text, or has that id."""
    old = old.strip()
    if not old:
        raise refusal("Say which entry is meant: give a part of its text.")
    found = [entry for entry in entries if old in entry.text]
    found = found or [
        entry for entry in entries if redacted(old) in entry.text
    ]  # its secret was never stored
    found = [entry for entry in found if entry.text == old] or found
    if not found and looks_like_id(old):
        found = [entry for entry in entries if is_meant(old, entry.key.id)]
    if len(found) == 1:
        return found[0]
    if not found:
        error = refusal(f"No entry of {where} contains {old[:_PREVIEW]!r}.")
        error.near = tuple(_near(old, [entry.text for entry in entries]))
        raise error
    previews = "; ".join(f"{entry.key.id[:8]} {entry.text[:_PREVIEW]}" for entry in found)
    error = refusal(
        f"{len(found)} entries contain {old[:_PREVIEW]!r}: give more of one, or its id ({previews})."
    )
    error.near = tuple(entry.text for entry in found)
    raise error


def _near(old: str, texts: Iterable[str]) -> list[str]:
    """Texts that have some of the words, or nearly; those with most of them first."""
    words = old.casefold().split()
    scores = {
        text: sum(bool(get_close_matches(word, text.casefold().split(), 1, 0.7)) for word in words)
        for text in texts
    }
    return sorted((text for text in texts if scores[text]), key=lambda text: -scores[text])[:3]


def latest_date(bundle: Bundle) -> datetime:
    """The latest date that an entry can rightly have: clocks differ by less than a day."""
    return bundle.world.clock() + timedelta(days=1)


def dated(entry: Entry, latest: datetime) -> Entry:
    """The entry; without its date where that cannot be right, so that it outdoes no other by being the newest."""
    at = parse(entry.at) if entry.at else None
    return replace(entry, at="") if at is not None and at > latest else entry
