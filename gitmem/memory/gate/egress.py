"""Egress: the one way out. Whatever of the memory reaches an agent, a prompt or a model passes here.

The store keeps everything; an agent gets only what holds. What was retracted or is flagged stays inside, names and
commit messages included; what leaves is sanitized, so that no text can end the fence it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gitmem.memory.gate.scan import Gate
from gitmem.okf import layout
from gitmem.okf.identity import EntryKey, retraction_hash
from gitmem.safety.fence import sanitize

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.index.records import Place
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.entries import Change, Entry
    from gitmem.safety.verdict import Result, Scope

FLAGGED = "[withheld: the scanner flags this text]"
GONE = "[withheld: it no longer holds]"
CUT = "(cut: ask for less)"

_ANSWER = 12_000
_TEXT = 1_500
_WORTH_A_LOOK = 20
"""Characters: a shorter text (an id, a date, a kind) is only sanitized."""


_PLAIN_PATHS = ("memories/", "sessions/", "hermes/", "config/", "retractions/")
"""Directories whose files are named by gitmem; elsewhere a name is somebody's words."""


class Index(Protocol):
    """What the search index knows that decides what may leave."""

    def is_retracted(self, name: str) -> bool: ...
    def has_retractions(self) -> bool: ...
    def commits_touching(self, path: str, *, limit: int) -> Sequence[object]: ...


class Egress:
    """The way out of one bundle, for one answer. With an index it asks that, else the tree of the newest commit."""

    def __init__(self, bundle: Bundle, index: Index | None = None) -> None:
        self._bundle = bundle
        self._index = index
        self._judged: dict[tuple[str, Scope], Result] = {}
        self._now: Tree | None = None
        self.withheld = 0
        """How many texts the scanner kept back."""

    # Entries of the index

    def lets_out(self, text: str, place: Place) -> bool:
        """Whether a text may be shown to an agent, now, whatever was thought of it when it was written."""
        if self._is_retracted(place):
            return False
        if not self.is_harmless(text):
            self.withheld += 1
            return False
        return True

    def _is_retracted(self, place: Place) -> bool:
        assert self._index is not None
        key = EntryKey(place.space, place.key)
        if place.space != "concept":
            return self._index.is_retracted(retraction_hash(key))
        # A concept is retracted with the body it had; one that is in the tree is not retracted.
        if place.to_seq is None or not place.commit or not self._index.has_retractions():
            return False
        from gitmem.okf.files import open_file

        data = self._bundle.repository.tree(place.commit).read(place.path)
        return data is not None and self._index.is_retracted(
            retraction_hash(key, place.path, open_file(place.path, data).body)
        )

    # Entries of the curated store

    def curated(self, entries: Iterable[Entry], tree: Tree) -> list[tuple[Entry, Result]]:
        """The entries that `tree` does not retract, each with what the scanner says of it now."""
        from gitmem.memory.gate.retractions import Retracted

        retracted = Retracted(tree)
        return [
            (entry, self.verdict(entry.text, "memory")) for entry in entries if not retracted.has(entry.key)
        ]

    def may_be_believed(self, text: str) -> bool:
        """Whether a fact that was just learned may be handed back: it is harmless and was never taken back."""
        from gitmem.memory.gate.retractions import is_retracted
        from gitmem.okf.identity import section_key
        from gitmem.safety.verdict import Verdict

        known = not is_retracted(self._tree, section_key(text))
        return known and self.verdict(text, "memory").verdict is Verdict.ALLOW

    # Files

    def file(self, data: bytes, scope: Scope) -> bool:
        """Whether a file may be written where an agent reads it; what is not text is let through."""
        from gitmem.safety.verdict import Verdict

        try:
            text = data.decode()
        except UnicodeDecodeError:
            return True
        return self.verdict(text, scope).verdict is Verdict.ALLOW

    # History: only what still holds has words

    def change(self, change: Change) -> dict[str, Any]:
        """What a commit did to one entry, with the words that hold now and no others."""
        sides = [(change.from_path or change.path, change.old), (change.path, change.new)]
        old, new = (self._words(path, entry) if entry is not None else None for path, entry in sides)
        holds = any(entry is not None and self.holds(path, entry) for path, entry in sides)
        # A path is made of words too: a decision's is its title.
        where = change.path if holds or change.path.startswith(_PLAIN_PATHS) else _directory(change.path)
        return {"op": change.op, "path": where, "old": old, "new": new}

    def holds(self, path: str, entry: Entry) -> bool:
        """Whether the memory says this now: the entry is where it was, with these words, and is not retracted."""
        from gitmem.memory.gate.retractions import is_retracted
        from gitmem.okf.files import open_file

        here = layout.machine_memory(self._bundle.config.machine)
        if path.startswith("memories/machines/") and path != here:
            return False  # it is true elsewhere
        if not open_file(path, self._tree.read(path)).holds(entry):
            return False
        text = open_file(path, entry.source).body if entry.source else entry.text
        return not is_retracted(self._tree, entry.key, path, text)

    def _words(self, path: str, entry: Entry) -> str:
        if not self.holds(path, entry):
            return GONE
        return sanitize(entry.text) if self.is_harmless(entry.text) else FLAGGED

    # Whole answers

    def answer(self, value: Any, *, checked: bool = False) -> Any:
        """A tool's answer, text by text: scanned, sanitized, and no longer in all than a model should read.

        `checked` says that every text in it came out through here already.
        """
        return _Answer(None if checked else self).passed(value)

    def text(self, text: str) -> str:
        """One text for an agent, or a few words in its place."""
        return sanitize(text) if len(text) <= _WORTH_A_LOOK or self.is_harmless(text) else FLAGGED

    # The scanner

    def is_harmless(self, text: str) -> bool:
        from gitmem.safety.verdict import Verdict

        return self.verdict(text, "recall").verdict is Verdict.ALLOW

    def verdict(self, text: str, scope: Scope) -> Result:
        """What the scanner says of a text now; each text is read once."""
        known = self._judged.get((text, scope))
        if known is None:
            known = self._judged[text, scope] = self._gate.judge(text, scope)
        return known

    @property
    def _gate(self) -> Gate:
        gate = self._bundle.part(Gate)
        # Buys the cold prefetch of docs/performance.md: to look for rules in the tree opens the object store.
        if not gate.is_ready and self._index is not None and not self._has_rules(self._index):
            gate.use_shipped_rules()
        return gate

    def _has_rules(self, index: Index) -> bool:
        return bool(index.commits_touching(layout.CONFIG_SCANNER, limit=1))

    @property
    def _tree(self) -> Tree:
        if self._now is None:
            self._now = self._bundle.tree()
        return self._now


class _Answer:
    """One answer on its way out, and how much room is left."""

    def __init__(self, egress: Egress | None) -> None:
        self._egress = egress
        self._left = _ANSWER

    def passed(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {str(key): self.passed(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            passed: list[Any] = []
            for one in value:
                if self._left <= 0:
                    passed.append(CUT)
                    break
                passed.append(self.passed(one))
            return passed
        return value

    def _text(self, value: str) -> str:
        text = sanitize(value) if self._egress is None else self._egress.text(value)
        text = text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"
        self._left -= len(text)
        return text if self._left > 0 else "…"


def retracts(data: bytes, path: str) -> bool:
    """Whether a retraction in the tree still holds, for the index that answers for it here."""
    from gitmem.memory.gate import retractions

    return retractions.retracts(data, path)


def _directory(path: str) -> str:
    return path.rpartition("/")[0] + "/…" if "/" in path else "…"
