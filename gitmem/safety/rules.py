"""Rules as data: read from TOML, checked so that none can be slow or match everything.

A rule is found by its *anchors*, words that stand where its pattern begins. The scanner splits a
text into words once, and tries a pattern only where one of its anchors stands: the time for a text
does not grow with the number of rules, and no pattern is ever searched through a whole text. A
rule may also name the words it *needs*: without one of them close behind, the pattern is not tried.

In a pattern
- a blank stands for one to four characters that are not letters or digits (`ignore_previous`,
  `ignore, previous` and a line break match too);
- `{w3}` stands for up to three words and the blanks behind them;
- `{gap60}` stands for up to sixty characters of any kind, as few as possible;
- `{told}` matches nothing, but only where the next words are said to the reader: not after
  `never`, `to` (`attempts to ignore …`) or `can`, though after `you to`, `need to` and the like;
- `{name}` stands for the alternatives of that name in the file's `[sets]`;
- `@` stands for any of the anchors, `{need}` for any of the words that the rule needs.
Patterns see folded text: lower case, no marks on letters, no invisible characters.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

from gitmem import resources
from gitmem.safety.unicode import fold
from gitmem.safety.verdict import SCOPES, Scope, Verdict
from gitmem.text.words import WORD

MAX_PATTERN = 1500  # characters of a rule's pattern as written
MAX_WIDTH = 600  # characters that one match may span
MAX_PATHS = 40_000  # ways in which a pattern may be tried at one place
MAX_BUNDLE_RULES = 100


@dataclass(frozen=True)
class Rule:
    """One thing to look for, and what to say when it is found."""

    id: str
    category: str
    severity: Verdict
    reason: str
    anchors: tuple[str, ...]
    pattern: str  # with the file's sets put in
    scopes: frozenset[Scope] = frozenset(SCOPES)
    quotable: bool = True  # a conversation may quote it: one step milder there
    dense: bool = False  # for words run together (`i g n o r e p r e v i o u s`)
    need: tuple[str, ...] = ()  # words of which one must follow within `reach`, or no try is made
    reach: int = 200
    back: int = 0  # signs before the anchor with which the pattern begins, as in `<|im_start|>`
    code: bool = False  # speaks of commands: in a script it sees no comments, and no strings that are not run
    note: bool = False  # only in texts short enough to be a note: in long documents it is ordinary
    match: tuple[str, ...] = ()
    no_match: tuple[str, ...] = ()
    origin: str = field(default="shipped", compare=False)

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The pattern, compiled when it is first needed: most texts need none."""
        return re.compile(expand(self.pattern, self.anchors, self.need), re.DOTALL)


def load_shipped(folder_name: str = "rules") -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules that ship with gitmem, and what is wrong with those that were left out.

    Those in `skill_rules` are about skills alone: most commands never need them.
    """
    rules: list[Rule] = []
    problems: list[str] = []
    for name in resources.names(f"safety/{folder_name}"):
        if name.endswith(".toml"):
            text = resources.read(f"safety/{folder_name}/{name}").decode()
            more, wrong = parse_rules(text, name, shipped=True)
            rules.extend(more)
            problems.extend(wrong)
    return tuple(rules), tuple(problems)


def parse_rules(text: str, origin: str, *, shipped: bool = False) -> tuple[list[Rule], list[str]]:
    """The rules of a TOML text, and a sentence about each that cannot be used; the others still work."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return [], [f"{origin} is not TOML and was ignored: {error}"]
    sets = {name: value for name, value in data.get("sets", {}).items() if isinstance(value, str)}
    tables = data.get("rule", [])
    if not isinstance(tables, list) or any(not isinstance(table, dict) for table in tables):
        return [], [f"{origin} has no [[rule]] tables and was ignored"]
    rules: list[Rule] = []
    problems: list[str] = []
    seen: set[str] = set()
    for number, table in enumerate(tables, 1):
        name = table.get("id") if isinstance(table.get("id"), str) else f"number {number}"
        if not shipped and number > MAX_BUNDLE_RULES:
            problems.append(
                f"{origin} has more than {MAX_BUNDLE_RULES} rules; those from {name} on were ignored"
            )
            break
        try:
            rule = _rule(table, sets, origin, shipped=shipped)
            if rule.id in seen:
                raise ValueError("another rule has the same id")
        except ValueError as error:
            problems.append(f"rule {name} in {origin} was ignored: {error}")
        else:
            seen.add(rule.id)
            rules.append(rule)
    return rules, problems


