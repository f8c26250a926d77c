"""Skills of a Hermes home, kept in step with the bundle: the agent's own ones, file by file, three-way.

Skills that came with Hermes or from its hub are left alone, and only named: Hermes brings them back itself.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.hosts.hermes import skill_references
from gitmem.hosts.hermes.home import Home
from gitmem.hosts.hermes.write_notices import skill_writes, turns_under_way
from gitmem.memory.curated.host_files import HOST_FILE
from gitmem.memory.skills.links import Agreed, ComparedSkills, DirectorySkills, SkillDirectory, look
from gitmem.state import HOST_SKILLS

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.memory.origin import Origin

_TICK = 0.001
"""The journal writes milliseconds."""
_SLACK = 0.05
"""Seconds by which a file's time may be behind the clock that turns go by: a file system's ticks are coarse."""


class _Writers:
    """Writers of skills: by the calls of the host's tool, else by the turn in which a skill was written."""

    def __init__(self, bundle: Memory, dead: Collection[str]) -> None:
        self._calls = skill_writes(bundle)
        self._turns = turns_under_way(bundle, dead)
        self.nobody = bundle.origin(source=HOST_FILE)

    def origin_of(self, skill: str, batch: Mapping[str, bytes | None], at: float) -> Origin | None:
        """The origin of a change; None where a turn that may be its own is not over yet."""
        name = skill.rpartition("/")[2]
        calls = [
            one
            for one in self._calls
            if one.skill == name and (not at or one.begun - _SLACK <= at <= one.told + _TICK)
        ]
        # Of several agents it is the one whose words are in the file.
        texts = [data.decode("utf-8", "replace") for data in batch.values() if data is not None]
        saying = [one for one in calls if one.content and any(one.content in text for text in texts)]
        if saying:
            return replace(saying[-1].origin, at=at)
        turns = [one for one in self._turns if one.begun - _SLACK <= (at or one.begun)]
        if any(not one.died for one in turns):
            return None
        if calls:
            return replace(calls[-1].origin, at=at)
        last = max(turns, key=lambda one: one.begun, default=None)
        return replace(last.origin, source=HOST_FILE, at=at) if last and at else self.nobody


class SkillFiles(SkillDirectory):
    """The skills of one home beside one bundle."""

    def __init__(self, bundle: Memory, home: Home, *, enforce: bool = False) -> None:
        super().__init__(bundle, home.skills, enforce=enforce)
        self._memory = bundle
        self._home = home
        self._dead: Collection[str] = ()
        self._writers: _Writers | None = None

    def compare(self, *, importing: bool = False, dead: Collection[str] = ()) -> ComparedSkills:
        """Take in what the host changed, then write what the bundle changed. Nothing new costs little.

        `dead` are journals of notices that were taken over from dead processes.
        """
        self._dead = dead
        return super().compare(importing=importing)

    def _look(self) -> DirectorySkills:
        return look(self._top, skill_references.references(self._home))

    def _beside(self) -> Mapping[str, str]:
        return {path: path for path in skill_references.manifests(self._home)}

    def _begin(self, kind: str) -> int:
        self._writers = _Writers(self._memory, self._dead)
        return skill_references.note(self._memory, self._home, kind=kind)

    def _origin_of(self, skill: str, batch: Mapping[str, bytes | None]) -> Origin | None:
        # The turn in which it was written tells who and why when it is over.
        assert self._writers is not None
        return self._writers.origin_of(skill, batch, self._written_at(batch))

    def _nobody(self) -> Origin:
        return self._memory.origin(source=HOST_FILE)

    def _written_at(self, batch: Mapping[str, bytes | None]) -> float:
        """Return when the host last wrote these files of a skill; 0 where they are gone."""
        found = [0.0]
        for name, data in batch.items():
            with contextlib.suppress(OSError):
                found.append(os.stat(self._path(name)).st_mtime if data is not None else 0.0)
        return max(found)

    def _agreed(self) -> Agreed:
        return Agreed.of(self._memory.state.read_json(HOST_SKILLS))

    def _remember(self, known: Agreed) -> None:
        self._memory.state.write_json(HOST_SKILLS, known.as_json)

    def _written(self) -> None:
        """The host keeps a list of skills beside its files, and one in the process."""
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self._home.path, ".skills_prompt_snapshot.json"))
        builder = sys.modules.get("agent.prompt_builder")
        clear = getattr(builder, "clear_skills_system_prompt_cache", None)
        if callable(clear):
            with contextlib.suppress(Exception):  # the host's own function: nothing depends on it
                clear()
