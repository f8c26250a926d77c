"""`gitmem hermes`: install into a Hermes home, take out, look."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import bold, dim, green, red, yellow
from gitmem.errors import FoundSomething, UsageError

if TYPE_CHECKING:
    from gitmem.hosts.hermes.home import Home
    from gitmem.hosts.hermes.install import Report


@click.group()
def hermes() -> None:
    """Hermes Agent: its memory provider, installed into a home.

    \b
    pip install hermes-gitmem        (into the environment of Hermes)
    gitmem hermes install
    gitmem hermes status
    """


def _where(command: Any) -> Any:
    """Which home is meant."""
    for option in (
        click.option("--home", metavar="DIR", help="The Hermes home; $HERMES_HOME or ~/.hermes if left out."),
        click.option("--profile", metavar="NAME", help="A profile of Hermes, by its name."),
        with_json,
    ):
        command = option(command)
    return command


@hermes.command()
@_where
def install(app: App, home: str | None, profile: str | None) -> None:
    """Install gitmem as the memory provider of a Hermes home.

    Makes a bundle in it, takes in MEMORY.md, USER.md and the agent's own skills, writes the plugin, and
    sets memory.provider in config.yaml, whose comments and order stay. Run again it changes nothing.
    """
    from gitmem.hosts.hermes.install import install as put_in

    chosen = _home(app, home, profile)
    report = put_in(chosen, app.world)
    _tell(app, chosen, report)
    app.out.line(dim("It is active from the next session on; `gitmem hermes status` checks every step."))


@hermes.command()
@_where
def uninstall(app: App, home: str | None, profile: str | None) -> None:
    """Take gitmem out of a Hermes home. The bundle stays, and so do MEMORY.md and USER.md."""
    from gitmem.hosts.hermes.install import uninstall as take_out

    chosen = _home(app, home, profile)
    _tell(app, chosen, take_out(chosen))


@hermes.command()
@_where
def status(app: App, home: str | None, profile: str | None) -> None:
    """Check every step of the installation, and say the fix for each that is wrong."""
    from gitmem.hosts.hermes.status import check

    chosen = _home(app, home, profile)
    found = check(chosen, app.world)
    bad = [one for one in found if not one.ok]
    rows = [{"name": one.name, "ok": one.ok, "what": one.what, "remedy": one.fix or None} for one in found]
    app.out.json({"home": chosen.path, "ok": not bad, "checks": rows})
    for one in found:
        app.out.line(green("✓ ") if one.ok else red("✗ "), bold(one.name), "  ", one.what)
        if one.fix:
            app.out.line("    ", yellow(one.fix))
    if bad:
        many = "1 step is not as it" if len(bad) == 1 else f"{len(bad)} steps are not as they"
        raise FoundSomething(f"{many} should be.")


def _home(app: App, home: str | None, profile: str | None) -> Home:
    from gitmem.hosts.hermes.home import choose_home

    if home and profile:
        raise UsageError("Give --home or --profile, not both.")
    path = os.path.normpath(os.path.join(app.world.cwd, home)) if home else ""
    return choose_home(app.world, path=path, profile=profile or "")


def _tell(app: App, home: Home, report: Report) -> None:
    app.out.json(
        {
            "home": home.path,
            "bundle": home.bundle,
            "changed": report.changed,
            "steps": [{"state": state, "what": what} for state, what in report.steps],
            "warnings": report.warnings,
        }
    )
    app.out.line("Hermes home ", bold(home.path))
    for state, what in report.steps:
        app.out.line(green("✓ ") if state == "done" else dim("· "), what)
    for warning in report.warnings if not app.out.is_json else ():
        app.warn(warning)
