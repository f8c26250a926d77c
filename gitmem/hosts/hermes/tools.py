"""The tools of one session in Hermes: who calls them, and their answers as the host wants them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gitmem.hosts.hermes.tool_schemas import names
from gitmem.hosts.hermes.users import reader_of
from gitmem.hosts.tools import calls
from gitmem.hosts.tools.caller import Caller
from gitmem.hosts.tools.table import HERMES_PREFIX

if TYPE_CHECKING:
    from gitmem.hosts.hermes.bundle_worker import BundleWorker
    from gitmem.memory.capture.recorder import SessionInfo
    from gitmem.memory.memory import Memory
    from gitmem.memory.origin import Origin
    from gitmem.okf.entries import EntryKey


class HermesCaller(Caller):
    """One session of the host. Its tools run on the worker; what they answer passes the gate."""

    name_of_tools = HERMES_PREFIX

    def __init__(self, bundle_worker: BundleWorker, session: SessionInfo) -> None:
        super().__init__()
        self.secret = bundle_worker.secret
        self._bundle_worker = bundle_worker
        self._session = session
        self.reader = reader_of(self.memory.config, session)

    @property
    def memory(self) -> Memory:
        return self._bundle_worker.bundle

    @property
    def session(self) -> SessionInfo:
        return self._session

    def record(self, kind: str, **fields: Any) -> str:
        if kind == "decision":
            self._bundle_worker.decide(self._session, **fields)
        else:
            self._bundle_worker.take(self._session, kind, **fields)
        return ""

    def flush(self) -> None:
        self._bundle_worker.flush("explicit")

    def shown(self, entries: Iterable[tuple[str, EntryKey]]) -> None:
        self._bundle_worker.note_shown(self._session, entries)

    def wrote(self, path: str, text: str, origin: Origin) -> None:
        self._bundle_worker.wrote(path, text, origin)

    def undone(self) -> None:
        self._bundle_worker.compare()

    def run(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer as a JSON string, never longer than the model should read."""
        if name not in names(self.memory.config):
            return json.dumps({"error": f"There is no tool {name!r} here."})
        answer = calls.run(name.removeprefix(HERMES_PREFIX), arguments, self)
        return json.dumps(answer.value, ensure_ascii=False)
