"""Skills that Hermes brings itself, bundled or from its hub: the bundle names them and does not copy them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitmem.files import read_file
from gitmem.git.message import Message
from gitmem.hosts.hermes.home import Home
from gitmem.memory.gate.admission import TRAILER, Admission
from gitmem.okf.concept import Concept
from gitmem.okf.paths import safe_name

if TYPE_CHECKING:
    from gitmem.memory.edits import Edits
    from gitmem.memory.memory import Memory

TYPE = "SkillReferences"


@dataclass(frozen=True, slots=True)
class Reference:
    """The origin and identity of a skill."""

    name: str
    origin: str
    version: str

    def __str__(self) -> str:
        return f"- {self.name}: {self.origin}{f', {self.version}' if self.version else ''}"


def manifests(home: Home) -> tuple[str, str]:
    """The files in which Hermes notes them."""
    return (os.path.join(home.skills, ".bundled_manifest"), os.path.join(home.skills, ".hub", "lock.json"))


def references(home: Home) -> dict[str, Reference]:
    """The skills of a home that are not the agent's own, by the name of their directory."""
    bundled, hub = manifests(home)
    found: dict[str, Reference] = {}
    for line in (read_file(bundled) or b"").decode("utf-8", "replace").splitlines():
        name, _, version = (part.strip() for part in line.partition(":"))
        if name:
            found[name] = Reference(name, "came with Hermes", version[:12])
    for name, entry in _installed(hub).items():
        known = entry if isinstance(entry, dict) else {}
        where = str(known.get("install_path") or name).rstrip("/")
        origin = str(known.get("identifier") or known.get("source") or "hub")
        version = str(known.get("content_hash") or "")[:19]
        for key in dict.fromkeys((str(name), os.path.basename(where))):
            found[key] = Reference(str(name), origin, version)
    return found


def note(bundle: Memory, home: Home, *, kind: str) -> bool:
    """Commit what this machine's Hermes has; whether that was news. A file for each machine: none conflicts."""
    from gitmem.memory.curated.host_files import HOST_FILE

    machine = bundle.config.machine or "here"
    path = f"hermes/skills/{safe_name(machine)}.md"
    listed = sorted(dict.fromkeys(references(home).values()), key=lambda one: one.name)
    body = "\n".join(["", *(Admission(bundle).note(str(one), TRAILER) for one in listed), ""])
    made = Concept.new(TYPE, body, title=f"Skills that Hermes brings itself on {machine}").render()

    def work(edits: Edits) -> Message | None:
        if listed:
            edits.write(path, made)
        elif path in edits:
            edits.remove(path)
        if not edits.differs():
            return None
        return Message(kind, f"{len(listed)} skills by reference, which Hermes brings itself")

    if bundle.read(path) == (made if listed else None):
        return False
    return bundle.commit(work, purpose=kind, origin=bundle.origin(source=HOST_FILE)) is not None


def _installed(path: str) -> dict[str, Any]:
    try:
        found = json.loads(read_file(path) or b"{}")
    except ValueError:
        return {}
    installed = found.get("installed") if isinstance(found, dict) else None
    return installed if isinstance(installed, dict) else {}
