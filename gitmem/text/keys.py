"""Keys of a text: numbers, ids, addresses and names, which survive a rewording or a translation. Pure.

They are known by how they are written and not by a list of words, so they are the same in every language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache

from gitmem.text.words import STOP
from gitmem.text.words import fold as without_accents

GAP = "[…]"
"""What is left in the place of a stretch that was taken out."""
_LONGEST = 20_000
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]{1,12}://[^\s<>\"'`)\]}]+|www\.[^\s<>\"'`)\]}]+|[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+",
    re.IGNORECASE,
)
# An account or a telephone number is written in groups, and is one number.
_GROUPS = re.compile(
    r"\b[A-Z]{2}\d{2}(?:[ \u00a0][A-Z0-9]{2,4}){2,8}\b|(?<![\w.-])\+?\d[\d ()/\u00a0-]{5,22}\d(?!\w|\.\w)"
)
_THOUSANDS = re.compile(r"(?<=\d)[ ,.'’\u00a0\u202f](?=\d{3}(?!\d))")
_DECIMAL = re.compile(r"(?<=\d),(?=\d{1,2}(?!\d))")
_WORD = re.compile(r"[^\W_]+(?:[-_.,:#/@'’][^\W_]+)*")
_PLAIN = re.compile(r"[^\W_]+")
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
_UNSPACED_LETTER = re.compile(rf"[{_UNSPACED}]")
_TOUCHING = re.compile(rf"(?<=[{_UNSPACED}])(?=[0-9A-Za-z])|(?<=[0-9A-Za-z])(?=[{_UNSPACED}])")
_AMOUNT = re.compile(r"(\d+)(k|m)")
_ZEROS = {"k": "000", "m": "000000"}
_SENTENCE = re.compile(
    r"[^.!?\n。！？…;]+(?:(?:[.](?=\w)|(?<=\b[DFHJMNS][a-z])[.](?=[ ]))[^.!?\n。！？…;]*)*[.!?。！？…;\n]*"
)
"""A sentence; what follows `Dr.` or `Mr.` is the same one."""
_LEAD = re.compile(r"\s*(?:\[(?:user|assistant)\] )?")
"""What is before a sentence and no part of it: the speaker's label in a turn."""
_OPENS = frozenset('].!?:;。！？…\n|>"“”«»([*-#')
_SAYS_NOTHING = 0.5
"""The share of longer words with a capital from which capitals say nothing: a headline, or a language of such nouns."""
_FEW_CAPITALS = 3
_ACRONYM = 4
"""Letters up to which a word in capitals is a word like another: PIN, GPU."""
_LONG_NUMBER = re.compile(r"\d{5,}")
"""The number of an id, which is known without what is written before it: `SB 90331` for `SB-90331`."""
_CLAUSE = 4
"""Spaces between the words of a clause that tells by itself."""
_SURE = 3
"""Letters and digits of a number or an id from which on two texts do not have it by chance."""
_TITLE = re.compile(r"(?:^|[^\w])[A-Z][a-z]{0,2}\.\s$")
"""The end of an abbreviation before a name: Mr., Dr., St."""
_CALENDAR = re.compile(
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|januar|februar|marz|mai|juni|juli"
    r"|oktober|dezember"
)
"""Names that everybody uses. Other languages than these two write them without a capital."""
_NOUNS_HAVE_CAPITALS = re.compile(
    r"\b(?:der|die|das|den|dem|des|ein|eine|einen|ist|sind|im|und|nicht|auf|fur|von|zum)\b"
)
_SHORT_NAME = 3
_FEW_CHANGED = 3
"""Words that a correction takes out of a text at most; what changes more of it says something else."""
_HOST = re.compile(r"(?<![\w.@-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?![\w.-])|(?<=@)(?:[a-z0-9-]+\.)+[a-z]{2,}")
_WHOLE_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
"""Letters that Unicode does not part into a plain one and its accent."""


