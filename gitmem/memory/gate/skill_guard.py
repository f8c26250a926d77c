"""The guard of skills: what may become how-to knowledge of an agent, by what it does and by who brings it.

A skill is code and orders. Every file of it is read before any of it lands, scripts with their language in mind, and the
gravest finding in any file is the verdict on all: a write of several files lands as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Literal

from gitmem.errors import BlockedSkill, GitMemError
from gitmem.memory.gate.admission import SKILL, Admission, retracted_result
from gitmem.memory.gate.ledger import Ledger
from gitmem.memory.retraction import retracted_units
from gitmem.okf.entries import entry_hash
from gitmem.okf.files import open_file
from gitmem.okf.skills import SKILL_FILE, stored
from gitmem.safety.files import judge_binary
from gitmem.safety.verdict import Finding, Result, Verdict

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Files
    from gitmem.memory.origin import Origin

Danger = Literal["safe", "caution", "dangerous"]
Tier = Literal["trusted", "agent", "community"]
"""A person wrote it, an agent did, or it was imported."""
Fate = Literal["allow", "hold", "block"]

DANGERS: Mapping[Verdict, Danger] = {
    Verdict.ALLOW: "safe",
    Verdict.HOLD: "caution",
    Verdict.BLOCK: "dangerous",
}
_DOUBTED: Mapping[Tier, Fate] = {"trusted": "allow", "agent": "hold", "community": "block"}


@dataclass(frozen=True, slots=True)
class SkillFinding:
    """One thing that was found in a skill, and where."""

    file: str
    line: int
    rule: str
    category: str
    danger: Danger
    reason: str

    def __str__(self) -> str:
        return f"{self.file} line {self.line}: {self.reason} ({self.rule})"


@dataclass(frozen=True, slots=True)
class Inspection:
    """Findings on the files of a skill, each by its path."""

    results: Mapping[str, Result]
    findings: tuple[SkillFinding, ...]
    marks: Mapping[str, str]
    """What marks the skill in which something came out of a tool and nobody asked for it."""

    @property
    def verdict(self) -> Verdict:
        return max((one.verdict for one in self.results.values()), default=Verdict.ALLOW)

    @property
    def danger(self) -> Danger:
        return DANGERS[self.verdict]

    def fate(self, tier: Tier) -> Fate:
        """Return what becomes of the skill: a safe one goes in, and a dangerous one does not."""
        if self.verdict is Verdict.HOLD:
            return _DOUBTED[tier]
        return "allow" if self.verdict is Verdict.ALLOW else "block"

    @property
    def gravest(self) -> tuple[SkillFinding, ...]:
        return tuple(one for one in self.findings if one.danger == self.danger)


@dataclass(frozen=True)
class SkillGuard:
    """Looks at the files of a skill for one change of a bundle."""

    bundle: Bundle
    tier: Tier
    _: KW_ONLY
    origin: Origin | None = None
    by_person: bool = False

    def inspect(self, files: Mapping[str, bytes]) -> Inspection:
        """Return what is said of the files, by their paths below `skills/`, in the form that agents have."""
        admission = Admission(self.bundle, origin=self.origin, by_person=self.by_person)
        results: dict[str, Result] = {}
        marks: Mapping[str, str] = {}
        for path, data in files.items():
            text = text_of(data)
            if text is None:
                result = judge_binary(data)
            else:
                result = admission.judge_origin(text, admission.skill(text, path))
                marks = admission.skill_marks(text) if path.endswith(f"/{SKILL_FILE}") else marks
            if not self.by_person and self._was_taken_back(path, data):
                result = retracted_result(result, len(data))
            results[path] = result
        for path, one in _over_files(admission, files):
            result = results[path]
            results[path] = Result(max(result.verdict, one.severity), (*result.findings, one))
        findings = [
            _located(path, text_of(files[path]) or "", one)
            for path, result in results.items()
            for one in result.findings
            if one.severity is not Verdict.ALLOW
        ]
        return Inspection(results, tuple(findings), marks)

    def _was_taken_back(self, path: str, data: bytes) -> bool:
        with contextlib.suppress(GitMemError):  # what cannot be stored is refused elsewhere
            return was_taken_back(self.bundle.tree(), path, stored(path, data))
        return False

    def admit(self, name: str, files: Mapping[str, bytes]) -> tuple[Inspection, tuple[str, ...]]:
        """Return what is said of the files, and the ids in quarantine of those that are held; raises where it is blocked."""
        found = self.inspect(files)
        fate = found.fate(self.tier)
        doubted = {
            path: result for path, result in found.results.items() if result.verdict is not Verdict.ALLOW
        }
        texts = {path: text for path in doubted if (text := text_of(files[path])) is not None}
        if fate == "hold" and len(texts) < len(doubted):
            fate = "block"  # quarantine keeps texts: what is none a person adds themselves
        if fate == "block":
            raise BlockedSkill(name, found.danger, [str(one) for one in found.gravest])
        if fate == "hold":
            held = [(text, doubted[path], {"kind": "skill", "path": path}) for path, text in texts.items()]
            return found, tuple(Admission(self.bundle, origin=self.origin).hold_all(held))
        if self.by_person and texts:  # a person wrote it, and so it is fine on this machine
            judged = [entry_hash(one) for path, text in texts.items() for one in judged_texts(path, text)]
            self.bundle.part(Ledger).release(judged, self.bundle.world.person or "human")
        return found, ()


def judged_texts(path: str, text: str) -> list[str]:
    """A file of a skill as its agent has it and as the bundle has it, and as a search would show it."""
    from gitmem.index.documents import documents_of

    made = stored(path, text.encode())
    body = open_file(path, made).body.strip()
    return list(dict.fromkeys((text, made.decode(), body, *(one.text for one in documents_of(path, made)))))


def _over_files(admission: Admission, files: Mapping[str, bytes]) -> Iterator[tuple[str, Finding]]:
    """Find what begins in one file of a skill and ends in the next: a payload in halves."""
    texts = [(path, text) for path in sorted(files) if (text := text_of(files[path])) is not None]
    if len(texts) < 2 or sum(len(text) for _, text in texts) > _MOST_JOINED:
        return
    joined, borders = "", []
    for path, text in texts:
        piece = text
        if _RUN_ENDS.search(joined[-80:].rstrip()) and _RUN_BEGINS.match(text.lstrip()[:80]):
            joined, piece = joined.rstrip(), text.lstrip()  # one encoded run
        elif joined:
            joined = joined.rstrip("\n") + "\n"
        if joined:
            borders.append((len(joined), path))
        joined += piece
    for one in admission.skill(joined, f"skills/{SKILL_FILE}").findings:
        for border, path in borders:
            if one.severity is not Verdict.ALLOW and one.span[0] < border < one.span[1]:
                yield (
                    path,
                    replace(one, reason=f"{one.reason}, together with the file before it", span=(0, 0)),
                )


_MOST_JOINED = 400_000
_RUN_ENDS = re.compile(r"[A-Za-z0-9+/]{16}\Z")
_RUN_BEGINS = re.compile(r"[A-Za-z0-9+/]{16}")


def was_taken_back(files: Files, path: str, data: bytes) -> bool:
    """Return whether a file of a skill, as it is stored, was retracted in a tree."""
    return bool(retracted_units(files, open_file(path, data)))


def judge_external(path: str, data: bytes) -> Danger:
    """Return what the shipped rules say of a file that is in no bundle."""
    from gitmem.safety.scanner import Scanner

    text = text_of(data)
    result = judge_binary(data) if text is None else Scanner.shipped().scan(text, SKILL.scope, path=path)
    return DANGERS[result.verdict]


def text_of(data: bytes) -> str | None:
    """The text of a file; None where it is none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _located(path: str, text: str, found: Finding) -> SkillFinding:
    line = text.count("\n", 0, found.span[0]) + 1
    name = path.removeprefix("skills/")
    return SkillFinding(name, line, found.rule, found.category, DANGERS[found.severity], found.reason)
