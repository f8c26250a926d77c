"""Sessions: when each began and ended, what it came from, and what it did."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from gitmem.errors import InvalidContent, UnknownRevision, UsageError
from gitmem.git.message import Message
from gitmem.memory.capture import recorder
from gitmem.memory.capture.session_page import SessionInfo, SessionOptions, SessionState, find_page
from gitmem.memory.edits import Edits, ListedFiles
from gitmem.memory.exposure import RECALLED, Exposure
from gitmem.memory.gate.admission import Admission, redacted_id
from gitmem.memory.origin import Origin, Trigger
from gitmem.okf import frontmatter, layout, paths
from gitmem.okf.concept import Concept
from gitmem.okf.events import Event, EventsFile
from gitmem.okf.pages import LogLine
from gitmem.state import SESSION

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.capture.buffer import HotMemoryBuffer


_NOTED = ("prompt_blocks", "title", "tokens", "status", "ended")
"""What a journal may say of a page."""


@dataclass(frozen=True)
class _Waiting:
    """Pending changes of a session's page, written by its next commit."""

    info: SessionInfo
    changes: Mapping[str, object] = field(default_factory=dict)
    lines: Mapping[str, LogLine] = field(default_factory=dict)
    ends: bool = False

    @cached_property
    def as_json(self) -> str:
        try:
            return json.dumps(dict(self.changes), ensure_ascii=False)
        except (TypeError, ValueError):  # a host's own value; the page takes it or refuses it
            return ""


