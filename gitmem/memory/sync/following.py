"""An erase of another machine, or a remote that still has what was erased here.

Nothing says what was erased. But an erase only removes, and keeps the shape and the dates of a history: so the two
histories are compared commit by commit, what differs is what was erased, and anything else that differs is refused.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.errors import RewrittenRemote
from gitmem.git.commit_graph import only_in, reachable
from gitmem.git.objects import Commit, Oid, render_commit
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.git.rewrite import files_of
from gitmem.git.transport import MACHINES, Fetched, ThrowAway, take_over
from gitmem.git.tree import TreeDiff
from gitmem.memory.erase.erased_list import erased_commits, erasures_known
from gitmem.memory.erase.eraser import Eraser
from gitmem.memory.sync.merge import merge_trees
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.okf.entries import Entry, EntryKey, retraction_hash
from gitmem.okf.files import EntryFile, open_file
from gitmem.okf.receipts import receipts_in
from gitmem.okf.scrub import Scrub, worth_blanking
from gitmem.okf.text_pattern import TextPattern

if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.receipts import Receipt

_ERASED = re.compile(r"\(erased\)|(?<![a-z])erased(?:-\d+)?(?![a-z])|\b0{12,}\b")
_ID = re.compile(r"(?<![0-9a-f])([0-9a-f]{8,40})(?![0-9a-f])")
_HASHED_NAME = re.compile("~h[0-9a-f]{12}")
_SHORT = 8
_SHORTEST = 4
_FEW = 5


def new_receipts(bundle: Bundle, room: Repository, main: Oid) -> list[Receipt]:
    """The receipts of a remote that say something new here."""
    ours, theirs = (receipts_in(tree.read(layout.CONFIG_ERASED)) for tree in (bundle.tree(), room.tree(main)))
    here = {one.id for one in ours} | erasures_known(bundle.state)
    return [one for one in theirs if one.id not in here]


class Comparison:
    """A history, and the one that an erase made of it."""

    def __init__(self, repository: Repository, old: Oid, new: Oid) -> None:
        self._repository = repository
        self._diff = TreeDiff(repository.store)
        self._ids: dict[str, str] = {}
        self._fitting: dict[tuple[str, Oid, str, Oid], bool] = {}
        self._lost: set[str] = set()
        self.commits: dict[Oid, Oid] = {}
        """Each commit that was rewritten, and what took its place."""
        self.rest: list[Oid] = []
        """The commits without a place in the new history, the parents first."""
        places: dict[object, list[Commit]] = {}
        for commit in map(repository.store.commit, only_in(repository, new, old)):
            key = commit.parents, commit.author.time, commit.committer.time
            places.setdefault(key, []).append(commit)
        for commit in map(repository.store.commit, reversed(only_in(repository, old, new))):
            parents = tuple(self.commits.get(one, one) for one in commit.parents)
            found = places.get((parents, commit.author.time, commit.committer.time), ())
            place = next((one for one in found if self._only_removes(commit, one)), None)
            if place is None:
                self.rest.append(commit.oid)
            else:
                self.commits[commit.oid] = self._ids[commit.oid] = place.oid
                self._ids.setdefault(commit.oid[:_SHORT], place.oid)

    def rules(self) -> Scrub:
        """The rules that erase the same elsewhere: texts that the old history has and the new one has nowhere."""
        pattern = TextPattern(self._lost)
        left = set(pattern.texts)
        for _, oid in files_of(self._repository.store, list(self.commits.values())[-1:]):
            data = self._repository.store.blob(oid)
            if pattern.is_in(data):
                left -= {text for text in left if TextPattern([text]).is_in(data)}
        hashes = {old: new for old, new in self._ids.items() if len(old) != 40 and len(old) != _SHORT}
        return Scrub(TextPattern(left), hashes=hashes)

    def _only_removes(self, old: Commit, new: Commit) -> bool:
        """Return whether a commit is another one without what was erased."""
        for one, other in ((old.author, new.author), (old.committer, new.committer)):
            if not self._fits(f"{other.name} <{other.email}>", f"{one.name} <{one.email}>"):
                return False
        changes = list(self._diff.changes(old.tree, new.tree))
        gone = {change.path: change.old for change in changes if change.old and not change.new}
        for change in sorted(changes, key=lambda change: change.path.startswith("retractions/")):
            if change.new is None:
                continue
            sources = {change.path: change.old} if change.old else gone
            if not any(
                source is not None
                and source.mode == change.new.mode
                and (
                    path == change.path
                    or self._fits(*(_HASHED_NAME.sub("", one) for one in (change.path, path)))
                )
                and self._file(path, source.oid, change.path, change.new.oid)
                for path, source in sources.items()
            ):
                return False
        for path, entry in gone.items():
            if entry is not None and not layout.is_generated(path):
                parts = open_file(path, self._repository.store.blob(entry.oid)).parts.values()
                self._lost.update(worth_blanking(part.text for part in parts))
        return self._fits(new.message, old.message)

    def _file(self, old_path: str, old: Oid, new_path: str, new: Oid) -> bool:
        key = old_path, old, new_path, new
        if key not in self._fitting:
            store = self._repository.store
            before, after = open_file(old_path, store.blob(old)), open_file(new_path, store.blob(new))
            self._fitting[key] = before.kind == after.kind and self._entries(before, after)
        return self._fitting[key]

    def _entries(self, old: EntryFile, new: EntryFile) -> bool:
        """Return whether every part of a file is one of the other, but for what was erased in it."""
        before, after = old.parts, new.parts
        left = {key: entry for key, entry in before.items() if key not in after}
        for key, entry in after.items():
            among = [before[key]] if key in before else list(left.values()) if key.space == "§" else []
            was = next((one for one in among if self._entry(entry, one)), None)
            if was is None:
                return False
            if was.text != entry.text:
                if key.space == "§":
                    self._ids[was.key.id] = key.id
                elif key.space in ("body", "meta"):
                    before_it = retraction_hash(was.key, old.path, was.text)
                    self._ids[before_it] = retraction_hash(key, new.path, entry.text)
                left.pop(was.key, None)
        for key, entry in left.items():
            self._lost.update(worth_blanking([entry.text]))
            if key.space == "§":
                self._ids[key.id] = "0" * len(key.id)
        return True

    def _entry(self, new: Entry, old: Entry) -> bool:
        return (
            (new.at, new.kind) == (old.at, old.kind)
            and new.replaces in ("", old.replaces, self._ids.get(old.replaces, old.replaces))
            and self._fits(new.text, old.text)
            and self._fits(_dumped(new.extra), _dumped(old.extra))
        )

    def _fits(self, new: str, old: str) -> bool:
        """Return whether a text is another one but for what was erased in it, and for ids that follow."""
        words, was = _ID.split(new), _ID.split(old)
        if words[::2] == was[::2] and all(
            one in (other, self._follow(other)) for one, other in zip(words[1::2], was[1::2], strict=True)
        ):
            return True
        for form in (old, _ID.sub(lambda found: self._follow(found[0]), old)):
            gaps = _gaps(new, form)
            if gaps is not None:
                self._lost.update(gap.strip() for gap in gaps if len(gap.strip()) >= _SHORTEST)
                return True
        return False

    def _follow(self, name: str) -> str:
        return self._ids.get(name) or self._ids.get(name[:_SHORT], name)[: len(name)]


def _dumped(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _gaps(new: str, old: str) -> list[str] | None:
    """The texts that stood where something was erased; None where the two differ in more."""
    pieces = _ERASED.split(new)
    if len(pieces) == 1 or not old.startswith(pieces[0]):
        return None
    found, at = [], len(pieces[0])
    for piece in pieces[1:-1]:
        place = old.find(piece, at)
        if place < 0:
            return None
        found.append(old[at:place])
        at = place + len(piece)
    end = len(old) - len(pieces[-1])
    return [*found, old[at:end]] if end >= at and old.endswith(pieces[-1]) else None


def replay(
    repository: Repository, commits: Iterable[Oid], known: Mapping[Oid, Oid], rules: Scrub
) -> dict[Oid, Oid]:
    """Make commits again where their parents are others now, the parents first; gives what all of them became."""
    ids, store = dict(known), repository.store
    for commit in map(store.commit, commits):
        parents = [ids.get(one, one) for one in commit.parents]
        before, onto = (repository.tree(one[0] if one else None) for one in (commit.parents, parents))
        edits = merge_trees(before, onto, repository.tree(commit.oid)).finished()
        clean = {
            path: rules.content(path, data, ids) if isinstance(data, bytes) else data
            for path, data in edits.items()
        }
        tree, objects = onto.apply(clean)
        message = rules.words(commit.message.encode("utf-8", "surrogateescape"), ids)
        text = message.decode("utf-8", "surrogateescape")
        made = render_commit(tree.oid, parents, commit.author, commit.committer, text)
        store.write([*objects, made])
        ids[commit.oid] = made.oid
    return ids


def accept(
    bundle: Bundle,
    room_dir: ThrowAway,
    fetched: Fetched,
    last: Oid,
    receipts: Sequence[Receipt],
    *,
    leave_out: bool,
) -> None:
    """Erase here what a remote erased; raises where it did more than to erase, and nothing was changed then.

    What was made here and never sent is made again on the new history. Commits with the erased text among that stop it,
    unless they are to be left out.
    """
    assert fetched.main is not None
    repository = bundle.repository
    with bundle.writing("erase"), room_dir.opened() as room:
        found = Comparison(room, bundle.tip, fetched.main)
        if not found.commits or not set(found.rest).isdisjoint(only_in(room, last, fetched.main)):
            raise RewrittenRemote("It did more than to erase.")
        rules = found.rules()
        holding = [oid for oid in found.rest if _holds(repository, oid, rules.pattern)]
        if holding and not leave_out:
            listed = ", ".join(oid[:8] for oid in holding[:_FEW])
            raise RewrittenRemote(
                f"Commits that were made here and never sent hold what was erased: {listed}. Nothing was changed here.",
                hint="Look at them with `gitmem show`; `gitmem sync --accept-erasure --yes` leaves them out.",
            )
        theirs = {room.store.peel(oid)[0]: (name, oid) for name, oid in fetched.snapshots.items()}
        take_over(room_dir, repository)
        repository.store.close()
        known = dict(found.commits)
        for oid in found.rest:
            parents = repository.store.commit(oid).parents
            if oid in holding:
                known[oid] = known.get(parents[0], parents[0])
            else:
                known = replay(repository, [oid], known, rules)
        eraser = Eraser(bundle)
        with repository.store.staging() as made:
            plan = eraser.plan(rules, made, known)
            for ref, oid in plan.seen.items():
                target = known.get(repository.store.peel(oid)[0], "") if ref.startswith(SNAPSHOTS) else ""
                if target in theirs:
                    name, there = theirs[target]
                    plan.instead[ref] = SNAPSHOTS + name, there
            eraser.carry_out(plan, receipts)
    eraser.look_again(plan.rules)


def _holds(repository: Repository, oid: Oid, pattern: TextPattern) -> bool:
    """Return whether a commit brings one of the texts."""
    commit, store = repository.store.commit(oid), repository.store
    if pattern.is_in(f"{commit.author.name}\n{commit.message}".encode("utf-8", "surrogateescape")):
        return True
    for change in TreeDiff(store).of_commit(commit):
        if change.new is None or layout.is_generated(change.path):
            continue
        before: Mapping[EntryKey, Entry] = {}
        if change.old is not None:
            before = open_file(change.path, store.blob(change.old.oid)).parts
        for key, entry in open_file(change.path, store.blob(change.new.oid)).parts.items():
            is_new = key not in before or before[key].text != entry.text
            if is_new and pattern.is_in(f"{change.path}\n{entry.text}\n{_dumped(entry.extra)}".encode()):
                return True
    return False


def carried_over(
    bundle: Bundle, room_dir: ThrowAway, room: Repository, fetched: Fetched, own_branch: str
) -> Fetched:
    """Refs of a remote, with the new history in the place of the one that was erased here.

    What others committed on top of the old one is made again on the new one, without what was erased. The throw-away
    repository then holds what is new of that, and nothing of the old.
    """
    erased, ids = erased_commits(bundle.state), dict[Oid, Oid]()
    refs = {BRANCH: fetched.main, **{MACHINES + name: oid for name, oid in sorted(fetched.branches.items())}}
    for ref, old in refs.items():
        gone = [oid for oid in only_in(room, old, bundle.tip) if oid in erased] if old else []
        if old is None or not gone:
            continue
        if old not in ids:
            found = Comparison(room, old, bundle.tip)
            if not found.commits:
                continue  # the checks say what is wrong with it
            ids |= replay(room, found.rest, found.commits, found.rules())
        if ref not in (BRANCH, own_branch):
            bundle.report(Notice("branch-erased", ref.removeprefix("refs/heads/"), erased[gone[0]]))
    if not ids or fetched.main is None:
        return fetched
    ours = {
        bundle.repository.store.peel(oid)[0]: (ref.removeprefix(SNAPSHOTS), oid)
        for ref, oid in bundle.repository.refs.under(SNAPSHOTS).items()
    }
    snapshots: dict[str, Oid] = {}
    for name, oid in fetched.snapshots.items():
        target = room.store.peel(oid)[0]
        if target not in ids:
            snapshots[name] = oid
        elif ids[target] in ours:
            here, new = ours[ids[target]]
            snapshots[here] = new
        else:
            snapshots[name] = ids[target]
    main = ids.get(fetched.main, fetched.main)
    branches = {name: ids.get(oid, oid) for name, oid in fetched.branches.items()}
    keep_only(room_dir, room, bundle.repository, {main, *snapshots.values(), *branches.values()})
    return replace(fetched, main=main, snapshots=snapshots, branches=branches, there=fetched)


def keep_only(room_dir: ThrowAway, room: Repository, ours: Repository, tips: set[Oid]) -> None:
    """Let the throw-away repository hold what we lack of these commits, and nothing else that was fetched."""
    objects = [one for one in reachable(room.store, tips) if one.oid not in ours.store]
    room.store.close()
    for name in os.listdir(room_dir.objects):
        if name != "info":
            shutil.rmtree(os.path.join(room_dir.objects, name))
    os.mkdir(os.path.join(room_dir.objects, "pack"))
    if objects:
        room.store.write(objects)
    room.store.close()
