"""The host's frozen reading of MEMORY.md and USER.md: it builds its prompt before it asks a provider anything."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from gitmem.files import read_file
from gitmem.memory.curated.host_files import NAMES, parse
from gitmem.memory.curated.store import TARGETS

if TYPE_CHECKING:
    from gitmem.hosts.hermes.home import Home
    from gitmem.memory.memory import Memory


class HostRead:
    """The host's files as they are when it has just read them."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._seen = self._files()

    def missed(self, bundle: Memory, callback: object) -> list[str]:
        """Lines on what changed since; none where the host could be made to read again.

        `callback` is a function of the running agent, which the host hands over on a command line.
        """
        now = self._files()
        if now == self._seen or _read_again(callback):
            return []
        from gitmem.memory.gate.egress import Egress  # most sessions need none

        egress = Egress(bundle)
        lines = []
        for target in filter(bundle.curated.is_enabled, TARGETS):
            before, after = (parse(files[target], NAMES[target]) for files in (self._seen, now))
            gone = [str(number) for number, text in enumerate(before, 1) if text not in after]
            if gone:  # by number: their text is not told again
                lines.append(
                    f"{NAMES[target]}: no longer true: entry {', '.join(gone)}, counted from the top"
                )
            lines += [
                f"{NAMES[target]}: {' '.join(egress.clean(text).split())}"
                for text in after
                if text not in before and egress.may_be_believed(text)
            ]
        return lines

    def _files(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for target in TARGETS:
            found[target] = b""
            with contextlib.suppress(OSError):
                found[target] = read_file(os.path.join(self._home.memories, NAMES[target])) or b""
        return found


def _read_again(callback: object) -> bool:
    """Have the agent's own store load its files again, as it does after a compaction; False where that is not to be had."""
    store = getattr(getattr(callback, "__self__", None), "_memory_store", None)
    load = getattr(store, "load_from_disk", None)
    if not callable(load):
        return False
    try:
        load()
    except Exception:  # noqa: BLE001 (the host's own code; the lines say what it missed)
        return False
    return True
