"""Kinship: whether one text follows from another, by what they share. Pure.

Two texts are kin where one quotes the other (a run of content words, or nearly the same words), or where they share
something that nobody hits upon by chance: an address, an id, a long number, a name. Common words do not count, nor does
a trait that was known before the older text came; the caller says which were (`owned`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from gitmem.text.words import STOP

RUN = 5
"""Content words in a row that make a quote."""
_PHRASE = 3
"""Uncommon words in a row that are as telling as a name."""
_ALIKE = 0.7
_FEWEST = 4
"""Content words: of a shorter text "nearly the same" says nothing."""
_LONGEST = 20_000

_WORD = re.compile(r"[^\W_]+")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s<>\"'`)\]}]+", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_HOST = re.compile(r"(?<![\w.@-])(?:[a-z0-9][a-z0-9-]*\.)+[a-z]{2,}(?![\w-])", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w/.:])~?(?:/[\w.@+-]+){2,}")
_DATE = re.compile(r"\b(?:19|20)\d\d-\d\d(?:-\d\d)?(?:[T ]\d\d:\d\d[\d:.Z]*)?|\b\d{1,2}[:h]\d\d\b")
_ID = re.compile(r"(?<![\w])(?=[\w-]*\d)(?=[\w-]*[^\W\d_])[\w][\w-]{3,}(?![\w])")
_NUMBER = re.compile(r"\d+(?:[ .,'\u00a0\u202f-]\d{2,}(?!\w))*")
_TOKEN = re.compile(r"[^\W\d_][\w'’-]*|[.!?:\n]")
_BREAK = frozenset(".!?:\n")


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_COMMON_HOSTS = _listed(
    """localhost example.com github.com gitlab.com google.com gmail.com pypi.org python.org docs.python.org wikipedia.org
    en.wikipedia.org stackoverflow.com outlook.com"""
)
_FILE_ENDS = _listed(
    """md txt py js ts sh yaml yml json toml cfg ini html css csv log db sql rs go c h cpp java rb xml pdf png jpg lock env
    exe zip gz tar"""
)
_COMMON_IDS = _listed(
    """sha1 sha256 sha512 utf8 utf-8 utf16 utf-16 base64 x86_64 x86-64 python2 python3 http2 ipv4 ipv6 oauth2 win32 win64
    amd64 arm64 iso8601 iso-8601 es2015 covid-19"""
)
# Words that sentences begin with or that are written with a capital, and that are no names; each also with an s.
_COMMON = STOP | _listed(
    """account actually add added address admin after agent all always amount answer ask asked back backup before best bill
    billing book bot branch budget build business call change chat check cli client cloud code command commit company
    computer config contact contract customer daily data database date day default deploy deployment desk dev direct doc
    document done due each edit email end error event every example fact file final first fix folder found friday get give
    go good group head help here holiday home host house hour idea important info input invoice issue item job keep key
    kitchen know last latest law learned left legal line link list local log login long look lunch machine mail main make
    manager many may meeting memory message minute model monday money month morning most move must name need network never
    new next night node noon note now number office old once one only open order output package page pager part password
    pay payment people person phone place plan please point policy port prefer problem process product production profile
    program project prod query question quick read ready refund release remember remind remote repo report request review
    room rule run running safe sale save saturday say schedule script search security see send server service session set
    setting setup shop show since site skill staff stage staging standup start status step still stop store summary sunday
    support supplier sure system take task team tell test thanks thing thursday ticket time title today tomorrow tool topic
    travel true tuesday turn type under until update upload use used user value vendor version visit voucher wait warehouse
    website wednesday week weekly whether window word work world write year yes yesterday yet
    january february march april june july august september october november december
    english german french spanish italian api url http https ssh vpn json yaml html css sql csv pdf utc gmt eur usd gbp
    iban todo faq readme python javascript typescript java rust linux windows macos unix git github gitlab docker kubernetes
    postgres postgresql mysql sqlite redis google microsoft apple amazon aws azure slack hermes gitmem
    ltd inc llc corp gmbh mr mrs ms dr"""
)
_INFLECTED = ("s", "ed", "ing", "ly", "ment", "tion", "sion", "ness", "ity", "ance", "ence", "able", "ible")
_AUXILIARY = _listed("will can may must should would could had did wants never always")
# In German every noun is written like a name.
_GERMAN = _listed("der die das und ist nicht ein eine den dem des wird werden sind mit auf für bei zum zur")


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of a text that may be found again in another."""

    words: tuple[str, ...]
    """Content words, in order."""
    marks: frozenset[str]
    """Addresses, ids, long numbers: nobody hits upon them by chance."""
    names: frozenset[str]
    """Words that are written like names."""
    first: frozenset[str]
    """Words that begin a sentence and may be names."""
    numbers: frozenset[str]
    """Short numbers: they count beside shared words."""
    labels: frozenset[str]
    """What the hosts are called: `fennwick` of `results.fennwick.example`, which people use as a name."""
    phrases: frozenset[str]
    """Uncommon words in a row."""

    # Made once: a text that a session writes is compared with each that it had before it.
    vocabulary: frozenset[str] = field(init=False, repr=False)
    """Its words, without their order."""
    spoken: frozenset[str] = field(init=False, repr=False)
    """Its words, and what its hosts are called."""
    named: frozenset[str] = field(init=False, repr=False)
    """What is or may be a name."""
    telling: frozenset[str] = field(init=False, repr=False)
    """All but its words."""

    def __post_init__(self) -> None:
        vocabulary, named = frozenset(self.words), self.names | self.first
        for name, value in (
            ("vocabulary", vocabulary),
            ("spoken", vocabulary | self.labels),
            ("named", named),
            ("telling", self.marks | named | self.numbers),
        ):
            object.__setattr__(self, name, value)

    def says(self, word: str, *, loosely: bool) -> bool:
        """Return whether a word is in the text: as something telling, or `loosely` in any way."""
        return word in self.telling or (loosely and word in self.spoken)

    def has_from(self, trait: str, older: Iterable[Traits]) -> bool:
        """Return whether one of its traits was in older texts; of a phrase one of its words."""
        loosely = " " in trait or trait in self.labels
        return any(one.says(word, loosely=loosely) for one in older for word in trait.split())


