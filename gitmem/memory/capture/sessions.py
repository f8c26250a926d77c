"""Sessions: when each began and ended, what it came from, and what it did."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import InvalidContent, UnknownRevision, UsageError
from gitmem.git.message import Message
from gitmem.memory.capture import recorder
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.recorder import SessionInfo
from gitmem.memory.capture.session_page import SessionState, find_page
from gitmem.memory.edits import Edits
from gitmem.memory.exposure import RECALLED, Exposure
from gitmem.memory.gate.admission import Admission, redacted_id
from gitmem.memory.origin import Origin, Trigger, origin_of
from gitmem.okf import layout, paths
from gitmem.okf.concept import Concept
from gitmem.okf.events import Event, EventsFile
from gitmem.okf.pages import LogLine
from gitmem.state import SESSION

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.memory.bundle import Bundle


class Sessions:
    """The sessions of one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    # Reading

    def find(self, session: str) -> SessionState | None:
        return find_page(self._bundle.tree(), session)

    def meant(self, typed: str) -> str:
        """The id of the session that a reader names, maybe by a beginning of it; who writes names it in full."""
        from gitmem.memory.ids import session_meant

        return session_meant(self._bundle.tree(), typed) if typed else ""

    def get(self, session: str) -> SessionState:
        """A session by id; the error names the nearest ones."""
        found = self.find(session)
        if found is None:
            import difflib

            near = difflib.get_close_matches(session, [state.id for state in self.all()], n=3, cutoff=0.4)
            raise UnknownRevision(
                f"There is no session {session!r}.",
                hint=f"Did you mean {', '.join(near)}?" if near else "List them with `gitmem session list`.",
            )
        return found

    def all(self) -> list[SessionState]:
        """Every session, the newest first."""
        tree = self._bundle.tree()
        found = []
        for path in layout.session_pages(tree):
            with contextlib.suppress(InvalidContent):  # a broken one is `verify`'s business
                found.append(SessionState(path, Concept.parse(tree.read(path) or b"", path)))
        return sorted(found, key=lambda state: (state.get("started"), state.id), reverse=True)

    def events(self, session: str) -> list[Event]:
        """All events of a session in order of time, then of writer."""
        state = self.get(session)
        tree = self._bundle.tree()
        home = state.path.removesuffix(".md")
        found: list[Event] = []
        for name in sorted(tree.names(home)):
            if name.endswith(".md"):
                found += EventsFile.parse(tree.read(f"{home}/{name}") or b"", f"{home}/{name}").events
        return sorted(found, key=lambda event: event.at)

    # The open session of this machine

    def open_id(self) -> str:
        """The session that `session start` opened on this machine and nobody has ended."""
        return str(self._bundle.state.read_json(SESSION).get("id", ""))

    def daily(self) -> SessionInfo:
        """The session that events without one belong to: one a day on each machine."""
        config = self._bundle.config
        now = self._bundle.world.here()
        machine = config.machine or "localhost"
        return SessionInfo(
            f"daily-{machine}-{now:%Y-%m-%d}",
            agent=config.agent_id,
            machine=config.machine,
            source="daily",
            title=f"{now:%Y-%m-%d} on {machine}",
        )

    def info(self, session: str = "", **known: str) -> SessionInfo:
        """What to record events under: the session named, the open one, or today's."""
        session = session or self.open_id()
        if not session:
            return self.daily()
        found = self.find(session)
        base = (
            found.info
            if found
            else SessionInfo(session, agent=self._bundle.config.agent_id, machine=self._bundle.config.machine)
        )
        return replace(base, **{name: value for name, value in known.items() if value})

    # Writing

    def start(self, session: str = "", *, keep_open: bool = False, **known: str) -> SessionInfo:
        """Begin a session: its concept and a line in the log, in one commit.

        The same id again resumes it; that is not a fork. `keep_open` makes it the session of the
        commands that follow on this machine.
        """
        if known.get("parent") == session:
            known = {**known, "parent": ""}
        known = self._noted(known)
        session = session or self._fresh_id()
        info = self.info(session, **known)
        now = self._bundle.now()
        if not info.started:
            info = replace(info, started=now)
        told = {name: value for name, value in known.items() if value}
        changes = {**told, "status": "open", "ended": None}
        self._write(info, changes, f"{info.id} started", now, origin_of(self._bundle.config, info))
        if keep_open:
            self._bundle.state.write_json(SESSION, {"id": info.id})
        return info

    def end(
        self,
        session: str = "",
        *,
        buffer: HotMemoryBuffer | None = None,
        trigger: Trigger = "session-end",
        **known: Any,
    ) -> Published | None:
        """Close a session: flush what waits, a closing line, counts; again it changes nothing."""
        session = redacted_id(session) or (buffer.session.id if buffer is not None else "") or self.open_id()
        if not session:
            raise UsageError("No session is open: name the one to end.")
        if buffer is not None:
            buffer.flush(trigger)
        state = self.get(session)
        if self.open_id() == session:
            self._bundle.state.remove(SESSION)
        if state.status == "closed":
            return None
        now = self._bundle.now()
        counts: dict[str, int] = {}
        for event in self.events(session):
            if event.kind == RECALLED:
                continue
            counts[event.kind] = counts.get(event.kind, 0) + 1
        changes = {"status": "closed", "ended": now, "counts": counts or None, **self._noted(known)}
        origin = origin_of(self._bundle.config, state.info).because(trigger)
        published = self._write(state.info, changes, f"{session} ended", now, origin)
        self.snapshot(state.info, "session end")
        return published

    def snapshot(self, info: SessionInfo, reason: str) -> None:
        """An automatic snapshot, where the settings want one and something changed since the last."""
        from gitmem.memory.snapshots import Snapshots

        if self._bundle.config.auto_snapshot:
            self._bundle.part(Snapshots).automatic(origin=origin_of(self._bundle.config, info), reason=reason)

    def annotate(self, session: str, changes: Mapping[str, object], *, origin: Origin | None = None) -> None:
        """Add what became known of a session: token counters, a title, the prompt block it used."""
        state = self.get(session)
        changes = self._noted(changes)

        def work(edits: Edits) -> Message | None:
            data = edits.read(state.path)
            if data is None:
                return None
            edits.write(state.path, Concept.parse(data, state.path).with_meta(**changes).render())
            return Message("session", f"{session} noted")

        self._bundle.commit(
            work, purpose="session", origin=origin or origin_of(self._bundle.config, state.info)
        )

    def note_block(self, session: str, *, commit: str, digest: str) -> None:
        """Remember which prompt block a session used; `trace` needs to know."""
        self._bundle.part(Exposure).had_block(session, commit)
        used = {"commit": commit, "hash": digest}
        listed = self.get(session).concept.meta.get("prompt_blocks")
        known = list(listed) if isinstance(listed, list) else []
        if used not in known:
            self.annotate(session, {"prompt_blocks": [*known, used]})

    def _noted(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """What is said of a session, as it may be stored."""
        admission = Admission(self._bundle)
        return {
            name: admission.note(value) if isinstance(value, str) else value for name, value in known.items()
        }

    def _write(
        self, info: SessionInfo, changes: Mapping[str, object], line: str, at: str, origin: Origin
    ) -> Published | None:
        def work(edits: Edits) -> Message | None:
            path = recorder.ensure_session(edits, info, at) + ".md"
            old = edits.read(path) or b""
            new = Concept.parse(old, path).with_meta(**changes).render()
            edits.write(path, new)
            edits.log([LogLine(at, "Session", line, f"session:{paths.safe_name(line)}")])
            edits.want_log()
            return Message("session", line)

        return self._bundle.commit(work, purpose="session", origin=origin)

    def _fresh_id(self) -> str:
        import uuid

        return f"{self._bundle.world.clock():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
