"""Facts by rules: what the user asked to keep, corrected, or said about himself. English, without a model.

`by_model` asks a model instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitmem.memory.distill.facts import MAX_FACTS, DistilledFact, Target, said_in
from gitmem.text.words import sentences

_MIN_LENGTH, _MAX_LENGTH = 8, 300

# Where a sentence points at something, it means nothing to a reader who did not see the conversation.
_SELF_CONTAINED = (
    r"(?!(?:it|this|these|those|them|him|her|what|how|both|either|neither|all of|some of|option|choice|number|your"
    r"|plan [a-z]|the (?:same|other|first|second|third|last|latter|former|new|old)|that(?! (?:you|we|all|every|the)))\b)"
)
_OFTEN = r"(?:always|never|usually|normally|typically|generally|mostly)"
_ANSWERS = r"(?:answers|replies|responses|explanations|summaries|commit messages)"
# Openings without a meaning. Some need a comma: "No tests run on Sunday" is a sentence.
_FILLER = (
    r"(?:(?:ok(?:ay)?|so|and|but|also|oh|hey|hi|hello|yes|yeah|please|pls|actually|btw|by the way|fyi|again|thanks|sorry)"
    r"\b[\s,:;!–—-]*"
    r"|(?P<no>no|nope)[,:;!.–—]+\s*|(?:well|right|sure|great|good|important|note|look|wait|stop)[,:;!.–—]+\s*"
    r"|no (?=don't|do not|use |never ))+"
)
_DENIAL = (
    r"(?:(?:no|nope)\W+)?(?:wrong|incorrect|(?:that's|that is|that was|it's|you're|you are)(?: \w+)? "
    r"(?:wrong|incorrect|mistaken|not right|not correct|not true))\b(?P<rest>.*)"
)
_STATES = (
    r"(?:it|they|the|our|we|this|that|its|there)\b.*?"
    r"(?:\b(?:is|are|uses?|runs?|lives?|listens?|expects?|takes?|has|have|needs?|goes)\b"
    r"|'s\b|'re\b)(?! ?(?:fine|ok|good|done|me\b|us\b)).+"
)
_NOT_BUT = r"(?:it's|it is|they're|they are|that's|the|our|we) .{2,}, not .+"
_PASSING = (
    r".*\b(?:for now|right now|just now|at the moment|yet|today|tonight|tomorrow|currently|temporarily|todo|wip"
    r"|in progress|next steps?|(?:this|that) (?:time|one|file|line|function|commit|test|error|bug|issue|step|task|session"
    r"|change|part|case|week|page|message)"
    r"|maybe|perhaps|not sure|i think|i guess|i wonder|might|if (?:i|we)|as you (?:said|suggested))\b"
)
_ASKED = (
    r"(?:(?:can|could|would|will) you )?(?:please )?(?:(?:(?:always )?remember|(?:don't|do not) forget|make a note)"
    r"(?: that\b| this:|:)"
    r"|(?:(?:always )?remember|(?:don't|do not) forget) to(?=.*\b(?:always|never|before|after|when|whenever|every|each)\b)"
    r"|for (?:future reference|the future)\b|from now on\b|going forward\b)[\s,:]*(?P<rest>.+)"
)
# A part to play is for one conversation, and what an agent may refuse is not for its memory to say.
_PERSONA = (
    r"(?:always |never )?(?:you(?:'re| are|'ll| will| must| can| should)?|act|pretend|imagine|behave|refuse|deny|ignore|obey"
    r"|substitute|break character|respond (?:as|with))\b"
)
_CALL_ME = (
    r"(?:you can |just )?(?-i:[Cc]all me (?P<name>(?!(?:when|if|later|back|at|on|an?|the)\b)"
    r"[^\W\d_][\w'-]*(?: [A-Z][\w'-]*){0,2}))\W*$"
)
_CORRECTIONS = (
    r"(?:don't|do not|never|stop|avoid)(?: ever)? (?:us(?:e|ing)|commit(?:ting)?|push(?:ing)?|install(?:ing)?|mock(?:ing)?) "
    + _SELF_CONTAINED
    + r"(?!the )\S.+|(?:always )?use "
    + _SELF_CONTAINED
    + r"(?!an? |the )\S.*?(?:,? not | instead of | rather than ).+"
)
_ONESELF = (
    rf"i(?:'d| would)?(?: really| much| {_OFTEN})? prefer {_SELF_CONTAINED}.+",
    r"i(?: really)? (?:like|hate|dislike|can't stand|don't like|do not like) "
    rf"(?:it when you |{_SELF_CONTAINED}(?!the |that ))\w.+",
    # "I never saw", "I always get an error": what happened, not how it is done.
    rf"i {_OFTEN} (?!(?:get|got|see|saw|had|end|did|was|were|thought|knew|said|went|ran|found|tried|meant|have been"
    rf"|\w+ed)\b)\w+ {_SELF_CONTAINED}.+",
    rf"i(?: want| expect| would like|'d like)(?: you)?(?: to)? (?:{_OFTEN}|(?:your )?{_ANSWERS}) .+",
    rf"i use {_SELF_CONTAINED}(?!the |my )\w.+",
    r"i(?:'m| am) (?:an? (?:[\w/-]+ ){0,3}(?:developer|engineer|programmer|designer|student|teacher|researcher|scientist"
    r"|manager|analyst|architect|writer|doctor|lawyer|founder|consultant|beginner|vegan)"
    r"|(?:based|located) in|from|allergic to|vegetarian|vegan|colou?r-?blind|left-handed)\b.*",
    r"i (?:live in|work (?:at|for|as)|speak|come from) \S.+",
    r"my (?:(?:nick|first |last |user)?name|time ?zone|pronouns|job|role|boss|company|employer|team|e-?mail|github|editor"
    r"|shell|os|birthday|(?:native |first )?language|location|city|country|keyboard(?: layout)?|terminal|browser"
    rf"|package manager|working hours|wife|husband|partner|son|daughter|(?:preferred|favou?rite|main|default|usual) \w+) "
    rf"(?:is(?: called)?|are) {_SELF_CONTAINED}(?!not working|broken|slow|down|stuck)\S.*",
    r"(?:always )?(?:answer|reply|respond|write)(?: to me)?(?: only)? in (?-i:[A-Z])\w+\W*$",
    rf"(?:always )?keep (?:your |the |all )?{_ANSWERS} .+",
)
_PERSON = r".*\b(?:i|me|my|mine|myself|we|us|our|ours|you|your|yours)\b"
_THIRD_PERSON = (
    (r"my (?P<rest>.+)", "User's "),
    (r"i(?:'m| am) (?P<rest>.+)", "User is "),
    (r"i(?:'d| would) (?P<rest>.+)", "User would "),
    (r"i (?:don't|do not) (?P<rest>.+)", "User does not "),
)
_COURTESY = r"[,.!]?\s+(?:thanks|thank you|thx|please|ok|okay|btw|by the way|though)[\s.!]*$"
_DANGLING = r".*\b(?:to|and|or|with|of|the|an?|for|but|that|when|is|are)\.$"


class RuleDistiller:
    """Facts by the phrases that people use for them; the same result every time."""

    def __init__(self, max_facts: int = MAX_FACTS) -> None:
        self._max_facts = max_facts

    def distil(self, messages: Sequence[Mapping[str, Any]]) -> list[DistilledFact]:
        """Return at most `max_facts`; where there are more, what was asked for goes before what was only said."""
        found: dict[str, tuple[int, int, DistilledFact]] = {}
        for said in said_in(messages):
            for rank, target, text in _facts_in(said.text) if said.role == "user" else ():
                if _MIN_LENGTH <= len(text) <= _MAX_LENGTH and not _is(_DANGLING, text):
                    same = re.sub(r"\W+", " ", text.casefold()).strip()
                    found.setdefault(same, (rank, len(found), DistilledFact(target, text, turn=said.turn)))
        best = sorted(found.values(), key=lambda one: one[:2])[: self._max_facts]
        return [fact for _, _, fact in sorted(best, key=lambda one: one[1])]


_Ranked = tuple[int, Target, str]
"""Rank (0 asked for, 1 corrected, 2 about the user), target and text."""


def _is(pattern: str, text: str) -> re.Match[str] | None:
    return re.match(pattern, text, re.IGNORECASE)


def _facts_in(text: str) -> Iterator[_Ranked]:
    denied = False  # the sentence before was "That's wrong."
    for raw in _sentences(text):
        was_denied, denied = denied, False
        if raw.endswith(("?", ":", "…")) or len(raw) > _MAX_LENGTH + 100:
            continue
        if denial := _is(_DENIAL, raw):
            sentence = denial["rest"].strip(" ,;:.!–—-")
            denied = not sentence
            is_correction = bool(_is(_STATES, sentence))
        else:
            filler = _is(_FILLER, raw)
            sentence = raw[filler.end() :] if filler else raw
            states = _NOT_BUT if filler and filler["no"] else _STATES if was_denied else ""
            is_correction = bool(states and _is(states, sentence))
        if is_correction and not _is(_PASSING, sentence):
            points = _is(r"(?:it|they|that|there|its)\b", sentence)
            yield 1, "memory", f"Correction by the user: {_ended(sentence)}" if points else _worded(sentence)
        elif not denial and not is_correction:
            yield from _asked_or_stated(sentence)


def _asked_or_stated(sentence: str) -> Iterator[_Ranked]:
    asked = _is(_ASKED, sentence)
    if asked is None:
        if not _is(_PASSING, sentence):
            yield from _stated(sentence)
    elif not _is(_PERSONA, rest := asked["rest"].strip()):
        # Asked for in so many words: neither a passing matter nor an unknown phrase is a reason to refuse.
        known = list(_stated(rest))
        if known or _is(rf"{_SELF_CONTAINED}\w", rest):
            yield 0, known[0][1] if known else "memory", known[0][2] if known else _worded(rest)


def _stated(sentence: str) -> Iterator[_Ranked]:
    if name := _is(_CALL_ME, sentence):
        yield 2, "user", f"User wants to be called {name['name']}."
    elif _is(_CORRECTIONS, sentence):
        yield 1, "memory", _worded(sentence)
    elif any(_is(pattern, sentence) for pattern in _ONESELF):
        yield 2, "user", _worded(sentence)


def _worded(sentence: str) -> str:
    """Return a sentence in the third person where that is a matter of one word, else in the user's words, as such."""
    for pattern, subject in _THIRD_PERSON:
        match = _is(pattern, sentence)
        if match and not _is(_PERSON, match["rest"]):
            return subject + _ended(match["rest"])
    match = _is(rf"i (?P<adverb>(?:(?:{_OFTEN}|really|much) )*)(?P<verb>[a-z]+)(?P<rest> .+)", sentence)
    # "I always run tests and push": the second verb would be left behind.
    if match and not _is(_PERSON, match["rest"]) and (not match["adverb"] or " and " not in match["rest"]):
        verb = {"have": "has", "do": "does", "go": "goes"}.get(match["verb"], match["verb"] + "s")
        return f"User {match['adverb'].lower()}{re.sub('(?<=sh|ch|[^aeiou]x)s$', 'es', verb)} {_ended(match['rest'])}"
    text = _ended(sentence.strip())
    first = text.split(" ", 1)[0].rstrip(",.")
    text = text[0].upper() + text[1:] if first.replace("'", "").isalpha() else text
    return f"User: {text}" if _is(_PERSON, sentence) else text