@dataclass(frozen=True, slots=True)
class Kin:
    """Derivation of a text from another: it quotes it, or shares these traits with it."""

    quotes: bool
    shared: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "quotes it" if self.quotes else f"shares {', '.join(self.shared[:3])}"


@lru_cache(maxsize=512)
def traits_of(text: str) -> Traits:
    """Return what is telling in a text."""
    text = text[:_LONGEST]
    marks: set[str] = set()
    rest = _DATE.sub(" ", text)
    for pattern, read in ((_URL, _urls), (_MAIL, _mails), (_HOST, _hosts), (_PATH, _paths)):
        for found in pattern.findall(rest):
            marks |= read(found)
        if pattern is not _HOST:
            rest = pattern.sub(" ", rest)
    for found in _ID.findall(rest):
        if _is_id(found):
            marks.add(_fold(found))
    numbers: set[str] = set()
    for found in _NUMBER.findall(rest):
        digits = "".join(filter(str.isdigit, found))
        if len(digits) >= 4 and not _is_year(digits):
            marks.add(digits)
        elif len(digits) >= 2:
            numbers.add(digits)
    names, first = _names(rest)
    words = tuple(word for word in _WORD.findall(_fold(rest)) if len(word) > 1 and word not in STOP)
    labels = frozenset(label for mark in marks if (label := _label(mark)))
    return Traits(words, frozenset(marks), names, first, frozenset(numbers), labels, _phrases(words))


def kinship(child: str, parent: str, owned: Collection[str] | None = None) -> Kin | None:
    """Return how `child` follows from `parent`; None where nothing says that it does.

    `owned` are the traits that the parent brought: others were known before. None says that all are its own.
    """
    one, other = traits_of(child), traits_of(parent)
    if quotes(one, other):
        return Kin(True)
    shared = shared_traits(one, other)
    if owned is not None:
        shared = [trait for trait in shared if trait in owned]
    return Kin(False, tuple(shared)) if shared else None


