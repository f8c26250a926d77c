"""Looking back: a question that asks what was at some time or in the last session, or what is known of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitmem.index.dates import mentions
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


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b")


# All of it without accents and in small letters, as the index sees words.
_LAST_TIME = _any(
    r"(?:the )?last (?:time|session|conversation|chat)",
    r"(?:the )?previous (?:time|session|conversation|chat)",
    r"(?:we|i|you) (?:left|leave) off",
    r"where (?:were|are) we",
    r"(?:we|i) (?:stopped|stop)",
    r"(?:the )?last (?:thing|topic)",
    r"(?:were|was) (?:we|i) (?:doing|working|talking|discussing)",
    r"(?:das |beim )?letzte[ns]? (?:mal|sitzung|gesprach)",
    r"zuletzt",
    r"(?:la )?derniere fois",
    r"(?:la )?ultima (?:vez|volta)",
)
_DAYS = (
    (_any("the day before yesterday", "vorgestern", "avant hier", "anteayer"), 2),
    (_any("yesterday", "last night", "gestern", "hier soir", "ayer", "ieri"), 1),
    (_any("today", "this morning", "earlier today", "heute", "aujourd hui", "hoy", "oggi"), 0),
)
_LAST_WEEK = _any(
    r"(?:the )?(?:last|past|previous) week",
    "(?:die )?(?:letzte[nr]?|vergangene[nr]?|vorige) woche",
    "la semaine (?:derniere|passee)",
    "la semana pasada",
    "la settimana scorsa",
)
_THIS_WEEK = _any("this week", "diese woche", "cette semaine", "esta semana", "questa settimana")
_WEEKDAYS = (
    ("monday", "montag", "lundi", "lunes"),
    ("tuesday", "dienstag", "mardi", "martes"),
    ("wednesday", "mittwoch", "mercredi", "miercoles"),
    ("thursday", "donnerstag", "jeudi", "jueves"),
    ("friday", "freitag", "vendredi", "viernes"),
    ("saturday", "samstag", "samedi", "sabado"),
    ("sunday", "sonntag", "dimanche", "domingo"),
)
_WEEKDAY = re.compile(
    rf"\b(?:(?:on|last|this past|am|letzten?|el|le) )?({'|'.join(name for names in _WEEKDAYS for name in names)})\b"
)
_OTHER_DATES = re.compile(
    r"\b(?:(?:\w+|\d+) (?:day|week|month|year)s? ago|(?:last|this|past) (?:month|year)"
    r"|(?:on |in |since )?(?:the )?(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?"
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r"(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? (?:19|20)\d\d)?|(?:19|20)\d\d \d\d \d\d)\b"
)
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
_ABOUT_ME = _any(
    r"(?:knows?|known|remember(?:ed)?|learn(?:ed|t)?|stored|noted|saved|have|tell me) (?:\w+ ){0,3}about (?:me|myself)",
    r"who am i",
    r"(?:all )?my (?:preferences|profile|habits|name|likes|dislikes|likes and dislikes)",
    r"what (?:do|did) i (?:like|prefer|dislike|hate)",
    r"(?:weisst|weißt|weiss|weiß|wissen) (?:\w+ ){0,3}uber mich",
    r"wer bin ich",
    r"meine (?:vorlieben|einstellungen)",
    r"(?:que|qu est ce que) (?:sais tu|tu sais) (?:de|sur) moi",
    r"mes preferences",
    r"que sabes (?:de|sobre) mi",
    r"mis preferencias",
)
_ASKING = frozenset(
    ("what", "whats", "who", "which", "tell", "show", "list", "describe", "know", "was", "wer", "que")
)
_BARE = 3
_LONGEST = 300
"""Characters: whoever writes more has a subject."""


def is_about_user(text: str) -> bool:
    """Return whether a text asks what is known about the user, and nothing else."""
    words = _words(text)
    asks = _ABOUT_ME.search(words) and not _ASKING.isdisjoint(words.split())
    return bool(asks) and not _subjects(_ABOUT_ME.sub(" ", words))


def looks_back(text: str, *, now: datetime) -> LookBack:
    """Return what a text asks about the past. Days are those of the time zone of `now`."""
    words = _words(text)
    rest = words
    for pattern in (_LAST_TIME, *(day for day, _ in _DAYS), _LAST_WEEK, _THIS_WEEK, _WEEKDAY, _OTHER_DATES):
        rest = pattern.sub(" ", rest)
    said = words.split()
    # A bare "and yesterday?" is enough; a longer text says that it is about what was, and about us.
    is_past = not _BACKWARDS.isdisjoint(said)
    is_ours = not _WHO.isdisjoint(said) or _LAST_TIME.search(words)
    if rest == words or not (len(said) <= _BARE or (is_past and is_ours)):
        return LookBack()
    return LookBack(tuple(_stretches(words, text, now)), frozenset(_subjects(rest)))


def _words(text: str) -> str:
    return " ".join(WORD.findall(fold(text))) if len(text) <= _LONGEST else ""


def _subjects(words: str) -> list[str]:
    return [word for word in words.split() if word not in _LOOKING and not says_nothing(word)]


def _stretches(words: str, text: str, now: datetime) -> Iterator[Stretch]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for pattern, ago in _DAYS:
        if pattern.search(words):
            yield _days(today, ago, 1)
            return
    monday = today.weekday()
    if _LAST_WEEK.search(words):
        yield _days(today, monday + 7, 7)
        yield _between(now - timedelta(days=7), now)  # people say it of the last seven days too
        return
    if _THIS_WEEK.search(words):
        yield _between(today - timedelta(days=monday), now)
        return
    if found := _WEEKDAY.search(words):
        day = next(number for number, names in enumerate(_WEEKDAYS) if found[1] in names)
        yield _days(today, (monday - day - 1) % 7 + 1, 1)
        return
    for mention in mentions(text, now=now):
        yield _between(mention.start, mention.end)
    if _LAST_TIME.search(words):
        yield Stretch("", timestamps.stamp(now), newest=True)


def _days(today: datetime, ago: int, count: int) -> Stretch:
    """Whole days of the calendar; not of 24 hours where clocks are changed."""
    start = today - timedelta(days=ago)
    return _between(start, start + timedelta(days=count))


def _between(start: datetime, end: datetime) -> Stretch:
    return Stretch(timestamps.stamp(start), timestamps.stamp(end))
