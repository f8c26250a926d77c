"""gitmem in a Hermes home: connected, disconnected, and looked at step by step; what Hermes asks a provider for.

The ones that fail silently are looked at first of all.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gitmem import resources
from gitmem.errors import BundleNotFound, GitMemError
from gitmem.files import read_file, read_settings, replacement
from gitmem.hosts import connect
from gitmem.hosts.connect import Check, Profile, Steps
from gitmem.hosts.hermes.home import PROVIDER, Home, bundle_root, choose_home, open_home
from gitmem.memory.opening import config_for
from gitmem.state import HOST_LINK, HOST_STATE, LocalState
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

_PROBE = (
    "import json, sys\n"
    "found = {'python': sys.executable}\n"
    "try:\n"
    "    import gitmem.hosts.hermes.provider\n"
    "    found['gitmem'] = True\n"
    "except Exception as error:\n"
    "    found['gitmem'] = False\n"
    "    found['why'] = f'{type(error).__name__}: {error}'\n"
    "try:\n"
    "    import agent.memory_provider\n"
    "    found['host'] = True\n"
    "except Exception:\n"
    "    found['host'] = False\n"
    "print(json.dumps(found))\n"
)


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
    if connect.connect(_CONFIG, world, bundle.state).changed:
        instead = f" (it was {was})" if was else ""
        report.did(f"set memory.provider: {PROVIDER} in {home.config}{instead}")
    else:
        report.already(f"{home.config} has memory.provider: {PROVIDER}")
    with contextlib.suppress(OSError):
        os.unlink(home.trouble)
    report.warnings += bundle.warnings
    bundle.repository.store.close()
    return report


def _make_bundle(home: Home, world: World, report: Steps) -> Memory:
    from gitmem.hosts.hermes.host_link import link
    from gitmem.memory.upkeep.create import create

    os.makedirs(home.path, exist_ok=True)
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
    """Take in the host's files as the first commits, and write what the bundle has for them."""
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
    stale = [name for name in _SHIM_FILES if read_file(os.path.join(home.shim, name)) != shim_file(name)]
    if not stale:
        report.already(f"the plugin {home.shim} is in place")
        return
    os.makedirs(home.shim, exist_ok=True)
    for name in stale:
        replace_bytes(os.path.join(home.shim, name), shim_file(name))
    report.did(f"wrote the plugin {home.shim}")


def shim_file(name: str) -> bytes:
    return resources.read(f"templates/hermes/{name}")


def uninstall(home: Home, world: World) -> Steps:
    """Take back what `install` put into the home; the bundle and the host's own files stay."""
    report = Steps("hermes", home.path)
    state = LocalState(home.git_dir)
    if connect.disconnect(_CONFIG, world.with_hermes_home(home.path), state).changed:
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
    with contextlib.suppress(OSError):
        state.remove(HOST_LINK)  # without it no command writes into the home any more
    with contextlib.suppress(OSError):
        os.unlink(home.trouble)
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
    for look in (_home, _config, _shim, _environment, _bundle, _backup, _trouble, _journal, _sync, _profiles):
        if look in (_backup, _journal, _sync) and any(one.name == "bundle" and not one.ok for one in found):
            continue  # said once
        try:
            found += look(home, world)
        except (GitMemError, OSError) as error:
            hint = _install(home, world) if isinstance(error, BundleNotFound) else getattr(error, "hint", "")
            found.append(Check(look.__name__.strip("_"), False, str(error), hint or "Repair that first."))
    return found


def _install(home: Home, world: World) -> str:
    """The command that repairs most of it, for this very home."""
    named = ""
    if os.path.realpath(choose_home(world).path) != os.path.realpath(home.path):
        above, name = os.path.split(home.path)
        option, value = ("profile", name) if os.path.basename(above) == "profiles" else ("home", home.path)
        named = f" --{option} {shlex.quote(value)}"
    return f"Run `gitmem connect hermes{named}`."


def _home(home: Home, world: World) -> Iterator[Check]:
    there = os.path.isdir(home.path)
    yield Check(
        "home",
        there,
        home.path if there else f"There is no directory {home.path}.",
        "" if there else _install(home, world),
    )


