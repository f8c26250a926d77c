"""A bundle from opening to closing: made ready for what is to be done with it, and at the end all of it given back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

from gitmem.memory.bundle import Bundle

if TYPE_CHECKING:
    from gitmem.git.message import Message
    from gitmem.git.objects import Oid
    from gitmem.git.transaction import Published
    from gitmem.git.worktree import HandEdit
    from gitmem.memory.edits import Edits
    from gitmem.memory.origin import Origin
    from gitmem.notices import Notice

Purpose = Literal["as is", "look", "read", "write", "whole"]
"""What a memory is made ready for.

`as is`: nothing is done to it, damaged or not. `look`: it has a history, and nothing is changed. `read`: what a crash
left undone is finished first. `write`: and events of dead writers and hand edits are committed; a hand edit that
cannot be is left alone with a warning, because it must not stop an agent. `whole`: and the host's files are taken in,
and every hand edit is committed, or nothing happens.
"""


class OpenBundle(Bundle):
    """A bundle that is made ready, committed to through the gate, and closed."""

    _opened_at: Oid | None = None

    def prepare(self, purpose: Purpose) -> None:
        """Make the bundle ready for a purpose."""
        if purpose == "as is":
            return
        self.checked_out()  # whatever is asked next, whoever looks at other files than `main` has should know
        if purpose == "look":
            return
        self.finish_pending()
        if self._opened_at is None:
            self._opened_at = self.repository.tip()
        if purpose == "read":
            return
        self.recover_journals()
        if purpose == "whole":
            from gitmem.memory.mirror.links import before_change

            before_change(self)
        self.take_in_edits(strict=False)

    def close(self) -> list[Notice]:
        """Commit what waits, update a linked host's files, and give back what is held open; gives notices for its user.

        Whatever fails, all of it is tried. A bundle that is used again opens what it needs.
        """
        found: list[Notice] = []
        with contextlib.ExitStack() as steps:  # the last one first
            if self._opened_at is not None and self._opened_at != self.repository.tip():
                steps.callback(self.tidy_in_background)
            steps.callback(self.repository.store.close)
            steps.callback(lambda: found.extend(self.bring_host_along()))
            # What cannot be flushed waits in its journal for the next start.
            for close in (*self._closing, *(buffer.close for buffer in self.open_buffers())):
                steps.callback(close)
        return found

    def tidy_in_background(self, env: Mapping[str, str] | None = None) -> None:
        """Start housekeeping as a process of its own, where it is due; nobody waits for it."""
        from gitmem import background
        from gitmem.git.housekeeping import due

        if due(self.repository):
            background.start(self.root, "gc", "--auto", env=env or self.world.env)

    def bring_host_along(self) -> list[Notice]:
        """An agent that keeps files of its own must see what changed; its next session does."""
        if self._opened_at is None or self._opened_at == (tip := self.repository.tip()):
            return []
        from gitmem.memory.mirror.links import after_change

        self._opened_at = tip
        return after_change(self)

    def rest(self) -> None:
        """Give back the files that this thread reads: it is about to end, or the memory is not needed for now."""
        from gitmem.memory.indexing import Indexing

        if self.has_part(Indexing):
            self.part(Indexing).close()
        self.repository.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for notice in self.close():
            self.report(notice)

    # What waits

    def recover_journals(self) -> list[Notice]:
        """Commit what processes that died left in their journals; gives what there is to say about it."""
        if not self.has_journals:
            return []
        from gitmem.memory.capture.recovery import recover

        return recover(self)

    def take_in_edits(self, *, strict: bool, reason: str = "") -> list[Published]:
        """Commit every hand edit; one that cannot be committed stops it when `strict`."""
        from gitmem.memory.hand_edits import take_in_all

        return take_in_all(self, strict=strict, reason=reason)

    # What a commit asks

    def admitted_origin(self, origin: Origin) -> Origin:
        """The origin as it may be committed: a commit is for good, so no secret is in it."""
        from gitmem.memory.gate.admission import TRAILER, Admission, redacted_id, redacted_words

        def admitted(text: str) -> str:
            return Admission(self).note(text, TRAILER)

        return origin.redacted(admitted, redacted_words, redacted_id)

    def admitted_message(self, message: Message) -> Message:
        """Return what a commit says, without secrets."""
        from gitmem.memory.gate.admission import redacted_words

        return message.redacted(redacted_words)

    def lay_session(self, edits: Edits, message: Message, origin: Origin) -> Message:
        """Bring the page of the origin's session up to date in a commit; gives what the commit says.

        With it goes what these edits follow from: the entries that the session had before it, by their names.
        """
        derived = origin.derived_from
        if origin.session:
            from gitmem.memory.capture.sessions import Sessions
            from gitmem.memory.exposure import Exposure

            message = self.part(Sessions).lay(edits, message, origin.session)
            derived += self.part(Exposure).derived(origin.session, edits)
        return replace(message, trailers={"Derived-From": derived, **message.trailers})

    def session_is_laid(self, origin: Origin) -> None:
        """Take note that the page is committed."""
        if origin.session:
            from gitmem.memory.capture.sessions import Sessions
            from gitmem.memory.exposure import Exposure

            self.part(Sessions).is_laid(origin.session)
            self.part(Exposure).committed(origin.session)

    def commit_hand_edits(self, edits: Iterable[HandEdit]) -> None:
        """Commit hand edits that are in the way of a change; an unusable one stops it."""
        from gitmem.memory.hand_edits import take_in

        take_in(self, edits, strict=True)
