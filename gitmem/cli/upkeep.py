"""`gitmem verify`, `doctor`, `gc`."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import asdict

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import bold, count, dim, green, red, size, yellow
from gitmem.errors import BundleBusy, FoundSomething


@click.command()
@click.option(
    "--history", is_flag=True, help="Check every file of the whole history, not only the newest commit's."
)
@with_json
def verify(app: App, history: bool) -> None:
    """Prove that the bundle is whole.

    Reads every object and ref, checks each file against the OKF rules and the rules for paths, the
    trailers of gitmem's own commits, and that the work tree is what the newest commit says. Exits with 3
    when something is found, and changes nothing.

    \b
    gitmem verify
    gitmem verify --history --json
    """
    from gitmem.memory.upkeep.verify import CHECKS, Verification

    bundle = app.any_bundle()
    bundle.finish_pending()
    verification = Verification(bundle, history=history)
    findings = list(verification.run())
    app.out.json(
        {
            "ok": not findings,
            "checks": list(CHECKS),
            "commit_count": verification.commits,
            "file_count": verification.files,
            "findings": [asdict(finding) for finding in findings],
        }
    )
    app.out.paged()
    for finding in findings:
        app.out.line(red(f"{finding.check}: "), bold(finding.where), " " * bool(finding.where), finding.what)
    seen = f"{count(verification.commits, 'commit')} and {count(verification.files, 'file')}"
    if findings:
        app.out.line(f"Looked at {seen}; {count(len(findings), 'finding')}.")
    else:
        app.out.line(green("Whole. "), f"Looked at {seen}; nothing is wrong.")
    if findings:
        raise click.exceptions.Exit(FoundSomething.exit_code)


@click.command()
@click.option("--fix", is_flag=True, help="Repair what can be repaired safely.")
@with_json
def doctor(app: App, fix: bool) -> None:
    """Find the usual problems and say how to repair each.

    Exits with 3 when a problem is left that keeps gitmem from working; notes alone leave 0.

    \b
    gitmem doctor
    gitmem doctor --fix
    """
    from gitmem.memory.upkeep.create import install_hooks
    from gitmem.memory.upkeep.doctor import Diagnosis

    bundle = app.any_bundle()
    diagnosis = Diagnosis(
        bundle, install_hooks=lambda: install_hooks(bundle.repository, python=sys.executable)
    )
    rows: list[dict[str, object]] = []
    left = 0
    for problem in diagnosis.run():
        done = problem.fix() if fix and problem.fix is not None else ""
        left += problem.serious and not done
        rows.append(
            {
                "name": problem.name,
                "serious": problem.serious,
                "what": problem.what,
                "remedy": problem.remedy,
                "fixable": problem.fix is not None,
                "fixed": done,
            }
        )
        app.out.line(red("! ") if problem.serious else yellow("· "), problem.what)
        app.out.line("  ", green(done) if done else dim(problem.remedy))
    app.out.json({"ok": not left, "problems": rows})
    if not rows:
        app.out.line(green("Healthy. "), "No problem was found.")
    if left:
        raise click.exceptions.Exit(FoundSomething.exit_code)


@click.command()
@click.option("--auto", is_flag=True, help="Only when it is due, at low priority, quietly.")
@with_json
def gc(app: App, auto: bool) -> None:
    """Compress the object store, so that the bundle stays small and fast.

    Gitmem does this by itself now and then. The git program does it when it is installed; without it
    the result is several times larger. Automatic snapshots are thinned too.

    \b
    gitmem gc
    """
    from gitmem.git import housekeeping

    repository = app.bundle.repository
    if auto:
        if not housekeeping.due(repository):
            app.out.json({"ran": False, "by": None, "before": None, "after": None})
            return
        nice = getattr(os, "nice", None)
        if nice is not None:
            with contextlib.suppress(OSError):
                nice(10)
    try:
        app.bundle.snapshots.thin()
        cleaned = housekeeping.clean(repository)
    except BundleBusy:
        if auto:
            return
        raise
    app.out.json(
        {"ran": True, "by": cleaned.by, "before": asdict(cleaned.before), "after": asdict(cleaned.after)}
    )
    if not auto:
        app.out.line(
            f"Compressed {size(cleaned.before.bytes)} to {size(cleaned.after.bytes)} with {cleaned.by}."
        )
