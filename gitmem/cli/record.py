"""`gitmem record`, `session` and `plan`: events from a shell or another agent, committed at once."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import click

from gitmem.cli.app import App
from gitmem.cli.options import SESSION, command, flag, several_words
from gitmem.cli.terminal import count, dim, yellow
from gitmem.errors import GitMemError, UsageError

_FIELDS = {
    "observation": ("content", "category"),
    "decision": ("decision", "rationale", "tags"),
    "tool-call": ("tool_name", "args", "result"),
    "turn": ("", "user", "assistant"),
}
"""Kinds of events: the field that TEXT is, and those that have an option."""


@command(
    click.argument("kind", type=click.Choice(list(_FIELDS)), required=False),
    several_words("TEXT", required=False),
    click.option("--category", help="Of an observation: its category in log.md."),
    click.option("--rationale", help="Of a decision: why."),
    click.option("--tag", "tags", multiple=True, help="Of a decision: a tag; may be given several times."),
    click.option("--args", help="Of a tool call: what it was called with."),
    click.option("--result", help="Of a tool call: what it returned (500 characters are kept)."),
    click.option("--user", help="Of a turn: what the person said."),
    click.option("--assistant", help="Of a turn: what the agent answered."),
    flag("--stdin", "from_stdin", help="Read events as JSON lines from standard input."),
    SESSION,
)
def record(app: App, kind: str | None, text: str, from_stdin: bool, session: str, **given: Any) -> None:
    """Record an event in a session: the one named, the one that is open, or today's.

    \b
    gitmem record observation "the build needs node 20"
    gitmem record decision "use Postgres" --rationale "we need JSON" --tag database
    gitmem record tool-call terminal --result "ok"
    gitmem record turn --user "Which port?" --assistant "9100"
    some-agent | gitmem record --stdin

    Lines on standard input look like {"_kind": "observation", "content": "…", "session": "…"}.
    """
    if from_stdin or kind is None:
        if not from_stdin:
            raise UsageError("Say what to record, or give events on standard input with --stdin.")
        _from_stdin(app, session)
        return
    named, *options = _FIELDS[kind]
    fields = {name: value for name, value in given.items() if value}
    if others := fields.keys() - {*options}:
        raise UsageError(f"--{min(others).removesuffix('s')} is not for a {kind}.")
    if bool(text) != bool(named) or not (text or fields):
        raise UsageError("A turn needs --user, --assistant, or both." if not named else f"Give the {kind}.")
    bundle = app.writing_bundle
    event = bundle.record_event(
        kind.replace("-", "_"), session=session, **({named: text} if named else {}), **fields
    )
    document = {"event": event or None, "commit": bundle.tip}
    if event:
        app.answer(document, yellow(bundle.tip[:8]), " recorded ", dim(event))
    else:
        app.answer(document, "Not recorded: the settings leave out this kind of event.")


def _from_stdin(app: App, session: str) -> None:
    """Record JSON lines; a bad one is reported with its number, and the rest goes on."""
    from gitmem.memory.capture.buffer import HotMemoryBuffer

    bundle = app.writing_bundle
    first = bundle.sessions.info(bundle.session_named(session))
    buffer = HotMemoryBuffer(bundle, first)
    recorded, problems = [], []
    try:
        for number, line in enumerate(iter(sys.stdin.buffer), start=1):
            if not line.strip():
                continue
            try:
                fields = json.loads(line)
                if not isinstance(fields, dict):
                    raise UsageError("it is not a JSON object.")
                named = str(fields.pop("session", "") or "")
                if (named or first.id) != buffer.session.id:
                    buffer.enter(bundle.sessions.info(named) if named else first)
                recorded.append(buffer.take(str(fields.pop("_kind", None) or "observation"), fields))
            except (ValueError, TypeError, RecursionError, GitMemError) as error:
                told = "it is nested too deeply." if isinstance(error, RecursionError) else error
                problems.append(f"Line {number} is left out: {told}")
            if buffer.is_full:
                buffer.flush("buffer-max")
    finally:
        buffer.close("explicit")
    for problem in problems:
        app.warn(problem)
    taken = sum(map(bool, recorded))
    skipped = len(recorded) - taken
    left = f", {skipped} left out by the settings" if skipped else ""
    document = {"recorded": taken, "skipped": skipped, "problems": problems, "commit": bundle.tip}
    app.answer(document, yellow(bundle.tip[:8]), f" recorded {count(taken, 'event')}{left}")
    if problems:
        total = len(recorded) + len(problems)
        raise GitMemError(f"{len(problems)} of {total} lines were left out; the rest is recorded.")


# --- session ---------------------------------------------------------------------------------------------


@click.group()
def session() -> None:
    """Begin and end sessions: `gitmem log` lists them, `gitmem show ID` shows one.

    \b
    gitmem session start work-1 --model gpt-5
    gitmem session end
    """


@command(
    click.argument("session_id", default=None, required=False, metavar="[ID]"),
    click.option("--parent", default="", help="The session that this one continues."),
    click.option("--platform", default="", help="Where it runs."),
    click.option("--model", default="", help="The model it uses."),
    click.option("--title", default="", help="What it is about."),
    of=session,
)
def start(app: App, /, session_id: str | None, **known: str) -> None:
    """Begin a session, or resume one; the commands that follow belong to it."""
    bundle = app.writing_bundle
    if session_id is not None and not session_id.strip():
        raise UsageError("A session's id cannot be empty.", hint="Leave it out, and one is made.")
    earlier = bundle.sessions.open_id()
    resumed = bool(session_id and bundle.sessions.find(session_id))
    info = bundle.sessions.start(session_id or "", keep_open=True, **known)
    bundle.sessions.snapshot()
    app.answer({"session": info.id, "started": info.started, "resumed": resumed}, info.id)
    if resumed:
        app.warn(f"{info.id} was there already and goes on.")
    if earlier not in ("", info.id) and bundle.sessions.find(earlier):  # one that did nothing left nothing
        app.warn(f"{earlier} is still open: `gitmem session end {shlex.quote(earlier)}` ends it.")


@command(click.argument("session_id", default="", metavar="[ID]"), of=session)
def end(app: App, session_id: str) -> None:
    """End a session: the one named, or the one that is open."""
    bundle = app.writing_bundle
    name = bundle.session_named(session_id)
    made = bundle.sessions.end(name)
    document = {"session": name, "commit": made.commit.oid if made else None}
    app.answer(document, f"{name} ended" if made else f"{name} had ended already")


# --- plan ------------------------------------------------------------------------------------------------


@click.group()
def plan() -> None:
    """Make plans, and mark their steps done.

    \b
    gitmem plan create "Move the server" "copy data" "switch DNS"
    gitmem plan step move-the-server 1 --result "2 GB"
    gitmem plan complete move-the-server
    """


@command(click.argument("title"), click.argument("steps", nargs=-1, required=True), of=plan)
def create(app: App, title: str, steps: tuple[str, ...]) -> None:
    """Make a plan with its steps."""
    _change(app, "create", title, steps)


@command(
    click.argument("name"),
    click.argument("number", type=int),
    click.option("--result", default="", help="The result of the step."),
    of=plan,
)
def step(app: App, name: str, number: int, result: str) -> None:
    """Mark a step done, counted from 1."""
    _change(app, "complete_step", name, number, result)


@command(click.argument("name"), of=plan)
def complete(app: App, name: str) -> None:
    """Finish a plan; it moves to plans/archive/<year>/."""
    _change(app, "complete", name)


@command(flag("--all", "everything", help="Also those in the archive."), of=plan, name="list")
def list_plans(app: App, everything: bool) -> None:
    """List plans with their progress."""
    app.show({"plans": app.bundle.plans.all(archived=everything)}, short=True, none="There is no open plan.")


def _change(app: App, action: str, *args: Any) -> None:
    bundle = app.writing_bundle
    app.show(getattr(bundle.plans, action)(*args, origin=bundle.origin(session=bundle.session_named())))
