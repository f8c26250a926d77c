"""Tools for skills: list and read them from little to much, and change them. None lets in what waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import UsageError
from gitmem.hosts.tools.table import LONGEST, MOST
from gitmem.hosts.tools.text import in_pieces, line
from gitmem.memory.gate.egress import FLAGGED, Egress
from gitmem.memory.gate.skill_guard import judge_external
from gitmem.okf.entries import CONCEPT
from gitmem.world import platform_name

if TYPE_CHECKING:
    from gitmem.hosts.tools.calls import ToolArguments
    from gitmem.hosts.tools.text import Lines
    from gitmem.memory.skills.store import SkillView, SkillWrite


def skills(call: ToolArguments) -> Lines:
    """The categories; the skills of one, with descriptions; one skill; or a file of one."""
    from gitmem.memory.skills.prompt_index import PromptIndex

    name, file = call.text("name"), call.text("file")
    if name:
        return _read(call, name, file)
    if file:
        raise UsageError("`file` needs the name of the skill.")
    category = call.given.get("category")
    found = call.memory.skills.list(str(category) if category is not None else None, platform=platform_name())
    if category is None and len(found) > MOST:
        egress, counts = Egress(call.memory), call.memory.skills.categories(platform=platform_name())
        return [f"{egress.name(one) or '(none)'}: {number}" for one, number in counts.items()]
    rows = call.memory.part(PromptIndex).rows(found)
    return [f"{title}: {said}" for title, said in rows] or ["There are no skills."]


def _read(call: ToolArguments, name: str, file: str) -> Lines:
    view = call.memory.skills.view(name, file)
    egress, path = Egress(call.memory), f"skills/{view.skill.name}/{view.file}"
    if not view.skill.is_external:
        path = f"{view.skill.root}/{view.file}"
        call.session.showed([(path, CONCEPT)])
    text = _shown(egress, view, path)
    start = max(0, int(call.given.get("offset") or 0))
    part = text[start : start + LONGEST]
    end = start + len(part)
    source = "" if view.skill.is_external else egress.source(path, CONCEPT)
    mark = f"unconfirmed: it came from {source}" if source else ""
    return [
        line(egress.name(view.skill.title), view.file, mark),
        in_pieces(part),
        *([f"(There is more: ask with offset={end}.)"] if end < len(text) else ()),
        *([f"files: {', '.join(map(egress.name, view.files))}"] if view.files else ()),
    ]


def _shown(egress: Egress, view: SkillView, path: str) -> str:
    if not view.is_text:
        return f"(not text, {view.size:,} bytes)"
    if view.skill.is_external:
        is_fine = judge_external(path, view.text.encode()) != "dangerous"
    else:
        is_fine = egress.is_harmless(view.text, path)
    return egress.text(view.text) if is_fine else FLAGGED


def manage(call: ToolArguments) -> Lines:
    """One action on a skill, as Hermes' own tool has them."""
    action, name = call.text("action"), call.text("name")
    if action == "used":
        outcome = call.text("outcome")
        call.memory.skills.used(name, outcome, call.text("why"), session=call.session.id)
        return [call.egress().text(f"Noted: {name} {outcome}.")]
    needed, known = _ACTIONS[action]
    given = {mine: _need(call, theirs) for theirs, mine in needed.items()}
    given |= {mine: call.given[theirs] for theirs, mine in known.items() if call.given.get(theirs)}
    if action == "patch":
        given.setdefault("new", "")
    origin = call.session.origin(reason=call.text("why"), source=f"{call.prefix}skill_manage")
    done: SkillWrite = getattr(call.memory.skills, action)(name, **given, origin=origin)
    return [call.egress().text(done.message)]


_Names = dict[str, str]
_ACTIONS: dict[str, tuple[_Names, _Names]] = {
    "create": ({"content": "content"}, {"category": "category"}),
    "edit": ({"content": "content"}, {}),
    "patch": ({"old_string": "old"}, {"new_string": "new", "file_path": "file", "replace_all": "every"}),
    "write_file": ({"file_path": "file", "file_content": "content"}, {}),
    "remove_file": ({"file_path": "file"}, {}),
    "delete": ({}, {}),
}
"""By action the arguments that it needs and those that it may have, each with its name in `Skills`."""


def _need(call: ToolArguments, name: str) -> str:
    value = str(call.given.get(name) or (call.given.get("content") if name == "file_content" else "") or "")
    if not value.strip():
        raise UsageError(f"`{name}` is missing for {call.text('action')}.")
    return value
