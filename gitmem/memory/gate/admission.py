"""The door of the curated files: what a new text passes before it may stand in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.memory.edits import Edits
from gitmem.memory.gate.quarantine import Quarantine
from gitmem.memory.gate.retractions import is_retracted, retract
from gitmem.memory.gate.scan import BlockedContent, Gate
from gitmem.memory.gate.secrets import redact
from gitmem.memory.provenance import Origin
from gitmem.okf.curated import check_text
from gitmem.okf.entries import Entry, section_key

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.safety.verdict import Result


@dataclass(frozen=True, slots=True)
class Door:
    """What new texts for one file pass: redaction, the scanner, and what was retracted."""

    bundle: Bundle
    edits: Edits
    path: str
    origin: Origin
    by_person: bool
    held: list[str]

    def admit(self, text: str) -> str | None:
        """The text as it may be stored; None where it went to quarantine. Raises where it is blocked."""
        from gitmem.safety.verdict import Verdict

        text = redact(check_text(text))
        result = self.bundle.part(Gate).judge(text, "memory")
        if result.verdict is Verdict.BLOCK:
            raise BlockedContent(result)
        if is_retracted(self.edits, section_key(text)):
            if self.by_person:
                entry = Entry(section_key(text), text)
                retract(
                    self.edits, entry, self.path, state="released", at=self.bundle.now(), origin=self.origin
                )
            else:
                result = with_retraction(result, text)
        if result.verdict is Verdict.HOLD:
            where = {"kind": "entry", "path": self.path}
            self.held.append(
                self.bundle.part(Quarantine).hold(text, result, destination=where, origin=self.origin)
            )
            return None
        return text


def with_retraction(result: Result, text: str) -> Result:
    """A verdict on a text that was retracted: held at least, and it says why."""
    from gitmem.safety.verdict import Finding, Result, Verdict

    reason = "was taken back earlier, and must not come back by itself"
    finding = Finding("retracted", "retraction", reason, (0, len(text)), Verdict.HOLD)
    return Result(max(result.verdict, Verdict.HOLD), (*result.findings, finding))
