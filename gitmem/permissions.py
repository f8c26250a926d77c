"""Who may read and write what gitmem makes: its owner alone, or a group, whatever the umask says.

A file is as open as the directory that it is made in. One that is setgid and writable for its group, as
`core.sharedRepository = group` makes them, is a group's; any other is its owner's alone.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PRIVATE = 0o600
_PRIVATE_DIRECTORY = 0o700
_GROUP_DIRECTORY = 0o2770
_OF_A_GROUP = 0o2020
"""Both: an old git sets the first alone on a private repository's directories, a lax umask the second alone."""


def is_group_directory(path: str) -> bool:
    """Whether what is made in a directory is for its group too."""
    try:
        return os.stat(path or ".").st_mode & _OF_A_GROUP == _OF_A_GROUP
    except OSError:
        return False


def file_mode(path: str, mode: int = PRIVATE) -> int:
    """The mode of a file to be made at `path`; of `mode` the owner's part counts."""
    return _for_file(mode, shared=is_group_directory(os.path.dirname(path)))


def create(path: str, flags: int, mode: int = PRIVATE) -> int:
    """Open a file that may be made by that; gives its descriptor."""
    wanted = file_mode(path, mode)
    descriptor = os.open(path, flags, wanted)
    if wanted & 0o070 and hasattr(os, "fchmod"):  # the umask has taken the group's part
        try:
            os.fchmod(descriptor, wanted)
        except PermissionError:  # another member of the group made it
            pass
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor


def make_directory(path: str, *, like: str = "") -> None:
    """Make a directory, as `os.mkdir` does; as open as `like`, or as the one that it is in."""
    shared = is_group_directory(like or os.path.dirname(path))
    os.mkdir(path, _PRIVATE_DIRECTORY)
    if shared:
        share(path)


def make_directories(path: str) -> None:
    """Make a directory and those above it, where there are none."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above and above != path:
        make_directories(above)
    try:
        make_directory(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def share(path: str) -> None:
    """Make a directory a group's, and with it all that is made in it from then on."""
    os.chmod(path, _GROUP_DIRECTORY)


def keep_private(path: str) -> None:
    """Make a directory its owner's alone, and with it all that is made in it from then on."""
    os.chmod(path, _PRIVATE_DIRECTORY)


def adopt(path: str) -> None:
    """Give a file that another program made the mode that it has when gitmem makes it."""
    try:
        now = os.stat(path, follow_symlinks=False).st_mode & 0o777
        wanted = file_mode(path, now)
        if now != wanted:
            os.chmod(path, wanted)
    except (FileNotFoundError, PermissionError):  # gone by now, or another member of the group made it
        pass


def wrong(*tops: str, shared: bool) -> list[str]:
    """What below these directories is more or less open than gitmem would make it."""
    return [path for path, now, wanted in _modes(tops, shared=shared) if _is_wrong(now, wanted)]


def correct(*tops: str, shared: bool) -> list[str]:
    """Make it as open as gitmem would; gives what another user owns, and stays as it is."""
    left: list[str] = []
    for path, now, wanted in list(_modes(tops, shared=shared)):
        if _is_wrong(now, wanted):
            try:
                os.chmod(path, wanted)
            except PermissionError:
                left.append(path)
    return left


def _is_wrong(now: int, wanted: int) -> bool:
    """A group's part may be missing; what others might do, they cannot where the group's directory is closed to them."""
    return bool(wanted & ~now if wanted & 0o070 else now & 0o077)


def _for_file(mode: int, *, shared: bool) -> int:
    own = mode & 0o700
    return own | own >> 3 if shared else own


def _modes(tops: tuple[str, ...], *, shared: bool) -> Iterator[tuple[str, int, int]]:
    """Directories and files below some places, each with the mode that it has and should have; no link is followed."""
    todo = list(tops)
    while todo:
        try:
            with os.scandir(todo.pop()) as found:
                entries = list(found)
        except OSError:
            continue
        for entry in entries:
            try:
                now = entry.stat(follow_symlinks=False).st_mode & 0o7777
            except OSError:
                continue
            if entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
                yield entry.path, now, _GROUP_DIRECTORY if shared else _PRIVATE_DIRECTORY
            elif entry.is_file(follow_symlinks=False):
                yield entry.path, now, _for_file(now, shared=shared)
