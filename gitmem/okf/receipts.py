"""Receipts of what was erased for good, `config/erased.md`: when, by whom, why, and the ids of commits that are no more.

Nothing in a receipt is made from the text. A history that has any erased commit has one of the first, those that stood on
none: their ids are enough to know it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.plain import plain

What = Literal["text", "regex", "secret", "entry", "path", "session", "person"]
"""What a person asked to erase."""

MARKER = "(erased)"
"""Replaces an erased text. Plain in YAML, in markdown and in a name of git."""

_ID = re.compile("[0-9a-f]{12}")
_COMMIT = re.compile("[0-9a-f]{40}")
_LONGEST = 200
_MOST = 4096
"""Ids in one receipt: an erase with more of them writes several."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """That something was erased."""

    id: str
    what: What
    at: str
    by: str
    reason: str
    commits: int
    """How many commits were rewritten."""
    gone: tuple[str, ...]
    """The first commits that are no more, and the tags."""

    @classmethod
    def of(cls, item: object) -> Receipt | None:
        """The receipt that an item of the list is; None where it is none."""
        if not isinstance(item, Mapping):
            return None
        name, what, at, by, reason = (
            plain(str(item.get(key, "")))[:_LONGEST] for key in ("id", "what", "at", "by", "reason")
        )
        commits, gone = item.get("commits"), item.get("gone")
        if not (_ID.fullmatch(name) and what in get_args(What) and isinstance(commits, int)):
            return None
        if not isinstance(gone, list) or not all(_COMMIT.fullmatch(str(oid)) for oid in gone):
            return None
        return cls(name, what, at, by, reason, commits, tuple(map(str, gone)))  # type: ignore[arg-type]

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.what} erased on {self.at[:10]} by {self.by}{why}"


def new_receipts(
    what: What, commits: int, gone: Iterable[str], *, at: str, by: str, reason: str
) -> list[Receipt]:
    """The receipts of one erase."""
    ids = sorted(gone)
    parts = [ids[start : start + _MOST] for start in range(0, max(1, len(ids)), _MOST)]
    return [Receipt(secrets.token_hex(6), what, at, by, reason, commits, tuple(part)) for part in parts]


def receipts_in(data: bytes | None) -> list[Receipt]:
    """The receipts of `config/erased.md`, in their order; none where it cannot be read."""
    concept = Concept.parse_leniently(data)
    listed = concept.meta.get("receipts") if concept else None
    found = map(Receipt.of, listed) if isinstance(listed, list) else ()
    return [receipt for receipt in found if receipt is not None]


_BODY = """
What is listed above was erased from this memory and from its history, for good. A history that still has one of the commits
under `gone` is refused by every machine that erased it too.
"""


def with_receipts(data: bytes | None, receipts: Iterable[Receipt]) -> bytes:
    """The file with more receipts in it."""
    items = {one.id: {**asdict(one), "gone": list(one.gone)} for one in (*receipts_in(data), *receipts)}
    concept = Concept.new(layout.ERASURE_RECEIPTS, _BODY, title="What was erased")
    return concept.with_meta(receipts=list(items.values())).render()
