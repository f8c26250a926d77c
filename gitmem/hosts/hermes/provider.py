"""The provider: what Hermes calls. On the agent's thread it only writes to a journal and wakes its worker."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.hosts.hermes.home import PROVIDER, Home, open_home, real_home, real_world
from gitmem.hosts.hermes.user_messages import Voice, sentence
from gitmem.memory.gate.admission import redacted
from gitmem.world import World

if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.hosts.hermes.bundle_worker import Keeper
    from gitmem.hosts.hermes.prefetcher import Recall
    from gitmem.hosts.hermes.transcript import Transcript
    from gitmem.hosts.hermes.worker import Worker
    from gitmem.memory.capture.recorder import SessionInfo

# Discovery imports this module at every `hermes memory status`: the rest is imported when a session begins.

SHIM_VERSION = 1
"""What the installed shim must say; it is raised when the shim has to be written anew."""
_SHUTDOWN_WAIT = 1.9
_TOOL_WAIT = 1.0
_COMPRESS_WAIT = 0.3
_RETRY = 15.0
_DELEGATION_LIMIT = 4_000


def _host_class() -> type:
    """The host's own base class, where there is a host."""
    try:
        found = importlib.import_module("agent.memory_provider").MemoryProvider
    except (ImportError, AttributeError):
        return object
    return found if isinstance(found, type) else object


