"""The door for a plain Python program: the memory with the settings, clock and names of this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gitmem.errors import BundleNotFound
from gitmem.memory.memory import Memory
from gitmem.memory.opening import by_caller, config_for, find_root, open_bundle, with_settings
from gitmem.world import real_world

if TYPE_CHECKING:
    from gitmem.memory.aio import AsyncMemory


def open(  # noqa: A001 (`gitmem.open`, as `gzip.open`)
    path: str | os.PathLike[str] = "",
    *,
    create: bool = False,
    clock: Callable[[], datetime] | None = None,
    **settings: Any,
) -> Memory:
    """The memory at `path`, ready to be written to; `create` makes one where there is none.

    Without a path it is the one that the command line would find here. Settings are found as docs/cli.md says; those
    given here go first. `clock` gives the time, with its zone, in the place of the system's. What processes that died
    left behind, and what a person edited by hand, is committed before this returns. Use it by `with`, or call `close`
    at the end.
    """
    world = real_world() if clock is None else real_world()._replace(clock=clock)
    root = world.path(os.fspath(path)) if os.fspath(path) else ""
    if create and not os.path.lexists(os.path.join(root or world.cwd, ".git")):
        from gitmem.memory.upkeep.create import create as make

        make(world, root or world.cwd, config=with_settings(by_caller(config_for(world), world), settings))
    if root and not os.path.isdir(root):
        raise BundleNotFound(f"There is no memory at {root}.", hint="Make one with `create=True`.")
    memory = open_bundle(world, root or find_root(world), "write", **settings)
    if "agent_id" not in settings:
        memory.config = by_caller(memory.config, world)
    return memory


@contextlib.asynccontextmanager
async def open_async(
    path: str | os.PathLike[str] = "",
    *,
    create: bool = False,
    clock: Callable[[], datetime] | None = None,
    **settings: Any,
) -> AsyncIterator[AsyncMemory]:
    """As `open`, for `async with`: the verbs are coroutines, and all work is done in threads."""
    from gitmem.memory.aio import AsyncMemory, in_thread

    memory = await in_thread(open, path, create=create, clock=clock, **settings)
    try:
        yield AsyncMemory(memory)
    finally:
        await in_thread(memory.__exit__, None, None, None)
