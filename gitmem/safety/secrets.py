"""Finds secrets in text: keys and tokens by their shape, passwords by what is said about them.

One detector for three uses: to redact before anything is written down, to refuse at a commit, to gate a
push. Tokens with a prefix of their own are looked for by that prefix; the rest by a word in front of them
(`password is`, `api_key =`, `Authorization:`) and by how random they look. Hashes, UUIDs, placeholders,
public keys and references to variables are no secrets.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from gitmem.safety._token_shapes import PREFIXES, SHAPES, VENDORS

MAX_DEPTH = 64


class Secret(NamedTuple):
    """What was found, and where: `text[start:end]` is the secret itself."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Secret]:
    """The secrets in `text`, in order and apart."""
    found = _Found(text)
    if "PRIVATE KEY" in text:
        _private_keys(text, found)
    if found.longest >= 32:
        _shaped(text, found)
    if found.long:
        _prefixed(text, found)
        _in_urls(text, found)
    if found.longest >= 32:
        _of_vendors(text, found)
    _in_headers(text, found)
    _told(text, found)
    return sorted(found.secrets, key=lambda secret: secret.start) if found.secrets else []


def redact(text: str) -> str:
    """`text` with each secret replaced by its kind and last four characters: `[redacted jwt …1a2b]`.

    Of a secret under twelve characters nothing is kept: four would give away too much of it. What is
    redacted already stays as it is.
    """
    for _ in range(4):  # a secret may only show once its neighbour is gone; more than twice was never seen
        found = find(text)
        if not found:
            break
        text = _replace(text, found)
    return text


def _replace(text: str, found: list[Secret]) -> str:
    pieces: list[str] = []
    position = 0
    for secret in found:
        pieces += text[position : secret.start], _marker(secret.kind, text[secret.start : secret.end])
        position = secret.end
    return "".join(pieces) + text[position:]


def redact_value(value: object) -> object:
    """`value` with every string in it redacted, through dicts, lists and tuples; keys count as what is said.

    What is nested deeper than `MAX_DEPTH` is left out as a whole.
    """
    return _redact_value(value, "", MAX_DEPTH)


def _redact_value(value: object, key: str, depth: int) -> object:
    if isinstance(value, str):
        return _redact_under(key, value)
    if not isinstance(value, (dict, list, tuple)):
        return value
    if depth == 0:
        return "[redacted nested-value]"
    if isinstance(value, dict):
        result: dict[object, object] = {}
        for name, item in value.items():
            new = redact(name) if isinstance(name, str) else name
            while new in result:
                new = f"{new}'"
            result[new] = _redact_value(item, name if isinstance(name, str) else "", depth - 1)
        return result
    items = [_redact_value(item, key, depth - 1) for item in value]
    return items if isinstance(value, list) else tuple(items)


def _redact_under(key: str, value: str) -> str:
    """`value`, in which `{"password": value}` is as telling as `password: value`."""
    value = redact(value)
    if not key or len(key) > 64 or len(value) > 512 or value.startswith("[redacted "):
        return value
    said = f"{key}: "
    for secret in find(f"{said}{value}"):
        start, end = secret.start - len(said), secret.end - len(said)
        if start >= 0:
            return value[:start] + _marker(secret.kind, value[start:end]) + value[end:]
    return value


def _marker(kind: str, secret: str) -> str:
    if kind in _BLOCKS:
        secret = _pattern(_BLOCK_END).sub("", secret)
    tail = "".join(each if each.isalnum() or each in "_-+/=.~" else "*" for each in secret[-4:])
    return f"[redacted {kind} …{tail}]" if len(secret) >= 12 else f"[redacted {kind}]"


_BLOCKS = ("private-key", "pgp-private-key")


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """The compiled pattern: compiled when first needed, as most never are."""
    return re.compile(source)


