"""Finds secrets in text: keys and tokens by their shape, passwords by what is said about them.

One detector for three uses: to redact before anything is written down, to refuse at a commit, to gate a
push. Tokens with a prefix of their own are looked for by that prefix (`_tokens`); the rest by a word in front
of them (`password is`, `api_key =`, `Authorization:`: `_spoken`) and by how random they look (`_likeness`).
Hashes, UUIDs, placeholders, public keys and references to variables are not secrets.
"""

from __future__ import annotations

from gitmem.safety._finds import Found, Secret, compiled
from gitmem.safety._money import cards, seed_phrases
from gitmem.safety._spoken import in_headers, told
from gitmem.safety._tokens import in_urls, of_vendors, prefixed, private_keys, shaped

__all__ = ["Secret", "find", "redact"]


def find(text: str) -> list[Secret]:
    """The secrets in `text`, in order and apart."""
    found = Found(text)
    if "PRIVATE KEY" in text:
        private_keys(text, found)
    if found.longest >= 32:
        shaped(text, found)
    if found.long:
        prefixed(text, found)
        in_urls(text, found)
    if found.longest >= 32:
        of_vendors(text, found)
    in_headers(text, found)
    told(text, found)
    cards(text, found)
    seed_phrases(found)
    return sorted(found.secrets, key=lambda secret: secret.start) if found.secrets else []


def redact(text: str) -> str:
    """`text` with each secret replaced by its kind and last four characters: `[redacted jwt …1a2b]`.

    Of a password, and of any secret under 24 characters but a card's number, nothing is kept: four would give away
    too much of it. What is redacted already stays as it is.
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


def _marker(kind: str, secret: str) -> str:
    if kind in _BLOCKS:
        secret = compiled(BLOCK_END).sub("", secret)
    tail = "".join(each if each.isalnum() or each in "_-+/=.~" else "*" for each in secret[-4:])
    shown = kind == "payment-card" or (kind not in _HIDDEN and len(secret) >= 24)
    return f"[redacted {kind} …{tail}]" if shown else f"[redacted {kind}]"


_HIDDEN = ("password", "seed-phrase")
_BLOCKS = ("private-key", "pgp-private-key")
BLOCK_END = r"[\s\\=]*+(?:-----END[^-]*+-----\s*+)?$"