class Sessions:
    """The sessions of one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting] = {}
        self._laid: dict[str, _Waiting] = {}
        self._begun: set[str] = set()

    # Reading

    def find(self, session: str) -> SessionState | None:
        """A session as its page says, with what waits for the page; None where nothing is known of it."""
        session = redacted_id(session)
        found = find_page(self._bundle.tree(), session)
        waiting = self._pending(session)
        if waiting is None:
            return found
        now = self._bundle.now()
        path = found.path if found else layout.session(session, waiting.info.started or now)
        concept = found.concept if found else recorder.session_concept(waiting.info, now)
        return SessionState(path, concept.with_meta(**waiting.changes))

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
                hint=f"Did you mean {', '.join(near)}?" if near else "List them with `gitmem log`.",
            )
        return found

    def all(self) -> list[SessionState]:
        """Every session, the newest first."""
        tree = self._bundle.tree()
        found = []
        for path in layout.session_pages(tree):
            with contextlib.suppress(InvalidContent):  # a broken one is `verify`'s business
                found.append(SessionState(path, Concept.parse(tree.read(path) or b"", path)))
        begun = {*self._waiting, self.open_id()} - {"", *(state.id for state in found)}
        found += filter(None, map(self.find, begun))
        return sorted(found, key=lambda state: (state.get("started"), state.id), reverse=True)

    def events(self, session: str) -> list[Event]:
        """All events of a session in order of time, then of writer."""
        return _events(self._bundle.tree(), self.get(session).path.removesuffix(".md"))

    # The open session of this machine

    def open_id(self) -> str:
        """The session that `session start` opened on this machine and that has not ended."""
        return str(self._bundle.state.read_json(SESSION).get("id", ""))

    def daily(self) -> SessionInfo:
        """The session that events without one belong to: one a day on each machine."""
        day, machine = f"{self._bundle.world.here():%Y-%m-%d}", self._bundle.config.machine or "localhost"
        return self._fresh(f"daily-{machine}-{day}", source="daily", title=f"{day} on {machine}")

    def _fresh(self, session: str, **known: str) -> SessionInfo:
        config = self._bundle.config
        return SessionInfo(session, agent=config.agent_id, machine=config.machine, **known)

    def info(self, session: str = "", **known: Unpack[SessionOptions]) -> SessionInfo:
        """Return what to record events under: the session named, the open one, or today's."""
        session = session or self.open_id()
        if not session:
            return self.daily()
        found = self.find(session)
        return replace(found.info if found else self._fresh(session), **known)

    # Writing

    def start(
        self, session: str = "", *, keep_open: bool = False, **known: Unpack[SessionOptions]
    ) -> SessionInfo:
        """Begin a session. Its page is part of its first commit: one that does nothing leaves nothing.

        The same id again resumes it; that is not a fork. `keep_open` makes it the session of the
        commands that follow on this machine.
        """
        if known.get("parent") == session:
            known["parent"] = ""
        said = {name: value for name, value in self._noted(known).items() if value}
        session = session or f"{self._bundle.world.clock():%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"
        info, now = self.info(session, **said), self._bundle.now()
        info = replace(info, started=info.started or now)
        changes = {**said, "status": "open", "ended": None}
        self.note(info, changes, line=self._line(info, "started", now), ends=False)
        self._begun.add(info.id)
        if keep_open:
            told = {name: value for name, value in asdict(info).items() if value}
            self._bundle.state.write_json(SESSION, {"id": info.id, "opening": told})
        return info

    def end(
        self,
        session: str = "",
        *,
        buffer: HotMemoryBuffer | None = None,
        trigger: Trigger = "session-end",
        **known: Any,
    ) -> Published | None:
        """Close a session: what waits, a closing line and counts are one commit; again it changes nothing."""
        session = redacted_id(session) or (buffer.session.id if buffer is not None else "") or self.open_id()
        if not session:
            raise UsageError("No session is open: name the one to end.")
        if buffer is not None and {event.session for event in buffer.waiting()} - {session}:
            buffer.flush(trigger)
        state = self.find(session)
        if state is not None and state.status == "closed":
            return buffer.flush(trigger).published if buffer is not None else None
        is_new = state is None and buffer is not None and len(buffer)
        info = buffer.session if is_new and buffer is not None else self.get(session).info
        now = self._bundle.now()
        self.note(info, {}, line=self._line(info, "started", info.started or now))
        changes = {"status": "closed", "ended": now, **self._noted(known)}
        self.note(info, changes, line=self._line(info, "ended", now), ends=True)
        published = buffer.flush(trigger).published if buffer is not None else None
        if session in self._waiting:
            published = self._bundle.commit(
                lambda _: Message("session", f"{session} ended"),
                purpose="session",
                origin=info.origin(self._bundle.config).because(trigger),
            )
        self._begun.discard(session)
        if self.open_id() == session:
            self._bundle.state.remove(SESSION)
        self.snapshot()
        return published

    def snapshot(self) -> None:
        """An automatic snapshot, where the settings want one and something changed since the last."""
        from gitmem.memory.snapshots import Snapshots

        if self._bundle.config.auto_snapshot:
            self._bundle.part(Snapshots).automatic()

    def annotate(self, session: str, changes: Mapping[str, object], *, origin: Origin | None = None) -> None:
        """Add what became known of a session: token counters, a title.

        In a session that was begun here it is part of the next commit, else it is one of its own.
        """
        info = self.get(session).info
        self.note(info, self._noted(changes))
        if info.id not in self._begun:
            self._bundle.commit(
                lambda _: Message("session", f"{session} noted"),
                purpose="session",
                origin=origin or info.origin(self._bundle.config),
            )

    def note_block(self, session: SessionInfo | str, *, commit: str, digest: str) -> None:
        """Remember which prompt block a session used; `trace` needs to know."""
        info = self.get(session).info if isinstance(session, str) else session
        self._bundle.part(Exposure).had_block(info.id, commit)
        used = {"commit": commit, "hash": digest}
        state = self.find(info.id)
        listed = state.concept.meta.get("prompt_blocks") if state is not None else None
        known = list(listed) if isinstance(listed, list) else []
        if used not in known:
            self.note(info, {"prompt_blocks": [*known, used]})

    # What the next commit of a session writes on its page

    def note(
        self,
        info: SessionInfo,
        changes: Mapping[str, object],
        *,
        line: LogLine | None = None,
        ends: bool | None = None,
    ) -> None:
        """Have the next commit of a session change its page, and make it where there is none."""
        for value in changes.values():
            frontmatter.dump_value(
                value
            )  # raises for this caller, and not at each commit that would write it
        with self._lock:
            before = self._pending(info.id) or _Waiting(info)
            lines = {**before.lines, line.id: line} if line is not None else before.lines
            over = before.ends if ends is None else ends
            self._waiting[info.id] = _Waiting(info, {**before.changes, **changes}, lines, over)

    def drop_notes(self, session: str) -> None:
        """Forget what waits for the page of a session that did nothing."""
        with self._lock:
            self._waiting.pop(session, None)

    def noted(self, session: str) -> str:
        """Return what waits for the page of a session, as JSON for the journal: it outlives this process with an event."""
        found = self._waiting.get(session)
        return found.as_json if found is not None else ""

    def note_again(self, info: SessionInfo, noted: str) -> None:
        """Take up what a journal says of the page of a session whose process died."""
        try:
            changes = json.loads(noted)
        except (ValueError, RecursionError):
            return
        if isinstance(changes, dict):
            self.note(info, self._noted({name: changes[name] for name in _NOTED if name in changes}))

    def lay(self, edits: Edits, message: Message, session: str) -> Message:
        """Bring the page of a commit's session up to date in the same commit; gives what the commit says."""
        found = self._pending(session)
        if found is None:
            return message
        self._laid[session] = found
        path = recorder.ensure_session(edits, found.info, self._bundle.now()) + ".md"
        changes = dict(found.changes)
        if found.ends:
            kinds = [event.kind for event in _events(edits, path.removesuffix(".md"))]
            changes["counts"] = dict(Counter(kind for kind in kinds if kind != RECALLED)) or None
        edits.write(path, Concept.parse(edits.read(path) or b"", path).with_meta(**changes).render())
        edits.log(found.lines.values())
        if not found.ends or message.kind == "session":
            return message
        return replace(message, what=f"{message.what}; session ended")

    def is_laid(self, session: str) -> None:
        """The commit is made: what it wrote on the page waits no more."""
        with self._lock:
            laid = self._laid.pop(session, None)
            if laid is not None and self._waiting.get(session) is laid:
                del self._waiting[session]
        if self._opening(session) is not None:
            self._bundle.state.write_json(SESSION, {"id": session})

    def _pending(self, session: str) -> _Waiting | None:
        """Return what waits for the page of a session, in this process or since the command `session start`."""
        return self._waiting.get(session) or self._opening(session)

    def _opening(self, session: str) -> _Waiting | None:
        state = self._bundle.state.read_json(SESSION)
        opening = state.get("opening")
        if state.get("id") != session or not isinstance(opening, dict):
            return None
        names = {column.name for column in fields(SessionInfo)} - {"id"}
        known = {name: value for name, value in opening.items() if name in names and isinstance(value, str)}
        info = SessionInfo(session, **known)
        line = self._line(info, "started", known.pop("started", ""))
        return _Waiting(info, {**known, "status": "open", "ended": None}, {line.id: line})

    def _line(self, info: SessionInfo, what: str, at: str) -> LogLine:
        return LogLine(at, "Session", f"{info.id} {what}", f"session:{paths.safe_name(f'{info.id} {what}')}")

    def _noted(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is said of a session, as it may be stored."""
        admission = Admission(self._bundle)
        return {
            name: admission.note(value) if isinstance(value, str) else value for name, value in known.items()
        }


def _events(files: ListedFiles, home: str) -> list[Event]:
    parts = [f"{home}/{name}" for name in sorted(files.names(home)) if name.endswith(".md")]
    found = [event for path in parts for event in EventsFile.parse(files.read(path) or b"", path).events]
    return sorted(found, key=lambda event: event.at)
