"""Is gitmem working in a Hermes home? Each step is looked at, the ones that fail silently first of all."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gitmem.errors import BundleNotFound, GitMemError
from gitmem.files import read_file
from gitmem.hosts.connect import Check
from gitmem.hosts.hermes.home import PROVIDER, Home, bundle_root, choose_home, open_home
from gitmem.hosts.hermes.install import SHIM_FILES, provider_of, read_text_exact, shim_file
from gitmem.world import World, real_world

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
    named = provider_of(read_text_exact(home.config))
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
    present = [read_file(os.path.join(home.shim, name)) for name in SHIM_FILES]
    if all(data is None for data in present):
        what = f"There is no plugin in {home.shim}: Hermes then runs without gitmem and says nothing."
        # A cloned profile has the configuration and the memories, but no plugins.
        yield Check("plugin", False, what, _install(home, world))
    elif present != [shim_file(name) for name in SHIM_FILES]:
        yield Check(
            "plugin", False, f"The plugin in {home.shim} is of another version.", _install(home, world)
        )
    else:
        yield Check("plugin", True, home.shim)


def _environment(_home: Home, world: World) -> Iterator[Check]:
    """Whether the Hermes that people start can import this gitmem."""
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


def _profiles(home: Home, _: World) -> Iterator[Check]:
    """A cloned profile is configured for gitmem and has no plugin: it runs without, and says nothing."""
    try:
        names = sorted(os.listdir(home.profiles))
    except OSError:
        return
    for name in names:
        other = Home(os.path.join(home.profiles, name))
        with contextlib.suppress(GitMemError):
            if provider_of(read_text_exact(other.config)) != PROVIDER:
                continue
            if not os.path.isfile(os.path.join(other.shim, "__init__.py")):
                yield Check(
                    f"profile {name}",
                    False,
                    f"The profile {name} is set to gitmem and has no plugin, so it runs without, silently.",
                    f"Run `gitmem connect hermes --profile {shlex.quote(name)}`.",
                )


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