def expand(pattern: str, anchors: Iterable[str] = (), need: Iterable[str] = ()) -> str:
    """The regular expression that a rule's pattern stands for."""
    pattern = pattern.replace("@", _group(anchors)) if "@" in pattern else pattern
    pattern = pattern.replace("{need}", _group(need)) if "{need}" in pattern else pattern
    pattern = _WORDS.sub(lambda m: rf"(?:[^\W_]{{1,20}}[\W_]{{1,4}}){{0,{m.group(1)}}}", pattern)
    pattern = _GAP.sub(lambda m: rf"[\s\S]{{0,{m.group(1)}}}?", pattern)
    pattern = _BLANK.sub(_blank, pattern)
    return pattern.replace("{told}", _TOLD)


def _blank(match: re.Match[str]) -> str:
    found = match.group()
    if found in _BLANKS:
        return _BLANKS[found]
    return (
        found.replace(" ", r"\s") if found.startswith("(?<") else found
    )  # what looks back has a fixed width


def _group(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(re.escape(word.rstrip('*')) for word in words)})"


def problem_with(pattern: str, anchors: Iterable[str] = ()) -> str | None:
    """Why a pattern is refused (slow, or so broad that it matches anything), or None if it is fine."""
    if len(pattern) > MAX_PATTERN:
        return f"its pattern is longer than {MAX_PATTERN} characters"
    # The macros are known to be safe: for the check each is a plain character.
    plain = _GAP.sub(
        lambda m: rf"[\s\S]{{0,{m.group(1)}}}", _WORDS.sub("\x01", pattern.replace("{told}", ""))
    )
    plain = plain.replace("@", _group(anchors))
    try:
        tree = import_module("re._parser").parse(plain)
        compiled = re.compile(expand(pattern, anchors), re.DOTALL)
    except (re.error, RecursionError, OverflowError) as error:
        return f"its pattern is not a regular expression ({error})"
    low, high = tree.getwidth()
    if high > MAX_WIDTH:
        return (
            f"its pattern can run over more than {MAX_WIDTH} characters; use bounded gaps such as {{gap60}}"
        )
    if low < 3 and not (low == 2 and any(ord(c) > 0x2E80 for c in plain)):
        return "its pattern matches single characters or nothing at all, which every text has"
    if compiled.match("") or any(compiled.search(text) for text in _ORDINARY):
        return "its pattern matches ordinary text"
    try:
        paths = _paths(tree)
    except ValueError as error:
        return str(error)
    if paths > MAX_PATHS:
        return "its pattern can be tried in too many ways at one place; use fewer or shorter gaps"
    return None


def _rule(table: dict[str, Any], sets: dict[str, str], origin: str, *, shipped: bool) -> Rule:
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise ValueError(f"it has an unknown key {unknown[0]!r}")
    name = _text(table, "id")
    if not _ID.fullmatch(name):
        raise ValueError("an id is made of lower-case letters, digits, dots and hyphens")
    severity = table.get("severity")
    if severity not in ("hold", "block"):
        raise ValueError("its severity is neither hold nor block")
    pattern = _SET.sub(
        lambda m: f"(?:{sets[m.group(1)]})" if m.group(1) in sets else m.group(), _text(table, "pattern")
    )
    anchors = tuple(fold(anchor) for anchor in _texts(table, "anchors"))
    if not shipped:
        # A shipped rule is checked when the tests run, not at every start.
        anchors = anchors or _leading_words(pattern)
        if not anchors:
            raise ValueError(
                "its pattern does not begin with a word of three letters or more; name its anchors"
            )
    if not shipped and any(len(anchor.rstrip("*")) < 3 and anchor.isascii() for anchor in anchors):
        raise ValueError("an anchor is a word of at least three letters")
    if not shipped and (wrong := problem_with(pattern, anchors)):
        raise ValueError(wrong)
    scopes = _texts(table, "scope") or SCOPES
    if set(scopes) - set(SCOPES):
        raise ValueError(f"its scope is none of {', '.join(SCOPES)}")
    reach, back = table.get("reach", 200), table.get("back", 0)
    if not isinstance(reach, int) or not 1 <= reach <= 300:
        raise ValueError("reach is a number from 1 to 300")
    if not isinstance(back, int) or not 0 <= back <= 80:
        raise ValueError("back is a number from 0 to 80")
    return Rule(
        id=name if shipped else f"bundle.{name}",
        category=_text(table, "category"),
        severity=Verdict(severity),
        reason=_text(table, "reason"),
        anchors=anchors,
        pattern=pattern,
        scopes=frozenset(scope for scope in SCOPES if scope in scopes),
        quotable=table.get("quotable", True) is True,
        dense=table.get("dense", False) is True,
        need=tuple(fold(word) for word in _texts(table, "need")),
        reach=reach,
        back=back,
        code=table.get("code", False) is True,
        note=table.get("note", False) is True,
        match=_texts(table, "match"),
        no_match=_texts(table, "no_match"),
        origin=origin,
    )


