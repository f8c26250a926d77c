"""The life of one session: begin, turn after turn, compress, end. The caller only makes the model calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import UsageError
from gitmem.hosts.loop.prompt import GUIDANCE, NUDGE, SAVE_A_SKILL, TOOL_CALLS, AgentPrompt, Slots
from gitmem.hosts.tools.calls import refused
from gitmem.hosts.tools.table import TOOLS
from gitmem.memory.worker import Worker

if TYPE_CHECKING:
    from gitmem.hosts.loop.manager import MemoryManager
    from gitmem.hosts.loop.provider import Message, Schema
    from gitmem.memory.endpoint import ChatModel


class AgentSession:
    """One session of an agent, entered by `with`.

    `agent_context` other than `primary` (a subagent, a job) reads and never writes; with `skip_memory` there is no memory
    at all. `identity`, `system`, `skills` and `context_files` are texts for their slots of the prompt; without `skills`
    the memory's own are listed there.
    """

    def __init__(
        self,
        manager: MemoryManager,
        session: str = "",
        *,
        agent_context: str = "primary",
        skip_memory: bool = False,
        platform: str = "",
        identity: str = "",
        guidance: str = GUIDANCE,
        system: str = "",
        skills: str = "",
        context_files: str = "",
        **known: Any,
    ) -> None:
        self._manager = type(manager)() if skip_memory else manager
        self._named = session
        self._known = {"platform": platform, "agent_context": agent_context, **known}
        self._given = Slots(identity, guidance, "", system, "", skills, context_files)
        self._slots: Slots | None = None
        """The stable part of the prompt, while the session is open."""
        self._turn = 0
        self._calls = 0
        self._said = ""
        self._history: list[Message] = []
        self._reviews: list[Future[int]] = []
        self._reviewer = Worker(failed=lambda error: manager.note("The review", error))

    # Begin and end

    def __enter__(self) -> AgentSession:
        self._manager.initialize_all(self._named, **self._known)
        self._slots = self._built()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self, messages: Sequence[Message] | None = None) -> None:
        """Keep what was learned and commit what is pending; `messages` is the conversation, if you have it."""
        if self._slots is None:
            return
        self._slots = None
        for one in self._reviews:
            one.cancel()
        self._manager.on_session_end(self._history if messages is None else messages)

    @property
    def id(self) -> str:
        driver = self._manager.driver
        return driver.id if driver is not None else self._named

    # A turn

    def turn(self, user: str) -> AgentPrompt:
        """Return what goes to the model for what the user says: the frozen part, what is recalled, the tools."""
        if self._slots is None:
            raise UsageError("The session is not open: enter it by `with`.")
        self._turn += 1
        self._said = user
        self._manager.on_turn_start(self._turn, user)
        recalled = self._manager.prefetch_all(user, session_id=self.id)
        nudge = self._nudge()
        self._calls = 0
        whole = "\n\n".join(part for part in (user, recalled, nudge) if part)
        return AgentPrompt(self._turn, self._slots.text, user, whole, tuple(self.tools()), recalled)

    def tools(self) -> list[Schema]:
        """The tools of the memory that this session may use."""
        found = self._manager.tool_schemas()
        if self._writes:
            return found
        return [one for one in found if one["name"] not in TOOLS or TOOLS[one["name"]].reads]

    def tool_call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> str:
        """Return what a tool of the memory answers, as a JSON string; `arguments` may be the JSON that the model wrote."""
        self._calls += 1
        if name not in [one["name"] for one in self.tools()]:
            return refused(f"There is no tool {name!r} here.")
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except (ValueError, RecursionError):
                return refused(f"The arguments of {name} are not JSON.")
        if arguments is not None and not isinstance(arguments, Mapping):
            return refused(f"The arguments of {name} must be an object.")
        return self._manager.handle_tool_call(name, arguments)

    def tool_result(self, name: str, arguments: Any, result: str) -> None:
        """A tool of your own returned this: it is recorded, and what is remembered of it is known to come from there."""
        self._calls += 1
        if self._writes:
            self._manager.record_call(name, arguments, result)

    def done(self, assistant: str, messages: Sequence[Message] | None = None) -> None:
        """The turn is over. It is in the journal when this returns; commits are made behind it."""
        self._history += [
            {"role": "user", "content": self._said},
            {"role": "assistant", "content": assistant},
        ]
        if self._writes:
            self._manager.sync_all(self._said, assistant, session_id=self.id, messages=messages)

    # Now and then

    def compress(self, messages: Sequence[Message]) -> str:
        """Before messages are forgotten: their durable facts are kept, and the frozen part is rebuilt.

        Gives what the model that summarizes them should know.
        """
        facts = self._manager.on_pre_compress(messages) if self._writes else ""
        self._history = []
        self._slots = self._slots and self._built()
        return facts

    def review(self, messages: Sequence[Message], model: ChatModel) -> Future[int]:
        """Let a model look back at a conversation, with nothing but the tools that keep something; in the background.

        Gives how many calls it made.
        """
        from gitmem.hosts.loop.review import review

        copied = list(messages)

        def look_back() -> int:
            try:
                return review(self, copied, model) if self._writes else 0
            except Exception as error:  # noqa: BLE001 (a model is foreign code)
                self._manager.note("The review", error)
                return 0

        done = self._reviewer.submit(look_back)
        self._reviews.append(done)
        return done

    # Inside

    @property
    def _writes(self) -> bool:
        return str(self._known["agent_context"]) == "primary"

    def _nudge(self) -> str:
        memory = self._manager.memory
        offered = {one["name"] for one in self.tools()} if self._writes else set()
        interval = memory.config.nudge_interval if memory is not None else 0
        if "revise" in offered and interval and self._turn % interval == 0:
            return NUDGE
        return SAVE_A_SKILL if "skill_manage" in offered and self._calls >= TOOL_CALLS else ""

    def _built(self) -> Slots:
        """The stable part of the prompt, from the state of this moment."""
        manager, given, platform = self._manager, self._given, self._known["platform"]
        memory = manager.memory
        began = f"The session began on {memory.world.here():%A, %Y-%m-%d}." if memory is not None else ""
        return replace(
            given,
            guidance=given.guidance if self.tools() else "",
            skills=given.skills or manager.skill_index(),
            provider=manager.build_system_prompt(),
            memory=manager.block(),
            moment="\n".join(filter(None, (began, f"Platform: {platform}" if platform else ""))),
        )
