"""Many changes in a row as one: what a whole session did, whatever it did on the way."""

from __future__ import annotations

from collections.abc import Iterable

from gitmem.okf.entries import CONCEPT, Change, EntryKey, Op


def fold(changes: Iterable[Change]) -> list[Change]:
    """Many changes in a row as one: what came and went again is not told, a chain shows its two ends."""
    net: dict[tuple[str, EntryKey], Change] = {}
    for change in changes:
        _fold_one(net, change)
    return list(net.values())


def _fold_one(net: dict[tuple[str, EntryKey], Change], change: Change) -> None:
    old, new = change.old, change.new
    whole = net.get((change.path, CONCEPT))
    if change.key.space in ("meta", "body") and whole is not None and whole.op == "add":
        return  # part of a concept that came in this very stretch
    before = net.pop((change.from_path or change.path, old.key), None) if old is not None else None
    first = before.old if before is not None else old
    if before is None and new is not None:
        gone = net.get((change.path, new.key))
        if gone is not None and gone.new is None:  # it left earlier, and is back
            del net[change.path, new.key]
            if old is None:
                if gone.old is not None and gone.old.text != new.text:
                    net[change.path, new.key] = Change(
                        change.path, "change", gone.old, new, title=change.title
                    )
                return
    if first is None and new is None:
        return
    if first is not None and new is not None and first.key == new.key and first.text == new.text:
        if change.op == "move" and (before is None or before.path != change.path):
            net[change.path, new.key] = change
        return
    subject = new if new is not None else first
    assert subject is not None
    op: Op = "add" if first is None else "remove" if new is None else "change"
    net[change.path, subject.key] = Change(change.path, op, first, new, title=change.title)
