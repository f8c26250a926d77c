"""Agents beside a bundle that keep files of their own: connected by a person, and compared before and after a change.

A linked directory has a note of the bundle that it belongs to: the bundle's word alone may be a stranger's, and what it
holds is written where an agent obeys it.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError, InvalidContent, UnknownRevision, UsageError
from gitmem.files import read_file, remove_file, replacement
from gitmem.memory.mirror.files import SkillDirectory
from gitmem.notices import Notice
from gitmem.okf.plain import few
from gitmem.state import HOST_LINK, MIRROR

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.mirror.mirror import Looked

_MARK = ".gitmem"
_FLAT = (".claude", ".agents", ".codex", ".cursor", ".gemini")
"""Agents that look for skills in the directory itself, and not in categories below it."""
# By name: hosts are above the memory. One that keeps files of its own leaves a link in the state directory.
_HOST = "gitmem.hosts.hermes.files"


@dataclass(frozen=True, slots=True)
class Link:
    """A linked directory, and whether it says that it belongs to this bundle."""

    name: str
    directory: str
    is_flat: bool
    is_ours: bool


class Links:
    """The directories of skills that are linked to one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def all(self) -> list[Link]:
        state = self._bundle.state
        notes = {name: state.read_json(MIRROR, name) for name in state.keys(MIRROR)}
        found = [
            Link(name, top, note.get("flat") is True, self._says_so(top))
            for name, note in notes.items()
            if isinstance(top := note.get("directory"), str) and name == _name(top)
        ]
        return sorted(found, key=lambda one: one.directory)

    def link(self, directory: str, *, is_flat: bool | None = None) -> Looked:
        """Keep a directory in step with the bundle from now on; what both have is compared at once."""
        top, root = os.path.realpath(directory), os.path.realpath(self._bundle.root)
        if top == root or top.startswith(root + os.sep):
            raise UsageError(f"{directory} is inside the bundle: its skills are versioned there already.")
        if os.path.exists(top) and not os.path.isdir(top):
            raise InvalidContent(f"{directory} is not a directory.")
        other = _said(top)
        if other and other != root and os.path.isdir(other):
            raise UsageError(
                f"{directory} is linked to another bundle, {other}.", hint="Unlink it there first."
            )
        if is_flat is None:
            is_flat = any(part in _FLAT for part in top.split(os.sep)[-2:])
        os.makedirs(top, exist_ok=True)
        with replacement(os.path.join(top, _MARK), f"{root}\n".encode(), mode=0o644, durable=False) as put:
            put()
        name, state = _name(top), self._bundle.state
        known = state.read_json(MIRROR, name)
        state.write_json(MIRROR, {**known, "directory": top, "flat": is_flat}, name)
        return SkillDirectory(self._bundle, name, top, is_flat=is_flat).look(first=not known)

    def unlink(self, directory: str) -> None:
        """Leave a directory alone from now on; its files stay."""
        top = os.path.realpath(directory)
        linked = [one.directory for one in self.all()]
        if top not in linked:
            known = ", ".join(linked) or "none"
            raise UnknownRevision(f"{directory} is not linked.", hint=f"Linked directories: {known}.")
        if self._says_so(top):
            remove_file(os.path.join(top, _MARK))
        self._bundle.state.remove(MIRROR, _name(top))

    def look(self) -> list[str]:
        """Bring every linked directory and the bundle together; gives the files that were written."""
        written: list[str] = []
        for one in self.all():
            if not one.is_ours or not os.path.isdir(one.directory):
                continue
            try:
                done = SkillDirectory(self._bundle, one.name, one.directory, is_flat=one.is_flat).look()
            except (GitMemError, OSError) as error:
                self._bundle.report(Notice("host-left-behind", one.directory, str(error)))
            else:
                written += [f"{one.directory}: {name}" for name in done.written]
        return written

    def _says_so(self, top: str) -> bool:
        return _said(top) == os.path.realpath(self._bundle.root)


def before_change(bundle: Bundle) -> None:
    """Before a change of the whole: commit what agents wrote into their files meanwhile, or it would be lost."""
    _look(bundle, settle=True)


def after_change(bundle: Bundle) -> list[Notice]:
    """After a change: write the files of agents. Gives what there is to say to their users."""
    return [Notice("host-followed", agent, few(names)) for agent, names in _look(bundle).items() if names]


def _look(bundle: Bundle, *, settle: bool = False) -> dict[str, list[str]]:
    """Bring the files of every agent and the bundle together; gives those that were written there, by agent."""
    written: list[str] = []
    if bundle.state.has(HOST_LINK):
        written = import_module(_HOST).look(bundle, settle=settle)
    return {"Hermes": written, "linked skills": Links(bundle).look()}


def _name(top: str) -> str:
    return f"skills-{hashlib.sha256(top.encode()).hexdigest()[:12]}"


def _said(top: str) -> str:
    return (read_file(os.path.join(top, _MARK)) or b"").decode("utf-8", "replace").strip()
