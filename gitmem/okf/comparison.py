"""Differences between two versions: of files in entries, of a text in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import Literal

from gitmem.okf.entries import CONCEPT, Change, Entry, EntryKey, Op
from gitmem.okf.files import EntryFile, open_file


def compare(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> list[Change]:
    """Return the changes between two sides of the touched files, by path and then in file order.

    - A § entry whose `replaces` names one that left the same file is one "change".
    - A § entry or event that left one file and is in another is one "move", at the new path.
    - A concept file that came or went is one "add" or "remove" of the entry ("concept", ""); with equal bytes
      at another path it is a "move".
    - In a concept that stays, each front matter key and the body is a change of its own; so is the front matter of
      § files and events, without the list of entries. `at` alone is not a change.
    """
    changes: list[Change] = []
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        changes += _compare_file(path, open_file(path, before), open_file(path, after))
    return _with_moves(changes)


def _compare_file(path: str, old: EntryFile, new: EntryFile) -> list[Change]:
    if old.kind == new.kind:
        return _compare_parts(path, old, new)
    gone = [Change(path, "remove", entry, None) for entry in old.units.values()]
    return gone + [Change(path, "add", None, entry) for entry in new.units.values()]


def _compare_parts(path: str, old: EntryFile, new: EntryFile) -> list[Change]:
    before, after = old.differing(new), new.differing(old)
    removed = {key: entry for key, entry in before.items() if key not in after}
    title = new.concept.title if new.kind == "concept" and new.concept is not None else ""
    changes: list[Change] = []
    for key, entry in after.items():
        was = before.get(key)
        if was is not None:
            # The text of a § entry is its identity, so another Unicode form of it is not a change.
            if key.space != "§" and _content(was) != _content(entry):
                changes.append(Change(path, "change", was, entry, title=title))
            continue
        replaced = removed.pop(EntryKey("§", entry.replaces), None) if key.space == "§" else None
        op: Op = "add" if replaced is None else "change"
        changes.append(Change(path, op, replaced, entry, title=title))
    return [Change(path, "remove", entry, None, title=title) for entry in removed.values()] + changes


def _content(entry: Entry) -> tuple[str, str]:
    return entry.text, entry.kind


def _with_moves(changes: list[Change]) -> list[Change]:
    """The changes with each matching "remove" and "add" of two files as one "move"."""
    marks = [_moving(change) for change in changes]
    gone: dict[EntryKey | bytes, list[int]] = {}
    for number, (change, mark) in enumerate(zip(changes, marks, strict=True)):
        if change.op == "remove" and mark is not None:
            gone.setdefault(mark, []).append(number)
    result: list[Change | None] = [*changes]
    for number, (change, mark) in enumerate(zip(changes, marks, strict=True)):
        if change.op != "add" or mark is None:
            continue
        # One file never both loses and gains the same key, so the two halves are of two files.
        if gone.get(mark):
            source = gone[mark].pop(0)
            left = changes[source]
            result[source] = None
            result[number] = Change(change.path, "move", left.old, change.new, left.path)
    return [change for change in result if change is not None]


def _moving(change: Change) -> EntryKey | bytes | None:
    """Return the key that joins the two halves of a move; None for a change that cannot be one."""
    entry = change.new or change.old
    if change.op not in ("add", "remove") or entry is None:
        return None
    if entry.key == CONCEPT:
        return entry.source
    return entry.key if entry.key.space in ("§", "event") else None


# --- showing --------------------------------------------------------------------------------------

Mark = Literal[" ", "-", "+"]

_WORD = re.compile(r"\s*\S+|\s+\Z")
# The product of the word counts that are compared word by word; beyond it the matcher could take seconds.
MAX_WORD_PAIRS = 160_000


def words(old: str, new: str) -> list[tuple[Mark, str]]:
    """The difference word by word: what stays (" "), goes ("-") and is new ("+").

    The pieces of a side, joined, are its text. Texts that differ in too many words are shown as one replaced
    by the other.
    """
    before, after = _WORD.findall(old), _WORD.findall(new)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    told: list[tuple[Mark, str]] = [(" ", "".join(before[:start]))]
    if len(left) * len(right) > MAX_WORD_PAIRS:
        told += [("-", "".join(left)), ("+", "".join(right))]
    else:
        for op, i, k, m, n in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
            if op == "equal":
                told.append((" ", "".join(left[i:k])))
            else:
                told += [("-", "".join(left[i:k])), ("+", "".join(right[m:n]))]
    told.append((" ", "".join(before[len(before) - end :])))
    return _joined(piece for piece in told if piece[1])


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for count, (a, b) in enumerate(zip(one, other, strict=False), start=1):
        if a != b:
            return count - 1
    return count


def _joined(pieces: Iterable[tuple[Mark, str]]) -> list[tuple[Mark, str]]:
    joined: list[tuple[Mark, str]] = []
    for mark, text in pieces:
        if joined and joined[-1][0] == mark:
            joined[-1] = (mark, joined[-1][1] + text)
        else:
            joined.append((mark, text))
    return joined


def fold(changes: Iterable[Change]) -> list[Change]:
    """Many changes in a row as one: what was added and removed again is left out, a chain shows its two ends."""
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
