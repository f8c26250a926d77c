"""Unicode as attackers use it: characters that hide text, and letters that only look like letters.

`inspect` finds what is hidden; `fold` gives the text as a reader would see it, for matching.
Both are linear: one `str.translate` over a table, and one search per kind of character that occurs.
(`unicodedata.normalize` on the whole text is avoided on purpose: U+FDFA grows 18 times, and CPython
sorts a run of combining marks by insertion, which takes seconds on 100 KB of them.)
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase

from gitmem.safety.verdict import Finding, Scope, Verdict
from gitmem.text.words import WORD

CATEGORY = "hidden text"

# Scripts in which U+200C and U+200D are spelling: Arabic and its kin, Syriac, N'Ko, the Indic
# scripts from Devanagari to Sinhala, Tibetan, Myanmar, Khmer, Mongolian.
_JOINING = (
    "\u0600-\u07ff\u0840-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1800-\u18af"
    "\ua840-\ua87f\ua8e0-\ua8ff\ufb50-\ufdff\ufe70-\ufeff\U00010a00-\U00011fff"
)
# Thai, Lao, Myanmar, Khmer and their neighbours write no spaces and mark word ends with U+200B.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf\u19e0-\u19ff"
_RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001eeff"
# What can stand beside U+200D in an emoji sequence.
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\ufe0f\U0001f000-\U0001faff\U000e007f"
)
_CJK = "\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of character that hides something: where it is wrong, and how grave that is."""

    rule: str
    ranges: tuple[tuple[int, int], ...]
    wrong: str  # where a character of the kind is out of place
    reason: str
    severity: Verdict = Verdict.HOLD
    many: int = 0  # from this many characters of the kind on, `hold` becomes `block`
    rtl_ok: bool = False  # ordinary in a text that has right-to-left letters
    quiet: frozenset[Scope] = frozenset()  # scopes in which web pages bring it along harmlessly


_WEB: frozenset[Scope] = frozenset({"event"})

