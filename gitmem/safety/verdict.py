"""The answer of a scan: a verdict and the findings that led to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

Scope = Literal["memory", "event", "skill", "recall"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


class Verdict(StrEnum):
    """`allow` < `hold` < `block`; a text gets the highest verdict among its findings."""

    ALLOW = "allow"
    HOLD = "hold"
    BLOCK = "block"

    def __lt__(self, other: object) -> bool:
        # str would order them by the alphabet, and put `block` between the two.
        if not isinstance(other, Verdict):
            return NotImplemented
        return _RANK[self.value] < _RANK[other.value]

    def __le__(self, other: object) -> bool:
        return NotImplemented if not isinstance(other, Verdict) else not other < self

    def __gt__(self, other: object) -> bool:
        return NotImplemented if not isinstance(other, Verdict) else other < self

    def __ge__(self, other: object) -> bool:
        return NotImplemented if not isinstance(other, Verdict) else not self < other


_RANK = {"allow": 0, "hold": 1, "block": 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found: which rule, where in the scanned text, and why it matters."""

    rule: str
    category: str
    reason: str
    span: tuple[int, int]
    severity: Verdict


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict on one text. `findings` may be non-empty on `allow`: seen, and let through in this scope."""

    verdict: Verdict
    findings: tuple[Finding, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that spoke, each once, in order."""
        return tuple(dict.fromkeys(finding.rule for finding in self.findings))

    def explain(self) -> str:
        """One sentence for a person: the reasons of the gravest findings, each with its rule's id."""
        gravest = [f for f in self.findings if f.severity == self.verdict]
        reasons = dict.fromkeys(f"{finding.reason} ({finding.rule})" for finding in gravest)
        return "; ".join(reasons)
