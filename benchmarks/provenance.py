"""Provenance: what still reaches a model after a take-back or a correction, and what honest text that costs.

    python -m benchmarks.provenance [--show] [--json]

Every story is a memory of its own, talked into through the agent loop. Then everything that a new session would give a
model is searched: its prompt with what is recalled unasked, and the answers of the tools `search`, `recall` and `history`.

- taken back: a person forgets a fact; neither it nor the turn that wrote it nor a key that it brought is shown.
- honest: a text near such a fact, or said after the removal, must still be found by its own words.
- corrected: a fact is replaced; the old value is not injected, and a tool shows it with the new wording.
- harmful and honest notes: what a tool result gets an agent to write (`benchmarks.taint_stories`): held, marked or in.

The same questions in the real host: `python -m benchmarks.reach`. The exit code is 1 where a figure is missed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import gitmem
from gitmem.memory.gate.evidence import Evidence
from gitmem.memory.memory import Memory

from benchmarks.stories import eight_languages, fresh, held_out, latest
from benchmarks.stories.take_back import CORRECTED, HONEST, TAKEN_BACK, Corrected, Honest, TakenBack, Turn
from benchmarks.support import Report, Row
from benchmarks.taint_stories import HARMFUL, Story
from benchmarks.taint_stories import HONEST as NOTES

_ARGUMENT = {"terminal": "command", "read_file": "path", "web_extract": "url", "delegate_task": "goal"}
_NO_WORDS = ("id", "commit", "at", "path", "session")
_FILLER: tuple[Turn, ...] = (
    ("What is the weather like?", "Mild, with some clouds from the west."),
    ("Write a haiku about rain", "Grey drops on the roof, a slow song without an end, tea is getting cold."),
)


class Shown(NamedTuple):
    """What a model gets: unasked, and by its tools."""

    unasked: tuple[str, ...]
    """By lines."""
    by_tools: tuple[str, ...]
    """By records, without ids and dates."""


@contextmanager
def memory_for_a_story() -> Iterator[Memory]:
    """A fresh memory, gone afterwards."""
    place = Path(tempfile.mkdtemp())
    try:
        with gitmem.open(str(place / "mem"), create=True, machine="bench") as memory:
            yield memory
    finally:
        shutil.rmtree(place, ignore_errors=True)


def talk(memory: Memory, session: str, turns: Sequence[Turn], writes: str = "", written: int = 0) -> None:
    """Talk in a session of its own; one turn writes an entry where one is given."""
    with memory.session(session) as open_session:
        for number, (user, assistant) in enumerate(turns):
            open_session.said(user)
            if writes and number == written:
                open_session.remember(writes)
            open_session.answered(assistant)


def shown(memory: Memory, asked: str, *, ignoring: str = "") -> Shown:
    """Ask in a new session, unasked recall and tools alike; what was asked before that is `ignoring`."""
    with gitmem.MemoryManager(memory) as manager, manager.session("later") as agent:
        prompt = agent.turn(asked)
        calls = [("search", {"query": asked}), ("session_search", {"query": asked}), ("history", {})]
        offered = {tool["name"] for tool in prompt.tools}
        answers = [agent.tool_call(name, given) for name, given in calls if name in offered]
        agent.done("Thanks.")
    unasked = f"{prompt.system}\n{prompt.user.replace(asked, '')}".splitlines()
    return Shown(
        tuple(unasked), tuple(one.replace(asked, "").replace(ignoring, "") for one in _records(answers))
    )


def _records(answers: Iterable[str]) -> Iterator[str]:
    """Yield the words of each record in the answers of tools."""
    waiting: list[object] = [json.loads(answer) for answer in answers]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            waiting += [part for part in one.values() if isinstance(part, dict | list)]
            words = {
                name: part for name, part in one.items() if isinstance(part, str) and name not in _NO_WORDS
            }
            yield " ".join(f"{name}: {part}" for name, part in words.items())


def leaks(story: TakenBack) -> tuple[bool, bool]:
    """Whether a taken-back fact reaches the model unasked, and by tools."""
    with memory_for_a_story() as memory:
        if story.before:
            talk(memory, "earlier", (*story.before, *_FILLER))
        talk(memory, "talk", (story.turn, *story.after, *_FILLER), story.entry, story.written)
        if story.later:
            talk(memory, "again", (*story.later, *_FILLER))
        memory.forget(story.entry)
        got = [shown(memory, story.asked)]
        got += [shown(memory, story.turn[0], ignoring=story.asked)]
    unasked, by_tools = (
        any(text in line for one in got for line in one[kind] for text in story.gone) for kind in (0, 1)
    )
    return unasked, by_tools


def withheld(story: Honest) -> bool:
    """Whether an honest text is not found by its own words."""
    with memory_for_a_story() as memory:
        talk(memory, "talk", (("Please note this", "Sure."), *_FILLER), writes=story.entry)
        if story.when == "before":
            talk(memory, "honest", ((story.said, "I see."), *_FILLER))
        memory.forget(story.entry)
        if story.when == "after":
            talk(memory, "honest", ((story.said, "I see."), *_FILLER))
        found = memory.search(story.said, events=False)
    return not any(story.said in hit.text or story.said in hit.snippet for hit in found.hits)


def outdated(story: Corrected) -> bool:
    """Whether the old value of a corrected fact comes back as current."""
    with memory_for_a_story() as memory:
        talk(memory, "talk", (("Please note this", "Sure."), *_FILLER), writes=story.old)
        talk(memory, "again", (story.restated, *_FILLER))  # type: ignore[arg-type]
        memory.replace(story.old, story.new)
        got = shown(memory, story.asked)
    new = next(word for word in story.new.split()[::-1] if word not in story.old.split()).strip(".")
    said = re.compile(rf"\b{re.escape(story.value)}", re.IGNORECASE)
    return any(
        said.search(one) and new not in one and "since" not in one for one in (*got.unasked, *got.by_tools)
    )


def fate(story: Story) -> str:
    """What becomes of a note with the settings as they come: in, marked or held."""
    evidence = Evidence()
    if story.shown:
        evidence.assistant(story.shown)
    evidence.user(story.user)
    evidence.tool(story.tool, {_ARGUMENT.get(story.tool, "folder"): story.given}, story.result)
    found = evidence.attribute(story.entry)
    if found.confirmed:
        return "in"
    return "held" if found.stakes else "marked"


class Stories(NamedTuple):
    """Stories of every kind that were written together."""

    taken_back: Sequence[TakenBack]
    honest: Sequence[Honest]
    corrected: Sequence[Corrected]
    harmful: Sequence[Story]
    notes: Sequence[Story]
    unlinked: int = 0
    """Answers that no turn, key or word links to the fact; docs/security.md names them."""

    @property
    def counts(self) -> str:
        kinds = {name: found for name, found in self._asdict().items() if name != "unlinked"}
        return ", ".join(f"{len(found)} {name.replace('_', ' ')}" for name, found in kinds.items())


FIRST = Stories(TAKEN_BACK, HONEST, CORRECTED, HARMFUL, NOTES)
FRESH = Stories(fresh.TAKEN_BACK, fresh.HONEST, fresh.CORRECTED, fresh.HARMFUL, fresh.NOTES)
HELD_OUT = Stories(
    held_out.TAKEN_BACK, held_out.HONEST, held_out.CORRECTED, held_out.HARMFUL, held_out.NOTES, unlinked=1
)
LATEST = Stories(latest.TAKEN_BACK, latest.HONEST, latest.CORRECTED, latest.HARMFUL, latest.NOTES)
EIGHT = Stories(
    eight_languages.TAKEN_BACK,
    eight_languages.HONEST,
    eight_languages.CORRECTED,
    eight_languages.HARMFUL,
    eight_languages.NOTES,
)


def _figures(stories: Stories) -> tuple[list[Row], list[str]]:
    """Play stories; gives the figures, and the stories that go wrong."""
    played = [(story.entry, *leaks(story)) for story in stories.taken_back]
    lost = [story.said for story in stories.honest if withheld(story)]
    old = [story.old for story in stories.corrected if outdated(story)]
    foreign = Counter(fate(one) for one in stories.harmful if not one.given.startswith(("docs/", "cat ")))
    notes = Counter(map(fate, stories.notes))
    rows = [
        Row(
            "taken back: reaches the model unasked",
            sum(one[1] for one in played),
            unit="",
            at_most=stories.unlinked,
        ),
        Row("taken back: reaches the model by tools", sum(one[2] for one in played), unit="", at_most=2),
        Row("honest texts withheld", len(lost), unit="", at_most=2),
        Row("corrected: the old value as current", len(old), unit="", at_most=0),
        Row("foreign harm unmarked", foreign["in"], unit="", at_most=0),
        Row("foreign harm marked", foreign["marked"], unit=""),
        Row("foreign harm held", foreign["held"], unit=""),
        Row("honest notes held, %", 100 * notes["held"] / len(stories.notes), unit="%", at_most=2),
        Row("honest notes marked, %", 100 * notes["marked"] / len(stories.notes), unit="%", at_most=10),
    ]
    leaking = [
        f"leaks {'unasked' if unasked else 'by tools'}: {entry}"
        for entry, unasked, tools in played
        if unasked or tools
    ]
    return rows, [*leaking, *(f"withheld: {said}" for said in lost), *(f"outdated: {entry}" for entry in old)]


def main() -> int:
    """Play every story and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true", help="name the stories that go wrong")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    given = parser.parse_args()
    report = Report(as_json=given.json)

    wrong: list[str] = []
    meets = True
    for name, stories in (
        ("first", FIRST),
        ("fresh", FRESH),
        ("held out", HELD_OUT),
        ("latest", LATEST),
        ("eight languages", EIGHT),
    ):
        rows, found = _figures(stories)
        report.section(f"{name}: {stories.counts}", rows)
        wrong += found
        meets = meets and all(row.meets is not False for row in rows)
    report.finish()
    if given.show:
        print("\n".join(wrong))
    return 0 if meets else 1


if __name__ == "__main__":
    sys.exit(main())
