"""Git-backed, versioned memory for AI agents.

The names below, and every error of gitmem/errors.py, are all that a program of one's own needs; docs/python.md shows
them at work. They are loaded when they are first used: `import gitmem` alone costs next to nothing. `__init__.pyi` tells
type checkers and editors where each is.
"""

from __future__ import annotations

from gitmem.version import __version__ as __version__

_HOMES = {
    "AsyncMemory": "gitmem.memory.aio",
    "AsyncSession": "gitmem.memory.aio",
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
