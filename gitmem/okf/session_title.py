"""What a session is called: the host's title, else the first thing that the user said."""

from __future__ import annotations

from collections.abc import Iterable

from gitmem.errors import InvalidContent
from gitmem.okf.concept import Concept
from gitmem.okf.events import EventsFile


def given_title(page: Concept, session: str) -> str:
    """The title on a session's page; empty for the one that gitmem writes for want of another."""
    return "" if page.title == f"Session {session}" else page.title


def first_words(parts: Iterable[bytes]) -> str:
    """What the user said first in the parts of a session, on one line; empty where nothing is on record."""
    turns = []
    for part in parts:
        try:
            events = EventsFile.parse(part).events
        except InvalidContent:  # a broken one is `verify`'s business
            continue
        turns += [
            (event.at, said)
            for event in events
            if event.kind == "turn" and (said := event.fields.get("user"))
        ]
    return " ".join(min(turns)[1].split()) if turns else ""
