"""One agent while it runs: its journals on the agent's own thread, and everything slow on its worker."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from gitmem.errors import BundleBusy, GitMemError
from gitmem.hosts.brief import note_seen
from gitmem.hosts.hermes import attribution, host
from gitmem.hosts.hermes.files import HostFiles
from gitmem.hosts.hermes.home import Home
from gitmem.hosts.hermes.host import HostAgent, UserMessages, reader_of, sentence
from gitmem.hosts.hermes.prefetcher import Entries, Prefetcher
from gitmem.hosts.tools import calls
from gitmem.hosts.tools.table import HERMES_PREFIX, offered
from gitmem.memory import review
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.conversation import Call, messages_in
from gitmem.memory.mirror.sections import PATIENCE
from gitmem.memory.pending_facts import ANNOUNCED, SAID
from gitmem.memory.session import Session
from gitmem.memory.upkeep.jobs import start_due
from gitmem.memory.worker import Worker
from gitmem.okf.entries import CONCEPT

if TYPE_CHECKING:
    from gitmem.memory.capture.recovery import AbandonedJournal
    from gitmem.memory.distill.compression import Compressed, Messages
    from gitmem.memory.distill.facts import DistilledFact
    from gitmem.memory.memory import Memory
    from gitmem.memory.origin import Trigger

_SHUTDOWN_WAIT = 1.9
_TOOL_WAIT = 1.0
_COMPRESS_WAIT = 0.2
_RETRY = 15.0
_T = TypeVar("_T")
AGENT = "hermes home"
"""The sessions of a home among the agents whose last visit is known; no MCP client has a name with a space."""
_BUSY = "The memory store is busy. Your change is queued; retry to get the result."


class AgentRun:
    """The provider's hooks for a main agent. The agent's thread only writes to a journal and wakes the worker."""

    def __init__(
        self,
        memory: Memory,
        home: Home,
        session: SessionInfo,
        prefetcher: Prefetcher,
        messages: UserMessages,
        agent: HostAgent,
    ) -> None:
        self.memory = memory
        self.session = session
        self.closed = False
        """The host has left: hooks do nothing, but for a turn that is reported late."""
        self._home, self._prefetcher, self._messages, self._agent = home, prefetcher, messages, agent
        self._files = HostFiles(memory, home)
        self._lock = threading.RLock()
        self._drivers: dict[str, Session] = {}
        self._is_over = False
        """The last commit is made."""
        self._begun = ""
        """The commit at which the host's prompt was made."""
        self._closing = threading.Lock()
        self.worker = Worker(failed=self._job_failed, idle=memory.rest)
        self.asker = Worker(failed=self._job_failed)
        """For what waits for a model: meanwhile the worker goes on."""
        self.driver(session)

    def driver(self, session: SessionInfo) -> Session:
        """The driver of a session. Each has a journal of its own, so that every commit belongs to one session."""
        with self._lock:
            found = self._drivers.get(session.id)
            if found is None:
                reader = reader_of(self.memory.config, session)
                # By the rules alone, also where the settings name a model: a compaction does not wait for an endpoint.
                found = Session(
                    self.memory, session, reader=reader, flush_soon=self.flush_soon, by_rules=True
                )
                self._drivers[session.id] = found
                found.prompt_was_built(self._begun)
            found.buffer  # noqa: B018 (a full disk is reported when the session begins)
            return found

    # Begin and end

    def start(self) -> None:
        """Recover what a dead process left, take in what the host changed meanwhile, and write the host's files."""
        self.worker.do(self._start)

    def _start(self) -> None:
        if self.closed:
            return
        self.memory.finish_pending()
        self._safely(self.memory.recover_journals)
        self._safely(lambda: self.memory.take_in_edits(strict=False))
        # A gateway lets its agent go when the user takes something back: this one is the next.
        found = host.stored_messages(self._home, self.session.id) or ()
        gone = [one for one in found if not (one["active"] or one["compacted"])]
        self._drive(self.session, lambda driver: driver.was_rewound_before(gone))
        self._commit("explicit")
        left = attribution.left_over(self.memory)
        try:
            self._compare(patient=False)
            waiting = self._taken_over(left)
            while left:
                left.pop().discard()
        finally:
            for journal in left:
                journal.release()
        for driver in waiting:
            if self._safely(driver.facts.finish_recorded):
                self._compare()
        self._prompt_was_built()
        for driver in waiting:
            self._ask(driver)
        with contextlib.suppress(OSError):
            os.unlink(self._home.trouble)
        pending = review.in_words(review.waiting(self.memory))
        for line in filter(None, (pending, *host.sync_failures(self.memory))):
            self._messages.tell(line)

    def _taken_over(self, left: Sequence[AbandonedJournal]) -> list[Session]:
        """The sessions of which dead processes left something to distil, which is noted as ours."""
        found: dict[str, Session] = {}
        for note in (note for journal in left for note in journal.records if note.kind in (SAID, ANNOUNCED)):
            driver = found.setdefault(note.session, self.driver(self.memory.sessions.info(note.session)))
            driver.facts.take_over(note)
        return list(found.values())

    def shutdown(self) -> None:
        """The last commit, within two seconds; what is not done by then waits in the journal."""
        end = time.monotonic() + _SHUTDOWN_WAIT
        with self._closing:  # one drain at a time
            if self.closed:
                return
            self.closed = True
            self.worker.forget_timed()
            known = self._known(self.session)
            if tokens := self._agent.tokens:
                known["tokens"] = tokens
            last = self.worker.submit(lambda: self._finish(known))
            try:
                last.result(max(0.1, end - time.monotonic()))
            except StillRunning:
                self._messages.tell("The memory is busy: what this session did waits in the journal.")
            except Exception as error:  # noqa: BLE001 (the journal keeps what could not be committed)
                self._job_failed(error)

    def _finish(self, known: Mapping[str, Any]) -> None:
        tip = self.memory.tip
        try:
            self._commit("shutdown")
            # What a turn wrote that is never reported is taken in all the same.
            self._compare(heard=True, patient=False)
            self._distil(self.session, "shutdown")
            self._end(self.session, "shutdown", known)
            note_seen(self.memory, AGENT)
        finally:
            self._is_over = True
            with self._lock:
                for driver in self._drivers.values():
                    driver.abandon()
            self._say_notices()
            self._prefetcher.close()
        env = host.environment(self.memory, self._home)
        start_due(self.memory, env=env, changed=tip != self.memory.tip)
        self.memory.rest()

    def _distil(self, session: SessionInfo, trigger: Trigger) -> None:
        if self.driver(session).facts.finish(trigger):
            self._compare()

    def _end(self, session: SessionInfo, trigger: Trigger, known: Mapping[str, Any]) -> None:
        """Close a session, with what the host knows of it."""
        with self._lock:
            driver = self.driver(session)
            del self._drivers[session.id]
        driver.end(trigger=trigger, **known)

    def _known(self, session: SessionInfo) -> dict[str, object]:
        """The title that the host gave a session meanwhile; asked on the host's own thread."""
        title = transcripts_of(self.memory.config).of_the_agent(self._agent.title(session.id))
        return {"title": title} if title and title != session.title else {}

    def _ask(self, driver: Session) -> None:
        """Let a model distil a session of an earlier process, where one is configured."""

        def keep(facts: Sequence[DistilledFact]) -> None:
            if not self._is_over and driver.facts.keep_found(facts):
                self._compare()

        def ask() -> None:
            if not self._is_over:  # else the next start asks
                facts = driver.facts.ask_model()
                self.worker.do(lambda: keep(facts))

        if driver.facts.asks_a_model:
            self.asker.do(ask)

    # Turns

    def on_turn_start(self, message: str) -> None:
        if (model := self._agent.model) and model != self.session.model:
            self.session = replace(self.session, model=model)
        self._drive(self.session, lambda driver: driver.said(message))

    def sync_turn(self, user: str, assistant: str, session_id: str, messages: Sequence[Any] | None) -> None:
        """Journal what is new of the conversation; the worker commits it."""
        session = self.session
        if session_id and session_id != session.id:  # it ended before a switch and is reported after it
            session = replace(session, id=session_id, parent="", title="")
        copied = messages_in(messages)

        def record(driver: Session) -> None:
            begun = _begun(driver)
            for turn in driver.answered(assistant, user=user, messages=copied):
                self._note_skills(driver, turn.calls, begun, turn.id)
                if (turn.user or turn.answer) and not self.closed:
                    driver.facts.said(turn.user, turn.answer)

        self._drive(session, record)
        self.flush_soon("turn")

    def on_memory_write(self, action: str, target: str, content: str, metadata: Mapping[str, Any]) -> None:
        """The host's memory tool wrote its file: note who and why; the file itself says what."""
        self._drive(
            self.session,
            lambda driver: attribution.note_write(driver, action, target, content, metadata),
        )
        self.worker.soon("compare", self.compare)

    def _note_skills(self, driver: Session, called: Sequence[Call], begun: str, turn: str = "") -> None:
        """Calls of the host's skill tools say who wrote a skill, and who read it."""
        for call in called:
            if call.name == "skill_manage" and (skill := call.argument("name")):
                words = map(call.argument, ("content", "new_string", "file_content"))
                attribution.note_skill(driver, skill, next(filter(None, words), ""), begun, turn)
        read = {name for call in called if call.name == "skill_view" and (name := call.argument("name"))}
        if read:
            ends = tuple(f"/{name.rpartition('/')[2]}/SKILL.md" for name in read)
            paths = [path for path, _ in self.memory.tree().files("skills") if path.endswith(ends)]
            driver.showed([(path, CONCEPT) for path in paths])

    def recalled(self, entries: Entries) -> None:
        """A turn was given these entries."""
        session = self.session
        if entries and not self.closed:  # the last commit is behind it on the worker
            self.worker.do(lambda: self.driver(session).showed(entries))

    def on_delegation(self, task: str, result: str, child_session: str) -> None:
        self._drive(self.session, lambda driver: driver.delegated(task, result, child_session))

    def prefetch_soon(self, query: str) -> None:
        """Behind the commit of the turn, so that the index is brought up to it."""
        self.worker.soon("prefetch", lambda: self._prefetcher.after_turn(query))

    # Compaction and other sessions

    def on_pre_compress(self, messages: Sequence[Any]) -> str:
        """Before messages are lost: commit what waits and their durable facts; gives the facts as text."""
        session, copied = self.session, messages_in(messages)
        self._drive(session, lambda driver: self._note_skills(driver, driver.called(copied), _begun(driver)))
        done = self.worker.submit(lambda: self._compress(session, copied))
        self.worker.soon("compare", self.compare)
        try:
            return done.result(_COMPRESS_WAIT).text
        except StillRunning:
            facts = self.driver(session).facts
            number, text = self._safely(lambda: facts.announce(copied)) or (0, "")

            def ended(done: Future[Compressed]) -> None:
                # Where the commit failed, the facts that the host heard of wait on disk.
                if error := done.exception():
                    self._job_failed(error)
                else:
                    facts.stored(number)

            done.add_done_callback(ended)
            if not text:  # the commit is being made just now, so that nothing is new any more
                with contextlib.suppress(Exception):  # it is looked at by the callback
                    text = done.result(_COMPRESS_WAIT).text
            return text
        except Exception as error:  # noqa: BLE001 (the host compresses all the same)
            self._job_failed(error)
            return ""

    def _compress(self, session: SessionInfo, messages: Messages) -> Compressed:
        # All that was heard up to here is known, and the host reads its files again right after.
        self._compare(heard=True)
        driver = self.driver(session)
        driver.resume()
        return driver.facts.compress(messages)

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        reason: str = "",
        **_: Any,
    ) -> None:
        """The agent goes on under another id, or under the same one with another conversation."""
        session = self.session
        self._drive(session, lambda driver: driver.conversation_was_cut())
        self._prefetcher.switch(new_session_id)
        if new_session_id == session.id:
            if rewound:
                found = host.stored_messages(self._home, session.id)
                left = None if found is None else [one for one in found if one["active"]]
                self._drive(session, lambda driver: driver.was_rewound(left))
            elif reason == "compression":
                self.worker.soon("prompt", self._prompt_was_built)
            return
        # A new or a resumed conversation does not descend from the one that the user left.
        follows = reason in ("branch", "compression") or (not reason and not reset)
        self.session = replace(
            session, id=new_session_id, parent=parent_session_id if follows else "", title="", started=""
        )
        if follows:
            self._drive(self.session, lambda driver: driver.goes_on_from(session.id))
        self.flush_soon("session-end")
        known = self._known(session)

        def close() -> None:
            self._distil(session, "session-end")
            if reason != "compression" or reset:
                self._end(session, "session-end", known)

        self.worker.do(close)
        self.worker.soon("prompt", self._prompt_was_built)

    def on_session_end(self, messages: Sequence[Any]) -> None:
        """Not the end: it comes at every compaction, and before the last turn is reported. So it only commits."""
        self._drive(self.session, lambda driver: driver.heard(messages))
        self.flush_soon("session-end")

    # Tools

    def tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer as a JSON string. Waits at most a second for the worker, and says `queued` then."""
        session = self.session
        done = self.worker.submit(lambda: self._called(session, name, arguments))
        if name == f"{HERMES_PREFIX}remember":
            self.flush_soon("explicit")
        try:
            return done.result(_TOOL_WAIT)
        except StillRunning:
            return json.dumps({"status": "queued", "message": _BUSY})
        except Exception as error:  # noqa: BLE001 (the user gets the reason, which may quote anything)
            self._messages.tell(sentence(error))
            return calls.refused("The memory store failed; the user can read why.")

    def _called(self, session: SessionInfo, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer of a tool, on the worker."""
        own = name.removeprefix(HERMES_PREFIX)
        if own == name or own not in [row.name for row in offered("hermes", self.memory.config)]:
            return calls.refused(f"There is no tool {name!r} here.")
        if own in ("undo", "snapshot"):
            self._commit("explicit")
            self._compare()
        answer = calls.run(own, arguments, self.memory, self.driver(session), prefix=HERMES_PREFIX)
        if own == "undo":
            self._compare()
        return answer.as_json()

    # The worker

    def flush_soon(self, trigger: Trigger) -> None:
        if not self.closed:
            self.worker.soon(f"flush {trigger}", lambda: self._flush(trigger))

    def _flush(self, trigger: Trigger) -> None:
        if not self._is_over:
            self._commit(trigger)
            self.compare()

    def _commit(self, trigger: Trigger) -> None:
        """Commit what waits in the journals; one of a session that was left, and that holds no more, is given back."""
        with self._lock:
            drivers = list(self._drivers.items())
        for name, driver in drivers:
            waits = driver.waits
            driver.flush(trigger, everything=False)
            with self._lock:
                if not waits and name != self.session.id and driver.is_idle:
                    self._drivers.pop(name, None)
                    driver.leave()
        note_seen(self.memory, AGENT)
        self._say_notices()

    def compare(self) -> None:
        """The host's files and the bundle, in both directions; on the worker."""
        if self._is_over:
            return
        if self._compare():
            self.worker.later(2.1, "compare", self.compare)
        # So that a search of the model finds it done; where it cannot be done, the search says so.
        self.worker.soon("index", lambda: self._safely(self.memory.index.current))

    def _compare(self, *, heard: bool = False, patient: bool = True) -> bool:
        """Compare at once; True where a change waits for its report. With `heard` no turn of ours is open.

        A session that begins or is over is not `patient`: only another provider may explain a change that is left.
        """
        with self._lock:
            own = {driver.buffer.writer: driver for driver in self._drivers.values()}
        patience = PATIENCE if patient or attribution.has_others(self.memory, own) else 0.0
        done = self._files.look(over=list(own) if heard else (), patience=patience)
        for driver in own.values():
            attribution.settle(driver, self._files.used, skills=not self._files.skills_wait)
        self._say_notices()
        return done.waiting

    def _prompt_was_built(self) -> None:
        """The host read its files: later events are under this prompt."""
        self._begun = self.memory.tip
        with self._lock:
            for driver in self._drivers.values():
                driver.prompt_was_built(self._begun)

    def _say_notices(self) -> None:
        notices, self.memory.notices = self.memory.notices, []
        for notice in notices:
            self._messages.tell(str(notice))

    # Inside

    def _drive(self, session: SessionInfo, hook: Callable[[Session], object]) -> None:
        """Let the driver of a session do something on the agent's thread."""

        def work() -> None:
            with self._lock:
                driver = self.driver(session)
                hook(driver)
                if self._is_over:
                    driver.abandon()  # too late for this process: the next start commits it

        self._safely(work)

    def _safely(self, work: Callable[[], _T]) -> _T | None:
        """Run something whose failure is reported, and stops nothing: a full disk, a damaged file."""
        try:
            return work()
        except (GitMemError, OSError) as error:
            self._messages.tell(sentence(error))
            return None

    def _job_failed(self, error: BaseException) -> None:
        """The worker could not do something: report it, and try again when it may have passed."""
        self._messages.tell(sentence(error))
        if isinstance(error, BundleBusy) and not self.closed:
            self.worker.later(_RETRY, "flush turn", lambda: self._flush("turn"))


def _begun(driver: Session) -> str:
    """The beginning of the oldest open turn: a call of the skill tool is reported with its turn."""
    return driver.turns[0].begun if driver.turns else ""
