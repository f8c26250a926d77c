"""The interface of a memory provider, in the shape that Hermes' own has, so that one class serves both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

Message = Mapping[str, Any]
Messages = Sequence[Message] | None
Schema = dict[str, Any]


class MemoryProvider(ABC):
    """A memory behind an agent. Four methods are a provider's own; every other one may stay as it is."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return what it is called; `builtin` is ours."""

    @abstractmethod
    def is_available(self) -> bool:
        """Return whether it can be used, without asking a network."""

    @abstractmethod
    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """A session begins: `platform`, `agent_context` (`primary` writes), and what else is known of it."""

    @abstractmethod
    def get_tool_schemas(self) -> list[Schema]:
        """Its tools, as name, description and parameters; also before `initialize`."""

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any] | None = None, **kwargs: Any) -> str:
        """The answer of one of its tools, as a JSON string."""
        raise NotImplementedError(f"{self.name} has no tool {tool_name!r}")

    # The prompt, and what is recalled for a turn

    def system_prompt_block(self) -> str:
        """Return what it adds to the system prompt: the same bytes until the prompt is rebuilt."""
        return ""

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return what is worth knowing for a turn, without fence or note; at once."""
        return ""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """A turn is over: look up what the next may need."""
        return

    # The life of a session

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        return

    def sync_turn(
        self, user_content: str, assistant_content: str, *, session_id: str = "", messages: Messages = None
    ) -> None:
        """A turn is over; on the worker."""
        return

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Something was written to MEMORY or USER; `old_text` is in the metadata."""
        return

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        """Messages are about to be forgotten; the answer goes to the model that summarizes them."""
        return ""

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any) -> None:
        return

    def on_session_end(self, messages: Sequence[Message]) -> None:
        return

    def shutdown(self) -> None:
        """The last chance to keep something."""
        return
