"""Pages: plans, whose steps are completed with a result until the plan goes to the archive, and notes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent, UnknownRevision, UsageError
from gitmem.git.message import Message
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import Admission, Marking
from gitmem.memory.origin import Origin, source_trailer, written_by
from gitmem.notices import Notice
from gitmem.okf import layout, paths
from gitmem.okf.concept import Concept
from gitmem.okf.pages import LogLine
from gitmem.okf.plain import Printed
from gitmem.okf.short_ids import ambiguous
from gitmem.version import __version__

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


@dataclass(frozen=True, slots=True)
class Step:
    text: str
    done: bool = False
    result: str = ""
    at: str = ""

    def listed(self) -> dict[str, object]:
        return {key: value for key, value in asdict(self).items() if value != ""}

    def line(self) -> str:
        box = "x" if self.done else " "
        text = " ".join(self.text.split())
        return f"- [{box}] {text}" + (f": {' '.join(self.result.split())}" if self.result else "")


@dataclass(frozen=True, slots=True)
class Plan(Printed):
    """A plan as the bundle has it. Progress is what its steps say, not a counter."""

    path: str
    concept: Concept

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2].removesuffix(".md")

    @property
    def title(self) -> str:
        return self.concept.title

    @property
    def is_archived(self) -> bool:
        return self.path.startswith("plans/archive/")

    @property
    def steps(self) -> tuple[Step, ...]:
        listed = self.concept.meta.get("steps")
        return tuple(_step(item) for item in listed) if isinstance(listed, list) else ()

    @property
    def progress(self) -> tuple[int, int]:
        """Steps done, and steps in all."""
        return sum(step.done for step in self.steps), len(self.steps)

    def with_steps(self, steps: Iterable[Step]) -> Concept:
        steps = list(steps)
        body = "".join(step.line() + "\n" for step in steps)
        return self.concept.with_meta(steps=[step.listed() for step in steps]).with_body(body)


class Plans:
    """The plans of one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def all(self, *, archived: bool = False) -> list[Plan]:
        """Plans under way, or also those in the archive."""
        tree = self._bundle.tree()
        found = []
        years = [f"plans/archive/{year}" for year in tree.directories("plans/archive")] if archived else []
        for directory in ("plans", *years):
            for name, entry in tree.names(directory).items():
                path = f"{directory}/{name}"
                if not entry.is_directory and name.endswith(".md") and not layout.is_generated(path):
                    with contextlib.suppress(InvalidContent):  # a broken one is `verify`'s business
                        found.append(Plan(path, Concept.parse(tree.read_entry(entry), path)))
        return found

    def get(self, name: str) -> Plan:
        """A plan by its name, or by the beginning of it where only one fits."""
        plans = self.all(archived=True)
        exact = [plan for plan in plans if name in (plan.name, plan.path, plan.title)]
        wanted = paths.slug(name)
        near = exact or [plan for plan in plans if plan.name.startswith((name, wanted))]
        if len(near) > 1:
            raise ambiguous(name, [plan.name for plan in near], "plans")
        if not near:
            names = ", ".join(plan.name for plan in plans[:5])
            raise UnknownRevision(
                f"There is no plan {name!r}.",
                hint=f"Name one of: {names}." if names else "Make one with `gitmem plan create`.",
            )
        return near[0]

    def create(self, title: str, steps: Iterable[str], *, origin: Origin | None = None) -> Plan:
        """A new plan with its steps."""
        origin = origin or self._bundle.origin()
        admission = Admission(self._bundle, origin=origin)
        title = admission.note(" ".join(title.split()))
        listed = [Step(admission.note(text)) for text in steps if text.strip()]
        if not title or not listed:
            raise UsageError("A plan needs a title and at least one step.")
        came = admission.believed("\n".join([title, *(step.text for step in listed)]))
        at = self._bundle.now()
        path = ""

        def work(edits: Edits) -> Message | None:
            nonlocal path
            path = layout.plan(title, at, lambda candidate: candidate in edits, f"{origin.session} {at}")
            concept = _page(layout.PLAN, "", title, came, origin, at, status="draft")
            edits.write(path, Plan(path, concept).with_steps(listed).render())
            _log(edits, at, f"created: {title} ({len(listed)} steps)")
            return Message("plan", f"create {title}", source_trailer(came.sources, origin))

        self._bundle.commit(work, purpose="plan", origin=origin)
        return self.get(path)

    def complete_step(
        self, name: str, number: int, result: str = "", *, origin: Origin | None = None
    ) -> Plan:
        """Mark a step done (counted from 1), with what came of it; one that was done keeps the result it has."""
        plan = self.get(name)
        result = Admission(self._bundle).note(result)
        at, who = self._bundle.now(), origin or self._bundle.origin()

        def work(edits: Edits) -> Message | None:
            current = _current(edits, plan)
            steps = list(current.steps)
            if not 1 <= number <= len(steps):
                raise UsageError(f"The plan {plan.name} has steps 1 to {len(steps)}, not {number}.")
            was = steps[number - 1]
            if was.done and result in ("", was.result):
                return None
            steps[number - 1] = Step(was.text, True, result, at)
            linked = current.concept.with_meta(**written_by(who, current.concept.meta))
            edits.write(plan.path, Plan(plan.path, linked).with_steps(steps).render())
            _log(edits, at, f"{plan.title}: step {number} done")
            return Message("plan", f"step {number} of {plan.title}")

        if self._bundle.commit(work, purpose="plan", origin=who) is None:
            self._bundle.report(Notice("step-was-done", str(number)))
        return self.get(plan.path)

    def complete(self, name: str, *, origin: Origin | None = None) -> Plan:
        """Finish a plan: buffers are flushed, and it moves to the archive as it is, open steps included."""
        from gitmem.memory.snapshots import Snapshots

        plan = self.get(name)
        if plan.is_archived:
            return plan
        self._bundle.flush_buffers("plan-complete")
        at = self._bundle.now()
        target = layout.plan_archive(plan.path)

        def work(edits: Edits) -> Message | None:
            current = _current(edits, plan)
            done, total = current.progress
            edits.remove(plan.path)
            concept = current.concept.with_meta(status="stable", completed=at)
            edits.write(target, concept.render())
            _log(edits, at, f"completed: {plan.title} ({done} of {total} steps)")
            return Message("plan", f"complete {plan.title}")

        origin = (origin or self._bundle.origin()).because("plan-complete")
        self._bundle.commit(work, purpose="plan", origin=origin)
        if self._bundle.config.auto_snapshot:
            self._bundle.part(Snapshots).automatic()
        finished = self.get(target)
        done, total = finished.progress
        if done < total:
            self._bundle.report(Notice("plan-steps-open", plan.title, str(total - done)))
        return finished


