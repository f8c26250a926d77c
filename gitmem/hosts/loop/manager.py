"""The manager: the built-in memory and at most one other provider, and no failure of either that an agent would see."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as StillRunning
from typing import TYPE_CHECKING, Any

from gitmem.hosts.loop.curated_provider import BUILTIN, CuratedProvider
from gitmem.hosts.loop.provider import MemoryProvider, Message, Schema
from gitmem.hosts.loop.recalled import build_memory_context_block, sanitize_context
from gitmem.memory.worker import Worker

if TYPE_CHECKING:
    from gitmem.hosts.loop.agent_session import AgentSession
    from gitmem.index.readers import Reader
    from gitmem.memory.memory import Memory

RESERVED = frozenset(
    (
        *("memory", "session_search", "skill_manage", "skill_view", "skills_list", "todo", "clarify"),
        *("read_file", "write_file", "patch", "search_files", "terminal", "process", "execute_code"),
        *("delegate_task", "cronjob", "web_search", "web_extract"),
    )
)
"""Names of tools that no other provider may have: they are the agent's own."""
_MOST_WARNINGS = 100


class MemoryManager:
    """An agent's memory. Every hook of every provider is called; an exception of one is a warning."""

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        reserved: Collection[str] = RESERVED,
        prefetch_wait: float = 8.0,
        shutdown_wait: float = 5.0,
        warn: Callable[[str], object] | None = None,
        reader: Reader | None = None,
    ) -> None:
        """`warn` hears each warning when it comes; `reserved` are the names of the agent's own tools."""
        self.warnings: list[str] = []
        self._warn = warn
        self._reserved = frozenset(reserved)
        self._prefetch_wait = prefetch_wait
        self._shutdown_wait = shutdown_wait
        self._providers: list[MemoryProvider] = []
        self._tools: dict[str, tuple[MemoryProvider, Schema]] = {}
        self._worker = Worker(failed=lambda error: self.note("The memory", error))
        self._turn = 0
        self._stuck: dict[str, threading.Thread] = {}
        self._closed = False
        self.builtin = CuratedProvider(memory, reader=reader) if memory is not None else None
        if self.builtin is not None:
            self._add(self.builtin)

    # Providers

    @property
    def providers(self) -> tuple[MemoryProvider, ...]:
        return tuple(self._providers)

    def add_provider(self, provider: MemoryProvider) -> bool:
        """Take in another provider; one that is not the first is rejected, with a warning."""
        name = self._name(provider)
        others = [self._name(one) for one in self._providers if one is not self.builtin]
        if name == BUILTIN or others:
            because = f"{others[0]} is there already" if others else "that name is taken"
            self._tell(f"The memory provider {name} was not added: {because}.")
            return False
        if not self.call(provider, "is_available"):
            self._tell(f"The memory provider {name} was not added: it is not available.")
            return False
        self._add(provider)
        return True

    def _add(self, provider: MemoryProvider) -> None:
        self._providers.append(provider)
        self._learn_tools(provider)

    def _learn_tools(self, provider: MemoryProvider) -> None:
        found = self.call(provider, "get_tool_schemas")
        for given in found if isinstance(found, list) else ():
            schema = _bare(given)
            if schema is None:
                self._tell(f"A tool of {self._name(provider)} has no name: it was left out.")
                continue
            name = str(schema["name"])
            if provider is not self.builtin and name in self._reserved:
                self._tell(f"The tool {name} of {self._name(provider)} was left out: that name is reserved.")
            elif self._tools.setdefault(name, (provider, schema))[0] is not provider:
                self._tell(f"The tool {name} of {self._name(provider)} was left out: there is one already.")

    def tool_schemas(self) -> list[Schema]:
        """Every tool, each once; those of the settings of this moment."""
        if self.builtin is not None:
            known = {row.name for row in self.builtin.tools()}
            mine = {name for name, (provider, _) in self._tools.items() if provider is self.builtin}
            return [schema for name, (_, schema) in self._tools.items() if name not in mine or name in known]
        return [schema for _, schema in self._tools.values()]

    def has_tool(self, name: str) -> bool:
        return name in self._tools

    # One session

    def session(self, session: str = "", **known: Any) -> AgentSession:
        """The life of one session: enter it by `with`. `known` is what AgentSession takes."""
        from gitmem.hosts.loop.agent_session import AgentSession

        return AgentSession(self, session, **known)

    def initialize_all(self, session_id: str, **kwargs: Any) -> None:
        for one in self._providers:
            self.call(one, "initialize", session_id, **kwargs)

    def build_system_prompt(self) -> str:
        """The blocks of the providers beside the built-in one, whose own have slots of their own."""
        others = [one for one in self._providers if one is not self.builtin]
        blocks = (self.call(one, "system_prompt_block") for one in others)
        return "\n\n".join(
            sanitize_context(block) for block in blocks if isinstance(block, str) and block.strip()
        )

    # One turn

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        self._turn = turn_number
        self._each("on_turn_start", turn_number, message, **kwargs)

    def prefetch_all(self, query: str, *, session_id: str = "") -> str:
        """Return what the providers recall for this turn, fenced. One that hangs recalls nothing, now and until it is
        back.
        """
        found = [self._prefetched(one, query, session_id) for one in self._providers]
        return build_memory_context_block("\n\n".join(text for text in found if text))

    def _prefetched(self, provider: MemoryProvider, query: str, session_id: str) -> str:
        if provider is self.builtin:
            return sanitize_context(self.call(provider, "prefetch", query)).strip()
        name, turn = self._name(provider), self._turn
        stuck = self._stuck.get(name)
        if stuck is not None and stuck.is_alive():
            return ""
        answers: list[tuple[int, object]] = []

        def work() -> None:
            text = self.call(provider, "prefetch", query, session_id=session_id)
            answers.append((turn, text))

        thread = self._stuck[name] = threading.Thread(
            target=work, name=f"gitmem-prefetch-{name}", daemon=True
        )
        thread.start()
        thread.join(self._prefetch_wait)
        # An answer that is not there by now is of a turn that has passed when it comes: nobody looks at it.
        text = next((text for made, text in answers if made == self._turn), "")
        if thread.is_alive():
            self._tell(f"{name} did not recall anything in time: the turn goes on without.")
        return sanitize_context(text).strip()

    def sync_all(
        self,
        user: str,
        assistant: str,
        *,
        session_id: str = "",
        messages: Sequence[Message] | None = None,
    ) -> None:
        """A turn is over. Ours is in the journal when this returns; the rest is the worker's."""
        copied = list(messages) if messages is not None else None
        if self.builtin is not None:
            mine = self.builtin
            self.call(mine, "sync_turn", user, assistant)
            self._worker.soon("settle", lambda: self.call(mine, "settle"))
        for one in self._providers:
            if one is not self.builtin:
                self._later(one, "sync_turn", user, assistant, session_id=session_id, messages=copied)
                self._later(one, "queue_prefetch", user, session_id=session_id)

    def _later(self, provider: MemoryProvider, hook: str, *args: Any, **kwargs: Any) -> None:
        self._worker.submit(lambda: self.call(provider, hook, *args, **kwargs))

    def handle_tool_call(self, name: str, args: Mapping[str, Any] | None = None, **kwargs: Any) -> str:
        """Return what a tool answers, as a JSON string, whatever happens."""
        found = self._tools.get(name)
        if found is None:
            return json.dumps({"error": f"There is no tool {name!r} here."})
        provider, given = found[0], dict(args) if isinstance(args, Mapping) else {}
        try:
            answer: object = provider.handle_tool_call(name, given, **kwargs)
        except Exception as error:  # noqa: BLE001 (the agent's turn goes on)
            self.note(f"{self._name(provider)} failed in {name}", error)
            return json.dumps(
                {"error": f"{name} failed: {error or type(error).__name__}"}, ensure_ascii=False
            )
        if not isinstance(answer, str):
            self._tell(f"{self._name(provider)} answered {name} with something that is no text.")
            answer = json.dumps(answer, ensure_ascii=False, default=str)
        if name == "memory" and provider is self.builtin:
            self._tell_of_write(given, answer)
        return answer if provider is self.builtin else _sanitized(answer)

    def _tell_of_write(self, given: Mapping[str, Any], answer: str) -> None:
        """The other provider hears what the memory tool did."""
        if not json.loads(answer).get("success"):
            return
        target = str(given.get("target") or "memory")
        for one in given.get("operations") or [given]:
            metadata = {"tool_name": "memory", "old_text": str(one.get("old_text") or "")}
            words = str(one.get("action")), target, str(one.get("content") or "")
            for provider in self._providers:
                if provider is not self.builtin:
                    self.call(provider, "on_memory_write", *words, metadata)

    # The life of a session

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        """Return what the providers have to say to whoever summarizes these messages."""
        copied = list(messages)
        found = [self.call(one, "on_pre_compress", copied) for one in self._providers]
        return "\n\n".join(sanitize_context(text) for text in found if isinstance(text, str) and text.strip())

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        self._each("on_session_switch", new_session_id, **kwargs)

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any) -> None:
        self._each("on_delegation", task, result, child_session_id=child_session_id, **kwargs)

    def on_session_end(self, messages: Sequence[Message]) -> None:
        """Hands over the last turns first, for as long as `shutdown_wait`."""
        self.flush_pending(self._shutdown_wait)
        self._each("on_session_end", list(messages))

    def flush_pending(self, timeout: float) -> bool:
        """Wait for the worker; False where that takes longer."""
        try:
            self._worker.submit(lambda: None).result(timeout)
        except StillRunning:
            self._tell("A memory provider is busy: what it was told last is not waited for.")
            return False
        return True

    def shutdown_all(self) -> None:
        """Every provider, the last one first, each for as long as `shutdown_wait`; once is enough."""
        if self._closed:
            return
        self._closed = True
        self._worker.forget_timed()
        for one in reversed(self._providers):
            thread = threading.Thread(
                target=self.call,
                args=(one, "shutdown"),
                name="gitmem-shutdown",
                daemon=True,
            )
            thread.start()
            thread.join(self._shutdown_wait if one is not self.builtin else None)
            if thread.is_alive():
                self._tell(f"{self._name(one)} did not shut down in time.")

    def __enter__(self) -> MemoryManager:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown_all()

    # Inside

    def _each(self, hook: str, *args: Any, **kwargs: Any) -> None:
        for one in self._providers:
            self.call(one, hook, *args, **kwargs)

    def call(self, provider: MemoryProvider, hook: str, /, *args: Any, **kwargs: Any) -> Any:
        """Return what a method of a provider gives; None, and a warning, where it raises or is not there."""
        try:
            return getattr(provider, hook)(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 (a provider is somebody else's code)
            self.note(f"{self._name(provider)} failed in {hook}", error)
            return None

    def _name(self, provider: MemoryProvider) -> str:
        try:
            return str(provider.name)
        except Exception:  # noqa: BLE001 (a provider is somebody else's code)
            return type(provider).__name__

    def note(self, what: str, error: Exception) -> None:
        self._tell(f"{what}: {error or type(error).__name__}")

    def _tell(self, sentence: str) -> None:
        """The same warning is kept once: one that comes each turn would hide the others."""
        if sentence in self.warnings or len(self.warnings) >= _MOST_WARNINGS:
            return
        self.warnings.append(sentence)
        if self._warn is not None:
            self._warn(sentence)


def _sanitized(answer: str) -> str:
    """Return what another provider answers, without what could end the fence or turn the text around; escapes included."""
    try:
        return json.dumps(_without_marks(json.loads(answer)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return sanitize_context(answer)


def _without_marks(value: Any) -> Any:
    if isinstance(value, str):
        return sanitize_context(value)
    if isinstance(value, Mapping):
        return {sanitize_context(key): _without_marks(one) for key, one in value.items()}
    return list(map(_without_marks, value)) if isinstance(value, list) else value


def _bare(schema: object) -> Schema | None:
    """A tool's schema as name, description and parameters, also from the wrapped form; None where it has no name."""
    for one in _unwrapped(schema):
        if isinstance(one, Mapping) and isinstance(one.get("name"), str) and one["name"].strip():
            return {
                "name": one["name"],
                "description": str(one.get("description") or ""),
                "parameters": one.get("parameters") or {"type": "object", "properties": {}},
            }
    return None


def _unwrapped(schema: object) -> Iterator[object]:
    if isinstance(schema, Mapping):
        yield schema.get("function")
    yield schema