def _config(home: Home, world: World) -> Iterator[Check]:
    named = provider_of(home, world)
    if named == PROVIDER:
        yield Check("config", True, f"memory.provider is {PROVIDER}")
    elif named:
        yield Check(
            "config",
            False,
            f"memory.provider is {named}: Hermes runs one provider at a time.",
            _install(home, world),
        )
    else:
        yield Check("config", False, "config.yaml names no memory provider.", _install(home, world))


def _shim(home: Home, world: World) -> Iterator[Check]:
    present = [read_file(os.path.join(home.shim, name)) for name in _SHIM_FILES]
    if all(data is None for data in present):
        what = f"There is no plugin in {home.shim}: Hermes then runs without gitmem and says nothing."
        # A cloned profile has the configuration and the memories, but no plugins.
        yield Check("plugin", False, what, _install(home, world))
    elif present != [shim_file(name) for name in _SHIM_FILES]:
        yield Check(
            "plugin", False, f"The plugin in {home.shim} is of another version.", _install(home, world)
        )
    else:
        yield Check("plugin", True, home.shim)


def _environment(_home: Home, world: World) -> Iterator[Check]:
    """Yield whether the Hermes that people start can import this gitmem."""
    python = hermes_python(world.env)
    if not python:
        yield Check(
            "environment",
            False,
            "`hermes` is not on PATH, so its Python environment cannot be checked.",
            "Install gitmem into the environment of Hermes: pip install hermes-gitmem",
        )
        return
    seen = _probe(python)
    if not seen.get("gitmem"):
        why = str(seen.get("why") or "it cannot be started")
        yield Check(
            "environment",
            False,
            f"Hermes runs with {python}, which has no working gitmem ({why}).",
            f"{python} -m pip install hermes-gitmem",
        )
    elif not seen.get("host"):
        yield Check(
            "environment", False, f"{python} has no hermes-agent.", "Check which `hermes` is started."
        )
    else:
        yield Check("environment", True, f"Hermes runs with {python}, which has gitmem")


def hermes_python(env: Mapping[str, str]) -> str:
    """The interpreter that the `hermes` command starts; empty where there is none to be found."""
    program = shutil.which("hermes", path=env.get("PATH"))
    beside = os.path.join(os.path.dirname(sys.executable), "hermes")
    program = program or (beside if os.path.exists(beside) else None)
    if program is None:
        return ""
    try:
        with open(program, "rb") as file:
            first = file.read(4096).split(b"\n", 2)
    except OSError:
        return ""
    line = first[0].decode("utf-8", "replace").removeprefix("#!").strip()
    if line.endswith("/sh") and len(first) > 1:  # a long path is started by way of sh
        line = first[1].decode("utf-8", "replace").replace("'''exec'", "").strip().split('"$0"')[0].strip()
    words = line.strip().strip("'\"").split()
    return words[-1] if words and "python" in os.path.basename(words[-1]) else ""


def _probe(python: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [python, "-P", "-c", _PROBE], capture_output=True, text=True, timeout=30, check=False
        )
        found = json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}


def _bundle(home: Home, world: World) -> Iterator[Check]:
    root = bundle_root(home, world)
    bundle = open_home(home, world)
    try:
        count = len(bundle.file_paths())
        yield Check("bundle", True, f"{root}, {count:,} files")
        from gitmem.hosts.hermes.host_link import linked_home

        linked = linked_home(bundle)
        if linked is None or os.path.realpath(linked.path) != os.path.realpath(home.path):
            yield Check(
                "link", False, "A restore would not reach the files of this home.", _install(home, world)
            )
    finally:
        bundle.repository.store.close()


def _backup(home: Home, world: World) -> Iterator[Check]:
    from gitmem.git.setup import git_dir_of

    root = bundle_root(home, world)
    git_dir = git_dir_of(root) if os.path.isdir(root) else None
    if git_dir is not None and os.path.basename(git_dir) == ".git":
        yield Check(
            "backup",
            False,
            f"`hermes backup` leaves out every directory named .git, {git_dir} too, and so the history.",
            f"mv {git_dir} {root}.git && echo 'gitdir: ../{os.path.basename(root)}.git' > {root}/.git",
        )


def _trouble(home: Home, _: World) -> Iterator[Check]:
    said = read_file(home.trouble)
    if said:
        text = said.decode("utf-8", "replace").strip()
        yield Check(
            "last session", False, f"The last session ran without gitmem: {text}", "Repair that first."
        )


