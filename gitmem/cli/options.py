"""Options that many commands share, and what a shell offers for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from gitmem.cli.app import App

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory

_Command = TypeVar("_Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]

pass_app = click.make_pass_decorator(App)


def command(
    *options: Option, of: click.Group | None = None, name: str | None = None, json: bool = True
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command of the app with its options, in the order in which the help lists them, and `--json`."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        made: Any = pass_app(function)
        for option in reversed((*options, *((_JSON,) if json else ()))):
            made = option(made)
        made = (of.command if of is not None else click.command)(name)(made)
        assert isinstance(made, click.Command)
        return made

    return decorate


def _print_json(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    app = ctx.find_object(App)
    if wanted and app is not None:
        app.out.is_json = True


def _choose_dates(ctx: click.Context, _: click.Parameter, chosen: str | None) -> None:
    app = ctx.find_object(App)
    if chosen and app is not None:
        app.ages = chosen == "age"


def several_words(name: str, **settings: Any) -> Option:
    """A text that needs no quotes: all words that are left."""

    def joined(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str:
        return " ".join(given)

    return click.argument(name.lower(), nargs=-1, callback=joined, **{"required": True, **settings})


def several(*names: str, **settings: Any) -> Option:
    """A condition that may be given several times, for any of the values; an empty one would be none."""

    def checked(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
        if "" in given:
            raise click.BadParameter("it is empty.", ctx, option)
        return given

    return click.option(*names, multiple=True, callback=checked, **settings)


def once(*names: str, **settings: Any) -> Option:
    """A condition of which only one value makes sense: a second is a mistake, and is not the one that wins."""

    return click.option(*names, multiple=True, callback=_one, **settings)


def _one(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str:
    if len(given) > 1 or "" in given:
        raise click.BadParameter("give one value, once.", ctx, option)
    return given[0] if given else ""


def _as_of(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str:
    typed, app = _one(ctx, option, given), ctx.find_object(App)
    return app.revision_or_first(typed) if typed and app is not None else ""


def flag(*names: str, help: str) -> Option:  # noqa: A002 (click's word)
    """An option without a value."""
    return click.option(*names, is_flag=True, help=help)


_JSON = click.option(
    "--json", is_flag=True, expose_value=False, callback=_print_json, help="Print one JSON document."
)
DATES = click.option(
    "--date",
    type=click.Choice(["age", "iso"]),
    expose_value=False,
    callback=_choose_dates,
    help="Show ages (on a terminal) or exact dates.",
)
VIEW = (
    flag("--events", help="Also the record: what was said and done in sessions."),
    flag("--stat", help="Only how much changed in each file."),
)
DRY_RUN = flag("--dry-run", help="Only say what would change.")
YES = flag("--yes", help="Do not ask.")
TARGET = click.option("--target", type=click.Choice(["memory", "user"]), help="Only one store.")
AS_OF = click.option(
    "--as-of",
    metavar="REV",
    multiple=True,
    callback=_as_of,
    help="As it was at a commit, a snapshot, a date or session:ID.",
)
SINCE = once("--since", metavar="DATE", help="From that day or moment on.")
UNTIL = once("--until", metavar="DATE", help="Up to that day or moment.")
PICK = (
    several("--session", help="Only of a session."),
    several("--agent", help="Only of an agent."),
    several("--machine", help="Only of a machine."),
    several("--path", help="Only in a file or below a directory."),
    SINCE,
    UNTIL,
)
"""Conditions that narrow each other; one that is given several times takes any of its values."""
SESSION = click.option("--session", default="", help="The session it belongs to (also $GITMEM_SESSION).")
REASON = click.option("-m", "--reason", default="", help="Why; kept in the commit.")
SOURCE = click.option("--source", default="", help="Its origin: a URL, a tool, a person.")
ORIGIN = (
    REASON,
    SOURCE,
    SESSION,
    click.option(
        "--derived-from",
        multiple=True,
        metavar="NAME",
        help="What this follows from: an entry's hash, a file, a commit or a session.",
    ),
)
TRANSPORT = (
    once("--transport", type=click.Choice(["git", "dulwich"]), help="How to talk to the remote."),
    click.option(
        "--timeout", type=float, default=120.0, show_default=True, help="Seconds one step may take."
    ),
)


# --- what a shell offers ---------------------------------------------------------------------------------

_MOST = 200


class Offered(click.types.StringParamType):
    """Any text; a shell offers what is in the memory. Only names are read, no file is."""

    def __init__(self, sources: Collection[str]) -> None:
        self._sources = sources

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 (click's)
        incomplete: str,
    ) -> list[CompletionItem]:
        from gitmem.errors import GitMemError
        from gitmem.memory.opening import find_root, open_bundle

        root = ctx.find_root()
        world = (root.find_object(App) or App(None)).world
        try:
            bundle = open_bundle(world, find_root(world, root.params.get("bundle") or ""), "as is")
        except (GitMemError, OSError):
            return []
        names = sorted({name for source in self._sources for name in _named(bundle, source)})
        return [CompletionItem(name) for name in names if name.startswith(incomplete)][:_MOST]


def offer(command: click.Command, path: str) -> None:
    """Let the parameters of a command, and of those inside it, offer what they take."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            offer(inner, f"{path} {name}")
    for param in command.params:
        names = {param.name, f"{path} {param.name}"}
        sources = [source for source, taken in TAKEN.items() if names & {*taken.split(", ")}]
        if sources and isinstance(param.type, click.types.StringParamType):
            param.type = Offered(sources)


TAKEN = {
    "kinds": "kind",
    "machines": "machine",
    "paths": "path, edit file, show what",
    "pending": "review item",
    "plans": "plan step name, plan complete name",
    "remotes": "sync name, remote remove name, remote forget name",
    "revisions": "as_of, revision, revisions, diff old, diff new, show what",
    "sessions": "session, session_id, parent, show what",
    "settings": "config key",
    "snapshots": "snapshot name",
    "types": "type",
}
"""Names of one kind that there are, and what takes them: a parameter, or one of a command."""


def _named(bundle: Memory, source: str) -> Iterable[str]:
    from gitmem.config import settings
    from gitmem.git.git_settings import Remotes
    from gitmem.git.message import KINDS
    from gitmem.memory.review import unconfirmed, waiting
    from gitmem.okf import layout

    found: dict[str, Callable[[], Iterable[str]]] = {
        "kinds": lambda: KINDS,
        "machines": lambda: (bundle.config.machine, *bundle.tree().names("memories/machines")),
        "paths": lambda: _paths(bundle),
        "pending": lambda: (item.id for item in (*waiting(bundle), *unconfirmed(bundle))),
        "plans": lambda: (plan.name for plan in bundle.plans.all()),
        "remotes": lambda: (one.name for one in Remotes(bundle.repository).all()),
        "revisions": lambda: (
            *("HEAD", "yesterday", "today"),
            *_named(bundle, "snapshots"),
            *(f"session:{one}" for one in _named(bundle, "sessions")),
        ),
        "sessions": lambda: map(layout.session_name, layout.session_pages(bundle.tree())),
        "settings": lambda: (row.key for row in settings()),
        "snapshots": lambda: (one.name for one in bundle.snapshots.all(automatic=True)),
        "types": lambda: layout.TYPES,
    }
    return found[source]()


def _paths(bundle: Memory) -> Iterable[str]:
    """Files that a person may name, and the directories above them."""
    from gitmem.okf import layout

    for path, _ in bundle.tree().files():
        if not layout.is_generated(path):
            parts = path.split("/")
            yield from ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))
            yield path
