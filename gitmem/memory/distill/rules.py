"""Durable facts out of a conversation that is about to be lost: what the user asked to keep, corrected, or said of himself.

It would rather miss a fact than save a wrong one: what it finds is in every later prompt. It writes
nothing: the caller passes the facts through the curated store and its scanner. `modeldistiller` asks a
model instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.memory.distill import phrases
from gitmem.memory.distill.conversation import said_in, sentences_of
from gitmem.memory.distill.facts import MAX_FACTS, MAX_LENGTH, MIN_LENGTH, Fact, Target
from gitmem.memory.distill.phrases import Phrase


@dataclass(frozen=True)
class _Found:
    kind: str
    target: Target
    text: str


class RuleDistiller:
    """Facts by the phrases people use for them: English, no model, the same result every time."""

    def __init__(self, max_facts: int = MAX_FACTS) -> None:
        self._max_facts = max_facts

    def distil(self, messages: Sequence[Mapping[str, Any]]) -> list[Fact]:
        """At most `max_facts`; when there are more, what was asked for explicitly goes first."""
        found: dict[str, tuple[int, int, Fact]] = {}
        for said in said_in(messages):
            for item in _from_user(said.text) if said.role == "user" else ():
                if not MIN_LENGTH <= len(item.text) <= MAX_LENGTH or _DANGLING.match(item.text):
                    continue
                fact = Fact(item.target, item.text, source_role=said.role, turn=said.turn)
                same = re.sub(r"\W+", " ", item.text.casefold()).strip()
                found.setdefault(same, (phrases.KIND[item.kind], len(found), fact))
        best = sorted(found.values(), key=lambda entry: entry[:2])[: self._max_facts]
        return [fact for _, _, fact in sorted(best, key=lambda entry: entry[1])]


def _from_user(text: str) -> Iterator[_Found]:
    denied = False  # the sentence before was "That's wrong."
    for raw in sentences_of(text):
        if raw.rstrip("\"')] ").endswith(("?", ":", "…")) or len(raw) > MAX_LENGTH + 100:
            denied = False
            continue
        match = phrases.DENIAL.match(raw)
        if match:
            rest = match["rest"].strip(" ,;:.!–—-")
            denied = not rest
            if rest and phrases.SAYS_WHAT_IS.match(rest) and not phrases.PASSING.match(rest):
                yield _correction(rest)
            continue
        filler = phrases.FILLER.match(raw)
        sentence = raw[filler.end() :] if filler else raw
        no = bool(filler and phrases.NO.match(filler[0]))
        if (no and phrases.NOT_BUT.match(sentence)) or (denied and phrases.SAYS_WHAT_IS.match(sentence)):
            if not phrases.PASSING.match(sentence):
                yield _correction(sentence)
        else:
            item = _classified(sentence)
            if item:
                yield item
        denied = False


def _classified(sentence: str) -> _Found | None:
    match = phrases.REMEMBER.match(sentence) or phrases.REMEMBER_TO.match(sentence)
    if match:
        # Asked for in so many words: neither a passing matter nor an unknown phrase is a reason to refuse.
        rest = match["rest"].strip()
        if phrases.PERSONA.match(rest):
            return None
        known = _stated(rest)
        if known:
            return _Found("explicit", known.target, known.text)
        if match.groupdict().get("weak") or not phrases.MEANS_SOMETHING.match(rest):
            return None
        return _Found("explicit", "memory", _attributed(rest))
    return None if phrases.PASSING.match(sentence) else _stated(sentence)


def _stated(sentence: str) -> _Found | None:
    match = phrases.CALL_ME.match(sentence)
    if match:
        name = match["name"]
        return (
            None
            if name.split()[0].lower() in phrases.NO_NAME
            else _Found("preference", "user", f"User wants to be called {name}.")
        )
    if phrases.CORRECTIONS.match(sentence):
        return _Found("correction", "memory", _attributed(sentence))
    if phrases.PREFERENCES.match(sentence):
        return _Found("preference", "user", _attributed(sentence))
    return None


# Wording

_SIMPLE_VERBS = frozenset(
    ["prefer", "like", "love", "hate", "dislike", "use", "speak", "live", "work", "come"]
)
_COURTESY = re.compile(
    r"[,.!]?\s+(?:thanks|thank you|thx|please|ok|okay|btw|by the way|though)[\s.!]*$", re.I
)
_DANGLING = Phrase(r".*\b(?:to|and|or|with|of|the|an?|for|but|that|when|is|are)\.$")
_FIRST_PERSON = (
    (Phrase(r"my (?P<rest>.+)"), "User's "),
    (Phrase(r"i(?:'m| am) (?P<rest>.+)"), "User is "),
    (Phrase(r"i(?:'d| would) (?P<rest>.+)"), "User would "),
    (Phrase(r"i (?:don't|do not) (?P<rest>.+)"), "User does not "),
    (Phrase(r"i can't (?P<rest>.+)"), "User can't "),
)
_I_VERB = Phrase(r"i (?P<adverb>(?:(?:<often>|really|much|strongly) )*)(?P<verb>[a-z]+)(?P<rest> .+)")


def _correction(sentence: str) -> _Found:
    pointing = re.match(r"(?:it|they|that|there|its)\b", sentence, re.I)
    text = f"Correction by the user: {_ended(sentence)}" if pointing else _attributed(sentence)
    return _Found("correction", "memory", text)


def _attributed(sentence: str) -> str:
    """In the third person where that is a matter of one word, else in the user's words, as such."""
    for pattern, subject in _FIRST_PERSON:
        match = pattern.match(sentence)
        if match and not phrases.PERSON.match(match["rest"]):
            return subject + _ended(match["rest"])
    our = re.match(r"our (?P<rest>.+)", sentence, re.I)
    if our and not phrases.PERSON.match(our["rest"]):
        return "The " + _ended(our["rest"])
    match = _I_VERB.match(sentence)
    if match and not phrases.PERSON.match(match["rest"]):
        verb = match["verb"].lower()
        # "I always run tests and push": the second verb would be left behind.
        if verb in _SIMPLE_VERBS or not re.search(r"\b(?:and|or|but|then)\b", match["rest"]):
            return f"User {match['adverb'].lower()}{_third(verb)} {_ended(match['rest'])}"
    return f"User: {_finished(sentence)}" if phrases.PERSON.match(sentence) else _finished(sentence)


def _third(verb: str) -> str:
    if verb in ("have", "do", "go"):
        return {"have": "has", "do": "does", "go": "goes"}[verb]
    if verb.endswith(("s", "x", "ch", "sh", "z")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else verb + "s"


def _ended(text: str) -> str:
    return " ".join(_COURTESY.sub("", text).rstrip(" .!,;").split()) + "."


def _finished(text: str) -> str:
    text = _ended(text.strip())
    first = text.split(" ", 1)[0].rstrip(",.")
    return text[0].upper() + text[1:] if first.replace("'", "").isalpha() else text