def shared_traits(one: Traits, other: Traits) -> list[str]:
    """The telling traits that two texts share."""
    found = sorted(one.marks & other.marks)
    found += sorted(one.named & other.named)
    if one.labels or other.labels:
        found += sorted((one.labels | other.labels) & one.spoken & other.spoken)
    found += sorted(one.phrases & other.phrases)
    numbers = one.numbers & other.numbers
    if numbers and len(one.vocabulary & other.vocabulary - one.numbers - other.numbers) >= 3:
        found += sorted(numbers)
    return list(dict.fromkeys(found))


def quotes(one: Traits, other: Traits) -> bool:
    """A shared run of content words, or nearly the same words."""
    shared = one.vocabulary & other.vocabulary
    if not shared:
        return False
    left, right = one.vocabulary, other.vocabulary
    if min(len(left), len(right)) >= _FEWEST and len(shared) >= _ALIKE * (
        len(left) + len(right) - len(shared)
    ):
        return True
    short, long = sorted((one.words, other.words), key=len)
    runs = {short[at : at + RUN] for at in range(len(short) - RUN + 1)}
    return bool(runs) and any(long[at : at + RUN] in runs for at in range(len(long) - RUN + 1))


def _phrases(words: tuple[str, ...]) -> frozenset[str]:
    """Each run of uncommon words."""
    runs = (words[at : at + _PHRASE] for at in range(len(words) - _PHRASE + 1))
    return frozenset(" ".join(run) for run in runs if all(map(_is_uncommon, run)))


def _is_uncommon(word: str) -> bool:
    return len(word) >= 3 and not {word, word.removesuffix("s")} & _COMMON


def _label(mark: str) -> str:
    """Return what a host is called by people; empty where it is too short or too common to tell it."""
    parts = mark.split(".")
    label = parts[-2] if len(parts) > 1 and _HOST.fullmatch(mark) else ""
    return label if len(label) >= 5 and _is_uncommon(label) else ""


def _urls(found: str) -> set[str]:
    address = _fold(found).partition("://")[2].rstrip(".,;:!?/")
    return {address} | _hosts(address.partition("/")[0].partition("@")[2] or address.partition("/")[0])


def _mails(found: str) -> set[str]:
    return {_fold(found)} | _hosts(found.partition("@")[2])


def _hosts(found: str) -> set[str]:
    host = _fold(found).partition(":")[0].removeprefix("www.")
    end = host.rpartition(".")[2]
    return set() if host in _COMMON_HOSTS or end in _FILE_ENDS or "." not in host else {host}


def _paths(found: str) -> set[str]:
    return {found.rstrip("./")}


def _is_id(found: str) -> bool:
    word = _fold(found).strip("-_")
    digits = sum(map(str.isdigit, word))
    letters = sum(map(str.isalpha, word))
    return len(word) >= 5 and digits >= 2 and letters >= 2 and word not in _COMMON_IDS


def _is_year(digits: str) -> bool:
    return len(digits) == 4 and digits[:2] in ("19", "20")


def _names(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Words written like names, and words that begin a sentence and may be names."""
    names: set[str] = set()
    first: set[str] = set()
    begins = True
    german = sum(word in _GERMAN for word in _fold(text).split()) >= 2
    tokens = _TOKEN.findall(text)
    for token, following in zip(tokens, [*tokens[1:], ""], strict=False):
        if token in _BREAK:
            begins = True
            continue
        word = _fold(token.replace("’", "'").removesuffix("'s").strip("'-"))
        if _is_uncommon(word):
            mixed = any(letter.isupper() for letter in token[1:]) and not token.isupper()
            if mixed or (token.isupper() and len(word) > 5):
                names.add(word)
            elif token[0].isupper() and not token.isupper() and not german:
                if not begins:
                    names.add(word)
                elif not word.endswith(_INFLECTED) and _is_subject(token, following):
                    first.add(word)
        begins = False
    return frozenset(names), frozenset(first)


def _is_subject(token: str, following: str) -> bool:
    """Return whether a word that begins a sentence is whom it is about, by what follows: somebody does something."""
    owns = token.endswith(("'s", "’s"))
    return owns or following in _AUXILIARY or (following.islower() and following.endswith("s"))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
