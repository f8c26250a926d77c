"""gitmem in a Hermes home: connected, disconnected, and looked at step by step; what Hermes asks a provider for."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gitmem import resources
from gitmem.errors import BundleNotFound, GitMemError
from gitmem.files import read_file, remove_file, replacement
from gitmem.hosts import connect
from gitmem.hosts.connect import Check, Profile, Steps
from gitmem.hosts.hermes.home import PROVIDER, Home, bundle_root, choose_home, open_home
from gitmem.hosts.hermes.host import sync_failures
from gitmem.memory.opening import config_for
from gitmem.state import HOST_LINK, MIRROR, LocalState
from gitmem.world import World, real_world

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory

_CONFIG = Profile(
    "hermes",
    "Hermes",
    "yaml",
    ("memory", "provider"),
    lambda world: os.path.join(world.hermes_home, "config.yaml"),
    lambda _: PROVIDER,
    lambda value: value == PROVIDER,
)
_SHIM_FILES = ("__init__.py", "cli.py", "plugin.yaml")
_OFFERED = ("recall_mode", "transcripts", "auto_sync", "enforce_host_files")


# --- connect and disconnect ------------------------------------------------------------------------------


def install(home: Home, world: World) -> Steps:
    """Set up everything that a home needs. A second time it finds everything in place and changes nothing."""
    report = Steps("hermes", home.path)
    world = world.with_hermes_home(home.path)
    # The configuration is read first: a home that cannot be configured is left as it is.
    connect.connect(_CONFIG, world, LocalState(home.git_dir), dry_run=True)
    was = provider_of(home, world)
    bundle = _make_bundle(home, world, report)
    _import(bundle, home, report)
    _write_shim(home, report)
    instead = f" (it was {was})" if was else ""
    report.step(
        f"set memory.provider: {PROVIDER} in {home.config}{instead}",
        f"{home.config} has memory.provider: {PROVIDER}",
        changed=connect.connect(_CONFIG, world, bundle.state).changed,
    )
    with contextlib.suppress(OSError):
        remove_file(home.trouble)
    report.warnings += bundle.warnings
    bundle.repository.store.close()
    return report


def _make_bundle(home: Home, world: World, report: Steps) -> Memory:
    from gitmem.hosts.hermes.files import link
    from gitmem.memory.upkeep.create import create

    os.makedirs(home.path, exist_ok=True)
    bundle, made = create(
        world, home.bundle, config=config_for(world), separate_git_dir=home.git_dir, python=sys.executable
    )
    there = f"the bundle {home.bundle}"
    report.step(f"made {there} (history in {home.git_dir})", f"{there} is there", changed=made)
    bundle.config = config_for(world, bundle.state)
    report.changed |= link(bundle, home)
    return bundle


def _import(bundle: Memory, home: Home, report: Steps) -> None:
    """Take in the host's files as the first commits, and write what the bundle has for them."""
    from gitmem.hosts.hermes.files import HostFiles

    first = not any(name.startswith("hermes-") for name in bundle.state.keys(MIRROR))
    done = HostFiles(bundle, home).look(patience=0.0, first=first)
    report.step(
        f"took in {home.memories} and {home.skills} (commits: {done.taken})",
        "the bundle has what is in MEMORY.md, USER.md and the agent's own skills",
        changed=bool(done.taken),
    )
    if done.written:
        report.did(f"wrote {', '.join(done.written[:5])} from the bundle")


def _write_shim(home: Home, report: Steps) -> None:
    stale = [name for name in _SHIM_FILES if read_file(os.path.join(home.shim, name)) != shim_file(name)]
    for name in stale:
        os.makedirs(home.shim, exist_ok=True)
        with replacement(os.path.join(home.shim, name), shim_file(name)) as put:
            put()
    report.step(f"wrote the plugin {home.shim}", f"the plugin {home.shim} is in place", changed=bool(stale))


def shim_file(name: str) -> bytes:
    return resources.read(f"templates/hermes/{name}")


def uninstall(home: Home, world: World) -> Steps:
    """Take back what `install` put into the home; the bundle and the host's own files stay."""
    report = Steps("hermes", home.path)
    state = LocalState(home.git_dir)
    report.step(
        f"took memory.provider out of {home.config}",
        f"{home.config} does not name {PROVIDER}",
        changed=connect.disconnect(_CONFIG, world.with_hermes_home(home.path), state).changed,
    )
    had_plugin = os.path.isdir(home.shim)
    shutil.rmtree(home.shim, ignore_errors=not had_plugin)
    report.step(f"removed the plugin {home.shim}", "there is no plugin", changed=had_plugin)
    if had_plugin:
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(home.shim))
    with contextlib.suppress(OSError):
        state.remove(HOST_LINK)  # without it no command writes into the home any more
        remove_file(home.trouble)
    if os.path.isdir(home.bundle):
        report.steps.append(("kept", f"kept the bundle {home.bundle} with its whole history"))
    return report


def provider_of(home: Home, world: World) -> str:
    """Return the memory provider that a home's config.yaml names; empty where it names none."""
    value = connect.setting(_CONFIG, world.with_hermes_home(home.path))
    return value.strip() if isinstance(value, str) else ""


# --- look ------------------------------------------------------------------------------------------------


def check(home: Home, world: World) -> list[Check]:
    """Every step of an installation, in the order in which they depend on each other."""
    found: list[Check] = []
    for look in (_config, _shim, _bundle, _trouble, _profiles):
        try:
            found += look(home, world)
        except (GitMemError, OSError) as error:
            hint = _install(home, world) if isinstance(error, BundleNotFound) else getattr(error, "hint", "")
            found.append(_bad(look.__name__.strip("_"), str(error), hint or "Repair that first."))
    return found


