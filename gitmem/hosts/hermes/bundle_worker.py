"""What a provider does with its bundle. Any thread takes in events; the rest is the worker's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError, UnknownRevision
from gitmem.hosts.hermes import write_notices as board
from gitmem.hosts.hermes.home import Home
from gitmem.hosts.hermes.host_link import link
from gitmem.hosts.hermes.memory_files import Compared, HostFiles
from gitmem.hosts.hermes.skill_files import SkillFiles
from gitmem.hosts.hermes.write_notices import Notices
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.recorder import SessionInfo
from gitmem.notices import Notice
from gitmem.state import HOST_LAST_SESSION

if TYPE_CHECKING:
    from gitmem.memory.distill.compression import Compressed, Compressor, Messages
    from gitmem.memory.memory import Memory
    from gitmem.memory.provenance import Origin, Trigger
    from gitmem.okf.events import Event


class BundleWorker:
    """One provider's bundle with its journals, its host's files and its sessions."""

    def __init__(
        self,
        bundle: Memory,
        home: Home,
        session: SessionInfo,
        *,
        tell: Callable[[str], None],
    ) -> None:
        self.bundle = bundle
        self.home = home
        self.tell = tell
        self.session = session
        self.notices = Notices(bundle)
        self.files = HostFiles.of(bundle, home)
        self.skills = SkillFiles(bundle, home, enforce=bundle.config.enforce_host_files)
        self._lock = threading.Lock()
        self._buffers: dict[str, HotMemoryBuffer] = {}
        self._compressors: dict[str, Compressor] = {}
        self._asking: dict[str, Compressor] = {}
        self._prompted: set[str] = set()
        self._begun = ""
        self.closed = False
        self._buffer(session)

    # Any thread: quick, and never waiting for git, a lock or a network

    def _buffer(self, session: SessionInfo) -> HotMemoryBuffer:
        """Each session has a journal of its own, so that every commit belongs to one session."""
        with self._lock:
            return self._open_buffer(session)

    def _open_buffer(self, session: SessionInfo) -> HotMemoryBuffer:
        buffer = self._buffers.get(session.id)
        if buffer is None or not buffer.is_open:
            buffer = self._buffers[session.id] = HotMemoryBuffer(self.bundle, session)
        return buffer

    def take(self, session: SessionInfo, kind: str, **fields: Any) -> bool:
        """One event, on disk when this returns; whether the buffer is full."""
        with self._lock:  # so that nobody gives the journal back meanwhile
            buffer = self._open_buffer(session)
            buffer.append(kind, **fields)
            if self.closed:
                buffer.abandon()  # too late for this process: the next start commits it
                return False
            return buffer.is_full

    # The worker's part

    def start(self) -> None:
        """What a dead process left, what the host changed meanwhile, and what the bundle has for the host."""
        link(self.bundle, self.home)
        self.bundle.finish_pending()
        self._guarded(self.bundle.recover_journals)
        self._take_up_open_turns()
        self._guarded(lambda: self.bundle.take_in_edits(strict=False))
        self.flush("explicit")
        self.notices.drop_dead()
        self._begun = self.bundle.tip

    def _take_up_open_turns(self) -> None:
        told: dict[str, list[Event]] = {}
        for turn in self.notices.left_open():
            events = told.setdefault(turn.session, self._told_turns(turn.session))
            # One that was told when its process had closed already is in the record, and was never noted as over.
            late = next(
                (one for one in events if one.fields.get("user") == turn.user and one.at >= turn.at), None
            )
            if late is not None:
                events.remove(late)
                continue
            known = {
                name: value for name, value in turn.context.items() if name in ("agent", "platform", "parent")
            }
            session = SessionInfo(turn.session, machine=self.bundle.config.machine, source="hermes", **known)
            fields = {"user": turn.user, "note": "The process ended in the middle of this turn."}
            self._buffer(session).append("turn", timestamp=turn.at, **fields)
            self.bundle.report(Notice("turn-cut-short", turn.session))

    def _told_turns(self, session: str) -> list[Event]:
        try:
            return [event for event in self.bundle.sessions.events(session) if event.kind == "turn"]
        except GitMemError:  # there is no such session yet, or it cannot be read: better twice than never
            return []

    def flush(self, trigger: Trigger, *, compare: bool = True) -> None:
        """Commit what waits, then bring the host's files in step."""
        with self._lock:
            waiting = list(self._buffers.items())
        for name, buffer in waiting:
            if len(buffer):
                self._reopen(buffer.session)
                buffer.flush(trigger)
                self._note_prompt(buffer.session)
            elif name != self.session.id:
                with self._lock:
                    if not len(buffer):
                        self._buffers.pop(name, None)
                        buffer.abandon()
        if compare:
            self.compare()
        self._note_tip()
        self._say_notices()

    def compare(self) -> Compared:
        """The host's files and the bundle, in both directions."""
        done = self.files.compare(lambda: board.everybody(self.bundle))
        self.notices.clear(self.files.used)
        self.skills.compare()
        self._say_notices()
        return done

    def bring_index_up(self) -> None:
        """So that a search of the model finds it done; where it cannot be done, the search says so."""
        self._guarded(self.bundle.index.current)

    def _reopen(self, session: SessionInfo) -> None:
        """A session that was closed goes on."""
        if session.id in self._prompted:
            return
        state = self.bundle.sessions.find(session.id)
        if state is not None and state.status == "closed":
            self.bundle.sessions.start(session.id)

    def _note_prompt(self, session: SessionInfo) -> None:
        """Record once which state of the memory the session's prompt was made from, for `gitmem trace`."""
        if session.id in self._prompted:
            return
        self._prompted.add(session.id)
        from gitmem.memory.curated.prompt_block import freeze

        state = self.bundle.sessions.find(session.id)
        if state is None:
            return
        block = freeze(self.bundle, revision=self._begun or "HEAD")
        listed = state.concept.meta.get("prompt_blocks")
        used = [*(listed if isinstance(listed, list) else []), {"commit": block.commit, "hash": block.hash}]
        self.bundle.sessions.annotate(session.id, {"prompt_blocks": used})

    def prompt_was_rebuilt(self) -> None:
        """The host read its files again: later events stand under a newer prompt."""
        self._begun = self.bundle.tip
        self._prompted.clear()

    def compress(self, session: SessionInfo, messages: Messages) -> Compressed:
        """Everything that waits and the durable facts of these messages, as one commit, by the rules."""
        compressor = self._compressor(session)
        self._reopen(session)
        return compressor.compress(messages)

    def facts_in(self, session: SessionInfo, messages: Messages) -> str:
        """The text for the host where the commit takes its time: what the rules find and may be believed."""
        return self._compressor(session).preview(messages)

    def _compressor(self, session: SessionInfo) -> Compressor:
        """By the rules alone, whatever the settings say: a compaction does not wait for an endpoint."""
        from gitmem.memory.distill.compression import Compressor
        from gitmem.memory.distill.rules import RuleDistiller

        found = self._compressors.get(session.id)
        if found is None:
            found = self._compressors[session.id] = Compressor(
                self.bundle, self._buffer(session), RuleDistiller()
            )
        return found

    def ask_endpoint(self, session: SessionInfo, messages: Messages) -> None:
        """The same by a model, where one is configured: it may take its time, nobody waits."""
        if not self.bundle.config.distiller.base_url:
            return
        from gitmem.memory.distill.compression import Compressor

        asking = self._asking.get(session.id)
        if asking is None:
            asking = self._asking[session.id] = Compressor(self.bundle, self._buffer(session))
        asking.compress(messages)

    def end(self, session: SessionInfo, trigger: Trigger) -> None:
        """Close a session; one that left nothing has nothing to close."""
        try:
            self.bundle.sessions.end(session.id, trigger=trigger)
        except UnknownRevision:
            return

    def finish(self) -> None:
        """The last commit of this provider, and its journals given back."""
        try:
            self.flush("shutdown")
            self.end(self.session, "shutdown")
            self._note_tip()
        finally:
            self.closed = True
            with self._lock:
                buffers = list(self._buffers.values())
            for buffer in buffers:
                if buffer.is_open:
                    buffer.abandon()
            self.notices.end_all()
            self.notices.close()
            self._say_notices()

    def rest(self) -> None:
        """The worker's thread is about to end: give back what belongs to it."""
        from gitmem.memory.find.index import Indexing

        if self.bundle.has_part(Indexing):
            self.bundle.index.close()
        self.bundle.repository.store.close()

    # What is remembered for the next session

    def _note_tip(self) -> None:
        note, state = {"tip": self.bundle.tip}, self.bundle.state
        if state.read_json(HOST_LAST_SESSION) != note:
            state.write_json(HOST_LAST_SESSION, note)

    def _say_notices(self) -> None:
        """What the bundle has to say goes to the user, once."""
        notices, self.bundle.notices = self.bundle.notices, []
        for notice in notices:
            self.tell(str(notice))

    def _guarded(self, work: Callable[[], object]) -> None:
        """One part of the start that fails must not keep the others from happening."""
        try:
            work()
        except GitMemError as error:
            self.tell(f"{error} {error.hint}".strip())


def last_tip(bundle: Memory) -> str:
    """Where the memory stood when the last session here was over."""
    tip = bundle.state.read_json(HOST_LAST_SESSION).get("tip")
    return tip if isinstance(tip, str) else ""


def write_origin(bundle: Memory, session: SessionInfo, metadata: Mapping[str, object], reason: str) -> Origin:
    """The origin of a write that the host told us of."""
    from gitmem.memory.provenance import origin_of

    def known(name: str) -> str:
        return str(metadata.get(name) or "")

    base = origin_of(bundle.config, session)
    why = [known("write_origin"), reason]
    return type(base)(
        session=known("session_id") or base.session,
        parent_session=known("parent_session_id") or base.parent_session,
        agent=base.agent,
        machine=base.machine,
        platform=known("platform") or base.platform,
        model=base.model,
        source=f"{known('tool_name') or 'memory'} tool",
        reason="; ".join(part for part in why if part),
    )


def messages_copy(messages: Sequence[Any] | None) -> list[Mapping[str, Any]]:
    """The host's live list as it stands now."""
    return [message for message in list(messages or ()) if isinstance(message, Mapping)]
