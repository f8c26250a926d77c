"""The scanner: one function that says whether a text may be remembered.

`scan` reads a text as it stands and through one layer of disguise, tries the rules where their
anchor words stand, and asks the statistical model last, which can only turn `allow` into `hold`.
Pure and linear in the length of the text. It is the second wall: nothing rests on it alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal

from gitmem.safety.verdict import Finding, Result, Scope, Verdict

Part = Literal["all", "prose", "code"]

if TYPE_CHECKING:
    from gitmem.safety.decode import Layer
    from gitmem.safety.model import StatisticalModel
    from gitmem.safety.rules import Rule

NOTE = 4000  # characters up to which a text can be a note
WINDOW = 256 * 1024  # characters that are read at once; a longer text is read in windows
OVERLAP = 4 * 1024  # characters that two windows share
MAX_FINDINGS = 12
KEY = 4  # letters by which the beginnings of words are looked up
_WINDOW = 320  # characters behind an anchor that tell two places apart
_OFTEN = 1500  # places of one rule that are looked at; a text with more of them is held
_REMEMBERED = 50_000  # words of which is remembered which rules they matter to
_TRIES = 800  # places where a pattern is tried, per text and per further 100,000 characters

_Uses = tuple[tuple[int, ...], frozenset[int]]
_NO_USE: _Uses = ((), frozenset())
_NOTHING: set[str] = set()


@dataclass(frozen=True)
class Scanner:
    """A set of rules and, behind them, a model. Immutable; `with_rules` gives a stricter one."""

    rules: tuple[Rule, ...]
    model: StatisticalModel | None = None
    knows_skills: bool = False  # whether the shipped rules about skills count in that scope

    @staticmethod
    @cache
    def shipped() -> Scanner:
        """The scanner as it ships; loaded on first use and kept."""
        from gitmem.safety.model import StatisticalModel
        from gitmem.safety.rules import load_shipped

        return Scanner(load_shipped()[0], StatisticalModel.shipped(), knows_skills=True)

    def with_rules(self, extra: Iterable[Rule]) -> Scanner:
        """This scanner and more rules. Rules can only add findings, so the result is never milder."""
        return Scanner((*self.rules, *extra), self.model, self.knows_skills)

    def scan(self, text: str, scope: Scope = "memory", *, statistics: bool = True, path: str = "") -> Result:
        """The verdict on a text of any length, with findings in the order in which they are in it.

        The `path` of a script says which language it is in.
        """
        code = None
        if scope == "skill" and path:
            from gitmem.safety.files import code_of

            code = code_of(text, path)
        if len(text) <= WINDOW:
            return self._read(text, scope, statistics, code)
        # The windows overlap by more than any rule spans, so nothing hides on a border.
        found: dict[tuple[str, tuple[int, int]], Finding] = {}
        verdict = Verdict.ALLOW
        for start in range(0, len(text) - OVERLAP, WINDOW - OVERLAP):
            part = code[start : start + WINDOW] if code is not None else None
            result = self._read(text[start : start + WINDOW], scope, statistics, part)
            verdict = max(verdict, result.verdict)
            for one in result.findings:
                span = (one.span[0] + start, one.span[1] + start)
                found.setdefault((one.rule, span), replace(one, span=span))
        findings = sorted(found.values(), key=lambda one: (one.severity is not verdict, one.span))[
            :MAX_FINDINGS
        ]
        return Result(verdict, tuple(sorted(findings, key=lambda one: one.span)))

    def _read(self, text: str, scope: Scope, statistics: bool, code: str | None) -> Result:
        """The verdict on a text that is read at once; `code` is what of it is run, where it is a script."""
        from gitmem.safety.decode import layers
        from gitmem.safety.unicode import fold, inspect, words_of

        findings = inspect(text, scope)
        folded = fold(text)
        words = words_of(folded)
        tries = _Tries(_TRIES * (1 + len(text) // 100_000))
        is_note = len(text) <= NOTE
        index = self._index(scope, is_note=is_note)
        is_studied = scope == "skill" and _STUDIES.search(folded, 0, _HEAD) is not None
        seen = self._index(scope, is_note=is_note, part="prose") if code is not None else index
        findings.extend(self._matches(seen, folded, words, text, scope, tries, None))
        if code is not None:
            run = fold(code)
            commands = self._index(scope, is_note=is_note, part="code")
            findings.extend(self._matches(commands, run, words_of(run), text, scope, tries, None))
        if scope == "skill":
            findings = [_in_a_skill(finding, is_studied, text) for finding in findings]
        more: list[Layer] = []
        flooded = False
        # What is blocked already needs no second reading.
        if all(finding.severity is not Verdict.BLOCK for finding in findings):
            more, flooded = layers(text, folded, words, index.known)
        for layer in more:
            findings.extend(self._matches(index, layer.text, words_of(layer.text), text, scope, tries, layer))
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
        if scope == "skill":
            strays = text.count("\u200b")
            findings = [_in_a_skill(finding, is_studied, text, strays=strays) for finding in findings]
        verdict = max((finding.severity for finding in findings), default=Verdict.ALLOW)
        if statistics and self.model is not None and verdict is Verdict.ALLOW and scope != "event":
            # A skill gives orders by its nature, and a finding there should name a line: only the plainest counts.
            patience = _SKILL_PATIENCE if scope == "skill" else 0.0
            doubtful = self.model.doubt(text, words, more, patience=patience)
            if doubtful is not None:
                findings.append(doubtful)
                verdict = doubtful.severity
        findings.sort(key=lambda finding: finding.span)
        return Result(verdict, tuple(findings[:MAX_FINDINGS]))

    def _matches(
        self,
        index: _Index,
        view: str,
        words: list[str],
        text: str,
        scope: Scope,
        tries: _Tries,
        layer: Layer | None,
    ) -> Iterator[Finding]:
        dense = layer is not None and layer.dense
        for rule, starts in index.places_dense(view) if dense else index.places(view, words):
            hit = tries.first(rule, view, starts)
            if hit is None:
                continue
            severity = rule.severity
            if _mentioned(view, hit) or (severity is Verdict.HOLD and _discussed(view, hit)):
                severity = Verdict.ALLOW
            elif scope == "event" and rule.quotable:
                severity = Verdict.HOLD
            reason = rule.reason if layer is None else f"{rule.reason} (read through {layer.name})"
            yield Finding(rule.id, rule.category, reason, _locate(text, hit, layer), severity)

    def _index(self, scope: Scope, *, is_note: bool, part: Part = "all") -> _Index:
        """The rules that can say something about a text of that scope and length, or about a part of a script."""
        key = scope, is_note, part
        if key not in self._indexes:
            rules = (
                (*self.rules, *_skill_rules()[0]) if scope == "skill" and self.knows_skills else self.rules
            )
            self._indexes[key] = _Index(
                rule
                for rule in rules
                if scope in rule.scopes
                and (part == "all" or rule.code is (part == "code"))
                and (is_note or not rule.note)
                # What a conversation may quote is one step milder there, and such a rule says nothing.
                and not (scope == "event" and rule.quotable and rule.severity is Verdict.HOLD)
            )
        return self._indexes[key]

    @cached_property
    def _indexes(self) -> dict[tuple[Scope, bool, Part], _Index]:
        return {}


class _Index:
    """The words by which rules are found, and where in a text each rule has to be tried."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self.unspaced: list[tuple[str, Rule]] = []
        self.dense: list[tuple[str, Rule]] = []
        self.known: set[str] = set()  # words that matter to some rule
        self._whole: dict[str, _Uses] = {}  # by anchors and needed words that are whole words
        self._stems: dict[
            str, list[tuple[str, int, bool]]
        ] = {}  # beginnings of words, by their first letters
        self._heads: set[str] = set()  # the first letters of all of these
        self._uses: dict[str, _Uses] = {}  # what words were found to be good for
        for number, rule in enumerate(self.rules):
            self.known.update(word for word in (*rule.anchors, *rule.need) if len(word) > 3)
            for anchor in rule.anchors:
                literal = anchor.rstrip("*")
                if rule.dense:
                    self.dense.append((literal, rule))
                elif _UNSPACED.search(literal):
                    self.unspaced.append((literal, rule))
                else:
                    self._add(anchor, number, is_anchor=True)
            for word in rule.need:
                self._add(word, number, is_anchor=False)

    def _add(self, word: str, number: int, *, is_anchor: bool) -> None:
        literal = word.rstrip("*")
        self._heads.add(literal[:KEY])
        if literal != word:
            self._stems.setdefault(literal[:KEY], []).append((literal, number, is_anchor))
            return
        anchors, needs = self._whole.get(word, _NO_USE)
        self._whole[word] = ((*anchors, number), needs) if is_anchor else (anchors, needs | {number})

    def _use(self, word: str) -> _Uses:
        """The rules that a word is an anchor of, and those that need it."""
        anchors, needs = self._whole.get(word, _NO_USE)
        stems = [each for each in self._stems.get(word[:KEY], ()) if word.startswith(each[0])]
        if stems:
            anchors = tuple(dict.fromkeys((*anchors, *(number for _, number, anchor in stems if anchor))))
            needs |= {number for _, number, anchor in stems if not anchor}
        if len(self._uses) >= _REMEMBERED:
            self._uses.clear()
        self._uses[word] = anchors, needs
        return anchors, needs

    def places(self, view: str, words: list[str]) -> Iterator[tuple[Rule, list[int]]]:
        """The rules whose words occur, each with the positions of its anchors that are worth a try."""
        anchored: dict[int, set[str]] = {}
        needed: dict[int, set[str]] = {}
        heads, uses = self._heads, self._uses
        followers_of: list[tuple[str, frozenset[int]]] = []
        for word in [word for word in set(words) if word[:KEY] in heads]:
            anchors, needs = uses.get(word) or self._use(word)
            for number in anchors:
                anchored.setdefault(number, set()).add(word)
            if needs:
                followers_of.append((word, needs))
        for word, needs in followers_of:
            for number in needs & anchored.keys():
                needed.setdefault(number, set()).add(word)
        wanted: set[str] = set()
        able: list[tuple[Rule, set[str], set[str]]] = []
        for number in sorted(anchored):
            rule = self.rules[number]
            followers = needed.get(number, _NOTHING)
            if rule.need and not followers:
                continue
            wanted |= anchored[number]
            wanted |= followers
            able.append((rule, anchored[number], followers))
        if able:
            counts = Counter(words) if len(words) > _OFTEN else {}
            often = {word for word in wanted if counts.get(word, 0) > _OFTEN}
            where = _positions(view, words, wanted - often)
            for word in often:
                where[word] = _first_places(view, word)
            for rule, starts, followers in able:
                places = _merged(where, starts)
                if followers:
                    marks = _merged(where, followers)
                    places = [place for place in places if _near(marks, place, rule.reach)]
                if places:
                    yield rule, places
        if not view.isascii() and _UNSPACED.search(view):
            letters = set(view)
            yield from _literal_places(view, [pair for pair in self.unspaced if letters.issuperset(pair[0])])

    def places_dense(self, view: str) -> Iterator[tuple[Rule, list[int]]]:
        """The same for words run together: anchors may stand anywhere."""
        return _literal_places(view, self.dense)


