"""Find secrets in a text: keys and tokens by their shape, passwords by what is said about them.

One detector for three uses: to redact before anything is written down, to refuse at a commit, to gate a
push. Tokens with a prefix of their own are looked for by that prefix (`secret_shapes.toml`); the rest by a word in
front of them (`password is`, `api_key =`, `Authorization:`: `secret_phrases`) and by how random they look
(`secret_values`). Hashes, UUIDs, placeholders, public keys and references to variables are not secrets.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from itertools import groupby
from typing import Any

from gitmem import resources
from gitmem.safety.secret_phrases import in_headers, told
from gitmem.safety.secret_values import (
    Secret,
    SecretFinds,
    compiled,
    matches,
    placeholder,
    plausible,
    token_like,
)

__all__ = ["Secret", "find", "redact"]


def find(text: str, *, ibans: bool = False) -> list[Secret]:
    """Return the secrets in a text, in order and apart; with `ibans` the numbers of bank accounts too."""
    found = SecretFinds(text)
    if "PRIVATE KEY" in text:
        _private_keys(text, found)
    if found.longest >= 40:
        _bare_private_keys(text, found)
    if found.longest >= 32:
        _shaped(text, found)
    if found.long:
        _prefixed(text, found)
        _in_urls(text, found)
    if found.longest >= 32:
        _of_vendors(text, found)
    in_headers(text, found)
    told(text, found)
    _cards(text, found)
    if ibans:
        _bank_accounts(text, found)
    if found.longest >= 51:
        _wallet_keys(text, found)
    _seed_phrases(found)
    return sorted(found.secrets, key=lambda secret: secret.start) if found.secrets else []


def redact(text: str, *, ibans: bool = False) -> str:
    """Replace each secret by its kind and last four characters: `[redacted jwt …1a2b]`.

    Of a password, and of any secret under 24 characters but a card's number, nothing is kept: four would give away
    too much of it. What is redacted already stays as it is.
    """
    for _ in range(4):  # a secret may only show once its neighbour is gone; more than twice was never seen
        found = find(text, ibans=ibans)
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


def _marker(kind: str, secret: str) -> str:
    if kind in _BLOCKS:
        secret = compiled(_BLOCK_END).sub("", secret)
    tail = "".join(each if each.isalnum() or each in "_-+/=.~" else "*" for each in secret[-4:])
    shown = kind == "payment-card" or (kind not in _HIDDEN and len(secret) >= 24)
    return f"[redacted {kind} …{tail}]" if shown else f"[redacted {kind}]"


_HIDDEN = ("password", "seed-phrase")
_BLOCKS = ("private-key", "pgp-private-key")
_BLOCK_END = r"[\s\\=]*+(?:-----END[^-]*+-----\s*+)?$"


@cache
def token_shapes() -> dict[str, list[Any]]:
    """Read the tables `prefixes`, `shapes` and `vendors`, when a text has something that could be a token."""
    import tomllib

    return tomllib.loads(resources.read("safety/secret_shapes.toml").decode())


# --- Private keys: the whole block, or what there is of it.


def _private_keys(text: str, found: SecretFinds) -> None:
    begins = list(compiled(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----").finditer(text))
    for number, begin in enumerate(begins, 1):
        following = begins[number].start() if number < len(begins) else len(text)
        start, end = begin.start(), following
        closing = compiled(r"-----END [A-Z0-9 ]{1,40}-----").search(text, begin.end(), following)
        if closing:  # quoted, indented, in pieces of code: all that is between
            end = closing.end()
        elif body := compiled(_KEY_BODY).match(text, begin.end(), following):
            end = body.end()
        material = "".join(compiled(r"[A-Za-z0-9+/=]{16,}").findall(text, begin.end(), end))
        if len(material) >= 48 and len(set(material)) >= 16:
            found.add("pgp-private-key" if "PGP" in begin[0] else "private-key", start, start, end)


# A block without an end: headers such as `Proc-Type:` may come first, what is no key material ends it.
_KEY_BODY = (
    r"(?:\s|\\[nr])*+(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset):[^\n\\]{0,100}+(?:\s|\\[nr])*+)*+"
    r"(?:[A-Za-z0-9+/=]{4,}+(?:\s|\\[nr])*+)*+"
)


def _bare_private_keys(text: str, found: SecretFinds) -> None:
    """Find the body of a private key without its first line, by how its encoding begins, and that of a PuTTY file."""
    if "MI" in found.long or "MHcC" in found.long or "MC4C" in found.long or "b3BlbnNzaC1r" in found.long:
        for match in compiled(_BARE_BODY).finditer(text):
            if len(match[0]) >= 48 and plausible(match[0][20:]):
                found.add("private-key", match.start(), *match.span())
    if "Private-Lines:" in text:
        for match in compiled(_PUTTY_BODY).finditer(text):
            found.add("private-key", match.start(), *match.span("secret"))


# PKCS 1 and 8 of RSA and DSA, PKCS 8 with a password; elliptic curves in both forms; Ed25519; OpenSSH.
_BARE_BODY = (
    r"(?<![A-Za-z0-9+/])(?:MII[A-Za-z0-9+/]{3}IB(?:AAK[BC]|ADAN)|MII[A-Za-z0-9+/]{5}BgkqhkiG9w0BBQ0|MHcCAQEE|MIGkAgEBBD"
    r"|MIHcAgEBBE|MI(?:GHAgEA|G2AgEA|HuAgEA)MB|MC4CAQAwBQYDK2V|b3BlbnNzaC1rZXktdjEA)[A-Za-z0-9+/]{16,8000}+={0,2}"
    r"(?:(?:\r?\n|\\n)[ \t>]{0,16}+(?:[A-Za-z0-9+/]{40,80}+={0,2}|[A-Za-z0-9+/]{2,79}+={1,2})){0,200}+"
)
_PUTTY_BODY = (
    r"Private-Lines: \d{1,3}(?P<secret>(?:(?:\s{1,16}|\\n)[A-Za-z0-9+/]{4,64}+={0,2}(?=\s|\\n|\Z)){1,200}+)"
)


# --- Tokens with a prefix. A token begins where no word runs on, so each run of letters is read once.


def _prefixed(text: str, found: SecretFinds) -> None:
    long = found.long
    for prefix in [prefix for prefix in prefixes_of_tokens() if prefix in long]:
        kind, rest = prefixes_of_tokens()[prefix]
        for match in matches(text, prefix_pattern(prefix, rest)):
            group = "secret" if "(?P<secret>" in rest else 0
            if plausible(match[group] if group else match[0][len(prefix) :]):
                found.add(kind, match.start(), *match.span(group))


@cache
def prefixes_of_tokens() -> dict[str, tuple[str, str]]:
    """Return kind and pattern by prefix."""
    return {
        prefix: (kind, rest)
        for kind, prefixes, rest in token_shapes()["prefixes"]
        for prefix in prefixes.split()
    }


@cache
def prefix_pattern(prefix: str, rest: str) -> re.Pattern[str]:
    """Compile with the prefix first, so that the engine searches for it; then what must not be before it."""
    escaped = re.escape(prefix)
    inner = "" if "/" in prefix else "".join(each for each in "./+" if each in rest)
    starts = rf"(?:(?<![\w{inner}-]{escaped})|(?<=\\[nrt]{escaped})|(?<=%[0-9A-F]{{2}}{escaped}))"
    return re.compile(rf"{escaped}{starts}{rest}(?<!\.)(?![A-Za-z0-9])")


# --- Tokens without a prefix: what is in the middle of them, or their whole layout, gives them away.


def _shaped(text: str, found: SecretFinds) -> None:
    for kind, part, shape in token_shapes()["shapes"]:
        # First only where it is likely to be: in runs without a space, which are few.
        if part in found.long and compiled(shape).search(found.long):
            group = "secret" if "(?P<secret>" in shape else 0
            for match in matches(text, compiled(shape)):
                if plausible(match[group]):
                    found.add(kind, match.start(), *match.span(group))
    if "AKIA" in found.long:
        for match in matches(text, compiled(_AWS_PAIR)):
            if plausible(match["secret"]):
                found.add("aws-secret-key", match.start(), *match.span("secret"))


_AWS_PAIR = r"AKIA[A-Z0-9]{16}[\"'\s:,;/|]{1,4}(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"


# --- URLs: `scheme://user:password@host`, and a long name that is no user's.


def _in_urls(text: str, found: SecretFinds) -> None:
    if "://" in found.long:
        for match in matches(text, compiled(_URL)):
            name, password = match["name"], match["password"]
            if password is None:
                if len(name) >= 20 and plausible(name) and token_like(name):
                    found.add("url-token", match.start(), *match.span("name"))
            elif len(password) >= 4 and password != name and not placeholder(password):
                found.add("url-password", match.start(), *match.span("password"))
    if ":thin:" in found.long:
        for match in matches(text, compiled(r":thin:\w{1,64}/(?P<password>[^\s/@]{4,128})@")):
            if not placeholder(match["password"]):
                found.add("url-password", match.start(), *match.span("password"))


_URL = r"://(?P<name>[^\s/?#@:\"'<>`\[\]]{0,200}+)(?::(?P<password>[^\s/\"'<>`]{3,200}))?@(?=[\w\[.-])"


# --- Vendors whose keys have no prefix: their name, and close behind it something of the right shape.


def _of_vendors(text: str, found: SecretFinds) -> None:
    low = found.low
    vendors = [vendor for vendor in token_shapes()["vendors"] if vendor in low]
    for match in matches(low, compiled(_BARE_KEY)) if vendors else ():
        before = low[max(0, match.start() - 60) : match.start()]
        at, vendor = max((before.rfind(vendor), vendor) for vendor in vendors)
        gap = before[at + len(vendor) :].replace("_", " ")
        token = text[match.start() : match.end()]
        if (
            at >= 0
            and "\n" not in gap
            and not compiled(_NO_KEY).search(gap)
            and plausible(token)
            and token_like(token)
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


# --- What pays: numbers of payment cards, and the word lists that restore a wallet.

# 13 to 19 digits, in one run or in groups with one kind of separator, and not part of a longer number.
_DIGITS = (
    r"(?<![\w.+/-])\d(?:\d{12,18}|\d{3}(?:(?P<sep>[ -])\d{4}(?:(?P=sep)\d{4}){2}(?:(?P=sep)\d{1,3})?"
    r"|(?P<gap>[ -])\d{6}(?P=gap)\d{4,5}))(?![\w/-]|\.\d)"
)
# How the numbers of the card networks begin, and how long they are.
_ISSUED = (
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[689]\d)\d{11}|62\d{14,17}"
)
_WORD_RUN = (
    r"\b[a-z]{3,8}(?:(?:[ \t]*+[,;][ \t]*+|[ \t]++|[ \t]*+\r?\n)(?:\d{1,2}[.):]?[ \t]++)?[a-z]{3,8}){11,}+\b"
)
_PHRASES = (24, 21, 18, 15, 12)
"""Numbers of words in a phrase; the last bits of them are a checksum of the others."""
_LONG_RUN = 100


def _cards(text: str, found: SecretFinds) -> None:
    for match in compiled(_DIGITS).finditer(text):
        number = re.sub(r"\D", "", match[0])
        if compiled(_ISSUED).fullmatch(number) and _passes_luhn(number) and len(set(number)) > 1:
            found.add("payment-card", match.start(), *match.span())


def _bank_accounts(text: str, found: SecretFinds) -> None:
    """Find numbers of bank accounts, in one run or in groups of four, by their check digits."""
    for match in compiled(_IBAN).finditer(text):
        number = match[0].replace(" ", "")
        moved = "".join(str(int(digit, 36)) for digit in number[4:] + number[:4])
        if len(number) >= 15 and int(moved) % 97 == 1:
            found.add("iban", match.start(), *match.span())


_IBAN = r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"


def _wallet_keys(text: str, found: SecretFinds) -> None:
    """Find private keys of Bitcoin in the form of wallets: base58 with a checksum."""
    for match in compiled(_WALLET_KEY).finditer(text):
        number = 0
        for digit in match[0]:
            number = number * 58 + _BASE58.index(digit)
        size = (number.bit_length() + 7) // 8
        data = number.to_bytes(size, "big")
        if size in (37, 38) and data[:1] in (b"\x80", b"\xef") and _double_hash(data[:-4])[:4] == data[-4:]:
            found.add("wallet-key", match.start(), *match.span())


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_WALLET_KEY = rf"(?<![A-Za-z0-9])(?:[59][{_BASE58}]{{50}}|[KLc][{_BASE58}]{{51}})(?![A-Za-z0-9])"


def _double_hash(data: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def _seed_phrases(found: SecretFinds) -> None:
    """Find runs of words from the list of BIP-39 with a right checksum, whatever is said about them."""
    for match in compiled(_WORD_RUN).finditer(found.low):
        words = list(re.finditer(r"[a-z]{3,8}", match[0]))
        known = [_numbers().get(word[0][:4], -1) for word in words]
        place = 0
        for is_listed, run in groupby(known, key=lambda number: number >= 0):
            numbers = list(run)
            if is_listed and (phrase := _phrase(numbers)):
                start = match.start() + words[place + phrase.start].start()
                end = match.start() + words[place + phrase.stop - 1].end()
                found.add("seed-phrase", start, start, end)
            place += len(numbers)


def _phrase(numbers: list[int]) -> range | None:
    """Return the place of the longest phrase in a run of listed words."""
    for size in _PHRASES:
        for start in range(min(len(numbers), _LONG_RUN) - size + 1):
            some = numbers[start : start + size]
            if len(set(some)) > size // 2 and _has_checksum(some):
                return range(start, start + size)
    return None


def _passes_luhn(number: str) -> bool:
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _has_checksum(numbers: list[int]) -> bool:
    bits = "".join(f"{number:011b}" for number in numbers)
    size = len(bits) * 32 // 33
    entropy = int(bits[:size], 2).to_bytes(size // 8, "big")
    return f"{hashlib.sha256(entropy).digest()[0]:08b}"[: len(bits) - size] == bits[size:]


@cache
def _numbers() -> dict[str, int]:
    """Return the place of each word in the list, by its first four letters: no two words share them."""
    words = resources.read("safety/seed_words.txt").decode("ascii").split()
    return {word: number for number, word in enumerate(words)}
