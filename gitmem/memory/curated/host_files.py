"""The host's own § files beside the curated store: what each side changed since they last agreed.

An agent such as Hermes keeps `MEMORY.md` and `USER.md` itself and writes them as it likes. They are compared
three-way, with what both last agreed on as the base: two-way, an entry that a sync just brought, and that is
not yet in the host's file, would read as removed by the host. Nothing here touches the host's disk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent
from gitmem.git.message import Message
from gitmem.memory.curated import ages
from gitmem.memory.curated.contests import uncontested
from gitmem.memory.curated.store import CuratedStore
from gitmem.memory.curated.user_profile import add_to_profile
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import (
    FOUND_ENTRY,
    UNCONFIRMED,
    Admission,
    Admitted,
    Held,
    is_retracted,
    redacted,
)
from gitmem.memory.gate.egress import Egress
from gitmem.memory.gate.foreign import Foreign
from gitmem.memory.gate.hearing import marks_of
from gitmem.memory.origin import Origin, source_trailer
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile, check_text
from gitmem.okf.entries import DELIMITER, Entry, entry_hash, section_key
from gitmem.text.similarity import pair_similar

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.curated.store import Target
    from gitmem.safety.verdict import Result

NAMES: dict[Target, str] = {"memory": "MEMORY.md", "user": "USER.md"}
HOST_FILE = "host file"
"""The source of a change that nobody told us of."""
# Entries that did not fit come back only while the agent keeps this much of the store free for itself.
_ROOMY = 0.8


# --- the host's format -----------------------------------------------------------------------------------


def parse(data: bytes, name: str) -> list[str]:
    """The entries as the host reads them: stripped, without blank ones and duplicates."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidContent(
            f"{name} is not UTF-8 (byte {error.start}): repair it or move it away."
        ) from error
    texts = (part.strip() for part in _plain(text).split(DELIMITER))
    return list(dict.fromkeys(text for text in texts if text))


def render(texts: Iterable[str]) -> bytes:
    """The file as the host writes it: stripped entries, its delimiter; and a final newline, which the host strips.

    Without it, a line that somebody adds with a shell would be the end of the last entry's own last line.
    """
    joined = DELIMITER.join(_plain(text).strip() for text in texts)
    return f"{joined}\n".encode() if joined else b""


def size(texts: Sequence[str]) -> int:
    """Return what the host counts against its limit."""
    return len(DELIMITER.join(texts))


def _plain(text: str) -> str:
    # The host reads in text mode, where every line end becomes \n.
    return text.replace("\r\n", "\n").replace("\r", "\n")


# --- what the host changed -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HostWrite:
    """A write of the host's memory tool, as the host told an agent's provider of it."""

    at: str
    action: str
    target: str
    content: str = ""
    old_text: str = ""
    origin: Origin = field(default_factory=Origin)
    journal: str = ""
    number: int = 0
    """Where it stands: a notice is used once."""
    is_open: bool = False
    """Whether the turn that wrote it goes on: what its tools returned is known when it is over."""


@dataclass(frozen=True, slots=True)
class HostChange:
    """One entry that came (`old` is empty), went (`new` is empty) or was replaced."""

    old: str
    new: str
    notice: HostWrite | None = None
    earlier: tuple[tuple[str, HostWrite], ...] = ()
    """Wordings that were written and replaced since the last compare: each is a commit of its own."""


class _Slot:
    """An entry while notices are played again: its text, what it was in the base, who wrote it last."""

    __slots__ = ("earlier", "notice", "root", "text")

    def __init__(self, text: str, root: str = "", notice: HostWrite | None = None) -> None:
        self.text = text
        self.root = root
        self.notice = notice
        self.earlier: list[tuple[str, HostWrite]] = []

    def reword(self, text: str, notice: HostWrite) -> None:
        if self.notice is not None and self.text != text:
            self.earlier.append((self.text, self.notice))
        self.text, self.notice = text, notice


