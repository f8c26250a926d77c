"""The door for a plain Python program: a bundle with the settings, clock and names of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gitmem.errors import BundleNotFound, UsageError
from gitmem.hosts.hermes.home import bundle_root, now, real_home, resolve_config

if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.memory.bundle import Bundle


def open_bundle(
    path: str | os.PathLike[str] = "",
    *,
    create: bool = False,
    clock: Callable[[], datetime] = now,
    **settings: Any,
) -> Bundle:
    """The bundle at `path`, ready to be written to; `create` makes one where there is none.

    Without a path it is the one that `$GITMEM_BUNDLE` or the settings name, or that of the Hermes home.
    Settings are found as docs/cli.md says; those given here go first. What processes that died left
    behind, and what a person edited by hand, is committed before this returns.
    """
    from gitmem.git.setup import open_repository
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.upkeep.create import create as make

    env, home = dict(os.environ), real_home()
    root = os.path.abspath(os.fspath(path) or env.get("GITMEM_BUNDLE", "") or bundle_root(home, env))
    person = env.get("USER") or env.get("USERNAME") or ""
    if create and not os.path.lexists(os.path.join(root, ".git")):
        config = _with(resolve_config(home, env), settings)
        make(root, config=config, clock=clock, person=person)
    if not os.path.isdir(root):
        raise BundleNotFound(f"There is no bundle at {root}.", hint="Make one with `create=True`.")
    config = _with(resolve_config(home, env, open_repository(root).state_dir), settings)
    bundle = Bundle.open(
        root, config=config, clock=clock, person=person, lookup=lambda name: env.get(name, "")
    )
    bundle.mend()
    bundle.recover_journals()
    bundle.take_in_edits(strict=False)
    return bundle


def _with(config: Config, settings: dict[str, Any]) -> Config:
    known = {each.name for each in fields(config) if not each.name.startswith("_")}
    for name in settings:
        if name not in known:
            raise UsageError(f"There is no setting {name!r}: the settings are {', '.join(sorted(known))}.")
    return replace(config, **settings)
