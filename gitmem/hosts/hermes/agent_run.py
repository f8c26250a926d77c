"""One agent while it runs: its journal on the agent's own thread, and everything slow on its worker."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from gitmem.errors import BundleBusy, GitMemError
from gitmem.hosts.hermes import maintenance
from gitmem.hosts.hermes import tool_schemas as tools
from gitmem.hosts.hermes.bundle_worker import TURN_CONTEXT, BundleWorker, write_origin
from gitmem.hosts.hermes.home import Home
from gitmem.hosts.hermes.host_agent import HostAgent
from gitmem.hosts.hermes.prefetcher import Entries, Prefetcher
from gitmem.hosts.hermes.user_messages import UserMessages, sentence
from gitmem.hosts.tools import calls
from gitmem.hosts.tools.table import HERMES_PREFIX
from gitmem.memory import review
from gitmem.memory.capture.recorder import SessionInfo
from gitmem.memory.capture.transcripts import cut, transcripts_of
from gitmem.memory.conversation import Call, Turn, clean, messages_in
from gitmem.memory.exposure import RECALLED, Exposure
from gitmem.memory.gate.admission import redacted
from gitmem.memory.worker import Worker
from gitmem.okf.entries import shown_name

if TYPE_CHECKING:
    from gitmem.memory.distill.compression import Compressed, Messages
    from gitmem.memory.memory import Memory
    from gitmem.memory.origin import Origin, Trigger
    from gitmem.memory.session import Session

_SHUTDOWN_WAIT = 1.9
_TOOL_WAIT = 1.0
_COMPRESS_WAIT = 0.2
_RETRY = 15.0
_T = TypeVar("_T")
_BUSY = "The memory store is busy. Your change is queued; retry to get the result."


class AgentRun:
    """The provider's hooks for a main agent. The agent's thread only writes to a journal and wakes the worker."""

    def __init__(
        self,
        bundle: Memory,
        home: Home,
        session: SessionInfo,
        prefetcher: Prefetcher,
        messages: UserMessages,
        agent: HostAgent,
    ) -> None:
        self._agent = agent
        self.session = session
        self.bundle_worker = BundleWorker(
            bundle, home, session, tell=messages.tell, flush_soon=self.flush_soon
        )
        self.worker = Worker(failed=self._job_failed, idle=self.bundle_worker.rest)
        self.asker = Worker(failed=self._job_failed)
        """For what waits for a model: meanwhile the worker goes on."""
        self.closed = False
        self._home = home
        self._prefetcher = prefetcher
        prefetcher.noting = weakref.WeakMethod(self._recalled)  # it must not keep us
        self._messages = messages
        self._words = transcripts_of(bundle.config)
        self._turn = (0, "")
        self._closing = threading.Lock()

    # Begin and end

    def start(self) -> None:
        self.worker.submit(self._start).add_done_callback(self._look_at)

    def _start(self) -> None:
        if self.closed:
            return
        self.bundle_worker.start()
        for session in self.bundle_worker.distilling.waiting():
            self._ask_about(session)
        with contextlib.suppress(OSError):
            os.unlink(self._home.trouble)
        if waiting := review.in_words(review.waiting(self.bundle_worker.bundle)):
            self._messages.tell(waiting)
        for failure in maintenance.failures(self.bundle_worker.bundle):
            self._messages.tell(failure)

    def _ask_about(self, session: str) -> None:
        """Let a model distil a session that an earlier process left."""
        distilling = self.bundle_worker.distilling
        self._ask(
            self.bundle_worker.known(session), lambda: distilling.recorded(session, "model"), is_over=True
        )

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

    def _finish(self, known: Mapping[str, object]) -> None:
        bundle = self.bundle_worker.bundle
        tip = bundle.tip
        try:
            self.bundle_worker.finish(**known)
        finally:
            self._prefetcher.close()
        maintenance.sync(bundle, self._home, fresh_is_enough=tip == bundle.tip)
        bundle.tidy_in_background(maintenance.environment(bundle, self._home))
        self.bundle_worker.rest()

    # Turns

    def turn_begins(self, number: int, message: str) -> None:
        text = clean(message)
        self._turn = (number, text)
        session = self.session
        if (model := self._agent.model) and model != session.model:
            session = self.session = self.bundle_worker.session = replace(session, model=model)
        context = {name: getattr(session, name) for name in TURN_CONTEXT}
        turn = self._drive(session, lambda driver: driver.said(text)) or ""
        self._safely(lambda: self.bundle_worker.notices.begin_turn(session.id, turn, text, context))

    def turn_ended(self, user: str, assistant: str, session_id: str, messages: Sequence[Any] | None) -> None:
        """Journal what is new of the conversation; the worker commits it."""
        session = self.session
        if session_id and session_id != session.id:  # it ended before a switch and is told after it
            session = replace(session, id=session_id, parent="", title="")
        copied = messages_in(messages)
        turns = self._drive(session, lambda driver: driver.answered(assistant, user=user, messages=copied))
        for turn in turns or ():
            self._note_skills(session, turn.calls)
            if turn.user or turn.answer:
                self._said(session, turn)
        self._safely(lambda: self.bundle_worker.notices.end_turn(clean(user)))
        self.flush_soon("turn")

    def memory_written(self, action: str, target: str, content: str, metadata: Mapping[str, Any]) -> None:
        """The host's memory tool wrote its file: note who and why; the file itself says what."""
        origin = self._origin(self.session, metadata)
        old = str(metadata.get("old_text") or "")
        self._safely(lambda: self.bundle_worker.notices.post(action, target, content, old, origin))
        if not self.closed:
            self.worker.soon("compare", self.compare)

    def _origin(self, session: SessionInfo, metadata: Mapping[str, Any]) -> Origin:
        """Return who wrote something, and why: what the user said in the turn."""
        number, said = self._turn
        quoted = cut(" ".join(self._words.of_the_user(said).split()), 160)
        reason = f"turn {number}: {quoted}" if quoted else f"turn {number}" if number else ""
        return write_origin(self.bundle_worker.bundle, session, metadata, redacted(reason))

    def _note_skills(self, session: SessionInfo, calls: Sequence[Call]) -> None:
        """Calls of the host's skill tools say who wrote a skill, and who read it."""
        for call in calls:
            if call.name == "skill_manage" and (skill := call.argument("name")):
                content = (
                    call.argument("content") or call.argument("new_string") or call.argument("file_content")
                )
                origin = self._origin(session, {"tool_name": call.name})
                self._safely(partial(self.bundle_worker.notices.post_skill, skill, content, origin))
        if read := {name for call in calls if call.name == "skill_view" and (name := call.argument("name"))}:
            self._safely(lambda: self.bundle_worker.note_skills_read(session, read))

    def _recalled(self, entries: Entries) -> None:
        """A turn was given these entries: their names go to the journal, and the worker keeps their texts in mind."""
        session = self.session
        names = "\n".join(dict.fromkeys(shown_name(path, key) for path, key in entries))
        self._drive(session, lambda driver: driver.happened(RECALLED, entries=names))
        exposure = self.bundle_worker.bundle.part(Exposure)
        self.worker.submit(lambda: exposure.was_shown(session.id, entries)).add_done_callback(self._look_at)

    def delegated(self, task: str, result: str, child_session: str) -> None:
        self._drive(self.session, lambda driver: driver.delegated(task, result, child_session))

    def prefetch_soon(self, query: str) -> None:
        """Behind the commit of the turn, so that the index is brought up to it."""
        self.worker.soon("prefetch", lambda: self._prefetcher.after_turn(query))

    # Compaction and other sessions

    def before_compression(self, messages: Sequence[Any]) -> str:
        """Before messages are lost: commit what waits and their durable facts; gives the facts as text."""
        session, copied = self.session, messages_in(messages)
        self._note_skills(session, self._drive(session, lambda driver: driver.called(copied)) or ())
        done = self.worker.submit(lambda: self.bundle_worker.compress(session, copied))
        self.worker.soon("compare", self.compare)
        self._ask(session, lambda: copied, is_over=False)
        try:
            return done.result(_COMPRESS_WAIT).text
        except StillRunning:
            done.add_done_callback(self._look_at)
            number, text = self._safely(lambda: self.bundle_worker.announce(session, copied)) or (0, "")
            done.add_done_callback(lambda end: self._stored(number, end))
            # Where the commit is being made just now, nothing is new any more, and it has the answer.
            return text or self._answer(done)
        except Exception as error:  # noqa: BLE001 (the host compresses all the same)
            self._job_failed(error)
            return ""

    def _answer(self, compressing: Future[Compressed]) -> str:
        try:
            return compressing.result(_COMPRESS_WAIT).text
        except Exception:  # noqa: BLE001 (it is looked at elsewhere; the host compresses all the same)
            return ""

    def _stored(self, announced: int, commit: Future[Any]) -> None:
        """Facts that the host heard of are committed; where that failed, they wait on disk."""
        if not commit.exception():
            self.bundle_worker.distilling.stored(announced)

    def _said(self, session: SessionInfo, turn: Turn) -> None:
        if not self.closed:
            self._safely(lambda: self.bundle_worker.distilling.said(session.id, turn.user, turn.answer))

    def _ask(self, session: SessionInfo, messages: Callable[[], Messages], *, is_over: bool) -> None:
        """Let a model distil these messages, where one is configured; what it finds is committed by the worker."""
        if not self.bundle_worker.distilling.asks_a_model:
            return
        trigger: Trigger = "session-end" if is_over else "pre-compress"

        def ask() -> None:
            facts = self.bundle_worker.ask_model(session, messages())
            keeping = self.worker.submit(
                lambda: self.bundle_worker.keep_found(session, facts, is_over=is_over, trigger=trigger)
            )
            keeping.add_done_callback(self._look_at)

        self.asker.submit(ask).add_done_callback(self._look_at)

    def _close(self, session: SessionInfo, *, is_over: bool, known: Mapping[str, object]) -> None:
        """A session is left while the process goes on."""
        self.bundle_worker.distil(session, "session-end")
        if is_over:
            self.bundle_worker.end(session, "session-end", **known)

    def _known(self, session: SessionInfo) -> dict[str, object]:
        """The title that the host gave a session meanwhile; asked on the host's own thread."""
        title = self._words.of_the_agent(self._agent.title(session.id))
        return {"title": title} if title and title != session.title else {}

    def switched(self, new_session: str, *, parent: str, reset: bool, rewound: bool, reason: str) -> None:
        """The agent goes on under another id, or under the same one with another conversation."""
        session = self.session
        self._drive(session, lambda driver: driver.conversation_was_cut())
        if new_session == session.id:
            if rewound:
                said = "The user took back the last part."
                self._drive(session, lambda driver: driver.record_observation(said, "Undo"))
            elif reason == "compression":
                self.worker.soon("prompt", self.bundle_worker.prompt_was_rebuilt)
            self._prefetcher.switch(new_session)
            return
        # A new or a resumed conversation does not descend from the one that the user left.
        follows = reason in ("branch", "compression") or (not reason and not reset)
        self.session = replace(
            session, id=new_session, parent=parent if follows else "", title="", started=""
        )
        self.bundle_worker.session = self.session
        if follows:
            self.bundle_worker.hearing.follow(new_session, session.id)
            self.bundle_worker.bundle.part(Exposure).goes_on(new_session, session.id)
        self._prefetcher.switch(new_session)
        self.flush_soon("session-end")
        talk = self.bundle_worker.distilling.talk(session.id)
        is_over = reason != "compression" or reset
        known = self._known(session)
        closed = self.worker.submit(lambda: self._close(session, is_over=is_over, known=known))
        closed.add_done_callback(self._look_at)
        self._ask(session, lambda: talk, is_over=True)
        self.worker.soon("prompt", self.bundle_worker.prompt_was_rebuilt)

    # Tools

    def tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer as a JSON string. Waits at most a second for the worker, and says `queued` then."""
        if self.closed:
            return tools.refuse(name, "this session is over")
        session = self.session
        done = self.worker.submit(lambda: self._called(session, name, arguments))
        if tools.keeps(name):
            self.flush_soon("explicit")
        try:
            return done.result(_TOOL_WAIT)
        except StillRunning:
            return json.dumps({"status": "queued", "message": _BUSY})
        except Exception as error:  # noqa: BLE001 (the user gets the reason, which may quote anything)
            self._messages.tell(sentence(error))
            return json.dumps({"error": "The memory store failed; the user was told why."})

    def _called(self, session: SessionInfo, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer of a tool, on the worker."""
        bundle, own = self.bundle_worker.bundle, name.removeprefix(HERMES_PREFIX)
        if name not in tools.names(bundle.config):
            return json.dumps({"error": f"There is no tool {name!r} here."})
        if own in ("undo", "snapshot"):
            self.bundle_worker.flush("explicit")
        answer = calls.run(own, arguments, bundle, self.bundle_worker.driver(session), prefix=HERMES_PREFIX)
        if own == "undo":
            self.bundle_worker.compare()
        return json.dumps(answer.value, ensure_ascii=False)

    # Inside

    def _drive(self, session: SessionInfo, hook: Callable[[Session], _T]) -> _T | None:
        """Let the driver of a session do something on the agent's thread; None where that failed."""

        def work() -> _T:
            with self.bundle_worker.driving(session) as driver:
                return hook(driver)

        return self._safely(work)

    def _safely(self, work: Callable[[], _T]) -> _T | None:
        """Run work on the agent's thread; a full disk is reported, and stops nothing."""
        try:
            return work()
        except (GitMemError, OSError) as error:
            self._messages.tell(sentence(error))
            return None

    def session_ends(self, messages: Sequence[Any]) -> None:
        """Not the end: it comes at every compaction, and before the last turn is told. So it only commits."""
        self.bundle_worker.hearing.messages(self.session.id, messages_in(messages))
        self.flush_soon("session-end")

    def flush_soon(self, trigger: Trigger) -> None:
        if not self.closed:
            self.worker.soon(f"flush {trigger}", lambda: self._flush(trigger))

    def _flush(self, trigger: Trigger) -> None:
        if not self.bundle_worker.closed:
            self.bundle_worker.flush(trigger, compare=False)
            self.compare()

    def compare(self) -> None:
        """The host's files and the bundle, in both directions; on the worker."""
        if self.bundle_worker.closed:
            return
        if self.bundle_worker.compare().waiting:
            self.worker.later(2.1, "compare", self.compare)
        self.worker.soon("index", self.bundle_worker.bring_index_up)

    def _look_at(self, done: Any) -> None:
        error = done.exception() if not done.cancelled() else None
        if isinstance(error, Exception):
            self._job_failed(error)

    def _job_failed(self, error: Exception) -> None:
        """The worker could not do something: report it, and try again when it may have passed."""
        self._messages.tell(sentence(error))
        if isinstance(error, BundleBusy) and not self.closed:
            self.worker.later(_RETRY, "flush turn", lambda: self._flush("turn"))
