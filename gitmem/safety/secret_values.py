"""Values that look like secrets, and the finds in one text: shared by `secrets` and `secret_phrases`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Secret(NamedTuple):
    """A find: `text[start:end]` is the secret itself."""

    kind: str
    start: int
    end: int


@cache
def compiled(source: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed; most never are."""
    return re.compile(source)


def matches(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield matches, also those that begin inside one that came to nothing."""
    position = 0
    while match := pattern.search(text, position):
        position = match.start() + 1
        yield match


class SecretFinds:
    """The finds in one text. What is taken is not taken twice, and a marker of an earlier redaction is taken.

    Touching counts as taken: a find beside a marker would otherwise depend on what the marker replaced, and
    redacting twice would differ from redacting once.
    """

    def __init__(self, text: str) -> None:
        self.secrets: list[Secret] = []
        self.taken = bytearray()
        self.length = len(text)
        # The dotted capital I is the only letter that grows by this.
        self.low = (text if text.isascii() else text.replace("\u0130", "I")).lower()
        # Tokens hold no space: only runs of some length can be one, and in prose there are few.
        runs = [run for run in text.split() if len(run) >= 20]
        self.long = " ".join(runs)
        self.longest = max(map(len, runs)) if runs else 0
        if "[redacted " in text:
            self.taken = bytearray(self.length)
            for marker in compiled(_MARKER).finditer(text):
                self.taken[marker.start() : marker.end()] = b"\1" * len(marker[0])

    def add(self, kind: str, begin: int, start: int, end: int) -> None:
        """Take `start` to `end`, which was read from `begin` on, unless some of that is taken."""
        if not self.taken:
            self.taken = bytearray(self.length)
        elif self.taken.find(1, begin - 1 if begin else 0, end + 1) >= 0:
            return
        self.secrets.append(Secret(kind, start, end))
        self.taken[start:end] = b"\1" * (end - start)

    def is_free(self, start: int, end: int) -> bool:
        return self.taken.find(1, start, end) < 0


_MARKER = r"\[redacted [a-z0-9-]{2,40}(?: …[\w+/=.~*-]{1,4})?\]"


# --- Whether a value can be a secret at all: random, not made up, more than a word.


def plausible(body: str) -> bool:
    """Return whether the body of a well-formed token may be real."""
    low = body.lower()
    if len(set(body)) < 6 or low.startswith(("your", "fake")) or compiled(_FAKE).search(low):
        return False
    pieces = compiled(r"[-_.:]").split(body)
    if len(pieces) == 1:
        return not (body.isalpha() and body.islower())
    return any(map(noise, pieces)) or mixed("".join(pieces))


# All begin with a plain character, which the engine can skip to.
_FAKE = (
    r"example|placeholder|xxxx|changeme|change-me|change_me|dummy|redacted|insert|sample|00000000|1234567|abcdefg"
    r"|-your|_your|-fake|_fake|\*\*\*|\.\.\.|…|<|>|\{|\}|\$"
)


def noise(piece: str) -> bool:
    """Return whether letters and digits look random: `x7Kp2mQe`, not `OAuth2Client`."""
    if len(piece) < 8 or piece.isdigit() or (piece.isalpha() and (piece.islower() or piece.isupper())):
        return False
    if not compiled(rf"(?:{_PART})++[A-Z]?").fullmatch(piece):
        return True
    parts = len(compiled(_PART).findall(piece))  # of words there are fewer
    return len(piece) >= 12 and len(piece) < parts * (4.5 if len(piece) >= 20 else 3)


_PART = r"[A-Z]{0,4}[a-z]{2,}+|[A-Z]{2,}+|[0-9]{1,5}+(?![0-9])"


def mixed(piece: str) -> bool:
    return noise(piece) and not piece.islower() and not piece.isupper()


def token_like(value: str) -> bool:
    """Return whether a value named as a key is one: `x7Kp2mQe…`, not hyphenated words or a path."""
    if not 10 <= len(value) <= 4000 or len(set(value)) < 7 or placeholder(value):
        return False
    if not compiled(r"[\w\-./+=~:%!@#$^&*?|,;]++").fullmatch(value) or compiled(_REFERENCE).match(value):
        return False
    if value.startswith(("/", "~/", "./", "../")):  # base64, not a path
        return len(value) >= 40 and any(map(mixed, value.split("/")))
    if compiled(_HEXADECIMAL).fullmatch(value):
        return True
    pieces = compiled(r"[^A-Za-z0-9]+").split(value)
    return any(map(noise, pieces)) or (len(value) >= 24 and mixed("".join(pieces)))


_HEXADECIMAL = (
    r"[a-f0-9]{32,}|[A-F0-9]{32,}|[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"
    r"|[a-f0-9]{2}(?::[a-f0-9]{2}){15,}+|[A-F0-9]{2}(?::[A-F0-9]{2}){15,}+"
)


def password_like(value: str, weak: bool, quoted: bool) -> bool:
    """Return whether a value named as a password may be one: `Tr0ub4dor&3`, not `required` or `utf-8`.

    `weak`: nothing separates the word and the value, so the value itself must be stronger evidence.
    """
    if not (8 if weak else 6) <= len(value) <= 200 or placeholder(value):
        return False
    if compiled(_REFERENCE).match(value) or compiled(_DOTTED).fullmatch(value):
        return False
    lower, upper = value.upper() != value, value.lower() != value
    digit, special = bool(compiled(r"[0-9]").search(value)), False
    if not value.isalnum():
        if compiled(r"\s").search(value):
            return quoted and not weak and bool(compiled(r"(?:[a-z]{3,9} ){3,9}[a-z]{3,9}").fullmatch(value))
        if not quoted and compiled(r"\w[(\[]|[(\[{][^)\]}]*+[)\]}]").search(value):
            return False  # code
        special = bool(compiled(r"[!@#$%^&*?+~=]").search(value))
    if digit and (lower or upper):
        if weak and not (special or (lower and upper) or noise(value)):
            return False
        return not compiled(_TECHNICAL).match(value.lower())
    if lower and upper:
        return (special and not weak) or (value.isalpha() and len(value) >= 10 and noise(value))
    return not weak and bool(compiled(r"(?:[a-z]{3,9}-){3,7}[a-z]{3,9}").fullmatch(value))


def placeholder(value: str) -> bool:
    """Return whether a value is a placeholder."""
    low = value.lower()
    return bool(compiled(_STANDS_FOR).match(low) or compiled(_SAYS_SO).search(low))


_STANDS_FOR = (
    r"\[redacted|[<\[{(]|\$[\w{(]+[})]?$|\$\{|%\w+%$|[*•x.…_#-]+$"
    r"|(?:my|the|some|a|new|old|user|test|db|admin|root|default|super|strong|secure|temp)?[-_ ]?"
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|key|api[-_]?key|credentials?|value|string"
    r"|none|null|nil|undefined|true|false)[-_]?(?:here|goes|value|string|name)?[0-9]{0,3}$"
)
_SAYS_SO = (
    r"example|placeholder|change[-_ ]?me|your|dummy|redacted|insert|sample|fake|mock|fixme|todo|foobar|lorem"
    r"|replace|environ|getenv|process\.env|env[.\[(:]|secrets\.|config[.\[(]|settings\.|self\.|this\.|request\.|args\."
    r"|\{\{|\}\}|xxxx|\*\*\*|•|…|\.\.\.|____|00000000|1234567|abcdefg"
)
# URLs, names in a secret store, hashes that say so, versions, dates, mail addresses.
_REFERENCE = (
    r"(?:[A-Za-z]:\\|[a-z][a-z0-9+]*+://|arn:|op:|vault:|ref:|file:|//|[A-Za-z_]\w*+::|secret/|projects/"
    r"|keychain:|(?:sha[0-9]*+|md5|blake[0-9a-z]*+)[-:=]|ssh-|ecdsa-|v?[0-9]++(?:\.[0-9]++\w*+)++(?:[-+]\w++)*+$"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}|[\w.+-]++@[\w-]++\.[\w.]++$)"
)
_DOTTED = r"(?:~|\.{1,2})?/.*|[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)++(?:\(.*)?"
_TECHNICAL = (
    r"sha-?[0-9]|md[0-9]|base-?[0-9]{2}|utf-?[0-9]|oauth|bcrypt|argon|pbkdf|s?crypt|scram|rfc-?[0-9]|http|ipv[46]"
    r"|win[36]|x509|aes-?[0-9]|rsa-?[0-9]|ed25519|[her]s(?:256|384|512)|(?:tls|ssl|v)[0-9.]+$"
    r"|(?:step|phase|part|level|section|option|item|version|python|node|java|field|input|user|test|admin)-?[0-9]{1,2}$"
    r"|[0-9]+-?(?:char(?:acter)?|digit|letter|word|day|hour|minute|second|month|year|week|bit|byte|step|way|factor"
    r"|fa|stellig\w*|zeichen|caract\w*|d[ií]gitos?|chiffre)s?(?![a-z0-9])"
)
