"""The user's profile by day: each fact about the user, as it was learned. Appended to, never overwritten.

What holds now is in USER.md; a page of the profile says what was learned when, also after it was replaced there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile

if TYPE_CHECKING:
    from gitmem.memory.edits import Edits


def add_to_profile(edits: Edits, facts: Mapping[str, Mapping[str, Any]], at: str) -> bool:
    """Append facts, each with its marks, to the page of their day; False where it has all of them."""
    path = layout.user_profile(at)
    data = edits.read(path)
    if data is not None:
        file = CuratedFile.parse(data, path)
    else:
        title = f"User profile, {layout.day(at)}"
        file = CuratedFile.new(layout.USER_PROFILE, title, tags=["user", "profile"])
    grown = file
    for text, marks in facts.items():
        grown = grown.add(text, grown.next_at(at), **marks)
    if grown == file:
        return False
    edits.write(path, grown.render())
    return True
