"""Changes of what is known, for a model: one line each, in the words that hold now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gitmem.hosts.tools.text import marked
from gitmem.memory.gate.egress import GONE
from gitmem.memory.history.log import History, LogFilter
from gitmem.okf import layout
from gitmem.okf.learned import BOOKKEEPING, noun_of

if TYPE_CHECKING:
    from gitmem.hosts.tools.calls import ToolArguments
    from gitmem.memory.gate.egress import Egress
    from gitmem.okf.entries import Change

_SIGNS = {"add": "+", "remove": "-", "change": "~", "move": ">"}
_UNKNOWN = ("retractions/", "config/", "hermes/", "tools/", "snapshots/", ".")
"""Directories of bookkeeping, and of what is said better elsewhere."""


def is_knowledge(path: str) -> bool:
    """Return whether a file says something: not a page that gitmem makes, nor a record of a conversation."""
    return not layout.is_generated(path) and not layout.is_session(path) and not path.startswith(_UNKNOWN)


def learned_in(call: ToolArguments, session: str) -> list[str]:
    """The things that one session learned, one line each."""
    history = call.memory.part(History)
    commits = [entry.commit for entry in history.log(LogFilter(session=(session,)))]
    return list(told(call.egress(), history.knowledge_of(commits)))


def told(egress: Egress, changes: Iterable[Change]) -> Iterator[str]:
    """Changes of what is known, one line each; a concept whose parts changed is one thing."""
    named: set[str] = set()
    for change in changes:
        if not is_knowledge(change.path) or not egress.tells(change):
            continue
        is_part = change.key.space in ("meta", "body")
        if is_part and (change.key.id in BOOKKEEPING or change.path in named):
            continue
        known = egress.change(change)
        words = known["new"] if known["new"] is not None else known["old"]
        if words == GONE:
            continue
        if is_part:
            named.add(change.path)
            words = egress.name(change.title) if change.title else words
        yield f"{_SIGNS.get(change.op, change.op)} {_noun(change)}: {marked(known, words)}"


def _noun(change: Change) -> str:
    """The word for what changed."""
    path = change.path
    if path.startswith("memories/"):
        return "preference" if path.endswith("/USER.md") else "fact"
    entry = change.new or change.old
    return noun_of(path, entry.kind if entry is not None and not change.title else "")
