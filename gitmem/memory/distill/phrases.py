"""The phrases in which people ask to keep something, correct it, and state their preferences.

Data for `distiller`: patterns, and the words they are made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

KIND = {"explicit": 0, "correction": 1, "preference": 2}

# `<name>` in a pattern stands for one of these words.
_WORDS = {
    "denial": "wrong|incorrect|mistaken|not right|not correct|not true|not quite right",
    "roles": """developer|engineer|programmer|designer|student|teacher|researcher|scientist|manager|analyst|
        architect|writer|doctor|lawyer|founder|consultant|freelancer|beginner|vegan""",
    "languages": """english|german|french|spanish|italian|portuguese|dutch|turkish|polish|russian|ukrainian|
        japanese|chinese|korean|arabic|hindi|swedish|danish|norwegian|finnish|czech|greek|hebrew|deutsch""",
    "mine": """name|nickname|first name|last name|time ?zone|pronouns|job|role|company|employer|team|e-?mail|
        github(?: username| handle)?|username|editor|shell|os|operating system|laptop|machine|computer|
        (?:native |first )?language|mother tongue|birthday|location|city|country|keyboard(?: layout)?|
        terminal|ide|browser|stack|package manager|currency|locale|working hours|
        (?:preferred|favou?rite|main|default|usual) \\w+""",
    "answers": "answers|replies|responses|explanations|summaries|commit messages",
    "often": "always|never|usually|normally|typically|generally|mostly",
    "doing": "(?!(?:forget|worry|mind|bother|know|think|want|let|get|give|be|feel|have)\\b)\\w+",
    # Where a sentence points at something, it is meaningless to whoever did not see the conversation.
    "no_pointing": """(?!(?:it|this|these|those|them|him|her|what|how|both|either|neither|all of|some of|
        the same|the other|the (?:first|second|third|last|latter|former|new|old)|option|choice|number|
        plan [a-z]|your|that(?! (?:you|we|all|every|the)))\\b)""",
}  # fmt: skip


class Phrase:
    """A pattern over several lines, whose line breaks mean nothing, with the words above.

    Buys "`initialize`": compiled at first use, for all of them take 50 ms and most runs of gitmem distil nothing.
    """

    def __init__(self, *patterns: str, flags: int = re.I) -> None:
        self._patterns = patterns
        self._flags = flags

    @cached_property
    def match(self) -> Callable[[str], re.Match[str] | None]:
        whole = "|".join(f"(?:{pattern})" for pattern in self._patterns)
        whole = re.sub(
            r"<(\w+)>", lambda match: f"(?:{_WORDS[match[1]]})" if match[1] in _WORDS else match[0], whole
        )
        return re.compile(re.sub(r"\n *", "", whole), self._flags).match


# Openings that carry no meaning. Some need a comma: "No tests run on Sunday" is a sentence.
FILLER = Phrase(
    r"""(?:(?:ok(?:ay)?|so|and|but|also|oh|hey|hi|hello|yes|yeah|yep|please|pls|actually|btw|by the way|fyi|
    hmm+|just so you know|for the record|one more thing|again|thanks|thank you|sorry|listen)\b[\s,:;!–—-]*|
    (?:no|nope|well|right|sure|great|good|perfect|important|note|reminder|look|wait|stop)[,:;!.–—]+\s*|
    no (?=don't|do not|use |never |it's |it is ))+"""
)
NO = Phrase(r"(?:.*\W)?(?:no|nope)\b")
DENIAL = Phrase(
    r"""(?:(?:no|nope)\W+)?(?:wrong|incorrect|(?:that's|that is|that was|this is|it's|you're|you are)
    (?:[ ]\w+)? <denial>)\b(?P<rest>.*)"""
)
PASSING = Phrase(
    r""".*\b(?:for now|right now|just now|at the moment|yet|today|tonight|tomorrow|currently|temporarily|todo|
    wip|in progress|next steps?|(?:this|that) (?:time|one|file|line|function|method|class|commit|test|error|
    bug|issue|pr|step|task|session|change|diff|part|bit|case|morning|afternoon|week|page|button|example|
    message|conversation)|(?:is|are|was|were|still|keeps?|kept)(?: still)? (?:failing|broken|failed|crashing|
    down)|maybe|perhaps|not sure|i think|i guess|i wonder|might|if (?:i|we)|as you (?:said|suggested))\b"""
)
PERSON = Phrase(r".*\b(?:i|me|my|mine|myself|we|us|our|ours|you|your|yours)\b")
MEANS_SOMETHING = Phrase(r"<no_pointing>\w")

REMEMBER = Phrase(
    r"""(?:(?:can|could|would|will) you )?(?:please )?(?:(?:always )?remember(?: that\b| this:|:)|
    (?:don't|do not) forget(?: that\b|:)|make a note(?: that\b|:)|
    for (?:future reference|the future)\b|from now on\b|going forward\b|in (?:the )?future,|
    (?P<weak>(?:keep|bear) in mind(?: that\b|:)))[\s,:]*(?P<rest>.+)"""
)
# A part to play is for one conversation, and what an agent may refuse is not for its memory to say.
PERSONA = Phrase(
    r"""(?:from now on,? )?(?:please )?(?:always |never )?(?:you(?:'re| are|'ll| will| must| can| should)?|
    act|pretend|imagine|behave|refuse|deny|ignore|obey|substitute|break character|respond (?:as|with))\b"""
)
REMEMBER_TO = Phrase(
    r"""(?:please )?(?:(?:always )?remember|(?:don't|do not) forget) to
    (?P<rest>(?=.*\b(?:always|never|before|after|when|whenever|every|each)\b) .+)"""
)
CALL_ME = Phrase(r"(?:you can |just )?(?-i:[Cc]all me (?P<name>[^\W\d_][\w'-]*(?: [A-Z][\w'-]*){0,2}))\W*$")
NO_NAME = frozenset({"when", "if", "later", "back", "at", "on", "a", "an", "the", "old", "crazy", "tomorrow"})

CORRECTIONS = Phrase(
    r"""(?:don't|do not|never|stop|avoid)(?: ever)? (?:us(?:e|ing)|commit(?:ting)?|push(?:ing)?|
        install(?:ing)?|mock(?:ing)?|hard-?cod(?:e|ing)|call(?:ing)?) <no_pointing>\S.+""",
    r"(?:don't|do not) ever <doing> <no_pointing>.+",
    r"""(?:don't|do not) <doing> <no_pointing>.{3,80}(?:,|;| -| –| —) ?
        (?:use|we use) .+""",
    r"(?:always )?use <no_pointing>(?!an? |the )\S.*?(?:,? not | instead of | rather than ).+",
)
SAYS_WHAT_IS = Phrase(
    r"""(?:it|they|the|our|we|this|that|its|there)\b.*?
    (?:\b(?:is|are|uses?|runs?|lives?|listens?|expects?|takes?|has|have|needs?|goes)\b|'s\b|'re\b)
    (?! ?(?:fine|ok|good|done|me\b|us\b)).+"""
)
NOT_BUT = Phrase(r"(?:it's|it is|they're|they are|that's|the|our|we) .{2,}, not .+")

PREFERENCES = Phrase(
    r"i(?:'d| would)?(?: really| much| strongly| generally| usually| always)? prefer <no_pointing>.+",
    r"""i(?: really)? (?:like|hate|dislike|can't stand|don't like|do not like)
        [ ](?:it when you |<no_pointing>(?!the |that ))\w.+""",
    # "I never saw", "I always get an error": what happened, not how it is done.
    r"""i <often> (?!(?:get|got|see|saw|had|end|did|was|were|thought|knew|said|went|ran|found|tried|meant|
        understood|used to|have been|\w+ed)\b)\w+ <no_pointing>.+""",
    r"i(?: want| expect| would like|'d like)(?: you)?(?: to)? (?:always|never) .+",
    r"i(?: want| expect| would like|'d like)(?: all| every| your)? <answers> .+",
    r"i don't want you to(?: ever| always)? \w+ <no_pointing>.+",
    r"i use <no_pointing>(?!the |my )\w.+",
    r"i(?:'m| am) an? (?:[\w/-]+ ){0,3}<roles>\b.*",
    r"i (?:live in|work (?:at|for|as)|speak|come from) \S.+",
    r"i(?:'m| am) (?:(?:based|located) in|from|colou?r-?blind|left-handed)\b.*",
    r"my <mine> (?:is|are) <no_pointing>(?!not working|broken|slow|down|stuck)\S.*",
    r"(?:always )?(?:answer|reply|respond|write|speak|talk)(?: to me)?(?: only)? in <languages>\b.*",
    r"(?:always )?keep (?:your |the |all )?<answers> .+",
    r"(?:always )?be (?:more )?(?:concise|brief|terse|direct|blunt) (?:with|in|when|to) .+",
)
