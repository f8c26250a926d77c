"""Changes of a § file, each with the report that explains it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gitmem.memory.origin import Origin
from gitmem.text.similarity import pair_similar


@dataclass(frozen=True, slots=True)
class Report:
    """A write of a host's memory tool, as the host reported it; also a call of its skill tool, or an unreported turn."""

    at: str
    action: str
    target: str
    content: str = ""
    old_text: str = ""
    origin: Origin = field(default_factory=Origin)
    journal: str = ""
    number: int = 0
    """Its place in the journal: a report is used once."""
    is_open: bool = False
    """Whether the turn that wrote it goes on: what its tools returned is known when it is over."""
    begun: str = ""
    """When the turn of a skill call began."""


@dataclass(frozen=True, slots=True)
class HostChange:
    """One entry that was added (`old` is empty), removed (`new` is empty) or replaced."""

    old: str
    new: str
    report: Report | None = None
    earlier: tuple[tuple[str, Report], ...] = ()
    """Wordings that were written and replaced since the last look: each is a commit of its own."""


@dataclass(slots=True)
class _Slot:
    """An entry while reports are played again: its text, what it was in the base, who wrote it last."""

    text: str
    root: str = ""
    report: Report | None = None
    earlier: list[tuple[str, Report]] = field(default_factory=list)

    def reword(self, text: str, report: Report) -> None:
        if self.report is not None and self.text != text:
            self.earlier.append((self.text, self.report))
        self.text, self.report = text, report


def changes(base: Sequence[str], present: Sequence[str], reports: Sequence[Report]) -> list[HostChange]:
    """Return what led from the base to the present.

    The reports are played again over the base as the host plays them. Where the outcome is what is in
    the file, they explain it; what is left over is paired by likeness and has no report.
    """
    new = [text for text in present if text not in base]
    gone = [text for text in base if text not in present]
    slots, removed = _played(base, reports)
    written = {slot.text: slot for slot in slots if slot.report is not None}
    found: list[HostChange] = []
    rest: list[str] = []
    for text in new:
        slot = written.get(text)
        if slot is None:
            rest.append(text)
            continue
        old = slot.root if slot.root in gone else ""
        if old:
            gone.remove(old)
        found.append(HostChange(old, text, slot.report, tuple(slot.earlier)))
    found += [HostChange(text, "", removed[text]) for text in gone if text in removed]
    gone = [text for text in gone if text not in removed]
    pairs = pair_similar(gone, rest)
    found += [HostChange(gone[pairs[k]] if k in pairs else "", text) for k, text in enumerate(rest)]
    found += [HostChange(text, "") for i, text in enumerate(gone) if i not in pairs.values()]
    return found


def _played(base: Sequence[str], reports: Sequence[Report]) -> tuple[list[_Slot], dict[str, Report]]:
    slots = [_Slot(text, text) for text in base]
    removed: dict[str, Report] = {}
    for report in sorted(reports, key=lambda one: one.at):
        content, old = plain(report.content).strip(), plain(report.old_text).strip()
        matches = [slot for slot in slots if old and old in slot.text]
        if report.action == "add":
            if content and all(slot.text != content for slot in slots):
                slots.append(_Slot(content, "", report))
        elif report.action == "replace" and content:
            if matches:
                matches[0].reword(content, report)
            else:  # what it replaced was written and removed between two looks
                slots.append(_Slot(content, "", report))
        elif report.action == "remove" and matches:
            slots.remove(matches[0])
            if matches[0].root:
                removed[matches[0].root] = report
    return slots, removed


def plain(text: str) -> str:
    """The text with the line ends that a host reads in text mode."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
