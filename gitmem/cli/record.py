"""`gitmem record`, `session` and `plan`: events from a shell or another agent, committed at once."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import json_option, with_json
from gitmem.cli.output import bold, count, cyan, dim, yellow
from gitmem.errors import GitMemError, UsageError

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.memory.origin import Origin
    from gitmem.memory.plans import Plan

_TITLE = 40
_session = click.option("--session", default="", help="The session it belongs to (also $GITMEM_SESSION).")


@click.group(invoke_without_command=True)
@click.option("--stdin", "from_stdin", is_flag=True, help="Read events as JSON lines from standard input.")
@_session
@json_option
@click.pass_context
def record(ctx: click.Context, from_stdin: bool, session: str) -> None:
    """Record events in a session: the one named, the one that is open, or today's.

    \b
    gitmem record observation "the build needs node 20"
    gitmem record decision "use Postgres" --rationale "we need JSON" --tag database
    gitmem record tool-call terminal --result "ok"
    some-agent | gitmem record --stdin

    Lines on standard input look like {"_kind": "observation", "content": "…", "session": "…"}.
    """
    app = ctx.obj
    assert isinstance(app, App)
    if ctx.invoked_subcommand is None:
        if not from_stdin:
            raise UsageError("Say what to record, or give events on standard input with --stdin.")
        _from_stdin(app, session)


@record.command()
@click.argument("content")
@click.option("--category", default="Observation", help="Its category in log.md.")
@_session
@with_json
def observation(app: App, content: str, category: str, session: str) -> None:
    """Record something that was seen or learned."""
    _one(app, session, "observation", content=content, category=category)


@record.command()
@click.argument("decision")
@click.option("--rationale", default="", help="Why.")
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@_session
@with_json
def decision(app: App, decision: str, rationale: str, tags: tuple[str, ...], session: str) -> None:
    """Record a decision; it becomes a concept of its own."""
    _one(app, session, "decision", decision=decision, rationale=rationale, tags=tags)


@record.command("tool-call")
@click.argument("name")
@click.option("--args", "given", default="", help="What it was called with.")
@click.option("--result", default="", help="What came of it (500 characters are kept).")
@_session
@with_json
def tool_call(app: App, name: str, given: str, result: str, session: str) -> None:
    """Record the use of a tool; its first use makes it known."""
    _one(app, session, "tool_call", tool_name=name, args=given, result=result)


@record.command()
@click.option("--user", default="", help="What the person said.")
@click.option("--assistant", default="", help="What the agent answered.")
@_session
@with_json
def turn(app: App, user: str, assistant: str, session: str) -> None:
    """Record one turn of a conversation, or one side of it."""
    if not user.strip() and not assistant.strip():
        raise UsageError("A turn needs --user, --assistant, or both.")
    _one(app, session, "turn", user=user, assistant=assistant)


def _one(app: App, session: str, kind: str, **fields: object) -> None:
    bundle = app.writing_bundle
    event = bundle.record_event(kind, session=session, **fields)
    app.out.json({"event": event or None, "commit": bundle.tip})
    if event:
        app.out.line(yellow(bundle.tip[:8]), " recorded ", dim(event))
    else:
        app.out.line("Not recorded: the settings leave out this kind of event.")


class _Lines:
    """Events as JSON lines, for a buffer; a bad line is told with its number and the rest goes on."""

    def __init__(self, bundle: Memory, session: str) -> None:
        from gitmem.memory.capture.buffer import HotMemoryBuffer

        self._bundle = bundle
        self._first = bundle.sessions.info(session)
        self.buffer = HotMemoryBuffer(bundle, self._first)
        self.recorded = self.skipped = 0
        self.problems: list[str] = []

    def take(self, number: int, line: bytes) -> None:
        try:
            event = self._event(line)
        except (ValueError, TypeError, RecursionError, GitMemError) as error:
            told = "it is nested too deeply." if isinstance(error, RecursionError) else error
            self.problems.append(f"Line {number} is left out: {told}")
            return
        self.recorded += bool(event)
        self.skipped += not event
        if self.buffer.is_full:
            self.buffer.flush("buffer-max")

    def _event(self, line: bytes) -> str:
        fields = json.loads(line)
        if not isinstance(fields, dict):
            raise UsageError("it is not a JSON object.")
        named = str(fields.pop("session", "") or "")
        if (named or self._first.id) != self.buffer.session.id:
            self.buffer.enter(self._bundle.sessions.info(named) if named else self._first)
        return self.buffer.take(str(fields.pop("_kind", None) or "observation"), fields)


def _from_stdin(app: App, session: str) -> None:
    bundle = app.writing_bundle
    lines = _Lines(bundle, bundle.session_named(session))
    try:
        for number, line in enumerate(iter(sys.stdin.buffer), start=1):
            if line.strip():
                lines.take(number, line)
    finally:
        lines.buffer.close("explicit")
    for problem in lines.problems:
        app.warn(problem)
    app.out.json(
        {
            "recorded": lines.recorded,
            "skipped": lines.skipped,
            "problems": lines.problems,
            "commit": bundle.tip,
        }
    )
    left = f", {lines.skipped} left out by the settings" if lines.skipped else ""
    app.out.line(yellow(bundle.tip[:8]), f" recorded {count(lines.recorded, 'event')}{left}")
    if lines.problems:
        total = lines.recorded + lines.skipped + len(lines.problems)
        raise GitMemError(f"{len(lines.problems)} of {total} lines were left out; the rest is recorded.")


# --- session ---------------------------------------------------------------------------------------------


@click.group()
def session() -> None:
    """Sessions: begin and end. `gitmem log` lists them, `gitmem show ID` shows one.

    \b
    gitmem session start work-1 --model gpt-5
    gitmem session end
    """


@session.command("start")
@click.argument("session_id", default=None, required=False, metavar="[ID]")
@click.option("--parent", default="", help="The session that this one continues.")
@click.option("--platform", default="", help="Where it runs.")
@click.option("--model", default="", help="The model it uses.")
@click.option("--title", default="", help="What it is about.")
@with_json
def start(app: App, /, session_id: str | None, **known: str) -> None:
    """Begin a session, or resume one; the commands that follow belong to it."""
    bundle = app.writing_bundle
    if session_id is not None and not session_id.strip():
        raise UsageError("A session's id cannot be empty.", hint="Leave it out, and one is made.")
    earlier = bundle.sessions.open_id()
    resumed = bool(session_id and bundle.sessions.find(session_id))
    info = bundle.sessions.start(session_id or "", keep_open=True, **known)
    bundle.sessions.snapshot()
    app.out.json({"session": info.id, "started": info.started, "resumed": resumed})
    app.out.line(info.id)
    if resumed:
        app.warn(f"{info.id} was there already and goes on.")
    if earlier not in ("", info.id) and bundle.sessions.find(earlier):  # one that did nothing left nothing
        app.warn(f"{earlier} is still open: `gitmem session end {shlex.quote(earlier)}` ends it.")


@session.command("end")
@click.argument("session_id", default="", metavar="[ID]")
@with_json
def end(app: App, session_id: str) -> None:
    """End a session: the one named, or the one that is open."""
    bundle = app.writing_bundle
    name = bundle.session_named(session_id)
    made = bundle.sessions.end(name)
    app.out.json({"session": name, "commit": made.commit.oid if made else None})
    app.out.line(f"{name} ended" if made else f"{name} had ended already")


# --- plan ------------------------------------------------------------------------------------------------


@click.group()
def plan() -> None:
    """Plans with their steps.

    \b
    gitmem plan create "Move the server" "copy data" "switch DNS"
    gitmem plan step move-the-server 1 --result "2 GB"
    gitmem plan complete move-the-server
    """


@plan.command("create")
@click.argument("title")
@click.argument("steps", nargs=-1, required=True)
@_session
@with_json
def create(app: App, title: str, steps: tuple[str, ...], session: str) -> None:
    """Make a plan with its steps."""
    bundle = app.writing_bundle
    _tell_plan(app, bundle.plans.create(title, steps, origin=_plan_origin(bundle, session)))


@plan.command("step")
@click.argument("name")
@click.argument("number", type=int)
@click.option("--result", default="", help="What came of it.")
@_session
@with_json
def step(app: App, name: str, number: int, result: str, session: str) -> None:
    """Mark a step done, counted from 1."""
    bundle = app.writing_bundle
    done = bundle.plans.complete_step(name, number, result, origin=_plan_origin(bundle, session))
    _tell_plan(app, done)


@plan.command("complete")
@click.argument("name")
@_session
@with_json
def complete(app: App, name: str, session: str) -> None:
    """Finish a plan; it moves to plans/archive/<year>/."""
    bundle = app.writing_bundle
    _tell_plan(app, bundle.plans.complete(name, origin=_plan_origin(bundle, session)))


@plan.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those in the archive.")
@with_json
def list_plans(app: App, everything: bool) -> None:
    """List plans with their progress."""
    plans = app.bundle.plans.all(archived=everything)
    app.out.json({"plans": plans})
    for one in plans:
        done, total = one.progress
        archived = dim("  archived") if one.is_archived else ""
        app.out.line(cyan(f"{done}/{total} "), bold(one.name), "  ", one.title, archived)


def _plan_origin(bundle: Memory, session: str) -> Origin:
    return bundle.origin(session=bundle.session_named(session))


def _tell_plan(app: App, one: Plan) -> None:
    app.out.json(one)
    app.out.line(bold(one.title), dim(f"  {one.path}"))
    for step_ in one.steps:
        app.out.line("  ", step_.line())
