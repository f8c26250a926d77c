"""Tools for skills: list and read them from little to much, and change them. None lets in what waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import UsageError
from gitmem.hosts.tools.table import LONGEST, MOST
from gitmem.memory.gate.egress import FLAGGED, GONE, Egress
from gitmem.memory.gate.skill_guard import judge_external
from gitmem.okf.entries import CONCEPT
from gitmem.world import platform_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.hosts.tools.calls import Call, Value
    from gitmem.memory.skills.catalog import Skill
    from gitmem.memory.skills.store import SkillView, SkillWrite

_PIECE = 1_400


def skills(call: Call) -> Value:
    """The categories; the skills of one, with descriptions; one skill; or a file of one."""
    name, file = call.text("name"), call.text("file")
    if name:
        return _read(call, name, file)
    if file:
        raise UsageError("`file` needs the name of the skill.")
    category = call.given.get("category")
    found = call.memory.skills.list(str(category) if category is not None else None, platform=platform_name())
    if category is None and len(found) > MOST:
        counts = call.memory.skills.categories()
        egress = Egress(call.memory)
        return {"categories": [f"{egress.name(one) or '(none)'}: {number}" for one, number in counts.items()]}
    return {"skills": _listed(call, found)}


def _listed(call: Call, found: Sequence[Skill]) -> list[Value]:
    from gitmem.memory.skills.prompt_index import PromptIndex

    index = call.memory.part(PromptIndex)
    return [{"name": title, "description": said} for title, said in index.rows(found)]


def _read(call: Call, name: str, file: str) -> Value:
    view = call.memory.skills.view(name, file)
    egress, path = Egress(call.memory), f"skills/{view.skill.name}/{view.file}"
    if not view.skill.is_external:
        path = f"{view.skill.root}/{view.file}"
        call.session.showed([(path, CONCEPT)])
    text = _shown(egress, view, path)
    offset = call.given.get("offset")
    start = offset if isinstance(offset, int) and offset > 0 else 0
    part = text[start : start + LONGEST]
    source = "" if view.skill.is_external else egress.came_from(path, CONCEPT)
    left = len(text) - start - len(part)
    return {
        "name": egress.name(view.skill.title),
        "file": view.file,
        **({"unconfirmed": f"it came from {source}"} if source else {}),
        "text": [part[at : at + _PIECE] for at in range(0, len(part), _PIECE)],
        **({"next_offset": start + len(part)} if left > 0 else {}),
        "files": [egress.name(one) for one in view.files],
    }


def _shown(egress: Egress, view: SkillView, path: str) -> str:
    if not view.is_text:
        return f"(not text, {view.size:,} bytes)"
    if view.skill.is_external:
        is_fine = judge_external(path, view.text.encode()) != "dangerous"
    else:
        is_fine = egress.is_harmless(view.text, path)
    return (egress.clean(view.text) or GONE) if is_fine else FLAGGED


def manage(call: Call) -> Value:
    """One action on a skill, as Hermes' own tool has them."""
    action, name = call.text("action"), call.text("name")
    store, given = call.memory.skills, call.given
    origin = call.session.origin(reason=call.text("why"), source=f"{call.prefix}skill_manage")
    if action == "used":
        outcome = call.text("outcome")
        event = store.used(name, outcome, call.text("why"), session=call.session.id)
        return {"success": bool(event), "message": f"Noted: {name} {outcome}."}
    if action == "create":
        done = store.create(name, _need(call, "content"), category=call.text("category"), origin=origin)
    elif action == "edit":
        done = store.edit(name, _need(call, "content"), origin=origin)
    elif action == "patch":
        done = store.patch(
            name,
            _need(call, "old_string"),
            str(given.get("new_string") or ""),
            file=call.text("file_path"),
            every=bool(given.get("replace_all")),
            origin=origin,
        )
    elif action == "write_file":
        content = str(given.get("file_content") or "") or _need(call, "content")
        done = store.write_file(name, _need(call, "file_path"), content, origin=origin)
    elif action == "remove_file":
        done = store.remove_file(name, _need(call, "file_path"), origin=origin)
    else:
        done = store.delete(name, absorbed_into=call.text("absorbed_into"), origin=origin)
    return _done(done)


def _need(call: Call, name: str) -> str:
    value = str(call.given.get(name) or "")
    if not value.strip():
        raise UsageError(f"`{name}` is missing for {call.text('action')}.")
    return value


def _done(done: SkillWrite) -> Value:
    return {"success": not done.held, "message": done.message, "commit": done.commit or None}
