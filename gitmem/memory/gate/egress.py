"""Egress: the one way out. Whatever of the memory reaches an agent, a prompt or a model passes here.

The store keeps everything; an agent gets only what holds. What was retracted or is flagged stays inside, names and
commit messages included. What leaves has no secret in it, whoever wrote it there, and is sanitized, so that no text can
end the fence it is in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from gitmem.memory.gate.admission import redacted
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
"""Characters: a shorter text (an id, a date, a kind) is only cleaned."""
_WORD = re.compile(r"[a-z]{3,}", re.IGNORECASE)
_FEW_WORDS = 2
"""Words: a name that has no more, and no letters but ours, says nothing that the scanner would know."""

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
        self._clean: dict[str, str] = {}
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
        # A concept is retracted with the body it had, or only that body, or a title; what is in the tree is not.
        if place.to_seq is None or not place.commit or not self._index.has_retractions():
            return False
        from gitmem.memory.gate.retractions import names_of_sayings
        from gitmem.okf.files import open_file

        data = self._bundle.repository.tree(place.commit).read(place.path)
        if data is None:
            return False
        file = open_file(place.path, data)
        whole = retraction_hash(key, place.path, file.body)
        return any(map(self._index.is_retracted, (whole, *names_of_sayings(file))))

    def clean(self, text: str) -> str:
        """A text that was let out, as it leaves."""
        return sanitize(self._redacted(text))

    def piece(self, text: str, marked: str, cut: Callable[[str], str]) -> str:
        """A piece of a text that was let out, cut out of it with its marks; without them where it holds a secret."""
        clean = self._redacted(text)  # before the cut, which could leave half a secret
        return sanitize(cut(marked if clean == text else clean))

    def _redacted(self, text: str) -> str:
        known = self._clean.get(text)
        if known is None:
            known = self._clean[text] = redacted(text)
        return known

    def name(self, name: str) -> str:
        """A path, a title, an id or a kind: words that somebody chose too."""
        is_plain = name.isascii() and len(_WORD.findall(name)) <= _FEW_WORDS
        return self.clean(name) if is_plain or self.is_harmless(name) else FLAGGED

    # Entries of the curated store

    def curated(self, entries: Iterable[Entry], tree: Tree) -> list[tuple[Entry, Result]]:
        """The entries that `tree` does not retract, each with what the scanner says of it now."""
        from gitmem.memory.gate.retractions import Retracted

        retracted = Retracted(tree)
        return [
            (replace(entry, text=self._redacted(entry.text)), self.verdict(entry.text, "memory"))
            for entry in entries
            if not retracted.has(entry.key)
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
        """Whether a file may be written where an agent reads it; what is not text is let through.

        Nothing is redacted in it: half a script is a broken script.
        """
        from gitmem.memory.gate.admission import secrets_in
        from gitmem.safety.verdict import Verdict

        try:
            text = data.decode()
        except UnicodeDecodeError:
            return True
        return self.verdict(text, scope).verdict is Verdict.ALLOW and not secrets_in(text)

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
        from gitmem.okf.entries import CONCEPT
        from gitmem.okf.files import open_file

        here = layout.machine_memory(self._bundle.config.machine)
        if path.startswith("memories/machines/") and path != here:
            return False  # it is true elsewhere
        file = open_file(path, self._tree.read(path))
        now = file.get(entry.key)
        # A concept is the same one under another title; the words that are told of it are its title.
        if now is None or not file.holds(entry) or (entry.key == CONCEPT and now.text != entry.text):
            return False
        text = open_file(path, entry.source).body if entry.source else entry.text
        return not is_retracted(self._tree, entry.key, path, text)

    def _words(self, path: str, entry: Entry) -> str:
        if not self.holds(path, entry):
            return GONE
        return self.clean(entry.text) if self.is_harmless(entry.text) else FLAGGED

    # Whole answers

    def answer(self, value: Any, *, checked: bool = False) -> Any:
        """A tool's answer, text by text: scanned, sanitized, and no longer in all than a model should read.

        `checked` says that every text in it came out through here already.
        """
        return _Answer(None if checked else self).passed(value)

    def text(self, text: str) -> str:
        """One text for an agent, or a few words in its place."""
        return self.clean(text) if len(text) <= _WORTH_A_LOOK or self.is_harmless(text) else FLAGGED

    def log(self, page: bytes) -> str:
        """A log.md line by line: each quotes what somebody wrote, with escapes that the scanner does not know."""
        from gitmem.okf.pages import log_page, parse_log

        lines = (
            line._replace(category=self.name(line.category), text=self.text(line.text))
            for line in parse_log(page)
        )
        return log_page(lines).decode()

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
    """The directory at the top: those below it are named by somebody."""
    return path.partition("/")[0] + "/…" if "/" in path else "…"
