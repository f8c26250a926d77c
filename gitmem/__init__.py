"""Git-backed, versioned memory for AI agents.

The names below are all that a program of one's own needs; docs/python.md shows them at work. They are loaded
when they are first used: `import gitmem` alone costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; `typing` itself would be most of what importing this costs

__version__ = "0.1.0.dev0"

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
    from gitmem.hosts.plain import open_bundle
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.capture.buffer import HotMemoryBuffer
    from gitmem.memory.capture.decorators import memorize_decision, memorize_tool
    from gitmem.memory.capture.sessions import Session
    from gitmem.memory.find.context import context
    from gitmem.memory.find.prefetch import Prefetch
    from gitmem.memory.find.search import Wanted
    from gitmem.safety.fence import fence, sanitize

__all__ = [
    "BrokenConcept",
    "Bundle",
    "BundleBusy",
    "BundleNotFound",
    "BundleUnusable",
    "Config",
    "ConfigError",
    "FoundSomething",
    "GitMemError",
    "HotMemoryBuffer",
    "InvalidContent",
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
    "open_bundle",
    "sanitize",
]

_HOMES = {
    "Bundle": "gitmem.memory.bundle",
    "Config": "gitmem.config",
    "HotMemoryBuffer": "gitmem.memory.capture.buffer",
    "Prefetch": "gitmem.memory.find.prefetch",
    "Session": "gitmem.memory.capture.sessions",
    "Wanted": "gitmem.memory.find.search",
    "context": "gitmem.memory.find.context",
    "fence": "gitmem.safety.fence",
    "memorize_decision": "gitmem.memory.capture.decorators",
    "memorize_tool": "gitmem.memory.capture.decorators",
    "open_bundle": "gitmem.hosts.plain",
    "sanitize": "gitmem.safety.fence",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES.get(name, "gitmem.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
