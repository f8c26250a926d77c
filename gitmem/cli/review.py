"""`gitmem review`: what waits for a person, one queue, and a person's word on each item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import json_option, need_a_person, pass_app, with_json
from gitmem.cli.output import bold, dim, green, red, safe, yellow
from gitmem.errors import GitMemError, UsageError
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.memory.review import Item

_CHOICES = "[a]ccept, [d]rop, [e]dit, [s]how all of it, [n]ext, [q]uit"
_FEW_LINES = 12


@click.group(invoke_without_command=True)
@click.option("--list", "only_list", is_flag=True, help="Only list what waits; also where no person is.")
@click.option("--all", "everything", is_flag=True, help="With the entries that nobody confirmed.")
@json_option
@pass_app
@click.pass_context
def review(ctx: click.Context, app: App, only_list: bool, everything: bool) -> None:
    """Decide on what waits for a person, one after the other.

    Held texts, entries that the scanner hides or that a remote took away, entries that two machines worded
    differently, hand edits that cannot be committed, and a store over its limit.

    To decide takes a person at a terminal; `--list`, `--json` and `show` work everywhere. What you accept is recorded
    as looked at by you.

    \b
    gitmem review
    gitmem review --list
    gitmem review accept 3f2a
    """
    if ctx.invoked_subcommand is not None:
        return
    from gitmem.memory.review import unconfirmed, waiting

    items = [*waiting(app.bundle), *(unconfirmed(app.bundle) if everything else ())]
    app.out.json({"waiting": items})
    if not items:
        app.out.line("Nothing waits.")
    elif only_list or app.out.is_json:
        for item in items:
            app.out.line(*_line(item))
    else:
        need_a_person()
        _ask(app, items)


@review.command("show")
@click.argument("item")
@with_json
def show(app: App, item: str) -> None:
    """Show one item with its text (made safe for a terminal), why it waits, and where it came from."""
    from gitmem.memory.review import find

    found = find(app.bundle, item)
    app.out.json(found)
    _tell(app, found)


@review.command("accept")
@click.argument("item")
@click.option("--reason", default="", help="Why it is fine.")
@with_json
def accept(app: App, item: str, reason: str) -> None:
    """Let an item in: it is recorded as looked at by you.

    Of a contest the newer wording stays; of a store over its limit the oldest entries go to the archive.
    """
    need_a_person()
    from gitmem.memory import decide
    from gitmem.memory import review as queue

    found = queue.find(app.writing_bundle, item)
    _done(app, found, "accepted", decide.accept(app.bundle, found, by=_person(app), reason=reason))


@review.command("drop")
@click.argument("item")
@click.option("--reason", default="", help="Why it goes.")
@with_json
def drop(app: App, item: str, reason: str) -> None:
    """Drop an item for good: it leaves the memory where it is there, and is not asked about again.

    Of a contest the older wording stays; a hand edit goes back to what the newest commit has.
    """
    need_a_person()
    from gitmem.memory import decide
    from gitmem.memory import review as queue

    found = queue.find(app.writing_bundle, item)
    _sure(found)
    _done(app, found, "dropped", decide.drop(app.bundle, found, by=_person(app), reason=reason))


@review.command("edit")
@click.argument("item")
@click.argument("text", default="")
@click.option("--reason", default="", help="Why these words.")
@with_json
def edit(app: App, item: str, text: str, reason: str) -> None:
    """Let an item in with other words: TEXT, or what you make of it in an editor."""
    need_a_person()
    from gitmem.memory import decide
    from gitmem.memory import review as queue

    found = queue.find(app.writing_bundle, item)
    words = text or _edited(found)
    _done(app, found, "edited", decide.edit(app.bundle, found, words, by=_person(app), reason=reason))


# --- one after the other ---------------------------------------------------------------------------------


def _ask(app: App, items: list[Item]) -> None:
    from gitmem.memory import decide

    bundle, by = app.writing_bundle, _person(app)
    for number, item in enumerate(items, start=1):
        app.out.line(dim(f"{number} of {len(items)}"))
        _tell(app, item, lines=_FEW_LINES)
        while (
            chosen := click.prompt(_CHOICES, type=click.Choice(list("adesnq")), show_choices=False)
        ) == "s":
            _tell(app, item)
        try:
            if chosen == "a":
                _done(app, item, "accepted", decide.accept(bundle, item, by=by))
            elif chosen == "d":
                _sure(item)
                _done(app, item, "dropped", decide.drop(bundle, item, by=by))
            elif chosen == "e":
                _done(app, item, "edited", decide.edit(bundle, item, _edited(item), by=by))
            elif chosen == "q":
                return
        except GitMemError as error:  # the others can still be decided
            app.out.line(red("! "), f"{error} {error.hint}".rstrip())
        app.out.line()


def _sure(item: Item) -> None:
    """Ask once more where what a person wrote would be nowhere afterwards."""
    if item.kind == "broken" and not click.confirm(
        f"{safe(item.path)} goes back to what the newest commit has, and what was written there is lost. Drop it?"
    ):
        raise UsageError("Nothing was dropped.")


def _edited(item: Item) -> str:
    text = click.edit(item.text, extension=".md")
    if text is None or not text.strip():
        raise UsageError("Nothing was changed.")
    return text if item.kind == "broken" else text.strip()


def _person(app: App) -> str:
    return app.world.person or "human"


# --- showing ---------------------------------------------------------------------------------------------


def _line(item: Item) -> tuple[Any, ...]:
    told = item.why if item.kind in ("broken", "full") else item.text
    return yellow(item.id), "  ", bold(item.kind), f"  {item.path}  ", shortened(told, 60)


def _tell(app: App, item: Item, *, lines: int = 0) -> None:
    """An item, its text cut to so many lines where that is asked for."""
    app.out.line(bold(item.id), "  ", item.kind, "  ", item.path, "  ", dim(app.moment(item.at)))
    if item.why:
        app.out.line(red("  ! "), safe(item.why))
    for name, value in (("session", item.session), ("source", item.source)):
        if value:
            app.out.line(dim(f"  {name}: "), value)
    app.out.line()
    text = item.text.split("\n")
    app.out.text("\n".join(text[:lines] if lines else text))
    if lines and len(text) > lines:
        app.out.line(dim(f"… and {len(text) - lines:,} more lines"))


def _done(app: App, item: Item, what: str, commit: str) -> None:
    app.out.json({"id": item.id, "kind": item.kind, "decided": what, "commit": commit or None})
    app.out.line(green(f"{what} "), item.id, dim(f"  {commit[:8]}") if commit else "")
