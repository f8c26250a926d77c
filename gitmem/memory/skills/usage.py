"""Use of skills: each use is an event of its session, and everything else is derived from those that are still on record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from gitmem.memory.capture.recorder import SKILL_USE
from gitmem.memory.indexing import Indexing
from gitmem.memory.skills.catalog import Catalog
from gitmem.okf import timestamps

if TYPE_CHECKING:
    from gitmem.index.lookup import Span
    from gitmem.memory.bundle import Bundle

OUTCOMES = ("ok", "failed")
STALE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Use:
    """The uses of one skill: how many, how many failed, and the last one."""

    times: int = 0
    failed: int = 0
    last: str = ""
    last_outcome: str = ""
    note: str = ""

    @property
    def is_failing(self) -> bool:
        """Return whether the last use failed: it needs a patch."""
        return self.last_outcome == "failed"


_NONE = Use()


@dataclass(frozen=True, slots=True)
class Uses:
    """The uses of all skills, as things are now."""

    by_name: Mapping[str, Use]
    now: datetime
    changed_at: Callable[[str], str]
    """When a skill was last changed: a failure before that is dealt with."""

    def of(self, name: str) -> Use:
        use = self.by_name.get(name, _NONE)
        if use.is_failing and self.changed_at(name) > use.last:
            return Use(use.times, use.failed, use.last, "patched", use.note)
        return use

    def is_stale(self, name: str) -> bool:
        """Return whether a skill was neither used nor changed for a while."""
        newest = max(self.of(name).last, self.changed_at(name))
        last = timestamps.parse(newest) if newest else None
        return last is None or self.now - last > STALE


def uses_of(bundle: Bundle) -> Uses:
    """Return how the skills did, by the events that the tree has."""
    index = bundle.part(Indexing).current()
    found: dict[str, Use] = {}
    for span in sorted(index.spans(now=True, type=SKILL_USE), key=lambda one: (one.at, one.key)):
        fields = _fields(span)
        name, outcome = fields.get("skill", ""), fields.get("outcome", "")
        if not name or outcome not in OUTCOMES:
            continue
        use = found.get(name, _NONE)
        failed = use.failed + (outcome == "failed")
        found[name] = Use(use.times + 1, failed, span.at, outcome, fields.get("note", ""))
    roots = {one.name: one.root for one in bundle.part(Catalog).of_bundle()}

    def changed_at(name: str) -> str:
        last = index.commits_touching(roots[name], limit=1) if name in roots else []
        return timestamps.stamp(timestamps.of_seconds(last[0].time)) if last else ""

    return Uses(found, bundle.world.clock(), cache(changed_at))


def _fields(span: Span) -> dict[str, str]:
    """The fields of the event, out of the text that the index has of it."""
    found: dict[str, str] = {}
    for line in span.text.split("\n"):
        name, colon, value = line.partition(": ")
        if colon:
            found.setdefault(name, value)
    return found