class GitMemProvider(_host_class()):  # type: ignore[misc]  # the base is known only where it runs
    """Versioned memory for one agent. Every hook works, and does nothing, where `initialize` failed."""

    def __init__(self, *, shim: int = 0) -> None:
        self._shim = shim
        self._home: Home | None = None
        self._keeper: Keeper | None = None
        self._worker: Worker | None = None
        self._recall: Recall | None = None
        self._session: SessionInfo | None = None
        self._transcript: Transcript | None = None
        self._error = ""
        self._read_only = False
        self._block = ""
        self._turn = (0, "")
        self._voice = Voice()
        self._closing = threading.Lock()
        self._closed = False

    # Who it is

    @property
    def name(self) -> str:
        return PROVIDER

    def is_available(self) -> bool:
        """Always: where something is missing the user must read it, and an unavailable provider is silent."""
        return True

    @property
    def error(self) -> str:
        """Why the session runs without gitmem; empty where it does not."""
        return self._error

    # Begin and end

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Open the bundle of this home. Nothing here is allowed to stop the host."""
        self._voice.listener = kwargs.get("warning_callback")
        self._home = Home(str(kwargs["hermes_home"])) if kwargs.get("hermes_home") else real_home()
        try:
            self._begin(session_id, kwargs)
        except Exception as error:  # noqa: BLE001 (the host's session always goes on)
            self._fail(error)
        self._voice.speak()

    def _begin(self, session_id: str, kwargs: Mapping[str, Any]) -> None:
        from gitmem.hosts.hermes import whats_new
        from gitmem.hosts.hermes.bundle_worker import Keeper, last_tip
        from gitmem.hosts.hermes.prefetcher import Recall
        from gitmem.hosts.hermes.prompt import system_prompt
        from gitmem.hosts.hermes.transcript import Transcript
        from gitmem.hosts.hermes.worker import Worker

        home = self._home
        assert home is not None
        world = World.real().with_hermes_home(home.path)
        bundle = open_home(home, world)
        self._read_only = str(kwargs.get("agent_context") or "primary") != "primary"
        self._session = session = self._info(bundle.config, session_id, kwargs)
        self._block = system_prompt(bundle.config, whats_new.since(bundle, last_tip(bundle)))
        self._recall = Recall(home, world, bundle.config, session.id)
        if self._read_only:
            return
        self._transcript = Transcript()
        keeper = Keeper(bundle, home, session, tell=self._voice.tell)
        self._keeper = keeper
        self._worker = Worker(failed=self._job_failed, idle=keeper.rest)
        self._worker.submit(self._start).add_done_callback(self._look_at)
        if self._shim < SHIM_VERSION:
            self._voice.tell(
                "The plugin files of gitmem are of an older version: run `gitmem hermes install`."
            )

    def _info(self, config: Config, session_id: str, kwargs: Mapping[str, Any]) -> SessionInfo:
        from gitmem.memory.capture.recorder import SessionInfo

        identity = str(kwargs.get("agent_identity") or "")
        return SessionInfo(
            session_id,
            parent=str(kwargs.get("parent_session_id") or ""),
            agent=identity if identity not in ("", "default") else config.agent_id,
            machine=config.machine,
            platform=str(kwargs.get("platform") or ""),
            source="hermes",
            title=str(kwargs.get("session_title") or ""),
        )

    def _start(self) -> None:
        keeper = self._ready()
        if keeper is None:
            return
        from gitmem.hosts.hermes import background

        keeper.start()
        if self._home is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._home.trouble)
        for failure in background.failures(keeper.bundle):
            self._voice.tell(failure)
        background.sync(keeper.bundle, keeper.home, fresh_is_enough=True)

    def shutdown(self) -> None:
        """The last commit, within two seconds; what is not done by then waits in the journal."""
        end = time.monotonic() + _SHUTDOWN_WAIT
        with self._closing:  # one drain at a time
            keeper, worker = self._keeper, self._worker
            if self._closed or keeper is None or worker is None:
                self._closed = True
                self._voice.speak()
                return
            self._closed = True
            worker.forget_timed()
            last = worker.submit(self._finish)
            try:
                last.result(max(0.1, end - time.monotonic()))
            except StillRunning:
                self._voice.tell("The memory is busy: what this session did waits in the journal.")
            except Exception as error:  # noqa: BLE001 (the journal keeps what could not be committed)
                self._job_failed(error)
            self._voice.speak()

    def _finish(self) -> None:
        keeper = self._keeper
        if keeper is None:
            return
        from gitmem.hosts.hermes import background

        tip = keeper.bundle.tip
        try:
            keeper.finish()
        finally:
            if self._recall is not None:
                self._recall.close()
        background.sync(keeper.bundle, keeper.home, fresh_is_enough=tip == keeper.bundle.tip)
        background.clean(keeper.bundle, keeper.home)
        keeper.rest()

    # The prompt and recall

    def system_prompt_block(self) -> str:
        """Short, and the same bytes for the whole session."""
        self._voice.speak()
        return self._block

    def prefetch(self, query: str, *, session_id: str = "") -> str:  # noqa: ARG002 (the host sends "")
        return self._recall.prefetch(query) if self._recall is not None else ""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:  # noqa: ARG002 (ours is known)
        recall, worker = self._recall, self._worker
        if recall is None or self._closed:
            return
        if worker is None:
            recall.after_turn(query)
        else:  # behind the commit of the turn, so that the index is brought up to it
            worker.soon("prefetch", lambda: recall.after_turn(query))

    # Capture

    def on_turn_start(self, turn_number: int, message: str, **_: Any) -> None:
        keeper, session = self._ready(), self._session
        if keeper is None or session is None:
            return
        from gitmem.hosts.hermes.transcript import clean

        text = clean(message)
        self._turn = (turn_number, text)
        context = {"agent": session.agent, "platform": session.platform, "parent": session.parent}
        self._safely(lambda: keeper.notices.begin_turn(session.id, text, context))
        self._voice.speak()

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Any] | None = None,
    ) -> None:
        """A turn is over: what is new of the conversation goes to the journal, and the worker commits it."""
        from gitmem.hosts.hermes.bundle_worker import messages_copy
        from gitmem.hosts.hermes.transcript import clean

        keeper, session, transcript = self._keeper, self._session, self._transcript
        if keeper is None or session is None or transcript is None:
            return
        if session_id and session_id != session.id:  # it ended before a switch and is told after it
            session = replace(session, id=session_id, parent="", title="")
        turns = transcript.turn(user_content, assistant_content, messages_copy(messages))
        for turn in turns:
            for call in turn.calls:
                self._take(session, "tool_call", tool_name=call.name, args=call.arguments, result=call.result)
            if turn.user or turn.answer:
                self._take(session, "turn", user=turn.user, assistant=turn.answer)
        self._safely(lambda: keeper.notices.end_turn(clean(user_content)))
        self._flush_soon("turn")

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """The host's memory tool wrote its file: note who and why; the file itself says what."""
        from gitmem.hosts.hermes.bundle_worker import notice_origin
        from gitmem.hosts.hermes.transcript import cut

        keeper, session = self._ready(), self._session
        if keeper is None or session is None:
            return
        known = dict(metadata or {})
        number, said = self._turn
        reason = f"turn {number}: {cut(' '.join(said.split()), 160)}" if said else ""
        origin = notice_origin(keeper.bundle, session, known, redacted(reason))
        old = str(known.get("old_text") or "")
        self._safely(lambda: keeper.notices.post(action, target, content, old, origin))
        self._compare_soon()

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **_: Any) -> None:
        keeper, session = self._ready(), self._session
        if keeper is None or session is None:
            return
        from gitmem.hosts.hermes.transcript import clean, cut

        asked, came = (cut(clean(text), _DELEGATION_LIMIT) for text in (task, result))
        content = f"Delegated: {asked}\n\nResult: {came}"
        known = {"child_session": child_session_id} if child_session_id else {}
        self._take(session, "observation", content=content, category="Delegation", **known)

    def on_pre_compress(self, messages: Sequence[Any]) -> str:
        """Before messages are lost: commit what waits and their durable facts; gives the facts as text."""
        keeper, session, worker, transcript = self._ready(), self._session, self._worker, self._transcript
        if keeper is None or session is None or worker is None or transcript is None:
            return ""
        from gitmem.hosts.hermes.bundle_worker import messages_copy

        copied = messages_copy(messages)
        for call in transcript.calls(copied):
            self._take(session, "tool_call", tool_name=call.name, args=call.arguments, result=call.result)
        done = worker.submit(lambda: keeper.compress(session, copied))
        worker.soon("compare", self._compare)
        if keeper.bundle.config.distiller.base_url:
            worker.submit(lambda: keeper.ask_endpoint(session, copied)).add_done_callback(self._look_at)
        try:
            return done.result(_COMPRESS_WAIT).text
        except StillRunning:
            done.add_done_callback(self._look_at)
            found = keeper.facts_in(session, copied)
            # Nothing is new to the rules where the commit was made meanwhile: then it has the answer.
            return found or (done.result().text if done.done() and not done.exception() else "")
        except Exception as error:  # noqa: BLE001 (the host compresses all the same)
            self._job_failed(error)
            return ""

    def on_session_end(self, messages: Sequence[Any]) -> None:  # noqa: ARG002 (all of it is stored already)
        """Not the end: it comes at every compaction, and before the last turn is told. So it only commits."""
        if self._ready() is not None:
            self._flush_soon("session-end")

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """The agent goes on under another id, or under the same one with another conversation."""
        keeper, session, worker, transcript = self._ready(), self._session, self._worker, self._transcript
        if keeper is None or session is None or worker is None or transcript is None or not new_session_id:
            return
        transcript.reset()
        reason = str(kwargs.get("reason") or "")
        if new_session_id == session.id:
            if rewound:
                self._take(
                    session, "observation", content="The user took back the last part.", category="Undo"
                )
            elif reason == "compression":
                worker.soon("prompt", keeper.prompt_was_rebuilt)
            if self._recall is not None:
                self._recall.switch(new_session_id)
            return
        # A new or a resumed conversation does not descend from the one that the user left.
        follows = reason in ("branch", "compression") or (not reason and not reset)
        self._session = replace(
            session, id=new_session_id, parent=parent_session_id if follows else "", title="", started=""
        )
        keeper.session = self._session
        if self._recall is not None:
            self._recall.switch(new_session_id)
        self._flush_soon("session-end")
        if reason != "compression" or reset:
            worker.submit(lambda: keeper.end(session, "session-end")).add_done_callback(self._look_at)
        worker.soon("prompt", keeper.prompt_was_rebuilt)

    # Tools

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The tools that the settings allow; also before `initialize`, and never an error."""
        from gitmem.hosts.hermes.tool_schemas import schemas

        try:
            return schemas(self._config())
        except Exception:  # noqa: BLE001 (raising here would take the host's whole memory down)
            return []

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any] | None = None, **_: Any) -> str:
        """A JSON string. Waits at most a second for the worker, and says `queued` then."""
        from gitmem.hosts.hermes import tool_schemas as tools
        from gitmem.hosts.hermes.tools import Tools

        self._voice.speak()
        if self._error:
            return json.dumps({"error": self._error}, ensure_ascii=False)
        keeper, worker, session = self._keeper, self._worker, self._session
        if session is None or self._home is None:
            return json.dumps({"error": "gitmem has not begun."})
        arguments = dict(args) if isinstance(args, Mapping) else {}
        if keeper is None or worker is None:  # a subagent or a cron job: it reads, and never writes
            return tools.refuse(tool_name, "only the main agent writes to its memory")
        if self._closed:
            return tools.refuse(tool_name, "this session is over")
        call = Tools(keeper, session)
        done = worker.submit(lambda: call.run(tool_name, arguments))
        if tool_name in tools.KEEPING:
            self._flush_soon("explicit")
        try:
            return done.result(_TOOL_WAIT)
        except StillRunning:
            return json.dumps(
                {
                    "status": "queued",
                    "message": "The memory store is busy. Your change is queued; retry to get the result.",
                }
            )
        except Exception as error:  # noqa: BLE001 (the model gets one line)
            return json.dumps({"error": sentence(error)}, ensure_ascii=False)

    # Setup

    def get_config_schema(self) -> list[dict[str, Any]]:
        from gitmem.hosts.hermes.setup import config_schema

        return config_schema()

    def save_config(self, values: Mapping[str, Any], hermes_home: str) -> None:
        from gitmem.hosts.hermes.setup import save_settings

        save_settings(Home(hermes_home), values)

    def post_setup(self, hermes_home: str, config: Mapping[str, Any]) -> None:  # noqa: ARG002 (we edit the file)
        from gitmem.hosts.hermes.setup import set_up

        set_up(Home(hermes_home))

    def get_status_config(self, provider_config: object) -> dict[str, Any]:  # noqa: ARG002 (it is ours to know)
        from gitmem.hosts.hermes.status import short_status

        return short_status(real_home())

    def backup_paths(self) -> list[str]:
        """What lies outside the home; the bundle in it is walked by the backup anyway."""
        from gitmem.hosts.hermes.setup import outside_paths

        try:
            return outside_paths(real_home())
        except (GitMemError, OSError):
            return []

    # Inside

    def _ready(self) -> Keeper | None:
        return self._keeper if not self._closed else None

    def _config(self) -> Config:
        from gitmem.config import Config
        from gitmem.memory.opening import config_for

        try:
            world = real_world()
            return config_for(world.with_hermes_home(self._home.path) if self._home else world)
        except (GitMemError, OSError):
            return Config()

    def _take(self, session: SessionInfo, kind: str, **fields: Any) -> None:
        keeper = self._keeper
        if keeper is not None and self._safely(lambda: keeper.take(session, kind, **fields)):
            self._flush_soon("buffer-max")

    def _safely(self, work: Callable[[], Any]) -> Any:
        """What the agent's thread does itself; a full disk is told, and stops nothing."""
        try:
            return work()
        except (GitMemError, OSError) as error:
            self._voice.tell(sentence(error))
            return None

    def _flush_soon(self, trigger: Any) -> None:
        keeper, worker = self._keeper, self._worker
        if keeper is not None and worker is not None and not self._closed:
            worker.soon(f"flush {trigger}", lambda: self._flush(trigger))

    def _flush(self, trigger: Any) -> None:
        keeper = self._keeper
        if keeper is not None and not keeper.closed:
            keeper.flush(trigger, compare=False)
            self._compare()

    def _compare_soon(self) -> None:
        if self._worker is not None and not self._closed:
            self._worker.soon("compare", self._compare)

    def _compare(self) -> None:
        keeper, worker = self._keeper, self._worker
        if keeper is None or worker is None or keeper.closed:
            return
        if keeper.compare().waiting:
            worker.later(2.1, "compare", self._compare)
        worker.soon("index", keeper.bring_index_up)

    def _look_at(self, done: Any) -> None:
        error = done.exception() if not done.cancelled() else None
        if isinstance(error, Exception):
            self._job_failed(error)

    def _job_failed(self, error: Exception) -> None:
        """The worker could not do something: tell it, and try again when it may have passed."""
        from gitmem.errors import BundleBusy

        self._voice.tell(sentence(error))
        if isinstance(error, BundleBusy) and self._worker is not None and not self._closed:
            self._worker.later(_RETRY, "flush turn", lambda: self._flush("turn"))

    def _fail(self, error: Exception) -> None:
        self._error = sentence(error)
        self._keeper = self._worker = self._recall = None
        self._block = ""
        self._voice.tell(f"This session runs without versioned memory: {self._error}")
        home = self._home
        if home is not None:
            with contextlib.suppress(OSError):  # a home that can not be written is told all the same
                os.makedirs(os.path.dirname(home.trouble), exist_ok=True)
                with open(home.trouble, "w", encoding="utf-8") as file:
                    file.write(self._error + "\n")
