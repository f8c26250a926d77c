"""`gitmem connect`, `disconnect`, `connections` and `mcp`: agents that use this memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from gitmem.cli.app import App
from gitmem.cli.options import command, flag
from gitmem.cli.terminal import bold, count, dim, green, red, yellow
from gitmem.errors import FoundSomething, UsageError

if TYPE_CHECKING:
    from gitmem.hosts.connect import Check
    from gitmem.hosts.hermes.home import Home

_AGENTS = ("hermes", "codex", "claude", "cursor", "opencode")
_TAKEN = {"mcp": ("dry_run", "allow_undo"), "hermes": ("home", "profile"), "directory": ()}
"""Options that a kind of agent takes."""
_HERMES = (
    click.option("--home", metavar="DIR", help="The Hermes home; $HERMES_HOME or ~/.hermes if left out."),
    click.option("--profile", metavar="NAME", help="A profile of Hermes, by its name."),
)
_AGENT = click.argument("agent", metavar="AGENT|DIR")
_UNDO = flag("--allow-undo", help="Offer the model a tool that takes changes back.")
_DRY_RUN = flag("--dry-run", help="Print the agent's file as it would be, and change nothing.")


@command(_AGENT, _UNDO, _DRY_RUN, *_HERMES)
def connect(
    app: App, agent: str, allow_undo: bool, dry_run: bool, home: str | None, profile: str | None
) -> None:
    """Let an agent use this memory: one entry of its settings, whose comments and order stay.

    Hermes gets a memory of its own in its home, which takes in MEMORY.md, USER.md and the agent's own skills,
    and a memory provider. DIR is a directory of skills of any agent, which is kept in step with those of the memory. Run
    again it changes nothing.

    \b
    gitmem connect codex             (or claude, cursor, opencode)
    gitmem connect hermes
    gitmem connect ~/.claude/skills
    """
    kind = _kind(agent, dry_run=dry_run, allow_undo=allow_undo, home=home, profile=profile)
    if kind != "hermes" and not dry_run:
        from gitmem.memory.opening import create_first

        if root := create_first(app.world, app.chosen):
            app.out.line("Created a memory in ", bold(root), ".")
    if kind == "directory":
        from gitmem.memory.mirror.links import Links

        looked = Links(app.writing_bundle).link(app.world.path(agent))
        written = f"{count(looked.taken, 'commit')}, {count(len(looked.written), 'file')} written"
        app.answer({"directory": agent, "written": list(looked.written)}, f"{agent} is connected: {written}.")
        return
    if kind == "hermes":
        from gitmem.hosts.hermes.profile import install

        app.show(install(_home(app, home, profile), app.world), title="Hermes home")
        app.out.line(
            dim("It is active from the next session on; `gitmem connections hermes` checks every step.")
        )
        return
    from gitmem.hosts import connect as hosts

    one = hosts.PROFILES[agent]
    words = hosts.command(app.world, app.repository.root, allow_undo=allow_undo)
    done = hosts.connect(one, app.world, app.repository.state, words, dry_run=dry_run)
    app.show(done, title=one.title)
    if done.changed:
        app.out.line(dim(f"{one.title} starts it with its next session."))


@command(_AGENT, _DRY_RUN, *_HERMES)
def disconnect(app: App, agent: str, dry_run: bool, home: str | None, profile: str | None) -> None:
    """Take gitmem out of an agent's settings: they are as they were. The memory stays.

    \b
    gitmem disconnect codex
    gitmem disconnect ~/.claude/skills
    """
    kind = _kind(agent, dry_run=dry_run, home=home, profile=profile)
    if kind == "directory":
        from gitmem.memory.mirror.links import Links

        Links(app.writing_bundle).unlink(app.world.path(agent))
        app.answer({"directory": agent}, f"{agent} is left alone from now on; its files stay.")
        return
    if kind == "hermes":
        from gitmem.hosts.hermes.profile import uninstall

        app.show(uninstall(_home(app, home, profile), app.world), title="Hermes home")
        return
    from gitmem.hosts import connect as hosts

    one = hosts.PROFILES[agent]
    app.show(hosts.disconnect(one, app.world, app.repository.state, dry_run=dry_run), title=one.title)


@command(click.argument("agent", type=click.Choice(_AGENTS), required=False), *_HERMES)
def connections(app: App, agent: str | None, home: str | None, profile: str | None) -> None:
    """List the agents that use this memory, and check each; with AGENT, look at every step and say the fix."""
    from gitmem.memory.mirror.links import Links

    found: list[tuple[str, list[Check]]] = []
    if agent != "hermes":
        from gitmem.hosts.connect import PROFILES, checks

        root = app.repository.root
        for name in _AGENTS[1:] if agent is None else (agent,):
            seen = checks(PROFILES[name], app.world, root)
            if seen is not None:
                found.append((name, seen))
    chosen = _home(app, home, profile) if agent in (None, "hermes") else None
    if chosen is not None and (agent == "hermes" or os.path.isdir(chosen.shim)):
        from gitmem.hosts.hermes.profile import check

        found.append(("hermes", check(chosen, app.world)))
    if linked := [] if agent else Links(app.bundle).all():  # brought in step first
        Links(app.writing_bundle).look()
    rows = [
        {
            "agent": name,
            "ok": all(one.ok for one in seen),
            "checks": [
                {"name": one.name, "ok": one.ok, "what": one.what, "remedy": one.fix or None} for one in seen
            ],
        }
        for name, seen in found
    ]
    app.out.json({"connections": rows, "directories": [one.directory for one in linked]})
    for link in linked:
        alone = "" if link.is_ours else yellow("  says nothing of this memory: left alone")
        app.out.line(green("✓ ") if link.is_ours else red("✗ "), bold(link.directory), alone)
    if not found and not linked:
        told = f"{agent} is not connected." if agent else "No agent is connected."
        app.out.block(f"{told} `gitmem connect AGENT` connects one.", indent="")
    for name, seen in found:
        for one in seen:
            app.out.line(green("✓ ") if one.ok else red("✗ "), bold(name), f" {one.name}  ", one.what)
            if one.fix:
                app.out.line("    ", yellow(one.fix))
    bad = sum(not one.ok for _, seen in found for one in seen)
    if bad:
        many = "1 step is not as it" if bad == 1 else f"{bad} steps are not as they"
        raise FoundSomething(f"{many} should be.")


def _kind(agent: str, **given: object) -> str:
    """The kind of an agent: one that speaks MCP, hermes, or a directory of skills; an option of another is refused."""
    kind = "hermes" if agent == "hermes" else "mcp" if agent in _AGENTS else "directory"
    if kind == "directory" and os.sep not in agent and not agent.startswith((".", "~")):
        raise UsageError(f"There is no agent {agent!r}: give {', '.join(_AGENTS)}, or a directory of skills.")
    for name, value in given.items():
        if value and name not in _TAKEN[kind]:
            raise UsageError(f"--{name.replace('_', '-')} is not for {agent}.")
    return kind


def _home(app: App, home: str | None, profile: str | None) -> Home:
    from gitmem.hosts.hermes.home import choose_home

    if home and profile:
        raise UsageError("Give --home or --profile, not both.")
    path = os.path.normpath(os.path.join(app.world.cwd, home)) if home else ""
    return choose_home(app.world, path=path, profile=profile or "")


@command(_UNDO, flag("--tools-only", help="Offer no prompts."), json=False)
def mcp(app: App, **how: bool) -> None:
    """Serve an agent over the Model Context Protocol, on standard input and output.

    An agent starts this by itself, once `gitmem connect AGENT` has put it into its settings.
    """
    from gitmem.hosts.mcp.server import serve

    click.get_current_context().exit(serve(app.chosen, **how))
