"""The skills as a prompt lists them: a line each, by category, within a budget, and the same bytes while nothing changes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitmem.memory.gate.egress import FLAGGED, GONE, Egress
from gitmem.memory.skills.catalog import Catalog

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.skills.catalog import Skill

_HEAD = "<available_skills>"
_FOOT = "</available_skills>"


class PromptIndex:
    """Makes the list; what was said to be harmless once is not read again while this process runs."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._clean: dict[tuple[str, str], str | None] = {}

    def __call__(self, skills: Sequence[Skill], budget: int) -> str:
        """The block, empty where there is no skill; longer descriptions are cut first, then left out, then skills."""
        rows = sorted((one.category, one.name, said) for one, said in self._shown(skills))
        for longest in (1024, 240, 120, 60, 40, 0):
            block = _rendered(rows, longest) if rows else ""
            if len(block) <= budget:
                return block
        sizes = range(1, len(rows))
        most = bisect_right(sizes, budget, key=lambda size: len(_rendered(rows[:size], 0, len(rows) - size)))
        return _rendered(rows[:most], 0, len(rows) - most) if most else ""

    def rows(self, skills: Sequence[Skill]) -> list[tuple[str, str]]:
        """Category and name of each skill that an agent may know, with its description."""
        return [(one.title, said) for one, said in self._shown(skills)]

    def _shown(self, skills: Sequence[Skill]) -> list[tuple[Skill, str]]:
        """The skills that agents may read, each with its description."""
        egress = Egress(self._bundle)
        passed = self._bundle.part(Catalog).passing(skills, egress.rules, egress.is_harmless)
        return [
            (one, said)
            for one in skills
            if (one.is_external or one.oid in passed) and (said := self._said(egress, one)) is not None
        ]

    def _said(self, egress: Egress, skill: Skill) -> str | None:
        """The description as it may be in a prompt; None where the skill may not be named."""
        asked = (skill.title, skill.description)
        if asked not in self._clean:
            said = egress.name(f"{skill.title}: {skill.description}")
            withheld = said in (FLAGGED, GONE)
            self._clean[asked] = None if withheld else egress.clean(skill.description).strip()
        return self._clean[asked]


def _rendered(rows: Sequence[tuple[str, str, str]], longest: int, left_out: int = 0) -> str:
    lines = [_HEAD]
    category: str | None = None
    for where, name, said in rows:
        if where != category:
            category = where
            lines.append(f"{where or 'general'}:")
        short = said if len(said) <= longest else said[: longest - 1].rstrip() + "…" if longest else ""
        lines.append(f"  - {name}: {short}" if short else f"  - {name}")
    if left_out:
        lines.append(f"({left_out} more: list them by category)")
    return "\n".join([*lines, _FOOT])
