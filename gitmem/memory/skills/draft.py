"""A SKILL.md to begin with: when to use it, steps, pitfalls."""

from __future__ import annotations

import re

from gitmem import resources
from gitmem.okf import frontmatter
from gitmem.okf.skills import check_name

_PLACE = re.compile(r"\{([a-z]+)\}")
_HINTS = {
    "description": "Say in one sentence when to use this skill.",
    "when": "The situation in which these steps help, and in which they do not.",
    "steps": "1. The first thing to do, with the exact command.\n2. How to check that it worked.",
    "pitfalls": "- What went wrong before, and what to do then.",
}


def draft(name: str) -> str:
    """The template of a SKILL.md under a name."""
    text = resources.read("templates/SKILL.md").decode()
    words = {**_HINTS, "name": check_name(name)}
    return _PLACE.sub(lambda place: words.get(place.group(1), place.group()), text)


def with_front_matter(text: str, name: str, description: str) -> str:
    """A text as a SKILL.md; one that begins with front matter is one already."""
    if frontmatter.begins(text):
        return text
    head = frontmatter.dump({"name": name, "description": description})
    return f"---\n{head}---\n\n{text.lstrip()}"