class _Found:
    """What was found so far. What is taken is not taken twice, and a marker of an earlier redaction is taken.

    Touching counts as taken: a find beside a marker would otherwise depend on what the marker replaced, and
    redacting twice would differ from redacting once.
    """

    def __init__(self, text: str) -> None:
        self.secrets: list[Secret] = []
        self.taken = bytearray()
        self.judged: dict[tuple[object, ...], bool] = {}
        self.length = len(text)
        # The dotted capital I is the only letter that grows by this.
        self.low = (text if text.isascii() else text.replace("\u0130", "I")).lower()
        # Tokens hold no space: only runs of some length can be one, and in prose there are few.
        runs = [run for run in text.split() if len(run) >= 20]
        self.long = " ".join(runs)
        self.longest = max(map(len, runs)) if runs else 0
        if "[redacted " in text:
            self.taken = bytearray(self.length)
            for marker in _pattern(_MARKER).finditer(text):
                self.taken[marker.start() : marker.end()] = b"\1" * len(marker[0])

    def add(self, kind: str, begin: int, start: int, end: int) -> None:
        """Takes `start` to `end`, which was read from `begin` on, unless some of that is taken."""
        if not self.taken:
            self.taken = bytearray(self.length)
        elif any(self.taken[begin - 1 if begin else 0 : end + 1]):
            return
        self.secrets.append(Secret(kind, start, end))
        self.taken[start:end] = b"\1" * (end - start)

    def judge(self, test: Callable[..., bool], *what: object) -> bool:
        """What `test` says, asked once: texts that are long tend to repeat themselves."""
        known = self.judged.get((test, *what))
        if known is None:
            known = self.judged[(test, *what)] = test(*what)
        return known

    def is_free(self, start: int, end: int) -> bool:
        return not any(self.taken[start:end])


_MARKER = r"\[redacted [a-z0-9-]{2,40}(?: …[\w+/=.~*-]{1,4})?\]"
_BLOCK_END = r"[\s\\=]*+(?:-----END[^-]*+-----\s*+)?$"


# --- Private keys: the whole block, or what there is of it.


