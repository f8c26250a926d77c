"""The command `gitmem`: its table of commands, and the boundary where every error becomes one line.

`gitmem --help` imports click and nothing else of weight; each command's module is imported when it runs.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from gitmem.cli import ReaderGone
from gitmem.cli.app import App
from gitmem.cli.terminal import complain, to_json
from gitmem.errors import GitMemError
from gitmem.version import __version__

if TYPE_CHECKING:
    from gitmem.world import World

_COMPLETE = "_GITMEM_COMPLETE"
_INTERRUPTED = 130
_PIPE_CLOSED = 141
"""What a shell shows for a program that SIGPIPE ended, as git is."""


SECTIONS = {
    "Start and look": {"setup": "init trust status", "demo": "demo"},
    "Remember": {
        "facts": "remember replace forget facts note edit commit",
        "record": "record session plan",
        "skill": "skill",
    },
    "History": {"history": "log digest show diff blame why"},
    "Find": {"find": "search recall"},
    "Undo": {"undo": "snapshot restore revert undo redo"},
    "Other machines": {"sync": "remote sync clone"},
    "Other programs": {"exchange": "import export"},
    "Safety": {"review": "review scan", "exchange": "erase"},
    "Set up and keep well": {"connect": "connect disconnect connections mcp", "setup": "config check gc"},
    "Plumbing, for git, shells and scripts": {"sync": "fold", "plumbing": "hook merge-driver"},
}
"""Sections of `gitmem help --all`: the modules of `gitmem.cli`, and the commands in each."""
COMMANDS = {
    name: module
    for modules in SECTIONS.values()
    for module, names in modules.items()
    for name in names.split()
}
_INSTEAD = {
    "check": "doctor, fsck, verify",
    "check --fix": "index",
    "config": "config list",
    "config KEY": "config get",
    "config KEY --unset": "config unset",
    "config KEY VALUE": "config set",
    "connect AGENT": "install, mcp install",
    "connect DIR": "skill link",
    "connect hermes": "hermes",
    "connections hermes": "hermes status",
    "diff REV --path skills/NAME --unified": "skill diff",
    "disconnect AGENT": "mcp uninstall",
    "disconnect DIR": "skill unlink",
    "disconnect hermes": "hermes uninstall",
    "facts": "list, ls, memory",
    "facts --block": "memory block",
    "forget TEXT": "delete, memory remove, remove, rm",
    "help --all": "completion",
    "log": "history, session list, sessions",
    "log --path skills/NAME": "skill log",
    "remember --target user TEXT": "record user-profile",
    "remember TEXT": "add, memory add",
    "replace OLD NEW": "memory replace",
    "restore REV": "checkout, reset",
    "review": "contested, quarantine",
    "review ID": "review show",
    "review ID --accept": "review accept",
    "review ID --drop": "review drop",
    "review ID --edit TEXT": "review edit",
    "search WORDS": "find",
    "show ID": "session show",
    "show NAME": "snapshot show",
    "show PATH": "backlinks, links",
    "skill create NAME": "skill template",
    "skill create NAME DIR": "skill import",
    "skill list": "skill categories",
    "skill list --prompt": "skill index",
    "skill show NAME": "skill view",
    "snapshot --delete NAME": "snapshot delete",
    "snapshot --list": "snapshot list",
    "snapshot NAME": "tag",
    "status": "sync status",
    "sync": "merge, pull, push",
    "sync --dry-run": "fetch",
    "undo": "memory undo",
    "why TEXT": "trace",
}
RENAMED = {word: command for command, words in _INSTEAD.items() for word in words.split(", ")}
"""Former words, and words of other programs, with what to type instead."""
FIRST_SCREEN = """\
Usage: gitmem [-C MEMORY] COMMAND …        An AI agent's memory in git.

Start      init             create a memory (~/.gitmem; or a directory)
           connect claude   give an agent this memory (codex, hermes …)
           status           what it knows, what waits (gitmem alone, too)
Remember   remember TEXT    add a fact that every prompt carries
           replace OLD NEW  reword a fact           forget TEXT   remove a fact
           facts            list them               note TITLE    write a page
Look       log              sessions, and what each of them learned
           digest           the last week: learned, decided, taken back
           diff friday      what changed since      show ID       one thing
           why TEXT         who said so, since when, who saw it
           search WORDS     find facts and talk     recall WORDS  past talk
Take back  undo, redo       the last change, whatever it was
           revert --session S   one session, with what follows from it
           restore friday   everything as it was    snapshot NAME name a state
Decide     review           what waits for a person, one after the other
Machines   sync             this memory and a remote, brought together

