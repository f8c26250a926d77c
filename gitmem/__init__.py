"""Git-backed, versioned memory for AI agents.

The names below, and every error of gitmem/errors.py, are all that a program of one's own needs; docs/python.md shows
them at work. They are loaded when they are first used: `import gitmem` alone costs next to nothing.
"""

from __future__ import annotations

from gitmem.version import __version__ as __version__

TYPE_CHECKING = False  # as type checkers know it; `typing` itself would be most of what importing this costs

if TYPE_CHECKING:
    from gitmem.config import Config as Config
    from gitmem.errors import *  # noqa: F403 (each of them, written once)
    from gitmem.hosts.loop.manager import MemoryManager as MemoryManager
    from gitmem.hosts.loop.provider import MemoryProvider as MemoryProvider
    from gitmem.hosts.plain import open as open  # noqa: A004 (`gitmem.open`, as `gzip.open`)
    from gitmem.hosts.plain import open_async as open_async
    from gitmem.index.readers import Reader as Reader
    from gitmem.memory.async_memory import AsyncMemory as AsyncMemory
    from gitmem.memory.async_session import AsyncSession as AsyncSession
    from gitmem.memory.capture.buffer import HotMemoryBuffer as HotMemoryBuffer
    from gitmem.memory.capture.decorators import memorize_decision as memorize_decision
    from gitmem.memory.capture.decorators import memorize_tool as memorize_tool
    from gitmem.memory.find.prefetch import Prefetch as Prefetch
    from gitmem.memory.memory import Memory as Memory
    from gitmem.memory.session import Session as Session
    from gitmem.safety.fence import fence as fence
    from gitmem.safety.fence import sanitize as sanitize
else:
    _HOMES = {
        "AsyncMemory": "gitmem.memory.async_memory",
        "AsyncSession": "gitmem.memory.async_session",
        "Config": "gitmem.config",
        "HotMemoryBuffer": "gitmem.memory.capture.buffer",
        "Memory": "gitmem.memory.memory",
        "MemoryManager": "gitmem.hosts.loop.manager",
        "MemoryProvider": "gitmem.hosts.loop.provider",
        "Prefetch": "gitmem.memory.find.prefetch",
        "Reader": "gitmem.index.readers",
        "Session": "gitmem.memory.session",
        "fence": "gitmem.safety.fence",
        "memorize_decision": "gitmem.memory.capture.decorators",
        "memorize_tool": "gitmem.memory.capture.decorators",
        "open": "gitmem.hosts.plain",
        "open_async": "gitmem.hosts.plain",
        "sanitize": "gitmem.safety.fence",
    }

    def __getattr__(name):
        if name == "__all__":
            return __dir__()
        from importlib import import_module

        home = import_module(_HOMES.get(name, "gitmem.errors"))
        if name not in _HOMES and name not in _errors(home):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(home, name)
        return value

    def __dir__():
        from gitmem import errors

        return sorted([*_HOMES, *_errors(errors), "__version__"])

    def _errors(home):
        return [name for name, value in vars(home).items() if isinstance(value, type)]