def _current(edits: Edits, plan: Plan) -> Plan:
    """The plan on the tip that is being changed."""
    data = edits.read(plan.path)
    if data is None:
        raise UnknownRevision(f"The plan {plan.name} is gone from where it was: list plans again.")
    return Plan(plan.path, Concept.parse(data, plan.path))


def _log(edits: Edits, at: str, text: str) -> None:
    edits.log([LogLine(at, "Plan", text, f"plan:{at}:{paths.slug(text)}")])


def _step(item: object) -> Step:
    if not isinstance(item, Mapping):
        return Step(str(item))
    text, result, at = (str(item.get(name) or "") for name in ("text", "result", "at"))
    return Step(text, item.get("done") is True, result, at)


def _page(
    kind: str, body: str, title: str, came: Marking, origin: Origin, at: str, **known: object
) -> Concept:
    """A concept with the links to the turn and the session that write it, and the marks of a doubtful source."""
    return Concept.new(
        kind,
        body,
        title=title,
        **known,
        session=origin.session or None,
        **came.marks,
        **written_by(origin),
        generated={"by": f"gitmem/{__version__}", "at": at},
    )


def register_tool(bundle: Bundle, name: str, description: str = "", schema: object = None) -> str:
    """Make a tool known before its first use; gives the path of its concept."""
    from gitmem.memory.capture.recorder import as_json, ensure_tool

    admission, at = Admission(bundle), bundle.now()
    name, description = admission.note(name), admission.note(description)
    schema = json.loads(admission.note(as_json(schema, "schema"))) if schema is not None else None

    def work(edits: Edits) -> Message | None:
        ensure_tool(edits, name, at, description, schema)
        return Message("flush", f"tool {name}")

    bundle.commit(work, purpose="tool", origin=bundle.origin())
    return layout.tool(name)


def write_note(
    bundle: Bundle,
    title: str,
    text: str = "",
    *,
    tags: Iterable[str] = (),
    origin: Origin,
    by_person: bool = False,
) -> tuple[str, str]:
    """A new note in `notes/`; gives its path and its commit. One of that name is not written over."""
    admission = Admission(bundle, origin=origin, by_person=by_person)
    title, text = admission.note(" ".join(title.split())), admission.note(text.strip())
    if not title:
        raise UsageError("A note needs a title.")
    listed = [admission.note(tag) for tag in tags]
    came = admission.believed("\n".join([title, text]))
    path, at = f"notes/{paths.slug(title)}.md", bundle.now()
    bundle.flush_buffers()

    def work(edits: Edits) -> Message | None:
        if path in edits:
            raise InvalidContent(
                f"There is a note {path} already.", hint=f"Change it with `gitmem edit {path}`."
            )
        body = f"{text}\n" if text else ""
        edits.write(path, _page(layout.NOTE, body, title, came, origin, at, tags=listed or None).render())
        return Message("note", title, source_trailer(came.sources, origin))

    published = bundle.commit(work, purpose="note", origin=origin)
    return path, published.commit.oid if published else ""