def _journal(home: Home, world: World) -> Iterator[Check]:
    from gitmem.memory.capture.abandoned import pending_count

    bundle = open_home(home, world)
    waiting = pending_count(bundle.journal_dir)
    bundle.repository.store.close()
    yield Check("journal", True, f"{waiting} events wait to be committed" if waiting else "nothing waits")


def _sync(home: Home, world: World) -> Iterator[Check]:
    from gitmem.hosts.hermes.maintenance import failures

    bundle = open_home(home, world)
    told = failures(bundle)
    bundle.repository.store.close()
    for sentence in told:
        yield Check("sync", False, sentence, "Look at `gitmem status`.")


def _profiles(home: Home, world: World) -> Iterator[Check]:
    """A cloned profile is configured for gitmem and has no plugin: it runs without, and says nothing."""
    try:
        names = sorted(os.listdir(home.profiles))
    except OSError:
        return
    for name in names:
        other = Home(os.path.join(home.profiles, name))
        with contextlib.suppress(GitMemError):
            if provider_of(other, world) != PROVIDER:
                continue
            if not os.path.isfile(os.path.join(other.shim, "__init__.py")):
                yield Check(
                    f"profile {name}",
                    False,
                    f"The profile {name} is set to gitmem and has no plugin, so it runs without, silently.",
                    f"Run `gitmem connect hermes --profile {shlex.quote(name)}`.",
                )


# --- what Hermes asks a provider for: `hermes memory setup`, `status` and `backup` -------------------------


def short_status(home: Home) -> dict[str, Any]:
    """A few lines for `hermes memory status`."""
    world = real_world()
    found: dict[str, Any] = {}
    quick: tuple[Callable[[Home, World], Iterator[Check]], ...] = (_shim, _bundle, _backup, _trouble)
    for look in quick:
        try:
            for one in look(home, world):
                found[one.name] = one.what if one.ok else f"✗ {one.what} {one.fix}".strip()
        except (GitMemError, OSError) as error:
            found[look.__name__.strip("_")] = f"✗ {error} {getattr(error, 'hint', '')}".strip()
    found["details"] = "gitmem connections hermes"
    return found


def config_schema() -> list[dict[str, Any]]:
    """The settings that are worth a question; all of them have a default."""
    from gitmem.config import settings

    fields = []
    for setting in settings():
        if setting.key in _OFFERED:
            choices = list(setting.choices) or (["true", "false"] if setting.type == "bool" else [])
            default = str(setting.default).lower() if setting.type == "bool" else setting.default
            fields.append(
                {"key": setting.key, "description": setting.help, "default": default, "choices": choices}
            )
    return fields


def save_settings(home: Home, values: Mapping[str, Any]) -> None:
    """Write settings to gitmem.yaml of the home, line by line; other lines and comments stay."""
    from gitmem.config import HERMES_YAML, from_text, setting_named
    from gitmem.settings_edit import keys_of_setting, put

    text = read_settings(home.settings, HERMES_YAML)
    for key, value in values.items():
        if key != "provider":
            setting = setting_named(key, HERMES_YAML)
            wanted = from_text(setting, str(value).strip(), HERMES_YAML)
            text = put("yaml", text, keys_of_setting(text, setting.key), wanted)
    replace_text(home.settings, text)


def set_up(home: Home) -> None:
    """`hermes memory setup gitmem`: install into this home, and say what was done."""
    out = sys.stdout
    try:
        report = install(home, real_world())
    except GitMemError as error:
        out.write(f"\n  gitmem could not be set up: {error} {error.hint}\n\n")
        return
    out.write("\n")
    for mark, what in report.steps:
        out.write(f"  {'✓' if mark == 'done' else '·'} {what}\n")
    for warning in report.warnings:
        out.write(f"  ! {warning}\n")
    out.write("\n  Memory provider: gitmem\n  Start a new session to activate.\n\n")


def outside_paths(home: Home) -> list[str]:
    """The bundle and its history, where they lie outside the home that a backup walks."""
    from gitmem.git.setup import git_dir_of

    root = bundle_root(home, real_world())
    if not os.path.isdir(root):
        return []
    inside = os.path.join(os.path.realpath(home.path), "")
    found = [root, git_dir_of(root) or root]
    return [path for path in dict.fromkeys(found) if not os.path.realpath(path).startswith(inside)]


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
