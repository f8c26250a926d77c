"""Templates of concepts (`templates/concepts/`), filled in.

In the front matter a value `"{name}"` is replaced by what was given under that name, whatever its type; a key for
which nothing was given is left out, and so is a section of the body. Text that was given is never read as a template.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gitmem import resources
from gitmem.okf.concept import Concept

_PLACE = re.compile(r"\{([a-z_]+)\}")


def fill(template: str, **values: object) -> Concept:
    """The concept that a template and these values make."""
    made = _template(template)
    meta: dict[str, object] = {}
    for key, value in made.meta.items():
        place = _PLACE.fullmatch(value) if isinstance(value, str) else None
        filled = values.get(place.group(1)) if place else value
        if filled not in (None, "", [], ()):
            meta[key] = filled
    sections = (_filled(section, values) for section in re.split(r"(?m)^(?=## )", made.body))
    body = "".join(sections).strip("\n")
    return Concept.new(str(meta.pop("type")), f"{body}\n" if body else "", **meta)


def _filled(section: str, values: dict[str, object]) -> str:
    names = _PLACE.findall(section)
    if names and not any(values.get(name) for name in names):
        return ""
    return _PLACE.sub(lambda place: str(values.get(place.group(1)) or ""), section)


@lru_cache(maxsize=8)
def _template(name: str) -> Concept:
    return Concept.parse(resources.read(f"templates/concepts/{name}.md"), f"templates/concepts/{name}.md")
