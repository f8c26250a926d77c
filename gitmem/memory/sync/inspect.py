"""Checks of what a remote sends, before any of it enters: objects, paths, sizes, OKF, content."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gitmem.errors import GitMemError, RefusedFetch
from gitmem.git.commit_graph import only_in, strangers
from gitmem.git.objects import EMPTY_TREE, Oid, TreeEntry, check_strictly
from gitmem.git.refs import SNAPSHOTS, check_ref_name
from gitmem.git.repository import Repository
from gitmem.git.tree import MAX_FILE_BYTES
from gitmem.git.untrusted_trees import UntrustedTrees
from gitmem.memory.bundle import format_of
from gitmem.memory.gate.admission import judge_incoming
from gitmem.memory.gate.marks import FlaggedEntry
from gitmem.notices import Notice
from gitmem.okf import layout, validate
from gitmem.okf.entries import MOST_TURNS, Entry, EntryKey, is_hash, is_turn
from gitmem.okf.files import EntryFile, open_file
from gitmem.okf.receipts import receipts_in
from gitmem.okf.validate import IGNORE, hides, who_obeys
from gitmem.safety.verdict import Finding, Result, Verdict

MAX_COMMITS = 200_000
_RELIED_ON = frozenset(
    (layout.CURATED_MEMORY, layout.ARCHIVED_MEMORY, layout.USER_PROFILE, layout.SESSION, layout.SESSION_EVENTS,
     layout.RETRACTION, layout.AGENT_CONFIG, layout.SCANNER_RULES, layout.ERASURE_RECEIPTS)
)  # fmt: skip
MAX_SNAPSHOTS = 20_000
PATIENCE = 120.0
"""Seconds of processor time that looking at one fetch may take: about 100,000 files."""
_HIDDEN_WHOLE = ("skills/", "notes/", "decisions/", "plans/", "tools/")
"""Where one doubtful text hides a file; of the curated store each entry is in the review by itself."""


@dataclass(slots=True)
class Checked:
    """Result of the checks: how much was read, and which entries must be held back."""

    commits: int = 0
    entries: int = 0
    flagged: list[FlaggedEntry] = field(default_factory=list)
    secrets: list[tuple[str, str]] = field(default_factory=list)
    """Path and kind of what looks like a secret in a new entry."""
    hidden: dict[str, str] = field(default_factory=dict)
    """Files outside the curated store that enter and that agents will not be shown, with what the scanner says."""
    doubtful: list[tuple[str, Entry]] = field(default_factory=list)
    """Entries that say they replace one which another replaced already."""

    def notices(self, place: str = "") -> list[Notice]:
        """Warnings about the files that enter; `place` says where they come from."""
        found = [Notice("hidden-came", path + place, why) for path, why in self.hidden.items()]
        return found + [Notice("secret-came", path + place, kind) for path, kind in self.secrets]


def check_incoming(
    room: Repository,
    tip: Oid,
    commits: list[Oid],
    known: Oid | None,
    *,
    patience: float = PATIENCE,
    erased: Mapping[Oid, str] = MappingProxyType({}),
) -> Checked:
    """Look at every new commit and at all that differs from what we know; raises RefusedFetch.

    `room` is the throw-away repository with what was fetched; `known` the commit to compare with. `patience` is the
    processor time that this may take, in seconds. A history with one of the `erased` commits is refused.
    """
    done = Checked()
    until = time.process_time() + patience
    if len(commits) > MAX_COMMITS:
        raise RefusedFetch(
            f"The remote sends {len(commits):,} commits at once: at most {MAX_COMMITS:,} are taken."
        )
    for oid in commits:
        if oid in erased:
            raise RefusedFetch(
                f"The commit {oid[:12]} was {erased[oid]}, and what comes has it in its history.",
                hint="If it is meant to come back, a person says so: `gitmem sync --forget-erasure "
                f"{erased[oid].rpartition(' ')[2].rstrip(')')}`.",
            )
    trees = UntrustedTrees(room.store)
    seen: set[Oid] = set()
    for oid in reversed(commits):
        done.commits += 1
        check_strictly(oid, *room.store.read(oid))
        for change in trees.of_commit(room.store.commit(oid)):
            if change.new is not None and change.new.oid not in seen:
                seen.add(change.new.oid)
                _check_blob(room, change.path, change.new)
    trees.files = 0
    before = room.store.commit(known).tree if known else EMPTY_TREE
    for change in trees.changes(before, room.store.commit(tip).tree):
        if time.process_time() > until:
            raise RefusedFetch(
                f"Looking at what the remote sends takes more than {patience:g} seconds of processor time.",
                hint="If so much is meant to come, `gitmem clone` takes it.",
            )
        if change.new is not None:
            _check_content(room, change.path, change.old, change.new, done)
    if known is not None and layout.CONFIG_AGENT not in room.tree(tip):
        raise RefusedFetch(f"The remote takes {layout.CONFIG_AGENT} away: without it this is not a bundle.")
    _check_receipts(room, tip, commits, known)
    _check_lineage(room, commits, done)
    return done


def _check_receipts(room: Repository, tip: Oid, commits: list[Oid], known: Oid | None) -> None:
    """Refuse a receipt that names a commit of the very history which it is in."""
    before, after = (receipts_in(room.tree(one).read(layout.CONFIG_ERASED)) for one in (known, tip))
    told = {one.id for one in before}
    gone = {oid for one in after if one.id not in told for oid in one.gone}
    if gone and not gone.isdisjoint(commits if known is None else only_in(room, tip, None)):
        raise RefusedFetch("The remote sends a receipt for commits that are in its own history.")


def _check_place(path: str, data: bytes, file: EntryFile) -> None:
    """Refuse a file at a place that gitmem reads itself, unless it is of the right type and can be read."""
    wanted = layout.default_type(path)
    if reason := validate.too_large(path, data):
        raise RefusedFetch(
            f"The remote's {path!r} cannot be taken. {reason} Shorten it where it was written."
        )
    if wanted in _RELIED_ON and (file.concept is None or file.concept.type != wanted):
        raise RefusedFetch(f"The remote's {path!r} is not of the type {wanted}, or is too large to read.")
    if path.startswith("retractions/") and not is_hash(layout.retraction_name(path)):
        raise RefusedFetch(f"The remote's {path!r} does not name an entry.")
    listed = [entry.extra.get("turns") for entry in file.entries.values() if entry.key.space == "§"]
    for turns in (file.front.get("turns"), *listed):
        if turns is None:
            continue
        if not isinstance(turns, list) or len(turns) > MOST_TURNS or not all(map(is_turn, turns)):
            raise RefusedFetch(
                f"The remote's {path!r} does not name turns of a conversation in `turns`, or more than {MOST_TURNS}."
            )
    if wanted == layout.AGENT_CONFIG and format_of(data) > layout.FORMAT:
        raise RefusedFetch(
            f"The remote's memory has format {format_of(data)}, newer than this gitmem writes ({layout.FORMAT}): "
            "upgrade gitmem here."
        )


def _check_lineage(room: Repository, commits: list[Oid], done: Checked) -> None:
    """An entry replaces one that was there when it came. Any other claim would hide what really replaced it."""
    for path, entry in done.doubtful:
        for oid in reversed(commits):
            trees = map(room.tree, (oid, *room.store.commit(oid).parents))
            sides = [open_file(path, tree.read(path)).entries for tree in trees]
            if entry.key in sides[0] and not any(entry.key in side for side in sides[1:]):
                if not any(EntryKey("§", entry.replaces) in side for side in sides[1:]):
                    reason = "says that it replaces an entry that was not there"
                    finding = Finding(
                        "lineage.replaces", "lineage", reason, (0, len(entry.text)), Verdict.HOLD
                    )
                    done.flagged.append(FlaggedEntry(path, entry, Result(Verdict.HOLD, (finding,))))
                break


def check_snapshots(room: Repository, main: Oid, snapshots: Mapping[str, Oid]) -> None:
    """A snapshot names a commit of the history that was looked at, or the fetch is refused."""
    if len(snapshots) > MAX_SNAPSHOTS:
        raise RefusedFetch(f"The remote sends more than {MAX_SNAPSHOTS:,} new snapshots at once.")
    named: dict[str, Oid] = {}
    try:
        for name, oid in snapshots.items():
            check_ref_name(SNAPSHOTS + name)
            named[name], _ = room.store.peel(oid)
            check_strictly(oid, *room.store.read(oid))
        unknown = strangers(room, named.values(), main) if named else set()
    except GitMemError as error:
        raise RefusedFetch(f"The remote sent an invalid snapshot: {error}") from error
    for name, commit in named.items():
        if commit in unknown:
            raise RefusedFetch(f"The remote's snapshot {name!r} names a commit that is not in its memory.")


def _check_blob(room: Repository, path: str, entry: TreeEntry) -> None:
    kind, size = room.store.measure(entry.oid)
    if kind != b"blob":
        raise RefusedFetch(f"The remote sends a {kind.decode()} as the file {path!r}.")
    if size > MAX_FILE_BYTES:
        raise RefusedFetch(
            f"The remote sends {path!r} with {size >> 20} MB: at most {MAX_FILE_BYTES >> 20} are taken."
        )


def _check_content(room: Repository, path: str, old: TreeEntry | None, new: TreeEntry, done: Checked) -> None:
    data = room.store.blob(new.oid)
    pattern = hides(data) if path == IGNORE else ""
    if reason := f"its pattern {pattern!a} hides a memory from git" if pattern else who_obeys(path):
        raise RefusedFetch(
            f"The remote sends {path!r}: {reason}. Take it out where it was committed, then sync."
        )
    for violation in validate.check_file(path, data):
        raise RefusedFetch(
            f"The remote's {path!r} is not valid: {violation.reason} Repair it where it was written, then sync."
        )
    if layout.is_generated(path):
        return
    known = room.store.blob(old.oid) if old else None
    file = open_file(path, data)
    _check_place(path, data, file)
    before = open_file(path, known).entries
    rivals = {entry.replaces for entry in before.values()}
    for key, entry in file.entries.items():
        was = before.get(key)
        if was is not None and (was.turn or entry.turn) != entry.turn:
            raise RefusedFetch(f"The remote's {path!r} moves an event to another turn of its conversation.")
        if was is not None and was.text == entry.text:
            continue
        done.entries += 1
        if entry.replaces and entry.replaces in rivals and EntryKey("§", entry.replaces) not in before:
            done.doubtful.append((path, entry))
        held, result, secrets = judge_incoming(path, entry)
        if held:
            done.flagged.append(FlaggedEntry(path, entry, result, known))
        elif result.verdict is not Verdict.ALLOW and path.startswith(_HIDDEN_WHOLE):
            done.hidden.setdefault(path, result.explain())
        done.secrets += [(path, secret.kind) for secret in secrets[:1]]
