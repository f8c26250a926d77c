"""The built-in provider: the curated store, the session's record, and our own tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.hosts.loop.provider import MemoryProvider, Message, Schema
from gitmem.hosts.tools import calls
from gitmem.hosts.tools.table import TOOLS, Tool, offered_by
from gitmem.memory.session import Session
from gitmem.world import platform_name

if TYPE_CHECKING:
    from gitmem.index.readers import Reader
    from gitmem.memory.memory import Memory

BUILTIN = "builtin"
_KNOWN = ("agent", "model", "platform", "parent", "title", "user", "chat", "chat_type")


class CuratedProvider(MemoryProvider):
    """MEMORY.md, USER.md and what is said, for one agent. It writes for a primary agent alone."""

    def __init__(self, memory: Memory, *, reader: Reader | None = None) -> None:
        self.memory = memory
        self.session = Session(memory, reader=reader)
        """Not open before a session begins, and for an agent that only reads."""
        self._reader = reader
        self._block = ""
        self._turn = 0

    @property
    def name(self) -> str:
        return BUILTIN

    def is_available(self) -> bool:
        return True

    # Begin and end

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        known: dict[str, Any] = {name: str(kwargs[name]) for name in _KNOWN if kwargs.get(name)}
        # The worker commits behind every turn.
        self.session = Session(
            self.memory, session_id, reader=self._reader, flush_soon=lambda _: None, **known
        )
        if str(kwargs.get("agent_context") or "primary") == "primary":
            self.session.start()

    @property
    def session_id(self) -> str:
        return self.session.id

    def on_session_end(self, messages: Sequence[Message]) -> None:
        self.session.end(messages)

    def shutdown(self) -> None:
        self.on_session_end(())

    # The prompt, and what is recalled for a turn

    def skill_index(self) -> str:
        """The skills as they are listed in the prompt of this session."""
        return self.memory.skills.index(platform=platform_name())

    def blocks(self) -> tuple[str, str]:
        """MEMORY and USER as they are frozen now; the session records which state that was."""
        from gitmem.memory.curated.prompt_block import freeze

        asked = self.session if self.session.is_open else self.memory
        self._block = asked.prompt_block()
        memory, user = (freeze(self.memory, targets=(target,)).text for target in ("memory", "user"))
        return memory, user

    def prefetch(self, query: str, *, session_id: str = "") -> str:  # noqa: ARG002 (ours is known)
        config = self.memory.config
        is_due = config.context_cadence > 0 and (self._turn - 1) % config.context_cadence == 0
        if config.recall_mode == "tools" or config.context_budget <= 0 or not is_due:
            return ""
        return self.session.context(query, block=self._block).lines

    def on_turn_start(self, turn_number: int, message: str, **_: Any) -> None:
        self._turn = turn_number
        if self.session.is_open:
            self.session.said(message)

    # Capture

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",  # noqa: ARG002 (ours is known)
        messages: Sequence[Message] | None = None,  # noqa: ARG002 (calls are recorded as they are made)
    ) -> None:
        if self.session.is_open:
            self.session.answered(assistant_content, user=user_content)

    def record_call(self, name: str, args: Any, result: str) -> None:
        """A tool of the agent's own was called: what it returned was heard."""
        if self.session.is_open:
            self.session.returned(name, args, result)

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **_: Any) -> None:
        if self.session.is_open:
            self.session.delegated(task, result, child_session_id)

    def settle(self) -> None:
        """On the worker, behind a turn: commit it, and bring the index up, so that the next turn finds it done."""
        if self.session.is_open:
            self.session.flush("turn")
            self.memory.index.current()

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        return self.session.compress(messages).text if self.session.is_open else ""

    # Tools

    def tools(self) -> list[Tool]:
        """The rows that the settings allow; without a store there is no memory tool, without a session none that writes."""
        config = self.memory.config
        rows = offered_by(config, "loop")
        if not (config.memory_enabled or config.user_profile_enabled):
            rows = [row for row in rows if row.name != "memory"]
        return rows

    def get_tool_schemas(self) -> list[Schema]:
        return [json.loads(json.dumps(row.for_model())) for row in self.tools()]

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any] | None = None, **_: Any) -> str:
        known = {row.name for row in self.tools()}
        if tool_name not in known:
            return json.dumps({"error": f"There is no tool {tool_name!r} here."})
        if TOOLS[tool_name].reads:
            self.session.flush_for_search()
        elif not self.session.is_open:
            return json.dumps({"error": f"{tool_name} is not possible here: only the main agent writes."})
        answer = calls.run(tool_name, args or {}, self.memory, self.session)
        return json.dumps(answer.value, ensure_ascii=False)
