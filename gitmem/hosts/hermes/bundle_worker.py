"""A provider's work on its bundle. Any thread takes in events; the rest is the worker's."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.hosts.hermes.distilling import Distilling
from gitmem.hosts.hermes.home import Home
from gitmem.hosts.hermes.memory_files import PATIENCE, Compared, HostFiles
from gitmem.hosts.hermes.skill_files import SkillFiles
from gitmem.hosts.hermes.users import reader_of
from gitmem.hosts.hermes.write_notices import Notices
from gitmem.memory.capture.recorder import SessionInfo
from gitmem.memory.exposure import Exposure
from gitmem.memory.gate.hearing import Hearing
from gitmem.memory.session import Session, Soon
from gitmem.okf.entries import CONCEPT
from gitmem.state import HOST_LAST_SESSION

if TYPE_CHECKING:
    from gitmem.memory.distill.compression import Compressed, Compressor, Messages
    from gitmem.memory.distill.facts import Fact
    from gitmem.memory.memory import Memory
    from gitmem.memory.origin import Origin, Trigger


TURN_CONTEXT = ("agent", "platform", "parent", "user", "chat", "chat_type")
"""What is noted of a session with a turn that has begun, for a process that has to finish it."""


class BundleWorker:
    """One provider's bundle with its journals, its host's files and its sessions."""

    def __init__(
        self,
        bundle: Memory,
        home: Home,
        session: SessionInfo,
        *,
        tell: Callable[[str], None],
        flush_soon: Soon,
    ) -> None:
        self.bundle = bundle
        self.home = home
        self.tell = tell
        self.session = session
        self.hearing = bundle.part(Hearing)
        self.notices = Notices(bundle)
        self.distilling = Distilling(bundle, self.notices)
        self.files = HostFiles.of(bundle, home)
        self.skills = SkillFiles(bundle, home, enforce=bundle.config.enforce_host_files)
        self._lock = threading.RLock()
        self._drivers: dict[str, Session] = {}
        self._flush_soon = flush_soon
        self._compressors: dict[str, Compressor] = {}
        self._asking: dict[str, Compressor] = {}
        self._prompted: set[str] = set()
        self._begun = ""
        self.closed = False
        self.driver(session)

    # Any thread: quick, and never waiting for git, a lock or a network

    def driver(self, session: SessionInfo) -> Session:
        """The driver of a session. Each has a journal of its own, so that every commit belongs to one session."""
        with self._lock:
            found = self._drivers.get(session.id)
            if found is None:
                reader = reader_of(self.bundle.config, session)
                found = Session(self.bundle, session, reader=reader, flush_soon=self._flush_soon)
                self._drivers[session.id] = found
            found.buffer  # noqa: B018 (a full disk is reported when the session begins)
            return found

    @contextlib.contextmanager
    def driving(self, session: SessionInfo) -> Iterator[Session]:
        """The driver of a session, whose journal stays open meanwhile."""
        with self._lock:
            driver = self.driver(session)
            yield driver
            if self.closed:
                driver.abandon()  # too late for this process: the next start commits it

    # The worker's part

    def start(self) -> None:
        """Recover what a dead process left, take in what the host changed meanwhile, and write the host's files."""
        self.bundle.finish_pending()
        self._guarded(self.bundle.recover_journals)
        self._guarded(lambda: self.bundle.take_in_edits(strict=False))
        self.flush("explicit", compare=False)
        self.compare(patience=self._patience)
        self.distilling.take_over()
        self.notices.drop_dead()
        self._guarded(self._distil_what_was_left)
        self._begun = self.bundle.tip

    def flush(self, trigger: Trigger, *, compare: bool = True) -> None:
        """Commit what waits, then bring the host's files in step."""
        with self._lock:
            drivers = list(self._drivers.items())
        self._note_block()
        for name, driver in drivers:
            waits = driver.waits
            if waits:
                driver.resume()
                self._note_prompt(driver.about)
            driver.flush(trigger, everything=False)
            if not waits and name != self.session.id:
                with self._lock:
                    if not (driver.waits or driver.in_turn):
                        self._drivers.pop(name, None)
                        driver.leave()
        if compare:
            self.compare()
        self._note_tip()
        self._say_notices()

    @property
    def _patience(self) -> float:
        """Return how long a change of the host's files waits for a notice where this provider has none to give.

        A session that begins or is over explains nothing more: only another provider could.
        """
        return PATIENCE if self.notices.has_others else 0.0

    def compare(self, *, patience: float = PATIENCE) -> Compared:
        """The host's files and the bundle, in both directions."""
        self._note_block()
        done = self.files.compare(self.notices.everybody, patience=patience)
        self.skills.compare(dead=self.notices.dead)
        self.notices.clear(self.files.used, self.distilling.note_again)
        self._say_notices()
        return done

    def bring_index_up(self) -> None:
        """So that a search of the model finds it done; where it cannot be done, the search says so."""
        self._guarded(self.bundle.index.current)

    def _note_prompt(self, session: SessionInfo) -> None:
        """Record once which state of the memory the session's prompt was made from, for `gitmem why`."""
        if session.id in self._prompted:
            return
        self._prompted.add(session.id)
        from gitmem.memory.curated.prompt_block import freeze

        block = freeze(self.bundle, revision=self._begun or "HEAD")
        self.bundle.sessions.note_block(session, commit=block.commit, digest=block.hash)

    def _note_block(self) -> None:
        """Note the prompt that the session has, so that what it writes can be compared with it."""
        if self._begun:
            self.bundle.part(Exposure).had_block(self.session.id, self._begun)

    def note_skills_read(self, session: SessionInfo, names: Collection[str]) -> None:
        """The model read these skills."""
        ends = tuple(f"/{name.rpartition('/')[2]}/SKILL.md" for name in names)
        found = [path for path, _ in self.bundle.tree().files("skills") if path.endswith(ends)]
        self.driver(session).showed([(path, CONCEPT) for path in found])

    def prompt_was_rebuilt(self) -> None:
        """The host read its files again: later events stand under a newer prompt."""
        self._begun = self.bundle.tip
        self._prompted.clear()

    def compress(self, session: SessionInfo, messages: Messages) -> Compressed:
        """Everything that waits and the durable facts of these messages, as one commit, by the rules."""
        # All that was heard up to here is known, and the host reads its files again right after.
        self.files.compare(lambda: self.notices.everybody(heard=True))
        compressor = self._compressor(session)
        self._note_block()
        self.driver(session).resume()
        done = compressor.compress(messages)
        self.distilling.done(session.id, "rules", is_over=False)
        return done

    def announce(self, session: SessionInfo, messages: Messages) -> tuple[int, str]:
        """The text for the host where the commit takes its time, and the number of the facts that are noted for it."""
        compressor = self._compressor(session)
        facts = compressor.preview(messages)
        return (self.distilling.announce(session.id, facts), compressor.told(facts)) if facts else (0, "")

    def distil(self, session: SessionInfo, trigger: Trigger) -> None:
        """The durable facts of a session that is over, by the rules, from what was said while this process ran."""
        self._store_announced()
        if talk := self.distilling.talk(session.id):
            self._finish_by_rules(session, talk, trigger)

    def _finish_by_rules(self, session: SessionInfo, talk: Messages, trigger: Trigger) -> None:
        done = self._compressor(session).finish(talk, trigger=trigger)
        self._compressors.pop(session.id, None)
        self.distilling.done(session.id, "rules", is_over=True)
        if done.facts:
            self.compare()

    def _distil_what_was_left(self) -> None:
        """Sessions of processes that ended too early."""
        self._store_announced()
        for name in self.distilling.waiting():
            self._finish_by_rules(self.known(name), self.distilling.recorded(name, "rules"), "session-end")

    def _store_announced(self) -> None:
        """Facts that the host heard of, where their commit failed or its process died."""
        for number, name, facts in self.distilling.announced():
            self._compressor(self.known(name)).keep(facts)
            self.distilling.stored(number)

    def known(self, session: str) -> SessionInfo:
        if session == self.session.id:
            return self.session
        state = self.bundle.sessions.find(session)
        return state.info if state is not None else SessionInfo(session, machine=self.bundle.config.machine)

    def _compressor(self, session: SessionInfo) -> Compressor:
        """By the rules alone, whatever the settings say: a compaction does not wait for an endpoint."""
        from gitmem.memory.distill.compression import Compressor
        from gitmem.memory.distill.rules import RuleDistiller

        found = self._compressors.get(session.id)
        if found is None:
            found = self._compressors[session.id] = Compressor(
                self.bundle, self.driver(session).buffer, RuleDistiller()
            )
        return found

    def keep_found(
        self, session: SessionInfo, facts: Sequence[Fact], *, is_over: bool, trigger: Trigger
    ) -> None:
        """Commit the findings of a model for the session that they are about."""
        if self.closed:  # the next start asks again
            return
        kept = self._compressor(session).keep(facts, kind="flush" if is_over else "compress", trigger=trigger)
        self.distilling.done(session.id, "model", is_over=is_over)
        if is_over:
            self._asking.pop(session.id, None)
        if kept.facts:
            self.compare()

    # Beside the worker: this waits for a network

    def ask_model(self, session: SessionInfo, messages: Messages) -> list[Fact]:
        """Return what the model that the settings name finds in messages that it has not seen; one request."""
        from gitmem.memory.distill.compression import Compressor

        asking = self._asking.get(session.id)
        if asking is None:
            asking = self._asking[session.id] = Compressor(self.bundle, self.driver(session).buffer)
        found = asking.found(messages)
        asking.saw(messages)
        return found

    # The worker's part

    def end(self, session: SessionInfo, trigger: Trigger, **known: Any) -> None:
        """Close a session, with what the host knows of it; one that left nothing has nothing to close."""
        with self._lock:
            driver = self._drivers.pop(session.id, None) or self.driver(session)
        driver.end(trigger=trigger, **known)

    def finish(self, **known: Any) -> None:
        """The last commit of this provider, with what the host knows of the session, and its journals given back."""
        try:
            self.notices.end_all()  # what a turn wrote that is never told is taken in all the same
            self.flush("shutdown", compare=False)
            self.compare(patience=self._patience)
            self.distil(self.session, "shutdown")
            self.end(self.session, "shutdown", **known)
            self._note_tip()
        finally:
            self.closed = True
            with self._lock:
                for driver in self._drivers.values():
                    driver.abandon()
            self.notices.close(keep=self.distilling.is_waiting)
            self._say_notices()

    def rest(self) -> None:
        """The worker's thread is about to end: give back what belongs to it."""
        from gitmem.memory.indexing import Indexing

        if self.bundle.has_part(Indexing):
            self.bundle.index.close()
        self.bundle.repository.store.close()

    # What is remembered for the next session

    def _note_tip(self) -> None:
        note, state = {"tip": self.bundle.tip}, self.bundle.state
        if state.read_json(HOST_LAST_SESSION) != note:
            state.write_json(HOST_LAST_SESSION, note)

    def _say_notices(self) -> None:
        """Show the bundle's notices to the user, once."""
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
    """Return where the memory stood when the last session here was over."""
    tip = bundle.state.read_json(HOST_LAST_SESSION).get("tip")
    return tip if isinstance(tip, str) else ""


def write_origin(bundle: Memory, session: SessionInfo, metadata: Mapping[str, object], reason: str) -> Origin:
    """The origin of a write that the host told us of."""
    from gitmem.memory.origin import origin_of

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