def _positions(view: str, words: list[str], wanted: set[str]) -> dict[str, list[int]]:
    """Return the positions of the wanted words in a text."""
    where: dict[str, list[int]] = {word: [] for word in wanted}
    hits = [word for word in words if word in wanted]
    if 3 * len(hits) > len(words):
        from gitmem.text.words import WORD

        for match in WORD.finditer(view):
            if match[0] in where:
                where[match[0]].append(match.start())
        return where
    place = 0
    for word in hits:
        # The next place where it stands by itself is its own: words come in order.
        place = _next_place(view, word, place)
        where[word].append(place)
        place += len(word)
    return where


def _first_places(view: str, word: str) -> list[int]:
    """The first places of a word that is in a text suspiciously often; the rest counts as a flood."""
    places: list[int] = []
    place = 0
    while len(places) <= _OFTEN:
        place = _next_place(view, word, place)
        places.append(place)
        place += len(word)
    return places


def _next_place(view: str, word: str, start: int) -> int:
    place = view.find(word, start)
    while (place and view[place - 1].isalnum()) or view[place + len(word) : place + len(word) + 1].isalnum():
        place = view.find(word, place + 1)
    return place


def _merged(where: dict[str, list[int]], words: set[str]) -> list[int]:
    if len(words) == 1:
        return where[next(iter(words))]
    return sorted(chain.from_iterable(map(where.__getitem__, words)))


