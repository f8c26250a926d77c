"""One agent while it runs: its journal on the agent's own thread, and everything slow on its worker."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import BundleBusy, GitMemError
from gitmem.hosts.hermes import maintenance
from gitmem.hosts.hermes import tool_schemas as tools
from gitmem.hosts.hermes.bundle_worker import BundleWorker, messages_copy, write_origin
from gitmem.hosts.hermes.home import Home
from gitmem.hosts.hermes.prefetcher import Prefetcher
from gitmem.hosts.hermes.transcript import Transcript, clean, cut
from gitmem.hosts.hermes.user_messages import UserMessages, sentence
from gitmem.hosts.hermes.worker import Worker
from gitmem.memory.capture.recorder import SessionInfo
from gitmem.memory.gate.admission import redacted

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.memory.provenance import Trigger

_SHUTDOWN_WAIT = 1.9
_TOOL_WAIT = 1.0
_COMPRESS_WAIT = 0.3
_RETRY = 15.0
_DELEGATION_LIMIT = 4_000
_BUSY = "The memory store is busy. Your change is queued; retry to get the result."


class AgentRun:
    """What the provider's hooks do for a main agent. The agent's thread only writes to a journal and wakes the worker."""

    def __init__(
        self, bundle: Memory, home: Home, session: SessionInfo, prefetcher: Prefetcher, messages: UserMessages
    ) -> None:
        self.session = session
        self.bundle_worker = BundleWorker(bundle, home, session, tell=messages.tell)
        self.worker = Worker(failed=self._job_failed, idle=self.bundle_worker.rest)
        self.closed = False
        self._home = home
        self._prefetcher = prefetcher
        self._messages = messages
        self._transcript = Transcript()
        self._turn = (0, "")
        self._closing = threading.Lock()

    # Begin and end

    def start(self) -> None:
        self.worker.submit(self._start).add_done_callback(self._look_at)

    def _start(self) -> None:
        if self.closed:
            return
        self.bundle_worker.start()
        with contextlib.suppress(OSError):
            os.unlink(self._home.trouble)
        for failure in maintenance.failures(self.bundle_worker.bundle):
            self._messages.tell(failure)
        maintenance.sync(self.bundle_worker.bundle, self._home, fresh_is_enough=True)

    def shutdown(self) -> None:
        """The last commit, within two seconds; what is not done by then waits in the journal."""
        end = time.monotonic() + _SHUTDOWN_WAIT
        with self._closing:  # one drain at a time
            if self.closed:
                return
            self.closed = True
            self.worker.forget_timed()
            last = self.worker.submit(self._finish)
            try:
                last.result(max(0.1, end - time.monotonic()))
            except StillRunning:
                self._messages.tell("The memory is busy: what this session did waits in the journal.")
            except Exception as error:  # noqa: BLE001 (the journal keeps what could not be committed)
                self._job_failed(error)

    def _finish(self) -> None:
        bundle = self.bundle_worker.bundle
        tip = bundle.tip
        try:
            self.bundle_worker.finish()
        finally:
            self._prefetcher.close()
        maintenance.sync(bundle, self._home, fresh_is_enough=tip == bundle.tip)
        maintenance.clean(bundle, self._home)
        self.bundle_worker.rest()

    # Turns

    def turn_begins(self, number: int, message: str) -> None:
        text = clean(message)
        self._turn = (number, text)
        session = self.session
        context = {"agent": session.agent, "platform": session.platform, "parent": session.parent}
        self._safely(lambda: self.bundle_worker.notices.begin_turn(session.id, text, context))

    def turn_ended(self, user: str, assistant: str, session_id: str, messages: Sequence[Any] | None) -> None:
        """What is new of the conversation goes to the journal, and the worker commits it."""
        session = self.session
        if session_id and session_id != session.id:  # it ended before a switch and is told after it
            session = replace(session, id=session_id, parent="", title="")
        for turn in self._transcript.turn(user, assistant, messages_copy(messages)):
            for call in turn.calls:
                self._take(session, "tool_call", tool_name=call.name, args=call.arguments, result=call.result)
            if turn.user or turn.answer:
                self._take(session, "turn", user=turn.user, assistant=turn.answer)
        self._safely(lambda: self.bundle_worker.notices.end_turn(clean(user)))
        self.flush_soon("turn")

    def memory_written(self, action: str, target: str, content: str, metadata: Mapping[str, Any]) -> None:
        """The host's memory tool wrote its file: note who and why; the file itself says what."""
        number, said = self._turn
        reason = f"turn {number}: {cut(' '.join(said.split()), 160)}" if said else ""
        origin = write_origin(self.bundle_worker.bundle, self.session, metadata, redacted(reason))
        old = str(metadata.get("old_text") or "")
        self._safely(lambda: self.bundle_worker.notices.post(action, target, content, old, origin))
        if not self.closed:
            self.worker.soon("compare", self.compare)

    def delegated(self, task: str, result: str, child_session: str) -> None:
        asked, came = (cut(clean(text), _DELEGATION_LIMIT) for text in (task, result))
        content = f"Delegated: {asked}\n\nResult: {came}"
        known = {"child_session": child_session} if child_session else {}
        self._take(self.session, "observation", content=content, category="Delegation", **known)

    def prefetch_soon(self, query: str) -> None:
        """Behind the commit of the turn, so that the index is brought up to it."""
        self.worker.soon("prefetch", lambda: self._prefetcher.after_turn(query))

    # Compaction and other sessions

    def before_compression(self, messages: Sequence[Any]) -> str:
        """Before messages are lost: commit what waits and their durable facts; gives the facts as text."""
        session, copied = self.session, messages_copy(messages)
        for call in self._transcript.calls(copied):
            self._take(session, "tool_call", tool_name=call.name, args=call.arguments, result=call.result)
        done = self.worker.submit(lambda: self.bundle_worker.compress(session, copied))
        self.worker.soon("compare", self.compare)
        if self.bundle_worker.bundle.config.distiller.base_url:
            asked = self.worker.submit(lambda: self.bundle_worker.ask_endpoint(session, copied))
            asked.add_done_callback(self._look_at)
        try:
            return done.result(_COMPRESS_WAIT).text
        except StillRunning:
            done.add_done_callback(self._look_at)
            found = self.bundle_worker.facts_in(session, copied)
            # Nothing is new to the rules where the commit was made meanwhile: then it has the answer.
            return found or (done.result().text if done.done() and not done.exception() else "")
        except Exception as error:  # noqa: BLE001 (the host compresses all the same)
            self._job_failed(error)
            return ""

    def switched(self, new_session: str, *, parent: str, reset: bool, rewound: bool, reason: str) -> None:
        """The agent goes on under another id, or under the same one with another conversation."""
        self._transcript.reset()
        session = self.session
        if new_session == session.id:
            if rewound:
                said = "The user took back the last part."
                self._take(session, "observation", content=said, category="Undo")
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
        self._prefetcher.switch(new_session)
        self.flush_soon("session-end")
        if reason != "compression" or reset:
            ended = self.worker.submit(lambda: self.bundle_worker.end(session, "session-end"))
            ended.add_done_callback(self._look_at)
        self.worker.soon("prompt", self.bundle_worker.prompt_was_rebuilt)

    # Tools

    def tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer as a JSON string. Waits at most a second for the worker, and says `queued` then."""
        from gitmem.hosts.hermes.tools import Tools

        if self.closed:
            return tools.refuse(name, "this session is over")
        call = Tools(self.bundle_worker, self.session)
        done = self.worker.submit(lambda: call.run(name, arguments))
        if name in tools.KEEPING:
            self.flush_soon("explicit")
        try:
            return done.result(_TOOL_WAIT)
        except StillRunning:
            return json.dumps({"status": "queued", "message": _BUSY})
        except Exception as error:  # noqa: BLE001 (the user gets the reason, which may quote anything)
            self._messages.tell(sentence(error))
            return json.dumps({"error": "The memory store failed; the user was told why."})

    # Inside

    def _take(self, session: SessionInfo, kind: str, **fields: Any) -> None:
        if self._safely(lambda: self.bundle_worker.take(session, kind, **fields)):
            self.flush_soon("buffer-max")

    def _safely(self, work: Callable[[], Any]) -> Any:
        """What the agent's thread does itself; a full disk is reported, and stops nothing."""
        try:
            return work()
        except (GitMemError, OSError) as error:
            self._messages.tell(sentence(error))
            return None

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
