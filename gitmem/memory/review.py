"""Review: what waits for a person, as one queue; `decide.py` is what a person may do with each item.

Held: a text in quarantine. Hidden: an entry of the curated store that the scanner keeps out of prompts. Contested: two
machines worded an entry differently. Taken: a remote took an entry away, and it stays until a person agrees.
Broken: a hand edit that cannot be committed. Full: a curated store over its limit. Proposed: a skill that Hermes keeps
back until its user has looked, which is decided there.
Unconfirmed entries are in the memory, marked; they can be looked at here too, and wait for nobody.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gitmem.errors import GitMemError, UnknownRevision
from gitmem.git.refs import QUARANTINE
from gitmem.memory.linked_host import proposals

if TYPE_CHECKING:
    from gitmem.git.worktree_status import HandEdit
    from gitmem.memory.bundle import Bundle

Kind = Literal["held", "hidden", "taken", "contested", "broken", "full", "proposed", "unconfirmed"]
_NAMES: dict[Kind, tuple[str, str]] = {
    "held": ("held text", "held texts"),
    "hidden": ("hidden entry", "hidden entries"),
    "taken": ("entry that a remote took away", "entries that a remote took away"),
    "contested": ("contested entry", "contested entries"),
    "broken": ("hand edit with a problem", "hand edits with a problem"),
    "full": ("store over its limit", "stores over their limit"),
    "proposed": ("skill that Hermes keeps back", "skills that Hermes keeps back"),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One thing for a person to look at: what it is, its text, where it belongs, and why it waits."""

    id: str
    kind: Kind
    path: str
    text: str
    why: str = ""
    at: str = ""
    session: str = ""
    source: str = ""


def waiting(bundle: Bundle, edits: Sequence[HandEdit] | None = None) -> list[Item]:
    """Return what waits for a person, in the order in which it is shown.

    `edits` are the hand edits, from who has looked for them already: that is a look at every file.
    """
    return [
        *_held(bundle),
        *_hidden(bundle),
        *_taken(bundle),
        *_contested(bundle),
        *_broken(bundle, edits),
        *_full(bundle),
        *_proposed(bundle),
    ]


def after_sync(bundle: Bundle) -> str:
    """Return how much waits, as one sentence; what the scanner remarks meanwhile is not reported."""
    said_before = list(bundle.notices)
    try:
        return in_words(waiting(bundle))
    finally:
        bundle.notices[:] = said_before


def at_a_glance(bundle: Bundle) -> str:
    """Return how much waits, without the scanner: for a session that begins."""
    return in_words([*_held(bundle), *_taken(bundle), *_contested(bundle)])


def unconfirmed(bundle: Bundle) -> list[Item]:
    """The entries of the curated store that are marked: nobody confirmed them."""
    if not _has_curated(bundle):
        return []
    from gitmem.memory.curated.store import TARGETS, CuratedStore
    from gitmem.memory.gate.foreign import Foreign
    from gitmem.memory.gate.hearing import came_from, is_unconfirmed
    from gitmem.okf.curated import CuratedFile

    store, foreign = bundle.part(CuratedStore), Foreign(bundle)
    return [
        Item(
            entry.key.id[:12],
            "unconfirmed",
            path,
            entry.text,
            "nobody confirmed it",
            entry.at,
            source=came_from(entry),
        )
        for target in TARGETS
        for path in store.paths(target)
        for entry in foreign.marked(CuratedFile.salvage(bundle.read(path), path).entries)
        if is_unconfirmed(entry) and not foreign.waits(entry.key.id)
    ]


def find(bundle: Bundle, name: str) -> Item:
    """An item by its id or the beginning of it."""
    near = {
        (item.kind, item.id): item
        for item in (*waiting(bundle), *unconfirmed(bundle))
        if name and item.id.startswith(name)
    }
    if len(near) != 1:
        raise UnknownRevision(
            f"{len(near)} items begin with {name!r}: give more of the id."
            if near
            else f"Nothing that waits begins with {name!r}.",
            hint="List them with `gitmem review --list`.",
        )
    return next(iter(near.values()))


def in_words(items: list[Item]) -> str:
    """Return how much waits, as one sentence; empty where nothing does."""
    counts = {kind: sum(item.kind == kind for item in items) for kind in _NAMES}
    parts = [f"{count} {_NAMES[kind][count > 1]}" for kind, count in counts.items() if count]
    if not parts:
        return ""
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{listed} {'waits' if sum(counts.values()) == 1 else 'wait'} for a person: run `gitmem review`."


# --- what waits ------------------------------------------------------------------------------------------