def fold(text: str) -> str:
    """Return the text without case, width and accents."""
    if text.isascii():
        return text.lower()
    folded = without_accents(unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFKC", folded).translate(_WHOLE_LETTERS)


def tokens_of(text: str) -> frozenset[str]:
    """Return the runs of letters and digits in a text, folded, and those of its numbers as keys have them."""
    words = set(_PLAIN.findall(_apart(fold(text))))  # a long text says most of its words again
    if any(map(str.isdigit, text)):
        words |= {token for key in keys_of(text) for token in _PLAIN.findall(key)}
    return frozenset(map(_singular, words))


@lru_cache(maxsize=4_096)
def keys_of(text: str) -> frozenset[str]:
    """Return the numbers, ids, addresses and names of a text."""
    text = unicodedata.normalize("NFKC", text[:_LONGEST])
    found = {fold(one).partition("://")[2] or fold(one) for one in _ADDRESS.findall(text)}
    text = _apart(_ADDRESS.sub(" ", text))
    text = _GROUPS.sub(lambda match: re.sub(r"[^0-9A-Za-z]", "", match[0]), text)
    text = _DECIMAL.sub(".", _THOUSANDS.sub("", text))
    found.update(_numbers_and_names(text))
    return frozenset(one for one in (key.strip(".,;:!?/'’") for key in found) if one)


def _numbers_and_names(text: str) -> Iterator[str]:
    words = list(_WORD.finditer(text))
    long = [match[0] for match in words if len(match[0]) > 3]
    capitals = sum(one[0].isupper() for one in long)
    tells = capitals < _FEW_CAPITALS or capitals <= _SAYS_NOTHING * len(long)
    for match in words:
        word = match[0]
        if any(map(str.isdigit, word)):
            number = fold(word)
            amount = _AMOUNT.fullmatch(number)
            number = amount[1] + _ZEROS[amount[2]] if amount else number
            if sum(map(str.isalnum, number)) > 1:
                yield number
                yield from _LONG_NUMBER.findall(number)
        elif len(word) > 2 and _is_name(word, tells and not _opens(text, match.start())):
            yield _name(word)


def _name(word: str) -> str:
    """Return a name as a key: folded, without the mark of a possessive, a day or month in the singular."""
    return _singular(fold(re.sub(r"['’]s?$", "", word)))


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and _CALENDAR.fullmatch(word[:-1]) else word


def _is_name(word: str, capital_tells: bool) -> bool:
    """Say whether a word is spelled like a name: joined with a capital, one inside, or one where no sentence begins."""
    if "_" in word or (any(map(str.isupper, word[1:])) and not word.isupper()):
        return True
    if "." in word or len(re.findall(r"[-/]", word)) > 1:  # a file, the name of a host, a path
        return True
    is_acronym = word.isupper() and len(word) <= _ACRONYM
    return word[0].isupper() and capital_tells and not is_acronym


def _opens(text: str, start: int) -> bool:
    near = text[max(0, start - 6) : start]
    before = near.rstrip(" \t")
    return (not before or before[-1] in _OPENS) and not _TITLE.search(near)


def _mentioned(text: str) -> frozenset[str]:
    """Return the keys of a text, and what may be a name in it: a known one is the same where a sentence begins with it.

    In a text without any capital every word may be one. An address speaks of its host.
    """
    every = not any(map(str.isupper, text))
    words = (one for one in _WORD.findall(text) if len(one) > 2 and (every or one[0].isupper()))
    keys = keys_of(text)
    return keys | {_name(one) for one in words} | {key.partition("/")[0] for key in keys if "/" in key}


def shared_keys(one: str, other: str) -> set[str]:
    """Return what two texts share that says where one came from: ids, long numbers, addresses, files and names.

    A name is spelled as one in both, and in one of them where no sentence begins.
    """
    found = keys_of(one) & keys_of(other)
    found |= (_names(one) & _mentioned(other)) | (_mentioned(one) & _names(other))
    is_number = re.compile(r"\d").search
    sure = {key for key in found if is_sure(key) or not (is_number(key) or _CALENDAR.fullmatch(key))}
    return sure or {*(_owners(one) & tokens_of(other)), *(_owners(other) & tokens_of(one))}


def _owners(text: str) -> frozenset[str]:
    """Return the names of those who have the hosts in a text: `fennwick` of `results.fennwick.example`."""
    hosts = (host.split(".") for host in _HOST.findall(fold(text[:_LONGEST])))
    return frozenset(labels[-2] for labels in hosts if len(labels[-2]) > _ACRONYM and labels[-2] not in STOP)


def _names(text: str) -> frozenset[str]:
    """Return the names in a text, of whatever language: what has a capital where no sentence begins."""
    found = (
        match
        for match in _WORD.finditer(text[:_LONGEST])
        if _is_name(match[0], not _opens(text, match.start()))
    )
    return frozenset(_name(match[0]) for match in found if len(match[0]) > _SHORT_NAME)


def telling(text: str) -> frozenset[str]:
    """Return everything by which another text may be known to follow from this one."""
    return tokens_of(text) | _mentioned(text)


def is_sure(key: str) -> bool:
    """Say whether a key is no word: an id, an address or a number that two texts do not share by chance."""
    return any(one.isdigit() or one in "@/" for one in key) and sum(map(str.isalnum, key)) >= _SURE


def is_common(key: str, text: str) -> bool:
    """Say whether a name of a text may be a word like others: short, a day or a month, or a noun that is written so."""
    if " " in key or is_sure(key):
        return False
    is_word = len(key) <= _SHORT_NAME or _CALENDAR.fullmatch(key)
    return bool(is_word or _NOUNS_HAVE_CAPITALS.search(fold(text)))


def is_brief(text: str, longest: int) -> bool:
    """Say whether a message is only a few words without a key; writing without spaces says more in a character."""
    size = len(text) + 2 * len(_UNSPACED_LETTER.findall(text))
    return 0 < size <= longest and not keys_of(text)


def subject(text: str) -> frozenset[str]:
    """Return about the words that say what a text is about, by their beginnings."""
    return frozenset(one[:5] for one in tokens_of(text) - STOP if len(one) > 3)


CHANGED = "~"
"""What marks a word by which a text repeats the wording that was replaced: it may be a word like any other."""


def changed_words(old: str, new: str) -> list[str]:
    """Return the words that a correction took out of a text, by their beginnings; none where it is another text."""
    words, kept = (
        {one if one.isdigit() else one[:5] for one in tokens_of(each) - STOP if len(one) > 2 or one.isdigit()}
        for each in (old, new)
    )
    taken = words - kept
    is_correction = bool(words & kept) and len(taken) <= _FEW_CHANGED
    return sorted(f"{CHANGED}{one}" for one in taken) if is_correction else []


def quotes_of(text: str) -> list[str]:
    """Return the sentences of a text and their longer clauses as plain words, to find them word for word."""
    found: dict[str, None] = {}
    for match in _SENTENCE.finditer(text[:_LONGEST]):
        found |= dict.fromkeys(filter(_tells, [_plain(match[0])]))
        clauses = map(_plain, match[0].split(", "))
        found |= dict.fromkeys(one for one in clauses if one.count(" ") >= _CLAUSE)
    return list(found)


def _tells(words: str) -> bool:
    return words.count(" ") >= 2 or (not words.isascii() and len(words) > 5)


def _plain(text: str) -> str:
    return " ".join(_PLAIN.findall(_apart(fold(text))))


def _apart(text: str) -> str:
    """Part numbers from writing that has no spaces between words."""
    return text if text.isascii() else _TOUCHING.sub(" ", text)


def says(text: str, keys: Collection[str], quotes: Collection[str] = ()) -> list[tuple[int, int]]:
    """Return the stretches of a text that have one of these keys, or one of these quotes word for word.

    A stretch is a sentence; where only a clause of it has a key, and the other clauses say something of their own, it is
    that clause.
    """
    found: list[tuple[int, int]] = []
    for start, end in stretches(text):
        sentence = text[start:end]
        if _holds(sentence, quotes):
            found.append((start, end))
        elif not _mentioned(sentence).isdisjoint(keys):
            found += _clauses(text, start, end, keys)
    return found


def _clauses(text: str, start: int, end: int, keys: Collection[str]) -> list[tuple[int, int]]:
    """Return the clauses of a sentence that have a key; the sentence, where one of its clauses is no clause by itself."""
    ends = [match.end() for match in re.finditer(r",\s+", text[start:end])]
    spans = [(start + at, start + to) for at, to in zip([0, *ends], [*ends, end - start], strict=True)]
    if any(len(_PLAIN.findall(text[at:to])) < _CLAUSE for at, to in spans):
        return [(start, end)]
    telling = [(at, to) for at, to in spans if not _mentioned(text[at:to]).isdisjoint(keys)]
    return [(at, at + len(text[at:to].rstrip())) for at, to in telling] or [(start, end)]


def stretches(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text begin and end."""
    found = []
    for match in _SENTENCE.finditer(text):
        said = match[0].rstrip()
        lead = _LEAD.match(said)
        start = lead.end() if lead else 0
        if said[start:]:
            found.append((match.start() + start, match.start() + len(said)))
    return found


def _holds(sentence: str, quotes: Collection[str]) -> bool:
    plain = f" {_plain(sentence)} " if quotes else ""
    return any(f" {quote} " in plain or (not quote.isascii() and quote in plain) for quote in quotes)


def without(text: str, spans: Collection[tuple[int, int]]) -> str:
    """Return the text with a gap in the place of these stretches; empty where nothing else is left."""
    kept: list[str] = []
    end = 0
    for start, stop in spans:
        between = text[end:start]
        if between.strip() or not kept:
            kept += [between, GAP, "" if text[stop : stop + 1].isspace() else " "]
        end = stop
    left = "".join((*kept, text[end:])).strip()
    return left if _PLAIN.search(re.sub(r"^\[(?:user|assistant)\]", "", left, flags=re.MULTILINE)) else ""
