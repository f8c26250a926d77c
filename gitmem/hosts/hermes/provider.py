"""The provider: what Hermes calls. Every hook answers at once; an `AgentRun` does the work."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.hosts.hermes.home import PROVIDER, Home, open_home, real_home
from gitmem.hosts.hermes.host import HostAgent, UserMessages, reader_of, sentence, session_info, sync_first
from gitmem.hosts.loop.provider import MemoryProvider
from gitmem.world import real_world

if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.hosts.hermes.agent_run import AgentRun
    from gitmem.hosts.hermes.prefetcher import Prefetcher

# Discovery imports this module at every `hermes memory status`: the rest is imported when a session begins.

SHIM_VERSION = 1
"""What the installed shim must say; it is raised when the shim has to be rewritten."""


def _host_class() -> type:
    """The host's own base class, where there is a host; else ours, so that a loop of one's own may use it too."""
    try:
        found = importlib.import_module("agent.memory_provider").MemoryProvider
    except (ImportError, AttributeError):
        return MemoryProvider
    return found if isinstance(found, type) else MemoryProvider


class GitMemProvider(_host_class()):  # type: ignore[misc]  # the base is known only where it runs
    """Versioned memory for one agent. Every hook works, and does nothing, where `initialize` failed."""

    def __init__(self, *, shim: int = 0) -> None:
        self._shim = shim
        self._home: Home | None = None
        self._run: AgentRun | None = None
        """None before `initialize`, where it failed, and for an agent that only reads."""
        self._prefetcher: Prefetcher | None = None
        self._error = ""
        self._block = ""
        self._make_block: Callable[[], str] | None = None
        self._is_stale = False
        self._messages = UserMessages()

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
        self._messages.listener = kwargs.get("warning_callback")
        self._home = Home(str(kwargs["hermes_home"])) if kwargs.get("hermes_home") else real_home()
        try:
            self._begin(self._home, session_id, kwargs)
        except Exception as error:  # noqa: BLE001 (the host's session always goes on)
            self._fail(self._home, error)
        self._messages.speak()

    def _begin(self, home: Home, session_id: str, kwargs: Mapping[str, Any]) -> None:
        from gitmem.hosts.brief import brief, last_seen
        from gitmem.hosts.hermes.agent_run import AGENT, AgentRun
        from gitmem.hosts.hermes.files import link
        from gitmem.hosts.hermes.prefetcher import Prefetcher
        from gitmem.hosts.hermes.prompt import HostRead, system_prompt
        from gitmem.memory.curated.prompt_block import about_user, unconfirmed
        from gitmem.memory.review import at_a_glance

        world = real_world().with_hermes_home(home.path)
        bundle = open_home(home, world)
        session = session_info(bundle.config, session_id, kwargs)
        is_primary = str(kwargs.get("agent_context") or "primary") == "primary"
        came: list[str] = []
        if is_primary:
            link(bundle, home)
            read = HostRead(home)
            sync_first(bundle, home)
            came = read.missed(bundle, kwargs.get("warning_callback"))
        since = brief(bundle, last_seen(bundle, AGENT))
        # Where the host shows the user nothing of ours, the agent has to say what waits.
        is_heard = callable(self._messages.listener)
        page = session.user_page(bundle.config)

        def block(came: Sequence[str] = ()) -> str:
            waiting = "" if is_heard else at_a_glance(bundle)
            known = about_user(bundle, page)
            return system_prompt(bundle.config, since, unconfirmed(bundle), waiting, came, known)

        self._make_block = block
        self._block = system_prompt(bundle.config, since, came=came)
        with contextlib.suppress(GitMemError, OSError):  # a damaged store is reported elsewhere
            self._block = block(came)  # before another prompt is made, the host reads its files again
        reader = reader_of(bundle.config, session)
        self._prefetcher = Prefetcher(home, world, bundle.config, session.id, reader)
        if not is_primary:
            return  # a subagent or a cron job: it reads, and never writes
        self._run = AgentRun(bundle, home, session, self._prefetcher, self._messages, HostAgent(kwargs))
        self._run.start()
        if self._shim < SHIM_VERSION:
            self._messages.tell(
                "The plugin files of gitmem are of an older version: run `gitmem connect hermes`."
            )

    def shutdown(self) -> None:
        """The last commit, within two seconds; what is not done by then waits in the journal."""
        if self._run is not None:
            self._run.shutdown()
        self._messages.speak()

    # The prompt and recall

    def system_prompt_block(self) -> str:
        """Short, and the same bytes until the host rebuilds its prompt, at a compaction."""
        self._messages.speak()
        self._renew_block()
        return self._block

    def prefetch(self, query: str, *, session_id: str = "") -> str:  # noqa: ARG002 (the host sends "")
        if self._prefetcher is None:
            return ""
        text = self._prefetcher.prefetch(query)
        if self._run is not None:
            self._run.recalled(self._prefetcher.entries_in(text))
        return text

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:  # noqa: ARG002 (ours is known)
        if self._run is not None:
            if not self._run.closed:
                self._run.prefetch_soon(query)
        elif self._prefetcher is not None:
            self._prefetcher.after_turn(query)

    # Capture

    def on_turn_start(self, turn_number: int, message: str, **_: Any) -> None:  # noqa: ARG002 (the host's signature)
        if run := self._running():
            run.on_turn_start(message)
            self._messages.speak()

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Any] | None = None,
    ) -> None:
        """A turn is over; also one that is reported when the session has ended already."""
        if self._run is not None:
            self._run.sync_turn(user_content, assistant_content, session_id, messages)

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: Mapping[str, Any] | None = None
    ) -> None:
        if run := self._running():
            run.on_memory_write(action, target, content, metadata or {})

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **_: Any) -> None:
        if run := self._running():
            run.on_delegation(task, result, child_session_id)

    def on_session_end(self, messages: Sequence[Any]) -> None:
        if run := self._running():
            run.on_session_end(messages)

    def on_session_switch(self, new_session_id: str, **how: Any) -> None:
        """The agent goes on under another id, or under the same one with another conversation."""
        if (run := self._running()) and new_session_id:
            run.on_session_switch(new_session_id, **how)

    def on_pre_compress(self, messages: Sequence[Any]) -> str:
        """Before messages are lost: commit what waits and their durable facts; gives the facts as text."""
        run = self._running()
        facts = run.on_pre_compress(messages) if run else ""
        self._is_stale = True  # entries of this session may be in the next prompt
        return facts

    # Tools

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The tools that the settings allow; also before `initialize`, and never an error."""
        from gitmem.hosts.tools.table import HERMES_PREFIX, offered

        try:
            # The host's own, to change as it likes.
            return [deepcopy(row.for_model(HERMES_PREFIX)) for row in offered("hermes", self._config())]
        except Exception:  # noqa: BLE001 (raising here would take the host's whole memory down)
            return []

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any] | None = None, **_: Any) -> str:
        """Answer as a JSON string, also where the tool fails."""
        self._messages.speak()
        if run := self._running():
            return run.tool(tool_name, dict(args) if isinstance(args, Mapping) else {})
        refused = f"{tool_name} is not possible here: "
        if self._run is not None:
            why = refused + "this session is over."
        elif self._prefetcher is not None:
            why = refused + "only the main agent writes to its memory."
        else:
            why = self._error or "gitmem has not begun."
        return json.dumps({"error": why}, ensure_ascii=False)

    # Setup

    def get_config_schema(self) -> list[dict[str, Any]]:
        from gitmem.hosts.hermes.profile import config_schema

        return config_schema()

    def save_config(self, values: Mapping[str, Any], hermes_home: str) -> None:
        from gitmem.hosts.hermes.profile import save_settings

        save_settings(Home(hermes_home), values)

    def post_setup(self, hermes_home: str, config: Mapping[str, Any]) -> None:  # noqa: ARG002 (we edit the file)
        from gitmem.hosts.hermes.command import set_up

        set_up(Home(hermes_home))

    def get_status_config(self, provider_config: object) -> dict[str, Any]:  # noqa: ARG002 (it is ours to know)
        from gitmem.hosts.hermes.profile import short_status

        return short_status(real_home())

    def backup_paths(self) -> list[str]:
        """Return what lies outside the home; the bundle in it is walked by the backup anyway."""
        from gitmem.hosts.hermes.profile import outside_paths

        try:
            return outside_paths(real_home())
        except (GitMemError, OSError):
            return []

    # Inside

    def _renew_block(self) -> None:
        if self._is_stale and self._make_block is not None:
            self._is_stale = False
            with contextlib.suppress(GitMemError, OSError):  # a damaged store is reported elsewhere
                self._block = self._make_block()

    def _running(self) -> AgentRun | None:
        return self._run if self._run is not None and not self._run.closed else None

    def _config(self) -> Config:
        from gitmem.config import Config
        from gitmem.memory.opening import config_for

        try:
            world = real_world()
            return config_for(world.with_hermes_home(self._home.path) if self._home else world)
        except (GitMemError, OSError):
            return Config()

    def _fail(self, home: Home, error: Exception) -> None:
        self._error = sentence(error)
        self._run = self._prefetcher = None
        self._block = ""
        self._messages.tell(f"This session runs without versioned memory: {self._error}")
        with contextlib.suppress(OSError):  # a home that cannot be written is reported all the same
            os.makedirs(os.path.dirname(home.trouble), exist_ok=True)
            with open(home.trouble, "w", encoding="utf-8") as file:
                file.write(self._error + "\n")