def _text(table: dict[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"it has no {key}")
    return value


def _texts(table: dict[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, ())
    if isinstance(value, str):
        value = value.split() if key in ("anchors", "need") else [value]
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{key} is not a list of texts")
    return tuple(value)


def _leading_words(pattern: str) -> tuple[str, ...]:
    """The words with which every match of a pattern begins, as anchors; empty if there are none."""
    head = re.match(r"(?:\\b)?\(\?:([^()\[\]{}\\.*+?^$]+)\)|(?:\\b)?([^\W_]{3,}(?:[^\W_]|$)?)", pattern)
    if head is None:
        return ()
    words = [fold(word).strip() for word in (head.group(1) or head.group(2)).split("|")]
    words = [WORD.match(word).group() if WORD.match(word) else "" for word in words]  # type: ignore[union-attr]
    # What follows may go on with the same word, so an anchor is only the beginning of one.
    rest = pattern[head.end() :]
    if rest[:1] in ("?", "*", "{") and not rest.startswith(("{w", "{gap")):
        return ()
    return tuple(f"{word}*" for word in words) if all(len(word) >= 3 for word in words) else ()


def _paths(tree: Any, *, repeated: bool = False) -> int:
    """Return the number of ways to match a parsed pattern at one place; ValueError where they can explode."""
    total = 1
    for operation, argument in tree:
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, high, body = argument
            if high > 400:
                raise ValueError("its pattern repeats something without a limit; give one, such as {0,60}")
            varies = high > low and high > 1
            inner = _paths(body, repeated=repeated or varies)
            if varies and repeated:
                raise ValueError("its pattern has a repetition inside a repetition")
            total *= max(1, high - low + 1) * inner
        elif name == "SUBPATTERN":
            total *= _paths(argument[-1], repeated=repeated)
        elif name == "BRANCH":
            total *= max(_paths(branch, repeated=repeated) for branch in argument[1])
        elif name in ("ASSERT", "ASSERT_NOT"):
            total *= _paths(argument[1], repeated=repeated)
        elif name.startswith("GROUPREF"):
            raise ValueError("its pattern refers back to a group")
        if total > 10**9:
            return total
    return total


_KEYS = frozenset(
    "id category severity reason anchors pattern scope quotable dense need reach back code note match no_match".split()  # noqa: SIM905
)
_ID = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_SET = re.compile(r"\{([a-z]{3,20})\}")
# A reader is told to do something, and not told about someone who does it.
_TOLD = (
    r"(?<!\bnot\s)(?<!n't\s)(?<!\bnever\s)(?<!\bcan\s)(?<!\bcould\s)(?<!\bmay\s)(?<!\bmight\s)(?<!\bwould\s)"
    r"(?<!\bwho\s)(?<!\bthat\s)(?<!\bwhich\s)(?<!\bby\s)(?<!\bavoid\s)(?<!\bwithout\s)(?<!\bcannot\s)(?<!\bthey\s)"
    r"(?:(?<!\bto\s)|(?<=you\sto\s)|(?<=need\sto\s)|(?<=have\sto\s)|(?<=want\sto\s)|(?<=is\sto\s)|(?<=going\sto\s)"
    r"|(?<=command\sto\s))"
)
_WORDS = re.compile(r"\{w(\d)\}")
_GAP = re.compile(r"\{gap(\d{1,3})\}")
_BLANKS = {" ": r"[\W_]{1,4}", " ?": r"[\W_]{0,4}"}
_BLANK = re.compile(
    r"\\.|\(\?<[!=][^()]*\)|\[\^?\]?(?:\\.|[^\]\\])*\]| \??", re.DOTALL
)  # a blank, and what has blanks of its own
# A rule that finds something here would find something in every memory.
_ORDINARY = (
    *("a", "e", "the", "user", "user likes tea.", " ", "\n", ".", "1", "- note"),
    "the user prefers short answers",
)
