"""`hermes gitmem ...`: the command line on the bundle of the home that Hermes runs for."""

from __future__ import annotations

import importlib
import os

from gitmem.errors import GitMemError
from gitmem.hosts.hermes.home import Home, bundle_root
from gitmem.world import real_world


def run(arguments: list[str]) -> int:
    """Run a command; gives its exit code."""
    world = real_world()
    home = Home(world.hermes_home)
    # A profile is chosen inside the host; what we start, and the settings, must see the same home.
    os.environ["HERMES_HOME"] = home.path
    try:
        root = bundle_root(home, world)
    except GitMemError:
        root = home.bundle
    words = arguments or ["--help"]
    code = main(words if words[0] in ("-C", "--help", "--version") else ["-C", root, *words])
    return code if isinstance(code, int) else 0


def set_up(home: Home) -> None:
    """`hermes memory setup gitmem`: install into this home, and say what was done."""
    main(["connect", "hermes", "--home", home.path])


def main(words: list[str]) -> object:
    # By name: the command line is above the hosts, which must not import it.
    return importlib.import_module("gitmem.cli.main").main(words)
