"""Secrets by their own shape: private keys, tokens with a prefix, URLs, keys of known vendors."""

from __future__ import annotations

import re
from functools import cache

from gitmem.safety._finds import Found, compiled, matches
from gitmem.safety._likeness import placeholder, plausible, token_like
from gitmem.safety._token_shapes import PREFIXES, SHAPES, VENDORS

# --- Private keys: the whole block, or what there is of it.


def private_keys(text: str, found: Found) -> None:
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


# --- Tokens with a prefix. A token begins where no word runs on, so each run of letters is read once.


def prefixed(text: str, found: Found) -> None:
    long = found.long
    for prefix in [prefix for prefix in prefixes_of_tokens() if prefix in long]:
        kind, rest = prefixes_of_tokens()[prefix]
        for match in matches(text, prefix_pattern(prefix, rest)):
            group = "secret" if "(?P<secret>" in rest else 0
            if found.judge(plausible, match[group] if group else match[0][len(prefix) :]):
                found.add(kind, match.start(), *match.span(group))


@cache
def prefixes_of_tokens() -> dict[str, tuple[str, str]]:
    return {prefix: (kind, rest) for kind, prefixes, rest in PREFIXES for prefix in prefixes.split()}


@cache
def prefix_pattern(prefix: str, rest: str) -> re.Pattern[str]:
    """The prefix first, so that the engine searches for it; only then what must not stand before it."""
    escaped = re.escape(prefix)
    inner = "" if "/" in prefix else "".join(each for each in "./+" if each in rest)
    starts = rf"(?:(?<![\w{inner}-]{escaped})|(?<=\\[nrt]{escaped})|(?<=%[0-9A-F]{{2}}{escaped}))"
    return re.compile(rf"{escaped}{starts}{rest}(?<!\.)(?![A-Za-z0-9])")


# --- Tokens without a prefix: what is in the middle of them, or their whole layout, gives them away.


def shaped(text: str, found: Found) -> None:
    for kind, part, shape in SHAPES:
        # First only where it is likely to be: in runs without a space, which are few.
        if part in found.long and compiled(shape).search(found.long):
            for match in matches(text, compiled(shape)):
                if found.judge(plausible, match[0]):
                    found.add(kind, match.start(), *match.span())
    if "AKIA" in found.long:
        for match in matches(text, compiled(_AWS_PAIR)):
            if found.judge(plausible, match["secret"]):
                found.add("aws-secret-key", match.start(), *match.span("secret"))


_AWS_PAIR = r"AKIA[A-Z0-9]{16}[\"'\s:,;/|]{1,4}(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"


# --- URLs: `scheme://user:password@host`, and a long name that is no user's.


def in_urls(text: str, found: Found) -> None:
    if "://" in found.long:
        for match in matches(text, compiled(_URL)):
            name, password = match["name"], match["password"]
            if password is None:
                if len(name) >= 20 and plausible(name) and token_like(name):
                    found.add("url-token", match.start(), *match.span("name"))
            elif len(password) >= 4 and password != name and not found.judge(placeholder, password):
                found.add("url-password", match.start(), *match.span("password"))
    if ":thin:" in found.long:
        for match in matches(text, compiled(r":thin:\w{1,64}/(?P<password>[^\s/@]{4,128})@")):
            if not placeholder(match["password"]):
                found.add("url-password", match.start(), *match.span("password"))


_URL = r"://(?P<name>[^\s/?#@:\"'<>`\[\]]{0,200}+)(?::(?P<password>[^\s/\"'<>`]{3,200}))?@(?=[\w\[.-])"


# --- Vendors whose keys have no prefix: their name, and close behind it something of the right shape.


def of_vendors(text: str, found: Found) -> None:
    low = found.low
    vendors = [vendor for vendor in VENDORS if vendor in low]
    for match in matches(low, compiled(_BARE_KEY)) if vendors else ():
        before = low[max(0, match.start() - 60) : match.start()]
        at, vendor = max((before.rfind(vendor), vendor) for vendor in vendors)
        gap = before[at + len(vendor) :].replace("_", " ")
        token = text[match.start() : match.end()]
        if (
            at >= 0
            and "\n" not in gap
            and not compiled(_NO_KEY).search(gap)
            and found.judge(plausible, token)
            and found.judge(token_like, token)
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
