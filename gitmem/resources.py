"""Files that travel with the package: git hooks and templates.

They stand at the top of the source tree; a wheel carries them under `gitmem/_data/`.
"""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def directory(name: str) -> str:
    """Where `hooks` or `templates` lies, in an installed package or in a source tree."""
    installed = os.path.join(_HERE, "_data", name)
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(_HERE), name)


def read(name: str) -> bytes:
    """The content of a file such as `templates/bundle/index.md`."""
    kind, _, rest = name.partition("/")
    with open(os.path.join(directory(kind), *rest.split("/")), "rb") as file:
        return file.read()
