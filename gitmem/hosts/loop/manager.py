"""The manager: our memory and at most one other provider, and no failure of either that an agent would see."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunning
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeVar

from gitmem.hosts.loop.provider import MemoryProvider, Message, Schema
from gitmem.hosts.tools.calls import refused, run
from gitmem.hosts.tools.table import TOOLS, offered
from gitmem.memory.find.prefetch import recalls
from gitmem.memory.session import Session
from gitmem.memory.worker import Worker
from gitmem.safety.fence import fence, sanitize

if TYPE_CHECKING:
    from gitmem.hosts.loop.agent_session import AgentSession
    from gitmem.index.readers import Reader
    from gitmem.memory.memory import Memory

RESERVED = frozenset(
    (
        *("memory", "remember", "revise", "skill_manage", "skill_view", "skills_list", "todo", "clarify"),
        *("read_file", "write_file", "patch", "search_files", "terminal", "process", "execute_code"),
        *("delegate_task", "cronjob", "web_search", "web_extract"),
    )
)
"""Names of tools that no other provider may have: they are the agent's own."""
BUILTIN = "builtin"
_KNOWN = ("agent", "model", "platform", "parent", "user", "chat", "chat_type")
_MOST_WARNINGS = 100
_RECALL_WAIT = 8.0
_SHUTDOWN_WAIT = 5.0
_UNSEEN = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]")
"""Characters that change the direction in which text is shown, or spell out text that nobody sees."""
_T = TypeVar("_T")


