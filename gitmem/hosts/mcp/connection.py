"""One connection: a client, its session, its journal, and the memory behind them. All of it belongs to the worker."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gitmem.errors import BundleNotFound, GitMemError
from gitmem.hosts.brief import last_seen, note_seen
from gitmem.hosts.tools import calls
from gitmem.hosts.tools.calls import ToolAnswer
from gitmem.hosts.tools.table import TOOLS
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.opening import find_root, is_trusted, of_others, open_bundle
from gitmem.memory.session import Session

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.world import World

_FREE = re.compile(r"[^\w.@+-]+")
_LONGEST_NAME = 60


class Connection:
    """One client and its calls. The first call opens the memory, and a later one opens it again where it was lost."""

    def __init__(self, world: World, chosen: str, client: str, version: str) -> None:
        self._world = world
        self._chosen = chosen
        self.client = _FREE.sub("-", client)[:_LONGEST_NAME].strip("-") or "mcp"
        version = _FREE.sub("-", version)[:_LONGEST_NAME].strip("-")
        self._agent = f"{self.client}/{version}" if version else self.client
        self._about: SessionInfo | None = None
        self._session: Session | None = None
        self._memory: Memory | None = None
        self._place: object = None
        self.last_seen = ""
        """Where the memory stood when this client was last here."""

    @property
    def memory(self) -> Memory:
        if self._memory is None:
            root = find_root(self._world, self._chosen, by_place=False)
            if not is_trusted(self._world, root):
                raise of_others(self._world, root)
            memory = open_bundle(self._world, root, "write")
            self._memory, self._place = memory, _place(memory)
            self.last_seen = self.last_seen or last_seen(memory, self.client)
        return self._memory

    @property
    def session(self) -> Session:
        """The session of this connection; it has a page when something of it is committed."""
        if self._session is None:
            memory = self.memory
            self._about = self._about or SessionInfo(
                f"mcp-{self._world.clock():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}",
                started=memory.now(),
                agent=self._agent,
                machine=memory.config.machine,
                source="mcp",
                title=f"{self.client} over MCP",
            )
            # The server asks between two calls whether it is full.
            self._session = Session(memory, self._about, flush_soon=lambda _: None)
        return self._session

    # Calls

    @property
    def shows_past(self) -> bool:
        """Return whether the settings of the memory, as far as it is open, let the model look at what was removed."""
        return self._memory is not None and self._memory.config.past_tools

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """The answer of a tool; a failure is one sentence."""
        try:
            self._look_for_it()
            self.session.call_begins()
            if TOOLS[name].reads:
                self.session.flush_for_search()
            return calls.run(name, arguments, self.memory, self.session)
        except Exception as error:  # noqa: BLE001 (the client's turn goes on)
            return ToolAnswer(self.failure(error), failed=True)

    def failure(self, error: Exception) -> str:
        """Return what went wrong, in a sentence; the next call opens again what was open."""
        if isinstance(error, GitMemError):
            return f"{error} {error.hint}".strip()
        self._forget()
        if isinstance(error, OSError):
            return f"The memory cannot be reached ({error.strerror or error}): try again, or tell the user."
        return f"The memory failed ({type(error).__name__}: {error}): tell the user."

    def _look_for_it(self) -> None:
        """A bundle that was deleted or put in another's place while we are connected is no longer ours."""
        memory = self._memory
        if memory is None or self._place == _place(memory):
            return
        self._forget()
        if not os.path.isdir(memory.root):
            raise BundleNotFound(
                f"The memory at {memory.root} is gone: nothing can be kept until the user brings it back."
            )

    def _forget(self) -> None:
        """Let go of a memory that is of no use: what its journal holds is found by the next process that opens it."""
        memory, session = self._memory, self._session
        self._memory = self._session = None
        with contextlib.suppress(Exception):  # it is broken, that is why
            if session is not None:
                session.abandon()
            if memory is not None:
                memory.rest()

    # Between calls

    @property
    def waits(self) -> bool:
        """Return whether something waits to be committed."""
        return self._session is not None and self._session.waits > 0

    @property
    def is_full(self) -> bool:
        return self.waits and self.session.is_full

    def settle(self) -> None:
        """The client is silent: commit what waits, and let a linked host's files follow."""
        if self._memory is not None:
            if self._session is not None:
                self._session.flush()
            self._memory.bring_host_along()

    def rest(self) -> None:
        """The worker's thread is about to end: give back what belongs to it."""
        if self._memory is not None:
            self._memory.rest()

    def close(self) -> None:
        """The connection is over: the last commit, and the session is closed; what is due begins."""
        if self._memory is None:
            return
        from gitmem.memory.upkeep.jobs import start_due

        try:
            if self._session is not None:
                self._session.end()
            note_seen(self._memory, self.client)
            start_due(self._memory)
        finally:
            self._memory.__exit__(None, None, None)


def _place(memory: Memory) -> object:
    """Return which directories a memory is, as far as the disk says."""
    try:
        found = [os.stat(path) for path in (memory.root, memory.repository.git_dir)]
    except OSError:
        return None
    return [(one.st_dev, one.st_ino) for one in found]
