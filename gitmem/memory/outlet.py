"""The way out: whatever of the memory reaches an agent passes here. Retracted or flagged texts stay inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.memory.retractions import retraction_hash
from gitmem.okf import layout
from gitmem.okf.entries import EntryKey

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.indexing import Index


class Outlet:
    """Decides for each text whether it may leave, and counts those that may not."""

    def __init__(self, bundle: Bundle, index: Index) -> None:
        self._bundle = bundle
        self._index = index
        self._judged: dict[str, bool] = {}
        self.withheld = 0
        """How many texts the scanner kept back."""

    def lets_out(self, text: str, key: EntryKey | None = None) -> bool:
        """Whether a text may be shown to an agent, now, whatever was thought of it when it was written."""
        if key is not None and self._index.is_retracted(retraction_hash(key)):
            return False
        if not self.is_harmless(text):
            self.withheld += 1
            return False
        return True

    def is_harmless(self, text: str) -> bool:
        known = self._judged.get(text)
        if known is None:
            known = self._judge(text)
            self._judged[text] = known
        return known

    def _judge(self, text: str) -> bool:
        from gitmem.safety.verdict import Verdict

        gate = self._bundle.gate
        if not gate.is_ready and not self._index.commits_touching(layout.CONFIG_SCANNER, limit=1):
            # The bundle never had rules of its own: to look for them in the tree would open the object store.
            gate.use_shipped_rules()
        return gate.judge(text, "recall").verdict is Verdict.ALLOW
