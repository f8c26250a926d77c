"""Texts that a distiller need not say again: what the curated store says already, and what must not be said in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gitmem.git.refs import QUARANTINE
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.curated.store import TARGETS, CuratedStore
from gitmem.memory.gate.quarantine import Quarantine
from gitmem.okf.curated import CuratedFile

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_FAR = 2_000
"""Commits that one session is looked back over."""
_WORD = re.compile(r"\w+")
# Words that the rules put around what was said.
_FRAME = frozenset(
    ["user", "users", "s", "the", "a", "an", "is", "are", "does", "correction", "decision", "by"]
)


def known_texts(bundle: Bundle, session: str) -> list[str]:
    """Return what is in the store or is not to come into it by itself.

    That is what left it in the same session, what is true on another machine only, and what waits for a person: the
    words that these were taken from may still be in the conversation.
    """
    return [*_texts_now(bundle), *removed_in(bundle, session), *_of_other_machines(bundle), *_held(bundle)]


def is_known(fact: str, entries: Iterable[str]) -> bool:
    """Return whether one of the entries has every word that counts in the fact."""
    words = _words(fact)
    return any(words <= _words(entry) for entry in entries)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _FRAME


def removed_in(bundle: Bundle, session: str) -> list[str]:
    """Entries that were in the curated store since a session began and are no longer."""
    begin = _begin(bundle, session)
    if not begin:
        return []
    repository, paths = (
        bundle.repository,
        dict.fromkeys(path for target in TARGETS for path in bundle.part(CuratedStore).paths(target)),
    )
    seen: dict[tuple[str, str], None] = {}
    current: str | None = bundle.tip
    for _ in range(_FAR):
        if current is None:
            break
        commit = repository.store.commit(current)
        tree = repository.tree(current)
        seen.update({(path, entry.oid): None for path in paths if (entry := tree.entry(path)) is not None})
        if current == begin:
            break
        current = commit.parents[0] if commit.parents else None
    was = {
        entry.text
        for path, oid in seen
        for entry in CuratedFile.salvage(repository.store.blob(oid), path).entries
    }
    return sorted(was - set(_texts_now(bundle)))


def _texts_now(bundle: Bundle) -> list[str]:
    return [entry.text for target in TARGETS for entry in bundle.part(CuratedStore).entries(target)]


def _of_other_machines(bundle: Bundle) -> list[str]:
    files = [path for path, _ in bundle.tree().files("memories/machines")]
    return [
        entry.text for path in files for entry in CuratedFile.salvage(bundle.tree().read(path), path).entries
    ]


def _held(bundle: Bundle) -> list[str]:
    held = bundle.part(Quarantine).all() if bundle.repository.refs.read(QUARANTINE) else []
    return [one.text for one in held if one.destination.get("kind") == "entry"]


def _begin(bundle: Bundle, session: str) -> str:
    """The commit that the session's first prompt was made from; empty where nobody noted it."""
    state = bundle.part(Sessions).find(session)
    blocks = state.concept.meta.get("prompt_blocks") if state is not None else None
    first = blocks[0] if isinstance(blocks, list) and blocks else None
    commit = first.get("commit") if isinstance(first, dict) else None
    return commit if isinstance(commit, str) and commit in bundle.repository.store else ""
