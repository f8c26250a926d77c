"""Options that many commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gitmem.cli.context import App

_Command = TypeVar("_Command", bound=Callable[..., Any])

pass_app = click.make_pass_decorator(App)


def _print_json(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    app = ctx.find_object(App)
    if wanted and app is not None:
        app.out.is_json = True


def json_option(command: _Command) -> _Command:
    """`--json`: the output is one JSON document."""
    option = click.option(
        "--json", is_flag=True, expose_value=False, callback=_print_json, help="Print one JSON document."
    )
    return option(command)


def with_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """The app as the first parameter, and `--json`."""
    return json_option(pass_app(command))


def with_changes(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--events` and `--stat`, for a command that shows changes; they are parameters of these names."""
    events = click.option(
        "--events", is_flag=True, help="Also the record: what was said and done in sessions."
    )
    stat = click.option("--stat", is_flag=True, help="Only how much changed in each file.")
    return events(stat(command))


def _choose_dates(ctx: click.Context, _: click.Parameter, chosen: str | None) -> None:
    app = ctx.find_object(App)
    if chosen and app is not None:
        app.ages = chosen == "age"


def with_dates(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--date`: exact dates or ages; on a terminal ages, elsewhere dates."""
    option = click.option(
        "--date",
        type=click.Choice(["age", "iso"]),
        expose_value=False,
        callback=_choose_dates,
        help="Show ages (on a terminal) or exact dates.",
    )
    return option(command)


def with_options(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """A set of options, in the order in which the help lists them."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def several_words(name: str, **settings: Any) -> Callable[[_Command], _Command]:
    """A text that needs no quotes: all words that are left."""

    def joined(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str:
        return " ".join(given)

    return click.argument(name.lower(), nargs=-1, required=True, callback=joined, **settings)


TARGET = click.option("--target", type=click.Choice(["memory", "user"]), help="Only one store.")
AS_OF = click.option(
    "--as-of", metavar="REV", default="HEAD", help="As it was at a commit, snapshot, date or session."
)
ORIGIN = (
    click.option("-m", "--reason", default="", help="Why; kept in the commit."),
    click.option("--source", default="", help="Where it comes from: a URL, a tool, a person."),
    click.option("--session", default="", help="The session it belongs to."),
    click.option(
        "--derived-from",
        multiple=True,
        metavar="NAME",
        help="What this follows from: an entry's hash, a file, a commit or a session.",
    ),
)


def several(*names: str, **settings: Any) -> Callable[[_Command], _Command]:
    """A condition that may be given several times, for any of the values; an empty one would be none."""

    def checked(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
        if "" in given:
            raise click.BadParameter("it is empty.", ctx, option)
        return given

    return click.option(*names, multiple=True, callback=checked, **settings)


def once(*names: str, **settings: Any) -> Callable[[_Command], _Command]:
    """A condition of which only one value makes sense: a second is a mistake, and is not the one that wins."""

    def checked(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str:
        if len(given) > 1 or "" in given:
            raise click.BadParameter("give one value, once.", ctx, option)
        return given[0] if given else ""

    return click.option(*names, multiple=True, callback=checked, **settings)
