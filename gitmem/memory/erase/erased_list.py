"""This machine's own list of erased commits: a history that has one of them enters by no way, and does not leave.

Receipts that arrive in a tree are text. A line is added by an erase here, by a person who accepts one of another machine,
and by a clone, whose history lacks the commits already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gitmem.state import ERASED

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.okf.receipts import Receipt
    from gitmem.state import LocalState


def erased_commits(state: LocalState) -> dict[Oid, str]:
    """Each commit on the list, with a few words about its erase."""
    found: dict[Oid, str] = {}
    for line in state.read_text(ERASED).splitlines():
        oid, receipt, at, by = (*line.split(" ", 3), "", "", "")[:4]
        found[oid] = f"erased on {at[:10]} by {by} (receipt {receipt})"
    return found


def erasures_known(state: LocalState) -> set[str]:
    """The receipts whose commits are on the list."""
    return {line.split(" ")[1] for line in state.read_text(ERASED).splitlines() if line.count(" ") > 1}


def lines_of(receipts: Iterable[Receipt]) -> str:
    """Lines of the list for some receipts."""
    return "".join(f"{oid} {one.id} {one.at} {one.by}\n" for one in receipts for oid in one.gone)


def note_erased(state: LocalState, receipts: Iterable[Receipt]) -> None:
    """Put the commits of some receipts on the list."""
    known = erasures_known(state)
    lines = lines_of(one for one in receipts if one.id not in known)
    if lines:
        state.write_text(ERASED, state.read_text(ERASED) + lines, durable=True)


def forget_erasure(state: LocalState, receipt: str) -> int:
    """Take the commits of a receipt from the list; gives how many."""
    lines = state.read_text(ERASED).splitlines(keepends=True)
    kept = [line for line in lines if line.split(" ")[1:2] != [receipt]]
    if len(kept) < len(lines):
        state.write_text(ERASED, "".join(kept), durable=True)
    return len(lines) - len(kept)