def _private_keys(text: str, found: _Found) -> None:
    begins = list(_pattern(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----").finditer(text))
    for number, begin in enumerate(begins, 1):
        following = begins[number].start() if number < len(begins) else len(text)
        start, end = begin.start(), following
        closing = _pattern(r"-----END [A-Z0-9 ]{1,40}-----").search(text, begin.end(), following)
        if closing:  # quoted, indented, in pieces of code: all that is between
            end = closing.end()
        elif body := _pattern(_KEY_BODY).match(text, begin.end(), following):
            end = body.end()
        material = "".join(_pattern(r"[A-Za-z0-9+/=]{16,}").findall(text, begin.end(), end))
        if len(material) >= 48 and len(set(material)) >= 16:
            found.add("pgp-private-key" if "PGP" in begin[0] else "private-key", start, start, end)


# A block without an end: headers such as `Proc-Type:` may come first, what is no key material ends it.
_KEY_BODY = (
    r"(?:\s|\\[nr])*+(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset):[^\n\\]{0,100}+(?:\s|\\[nr])*+)*+"
    r"(?:[A-Za-z0-9+/=]{4,}+(?:\s|\\[nr])*+)*+"
)


# --- Tokens with a prefix. A token begins where no word runs on, so each run of letters is read once.


def _prefixed(text: str, found: _Found) -> None:
    long = found.long
    for prefix in [prefix for prefix in _prefixes() if prefix in long]:
        kind, rest = _prefixes()[prefix]
        for match in _matches(text, _prefix_pattern(prefix, rest)):
            group = "secret" if "(?P<secret>" in rest else 0
            if found.judge(_plausible, match[group] if group else match[0][len(prefix) :]):
                found.add(kind, match.start(), *match.span(group))


@cache
def _prefixes() -> dict[str, tuple[str, str]]:
    return {prefix: (kind, rest) for kind, prefixes, rest in PREFIXES for prefix in prefixes.split()}


@cache
def _prefix_pattern(prefix: str, rest: str) -> re.Pattern[str]:
    """The prefix first, so that the engine searches for it; only then what must not stand before it."""
    escaped = re.escape(prefix)
    inner = "" if "/" in prefix else "".join(each for each in "./+" if each in rest)
    starts = rf"(?:(?<![\w{inner}-]{escaped})|(?<=\\[nrt]{escaped})|(?<=%[0-9A-F]{{2}}{escaped}))"
    return re.compile(rf"{escaped}{starts}{rest}(?<!\.)(?![A-Za-z0-9])")


def _matches(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Matches, also those that begin inside one that came to nothing."""
    position = 0
    while match := pattern.search(text, position):
        position = match.start() + 1
        yield match


# --- Tokens without a prefix: what is in the middle of them, or their whole layout, gives them away.


def _shaped(text: str, found: _Found) -> None:
    for kind, part, shape in SHAPES:
        # First only where it is likely to be: in runs without a space, which are few.
        if part in found.long and _pattern(shape).search(found.long):
            for match in _matches(text, _pattern(shape)):
                if found.judge(_plausible, match[0]):
                    found.add(kind, match.start(), *match.span())
    if "AKIA" in found.long:
        for match in _matches(text, _pattern(_AWS_PAIR)):
            if found.judge(_plausible, match["secret"]):
                found.add("aws-secret-key", match.start(), *match.span("secret"))


_AWS_PAIR = r"AKIA[A-Z0-9]{16}[\"'\s:,;/|]{1,4}(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"


# --- URLs: `scheme://user:password@host`, and a long name that is no user's.


def _in_urls(text: str, found: _Found) -> None:
    if "://" in found.long:
        for match in _matches(text, _pattern(_URL)):
            name, password = match["name"], match["password"]
            if password is None:
                if len(name) >= 20 and _plausible(name) and _token_like(name):
                    found.add("url-token", match.start(), *match.span("name"))
            elif len(password) >= 4 and password != name and not found.judge(_placeholder, password):
                found.add("url-password", match.start(), *match.span("password"))
    if ":thin:" in found.long:
        for match in _matches(text, _pattern(r":thin:\w{1,64}/(?P<password>[^\s/@]{4,128})@")):
            if not _placeholder(match["password"]):
                found.add("url-password", match.start(), *match.span("password"))


_URL = r"://(?P<name>[^\s/?#@:\"'<>`\[\]]{0,200}+)(?::(?P<password>[^\s/\"'<>`]{3,200}))?@(?=[\w\[.-])"


# --- Headers and logins: a scheme says what follows.


def _in_headers(text: str, found: _Found) -> None:
    low = found.low
    if "bearer" in low or "authorization" in low or "ssws" in low:
        for match in _matches(low, _pattern(_HEADER)):
            value = text[slice(*match.span("token"))]
            if found.judge(_token_like, value):
                found.add("auth-header", match.start(), *match.span("token"))
    if "basic" in low:
        for match in _matches(low, _pattern(_BASIC)):
            if _is_login(text[slice(*match.span("token"))]):
                found.add("basic-auth", match.start(), *match.span("token"))
    if "-u" in low:
        for match in _matches(low, _pattern(_LOGIN_OPTION)):
            password = text[slice(*match.span("password"))]
            if len(password) >= 6 and password != match["name"] and not found.judge(_placeholder, password):
                found.add("password", match.start(), *match.span("password"))
    if "-p" in low or "-a " in low:
        for match in _matches(low, _pattern(_COMMAND)):
            end, quoted = _value(text, match.end(), match["quote"], found)
            if found.judge(_password_like, text[match.end() : end], False, quoted):
                found.add("password", match.start(), match.end(), end)


_HEADER = (
    r"(?:bearer(?<![a-z]bearer)[\s:]{1,4}|ssws(?<![a-z]ssws)[\s:]{1,4}"
    r"|authorization[\"'\]]{0,2}\s{0,4}[:=]\s{0,4}[\"']?(?:(?:token|apikey|api-key|key|ssws|bearer|sso-key)[\s=]{1,4})?)[\"'`<]?"
    r"(?=[^\s0-9]{0,99}+[0-9])(?P<token>[a-z0-9._~+/-]{16,4000}={0,2})"
)
_BASIC = r"(?<![a-z])basic\s{1,4}(?P<token>[a-z0-9+/_-]{8,400}={0,2})(?![\w+/])"
# `mysql -uroot -px`, `sshpass -p x`
_COMMAND = (
    r"(?:mysql\w{0,8} [^\n|;]{0,60}?-p|sshpass -p ?|docker login [^\n|;]{0,60}?-p "
    r"|redis-cli [^\n|;]{0,60}?-a )(?P<quote>[\"'])?(?=\S{6})"
)
_LOGIN_OPTION = (
    r"(?<=\s)(?:-u|--user)[\s=]{1,3}[\"']?(?P<name>[\w.@+-]{1,64}):(?!//)(?P<password>[^\s\"'`]{4,128})"
)


def _is_login(token: str) -> bool:
    """Whether base64 stands for `name:password`."""
    try:
        login = a2b_base64(token.replace("-", "+").replace("_", "/") + "=" * (-len(token) % 4))
        _, colon, password = login.decode("ascii").partition(":")
    except (Base64Error, UnicodeDecodeError):
        return False
    return bool(colon) and password.isprintable() and not _placeholder(password)


# --- Passwords and keys that someone speaks of: `password is …`, `api_key = …`, `"secret": "…"`.

# What each word speaks of is a password, or else by the word's first letters:
_KINDS = {"sec": "secret", "cre": "secret", "tok": "token", "key": "api-key"}
# The stems stand first, so that the engine can skip to them.
_WORD = r"""
    (?: pass(?:wor[dt]|wd|phrase|code|(?<![a-z]pass)(?=["'\])]{0,2}\s{0,2}[:=]))
      | pw(?<![a-z]pw)d?+(?![a-z]) | psk(?<![a-z]psk)(?![a-z]) | kennwort | contrase[nñ]a | mot[ ]de[ ]passe
      | senha | пароль | 密[码碼] | パスワード | 비밀번호
      | (?P<key>secret(?:[ _-]?key)?+ | credential | creds | token | key)
    )
"""
_STEMS = (
    *("pass", "secret", "token", "key", "cred", "pw", "psk", "kennwort", "contrase", "senha", "пароль"),
    *("密", "パスワード", "비밀번호"),
)
# A key of these is kept secret, and any `something_key` unless it is one of the others.
_KEPT = (
    *("api", "access", "private", "signing", "encryption", "master", "license", "account", "auth", "service"),
    *("client", "admin", "app", "deploy", "session", "storage", "webhook", "subscription", "shared", "root"),
    *("personal", "security", "integration"),
)
_OPEN = (
    *(
        "public",
        "pub",
        "primary",
        "foreign",
        "cache",
        "sort",
        "partition",
        "idempotency",
        "unique",
        "natural",
    ),
    *("row", "object", "map", "dict"),
)
# `token_type`, `secret-name`: things about a secret, not the secret.
_ABOUT = frozenset(
    """
    hash hashes hashed hasher type types name names id ids file files path dir url uri endpoint count counts
    len length size limit min max policy field fields input inputs label param params ttl expiry expires arn
    expiration ref version format prefix store manager provider env var regex pattern rule rules budget usage
    hint reset salt strength rotation auth algorithm encryption encoding required enabled based free less
    """.split()  # noqa: SIM905 - a list of ninety strings is no easier to read
)
# In `a=b,c=d`, `a=b;c=d` and `?a=b&c=d` the value is `b`.
_RUN = r"[^\s\"'`<,;&|]{1,256}+(?:[,;&|](?!\s|$|[\w.-]{1,40}\s?[=:])[^\s\"'`<,;&|]{0,256}+){0,16}+"
_STRONG = r"""
    (?:
        [ \t]{0,6}+(?:=>|:=|→|={1,3}|:{1,2}|：|(?<=\s)\|(?=\s)|>(?!\s))(?:\*\*)?\s{0,8}+
      | [ \t]{1,3}+(?:is|was|are|ist|es|est|equals|becomes|(?:(?:changed|set|reset|rotated|updated)[ ])?to)
        (?:[ ](?:now|currently|still|just|simply|actually|only|always
            |(?:(?:re)?set|changed|rotated|updated)[ ]to)(?![\w-])){0,2}+
        :?\s{1,3}+
      | \s?[是为は]\s?
    )
"""
_OPENING = r"""
    (?:\*\*|\\?(?P<quote>["'`“‘«])){0,2}+
"""
# The least a value must have to be looked at: a digit; for a password another sign, or some length, do too.
_WORTH_A_LOOK = r"""
    (?(key) (?=\S{10})(?=[^\s0-9]{0,60}+[0-9])
      | (?=\S{10} | (?=\S{6})[^\s0-9!@$%^&*?+~]{0,9}+[0-9!@$%^&*?+~] | [a-z]{3,9}[ ][a-z]{3,9}[ ]) )
"""
_TOLD = rf"""(?x)
    {_WORD}
    (?P<suffix>s?+(?:[_-][a-z0-9_-]{{1,24}}+|[0-9]{{1,2}}+)?+)
    ["'`*\])]{{0,3}}+
    (?:[ ]?\([^()\n]{{1,40}}+\))?+
    (?: [ ](?P<gap>for|of|on|at|in|from|to[ ](?:the|my|our)|used[ ]by)[ ]
      | (?>{_STRONG} | (?P<weak>[ \t]{{1,3}}+)(?(key)(?=\S{{20}}))(?=[^\s0-9]{{0,40}}+[0-9]))
        {_OPENING} {_WORTH_A_LOOK} (?=(?P<run>{_RUN})?) )
"""
_BEHIND_GAP = f"(?x){_STRONG}{_OPENING}"
_NO_END = ".,;:!?)]}>*|\\"  # what ends a sentence, or closes something, is not of the value
_QUOTES = {"“": "”", "‘": "’", "«": "»"}


def _told(text: str, found: _Found) -> None:
    low = found.low
    if any(stem in low for stem in _STEMS):
        position = 0
        search = _pattern(_TOLD).search
        while match := search(low, position):
            start, end = _told_by(match, text, found)
            # Inside a long value nothing is said about another one.
            position = end if end - start >= 32 else match.start() + 1
        if " is " in low or " as " in low:
            _told_backwards(text, found)
    if "creds" in low or "credentials" in low or "login" in low:
        for match in _matches(low, _pattern(_PAIR)):
            end, _ = _value(text, match.end(), None, found)
            if found.judge(_password_like, text[match.end() : end], False, False):
                found.add("password", match.start(), match.end(), end)
    if "phrase" in low or "mnemonic" in low:
        for match in _matches(low, _pattern(_SEED_PHRASE)):
            found.add("seed-phrase", match.start(), *match.span("words"))


def _told_by(match: re.Match[str], text: str, found: _Found) -> tuple[int, int]:
    """Where the value is that the words in `match` speak of; it is a find if it looks like a secret."""
    key, suffix, gap, weak, quote, run = match.groups()
    begin, start = match.span()
    kind, kept = "password", True
    if key:
        kind = _KINDS[key[:3]]
        before = found.low[max(0, begin - 16) : begin]
        kept = kind != "api-key" or _is_kept(before)
        if not kept and (weak or before.rstrip(" _-").endswith(_OPEN)):
            return 0, 0
    if suffix and not _ABOUT.isdisjoint(suffix.replace("-", "_").split("_")):
        return 0, 0
    if gap:  # `password for the staging server: …`
        end_of_gap = _pattern(r"[:=→：\n]|[ ](?=(?:is|was|to)[ ])").search(found.low, start, start + 44)
        opening = end_of_gap and _pattern(_BEHIND_GAP).match(found.low, end_of_gap.start())
        if not opening:
            return 0, 0
        start, quote = opening.end(), opening["quote"]
    if run and not quote:
        end, quoted = start + len(run[:256].rstrip(_NO_END)), False
    else:
        end, quoted = _value(text, start, quote, found)
    if weak:  # but `--password x` and `with password x` are as good as `password: x`
        weak = not found.low[max(0, begin - 9) : begin].endswith(("--", "with ", "using ", "with the "))
    if not key:
        good = found.judge(_password_like, text[start:end], bool(weak), quoted)
    else:
        value = text[start:end]
        good = len(value) >= (20 if weak else 10 if kept else 32) and found.judge(_token_like, value)
        if good and (weak or not kept):  # little says that it is secret, so it must be no hash and no id
            good = any(map(_mixed, _pattern(r"[A-Za-z0-9]{12,}").findall(value)))
    if good:
        found.add(kind, begin, start, end)
    return start, end


def _is_kept(before: str) -> bool:
    """Whether `key` behind these words is one that is kept secret."""
    what = before[:-1] if before[-1:] in ("_", "-", " ") else before
    return what.endswith(_KEPT) or (before[-1:] == "_" and what[-1:].isalnum() and not what.endswith(_OPEN))


def _value(text: str, start: int, quote: str | None, found: _Found) -> tuple[int, bool]:
    """Where the value that begins at `start` ends, and whether quotes say so."""
    if quote:
        end = text.find(_QUOTES.get(quote, quote), start, start + 256)
        if end > start and "\n" not in text[start:end] and found.is_free(start, end):
            return end - (text[end - 1] == "\\"), True
    run = _pattern(_RUN).match(text, start, start + 256)
    return start + (len(run[0].rstrip(_NO_END)) if run else 0), False


# `login: maria / hunter22!`
_PAIR = (
    r"(?:creds|credentials|logins?)(?: for [^\n:]{1,30})?(?: is| are|:)\s{1,3}"
    r"[\w.@+-]{1,64}(?: / |:| \| )(?=\S{6})"
)
_SEED_PHRASE = (
    r"(?:(?:seed|recovery|backup|secret) ?phrase|mnemonic)[^\n:]{0,30}?(?::| is| =)\s{1,3}[\"'`]?"
    r"(?P<words>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})(?![\w-])"
)


def _told_backwards(text: str, found: _Found) -> None:
    """`hunter22! is the password`, `use hunter22! as the password`."""
    for match in _matches(found.low, _pattern(_TOLD_BACKWARDS)):
        before = text[max(0, match.start() - 100) : match.start()]
        chunk = before.rsplit(None, 1)[-1] if before and not before[-1].isspace() else ""
        value = chunk.strip("\"'`“”‘’*(),")
        start = match.start() - len(chunk) + chunk.find(value)
        if 8 <= len(value) <= len(chunk) < 100 and found.judge(_password_like, value, False, False):
            found.add("password", start, start, start + len(value))


_TOLD_BACKWARDS = (
    r" (?:is|as) (?:(?:the|my|our|your|his|her|their|its|a) )?(?:[a-z0-9'-]{1,16} ){0,3}?"
    r"(?:password|passphrase|passcode|api key|secret key|access key)(?![\w-])"
)


# --- Vendors whose keys have no prefix: their name, and close behind it something of the right shape.


def _of_vendors(text: str, found: _Found) -> None:
    low = found.low
    vendors = [vendor for vendor in VENDORS if vendor in low]
    for match in _matches(low, _pattern(_BARE_KEY)) if vendors else ():
        before = low[max(0, match.start() - 60) : match.start()]
        at, vendor = max((before.rfind(vendor), vendor) for vendor in vendors)
        gap = before[at + len(vendor) :].replace("_", " ")
        token = text[match.start() : match.end()]
        if (
            at >= 0
            and "\n" not in gap
            and not _pattern(_NO_KEY).search(gap)
            and found.judge(_plausible, token)
            and found.judge(_token_like, token)
        ):
            found.add(f"{vendor.replace(' ', '')}-key", match.start() - len(before) + at, *match.span())


_BARE_KEY = (
    r"(?<![\w/.-])(?:[a-f0-9]{32}|[a-f0-9]{40}|[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}|[a-z0-9_-]{36,72})"
    r"(?![\w/-])"
)
_NO_KEY = (
    r"\b(?:ids?|uuid|guid|sha\d*|md5|hash|commit|rev(?:ision)?|digest|checksum|trace|span|account|org|tenant|build"
    r"|release|zone|image|version|branch|sid)\b"
)


# --- What is random, what is made up, what is only a word.


def _plausible(body: str) -> bool:
    """Whether the body of a token that has the right shape may be real."""
    low = body.lower()
    if len(set(body)) < 6 or low.startswith(("your", "fake")) or _pattern(_FAKE).search(low):
        return False
    pieces = _pattern(r"[-_.:]").split(body)
    if len(pieces) == 1:
        return not (body.isalpha() and body.islower())
    return any(map(_noise, pieces)) or _mixed("".join(pieces))


# All begin with a plain character, which the engine can skip to.
_FAKE = (
    r"example|placeholder|xxxx|changeme|change-me|change_me|dummy|redacted|insert|sample|00000000|1234567|abcdefg"
    r"|-your|_your|-fake|_fake|\*\*\*|\.\.\.|…|<|>|\{|\}|\$"
)


def _noise(piece: str) -> bool:
    """Whether letters and digits look like nothing that a person wrote: `x7Kp2mQe`, not `OAuth2Client`."""
    if len(piece) < 8 or piece.isdigit() or (piece.isalpha() and (piece.islower() or piece.isupper())):
        return False
    if not _pattern(rf"(?:{_PART})++[A-Z]?").fullmatch(piece):
        return True
    parts = len(_pattern(_PART).findall(piece))  # of words there are fewer
    return len(piece) >= 12 and len(piece) < parts * (4.5 if len(piece) >= 20 else 3)


_PART = r"[A-Z]{0,4}[a-z]{2,}+|[A-Z]{2,}+|[0-9]{1,5}+(?![0-9])"


def _mixed(piece: str) -> bool:
    return _noise(piece) and not piece.islower() and not piece.isupper()


def _token_like(value: str) -> bool:
    """Whether a value that is called a key is one: `x7Kp2mQe…`, not words with hyphens or a path."""
    if not 10 <= len(value) <= 4000 or len(set(value)) < 7 or _placeholder(value):
        return False
    if not _pattern(r"[\w\-./+=~:%!@#$^&*?|,;]++").fullmatch(value) or _pattern(_REFERENCE).match(value):
        return False
    if value.startswith(("/", "~/", "./", "../")):  # base64, not a path
        return len(value) >= 40 and any(map(_mixed, value.split("/")))
    if _pattern(r"[a-f0-9]{32,}|[A-F0-9]{32,}|[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}").fullmatch(value):
        return True
    pieces = _pattern(r"[^A-Za-z0-9]+").split(value)
    return any(map(_noise, pieces)) or (len(value) >= 24 and _mixed("".join(pieces)))


def _password_like(value: str, weak: bool, quoted: bool) -> bool:
    """Whether a value that is called a password may be one: `Tr0ub4dor&3`, not `required` or `utf-8`.

    `weak`: nothing stands between the word and the value, so the value must tell more by itself.
    """
    if not (8 if weak else 6) <= len(value) <= 200 or _placeholder(value):
        return False
    if _pattern(_REFERENCE).match(value) or _pattern(_DOTTED).fullmatch(value):
        return False
    lower, upper = value.upper() != value, value.lower() != value
    digit, special = bool(_pattern(r"[0-9]").search(value)), False
    if not value.isalnum():
        if _pattern(r"\s").search(value):
            return quoted and not weak and bool(_pattern(r"(?:[a-z]{3,9} ){3,9}[a-z]{3,9}").fullmatch(value))
        if not quoted and _pattern(r"\w[(\[]|[(\[{][^)\]}]*+[)\]}]").search(value):
            return False  # code
        special = bool(_pattern(r"[!@#$%^&*?+~=]").search(value))
    if digit and (lower or upper):
        if weak and not (special or (lower and upper) or _noise(value)):
            return False
        return not _pattern(_TECHNICAL).match(value.lower())
    if lower and upper:
        return (special and not weak) or (value.isalpha() and len(value) >= 10 and _noise(value))
    return not weak and bool(_pattern(r"(?:[a-z]{3,9}-){3,7}[a-z]{3,9}").fullmatch(value))


def _placeholder(value: str) -> bool:
    """Whether a value only stands for one."""
    low = value.lower()
    return bool(_pattern(_STANDS_FOR).match(low) or _pattern(_SAYS_SO).search(low))


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
    r"|fa)s?(?![a-z0-9])"
)
