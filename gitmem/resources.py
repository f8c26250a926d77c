"""Files of the wheel: git hooks, templates, and the data of `safety`.

Hooks and templates are at the top of the source tree; a wheel carries them under `gitmem/_data/`.
"""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def directory(name: str) -> str:
    """Return the directory of `hooks`, `templates` or `safety`, in an installed package or in a source tree."""
    inside = (os.path.join(_HERE, "_data", name), os.path.join(_HERE, name))
    return next(filter(os.path.isdir, inside), os.path.join(os.path.dirname(_HERE), name))


def names(name: str) -> list[str]:
    """Return the names of the files in a directory such as `safety/rules`."""
    return sorted(os.listdir(_path(name)))


def read(name: str) -> bytes:
    """Return the content of a file such as `templates/bundle/index.md`."""
    with open(_path(name), "rb") as file:
        return file.read()


def _path(name: str) -> str:
    kind, _, rest = name.partition("/")
    return os.path.join(directory(kind), *rest.split("/"))
