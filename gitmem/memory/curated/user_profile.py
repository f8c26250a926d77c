"""The user's profile by day: each fact about the user, as it was learned. Appended to, never overwritten.

What holds now is in USER.md; a page of the profile says what was learned when, also after it was replaced there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import UsageError
from gitmem.git.message import Message
from gitmem.memory.gate.admission import Admission, Held
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.pages import LogLine

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.memory.provenance import Origin


@dataclass(frozen=True, slots=True)
class Profiled:
    """What became of a fact about the user: its commit, or the ids under which it is held for a person."""

    published: Published | None
    held: tuple[str, ...] = ()


def add_user_profile(bundle: Bundle, text: str, *, origin: Origin, by_person: bool = False) -> Profiled:
    """A fact about the user, written at once: never buffered, never over an earlier one of that day.

    It is admitted as in the curated store: blocked, held, or in.
    """
    if not bundle.config.user_profile_enabled:
        raise UsageError("The store 'user' is switched off in the settings.")
    now = bundle.now()
    held: list[str] = []

    def work(edits: Edits) -> Message | None:
        held.clear()
        admission = Admission(bundle, edits, origin=origin, by_person=by_person)
        answer = admission.entry(text, layout.user_profile(now))
        if isinstance(answer, Held):
            held.append(answer.id)
            return None
        if not add_to_profile(edits, {answer.text: answer.marks}, now):
            return None
        edits.log([LogLine(now, "UserProfile", answer.text, f"profile:{now}")])
        edits.want_log()
        return Message("memory", f"user profile: {answer.text}")

    published = bundle.commit(work, purpose="user profile", origin=origin)
    return Profiled(published, tuple(held))


def add_to_profile(edits: Edits, facts: Mapping[str, Mapping[str, str]], at: str) -> bool:
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