def changes(base: Sequence[str], present: Sequence[str], notices: Sequence[HostWrite]) -> list[HostChange]:
    """Return what led from the base to the present, each with the notice that explains it.

    The notices are played again over the base as the host plays them. Where the outcome is what is in
    the file, they explain it; what is left over is paired by likeness and has no notice.
    """
    came = [text for text in present if text not in base]
    went = [text for text in base if text not in present]
    slots, removed = _played(base, notices)
    written = {slot.text: slot for slot in slots if slot.notice is not None}
    found: list[HostChange] = []
    rest: list[str] = []
    for text in came:
        slot = written.get(text)
        if slot is None:
            rest.append(text)
            continue
        old = slot.root if slot.root in went else ""
        if old:
            went.remove(old)
        found.append(HostChange(old, text, slot.notice, tuple(slot.earlier)))
    explained = [text for text in went if text in removed]
    found += [HostChange(text, "", removed[text]) for text in explained]
    went = [text for text in went if text not in removed]
    pairs = pair_similar(went, rest)
    found += [HostChange(went[pairs[k]] if k in pairs else "", text) for k, text in enumerate(rest)]
    found += [HostChange(text, "") for i, text in enumerate(went) if i not in pairs.values()]
    return found


def _played(base: Sequence[str], notices: Sequence[HostWrite]) -> tuple[list[_Slot], dict[str, HostWrite]]:
    slots = [_Slot(text, text) for text in base]
    removed: dict[str, HostWrite] = {}
    for notice in sorted(notices, key=lambda one: one.at):
        content, old = _plain(notice.content).strip(), _plain(notice.old_text).strip()
        matches = [slot for slot in slots if old and old in slot.text]
        if notice.action == "add":
            if content and all(slot.text != content for slot in slots):
                slots.append(_Slot(content, "", notice))
        elif notice.action == "replace" and content:
            if matches:
                matches[0].reword(content, notice)
            else:  # what it replaced came and went between two compares
                slots.append(_Slot(content, "", notice))
        elif notice.action == "remove" and matches:
            slots.remove(matches[0])
            if matches[0].root:
                removed[matches[0].root] = notice
    return slots, removed


# --- into the bundle -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Taken:
    """Changes taken in from one host file."""

    commits: list[Published] = field(default_factory=list)
    held: dict[str, Result] = field(default_factory=dict)
    """Ids in quarantine, and why."""
    refused: dict[str, None] = field(default_factory=dict)
    """Why entries cannot be stored at all."""
    suspicious: str = ""
    """The commit of a mass removal that nobody told us of."""
    lost: tuple[int, int] = (0, 0)
    """How many entries went in that one, of how many."""


def take_in(
    bundle: Bundle, target: Target, found: Sequence[HostChange], *, of: int, present: Sequence[str] = ()
) -> Taken:
    """Commit what the host changed, one commit an entry; `of` is how many entries the base had.

    What is new stands where it stands in `present`, the host's file. A mass removal without a notice is one commit,
    so that one revert takes it back.
    """
    done = Taken()
    lost = [change for change in found if not change.new and change.notice is None]
    mass = lost if lost and 3 * len(lost) > of else []
    for change in found:
        if change in mass:
            continue
        old = change.old
        for text, notice in change.earlier:
            _commit(bundle, target, [HostChange(old, text, notice)], done)
            old = text if _has(bundle, target, text) else old
        _commit(bundle, target, [replace(change, old=old)], done, present=present)
    if mass:
        done.lost = (len(mass), of)
        _commit(bundle, target, mass, done)
    return done


def _has(bundle: Bundle, target: Target, text: str) -> bool:
    name = entry_hash(redacted(text))
    paths = paths_of(bundle, target)
    return any(CuratedFile.salvage(bundle.read(path), path).get(name) is not None for path in paths)


def import_entries(bundle: Bundle, target: Target, texts: Sequence[str]) -> Taken:
    """Commit what a host's file held before gitmem came, as one commit of kind `import`."""
    done = Taken()
    if texts:
        _commit(bundle, target, [HostChange("", text) for text in texts], done, kind="import")
    return done