`gitmem COMMAND -h` explains one. `gitmem help --all` lists the others:
import, export, erase, skill, check, config, remote, clone, blame, edit, plan …
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 found something to decide.
"""
NO_MEMORY = """\
gitmem keeps an AI agent's memory in git: read it, diff it, undo it.
`gitmem init` creates a memory in ~/.gitmem, `gitmem init DIR` one in a directory.
`gitmem connect codex` gives it to an agent (claude, cursor, hermes, opencode). `gitmem help` has the rest.
"""


def _first_words(text: str) -> str:
    """The first sentence of a help, up to what explains it."""
    return re.split(r"[.:;](?=\s|$)", " ".join(text.split()), maxsplit=1)[0] + "."


class LazyGroup(click.Group):
    """A group that imports a command only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"gitmem.cli.{COMMANDS[cmd_name]}")
        command = getattr(module, cmd_name.replace("-", "_") + "_" * (cmd_name == "import"))
        assert isinstance(command, click.Command)
        if _COMPLETE in os.environ:  # a shell asks what to offer
            from gitmem.cli.options import offer

            offer(command, cmd_name)
        return command

    def get_help(self, ctx: click.Context) -> str:
        """The first screen; `gitmem help --all` has every command."""
        return super().get_help(ctx) if ctx.meta.get("all") else FIRST_SCREEN.rstrip("\n")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, modules in SECTIONS.items():
            commands = [self.get_command(ctx, name) for names in modules.values() for name in names.split()]
            rows = [(one.name or "", _first_words(one.help or "")) for one in commands if one is not None]
            with formatter.section(section):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] == "help":
            if args[1:] in ([], ["--all"]):
                ctx.meta["all"] = args[1:] == ["--all"]
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        if args == ["version"]:
            click.echo(f"gitmem {__version__}")
            ctx.exit()
        for typed in (" ".join(args[:2]), args[0] if args else ""):
            if typed in RENAMED and typed not in COMMANDS:
                raise click.UsageError(
                    f"There is no command `{typed}`: it is `gitmem {RENAMED[typed]}`.", ctx
                )
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            guess = f" Did you mean `{near[0]}`?" if near else ""
            raise click.UsageError(f"There is no command `{args[0]}`.{guess}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("-C", "bundle", metavar="MEMORY", help="The memory to work on.")
@click.version_option(__version__, message="gitmem %(version)s", help="Print the version.")
@click.pass_context
def cli(ctx: click.Context, bundle: str | None) -> None:
    """An AI agent's memory in git: read it, diff it, undo it.

    The memory is the one that -C or $GITMEM_BUNDLE names, else the nearest directory above that is one, that
    of the project here, that of $HERMES_HOME (~/.hermes), or ~/.gitmem.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 found something to decide.
    """
    app = ctx.obj
    assert isinstance(app, App)
    app.chosen, app.command = bundle or "", ctx.invoked_subcommand or "status"
    if ctx.invoked_subcommand is None and not (bundle or app.is_in_a_memory()):
        click.echo(NO_MEMORY, nl=False)
    elif ctx.invoked_subcommand is None:
        from gitmem.cli.setup import status

        ctx.invoke(status)


def _fail(app: App, argv: Sequence[str], code: int, error: str, hint: str = "") -> int:
    """Say what went wrong, in one line; where JSON is wanted and no document is out yet, in one too."""
    if "--json" in argv and not app.out.has_json:
        document = {"error": " ".join(error.split()), "hint": hint or None, "exit_code": code}
        with contextlib.suppress(BrokenPipeError):
            click.echo(to_json(document))
    complain(f"{error} {hint}", env=app.env)
    return code


def main(argv: Sequence[str] | None = None, world: World | None = None) -> int:
    """Run one command and give its exit code; whatever goes wrong becomes one line on standard error."""
    for stream in (
        sys.stdout,
        sys.stderr,
    ):  # no output fails for a character that the terminal's encoding lacks
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    argv = sys.argv[1:] if argv is None else argv
    app = App(world)
    fail = partial(_fail, app, argv)
    failure = None
    try:
        try:
            _check_words(argv)
            code = cli.main(argv, prog_name="gitmem", standalone_mode=False, obj=app)
            return code if isinstance(code, int) else 0
        except GitMemError as error:
            failure = error
            raise
        finally:
            app.close(failure)
    except GitMemError as error:
        return fail(error.exit_code, str(error), error.hint)
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # of click 8.2 and later: a group without a command
            click.echo(error.format_message())
            return 0
        path = error.ctx.command_path if error.ctx is not None else "gitmem"
        told = error.format_message()
        return fail(2, told + "." * (not told.endswith((".", "?", "!"))), f"See `{path} --help`.")
    except click.ClickException as error:
        return fail(1, error.format_message())
    except (KeyboardInterrupt, click.Abort):
        return fail(_INTERRUPTED, "interrupted.")
    except (ReaderGone, BrokenPipeError):
        # The reader of our output went away; what is still buffered has nowhere to go.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (lives as long as the process)
        return _PIPE_CLOSED
    except Exception as error:  # the last boundary: people get a line, not a traceback
        if app.env.get("GITMEM_DEBUG"):
            raise
        if isinstance(error, OSError):
            where = f" ({error.filename})" if error.filename else ""
            told = f"The system refused: {error.strerror or error}{where}."
            return fail(1, told, "Repair that and try again.")
        told = f"{type(error).__name__}: {error}. This is a bug in gitmem; run it again with GITMEM_DEBUG=1 to see where."
        return fail(1, told)


def _check_words(argv: Sequence[str]) -> None:
    """Refuse what no file, name or text can hold; bytes that are not UTF-8 may be a file's name."""
    for word in argv:
        if "\0" in word or any("\ud800" <= each <= "\udc7f" or "\udd00" <= each <= "\udfff" for each in word):
            raise click.UsageError(f"{word[:60]!a} holds a NUL or half of a character.")
