"""Git-backed, versioned memory for AI agents.

The names below are all that a program of one's own needs; docs/python.md shows them at work. They are loaded
when they are first used: `import gitmem` alone costs next to nothing.
"""

from __future__ import annotations

from gitmem.version import __version__

TYPE_CHECKING = False  # as type checkers know it; `typing` itself would be most of what importing this costs


if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.errors import (
        BrokenConcept,
        BundleBusy,
        BundleNotFound,
        BundleUnusable,
        ConfigError,
        FoundSomething,
        GitMemError,
        InvalidContent,
        NewerFormat,
        TooLarge,
        UnknownRevision,
        UnsafePath,
        UsageError,
    )
    from gitmem.hosts.plain import open_memory as open  # noqa: A004 (`gitmem.open`, as `gzip.open`)
    from gitmem.memory.capture.buffer import HotMemoryBuffer
    from gitmem.memory.capture.decorators import memorize_decision, memorize_tool
    from gitmem.memory.find.context import context
    from gitmem.memory.find.prefetch import Prefetch
    from gitmem.memory.find.search import Wanted
    from gitmem.memory.memory import Memory
    from gitmem.memory.session import Session
    from gitmem.safety.fence import fence, sanitize

__all__ = [
    "BrokenConcept",
    "BundleBusy",
    "BundleNotFound",
    "BundleUnusable",
    "Config",
    "ConfigError",
    "FoundSomething",
    "GitMemError",
    "HotMemoryBuffer",
    "InvalidContent",
    "Memory",
    "NewerFormat",
    "Prefetch",
    "Session",
    "TooLarge",
    "UnknownRevision",
    "UnsafePath",
    "UsageError",
    "Wanted",
    "__version__",
    "context",
    "fence",
    "memorize_decision",
    "memorize_tool",
    "open",
    "sanitize",
]

_HOMES = {
    "Config": "gitmem.config",
    "HotMemoryBuffer": "gitmem.memory.capture.buffer",
    "Memory": "gitmem.memory.memory",
    "Prefetch": "gitmem.memory.find.prefetch",
    "Session": "gitmem.memory.session",
    "Wanted": "gitmem.memory.find.search",
    "context": "gitmem.memory.find.context",
    "fence": "gitmem.safety.fence",
    "memorize_decision": "gitmem.memory.capture.decorators",
    "memorize_tool": "gitmem.memory.capture.decorators",
    "open": "gitmem.hosts.plain",
    "sanitize": "gitmem.safety.fence",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = import_module(_HOMES.get(name, "gitmem.errors"))
    value: object = home.open_memory if name == "open" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
