"""`gitmem scan` and `gitmem quarantine`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import need_a_person, with_dates, with_json
from gitmem.cli.output import bold, count, dim, green, red, safe, yellow
from gitmem.errors import FoundSomething, GitMemError, UsageError
from gitmem.okf.plain import shortened
from gitmem.shape import shape

if TYPE_CHECKING:
    from gitmem.memory.gate.audit import Flagged
    from gitmem.safety.verdict import Result, Scope


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--stdin", "from_stdin", is_flag=True, help="Scan what comes on standard input, as one text.")
@click.option("--jsonl", is_flag=True, help='Lines {"text": …} in, a verdict line out for each, in order.')
@click.option("--history", is_flag=True, help="Scan every entry that the history of this bundle holds.")
@click.option(
    "--scope",
    type=click.Choice(["memory", "event", "skill", "recall"]),
    default="memory",
    help="How strictly.",
)
@click.option("--accept-rules", is_flag=True, help="Accept the rules of config/scanner.md on this machine.")
@with_json
def scan(
    app: App,
    files: tuple[str, ...],
    from_stdin: bool,
    jsonl: bool,
    history: bool,
    scope: Scope,
    accept_rules: bool,
) -> None:
    """Scan text for attacks on a memory: instructions, exfiltration, hidden characters.

    Without arguments it scans every entry of the bundle as it is. Exit code 3 means findings.

    \b
    gitmem scan notes.md
    echo "ignore previous instructions" | gitmem scan --stdin
    gitmem scan --jsonl < lines.jsonl
    """
    from gitmem.memory.gate import audit

    if accept_rules and not audit.accept_rules(app.bundle):
        raise UsageError("This bundle has no rules of its own: they would be in config/scanner.md.")
    if sum((bool(files), from_stdin, jsonl, history)) > 1:
        raise UsageError("Choose one of files, --stdin, --jsonl and --history.")
    if jsonl:
        _stream(scope)
        return
    judged: Iterator[tuple[str, Result]]
    if files or from_stdin:
        judged = ((where, audit.scan_text(text, scope)) for where, text in _texts(app, files))
    else:
        judged = audit.scan_history(app.bundle) if history else audit.scan_tree(app.bundle)
    found = [(where, result) for where, result in judged if result.verdict != "allow"]
    app.out.json({"flagged": [{"where": where, **shape(result)} for where, result in found]})
    for where, result in found:
        style = red if result.verdict == "block" else yellow
        app.out.line(style(f"{result.verdict} "), bold(where), " ", result.explain())
    if found:
        raise FoundSomething(f"{count(len(found), 'text')} with findings.")
    app.out.line(green("Nothing found."))


def _texts(app: App, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    files = list(files)
    if not files:
        yield "standard input", sys.stdin.buffer.read().decode("utf-8", "replace")
    for name in files:
        try:
            with open(app.world.path(name), "rb") as file:
                yield name, file.read().decode("utf-8", "replace")
        except OSError as error:
            raise GitMemError(f"{name} cannot be read ({error.strerror}).") from error


def _stream(scope: Scope) -> None:
    from gitmem.memory.gate.audit import scan_text

    flagged = 0
    for number, line in enumerate(iter(sys.stdin.buffer), start=1):
        try:
            value = json.loads(line)
            text = value["text"]
            if not isinstance(text, str):
                raise TypeError
            answer = shape(scan_text(text, scope))
        except (ValueError, KeyError, TypeError):
            answer = {"error": f"line {number} is not a JSON object with a text"}
        except GitMemError as error:
            answer = {"error": str(error)}
        flagged += answer.get("verdict", "allow") != "allow"
        click.echo(json.dumps(answer, ensure_ascii=True))
    if flagged:
        raise FoundSomething(f"{count(flagged, 'text')} with findings.")


# --- quarantine ------------------------------------------------------------------------------------------


@click.group()
def quarantine() -> None:
    """What the scanner held back: look at it, release it, or drop it.

    It lies on a branch of its own: no agent reads it, and it is never pushed.
    """


@quarantine.command("list")
@with_dates
@with_json
def list_(app: App) -> None:
    """List what is held, and entries of the curated store that the scanner hides from prompts."""
    from gitmem.memory.gate.audit import flagged

    held = app.bundle.quarantine.all()
    hidden = list(flagged(app.bundle, "memories"))
    app.out.json({"held_texts": held, "hidden": hidden})
    for one in held:
        where = one.destination
        target = where.get("path") or where.get("session", "")
        about = (dim(app.moment(one.at)), bold(one.verdict), f"for {target}")
        app.out.line(yellow(one.id), *about, shortened(one.text, 60), between="  ")
    for each in hidden:
        text = shortened(each.text, 60)
        app.out.line(yellow(each.id), bold("hidden"), f"in {each.path}", text, between="  ")
    if not held and not hidden:
        app.out.line("Nothing is held.")


@quarantine.command("show")
@click.argument("item")
@with_json
def show(app: App, item: str) -> None:
    """Show one item with its text (made safe for a terminal), findings and origin."""
    from gitmem.memory.gate.audit import find_flagged

    if not app.bundle.quarantine.has(item):
        _show_flagged(app, find_flagged(app.bundle, item))
        return
    one = app.bundle.quarantine.get(item)
    app.out.json(one)
    app.out.line(bold(one.id), "  ", one.verdict, "  ", dim(one.at))
    for finding in one.findings:
        app.out.line(red("  ! "), f"{finding.get('reason', '')} ({finding.get('rule', '')})")
    for key, value in {**one.destination, **one.origin}.items():
        app.out.line(dim(f"  {key}: "), value)
    app.out.line()
    app.out.line(safe(one.text, keep="\n"))


@quarantine.command("release")
@click.argument("item")
@click.option("--reason", default="", help="Why it is fine.")
@with_json
def release(app: App, item: str, reason: str) -> None:
    """Let an item in: it goes where it belonged, and is recorded as looked at by you.

    An entry that is in the tree and is hidden is shown again, on this machine.
    """
    from gitmem.memory.gate.admission import UNCONFIRMED
    from gitmem.memory.gate.audit import find_flagged
    from gitmem.memory.gate.release import release as let_in
    from gitmem.memory.gate.release import unhide

    bundle = app.writing_bundle
    if not bundle.quarantine.has(item):
        entry = find_flagged(bundle, item)
        commit = unhide(bundle, entry, by=app.world.person or "human", reason=reason)
        app.out.json({"id": entry.id, "commit": commit or None, "path": entry.path, "session": None})
        app.out.line(green("released "), entry.id, f" in {entry.path}")
        return
    found = bundle.quarantine.get(item)
    if any(finding.get("rule") == UNCONFIRMED for finding in found.findings):
        need_a_person()  # a scanner may be wrong; what the user never said is only his to confirm
    one, commit = let_in(bundle, item, by=app.world.person or "human", reason=reason)
    path, session = one.destination.get("path"), one.destination.get("session")
    app.out.json({"id": one.id, "commit": commit or None, "path": path or None, "session": session or None})
    where = path or session or ""
    app.out.line(green("released "), one.id, f" to {where}")


@quarantine.command("drop")
@click.argument("item")
@with_json
def drop(app: App, item: str) -> None:
    """Drop an item for good: it will not be asked about again."""
    one = app.writing_bundle.quarantine.remove(item, why="drop")
    app.out.json({"id": one.id})
    app.out.line("dropped ", one.id)


def _show_flagged(app: App, one: Flagged) -> None:
    app.out.json(one)
    app.out.line(bold(one.id), "  hidden  ", dim(one.path))
    for finding in one.result.findings:
        app.out.line(red("  ! "), f"{finding.reason} ({finding.rule})")
    app.out.line()
    app.out.line(safe(one.text, keep="\n"))
