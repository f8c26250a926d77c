"""What a query asks for. A choice, a reason, a preference or a rule is in what was decided and what is curated.

Only words that people ask with are looked for, in a few languages; a query that is no question asks for nothing.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal, NamedTuple

from gitmem.index import grams
from gitmem.index.find import Candidates
from gitmem.index.marking import counter
from gitmem.memory.find.everyday import says_nothing
from gitmem.text.words import WORD, fold

Kind = Literal["", "choice", "reason", "preference", "rule"]

_QUESTION_WORDS = """
who whom whose what which when where why how do does did is are was were will would can could should may might
must have has had am shall wer wen wem was welche welcher welches welchen wann wo warum wieso weshalb wie darf
soll muss kann hat haben ist sind qui que quoi quel quelle quels quelles quand ou pourquoi comment est peut doit
quien quienes cual cuales cuando donde porque como puede debe es chi cosa quale quali quando dove perche come
posso devo quem qual quais onde
"""
_ASKING = frozenset(_QUESTION_WORDS.split())
_QUESTION_CHARACTERS = "? ？ ¿ 什么 哪 为什么 怎么 谁 吗 几 何 なぜ どこ どれ だれ いつ 무엇 어디 언제 왜"
_ASKING_CHARACTERS = tuple(_QUESTION_CHARACTERS.split())


SPEAKERS = frozenset(("user", "assistant"))
"""Each turn has these as labels: in a question they only say whom it is about."""
_PERSONS = frozenset(
    (
        *SPEAKERS,
        "i",
        "me",
        "my",
        "she",
        "her",
        "he",
        "him",
        "his",
        "ich",
        "mein",
        "meine",
        "je",
        "mon",
        "yo",
        "mi",
    )
)


class _Sign(NamedTuple):
    """By what a kind of question is known: how words begin, phrases, and characters of scripts without spaces."""

    kind: Kind
    beginnings: str
    phrases: tuple[str, ...] = ()
    characters: str = ""

    def is_in(self, said: str) -> bool:
        words = WORD.findall(said)
        plain = f" {' '.join(words)} "
        beginnings = tuple(self.beginnings.split())
        return (
            any(word.startswith(beginnings) for word in words)
            or any(f" {phrase} " in plain for phrase in self.phrases)
            or any(one in said for one in self.characters.split())
        )


# In the order in which they are looked for: "why did we choose" asks for a reason.
_SIGNS = (
    _Sign(
        "reason",
        "why warum wieso weshalb pourquoi perche porque",
        ("what for", "how come", "por que"),
        "为什么 なぜ 왜",
    ),
    _Sign(
        "choice",
        "choose chose choosing choice decid decision settle pick agree select entsch gewahlt beschloss choisi elegi escog "
        "scelt scegl",
        ("do we use", "did we use", "do we take", "did we take", "go for", "went for", "went with", "nehmen wir"),
        "选择 决定 選 決",
    ),
    _Sign(
        "preference",
        "prefer favourite favorite bevorzug lieblings lieber gusta prefier",
        ("like", "likes", "love", "loves", "hate", "hates", "mag", "aime"),
        "喜欢 偏好 喜歡 好き",
    ),
    _Sign(
        "rule",
        "must should allow forbid forbidden rule policy policies convention guideline always never darf durf soll muss "
        "erlaubt verboten regel debe",
        ("may i", "may we", "may you", "can i", "can we", "do i", "do we", "do you", "have to", "has to", "need to", "faut",
         "doit", "supposed to", "hay que"),
        "应该 可以 必须 禁止",
    ),
)  # fmt: skip


class Asks(NamedTuple):
    """What a query asks for."""

    kind: Kind = ""
    is_question: bool = False
    words: frozenset[str] = frozenset()
    """All words of a question, also those that say nothing."""

    @classmethod
    def of(cls, text: str) -> Asks:
        said = fold(text)
        if not _is_question(said):
            return cls()
        return cls(next((sign.kind for sign in _SIGNS if sign.is_in(said)), ""), True, _words_of(text))

    @property
    def is_about_person(self) -> bool:
        """Whether it speaks of the user, or as the user."""
        return not _PERSONS.isdisjoint(self.words)

    def repeated_in(self, found: Candidates) -> dict[int, tuple[int, ...]]:
        """The texts that ask the same question, and how often each term counts: only in what else they say, if that
        hardly answers it."""
        if len(self.words) < _LEAST_ASKED:
            return {}
        needed = _SAME * sum(1 for count in found.frequency if count)
        counters = [counter(term) for term in found.query.terms]
        repeated = {}
        for one in found.texts:
            if sum(map(bool, one.counts)) < needed or len(one.text) > _LONG:
                continue
            sentences = _SENTENCE.findall(one.text)
            others = [said for said in sentences if not self._is(said)]
            rest = "".join(others)
            if len(others) < len(sentences):
                repeated[one.id] = (
                    tuple(count(rest) for count in counters) if _says_little(rest) else one.counts
                )
        return repeated

    def _is(self, sentence: str) -> bool:
        """Whether a sentence is this question: one that has its words and asks nothing answers it."""
        asked = _LABEL.sub("", sentence)
        words = WORD.findall(fold(asked))
        begun = not _ASKING.isdisjoint(words[:1]) or not _WHICH.isdisjoint(words[1:2])
        if not begun and not asked.rstrip().endswith(_MARKS):
            return False
        said = _words_of(asked)
        return len(self.words & said) >= _SAME * len(self.words) and len(said) <= 2 * len(self.words)


_LABEL = re.compile(r"^\s*\[\w+\]\s*")
_MARKS = ("?", "？")
_WHICH = frozenset(("which", "what", "welchem", "welchen", "welcher", "quel", "quelle", "que", "cual"))
"""What follows the first word of a question: "in which", "from what"."""
_ANSWER = 3


def _says_little(text: str) -> bool:
    """Whether what stands beside a question is no answer: "I would have to look that up"."""
    return (
        len({word for word in WORD.findall(fold(_LABELS.sub("", text))) if not says_nothing(word)}) < _ANSWER
    )


_LABELS = re.compile(r"^\s*\[\w+\]", re.MULTILINE)


def _is_question(said: str) -> bool:
    """Whether a query is one: by its mark, by why it asks, by its first word, or in a longer one by the two behind it."""
    words = WORD.findall(said)
    begun = words[: max(0, len(words) - 2)][:3]
    asked = any(one in said for one in _ASKING_CHARACTERS) or not _ASKING.isdisjoint(begun)
    return asked or bool(words[1:] and words[0].startswith(tuple(_SIGNS[0].beginnings.split())))


_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？\n]*")
_SAME = 0.8
"""The share of a question's words that make a sentence the same question."""
_LEAST_ASKED = 3
_LONG = 4_000


def _words_of(text: str) -> frozenset[str]:
    """All words of a text, and pairs of characters where a script has no spaces."""
    runs = (f"{one}{other}" for run in grams.runs(text) for one, other in pairwise(run))
    return frozenset((*WORD.findall(fold(grams.without_runs(text))), *runs))


NOTHING = Asks()
