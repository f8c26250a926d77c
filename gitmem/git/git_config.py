"""The repository's own git configuration: settings under which plain git stays right on a bundle."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass

from gitmem.errors import BundleUnusable
from gitmem.files import read_file, replace_file
from gitmem.git.repository import Repository
from gitmem.world import World

# What make_repository writes, and what breaks without it.
_WANTED = {
    "core.autocrlf": ("false", "git changes line ends, so files differ from what was committed"),
    "core.splitindex": ("false", "git's index is rewritten whole at every commit"),
    "core.untrackedcache": ("false", "git's index is rewritten whole at every commit"),
    "core.fsmonitor": ("false", "git may run a program of somebody else's choice"),
    "feature.manyfiles": ("false", "git's index is rewritten whole at every commit"),
    "core.preloadindex": ("false", "a git commit beside one of ours is more likely to put an old index back"),
    "index.skiphash": ("false", "damage in git's index goes unseen"),
    "transfer.fsckobjects": ("true", "plain `git pull` takes in objects that git's own check refuses"),
    "gc.auto": ("0", "git cleans up in the middle of a commit; `gitmem gc` does it beside them"),
}
# Without these git's own defaults do no harm; they matter only where something else is set.
_FINE_WHEN_UNSET = frozenset(_WANTED) - {"gc.auto", "transfer.fsckobjects"}
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0", ""})


@dataclass(frozen=True, slots=True)
class UnsafeSetting:
    """A setting of the repository that should be another."""

    key: str
    value: str
    wanted: str
    why: str


def unsafe_settings(repository: Repository) -> list[UnsafeSetting]:
    """Settings in the repository's own configuration that should be others."""
    values = _read(os.path.join(repository.git_dir, "config"))
    found = []
    for key, (wanted, why) in _WANTED.items():
        value = values.get(key)
        if value is None and key in _FINE_WHEN_UNSET:
            continue
        if value is None or _differs(value, wanted):
            found.append(UnsafeSetting(key, value or "", wanted, why))
    return found


def hooks_path(repository: Repository, world: World) -> str:
    """Return where git looks for hooks when not in the repository, by its own settings or the user's; empty where it
    does.
    """
    found = _read(os.path.join(repository.git_dir, "config")).get("core.hookspath")
    for path in _own_configurations(world) if found is None else ():
        try:
            found = _read(path, includes=True).get("core.hookspath", found)
        except BundleUnusable:  # the user's own file, which git refuses by itself
            continue
    if not found:
        return ""
    place = os.path.join(repository.root, world.home + found[1:] if found.startswith("~/") else found)
    ours = os.path.join(repository.git_dir, "hooks")
    return "" if os.path.realpath(place) == os.path.realpath(ours) else found


def make_safe(repository: Repository, settings: list[UnsafeSetting]) -> None:
    """Set them as they should be, at the end of the file: there they outrank what stands before."""
    path = os.path.join(repository.git_dir, "config")
    text = (read_file(path) or b"").decode("utf-8", "surrogateescape")
    lines = ["" if not text or text.endswith("\n") else "\n"]
    for setting in settings:
        section, _, name = setting.key.partition(".")
        lines.append(f"[{section}]\n\t{name} = {setting.wanted}\n")
    data = (text + "".join(lines)).encode("utf-8", "surrogateescape")
    replace_file(path, data, scratch=repository.scratch, durable=True)


def set_merge_driver(repository: Repository, command: str) -> None:
    """Say how plain git merges files of a bundle; the attributes name this driver."""
    from dulwich.config import ConfigFile

    path = os.path.join(repository.git_dir, "config")
    config = ConfigFile.from_path(path) if os.path.exists(path) else ConfigFile()
    section = (b"merge", b"gitmem")
    config.set(section, b"name", b"merge of memory entries")
    config.set(section, b"driver", command.encode())
    data = io.BytesIO()
    config.write_to_file(data)
    repository.refs.replace("config", data.getvalue())


def has_merge_driver(repository: Repository) -> bool:
    """Return whether the repository says how plain git merges files of a bundle."""
    from dulwich.config import ConfigFile

    path = os.path.join(repository.git_dir, "config")
    try:
        driver: bytes = ConfigFile.from_path(path).get((b"merge", b"gitmem"), b"driver")
    except (KeyError, OSError, ValueError):
        return False
    return bool(driver)


def _differs(value: str, wanted: str) -> bool:
    if wanted == "false":
        return value.lower() not in _FALSE
    if wanted == "true":
        return value.lower() not in _TRUE
    return value != wanted


def _read(path: str, *, includes: bool = False) -> dict[str, str]:
    """The settings by their full name in lower case, the last of several; sections in quotes left out."""
    from dulwich.config import ConfigFile

    if not os.path.exists(path):
        return {}
    try:
        config = ConfigFile.from_path(path, expand_includes=includes)
    except (ValueError, OSError) as error:
        raise BundleUnusable(f"{path} cannot be read ({error}): correct it.") from error
    found: dict[str, str] = {}
    for section in config.sections():
        if len(section) == 1:
            for name, value in config.items(section):
                key = b".".join((section[0], name)).decode("utf-8", "replace").lower()
                found[key] = value.decode("utf-8", "replace")
    return found


def _own_configurations(world: World) -> list[str]:
    """The files of git's configuration that hold for this user everywhere; a later one outranks those before it."""
    own = world.env.get("GIT_CONFIG_GLOBAL")
    system = [] if world.env.get("GIT_CONFIG_NOSYSTEM") else ["/etc/gitconfig"]
    if own is not None:
        return [*system, own]
    places = world.env.get("XDG_CONFIG_HOME") or os.path.join(world.home, ".config")
    return [*system, os.path.join(places, "git", "config"), os.path.join(world.home, ".gitconfig")]