# Buys "`gitmem status` at 10,000 files against the same": each kind imports what it needs, and only where it can be.


def _has_curated(bundle: Bundle) -> bool:
    return bool(bundle.tree().names("memories"))


def _held(bundle: Bundle) -> Iterator[Item]:
    if bundle.repository.refs.read(QUARANTINE) is None:
        return
    from gitmem.memory.gate.quarantine import Quarantine

    for one in bundle.part(Quarantine).all():
        where = one.destination
        yield Item(
            one.id,
            "held",
            where.get("path") or where.get("session", ""),
            one.text,
            "; ".join(finding.get("reason", "") for finding in one.findings),
            one.at,
            one.origin.get("Session", ""),
            one.origin.get("Source", ""),
        )


def _hidden(bundle: Bundle) -> Iterator[Item]:
    if not _has_curated(bundle):
        return
    from gitmem.memory.curated.store import TARGETS, CuratedStore
    from gitmem.memory.gate import audit
    from gitmem.memory.gate.foreign import Foreign
    from gitmem.okf.curated import CuratedFile
    from gitmem.okf.entries import entry_hash

    store, foreign = bundle.part(CuratedStore), Foreign(bundle)
    found = {
        (one.path, one.text): Item(one.id, "hidden", one.path, one.text, one.result.explain())
        for one in audit.flagged(bundle, "memories")
        if not foreign.is_dropped(entry_hash(one.text))
    }
    for path in [path for target in TARGETS for path in store.paths(target)] if foreign else ():
        for entry in CuratedFile.salvage(bundle.read(path), path).entries:
            result = foreign.verdict(entry)
            if result is not None and not foreign.is_dropped(entry.key.id):
                doubted = found.get((path, entry.text))
                why = f"{result.explain()}; {doubted.why}" if doubted else result.explain()
                found[path, entry.text] = Item(entry.key.id[:12], "hidden", path, entry.text, why, entry.at)
    yield from found.values()


def _taken(bundle: Bundle) -> Iterator[Item]:
    from gitmem.memory.gate.taken import Taken

    taken = Taken(bundle)
    if not taken:
        return
    from gitmem.memory.curated.store import TARGETS, CuratedStore
    from gitmem.okf.curated import CuratedFile

    store = bundle.part(CuratedStore)
    for path in [path for target in TARGETS for path in store.paths(target)]:
        for entry in CuratedFile.salvage(bundle.read(path), path).entries:
            if why := taken.why(entry.key.id):
                yield Item(entry.key.id[:12], "taken", path, entry.text, why, entry.at)


def _contested(bundle: Bundle) -> Iterator[Item]:
    if not _has_curated(bundle):
        return
    from gitmem.memory.curated.contests import contested

    for one in contested(bundle):
        newest = one.entries[-1]
        others = "; ".join(entry.text for entry in one.entries[:-1])
        yield Item(one.replaced[:12], "contested", one.path, newest.text, f"against: {others}", newest.at)


def _broken(bundle: Bundle, edits: Sequence[HandEdit] | None) -> Iterator[Item]:
    with contextlib.suppress(GitMemError):  # a busy bundle can still be looked at
        edits = bundle.hand_edits() if edits is None else edits
        if not edits:
            return
        from gitmem.memory.hand_edits import problems_of
        from gitmem.okf.entries import entry_hash

        texts = {edit.path: (edit.data or b"").decode("utf-8", "backslashreplace") for edit in edits}
        for path, problem in problems_of(bundle, edits).items():
            yield Item(entry_hash(path)[:12], "broken", path, texts[path], problem)


def _full(bundle: Bundle) -> Iterator[Item]:
    if not _has_curated(bundle):
        return
    from gitmem.memory.curated.store import TARGETS, CuratedStore
    from gitmem.okf.curated import CuratedFile
    from gitmem.okf.entries import DELIMITER, entry_hash

    store = bundle.part(CuratedStore)
    for target in TARGETS:
        used = sum(len(entry.text) + len(DELIMITER) for entry in store.entries(target)) - len(DELIMITER)
        limit = store.limit(target)
        if used > limit:
            path = store.path(target)
            text = DELIMITER.join(
                entry.text for entry in CuratedFile.salvage(bundle.read(path), path).entries
            )
            why = f"it holds {used:,} of {limit:,} characters: the prompt has only a part of it"
            yield Item(entry_hash(target)[:12], "full", path, text, why)


def _proposed(bundle: Bundle) -> Iterator[Item]:
    for one in proposals(bundle):
        yield Item(one.id, "proposed", one.path, one.text, "waits in Hermes for its user", one.at)
