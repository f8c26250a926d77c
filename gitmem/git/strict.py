"""Commits and tags that somebody else made, checked as `git fsck --strict` does: the transport may not have."""

from __future__ import annotations

import re

from gitmem.errors import RefusedFetch
from gitmem.git.objects import Oid

_PERSON = rb"[^<>\n]* <[^<>\n]*> (?:0|[1-9][0-9]{0,18}) [+-][0-9]{4}\n"
_HEADS = {
    b"commit": re.compile(
        rb"tree [0-9a-f]{40}\n(?:parent [0-9a-f]{40}\n)*author " + _PERSON + rb"committer " + _PERSON
    ),
    b"tag": re.compile(
        rb"object [0-9a-f]{40}\ntype commit\ntag [^\n]+\n(?:tagger " + _PERSON + rb"|(?!tagger))"
    ),
}


def check_strictly(oid: Oid, kind: bytes, raw: bytes) -> None:
    """Nothing for a commit or tag that git would take; else RefusedFetch."""
    head = _HEADS.get(kind)
    if head is None:
        raise RefusedFetch(f"The remote sends a {kind.decode()} as {oid[:12]}, where a commit belongs.")
    if not head.match(raw) or b"\0" in raw or not (b"\n\n" in raw or raw.endswith(b"\n")):
        raise RefusedFetch(f"The remote sends a damaged {kind.decode()} ({oid[:12]}), which git refuses too.")
