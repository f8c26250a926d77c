"""Texts as a caller gets them: nothing in them acts on a terminal or breaks a line unseen."""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib import import_module
from itertools import islice

_CONTROL = re.compile(r"\r\n?|[\x00-\x08\x0b-\x1f]")


def plain(text: str) -> str:
    """The text without control characters but line feed and tab.

    A carriage return becomes a line feed, what else is white space a space; any other is shown as its picture (␛).
    """
    return _CONTROL.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    found = match[0]
    if found[0] == "\r":
        return "\n"
    return " " if found.isspace() else chr(0x2400 + ord(found))


def cut(text: str, length: int) -> str:
    """The text with at most `length` characters, the last one an ellipsis where some are left out."""
    return text if len(text) <= length else text[: length - 1] + "…"


def shortened(text: str, length: int = 100) -> str:
    """The text on one line, cut where it is long."""
    return cut(" ".join(text.split()), length)


def few(names: Collection[str], most: int = 3) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(islice(names, most)) + more


class Printed:
    """A result whose `str` is what the command line prints of it; that is loaded when it is asked for."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(import_module("gitmem.cli.render.printed").text_of(self))


def brief(result: object, **facts: object) -> str:
    """A `repr` on one line: the facts that are there."""
    told = "".join(f" {name}={value}" for name, value in facts.items() if value != "")
    return f"<{type(result).__name__}{told}>"