_KINDS = (
    _Kind(
        "unicode.tags",
        ((0xE0000, 0xE00FF), (0xE01F0, 0xE0FFF)),
        # The flags of England, Scotland and Wales are spelled with tags and end with U+E007F.
        "(?<!\U0001f3f4)(?<![\U000e0020-\U000e007e])[\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
        "|\U0001f3f4(?![\U000e0061-\U000e007a\U000e0030-\U000e0039]{1,6}\U000e007f)[\U000e0000-\U000e0fff]",
        "holds Unicode tag characters, which spell out text that nobody sees",
        severity=Verdict.BLOCK,
    ),
    _Kind(
        "unicode.variation-payload",
        ((0xE0100, 0xE01EF),),
        f"(?<![{_CJK}])[\U000e0100-\U000e01ef]",
        "holds a row of variation selectors, which can carry hidden bytes",
        severity=Verdict.BLOCK,
    ),
    _Kind(
        "unicode.variation-selector",
        ((0xFE00, 0xFE0F), (0x180B, 0x180D), (0x180F, 0x180F)),
        "[\ufe00-\ufe0f\u180b-\u180d\u180f]{2}"
        "|(?<=[A-Za-z\\s.,;:])[\ufe00-\ufe0f]"
        "|(?<![\u1800-\u18af])[\u180b-\u180d\u180f]",
        "holds variation selectors where no emoji or ideograph stands before them",
        many=4,
    ),
    _Kind(
        "unicode.zero-width-space",
        ((0x200B, 0x200B),),
        f"\u200b(?:(?<![{_UNSPACED}]\u200b)|(?![{_UNSPACED}\\s]))",
        "holds U+200B, a space of no width that breaks words apart unseen",
        severity=Verdict.BLOCK,
        quiet=_WEB,
    ),
    _Kind(
        "unicode.joiner",
        ((0x200C, 0x200D),),
        f"[\u200c\u200d](?:(?<![{_JOINING}{_EMOJI}][\u200c\u200d])"
        f"|(?<=[{_EMOJI}][\u200c\u200d])(?![{_EMOJI}])(?<![{_JOINING}][\u200c\u200d]))",
        "holds zero-width joiners between letters that are never joined",
        many=3,
        quiet=_WEB,
    ),
    _Kind(
        "unicode.bidi-override",
        ((0x202D, 0x202E),),
        "[\u202d\u202e]",
        "holds a direction override (U+202D, U+202E), which shows text in another order than it is read",
        severity=Verdict.BLOCK,
    ),
    _Kind(
        "unicode.bidi-control",
        ((0x202A, 0x202C), (0x2066, 0x2069)),
        "[\u202a-\u202c\u2066-\u2069]",
        "holds direction controls though nothing in it is written right to left",
        rtl_ok=True,
        quiet=_WEB,
    ),
    _Kind(
        "unicode.direction-mark",
        ((0x200E, 0x200F), (0x061C, 0x061C)),
        "[\u200e\u200f\u061c]",
        "holds invisible direction marks though nothing in it is written right to left",
        many=4,
        rtl_ok=True,
        quiet=_WEB,
    ),
    _Kind(
        "unicode.soft-hyphen",
        ((0x00AD, 0x00AD),),
        "\u00ad",
        "holds soft hyphens, which split words without being seen",
        many=8,
        quiet=_WEB,
    ),
    _Kind(
        "unicode.byte-order-mark",
        ((0xFEFF, 0xFEFF),),
        "(?<!\\A)\ufeff",
        "holds U+FEFF in the middle, where it is a space of no width",
        many=3,
        quiet=_WEB,
    ),
    _Kind(
        "unicode.invisible",
        (
            *((0x034F, 0x034F), (0x17B4, 0x17B5), (0x180E, 0x180E), (0x2060, 0x2065), (0x206A, 0x206F)),
            *((0xFFF9, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A)),
        ),
        "[\u034f\u17b4\u17b5\u180e\u2060-\u2065\u206a-\u206f\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]",
        "holds characters that are never shown",
        many=3,
    ),
    _Kind(
        "unicode.filler",
        ((0x115F, 0x1160), (0x3164, 0x3164), (0xFFA0, 0xFFA0)),
        # Old Korean syllables use the first two beside other conjoining letters.
        "[\u3164\uffa0]|[\u115f\u1160](?![\u1100-\u11ff])(?<![\u1100-\u11ff].)",
        "holds Hangul fillers, blanks that are not spaces",
        many=3,
    ),
    _Kind(
        "unicode.strike",
        ((0x0330, 0x0338), (0x0346, 0x034E), (0x0350, 0x0357), (0x1AB0, 0x1ACE), (0x20D0, 0x20E2)),
        "(?:[\u0330-\u0338\u0346-\u034e\u0350-\u0357\u1ab0-\u1ace\u20d0-\u20e2].{0,8}?){5}",
        "is written with marks over or under letter after letter, which hides it from a search",
        quiet=_WEB,
    ),
    _Kind(
        "unicode.mark-pile",
        ((0x0300, 0x036F), (0x1DC0, 0x1DFF), (0xFE20, 0xFE2F)),
        "[\u0300-\u036f\u1dc0-\u1dff\ufe20-\ufe2f]{4}",
        "piles combining marks on its letters, which hides it from a search",
        quiet=_WEB,
    ),
    _Kind(
        "unicode.styled-letters",
        ((0x1D400, 0x1D7CB), (0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)),
        "(?<![\U0001d400-\U0001d7cb\u24b6-\u24e9\U0001f130-\U0001f189])"
        "(?:[\U0001d400-\U0001d7cb\u24b6-\u24e9\U0001f130-\U0001f189]{2,40}[^\\w\\n]{1,3}){2}"
        "[\U0001d400-\U0001d7cb\u24b6-\u24e9\U0001f130-\U0001f189]{2}"
        "|[\U0001d400-\U0001d7cb\u24b6-\u24e9\U0001f130-\U0001f189]{8}",
        "is written in mathematical or circled letters, which hides it from a search",
        quiet=_WEB,
    ),
    _Kind(
        "unicode.wide-letters",
        ((0xFF21, 0xFF3A), (0xFF41, 0xFF5A)),
        "(?<![\uff21-\uff5a])(?:[\uff21-\uff3a\uff41-\uff5a]{2,40}[ \u3000]{1,2}){3}",
        "is written in full-width letters, which hides it from a search",
        quiet=_WEB,
    ),
    _Kind(
        "unicode.surrogate",
        ((0xD800, 0xDFFF),),
        "[\ud800-\udfff]",
        "holds half a surrogate pair, which is not text",
    ),
    _Kind(
        "unicode.mixed-script",
        ((0x0370, 0x052F), (0x0531, 0x0587), (0x13A0, 0x13FF), (0x2C80, 0x2CE3)),
        "",  # spelled out below
        "mixes letters of two alphabets that look alike within one word",
        many=4,
        quiet=_WEB,
    ),
)