def _commit(
    bundle: Bundle,
    target: Target,
    batch: Sequence[HostChange],
    done: Taken,
    *,
    kind: str = "host",
    present: Sequence[str] = (),
) -> None:
    notice = batch[0].notice
    origin = notice.origin if notice else bundle.origin(source=HOST_FILE)
    at = notice.at if notice else bundle.now()

    def work(edits: Edits) -> Message | None:
        lay = _Lay(bundle, edits, target, origin, at, done, present)
        what = [said for change in batch if (said := lay.lay(change))]
        if not what and not edits:
            return None
        what = what or ["hold an entry for a person"]
        lay.write(learned=kind != "import")
        if kind == "import":
            return Message(kind, f"{NAMES[target]}, {len(what)} {'entry' if len(what) == 1 else 'entries'}")
        if done.lost[0] > 0:
            lost, of = done.lost
            return Message(
                kind, f"suspicious: {NAMES[target]} lost {lost} of {of} entries", {"Scan": "mass-change"}
            )
        return Message(kind, "; ".join(what), source_trailer(lay.sources, origin))

    published = bundle.commit(work, purpose=kind, origin=origin)
    if published:
        done.commits.append(published)
        if done.lost[0] > 0:
            done.suspicious = published.commit.oid


class _Lay:
    """Changes of one host file laid over the edits of one commit."""

    def __init__(
        self,
        bundle: Bundle,
        edits: Edits,
        target: Target,
        origin: Origin,
        at: str,
        done: Taken,
        present: Sequence[str],
    ) -> None:
        self._order = [_key(text) for text in present]
        self._bundle = bundle
        self._edits = edits
        self._origin = origin
        self._at = at
        self._done = done
        self._files = {path: ages.read(bundle, edits, path) for path in paths_of(bundle, target)}
        self._shared = next(iter(self._files))
        self._start = dict(self._files)
        self._waits = False
        self.sources: dict[str, None] = {}
        """Where the new texts came from, as far as their session heard it."""

    def lay(self, change: HostChange) -> str:
        """Return what it did, in words; empty where the bundle has it already or keeps it out."""
        where = self._place_of(change.old) if change.old else ""
        old = self._files[where].get(self._hash(change.old)) if where else None
        came = self._admitted(change.new, old) if change.new else None
        if change.new and came is None and self._waits:
            return ""  # what it was to replace stays until a person has looked
        new, marks = (came.text, came.marks) if came else ("", {})
        if where and new:
            file = self._files[where]
            at = file.next_at(self._at)
            file = file.replace(self._hash(change.old), new, at, **marks)
            self._files[where] = file.placed(entry_hash(new), self._order)
            return f"replace {change.old} by {new}"
        if where:
            self._files[where] = self._files[where].remove(self._hash(change.old))
            return f"remove {change.old}"
        if new and all(file.get(entry_hash(new)) is None for file in self._files.values()):
            file = self._files[self._shared]
            file = file.add(new, file.next_at(self._at), **marks)
            self._files[self._shared] = file.placed(entry_hash(new), self._order)
            return f"add {new}"
        return ""

    def write(self, *, learned: bool) -> None:
        """Lay the files; what was learned now about the user is noted in the profile too."""
        for path, file in self._files.items():
            before = self._start[path].entries
            if file.entries != before:
                self._edits.write(path, file.render())
                if learned and path == layout.USER:
                    fresh = {entry.text: marks_of(entry) for entry in file.entries if entry not in before}
                    add_to_profile(self._edits, fresh, self._at)

    def _hash(self, text: str) -> str:
        return entry_hash(redacted(text))

    def _place_of(self, text: str) -> str:
        """The file that has an entry: one of this machine stays one of this machine."""
        name = self._hash(text)
        return next((path for path, file in self._files.items() if file.get(name) is not None), "")

    def _admitted(self, text: str, replaces: Entry | None) -> Admitted | None:
        """The text as it may be stored; None where it is held back or cannot be an entry."""
        self._waits = False
        admission = Admission(self._bundle, self._edits, origin=self._origin)
        try:
            answer = admission.entry(text, self._shared, FOUND_ENTRY, replaces=replaces)
        except InvalidContent as error:
            self._done.refused[str(error)] = None
            return None
        if isinstance(answer, Held):
            self._done.held[answer.id] = answer.result
            self._waits = UNCONFIRMED in answer.result.rules
            return None
        self.sources |= dict.fromkeys(answer.sources)
        return answer


# --- back to the host ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Projection:
    """The content that the host's file should have, and the bundle's entries that have no room there."""

    texts: tuple[str, ...]
    omitted: frozenset[str]
    differs: bool
    came: int = 0
    went: int = 0


