"""What was held back: why, that it waits, and how to look at it; the exit code says so too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitmem.cli.output import count
from gitmem.errors import FoundSomething, GitMemError

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory

_FEW = 3


def refuse_held(bundle: Memory, held: Sequence[str]) -> None:
    """End a command that held something back with a sentence about it, and exit code 3."""
    if not held:
        return
    if len(held) > _FEW:
        raise FoundSomething(
            f"{count(len(held), 'entry', 'entries')} held back for a person.", hint="Run `gitmem review`."
        )
    told = "; ".join(f"{name} ({_why(bundle, name)})" for name in held)
    raise FoundSomething(
        f"Held back for a person, and not in the memory: {told}.",
        hint=f"Look at it with `gitmem review show {held[0]}`, decide with `gitmem review`.",
    )


def _why(bundle: Memory, name: str) -> str:
    try:
        found = bundle.quarantine.get(name).findings
    except GitMemError:  # somebody decided on it meanwhile
        return "decided already"
    return "; ".join(finding.get("reason") or finding.get("rule", "") for finding in found) or "doubtful"