class MemoryManager:
    """An agent's memory. Every hook reaches our session and the other provider; an exception is a warning."""

    def __init__(self, memory: Memory | None = None, *, reader: Reader | None = None) -> None:
        self.memory = memory
        self.provider: MemoryProvider | None = None
        """The one beside our own memory."""
        self.driver: Session | None = Session(memory, reader=reader) if memory is not None else None
        """Our session: not open before one begins, and for an agent that only reads."""
        self.warnings: list[str] = []
        self._reader = reader
        self._tools: dict[str, Schema] = {}
        """The tools of the other provider."""
        self._recalls = Worker(failed=lambda error: self.note("The recall", error))
        """For the other provider, which may hang: nothing but recall, and the end, waits for it."""
        self._late: Future[Any] | None = None
        """The recall of a turn that went on without it."""
        self._worker = Worker(failed=lambda error: self.note("The memory", error))
        self._turn = 0
        self._block = ""
        self._closed = False

    # The other provider, and tools

    def add_provider(self, provider: MemoryProvider) -> bool:
        """Take in another provider; one that is not the first is rejected, with a warning."""
        name, because = _name(provider), ""
        if self.provider is not None:
            because = f"{_name(self.provider)} is there already"
        elif name == BUILTIN:
            because = "that name is taken"
        elif not self._safely(name, "is_available", lambda: bool(provider.is_available())):
            because = "it is not available"
        if because:
            self._tell(f"The memory provider {name} was not added: {because}.")
            return False
        self.provider = provider
        found = self._other("get_tool_schemas")
        for schema in found if isinstance(found, list) else ():
            self._learn_tool(name, schema)
        return True

    def _learn_tool(self, provider: str, schema: object) -> None:
        name = schema.get("name") if isinstance(schema, Mapping) else None
        if not isinstance(schema, Mapping) or not isinstance(name, str) or not name.strip():
            self._tell(f"A tool of {provider} has no name: it was left out.")
        elif name in RESERVED:
            self._tell(f"The tool {name} of {provider} was left out: that name is reserved.")
        elif self.has_tool(name):
            self._tell(f"The tool {name} of {provider} was left out: there is one already.")
        else:
            parameters = schema.get("parameters") or {"type": "object", "properties": {}}
            says = str(schema.get("description") or "")
            self._tools[name] = {"name": name, "description": says, "parameters": parameters}

    def tool_schemas(self) -> list[Schema]:
        """Every tool, each once: ours as the settings of this moment allow them; without a store nothing is revised."""
        ours: list[Schema] = []
        if self.memory is not None:
            config = self.memory.config
            has_store = config.memory_enabled or config.user_profile_enabled
            rows = [row for row in offered("loop", config) if has_store or row.name != "revise"]
            ours = [deepcopy(row.for_model()) for row in rows]
        return [*ours, *self._tools.values()]

    def has_tool(self, name: str) -> bool:
        return name in [one["name"] for one in self.tool_schemas()]

    def handle_tool_call(self, name: str, args: Mapping[str, Any] | None = None, **kwargs: Any) -> str:
        """Return what a tool answers, as a JSON string, also where it fails."""
        given = dict(args) if isinstance(args, Mapping) else {}
        if not self.has_tool(name):
            return refused(f"There is no tool {name!r} here.")
        whose = BUILTIN if name not in self._tools else _name(self.provider)
        try:
            if name not in self._tools:
                return self._called(name, given)
            answer: object = self.provider.handle_tool_call(name, given, **kwargs)  # type: ignore[union-attr]
        except Exception as error:  # noqa: BLE001 (the agent's turn goes on)
            self.note(f"{whose} failed in {name}", error)
            return refused(sanitize_context(f"{name} failed: {error or type(error).__name__}"))
        if isinstance(answer, str):
            return _sanitized(answer)
        self._tell(f"{whose} answered {name} with something that is no text.")
        return _sanitized(json.dumps(answer, ensure_ascii=False, default=str))

    def _called(self, name: str, given: Mapping[str, Any]) -> str:
        assert self.memory is not None
        assert self.driver is not None
        if TOOLS[name].reads:
            self.driver.flush_for_search()
        elif not self.driver.is_open:
            return refused(f"{name} is not possible here: only the main agent writes.")
        answer = run(name, given, self.memory, self.driver)
        if written := answer.written:
            metadata = {"tool_name": "memory", "old_text": written.old_text}
            self._other("on_memory_write", written.action, written.target, written.content, metadata)
        return answer.as_json()

    # One session

    def session(self, session: str = "", **known: Any) -> AgentSession:
        """The life of one session: enter it by `with`. `known` is what AgentSession takes."""
        from gitmem.hosts.loop.agent_session import AgentSession

        return AgentSession(self, session, **known)

    def initialize_all(self, session_id: str, **kwargs: Any) -> None:
        if (memory := self.memory) is not None:
            self._safely(BUILTIN, "initialize", lambda: self._begin(memory, session_id, kwargs))
        self._other("initialize", session_id, **kwargs)

    def _begin(self, memory: Memory, session_id: str, kwargs: Mapping[str, Any]) -> None:
        known: dict[str, Any] = {name: str(kwargs[name]) for name in _KNOWN if kwargs.get(name)}
        # The worker commits behind every turn.
        self.driver = Session(memory, session_id, reader=self._reader, flush_soon=lambda _: None, **known)
        if str(kwargs.get("agent_context") or "primary") == "primary":
            self.driver.start()
            if title := kwargs.get("title"):  # one that is refused does not cost the session
                self.driver.annotate(title=str(title))

    def block(self) -> str:
        """MEMORY and USER as they are frozen now; the session records which state that was."""
        session = self.driver
        known = session if session is not None and session.is_open else self.memory
        self._block = (known and self._safely(BUILTIN, "prompt_block", known.prompt_block)) or ""
        return self._block

    def skill_index(self) -> str:
        """The skills as they are listed in the prompt of this machine's sessions."""
        memory = self.memory
        return (memory and self._safely(BUILTIN, "skills", memory.skills.index)) or ""

    def build_system_prompt(self) -> str:
        """The block of the other provider; our own has slots of its own."""
        return _text(self._other("system_prompt_block"))

    # One turn

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        self._turn = turn_number
        self._driven("on_turn_start", lambda session: session.said(message))
        self._other("on_turn_start", turn_number, message, **kwargs)

    def prefetch_all(self, query: str, *, session_id: str = "") -> str:
        """Return what is recalled for this turn, fenced. A provider that hangs recalls nothing until it is back."""
        ours = self._safely(BUILTIN, "prefetch", lambda: self._recalled(query))
        return build_memory_context_block(_together(ours, self._prefetched(query, session_id)))

    def _recalled(self, query: str) -> str:
        if self.memory is None or self.driver is None or not recalls(self.memory.config, self._turn):
            return ""
        return self.driver.context(query, block=self._block).lines

    def _prefetched(self, query: str, session_id: str) -> object:
        if self.provider is None or (self._late is not None and not self._late.done()):
            return None
        asked = self._recalls.submit(lambda: self._other("prefetch", query, session_id=session_id))
        try:
            return asked.result(_RECALL_WAIT)
        except StillRunning:  # an answer that is late is of a turn that has passed
            self._late = asked
            self._tell(f"{_name(self.provider)} did not recall anything in time: the turn goes on without.")
            return None

    def record_call(self, name: str, arguments: Any, result: str) -> None:
        """A tool of the agent's own returned this: it was heard."""
        self._driven("record_call", lambda session: session.returned(name, arguments, result))

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
        self._driven("sync_turn", lambda session: session.answered(assistant, user=user))
        self._worker.soon("settle", lambda: self._driven("settle", self._settle))
        self._worker.do(
            lambda: self._other("sync_turn", user, assistant, session_id=session_id, messages=copied)
        )
        self._worker.do(lambda: self._other("queue_prefetch", user, session_id=session_id))

    def _settle(self, session: Session) -> None:
        """Behind a turn: commit it, and bring the index up, so that the next turn finds it done."""
        session.flush("turn")
        if self.memory is not None:
            self.memory.index.current()

    # The life of a session

    def on_pre_compress(self, messages: Sequence[Message]) -> str:
        """Return what the providers have to say to the model that summarizes these messages."""
        copied = list(messages)
        ours = self._driven("on_pre_compress", lambda session: session.compress(copied).text)
        return _together(ours, self._other("on_pre_compress", copied))

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any) -> None:
        self._driven("on_delegation", lambda session: session.delegated(task, result, child_session_id))
        self._other("on_delegation", task, result, child_session_id=child_session_id, **kwargs)

    def on_session_end(self, messages: Sequence[Message]) -> None:
        """Hand over the last turns first, and wait a moment for that."""
        self.flush_pending(_SHUTDOWN_WAIT)
        copied = list(messages)
        self._driven("on_session_end", lambda session: session.end(copied))
        self._other("on_session_end", copied)

    def flush_pending(self, timeout: float) -> bool:
        """Wait for the worker; False where that takes longer."""
        try:
            self._worker.submit(lambda: None).result(timeout)
        except StillRunning:
            self._tell("A memory provider is busy: its last turns are not waited for.")
            return False
        return True

    def shutdown_all(self) -> None:
        """The other provider first, which is waited for a moment, then our session; once is enough."""
        if self._closed:
            return
        self._closed = True
        try:
            self._recalls.submit(lambda: self._other("shutdown")).result(_SHUTDOWN_WAIT)
        except StillRunning:
            self._tell(f"{_name(self.provider)} did not shut down in time.")
        self._driven("shutdown", lambda session: session.end())

    def __enter__(self) -> MemoryManager:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown_all()

    # Inside

    def _driven(self, hook: str, work: Callable[[Session], _T]) -> _T | None:
        """Let our session do something, where it is open."""
        session = self.driver
        if session is None or not session.is_open:
            return None
        return self._safely(BUILTIN, hook, lambda: work(session))

    def _other(self, hook: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the other provider, where there is one; what it gives has nothing that could end a fence."""
        if self.provider is None:
            return None
        return _without_marks(
            self._safely(_name(self.provider), hook, lambda: getattr(self.provider, hook)(*args, **kwargs))
        )

    def _safely(self, whose: str, hook: str, work: Callable[[], _T]) -> _T | None:
        """Ask one of us for something; None, and a warning, where that fails."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 (the agent's turn goes on)
            self.note(f"{whose} failed in {hook}", error)
            return None

    def note(self, what: str, error: Exception) -> None:
        self._tell(f"{what}: {error or type(error).__name__}")

    def _tell(self, sentence: str) -> None:
        """The same warning is kept once: one that comes each turn would hide the others."""
        if sentence not in self.warnings and len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(sentence)


# --- what a provider returns, on its way to the model ------------------------------------------------------


def build_memory_context_block(recalled: object) -> str:
    """Recalled text as a block that says it is data; nothing where there is none, or where it is no text."""
    return fence(recalled) if _text(recalled) else ""  # type: ignore[arg-type]


def sanitize_context(text: object) -> str:
    """A text without anything that opens or closes such a block, or that a person would read otherwise than a model."""
    return _UNSEEN.sub("", sanitize(text)) if isinstance(text, str) else ""


def _text(found: object) -> str:
    """A text that says something."""
    return found.strip() if isinstance(found, str) else ""


def _together(*found: object) -> str:
    return "\n\n".join(filter(None, (_text(sanitize_context(one)) for one in found)))


def _sanitized(answer: str) -> str:
    """The answer of a tool of the other provider, also where it writes such characters as escapes of JSON."""
    try:
        return json.dumps(_without_marks(json.loads(answer)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return sanitize_context(answer)


def _without_marks(value: Any) -> Any:
    """A value with every text in it sanitized."""
    if isinstance(value, str):
        return sanitize_context(value)
    if isinstance(value, Mapping):
        return {_without_marks(key): _without_marks(one) for key, one in value.items()}
    return list(map(_without_marks, value)) if isinstance(value, list) else value


def _name(provider: MemoryProvider | None) -> str:
    try:
        return str(provider.name)  # type: ignore[union-attr]
    except Exception:  # noqa: BLE001 (a provider is foreign code)
        return type(provider).__name__