def _near(marks: list[int], place: int, reach: int) -> bool:
    after = bisect_left(marks, place)
    return after < len(marks) and marks[after] <= place + reach


def _literal_places(view: str, literals: list[tuple[str, Rule]]) -> Iterator[tuple[Rule, list[int]]]:
    found: dict[str, tuple[Rule, list[int]]] = {}
    for literal, rule in literals:
        start = view.find(literal)
        if start >= 0:
            places = found.setdefault(rule.id, (rule, []))[1]
            while start >= 0 and len(places) < _TRIES:
                places.append(start)
                start = view.find(literal, start + 1)
    yield from found.values()


class _Tries:
    """A limit on tries of patterns for one text; the same words again cost nothing."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.spent = False
        self._view = ""
        self._windows: dict[int, int] = {}

    def first(self, rule: Rule, view: str, places: list[int]) -> re.Match[str] | None:
        """The first match of a rule at one of the places."""
        if len(places) > _OFTEN:
            self.spent = True
        if len(places) > 8:
            places = self._different(view, places)
        for place in places:
            if not self.left:
                self.spent = True
                return None
            self.left -= 1
            if rule.back:
                hit = rule.regex.search(view, max(0, place - rule.back), place + _WINDOW)
            else:
                hit = rule.regex.match(view, place)
            if hit is not None:
                return hit
        return None

    def _different(self, view: str, places: list[int]) -> list[int]:
        """The places without those around which the same is written as around an earlier one."""
        if view is not self._view:
            self._view, self._windows = view, {}
        known = self._windows
        for place in places:
            if place not in known:
                known[place] = hash(view[max(0, place - 80) : place + _WINDOW])
        firsts: dict[int, int] = {}
        for place in places:
            firsts.setdefault(known[place], place)
        return list(firsts.values())


def _mentioned(view: str, hit: re.Match[str]) -> bool:
    """Return whether a match is quoted by someone who speaks about it, as in `the phrase "…" was blocked`."""
    start = hit.start()
    if "\\s" in hit.group():  # the source of a pattern that looks for it
        return True
    if _MENTION.search(view, max(0, start - 40), start) and _CLOSED.match(view, hit.end()):
        return True
    return view[max(0, start - 2) : start].strip()[-1:] in _QUOTES and bool(
        _DISCUSSION.search(view, max(0, start - 140), start)
    )


def _discussed(view: str, hit: re.Match[str]) -> bool:
    """Return whether the words around a match speak about attacks, as documentation does."""
    return _DISCUSSION.search(view, max(0, hit.start() - 140), hit.end() + 100) is not None


def _locate(text: str, hit: re.Match[str], layer: Layer | None) -> tuple[int, int]:
    """Return the span of a match in the original: exact for plain text, else the words or the decoded piece."""
    if layer is not None and layer.span is not None:
        return layer.span
    start, end = hit.span()
    if layer is None and text[start:end].lower() == hit.group():
        return start, end
    from gitmem.safety.unicode import words_of

    words = words_of(hit.group())[:40]
    if words:
        again = re.compile(r"[\W_]{1,40}".join(map(re.escape, words)), re.IGNORECASE).search(text)
        if again is not None:
            return again.span()
    return 0, len(text)


@cache
def _skill_rules() -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    from gitmem.safety.rules import load_shipped

    return load_shipped("skill_rules")


_STRAY = 8
"""So many spaces of no width a page may have that was copied from the web."""


def _in_a_skill(finding: Finding, is_studied: bool, text: str, *, strays: int = _STRAY + 1) -> Finding:
    """Return a finding as it counts in a skill.

    What is common there, what a skill about attacks quotes, and a command that is named as one to refuse is a doubt.
    """
    is_doubt = (
        finding.rule in _COMMON_IN_SKILLS
        or (finding.category == "destructive" and _is_warned_of(finding.span, text))
        or (is_studied and finding.category not in _SMUGGLED)
        or (finding.rule == "unicode.zero-width-space" and strays <= _STRAY)
    )
    return replace(finding, severity=min(finding.severity, Verdict.HOLD)) if is_doubt else finding


def _is_warned_of(span: tuple[int, int], text: str) -> bool:
    """Return whether the text says to refuse a command: `never run …`, a deny list."""
    near = text[max(0, span[0] - _NEAR) : span[1] + _NEAR // 2].lower()
    return _WARNING.search(near) is not None


_NEAR = 160
_WARNING = re.compile(
    r"\b(?:never|do not|don't|must not|ask before|confirm before|dangerous|destructive|forbidden|prohibited|"
    r"(?:block|den(?:y|ies)|refus|reject|disallow|detect)(?:s|e|es|ed|ing|ion)?)\b"
)
_SKILL_PATIENCE = 2.0
_SMUGGLED = frozenset(("hidden text", "fake fence"))
"""What no skill needs, also one that is about attacks."""
_COMMON_IN_SKILLS = frozenset((
    "conceal.knowledge", "credentials.authorized-keys", "credentials.cloud-files", "credentials.env-file",
    "credentials.ssh-files", "exfil.curl-secret", "exfil.many-credentials", "fence.role-token", "fence.system-tag",
    "override.supersede", "override.void", "persist.authorized-keys", "trigger.then-send",
))  # fmt: skip
"""What skills do that people use every day: they set up keys, call a service with its key, explain the templates of a chat.
For a note it is too much; a skill waits for a person."""
_HEAD = 1_500
"""Characters at the beginning of a skill, where it says what it is about."""
_STUDIES = re.compile(
    r"\b(?:red[- ]?team\w*|jailbreak\w*|pen(?:etration)?[- ]?test\w*|prompt injections?|threat (?:model|intel|hunt)\w*|"
    r"(?:security|safety) (?:research|audit|assessment|review|scan|test|analysis|operations|system)\w*|vulnerabilit\w+|"
    r"malware analysis|forensics?|\bctf\b|harden(?:er|ing)?\b|exploits?\b|ciso|incident response|skill[- ]?scanner)"
)
_MENTION = re.compile(
    r"(?:\b(?:phrase|phrases|text|words?|strings?|sentence|message|says|said|contains|contained|containing|like|"
    r"such as|e\.g\.|example|examples|prompt|input|title|titled)\b[:,\"'\s]{0,4})[\"'`(]{1,2}\Z"
)
_QUOTES = ('"', "'", "`")
_CLOSED = re.compile(r"[\w.,!]{0,14}[\"'`)]")
_DISCUSSION = re.compile(
    r"\b(?:attack(?:s|er|ers)?\b(?!@)|adversar\w+|malicious (?:users?|actors?|prompts?|inputs?)|techniques?|"
    r"research(?:ers?)?|papers?|detect(?:s|ed|ing|ion|or|ors)?|classif\w+|mitigat\w+|vulnerabilit\w+|owasp|"
    r"red[- ]team\w*|benchmark\w*|prevent(?:s|ing|ion)?|defen[cs]es?|protect(?:s|ing|ion)?|"
    r"novel|thriller|villain|sci-fi|screenplay|protagonist|fiction|writing a|novelist|"
    r"what (?:is|are|does|was)|compar(?:e|es|ed|ing)|discuss(?:es|ed|ing|ion)?|explain(?:s|ed|ing))\b"
)
_UNSPACED = re.compile("[\u0e00-\u0eff\u2e80-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]")
