"""The question in a turn: words to look for, a stretch of time or the last session, or what is known of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from gitmem.dates import mentions, without_mentions
from gitmem.index.query import Query, parse
from gitmem.memory.find.question import WORDS, says_nothing, telling_words, words_of
from gitmem.okf import timestamps
from gitmem.text.words import WORD, fold

_ANYBODY, _LAST_TIME, _ABOUT_ME = (
    re.compile(WORDS["patterns"][name]) for name in ("anybody", "last_time", "about_me")
)
_OURS, _PAST, _WHO, _LOOKING, _ASKING = map(words_of, ("ours", "past", "who", "looking", "about_me"))
_BARE = 3
_LONGEST = 300
"""Characters: a longer text has a subject."""


class Stretch(NamedTuple):
    """From one moment up to another, as the bundle writes them, and whether only the newest session in it is meant."""

    start: str
    end: str
    newest: bool = False

    def has(self, at: str) -> bool:
        """Return whether a moment is in it; the last session has no moments of its own."""
        return not self.newest and self.start <= at < self.end


@dataclass(frozen=True, slots=True)
class TurnQuestion:
    """The question in a turn; false where nothing in it can be looked up."""

    query: Query
    """Its telling words; none where it asks for a time or a person alone."""
    stretches: tuple[Stretch, ...] = ()
    """The times that it asks about: the first that has anything is meant."""
    about_user: bool = False

    def __bool__(self) -> bool:
        return bool(self.query or self.stretches or self.about_user)

    @property
    def is_ours(self) -> bool:
        """Return whether it speaks of what is ours or mine: then it is hardly about the world at large."""
        said = _ANYBODY.sub(" ", " ".join(WORD.findall(fold(self.query.text))))
        return not _OURS.isdisjoint(said.split())

    def asks_about(self, at: str) -> bool:
        """Return whether a moment is in the time that it asks about."""
        return any(stretch.has(at) for stretch in self.stretches)

    @classmethod
    def of(cls, text: str, *, now: datetime) -> TurnQuestion:
        """The question in a text. Days are those of the time zone of `now`."""
        words = " ".join(WORD.findall(fold(text))) if len(text) <= _LONGEST else ""
        if _is_about_user(words):
            return cls(Query(text), about_user=True)
        for english, others in WORDS["days"].items():
            words = re.sub(rf"\b(?:{others})\b", english, words)
        rest = without_mentions(_LAST_TIME.sub(" ", words))
        stretches = tuple(_stretches(words, now)) if rest != words and _looks_back(words) else ()
        asked = parse(text, strict=False)
        terms = tuple(term for term in asked.terms if telling_words(term.text) or term.kind == "run")
        if stretches:  # the words for a time are no subject
            subjects = frozenset(_subjects(rest))
            terms = tuple(term for term in terms if not subjects.isdisjoint(fold(term.text).split()))
        return cls(replace(asked, terms=terms), stretches)


def _is_about_user(words: str) -> bool:
    """Return whether words ask what is known about the user, and nothing else."""
    asks = _ABOUT_ME.search(words) and not _ASKING.isdisjoint(words.split())
    return bool(asks) and not _subjects(_ABOUT_ME.sub(" ", words))


def _looks_back(words: str) -> bool:
    """Return whether words that name a time ask about it: a bare one, or one of our past."""
    said = words.split()
    is_ours = not _WHO.isdisjoint(said) or _LAST_TIME.search(words)
    return len(said) <= _BARE or bool(is_ours and not _PAST.isdisjoint(said))


def _subjects(words: str) -> list[str]:
    return [word for word in words.split() if word not in _LOOKING and not says_nothing(word)]


def _stretches(words: str, now: datetime) -> Iterator[Stretch]:
    for mention in mentions(words, now=now):
        is_long = mention.end - mention.start > timedelta(days=2)
        yield _between(mention.start, min(mention.end, now) if is_long else mention.end)
    if "last week" in words:
        yield _between(now - timedelta(days=7), now)  # people say it of the last seven days too
    if _LAST_TIME.search(words):
        yield Stretch("", timestamps.stamp(now), newest=True)


def _between(start: datetime, end: datetime) -> Stretch:
    return Stretch(timestamps.stamp(start), timestamps.stamp(end))
