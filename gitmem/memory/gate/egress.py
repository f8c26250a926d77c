"""The way out: whatever of the memory reaches an agent passes here. Retracted or flagged texts stay inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from gitmem.index.records import CONCEPT, Place
from gitmem.memory.gate.scan import Gate
from gitmem.okf import layout
from gitmem.okf.identity import EntryKey, retraction_hash

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


class Index(Protocol):
    """What the search index knows that decides what may leave."""

    def is_retracted(self, name: str) -> bool: ...
    def has_retractions(self) -> bool: ...
    def commits_touching(self, path: str, *, limit: int) -> Sequence[object]: ...


class Outlet:
    """Decides for each text whether it may leave, and counts those that may not."""

    def __init__(self, bundle: Bundle, index: Index) -> None:
        self._bundle = bundle
        self._index = index
        self._judged: dict[str, bool] = {}
        self.withheld = 0
        """How many texts the scanner kept back."""

    def lets_out(self, text: str, place: Place) -> bool:
        """Whether a text may be shown to an agent, now, whatever was thought of it when it was written."""
        if self._is_retracted(place):
            return False
        if not self.is_harmless(text):
            self.withheld += 1
            return False
        return True

    def _is_retracted(self, place: Place) -> bool:
        key = EntryKey(place.space, place.key)
        if key != CONCEPT:
            return self._index.is_retracted(retraction_hash(key))
        # A concept is retracted with the body it had; one that stands in the tree is not retracted.
        if place.to_seq is None or not place.commit or not self._index.has_retractions():
            return False
        from gitmem.okf.entries import body_of

        data = self._bundle.repository.tree(place.commit).read(place.path)
        return data is not None and self._index.is_retracted(
            retraction_hash(key, place.path, body_of(place.path, data))
        )

    def is_harmless(self, text: str) -> bool:
        known = self._judged.get(text)
        if known is None:
            known = self._judge(text)
            self._judged[text] = known
        return known

    def _judge(self, text: str) -> bool:
        from gitmem.safety.verdict import Verdict

        gate = self._bundle.part(Gate)
        if not gate.is_ready and not self._index.commits_touching(layout.CONFIG_SCANNER, limit=1):
            # The bundle never had rules of its own: to look for them in the tree would open the object store.
            gate.use_shipped_rules()
        return gate.judge(text, "recall").verdict is Verdict.ALLOW
