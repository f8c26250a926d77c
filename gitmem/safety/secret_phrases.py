"""Secrets by what is said about them: headers, logins, `password is …`, `api_key = …`."""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable

from gitmem.safety.secret_values import (
    SecretFinds,
    compiled,
    matches,
    mixed,
    password_like,
    placeholder,
    token_like,
)

# --- Headers and logins: a scheme says what follows.


def in_headers(text: str, found: SecretFinds) -> None:
    low = found.low
    for signs, kind, pattern, is_secret in _NAMED:
        if any(sign in low for sign in signs):
            for match in matches(low, compiled(pattern)):
                start, end = match.span("secret")
                if is_secret(text[start:end]) and match.groupdict().get("name") != match["secret"]:
                    found.add(kind, match.start(), start, end)
    if "cookie" in low or " -b " in low:
        _in_cookies(text, found)
    if "-p" in low or "-a " in low:
        for match in matches(low, compiled(_COMMAND)):
            end, quoted = _value(text, match.end(), match["quote"], found)
            if password_like(text[match.end() : end], False, quoted):
                found.add("password", match.start(), match.end(), end)


_HEADER = (
    r"(?:bearer(?<![a-z]bearer)[\s:]{1,4}|ssws(?<![a-z]ssws)[\s:]{1,4}"
    r"|authorization[\"'\]]{0,2}\s{0,4}[:=]\s{0,4}[\"']?(?:(?:token|apikey|api-key|key|ssws|bearer|sso-key)[\s=]{1,4})?)[\"'`<]?"
    r"(?=[^\s0-9]{0,99}+[0-9])(?P<secret>[a-z0-9._~+/-]{16,4000}={0,2})"
)
# `Cookie: a=b; c=d`, `Set-Cookie: a=b; Path=/`, `curl -b a=b`
_COOKIES = (
    r"(?:(?<![a-z])(?:set-)?cookies?[\"']?\s{0,2}[:=]\s{0,2}|--cookie[ =]|(?<=\s)-b )[\"']?(?=[\w.-]{1,64}=)"
)
_COOKIE = r"(?P<name>[\w.-]{1,64})=(?P<value>[^\s;,\"'`<>]{0,4096}+)[;,]?[ ]?"
_NETRC = (
    r"(?:machine\s{1,8}(?:localhost|[\w-]{1,63}\.[\w.-]{1,63})|(?<![^\n])default)\s{1,8}login\s{1,8}\S{1,100}\s{1,8}"
    r"(?:account\s{1,8}\S{1,64}\s{1,8})?password\s{1,8}(?P<secret>\S{4,128})"
)
_MAIL = r"[^@]+@[^@]*"
_BASIC = r"(?<![a-z])basic\s{1,4}(?P<secret>[a-z0-9+/_-]{8,400}={0,2})(?![\w+/])"
# `mysql -uroot -px`, `sshpass -p x`
_COMMAND = (
    r"(?:mysql\w{0,8} [^\n|;]{0,60}?-p|sshpass -p ?|docker login [^\n|;]{0,60}?-p "
    r"|redis-cli [^\n|;]{0,60}?-a )(?P<quote>[\"'])?(?=\S{6})"
)
_LOGIN_OPTION = (
    r"(?<=\s)(?:-u|--user)[\s=]{1,3}[\"']?(?P<name>[\w.@+-]{1,64}):(?!//)(?P<secret>[^\s\"'`]{6,128})"
)


def _in_cookies(text: str, found: SecretFinds) -> None:
    """Find the values in a line of cookies that say who is logged in; short ones are preferences."""
    position = 0
    while header := compiled(_COOKIES).search(found.low, position):
        position = header.end()
        while cookie := compiled(_COOKIE).match(text, position):
            position = cookie.end()
            if len(cookie["value"]) >= 16 and token_like(cookie["value"]):
                found.add("cookie", cookie.start(), *cookie.span("value"))


def _is_login(token: str) -> bool:
    """Return whether base64 encodes `name:password`."""
    try:
        login = a2b_base64(token.replace("-", "+").replace("_", "/") + "=" * (-len(token) % 4))
        _, colon, password = login.decode("ascii").partition(":")
    except (Base64Error, UnicodeDecodeError):
        return False
    return bool(colon) and password.isprintable() and not placeholder(password)


_NAMED: tuple[tuple[tuple[str, ...], str, str, Callable[[str], bool]], ...] = (
    (("bearer", "authorization", "ssws"), "auth-header", _HEADER, token_like),
    (("basic",), "basic-auth", _BASIC, _is_login),
    (
        ("login",),
        "password",
        _NETRC,
        lambda value: not (placeholder(value) or compiled(_MAIL).fullmatch(value)),
    ),
    (("-u",), "password", _LOGIN_OPTION, lambda value: not placeholder(value)),
)
"""Signs of a header or option, the kind of secret in it, its pattern, and whether a value is one."""


