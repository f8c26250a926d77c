"""A memory, and providers of all sorts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from gitmem.hosts.loop.manager import MemoryManager
from gitmem.hosts.loop.provider import MemoryProvider, Message
from gitmem.memory.memory import Memory

from tests.memory.conftest import bundle, clock, make_bundle

__all__ = ["bundle", "clock", "make_bundle"]

Make = Callable[..., MemoryManager]


class Noting(MemoryProvider):
    """A good provider that keeps what it is told."""

    def __init__(self, name: str = "notes") -> None:
        self._name = name
        self.told: list[tuple[Any, ...]] = []
        self.block = "The notes are open."
        self.recalls = "A note about it."

    @property
    def name(self) -> str:
        return self._name

    def is_available(self) -> bool:
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        self.told.append(("initialize", session_id, kwargs["agent_context"]))

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return [{"name": "notes_find", "description": "Find a note.", "parameters": {"type": "object"}}]

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any] | None = None, **_: Any) -> str:
        return f'{{"found": "{tool_name}"}}'

    def system_prompt_block(self) -> str:
        return self.block

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        self.told.append(("prefetch", query, session_id))
        return self.recalls

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        self.told.append(("queue_prefetch", query))

    def on_turn_start(self, turn_number: int, message: str, **_: Any) -> None:
        self.told.append(("on_turn_start", turn_number, message))

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Message] | None = None,
    ) -> None:
        self.told.append(("sync_turn", user_content, assistant_content))

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: Mapping[str, Any] | None = None
    ) -> None:
        self.told.append(("on_memory_write", action, target, content, (metadata or {}).get("old_text")))

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        self.told.append(("on_pre_compress", len(messages)))
        return "The notes say so."

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **_: Any) -> None:
        self.told.append(("on_delegation", task, result))

    def on_session_end(self, messages: Sequence[Message]) -> None:
        self.told.append(("on_session_end", len(messages)))

    def shutdown(self) -> None:
        self.told.append(("shutdown",))


class Raising(Noting):
    """Every hook of it raises, its name included once it is there."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not callable(found) or name in ("is_available", "get_tool_schemas") or name.startswith("_"):
            return found

        def fail(*_: Any, **__: Any) -> Any:
            raise RuntimeError(f"{name} is broken")

        return fail


class Hanging(Noting):
    """It hangs in prefetch until a test lets it go."""

    def __init__(self) -> None:
        super().__init__("hanging")
        self.go = threading.Event()

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        super().prefetch(query, session_id=session_id)
        assert self.go.wait(120)
        return f"An old answer to {query}"


@pytest.fixture
def make(bundle: Memory) -> Iterator[Make]:
    """Makes managers of one memory; each is shut down at the end."""
    made: list[MemoryManager] = []

    def manager(*providers: MemoryProvider, memory: Memory | None = bundle, **options: Any) -> MemoryManager:
        one = MemoryManager(memory, **options)
        made.append(one)
        for provider in providers:
            one.add_provider(provider)
        return one

    yield manager
    for one in made:
        one.shutdown_all()
