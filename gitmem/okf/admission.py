"""What may enter a bundle: a file's path, mode, size and content, checked together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitmem.errors import InvalidContent
from gitmem.okf import layout, paths, validate
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import CURATED_TYPES

_REGULAR = (0o100644, 0o100755)
_OTHER_MODES = {0o120000: "a symbolic link", 0o160000: "a submodule"}


def reasons(path: str, mode: int, data: bytes, *, limit: int) -> list[str]:
    """Sentences that say why a file cannot be part of a bundle; none for one that can.

    `limit` is the largest size in bytes.
    """
    found = list(_outside(path, mode))
    if mode not in _REGULAR:
        return found
    if len(data) > limit:
        return [*found, f"It is too large ({len(data) >> 20} MB; at most {limit >> 20} MB)."]
    found += [
        f"{violation.reason} (OKF rule {violation.rule})" for violation in validate.check_file(path, data)
    ]
    if not found and layout.default_type(path) in CURATED_TYPES:
        try:
            CuratedFile.parse(data, path)
        except InvalidContent as error:
            found.append(str(error))
    return found


def _outside(path: str, mode: int) -> Iterator[str]:
    """What is wrong with it whatever it holds."""
    try:
        paths.check_path(path)
    except InvalidContent as error:
        yield str(error)
    if mode not in _REGULAR:
        yield f"It is {_OTHER_MODES.get(mode, f'of mode {mode:o}')}, and a bundle holds regular files only."


def collisions(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of paths that are one path where the file system ignores case or Unicode form.

    Directories count too: `Notes/a.md` and `notes/b.md` end up in one directory there.
    """
    spelled: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for path in names:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            first = spelled.setdefault(paths.fold(part), part)
            if first != part:
                found.append((first, path))
                break
    return found