def project(
    bundle: Bundle,
    target: Target,
    *,
    base: Sequence[str],
    present: Sequence[str],
    omitted: frozenset[str],
    waiting: frozenset[str],
    limit: int,
    enforce: bool,
) -> Projection:
    """The host's file as the bundle wants it: its entries that may be shown here, within the host's limit.

    What the host has and the bundle cannot take stays as it is, unless `enforce` takes out what the scanner
    flags; what was retracted goes. `waiting` are entries whose change is not taken in yet.
    """
    visible = _visible(bundle, target)
    own = {_key(text): text for text in present}
    agreed = {_key(text) for text in base}
    foreign = [
        text
        for key, text in own.items()
        if key not in visible and (key in waiting or _is_foreign(bundle, text, enforce=enforce))
    ]
    kept = [key for key in own if key in visible]
    went = len(own) - len(foreign) - len(kept)
    fresh = [key for key in visible if key not in own and key not in agreed and key not in omitted]
    texts = {key: own.get(key, entry.text) for key, entry in visible.items()}
    precedence = Foreign(bundle).precedence
    ranked = sorted(visible, key=lambda key: precedence(visible[key]), reverse=True)
    chosen = _fitting(ranked, texts, {*kept, *fresh}, limit, foreign) if fresh else set(kept)
    if went or fresh:
        spare = {key for key in visible if key in omitted and key not in own}
        chosen |= _fitting(ranked, texts, chosen | spare, int(limit * _ROOMY), foreign, chosen)
    came = len(chosen - own.keys())
    went += len(set(kept) - chosen)
    ordered = [texts[key] for key in visible if key in chosen] + foreign
    # What is in the base and not in the file is the host's removal on its way, no lack of room.
    left_out = frozenset(key for key in visible if key not in chosen and key not in agreed | own.keys())
    left_out |= frozenset(key for key in kept if key not in chosen)
    return Projection(
        tuple(ordered if came or went else present), left_out, bool(came or went), came=came, went=went
    )


def _visible(bundle: Bundle, target: Target) -> dict[str, Entry]:
    """The entries that may be in a prompt on this machine, shared ones first, by their key."""
    from gitmem.safety.verdict import Verdict

    passed = Egress(bundle).curated(bundle.part(CuratedStore).entries(target), bundle.tree())
    verdicts = {entry.key: result.verdict for entry, result in passed}
    return {
        _key(entry.text): entry
        for entry in uncontested([entry for entry, _ in passed])
        if verdicts[entry.key] is Verdict.ALLOW
    }


def _is_foreign(bundle: Bundle, text: str, *, enforce: bool) -> bool:
    """Return whether the host's entry is one that the bundle keeps out, and that stays the host's own affair."""
    from gitmem.safety.verdict import Verdict

    try:
        text = redacted(check_text(text))
    except InvalidContent:
        return True
    if is_retracted(bundle.tree(), section_key(text)):
        return False
    return not enforce and Admission(bundle).judge(text, FOUND_ENTRY).verdict is not Verdict.ALLOW


def _fitting(
    ranked: Sequence[str],
    texts: Mapping[str, str],
    wanted: Collection[str],
    limit: int,
    foreign: Sequence[str],
    already: Iterable[str] = (),
) -> set[str]:
    """The entries that fit beside what the host keeps for itself, the first of `ranked` first."""
    chosen = set(already)
    used = size([*foreign, *(texts[key] for key in chosen)])
    for key in ranked:
        if key in chosen or key not in wanted:
            continue
        cost = len(texts[key]) + (len(DELIMITER) if used else 0)
        if used + cost <= limit:
            chosen.add(key)
            used += cost
    return chosen


def _key(text: str) -> str:
    """The identity of an entry on both sides: a secret that is in the host's file is redacted in ours."""
    return entry_hash(redacted(_plain(text)))


def keys_of(texts: Iterable[str]) -> frozenset[str]:
    """The identities of entries of a host's file."""
    return frozenset(_key(text) for text in texts)


def paths_of(bundle: Bundle, target: Target) -> list[str]:
    """The § files whose entries a host file shows; the one that all machines share first."""
    machine = bundle.config.machine
    if target == "user":
        return [layout.USER]
    return [layout.MEMORY, *([layout.machine_memory(machine)] if machine else [])]