def _ended(text: str) -> str:
    return " ".join(re.sub(_COURTESY, "", text, flags=re.IGNORECASE).rstrip(" .!,;").split()) + "."


_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*+)[^<>]*>")
_NOT_SAID = re.compile(r"^(?:\s*>|\t| {4,}|\s*\||.*\|.*\|).*$", re.MULTILINE)
_WRAPPED = re.compile(r"^(.{50,}[^\s.!?:;])\n(?=[a-z])", re.MULTILINE)
_MARKS = re.compile(r"\*\*|^[ \t]*(?:[-*+•]|\d{1,2}[.)])[ \t]+", re.MULTILINE)
_QUOTED = re.compile(r'"[^"\n]{41,}"|"[^"\n]*[.!?][^"\n]*"|“[^“”\n]*”|«[^«»\n]*»|„[^„“”\n]*[“”]')
_GAP = "\ufffc"


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences that the speaker said: no code, no quotations, no tables, no tagged blocks."""
    text = text.replace("’", "'").replace("‘", "'").replace("\r\n", "\n")
    text = _NOT_SAID.sub("", _CODE.sub("\n", _without_blocks(text)))
    text = _QUOTED.sub(_GAP, _MARKS.sub("", _WRAPPED.sub(r"\1 ", text)))
    return (one for one in sentences(text) if _GAP not in one and one.count('"') % 2 == 0)


def _without_blocks(text: str) -> str:
    """Leave out `<document> … </document>` over several lines: it was pasted."""
    tags = list(_TAG.finditer(text)) if "</" in text else []
    ends = {tag[2].lower(): tag.end() for tag in tags if tag[1]}
    kept, position = [], 0
    for tag in tags:
        end = ends.get(tag[2].lower(), 0)
        if position <= tag.start() and tag.end() < end and "\n" in text[tag.start() : end]:
            kept.append(text[position : tag.start()])
            position = end
    return "\n\n".join([*kept, text[position:]])
