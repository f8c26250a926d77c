"""`gitmem review` and `scan`: what waits for a person, as one queue, and the scanner asked directly."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.app import App
from gitmem.cli.options import REASON, command, flag
from gitmem.cli.render.answers import item_words, tell_item
from gitmem.cli.terminal import bold, count, dim, green, red, safe, yellow
from gitmem.errors import FoundSomething, GitMemError, UnknownRevision, UsageError
from gitmem.okf.plain import shortened
from gitmem.shape import shape

if TYPE_CHECKING:
    from gitmem.memory.review import Item
    from gitmem.safety.verdict import Result, Scope

_CHOICES = "[a]ccept, [d]rop, [e]dit, [s]how all of it, [n]ext, [q]uit"
_FEW_LINES = 12


@command(
    click.argument("item", default="", metavar="[ID]"),
    flag("--accept", help="Let it in; of two wordings the newer stays, of a full store the newest."),
    flag("--drop", help="Drop it for good; of two wordings the older stays."),
    click.option("--edit", "words", metavar="TEXT", help="Let it in with these words; `-` opens an editor."),
    REASON,
    flag("--list", "only_list", help="Only list what waits; also where no person is."),
    flag("--all", "everything", help="With the entries that a person has not confirmed."),
)
def review(
    app: App,
    item: str,
    accept: bool,
    drop: bool,
    words: str | None,
    reason: str,
    only_list: bool,
    everything: bool,
) -> None:
    """Decide on what waits for a person, one after the other; with ID show one item, or decide on it.

    Held texts, entries that the scanner hides or that a remote took away, entries that two machines worded
    differently, hand edits that cannot be committed, and a store over its limit.

    To decide takes a person at a terminal; to look works everywhere. What you accept is recorded as looked at by you.

    \b
    gitmem review 3f2a --accept
    """
    chosen = accept + drop + (words is not None)
    if chosen and not item:
        raise UsageError("Say which item: `gitmem review --list` has their ids.")
    if chosen > 1:
        raise UsageError("Choose one of --accept, --drop and --edit.")
    if chosen:
        app.need_a_person()
    if item:
        from gitmem.memory.review import find

        if not chosen:
            _show(app, item)
            return
        found = find(app.writing_bundle, item)
        _decide(app, found, "d" if drop else "a" if accept else "e", words=words or "-", reason=reason)
        return
    _go_through(app, everything=everything, only_list=only_list)


def _show(app: App, name: str) -> None:
    """Show an item that waits; anything else by its id, with the sentence that it does not."""
    from gitmem.memory.printed_ids import meant
    from gitmem.memory.review import find

    try:
        app.show(find(app.bundle, name))
    except UnknownRevision:
        found = meant(app.bundle, name)
        if found is None:
            raise
        app.out.line(f"There is nothing to decide about {name}:")
        app.show(found, more=("changes",))


def _go_through(app: App, *, everything: bool, only_list: bool) -> None:
    from gitmem.memory.review import unconfirmed, waiting

    app.note_seen()
    items = [*waiting(app.bundle), *(unconfirmed(app.bundle) if everything else ())]
    app.out.json({"waiting": items})
    if not items:
        app.out.line("Nothing waits.")
    elif only_list or app.out.is_json:
        for item in items:
            told = f"{item.path} {item.why}" if item.kind in ("broken", "full") else item_words(item)
            app.out.block(yellow(item.id), "  ", bold(item.kind), f"  {shortened(told, 120)}")
    else:
        app.need_a_person()
        _ask(app, items)


# --- one after the other ---------------------------------------------------------------------------------


def _ask(app: App, items: list[Item]) -> None:
    for number, item in enumerate(items, start=1):
        app.out.line(dim(f"{number} of {len(items)}"))
        tell_item(app, item, lines=_FEW_LINES)
        while (
            chosen := click.prompt(_CHOICES, type=click.Choice(list("adesnq")), show_choices=False)
        ) == "s":
            tell_item(app, item)
        if chosen == "q":
            return
        try:
            if chosen in "ade":
                _decide(app, item, chosen)
        except GitMemError as error:  # the others can still be decided
            app.out.line(red("! "), f"{error} {error.hint}".rstrip())
        app.out.line()


def _decide(app: App, item: Item, chosen: str, *, words: str = "-", reason: str = "") -> None:
    """Accept (`a`), drop (`d`) or edit (`e`) an item."""
    from gitmem.memory import review

    bundle, by = app.writing_bundle, app.world.person or "human"
    if chosen == "a":
        what, commit = "accepted", review.accept(bundle, item, by=by, reason=reason)
    elif chosen == "d":
        if item.kind == "broken" and not click.confirm(  # what a person wrote would be nowhere afterwards
            f"{safe(item.path)} goes back to what the newest commit has, and what was written there is lost. Drop it?"
        ):
            raise UsageError("Nothing was dropped.")
        what, commit = "dropped", review.drop(bundle, item, by=by, reason=reason)
    else:
        text = words if words != "-" else _edited(item)
        what, commit = "edited", review.edit(bundle, item, text, by=by, reason=reason)
    app.out.json({"id": item.id, "kind": item.kind, "decided": what, "commit": commit or None})
    app.out.line(green(f"{what} "), item.id, dim(f"  {commit[:8]}") if commit else "")


def _edited(item: Item) -> str:
    text = click.edit(item.text, extension=".md")
    if text is None or not text.strip():
        raise UsageError("Nothing was changed.")
    return text if item.kind == "broken" else text.strip()


# --- scan ------------------------------------------------------------------------------------------------


@command(
    click.argument("files", nargs=-1, type=click.Path()),
    flag("--stdin", "from_stdin", help="Scan standard input, as one text."),
    flag("--jsonl", help='Lines {"text": …} in, a verdict line out for each, in order.'),
    flag("--history", help="Scan every entry that the history of this memory holds."),
    click.option(
        "--scope",
        type=click.Choice(["memory", "event", "skill", "recall"]),
        default="memory",
        help="How strictly.",
    ),
    flag("--accept-rules", help="Accept the rules of config/scanner.md on this machine."),
)
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
    from gitmem.memory.gate import scan as scanning

    if accept_rules and not app.bundle.part(scanning.BundleScanner).accept_rules():
        raise UsageError("This memory has no rules of its own: they would be in config/scanner.md.")
    if sum((bool(files), from_stdin, jsonl, history)) > 1:
        raise UsageError("Choose one of files, --stdin, --jsonl and --history.")
    if jsonl:
        _stream(scope)
        return
    judged: Iterator[tuple[str, Result]]
    if files or from_stdin:
        judged = ((where, scanning.scan_text(text, scope)) for where, text in _texts(app, files))
    else:
        judged = scanning.scan_history(app.bundle) if history else scanning.scan_tree(app.bundle)
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
    from gitmem.memory.gate.scan import scan_text

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
