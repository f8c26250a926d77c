from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack

from gitmem.memory.capture.session_page import SessionOptions
from gitmem.memory.memory import Memory
from gitmem.memory.session import Session

P = ParamSpec("P")
R = TypeVar("R")
Of = TypeVar("Of")

async def in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R: ...

class _Verb(Generic[Of, P, R]):
    def __init__(self, verb: Callable[Concatenate[Of, P], R]) -> None: ...
    def __get__(self, owner: object, _: type) -> Callable[P, Coroutine[Any, Any, R]]: ...

class _Listed(Generic[Of, P, R]):
    def __init__(self, verb: Callable[Concatenate[Of, P], Iterator[R]]) -> None: ...
    def __get__(self, owner: object, _: type) -> Callable[P, Coroutine[Any, Any, list[R]]]: ...

class AsyncMemory:
    memory: Memory
    def __init__(self, memory: Memory) -> None: ...
    @property
    def warnings(self) -> list[str]: ...
    def session(self, session: str = "", **about: Unpack[SessionOptions]) -> Session: ...
    close = _Verb(Memory.close)
    remember = _Verb(Memory.remember)
    replace = _Verb(Memory.replace)
    forget = _Verb(Memory.forget)
    prompt_block = _Verb(Memory.prompt_block)
    record_observation = _Verb(Memory.record_observation)
    record_decision = _Verb(Memory.record_decision)
    record_tool_call = _Verb(Memory.record_tool_call)
    record_turn = _Verb(Memory.record_turn)
    record_event = _Verb(Memory.record_event)
    register_tool = _Verb(Memory.register_tool)
    search = _Verb(Memory.search)
    recall = _Verb(Memory.recall)
    recent_sessions = _Verb(Memory.recent_sessions)
    read_session = _Verb(Memory.read_session)
    context = _Verb(Memory.context)
    log = _Listed(Memory.log)
    show = _Verb(Memory.show)
    diff = _Verb(Memory.diff)
    blame = _Verb(Memory.blame)
    trace = _Verb(Memory.trace)
    digest = _Verb(Memory.digest)
    revert = _Verb(Memory.revert)
    restore = _Verb(Memory.restore)
    undo = _Verb(Memory.undo)
    undoable = _Verb(Memory.undoable)
    redo = _Verb(Memory.redo)
    snapshot = _Verb(Memory.snapshot)
    sync = _Verb(Memory.sync)
    erase = _Verb(Memory.erase)
    export = _Verb(Memory.export)
    bring_in = _Verb(Memory.bring_in)

class AsyncSession:
    session: Session
    def __init__(self, session: Session) -> None: ...
    @property
    def id(self) -> str: ...
    async def start(self) -> AsyncSession: ...
    end = _Verb(Session.end)
    remember = _Verb(Session.remember)
    said = _Verb(Session.said)
    returned = _Verb(Session.returned)
    delegated = _Verb(Session.delegated)
    answered = _Verb(Session.answered)
    record_observation = _Verb(Session.record_observation)
    record_decision = _Verb(Session.record_decision)
    record_tool_call = _Verb(Session.record_tool_call)
    record_turn = _Verb(Session.record_turn)
    context = _Verb(Session.context)
    flush = _Verb(Session.flush)
    annotate = _Verb(Session.annotate)
    prompt_block = _Verb(Session.prompt_block)
    compress = _Verb(Session.compress)
