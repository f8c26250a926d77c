"""The tools of one session in Hermes: who calls them, and their answers as the host wants them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gitmem.hosts.hermes.tool_schemas import names
from gitmem.hosts.hermes.users import reader_of
from gitmem.hosts.tools import calls
from gitmem.hosts.tools.table import HERMES_PREFIX
from gitmem.memory.session import Session

if TYPE_CHECKING:
    from gitmem.hosts.hermes.bundle_worker import BundleWorker
    from gitmem.memory.capture.recorder import SessionInfo
    from gitmem.memory.origin import Origin, Trigger
    from gitmem.okf.entries import EntryKey
    from gitmem.okf.events import Event


class HermesCaller(Session):
    """One session of the host. Its tools run on the worker; what they answer passes the gate."""

    def __init__(self, bundle_worker: BundleWorker, session: SessionInfo) -> None:
        memory = bundle_worker.bundle
        super().__init__(memory, session, reader=reader_of(memory.config, session))
        self.secret = bundle_worker.secret
        self._memory = memory
        self._bundle_worker = bundle_worker

    def happened(self, kind: str, /, **fields: object) -> str:
        if kind == "decision":
            self._bundle_worker.decide(self.about, **fields)
        else:
            self._bundle_worker.take(self.about, kind, **fields)
        return ""

    def flush(self, trigger: Trigger = "explicit") -> list[Event]:
        self._bundle_worker.flush(trigger)
        return []

    def showed(self, entries: Iterable[tuple[str, EntryKey]]) -> None:
        self._bundle_worker.note_shown(self.about, entries)

    def wrote(self, path: str, text: str, origin: Origin) -> None:
        self._bundle_worker.wrote(path, text, origin)

    def run(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer as a JSON string, never longer than the model should read."""
        if name not in names(self._memory.config):
            return json.dumps({"error": f"There is no tool {name!r} here."})
        own = name.removeprefix(HERMES_PREFIX)
        answer = calls.run(own, arguments, self._memory, self, prefix=HERMES_PREFIX)
        if own == "undo":
            self._bundle_worker.compare()
        return json.dumps(answer.value, ensure_ascii=False)