# --- Passwords and keys that someone speaks of: `password is …`, `api_key = …`, `"secret": "…"`.

# What each word speaks of is a password, or else by the word's first letters:
_KINDS = {"sec": "secret", "cre": "secret", "tok": "token"}
# The stems stand first, so that the engine can skip to them.
_WORD = r"""
    (?: pass(?:wor[dt]|wd|phrase|code|(?<![a-z]pass)(?=["'\])]{0,2}\s{0,2}[:=]))
      | pw(?<![a-z]pw)d?+(?![a-z]) | psk(?<![a-z]psk)(?![a-z]) | kennwort | contrase[nñ]a
      | c[oó]digo[ ]de[ ]acceso | mot[ ]de[ ]passe | code[ ]d['’]acc[eè]s
      | mdp(?<![a-z]mdp)(?=\s{0,2}(?:[:=]|est[ ]|du[ ]|pour[ ]))
      | senha | пароль | 密[码碼] | パスワード | 비밀번호
      | (?P<key>secret(?:[ _-]?key)?+ | credential | creds | token | key
          | schl(?:ü|ue)ssel
          | clave[ ](?:de[ ](?:la[ ])?)?api | clave[ ](?:secreta|privada)
          | clé[ ](?:d['’])?api | clé[ ](?:secrète|privée))
      | clave(?<![a-z]clave)(?<!palabra[ ]clave)(?<!palabras[ ]clave)
    )
"""
_STEMS = (
    *(
        "pass",
        "secret",
        "token",
        "key",
        "cred",
        "pw",
        "psk",
        "kennwort",
        "zugangscode",
        "contrase",
        "de acceso",
    ),
    *(
        "d'acc",
        "d’acc",
        "mdp",
        "senha",
        "schlüssel",
        "schluessel",
        "clave",
        "clé",
        "пароль",
        "密",
        "パスワード",
        "비밀번호",
    ),
)
# A key of these is kept secret, and any `something_key` unless it is one of the others.
_KEPT = (
    *("api", "access", "private", "signing", "encryption", "master", "license", "account", "auth", "service"),
    *("client", "admin", "app", "deploy", "session", "storage", "webhook", "subscription", "shared", "root"),
    *("personal", "security", "integration", "aes", "hmac", "wallet", "symmetric", "decryption"),
    *("zugangs", "geheim", "privater", "privaten"),
)
# A run of hexadecimal digits is a hash or a fingerprint unless the key before it is of these.
_RAW = ("private", "encryption", "decryption", "symmetric", "aes", "hmac", "wallet", "master")
_OPEN = (
    "public", "pub", "primary", "foreign", "cache", "sort", "partition", "idempotency", "unique", "natural",
    "row", "object", "map", "dict",
)  # fmt: skip
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
        [ \t]{0,6}+(?:=>|:=|→|={1,3}|:{1,2}|：|(?<=\s)\|(?=\s)|>(?!\s))(?:\*\*)?
        (?:[ \t]{0,3}[|>][0-9+-]{0,2}[ \t]{0,3}\r?\n[ \t]{1,40}+)?+ \s{0,8}+
      | [ \t]{1,3}+(?:is|was|are|equals|becomes|(?:(?:changed|set|reset|rotated|updated)[ ])?to
            |ist|lautet|heißt|heisst|(?:(?:wurde|geändert|zurückgesetzt|gesetzt)[ ])?auf
            |es|será|est|sera|(?:a[ ]été[ ])?changé[ ]en|a)
        (?:[ ](?:now|currently|still|just|simply|actually|only|always|jetzt|nun|aktuell|ahora|maintenant|désormais
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
    (?: [ ](?P<gap>for|of|on|at|in|from|to[ ](?:the|my|our)|used[ ]by
            |für|vom|von|zum|zur|des|der|im|del?|para|en|du|pour)[ ]
      | (?>{_STRONG} | (?P<weak>[ \t]{{1,3}}+)(?(key)(?=\S{{20}}))(?=[^\s0-9]{{0,40}}+[0-9]))
        {_OPENING} {_WORTH_A_LOOK} (?=(?P<run>{_RUN})?) )
"""
_RAW_KEY = r"(?:0x)?(?:[a-f0-9]{32}|[a-f0-9]{48}|[a-f0-9]{64})"
_BEHIND_GAP = f"(?x){_STRONG}{_OPENING}"
_GAP_END = r"[:=→：\n]|[ ](?=(?:is|was|to|ist|lautet|wurde|es|será|est|sera|a)[ ])"
_NO_END = ".,;:!?)]}>*|\\"  # what ends a sentence, or closes something, is not of the value
_QUOTES = {"“": "”", "‘": "’", "«": "»"}


def told(text: str, found: SecretFinds) -> None:
    low = found.low
    if any(stem in low for stem in _STEMS):
        position = 0
        search = compiled(_TOLD).search
        while match := search(low, position):
            start, end = _told_by(match, text, found)
            # Inside a long value nothing is said about another one.
            position = end if end - start >= 32 else match.start() + 1
        if any(verb in low for verb in (" is ", " as ", " ist ", " es ", " est ")):
            _told_backwards(text, found)
    if any(word in low for word in _PAIRED):
        for match in matches(low, compiled(_PAIR)):
            end, _ = _value(text, match.end(), None, found)
            if password_like(text[match.end() : end], False, False):
                found.add("password", match.start(), match.end(), end)
    if "phrase" in low or "mnemonic" in low:
        for match in matches(low, compiled(_SEED_PHRASE)):
            found.add("seed-phrase", match.start(), *match.span("words"))


def _told_by(match: re.Match[str], text: str, found: SecretFinds) -> tuple[int, int]:
    """Return the place of the value that the words in `match` speak of, a find if it looks like a secret."""
    key, suffix, gap, weak, quote, run = match.groups()
    begin, start = match.span()
    kind, kept = "password", True
    if key:
        kind = _KINDS.get(key[:3], "api-key")
        before = found.low[max(0, begin - 16) : begin]
        kept = not key.startswith(("key", "schl")) or _is_kept(before)
        if not kept and (weak or before.rstrip(" _-").endswith(_OPEN)):
            return 0, 0
    if suffix and not _ABOUT.isdisjoint(suffix.replace("-", "_").split("_")):
        return 0, 0
    if gap:  # `password for the staging server: …`
        end_of_gap = compiled(_GAP_END).search(found.low, start, start + 44)
        opening = end_of_gap and compiled(_BEHIND_GAP).match(found.low, end_of_gap.start())
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
        good = password_like(text[start:end], bool(weak), quoted)
    else:
        value = text[start:end]
        good = len(value) >= (20 if weak else 10 if kept else 32) and token_like(value)
        if good and (weak or not kept):  # little says that it is secret, so it must be no hash and no id
            good = any(map(mixed, compiled(r"[A-Za-z0-9]{12,}").findall(value))) or (
                key == "key"
                and before.rstrip(" _-").endswith(_RAW)
                and bool(compiled(_RAW_KEY).fullmatch(value))
            )
    if good:
        found.add(kind, begin, start, end)
    return start, end


def _is_kept(before: str) -> bool:
    """Return whether `key` after these words is a secret one."""
    what = before[:-1] if before[-1:] in ("_", "-", " ") else before
    return what.endswith(_KEPT) or (before[-1:] == "_" and what[-1:].isalnum() and not what.endswith(_OPEN))


def _value(text: str, start: int, quote: str | None, found: SecretFinds) -> tuple[int, bool]:
    """Return the end of the value that begins at `start`, and whether quotes mark it."""
    if quote:
        end = text.find(_QUOTES.get(quote, quote), start, start + 256)
        if end > start and "\n" not in text[start:end] and found.is_free(start, end):
            return end - (text[end - 1] == "\\"), True
    run = compiled(_RUN).match(text, start, start + 256)
    return start + (len(run[0].rstrip(_NO_END)) if run else 0), False


# `login: maria / hunter22!`
_PAIRED = ("creds", "credentials", "login", "zugangsdaten", "anmeldedaten", "credenciales", "identifiants")
_PAIR = (
    rf"(?:{'|'.join(_PAIRED)})s?"
    r"(?: (?:for|für|para|pour) [^\n:]{1,30})?(?: is| are| ?:)\s{1,3}"
    r"[\w.@+-]{1,64}(?: / |:| \| )(?=\S{6})"
)
_SEED_PHRASE = (
    r"(?:(?:seed|recovery|backup|secret) ?phrase|mnemonic)[^\n:]{0,30}?(?::| is| =)\s{1,3}[\"'`]?"
    r"(?P<words>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})(?![\w-])"
)


def _told_backwards(text: str, found: SecretFinds) -> None:
    """Find `hunter22! is the password`, `use hunter22! as the password`."""
    for match in matches(found.low, compiled(_TOLD_BACKWARDS)):
        before = text[max(0, match.start() - 100) : match.start()]
        chunk = before.rsplit(None, 1)[-1] if before and not before[-1].isspace() else ""
        value = chunk.strip("\"'`“”‘’*(),")
        start = match.start() - len(chunk) + chunk.find(value)
        if 8 <= len(value) <= len(chunk) < 100 and password_like(value, False, False):
            found.add("password", start, start, start + len(value))


_TOLD_BACKWARDS = (
    r" (?:is|as|ist|es|est) (?:(?:the|my|our|your|his|her|their|its|a|das|mein|unser|la|mi|le|mon|notre) )?"
    r"(?:[a-z0-9'-]{1,16} ){0,3}?"
    r"(?:password|passphrase|passcode|api key|secret key|access key|passwort|kennwort|contraseña|mot de passe)(?![\w-])"
)
