"""The scanner: one function that says whether a text may be remembered.

`scan` reads a text as it stands and through one layer of disguise, tries the rules where their
anchor words stand, and asks the statistical model last, which can only turn `allow` into `hold`.
Pure and linear in the length of the text. It is the second wall: nothing rests on it alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from gitmem.errors import TooLarge
from gitmem.safety.verdict import Finding, Result, Scope, Verdict

if TYPE_CHECKING:
    from gitmem.safety.decode import Layer
    from gitmem.safety.model import Model
    from gitmem.safety.rules import Rule

NOTE = 4000  # characters up to which a text can be a note
MAX_SCAN = 1_048_576  # characters; longer texts are refused, never cut
MAX_FINDINGS = 12
_WINDOW = 240  # characters behind an anchor that tell two places apart
_TRIES = 1500  # places where a pattern is tried, per text and per further 100,000 characters

__all__ = ["MAX_SCAN", "Scanner", "scan", "scan_rules_only"]


def scan(text: str, scope: Scope = "memory") -> Result:
    """The verdict of the shipped scanner on a text, with the reasons. TooLarge above MAX_SCAN characters."""
    return Scanner.shipped().scan(text, scope)


def scan_rules_only(text: str, scope: Scope = "memory") -> Result:
    """The same without the statistical stage: what the shipped rules and the Unicode checks say."""
    return Scanner.shipped().scan(text, scope, statistics=False)


@dataclass(frozen=True)
class Scanner:
    """A set of rules and, behind them, a model. Immutable; `with_rules` gives a stricter one."""

    rules: tuple[Rule, ...]
    model: Model | None = None
    problems: tuple[str, ...] = ()  # rules that could not be used, each in a sentence

    @staticmethod
    def shipped() -> Scanner:
        """The scanner as it ships; loaded on first use and kept."""
        return _shipped()

    def with_rules(self, extra: Iterable[Rule]) -> Scanner:
        """This scanner and more rules. Rules can only add findings, so the result is never milder."""
        return Scanner((*self.rules, *extra), self.model, self.problems)

    def scan(self, text: str, scope: Scope = "memory", *, statistics: bool = True) -> Result:
        """The verdict on a text, with findings in the order in which they stand in it."""
        from gitmem.safety.decode import layers
        from gitmem.safety.unicode import fold, inspect

        if len(text) > MAX_SCAN:
            raise TooLarge(
                f"The text has {len(text):,} characters; the scanner reads at most {MAX_SCAN:,}.",
                hint="Store it as a file outside the memory, and a note that says where it is.",
            )
        findings = inspect(text, scope)
        folded = fold(text)
        more, flooded = layers(text, folded)
        tries = _Tries(_TRIES * (1 + len(text) // 100_000))
        findings.extend(self._matches(folded, text, scope, tries, None))
        for layer in more:
            findings.extend(self._matches(layer.text, text, scope, tries, layer))
        if flooded or tries.spent:
            findings.append(
                Finding(
                    "scan.flood",
                    "flooding",
                    "repeats suspicious words or encoded pieces so often that not all of them could be checked",
                    (0, len(text)),
                    Verdict.HOLD,
                )
            )
        verdict = max((finding.severity for finding in findings), default=Verdict.ALLOW)
        if statistics and self.model is not None and verdict is Verdict.ALLOW and scope != "event":
            doubtful = self.model.doubt(text, folded, more, scope)
            if doubtful is not None:
                findings.append(doubtful)
                verdict = doubtful.severity
        findings.sort(key=lambda finding: finding.span)
        return Result(verdict, tuple(findings[:MAX_FINDINGS]))

    def _matches(
        self, view: str, text: str, scope: Scope, tries: _Tries, layer: Layer | None
    ) -> Iterator[Finding]:
        found: set[str] = set()
        for rule, start in self._places(view, dense=layer is not None and layer.dense):
            if scope not in rule.scopes or rule.id in found or (rule.note and len(text) > NOTE):
                continue
            if not tries.worth(rule, view, start):
                continue
            if rule.back:
                hit = rule.regex.search(view, max(0, start - rule.back), start + _WINDOW)
            else:
                hit = rule.regex.match(view, start)
            if hit is None:
                continue
            found.add(rule.id)
            severity = rule.severity
            if scope == "event" and rule.quotable:
                severity = Verdict.HOLD if severity is Verdict.BLOCK else Verdict.ALLOW
            reason = rule.reason if layer is None else f"{rule.reason} (read through {layer.name})"
            yield Finding(rule.id, rule.category, reason, _locate(text, hit, layer), severity)

    def _places(self, view: str, *, dense: bool) -> Iterator[tuple[Rule, int]]:
        """Where rules have to be tried: each rule with the position of its anchor."""
        if dense:
            for literal, rule in self._index.dense:
                start = view.find(literal)
                while start >= 0:
                    yield rule, start
                    start = view.find(literal, start + 1)
            return
        by_key = self._index.by_key
        if not by_key.keys().isdisjoint({word[:4] for word in _WORD.findall(view)}):
            for word in _WORD.finditer(view):
                start = word.start()
                for anchor, whole, rules in by_key.get(view[start : min(start + 4, word.end())], ()):
                    if word.group() == anchor if whole else view.startswith(anchor, start):
                        for rule in rules:
                            yield rule, start
        if not view.isascii() and _UNSPACED.search(view):
            for literal, rule in self._index.unspaced:
                start = view.find(literal)
                while start >= 0:
                    yield rule, start
                    start = view.find(literal, start + 1)

    @cached_property
    def _index(self) -> _Index:
        return _Index.of(self.rules)


@dataclass(frozen=True)
class _Index:
    """The anchors of all rules: words by their first letters, and literals for scripts without spaces."""

    by_key: dict[str, list[tuple[str, bool, list[Rule]]]]
    unspaced: list[tuple[str, Rule]]
    dense: list[tuple[str, Rule]]

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> _Index:
        words: dict[tuple[str, bool], list[Rule]] = {}
        unspaced: list[tuple[str, Rule]] = []
        dense: list[tuple[str, Rule]] = []
        for rule in rules:
            for anchor in rule.anchors:
                literal = anchor.rstrip("*")
                if rule.dense:
                    dense.append((literal, rule))
                elif _UNSPACED.search(literal):
                    unspaced.append((literal, rule))
                else:
                    words.setdefault((literal, literal == anchor), []).append(rule)
        by_key: dict[str, list[tuple[str, bool, list[Rule]]]] = {}
        for (literal, whole), named in words.items():
            by_key.setdefault(literal[:4], []).append((literal, whole, named))
        return cls(by_key, unspaced, dense)


class _Tries:
    """How often patterns may be tried on one text; the same words again cost nothing."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.seen: set[tuple[str, str]] = set()
        self.spent = False

    def worth(self, rule: Rule, view: str, start: int) -> bool:
        key = (rule.id, view[max(0, start - rule.back) : start + _WINDOW])
        if key in self.seen:
            return False
        if not self.left:
            self.spent = True
            return False
        self.left -= 1
        self.seen.add(key)
        return True


def _locate(text: str, hit: re.Match[str], layer: Layer | None) -> tuple[int, int]:
    """Where in the original a match stands: exact for plain text, else the words or the decoded piece."""
    if layer is not None and layer.span is not None:
        return layer.span
    start, end = hit.span()
    if layer is None and text[start:end].lower() == hit.group():
        return start, end
    words = _WORD.findall(hit.group())[:40]
    if words:
        again = re.compile(r"[\W_]{1,40}".join(map(re.escape, words)), re.IGNORECASE).search(text)
        if again is not None:
            return again.span()
    return 0, len(text)


@lru_cache(maxsize=1)
def _shipped() -> Scanner:
    from gitmem.safety.model import Model
    from gitmem.safety.rules import load_shipped

    rules, problems = load_shipped()
    return Scanner(rules, Model.shipped(), problems)


_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u2e80-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]")
