"""The built-in provider: the curated store, the session's record, and our own tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.hosts.loop.provider import MemoryProvider, Message, Schema
from gitmem.hosts.tools import calls
from gitmem.hosts.tools.caller import Caller
from gitmem.hosts.tools.table import TOOLS, Tool, offered_by
from gitmem.memory.exposure import RECALLED, Exposure

if TYPE_CHECKING:
    from gitmem.index.readers import Reader
    from gitmem.memory.capture.recorder import SessionInfo
    from gitmem.memory.memory import Memory
    from gitmem.memory.session import Session
    from gitmem.okf.entries import EntryKey

BUILTIN = "builtin"
_KNOWN = ("agent", "model", "platform", "parent", "title", "user", "chat", "chat_type")


class CuratedProvider(MemoryProvider):
    """MEMORY.md, USER.md and what is said, for one agent. It writes for a primary agent alone."""

    def __init__(self, memory: Memory, *, reader: Reader | None = None) -> None:
        self.memory = memory
        self.session: Session | None = None
        """None before a session begins, and for an agent that only reads."""
        self._reader = reader
        self._caller: _LoopCaller | None = None
        self._session_id = ""
        self._block = ""
        self._turn = 0

    @property
    def name(self) -> str:
        return BUILTIN

    def is_available(self) -> bool:
        return True

    # Begin and end

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        self._session_id = session_id
        if str(kwargs.get("agent_context") or "primary") == "primary":
            known = {name: str(kwargs[name]) for name in _KNOWN if kwargs.get(name)}
            self.session = self.memory.session(session_id, **known).start()
            self._session_id = self.session.id
            self._caller = _LoopCaller(self.memory, self.session, self._reader)

    @property
    def session_id(self) -> str:
        return self._session_id

    def on_session_end(self, messages: Sequence[Message]) -> None:
        if self.session is not None:
            self.session.end(messages)
            self.session = self._caller = None

    def shutdown(self) -> None:
        self.on_session_end(())

    # The prompt, and what is recalled for a turn

    def skill_index(self) -> str:
        """The skills as they are listed in the prompt of this session."""
        return self.memory.skills.index()

    def blocks(self) -> tuple[str, str]:
        """MEMORY and USER as they are frozen now; the session records which state that was."""
        from gitmem.memory.curated.prompt_block import freeze

        if self.session is not None:
            self._block = self.session.prompt_block()
        else:
            self._block = self.memory.prompt_block()
        memory, user = (freeze(self.memory, targets=(target,)).text for target in ("memory", "user"))
        return memory, user

    def prefetch(self, query: str, *, session_id: str = "") -> str:  # noqa: ARG002 (ours is known)
        config = self.memory.config
        is_due = config.context_cadence > 0 and (self._turn - 1) % config.context_cadence == 0
        if config.recall_mode == "tools" or config.context_budget <= 0 or not is_due:
            return ""
        found = self.memory.context(query, session=self._session_id, block=self._block, reader=self._reader)
        if self._caller is not None:
            self._caller.shown((one.path, one.key) for one in found.shown)
        return found.lines

    def on_turn_start(self, turn_number: int, message: str, **_: Any) -> None:
        self._turn = turn_number
        if self.session is not None:
            self.session.hear(message)

    # Capture

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",  # noqa: ARG002 (ours is known)
        messages: Sequence[Message] | None = None,  # noqa: ARG002 (calls are recorded as they are made)
    ) -> None:
        if self.session is not None and (user_content or assistant_content):
            self.session.buffer.append("turn", user=user_content, assistant=assistant_content)

    def record_call(self, name: str, args: Any, result: str) -> None:
        """A tool of the agent's own was called: what it returned was heard."""
        if self.session is not None:
            self.session.buffer.append("tool_call", tool_name=name, args=args, result=result)

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **_: Any) -> None:
        if self.session is not None:
            known = {"child_session": child_session_id} if child_session_id else {}
            content = f"Delegated: {task}\n\nResult: {result}"
            self.session.buffer.append("observation", content=content, category="Delegation", **known)

    def settle(self) -> None:
        """On the worker, behind a turn: commit it, and bring the index up, so that the next turn finds it done."""
        if self.session is not None:
            self.session.flush("turn")
            self.memory.index.current()

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        return self.session.compress(messages).text if self.session is not None else ""

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
        caller = self._caller
        if caller is None:
            if not TOOLS[tool_name].reads:
                return json.dumps({"error": f"{tool_name} is not possible here: only the main agent writes."})
            caller = _LoopCaller(self.memory, None, self._reader)
        elif TOOLS[tool_name].reads:
            caller.flush()  # what was kept a moment ago is found
        return json.dumps(calls.run(tool_name, args or {}, caller).value, ensure_ascii=False)


class _LoopCaller(Caller):
    """The tools' caller of one session; without one, it only reads."""

    def __init__(self, memory: Memory, session: Session | None, reader: Reader | None) -> None:
        super().__init__()
        self._memory = memory
        self._open = session
        self.reader = reader

    @property
    def memory(self) -> Memory:
        return self._memory

    @property
    def session(self) -> SessionInfo:
        from gitmem.memory.capture.recorder import SessionInfo

        return self._open.info if self._open is not None else SessionInfo("")

    def record(self, kind: str, **fields: Any) -> str:
        assert self._open is not None
        return self._open.buffer.append(kind, **fields)

    def flush(self) -> None:
        if self._open is not None and len(self._open.buffer):
            self._open.flush()

    def shown(self, entries: Iterable[tuple[str, EntryKey]]) -> None:
        if self._open is None:
            return
        names = self._memory.part(Exposure).was_shown(self._open.id, entries)
        try:
            if names:
                self._open.buffer.append(RECALLED, entries=names)
        except GitMemError:  # the session is over: nobody writes after this
            return
