"""The prompt block: the curated store as the host renders it, frozen for the length of a session."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gitmem.memory.curated.store import TARGETS, CuratedStore, Target
from gitmem.memory.gate.egress import Egress
from gitmem.memory.gate.ledger import Ledger
from gitmem.memory.indexing import Indexing
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import CONCEPT, DELIMITER, Entry, EntryKey
from gitmem.okf.plain import Printed, shortened
from gitmem.state import LAST_SEEN, PERSON
from gitmem.world import AGENTS

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.gate.egress import Standing

_NEW_OF_A_SESSION = 5
_RULE = "═" * 46
_QUOTED = 200
_HEADERS = {"memory": "MEMORY (your personal notes)", "user": "USER PROFILE (who the user is)"}
_FILES = {"memory": "MEMORY.md", "user": "USER.md"}


@dataclass(frozen=True, slots=True)
class FrozenBlock(Printed):
    """The text that goes into a prompt, and the commit it was made from."""

    text: str
    commit: str

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]


def freeze(bundle: Bundle, *, revision: str = "HEAD", user: str = "") -> FrozenBlock:
    """The block of a revision as a session would see it, with the page of its `user` where there are several."""
    commit, blocks = bundle.resolve(revision), []
    for target in TARGETS:
        shown = _shown_entries(bundle, commit, target, user)
        if texts := [shown[key].text for key in _fitting(bundle, target, shown)]:
            blocks.append(render(target, texts, bundle.part(CuratedStore).limit(target)))
    return FrozenBlock("\n\n".join(blocks), commit)


class _ShownEntry(NamedTuple):
    """An entry, and its text as a prompt has it."""

    entry: Entry
    text: str


def _shown_entries(
    bundle: Bundle, commit: str, target: Target, user: str = ""
) -> dict[EntryKey, _ShownEntry]:
    """The entries of a store that a prompt may have."""
    entries = bundle.part(CuratedStore).entries(target, revision=commit, user=user)
    standings = Egress(bundle).entries(entries, bundle.repository.tree(commit))
    return {one.entry.key: _ShownEntry(one.entry, _shown(one, target)) for one in standings}


def for_agents(bundle: Bundle, target: Target) -> list[Entry]:
    """The entries of a store that an agent may get on this machine."""
    found = Egress(bundle).entries(bundle.part(CuratedStore).entries(target), bundle.tree())
    return [one.entry for one in found if one]


def unconfirmed(bundle: Bundle) -> list[str]:
    """A line for each entry and skill in a prompt of this machine that is unconfirmed: its text and its source."""
    store, egress, tree = bundle.part(CuratedStore), Egress(bundle), bundle.tree()
    entries = [
        f"{shortened(one.text, _QUOTED)} (from {one.source})"
        for target in TARGETS
        for one in egress.entries(store.entries(target), tree)
        if one.state == "marked"
    ]
    skills = [path for path, _ in tree.files("skills") if path.endswith("/SKILL.md")]
    return entries + [
        f"the skill {egress.name(path.split('/')[-2])} (from {source})"
        for path in skills
        if (source := egress.source(path, CONCEPT))
    ]


def about_user(bundle: Bundle, user: str) -> list[str]:
    """A line for each entry of the page of one user among several, as a prompt may have it."""
    path, egress, tree = layout.user_memory(user), Egress(bundle), bundle.tree()
    entries = CuratedFile.parse_leniently(tree.read(path), path).entries if user else []
    return [_shown(one, "user") for one in egress.entries(entries, tree)]


def render(target: Target, texts: Sequence[str], limit: int) -> str:
    """One store in the host's layout: a rule, a header with percentage and counts, a rule, the entries."""
    content = DELIMITER.join(texts)
    percent = min(100, int(len(content) / limit * 100)) if limit > 0 else 0
    header = f"{_HEADERS[target]} [{percent}% — {len(content):,}/{limit:,} chars]"
    return f"{_RULE}\n{header}\n{_RULE}\n{content}"


def _shown(found: Standing, target: Target) -> str:
    """The entry, or a line in its place where it waits for a person, whatever the entry begins with."""
    if found:
        return found._replace(text=found.entry.text, source=shortened(found.source, _QUOTED)).line
    rules = ", ".join(found.rules)
    return (
        f"[BLOCKED: an entry of {_FILES[target]} is kept out of this prompt ({rules}) until a person looks.]"
    )


def left_out(bundle: Bundle, target: Target) -> list[Entry]:
    """The entries of a store that its prompt block has no room for."""
    shown = _shown_entries(bundle, bundle.tip, target)
    kept = set(_fitting(bundle, target, shown))
    return [one.entry for key, one in shown.items() if key not in kept]


# --- the rule of a block that cannot hold all entries ----------------------------------------------------


def _fitting(bundle: Bundle, target: Target, shown: Mapping[EntryKey, _ShownEntry]) -> list[EntryKey]:
    """The entries that fit, in their order.

    Pins first, in half of the block at most. Then confirmed entries before others, what a person wrote before what
    agents wrote, the newest first; of what one session wrote since a person last looked, five at most.
    """
    limit = bundle.part(CuratedStore).limit(target)
    sizes = {key: len(one.text) + len(DELIMITER) for key, one in shown.items()}
    if sum(sizes.values()) - len(DELIMITER) <= limit:
        return list(shown)
    ledger, writers = bundle.part(Ledger), _writers(bundle, target, shown)

    def rank(key: EntryKey) -> tuple[object, ...]:
        entry = shown[key].entry
        return ledger.rank(entry), not writers[key].session, entry.at, key

    ranked = sorted(shown, key=rank, reverse=True)
    kept: set[EntryKey] = set()

    def fill(keys: Iterable[EntryKey], limit: int) -> None:
        used = sum(sizes[key] for key in kept)
        for key in keys:
            if key not in kept and used + sizes[key] - len(DELIMITER) <= limit:
                kept.add(key)
                used += sizes[key]

    fill((key for key in ranked if ledger.is_pinned(key.id)), limit // 2)
    # What others sent takes no place of what this machine's own sessions wrote: these have room if they had it before.
    own = [key for key in ranked if all(ledger.rank(shown[key].entry))]
    have_room = sum(map(sizes.__getitem__, own)) - len(DELIMITER) <= limit
    allowed = own if have_room else []
    unseen: Counter[str] = Counter()
    for key in ranked[len(allowed) :]:
        writer = writers[key]
        unseen[writer.session] += writer.is_unseen
        if not writer.is_unseen or unseen[writer.session] <= _NEW_OF_A_SESSION:
            allowed.append(key)
    fill(allowed, limit)
    return [key for key in shown if key in kept]


class _Writer(NamedTuple):
    """The session of an agent that wrote an entry (empty: a person), and whether no person has looked since."""

    session: str
    is_unseen: bool


def _writers(bundle: Bundle, target: Target, keys: Iterable[EntryKey]) -> dict[EntryKey, _Writer]:
    index = bundle.part(Indexing).current()
    seen = index.commit(str(bundle.state.read_json(LAST_SEEN).get(PERSON, "")))
    found = {}
    for key in keys:
        spans = (index.span_at(path, key) for path in bundle.part(CuratedStore).paths(target))
        span = next(filter(None, spans), None)
        session = "" if span is None else span.session or (span.agent if span.agent in AGENTS else "")
        is_new = span is not None and (seen is None or span.from_seq > seen.seq)
        found[key] = _Writer(session, bool(session) and is_new)
    return found