# Letters of other alphabets that a reader takes for Latin ones.
_LOOKALIKES = (
    ("абвсԁеԍһіјкӏмոорԛѕтυѵԝхуүзԛ", "a6bcdeghijklmnopqstuvwxyy3q"),
    ("АВСЕНІЈКМОРЅТԜХУЗҮԚ", "abcehijkmopstwxy3yq"),
    ("αβγδεηικνορτυχωϲϳ", "abydeniknoptuxwcj"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺ", "abezhikmnoptyxcm"),
    ("ոսցհօաեոզտ", "nughowenqm"),
    ("ᎪᏴᏟᎠᎬᎻᏆᎫᏦᏞᎷᏢᏚᎢᏙᎳᏃ", "abcdehijklmpstvwz"),
)
_DASHES_QUOTES = {
    **dict.fromkeys(map(ord, "‘’‚‛ʼ´′`"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣"), "-"),
    0x2026: "...",
    0x2044: "/",
    0x2215: "/",
}
_BLANKS = (0x00A0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0x85)


def inspect(text: str, scope: Scope = "memory") -> list[Finding]:
    """Return the hidden content of a text: invisible characters, direction overrides, look-alike letters."""
    findings = []
    # Buys "recovery of 10,000 events": one `in` for each of them is many times faster than one search for all.
    control = min((text.index(char) for char in _CONTROLS if char in text), default=None)
    if control is not None:
        findings.append(
            Finding(
                "unicode.control",
                CATEGORY,
                "holds control characters, which a terminal obeys and a reader does not see",
                (control, control + 1),
                _soften(Verdict.HOLD, scope, _WEB),
            )
        )
    if text.isascii():
        return findings
    # Most lines are plain: the searches look only at the others.
    foreign = "\n".join(line for line in text.splitlines() if not line.isascii())
    present: set[int] = set()
    table = _kind_table()
    for char in set(foreign) & table.keys():
        present.update(table[char])
    # The gravest first: once something blocks, the rest changes nothing.
    for number in sorted(present, key=lambda number: (_KINDS[number].severity is not Verdict.BLOCK, number)):
        kind, wrong = _KINDS[number], _wrong(number)
        if wrong.search(foreign) is None or (kind.rtl_ok and _HAS_RTL.search(foreign)):
            continue
        hit = wrong.search(text)
        if hit is None:  # it stands at the beginning of a line, but not of the text
            continue
        severity = kind.severity
        if kind.many and severity is Verdict.HOLD and _at_least(wrong, text, hit, kind.many):
            severity = Verdict.BLOCK
        severity = _soften(severity, scope, kind.quiet)
        findings.append(Finding(kind.rule, CATEGORY, kind.reason, hit.span(), severity))
        if severity is Verdict.BLOCK:
            break
    return findings


_BLANK_LINES = re.compile(r"\n{3,}")


def fold(text: str) -> str:
    """The text as a reader sees it, in lower case: no invisible characters, no marks, plain quotes, single spaces.

    A blank line stays one: what is on its other side is not the same sentence.
    """
    lines = text.splitlines()
    if not text.isascii():
        table = _fold_table()
        folding = _foldable()
        lines = [
            line if line.isascii() or folding.isdisjoint(line) else line.translate(table) for line in lines
        ]
    folded = "\n".join([" ".join(line.split()) for line in lines]).strip("\n").lower()
    return _BLANK_LINES.sub("\n\n", folded) if "\n\n\n" in folded else folded


def words_of(folded: str) -> list[str]:
    """The words of a folded text: runs of letters and digits."""
    return WORD.findall(folded)


def latinise(folded: str) -> str | None:
    """`folded` with look-alike letters turned into Latin ones, or None if it has none beside Latin letters."""
    if folded.isascii():
        return None
    lines = folded.split("\n")
    alike, foreign = _lookalike_table(), _lookalikes()
    changed = False
    for number, line in enumerate(lines):
        if not line.isascii() and not foreign.isdisjoint(line) and _HAS_LATIN.search(line):
            lines[number] = line.translate(alike)
            changed = True
    return "\n".join(lines) if changed else None


def _soften(severity: Verdict, scope: Scope, quiet: frozenset[Scope]) -> Verdict:
    return Verdict.ALLOW if scope in quiet else severity


def _at_least(pattern: re.Pattern[str], text: str, first: re.Match[str], count: int) -> bool:
    start = first.end()
    for _ in range(count - 1):
        hit = pattern.search(text, start)
        if hit is None:
            return False
        start = hit.end()
    return True


@cache
def _wrong(number: int) -> re.Pattern[str]:
    kind = _KINDS[number]
    if kind.wrong:
        return re.compile(kind.wrong, re.DOTALL)
    # A word of Latin letters and look-alikes only, with at least one of each side by side.
    # `commitить` has letters that nobody takes for Latin: a person wrote it, and it passes.
    alike = "".join(foreign for foreign, _ in _LOOKALIKES).replace("β", "").replace("γ", "").replace("δ", "")
    return re.compile(
        f"(?<![^\\W\\d_])(?=[{alike}]{{0,12}}[A-Za-z])(?=[A-Za-z]{{0,24}}[{alike}])"
        f"[A-Za-z{alike}]{{4,40}}(?![^\\W\\d_])"
    )


@cache
def _kind_table() -> dict[str, tuple[int, ...]]:
    table: dict[str, tuple[int, ...]] = {}
    for number, kind in enumerate(_KINDS):
        for low, high in kind.ranges:
            for point in range(low, high + 1):
                table[chr(point)] = (*table.get(chr(point), ()), number)
    return table


@cache
def _fold_table() -> dict[int, str | int | None]:
    """One table for everything that folding does to a character: drop, replace, take the marks off."""
    table: dict[int, str | int | None] = {}
    # Letters with marks, and the letters that NFKC would turn into plain ones.
    for low, high in _COMPATIBLE:
        for point in range(low, high + 1):
            plain = unicodedata.normalize("NFKD", chr(point))
            if len(plain) > 1:
                plain = "".join(c for c in plain if not "\u0300" <= c <= "\u036f")
            if plain != chr(point):
                table[point] = plain
    for low, high in _DROPPED:
        table.update(dict.fromkeys(range(low, high + 1), None))
    table.update({0xE0000 + point: chr(point) for point in range(0x20, 0x7F)})
    table.update({0xE0100 + byte - 16: chr(byte) for byte in range(0x20, 0x7F)})
    table.update(_DASHES_QUOTES)
    table.update(dict.fromkeys(_BLANKS, " "))
    table.update(dict.fromkeys((0x115F, 0x1160, 0x3164, 0xFFA0, 0xFDFA, 0xFDFB), " "))
    table.update({0x131: "i", 0x142: "l", 0x141: "l", 0xF8: "o", 0xD8: "o", 0xDF: "ss"})
    for first in (0x1F130, 0x1F150, 0x1F170):
        table.update(enumerate(ascii_lowercase, first))
    return table


@cache
def _foldable() -> frozenset[str]:
    return frozenset(map(chr, _fold_table()))


@cache
def _lookalikes() -> frozenset[str]:
    return frozenset(map(chr, _lookalike_table()))


@cache
def _lookalike_table() -> dict[int, int]:
    return {
        ord(foreign): ord(latin)
        for letters, latins in _LOOKALIKES
        for foreign, latin in zip(letters.lower(), latins, strict=False)
    }


# Where NFKC and the removal of marks change something that matters for matching: Latin with
# marks, the Cyrillic and Greek letters with marks, and the styled, wide, raised and joined letters.
_COMPATIBLE = (
    (0xAA, 0x24F), (0x2B0, 0x2B8), (0x37E, 0x3CE), (0x400, 0x45F), (0x1D2C, 0x1D6A), (0x1E00, 0x1EFF),
    (0x2070, 0x209C), (0x2100, 0x214F), (0x2160, 0x217F), (0x2460, 0x24E9), (0xFB00, 0xFB06),
    (0xFF01, 0xFF9D), (0x1D400, 0x1D7FF),
)  # fmt: skip
_DROPPED = (
    (0xAD, 0xAD), (0x300, 0x36F), (0x61C, 0x61C), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x20D0, 0x20F0),
    (0xD800, 0xDFFF), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB),
    (0x1D173, 0x1D17A), (0xE0000, 0xE01EF),
)  # fmt: skip

_CONTROLS = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x7f"
_HAS_RTL = re.compile(f"[{_RTL}]")
_HAS_LATIN = re.compile("[a-z]")
