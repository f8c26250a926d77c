"""Connect a Hermes home, and disconnect it: plugin, bundle, first import, one line of config.yaml."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from typing import TYPE_CHECKING

from gitmem import resources
from gitmem.errors import ConfigError, GitMemError
from gitmem.files import read_file, read_settings, replacement
from gitmem.hosts.connect import Steps, edit_in
from gitmem.hosts.hermes.home import PROVIDER, Home
from gitmem.memory.opening import config_for
from gitmem.settings_edit import Edit, get, put, take_back
from gitmem.state import HOST_CONFIG_EDIT, HOST_LINK, HOST_STATE, LocalState
from gitmem.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.memory.memory import Memory

_KEYS = ("memory", "provider")
SHIM_FILES = ("__init__.py", "cli.py", "plugin.yaml")


def install(home: Home, world: World) -> Steps:
    """Everything that a home needs. A second time it finds everything in place and changes nothing."""
    report = Steps("hermes", home.path)
    # The configuration is read first: a home that cannot be configured is left as it is.
    text = read_text_exact(home.config)
    with _naming_the_file():
        edited = put("yaml", text, _KEYS, PROVIDER)
    bundle = _make_bundle(home, world, report)
    _import(bundle, home, report)
    _write_shim(home, report)
    if edited == text:
        report.already(f"{home.config} has memory.provider: {PROVIDER}")
    else:
        is_new = not os.path.exists(home.config)
        bundle.state.write_json(HOST_CONFIG_EDIT, {**Edit.between(text, edited)._asdict(), "is_new": is_new})
        replace_text(home.config, edited)
        was = provider_of(text)
        instead = f" (it was {was})" if was else ""
        report.did(f"set memory.provider: {PROVIDER} in {home.config}{instead}")
    with contextlib.suppress(OSError):
        os.unlink(home.trouble)
    report.warnings += bundle.warnings
    bundle.repository.store.close()
    return report


def _make_bundle(home: Home, world: World, report: Steps) -> Memory:
    from gitmem.hosts.hermes.host_link import link
    from gitmem.memory.upkeep.create import create

    os.makedirs(home.path, exist_ok=True)
    world = world.with_hermes_home(home.path)
    bundle, made = create(
        world, home.bundle, config=config_for(world), separate_git_dir=home.git_dir, python=sys.executable
    )
    if made:
        report.did(f"made the bundle {home.bundle} (history in {home.git_dir})")
    else:
        report.already(f"the bundle {home.bundle} is there")
        bundle.config = config_for(world, bundle.state)
    if link(bundle, home):
        report.changed = True
    return bundle


def _import(bundle: Memory, home: Home, report: Steps) -> None:
    """What is in the host's files comes in, as the first commits; what the bundle has for them goes out."""
    from gitmem.hosts.hermes import write_notices
    from gitmem.hosts.hermes.memory_files import HostFiles
    from gitmem.hosts.hermes.skill_files import SkillFiles

    first = not bundle.state.has(HOST_STATE)
    files = HostFiles.of(bundle, home)
    done = files.compare(lambda: write_notices.everybody(bundle), patience=0.0, importing=first)
    skills = SkillFiles(bundle, home, enforce=bundle.config.enforce_host_files).compare(importing=first)
    taken = done.taken + skills.taken
    if taken:
        commits = "1 commit" if taken == 1 else f"{taken} commits"
        report.did(f"took in {home.memories} and {home.skills} ({commits})")
    else:
        report.already("the bundle has what is in MEMORY.md, USER.md and the agent's own skills")
    if done.written or skills.written:
        names = [*done.written, *(f"skills/{name}" for name in skills.written)]
        report.did(f"wrote {', '.join(names[:5])} from the bundle")


def _write_shim(home: Home, report: Steps) -> None:
    stale = [name for name in SHIM_FILES if read_file(os.path.join(home.shim, name)) != shim_file(name)]
    if not stale:
        report.already(f"the plugin {home.shim} is in place")
        return
    os.makedirs(home.shim, exist_ok=True)
    for name in stale:
        replace_bytes(os.path.join(home.shim, name), shim_file(name))
    report.did(f"wrote the plugin {home.shim}")


def shim_file(name: str) -> bytes:
    return resources.read(f"templates/hermes/{name}")


def uninstall(home: Home) -> Steps:
    """Take back what `install` put into the home; the bundle and the host's own files stay."""
    report = Steps("hermes", home.path)
    text = read_text_exact(home.config)
    state = LocalState(home.git_dir)
    if provider_of(text) == PROVIDER:
        note = state.read_json(HOST_CONFIG_EDIT)
        with _naming_the_file():
            left = take_back("yaml", text, edit_in(note), _KEYS)
        if note.get("is_new") is True and not left.strip():
            os.unlink(home.config)
        else:
            replace_text(home.config, left)
        report.did(f"took memory.provider out of {home.config}")
    else:
        report.already(f"{home.config} does not name {PROVIDER}")
    if os.path.isdir(home.shim):
        shutil.rmtree(home.shim)
        report.did(f"removed the plugin {home.shim}")
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(home.shim))
    else:
        report.already("there is no plugin")
    # Without the link no command writes into the home any more.
    for name in (HOST_LINK, HOST_CONFIG_EDIT):
        with contextlib.suppress(OSError):
            state.remove(name)
    with contextlib.suppress(OSError):
        os.unlink(home.trouble)
    if os.path.isdir(home.bundle):
        report.steps.append(("kept", f"kept the bundle {home.bundle} with its whole history"))
    return report


def provider_of(text: str) -> str:
    """Return the memory provider that a config.yaml names; empty where it names none."""
    with _naming_the_file():
        value = get("yaml", text, _KEYS)
    return value.strip() if isinstance(value, str) else ""


@contextlib.contextmanager
def _naming_the_file() -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        message = str(error).replace("The file", "config.yaml")
        hint = "Set it by hand in config.yaml:  memory: {provider: gitmem}"
        raise ConfigError(message, hint=hint if "safely" in message else error.hint) from error


# --- files -----------------------------------------------------------------------------------------------


def read_text_exact(path: str) -> str:
    """A text file with its line ends and byte order mark; empty where there is none."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        read_settings(path, path)  # says so
        raise
    except OSError as error:
        raise GitMemError(f"{path} cannot be read ({error.strerror}).") from error


def replace_text(path: str, text: str) -> None:
    replace_bytes(path, text.encode())


def replace_bytes(path: str, data: bytes) -> None:
    """Put a file in its place at once, with the mode and behind the link that it had."""
    path = os.path.realpath(path)
    try:
        with replacement(path, data) as put:
            put()
    except OSError as error:
        raise GitMemError(
            f"{path} cannot be written ({error.strerror}): repair that and try again."
        ) from error
