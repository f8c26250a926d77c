"""Questions that ask what was at some time or in the last session, or what is known of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitmem.dates import mentions, without_mentions
from gitmem.memory.find.question import says_nothing
from gitmem.okf import timestamps
from gitmem.text.words import WORD, fold


@dataclass(frozen=True, slots=True)
class Stretch:
    """From one moment up to another, as the bundle writes them, and whether only the newest session in it is meant."""

    start: str
    end: str
    newest: bool = False

    def has(self, at: str) -> bool:
        """Return whether a moment is in it; the last session has no moments of its own."""
        return not self.newest and self.start <= at < self.end


@dataclass(frozen=True, slots=True)
class LookBack:
    """The stretches of time that a question asks about, and its words that are a subject of their own.

    The first stretch that has anything is meant. False where a question does not look back.
    """

    stretches: tuple[Stretch, ...] = ()
    subjects: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.stretches)


# All of it without accents and in small letters, as the index sees words.
_LAST_TIME = re.compile(
    r"\b(?:(?:the )?(?:last|previous) (?:time|session|conversation|chat)|(?:we|i|you) (?:left|leave) off"
    r"|where (?:were|are) we|(?:we|i) (?:stopped|stop)|(?:the )?last (?:thing|topic)"
    r"|(?:were|was) (?:we|i) (?:doing|working|talking|discussing)|(?:das |beim )?letzte[ns]? (?:mal|sitzung|gesprach)"
    r"|zuletzt|(?:la )?derniere fois|(?:la )?ultima (?:vez|volta))\b"
)
_ENGLISH = {
    "the day before yesterday": "vorgestern|avant hier|anteayer",
    "yesterday": "last night|gestern|hier soir|ayer|ieri",
    "today": "this morning|earlier today|heute|aujourd hui|hoy|oggi",
    "last week": "(?:the )?(?:past|previous) week|(?:die )?(?:letzte[nr]?|vergangene[nr]?|vorige) woche"
    "|la semaine (?:derniere|passee)|la semana pasada|la settimana scorsa",
    "this week": "diese woche|cette semaine|esta semana|questa settimana",
    "monday": "montag|lundi|lunes",
    "tuesday": "dienstag|mardi|martes",
    "wednesday": "mittwoch|mercredi|miercoles",
    "thursday": "donnerstag|jeudi|jueves",
    "friday": "freitag|vendredi|viernes",
    "saturday": "samstag|samedi|sabado",
    "sunday": "sonntag|dimanche|domingo",
}
_BACKWARDS_WORDS = """did was were have had been happened happen done left leave recap summary summarise summarize remind
catch covered stopped stop before haben hatten hast hab war waren passiert gemacht besprochen gesprochen geblieben
aufgehort fait avons parle hicimos hablamos hizo fatto parlato"""
_BACKWARDS = frozenset(_BACKWARDS_WORDS.split())
_WHO_WORDS = """we us our i me my you happened happen recap summary summarise summarize wir uns unser ich mich mir du
passiert nous notre on je nosotros hicimos hablamos noi"""
_WHO = frozenset(_WHO_WORDS.split())
# Words of such a question that are no subject of their own.
_LOOKING_WORDS = """accomplish accomplished achieve achieved agree agreed ask asked been catch chat chatted continue
conversation cover covered decide decided discuss discussed doing done far going happened happen leave learn learned left
let me off recap remember session sessions speak spoke spoken stopped summarise summarize summary talk talked tell told
topic topics work worked working progress said say am dem das der die war waren hat wir uns du mir besprochen gemacht
gearbeitet gesprochen passiert geblieben aufgehort stehen mal avons nous fait parle discute qu la le hicimos hablamos
fatto parlato"""
_LOOKING = frozenset(_LOOKING_WORDS.split())
_ABOUT_ME = re.compile(
    r"\b(?:(?:knows?|known|remember(?:ed)?|learn(?:ed|t)?|stored|noted|saved|have|tell me) (?:\w+ ){0,3}about (?:me|myself)"
    r"|who am i|(?:all )?my (?:preferences|profile|habits|name|likes|dislikes|likes and dislikes)"
    r"|what (?:do|did) i (?:like|prefer|dislike|hate)|(?:weisst|weißt|weiss|weiß|wissen) (?:\w+ ){0,3}uber mich|wer bin ich"
    r"|meine (?:vorlieben|einstellungen)|(?:que|qu est ce que) (?:sais tu|tu sais) (?:de|sur) moi|mes preferences"
    r"|que sabes (?:de|sobre) mi|mis preferencias)\b"
)
_ASKING = frozenset(
    ["what", "whats", "who", "which", "tell", "show", "list", "describe", "know", "was", "wer", "que"]
)
_BARE = 3
_LONGEST = 300
"""Characters: a longer text has a subject."""


def is_about_user(text: str) -> bool:
    """Return whether a text asks what is known about the user, and nothing else."""
    words = _words(text)
    asks = _ABOUT_ME.search(words) and not _ASKING.isdisjoint(words.split())
    return bool(asks) and not _subjects(_ABOUT_ME.sub(" ", words))


def looks_back(text: str, *, now: datetime) -> LookBack:
    """Return what a text asks about the past. Days are those of the time zone of `now`."""
    words = _words(text)
    for english, others in _ENGLISH.items():
        words = re.sub(rf"\b(?:{others})\b", english, words)
    said, rest = words.split(), without_mentions(_LAST_TIME.sub(" ", words))
    # A bare "and yesterday?" is enough; a longer text says that it is about what was, and about us.
    is_past = not _BACKWARDS.isdisjoint(said)
    is_ours = not _WHO.isdisjoint(said) or _LAST_TIME.search(words)
    if rest == words or not (len(said) <= _BARE or (is_past and is_ours)):
        return LookBack()
    return LookBack(tuple(_stretches(words, now)), frozenset(_subjects(rest)))


def _words(text: str) -> str:
    return " ".join(WORD.findall(fold(text))) if len(text) <= _LONGEST else ""


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
