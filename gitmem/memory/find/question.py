"""A question as recall sees it: the words that say what it is about, or the time or the person it asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from gitmem.index.query import Query, Term, parse
from gitmem.memory.find import everyday
from gitmem.memory.find.look_back import Stretch, is_about_user, looks_back
from gitmem.text.words import WORD, fold

_OUR_WORDS = """we our ours us my mine wir unser unsere unserem unseren unserer mein meine meinem meinen meiner nous notre
nos mon ma mes nosotros nuestro nuestra mi mis noi nostro nostra mio mia"""
_OURS = frozenset(_OUR_WORDS.split())
_I_MYSELF = re.compile(
    r"\b(?:did|have|had|was|am|do) i (?:like|prefer|have|own)\b|\b(?:did|have|had|was|am) i\b"
    r"|\b(?:habe|hatte|war) ich\b|\bi (?:said|told)\b"
)


@dataclass(frozen=True, slots=True)
class Question:
    """What a turn asks for; false where nothing in it can be looked up."""

    query: Query
    """Its telling words; none where it asks for a time or a person alone."""
    stretches: tuple[Stretch, ...] = ()
    about_user: bool = False

    def __bool__(self) -> bool:
        return bool(self.query or self.stretches or self.about_user)

    @property
    def is_ours(self) -> bool:
        """Whether it speaks of what is ours or mine: then it is hardly about the world at large."""
        words = WORD.findall(fold(self.query.text))
        return not _OURS.isdisjoint(words) or bool(_I_MYSELF.search(" ".join(words)))

    def asks_about(self, at: str) -> bool:
        """Whether a moment is in the time that it asks about."""
        return any(stretch.has(at) for stretch in self.stretches)

    @classmethod
    def of(cls, text: str, *, now: datetime) -> Question:
        """The question in a text; `now` has the time zone of whoever asks."""
        if is_about_user(text):
            return cls(Query(text), about_user=True)
        back = looks_back(text, now=now)
        asked = parse(text, strict=False)
        terms = tuple(term for term in asked.terms if is_telling(term))
        if back:  # the words for a time are no subject
            terms = tuple(term for term in terms if not back.subjects.isdisjoint(_parts(term)))
        return cls(replace(asked, terms=terms), back.stretches)


def words_of(text: str) -> frozenset[str]:
    """The words of a text that say what it is about."""
    return frozenset(word for word in WORD.findall(fold(text)) if not everyday.says_nothing(word))


def is_telling(term: Term) -> bool:
    """Whether a term says what a question is about."""
    return any(not everyday.says_nothing(word) for word in _parts(term))


def is_common(term: Term) -> bool:
    """Whether a term alone leads nowhere."""
    return term.kind == "run" or all(
        everyday.says_nothing(word) or everyday.is_common(word) for word in _parts(term)
    )


def _parts(term: Term) -> list[str]:
    return fold(term.text).split()
