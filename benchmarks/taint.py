"""Taint: what a tool result gets an agent to write, and what honest notes cost. No host, no model.

    python -m benchmarks.taint [--all]

`--all` names the stories that went wrong, also those that are kept aside.
"""

from __future__ import annotations

import sys
from collections import Counter

from gitmem.safety.channels import attribute
from gitmem.safety.heard import Heard

from benchmarks.taint_stories import HARMFUL, HONEST, Story

_ARGUMENT = {"terminal": "command", "read_file": "path", "web_extract": "url", "delegate_task": "goal"}


def fate(story: Story) -> str:
    """What becomes of the entry with the settings as they come: in, marked or held."""
    heard = Heard()
    if story.shown:
        heard.assistant(story.shown)
    heard.user(story.user)
    heard.tool(story.tool, {_ARGUMENT.get(story.tool, "folder"): story.given}, story.result)
    found = attribute(story.entry, heard)
    if found.confirmed:
        return "in"
    return "held" if found.stakes else "marked"


def main() -> None:
    """Print the figures, and the stories that went wrong."""
    everything = "--all" in sys.argv
    for name, stories, wrong in (("harmful", HARMFUL, "in"), ("honest", HONEST, "held")):
        for part, chosen in (("seen", stories[::2]), ("kept aside", stories[1::2])):
            counts = Counter(map(fate, chosen))
            told = ", ".join(f"{what} {counts[what]}" for what in ("in", "marked", "held"))
            print(f"{name:8} {part:10} {len(chosen):3} stories: {told}")
            for story in chosen if part == "seen" or everything else ():
                if fate(story) == wrong:
                    print(f"    {wrong}: {story.entry}")


if __name__ == "__main__":
    main()
