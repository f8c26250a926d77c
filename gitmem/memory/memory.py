"""The memory of an agent: the product's nouns and verbs over one bundle."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from gitmem.memory.bundle import Bundle

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.git.worktree import HandEdit
    from gitmem.memory.capture.sessions import Sessions
    from gitmem.memory.curated.store import CuratedStore
    from gitmem.memory.distill.facts import Distiller
    from gitmem.memory.find.index import Indexing
    from gitmem.memory.find.recall import Recall
    from gitmem.memory.find.search import Search
    from gitmem.memory.gate.quarantine import Quarantine
    from gitmem.memory.history.log import History
    from gitmem.memory.history.revert import Undo
    from gitmem.memory.open_buffers import Flush
    from gitmem.memory.plans import Plans
    from gitmem.memory.provenance import Origin, Trigger
    from gitmem.memory.session import Session
    from gitmem.memory.snapshots import Snapshots
    from gitmem.notices import Notice

# Each room is imported when it is first asked for: start-up is a feature.


class Memory(Bundle):
    """One agent's memory."""

    # Nouns

    @property
    def curated(self) -> CuratedStore:
        from gitmem.memory.curated.store import CuratedStore

        return self.part(CuratedStore)

    @property
    def sessions(self) -> Sessions:
        from gitmem.memory.capture.sessions import Sessions

        return self.part(Sessions)

    @property
    def plans(self) -> Plans:
        from gitmem.memory.plans import Plans

        return self.part(Plans)

    @property
    def snapshots(self) -> Snapshots:
        from gitmem.memory.snapshots import Snapshots

        return self.part(Snapshots)

    @property
    def quarantine(self) -> Quarantine:
        from gitmem.memory.gate.quarantine import Quarantine

        return self.part(Quarantine)

    @property
    def index(self) -> Indexing:
        from gitmem.memory.find.index import Indexing

        return self.part(Indexing)

    @property
    def history(self) -> History:
        from gitmem.memory.history.log import History

        return self.part(History)

    @property
    def search(self) -> Search:
        from gitmem.memory.find.search import Search

        return self.part(Search)

    @property
    def recall(self) -> Recall:
        from gitmem.memory.find.recall import Recall

        return self.part(Recall)

    @property
    def undo(self) -> Undo:
        from gitmem.memory.history.revert import Undo

        return self.part(Undo)

    @property
    def distiller(self) -> Distiller:
        """What takes facts out of a conversation: the rules, or the endpoint that the settings name."""
        from gitmem.memory.distill.compression import make_distiller

        return self.part(make_distiller)

    def session(self, session: str = "", **known: str) -> AbstractContextManager[Session]:
        """A session to record in, as a context manager; leaving it ends the session."""
        from gitmem.memory.session import open_session

        return open_session(self, session, **known)

    # Recording without a session of one's own: written through at once

    def record_observation(self, content: str, category: str = "Observation", *, session: str = "") -> str:
        return self.record_event("observation", session=session, content=content, category=category)

    def record_decision(
        self, decision: str, rationale: str = "", tags: Iterable[str] = (), *, session: str = ""
    ) -> str:
        return self.record_event(
            "decision", session=session, decision=decision, rationale=rationale, tags=list(tags)
        )

    def record_tool_call(
        self, tool_name: str, args: object = None, result: str = "", *, session: str = ""
    ) -> str:
        return self.record_event("tool_call", session=session, tool_name=tool_name, args=args, result=result)

    def record_turn(self, user: str, assistant: str, *, session: str = "") -> str:
        return self.record_event("turn", session=session, user=user, assistant=assistant)

    def record_event(self, kind: str, *, session: str = "", **fields: object) -> str:
        """One event, committed before this returns; without a session it goes to today's. Gives its id.

        Nothing is recorded, and an empty id given, for a kind that the settings leave out.
        """
        from gitmem.memory.capture.recording import Recording

        return self.part(Recording).record(kind, session, fields)

    def register_tool(self, name: str, description: str = "", schema: object = None) -> str:
        """Make a tool known before its first use; gives the path of its concept."""
        from gitmem.memory.capture.recording import Recording

        return self.part(Recording).register_tool(name, description, schema)

    def flush_buffers(self, trigger: Trigger = "explicit") -> list[Flush]:
        """Commit what waits in the open buffers of this process, as every snapshot and restore does first."""
        from gitmem.memory.open_buffers import OpenBuffers

        return self.part(OpenBuffers).flush(trigger)

    def recover_journals(self) -> list[Notice]:
        """Commit what processes that died left in their journals; gives what there is to say about it."""
        from gitmem.memory.capture.recovery import has_journals

        if not has_journals(self):
            return []
        from gitmem.memory.capture.recovery import recover

        return recover(self)

    def nudge(self, turn: int) -> str:
        """The memory nudge for the turn of that number (from 1), where one is due; else nothing."""
        from gitmem.memory.distill.nudge import NUDGE, nudge_due

        return NUDGE if nudge_due(turn, self.config.nudge_interval) else ""

    def read_log(self) -> str:
        """The text of log.md."""
        from gitmem.okf import layout

        return (self.read(layout.LOG) or b"").decode("utf-8", "replace")

    # What a commit asks of the gate

    def admit_origin(self, origin: Origin) -> Origin:
        from gitmem.memory.gate.admission import redacted

        return origin.redacted(redacted)

    def take_in(self, edits: Iterable[HandEdit]) -> None:
        from gitmem.memory.hand_edits import take_in

        take_in(self, edits, strict=True)

    def take_in_edits(self, *, strict: bool, reason: str = "") -> list[Published]:
        from gitmem.memory.hand_edits import take_in_all

        return take_in_all(self, strict=strict, reason=reason)