def _bad(name: str, what: str, fix: str) -> Check:
    return Check(name, False, what, fix)


def _install(home: Home, world: World) -> str:
    """The command that repairs most of it, for this very home."""
    named = ""
    if os.path.realpath(choose_home(world).path) != os.path.realpath(home.path):
        above, name = os.path.split(home.path)
        option, value = ("profile", name) if os.path.basename(above) == "profiles" else ("home", home.path)
        named = f" --{option} {shlex.quote(value)}"
    return f"Run `gitmem connect hermes{named}`."


def _config(home: Home, world: World) -> Iterator[Check]:
    named, fix = provider_of(home, world), _install(home, world)
    if named == PROVIDER:
        yield Check("config", True, f"memory.provider is {PROVIDER}")
    elif named:
        yield _bad("config", f"memory.provider is {named}: Hermes runs one provider at a time.", fix)
    else:
        yield _bad("config", "config.yaml names no memory provider.", fix)


def _shim(home: Home, world: World) -> Iterator[Check]:
    present = [read_file(os.path.join(home.shim, name)) for name in _SHIM_FILES]
    if all(data is None for data in present):
        what = f"There is no plugin in {home.shim}: Hermes then runs without gitmem and says nothing."
        # A cloned profile has the configuration and the memories, but no plugins.
        yield _bad("plugin", what, _install(home, world))
    elif present != [shim_file(name) for name in _SHIM_FILES]:
        yield _bad("plugin", f"The plugin in {home.shim} is of another version.", _install(home, world))
    else:
        yield Check("plugin", True, home.shim)


def _bundle(home: Home, world: World) -> Iterator[Check]:
    from gitmem.hosts.hermes.files import linked_home
    from gitmem.memory.capture.recovery import pending_count

    root = bundle_root(home, world)
    bundle = open_home(home, world)
    try:
        yield Check("bundle", True, f"{root}, {len(bundle.file_paths()):,} files")
        linked = linked_home(bundle)
        if linked is None or os.path.realpath(linked.path) != os.path.realpath(home.path):
            yield _bad("link", "A restore would not reach the files of this home.", _install(home, world))
        git_dir = bundle.repository.git_dir
        if os.path.basename(git_dir) == ".git":
            yield _bad(
                "backup",
                f"`hermes backup` leaves out every directory named .git, {git_dir} too, and so the history.",
                f"mv {git_dir} {root}.git && echo 'gitdir: ../{os.path.basename(root)}.git' > {root}/.git",
            )
        waiting = pending_count(bundle.journal_dir)
        yield Check("journal", True, f"{waiting} events wait to be committed" if waiting else "nothing waits")
        for sentence in sync_failures(bundle):
            yield _bad("sync", sentence, "Look at `gitmem status`.")
    finally:
        bundle.repository.store.close()


def _trouble(home: Home, _: World) -> Iterator[Check]:
    if said := (read_file(home.trouble) or b"").decode("utf-8", "replace").strip():
        yield _bad("last session", f"The last session ran without gitmem: {said}", "Repair that first.")


def _profiles(home: Home, world: World) -> Iterator[Check]:
    """A cloned profile is configured for gitmem and has no plugin: it runs without, and says nothing."""
    names = sorted(os.listdir(home.profiles)) if os.path.isdir(home.profiles) else ()
    for name in names:
        other = Home(os.path.join(home.profiles, name))
        with contextlib.suppress(GitMemError):
            has_shim = os.path.isfile(os.path.join(other.shim, "__init__.py"))
            if provider_of(other, world) == PROVIDER and not has_shim:
                what = f"The profile {name} is set to gitmem and has no plugin, so it runs without, silently."
                fix = f"Run `gitmem connect hermes --profile {shlex.quote(name)}`."
                yield _bad(f"profile {name}", what, fix)


# --- what Hermes asks a provider for: `hermes memory setup`, `status` and `backup` -------------------------


def short_status(home: Home) -> dict[str, Any]:
    """A few lines for `hermes memory status`."""
    found = {one.name: one.what if one.ok else f"✗ {one.what} {one.fix}" for one in check(home, real_world())}
    return {**found, "details": "gitmem connections hermes"}


def config_schema() -> list[dict[str, Any]]:
    """The settings that are worth a question; all of them have a default."""
    from gitmem.config import settings

    return [
        {
            "key": one.key,
            "description": one.help,
            "default": str(one.default).lower(),
            "choices": list(one.choices),
        }
        for one in settings()
        if one.key in _OFFERED
    ]


def save_settings(home: Home, values: Mapping[str, Any]) -> None:
    """Write settings to gitmem.yaml of the home, line by line; other lines and comments stay."""
    from gitmem.config import HERMES_YAML, from_text, setting_named
    from gitmem.settings_edit import keys_of_setting, put

    file = connect.SettingsFile(home.settings, HERMES_YAML)
    text = file.text
    for key, value in values.items():
        if key != "provider":
            setting = setting_named(key, HERMES_YAML)
            wanted = from_text(setting, str(value).strip(), HERMES_YAML)
            text = put("yaml", text, keys_of_setting(text, setting.key), wanted)
    file.write(text)


def outside_paths(home: Home) -> list[str]:
    """The bundle and its history, where they lie outside the home that a backup walks."""
    from gitmem.git.git_directory import git_dir_of

    root = bundle_root(home, real_world())
    if not os.path.isdir(root):
        return []
    inside = os.path.join(os.path.realpath(home.path), "")
    found = [root, git_dir_of(root) or root]
    return [path for path in dict.fromkeys(found) if not os.path.realpath(path).startswith(inside)]
