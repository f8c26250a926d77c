"""The part of a conversation that is kept: the one place that knows the meaning of the setting `transcripts`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.okf.plain import cut

if TYPE_CHECKING:
    from gitmem.config import Config

_OMITTED = "omitted"
_LIMITS = {"args": 4_000, "result": 2_000}
# The arguments and answers of our own tools are memory already, also behind the prefix of a host: stored again,
# a search would find the searches before it.
_OWN = re.compile(r"(?:^|_)gitmem_|^session_search$")
# What says which tool it was, and nothing of what it was asked or gave.
_OF_THE_TOOL = frozenset({"tool_name", "description", "schema", _OMITTED})


@dataclass(frozen=True, slots=True)
class Transcripts:
    """The speakers whose words are kept. A fact or decision that an agent saves on purpose is always kept."""

    user: bool
    assistant: bool
    tools: bool
    """Arguments and results, also of a subagent."""

    def event(self, kind: str, fields: Mapping[str, str]) -> dict[str, str]:
        """The fields of an event that are kept, and how long the others were."""
        if kind == "tool_call":
            return self._call(fields)
        if kind != "turn":
            return dict(fields)
        if self.assistant:
            return dict(fields)
        return _only(fields, {"user", "note", _OMITTED} if self.user else {_OMITTED})

    def _call(self, fields: Mapping[str, str]) -> dict[str, str]:
        if _OWN.search(fields.get("tool_name", "")):
            return {name: text for name, text in fields.items() if name in _OF_THE_TOOL}
        if not self.tools:
            return _only(fields, _OF_THE_TOOL)
        return {name: cut(text, _LIMITS.get(name, len(text))) for name, text in fields.items()}

    def of_the_user(self, text: str) -> str:
        """Words of the user beside a turn: in the reason of a change, in a question to the memory."""
        return text if self.user else ""

    def of_the_agent(self, text: str) -> str:
        """Words of the model beside a turn: the title of a session, the reason that it gives for a change."""
        return text if self.assistant else ""


_LEVELS = {
    "all": Transcripts(user=True, assistant=True, tools=True),
    "text": Transcripts(user=True, assistant=True, tools=False),
    "user-only": Transcripts(user=True, assistant=False, tools=False),
    "off": Transcripts(user=False, assistant=False, tools=False),
}


def transcripts_of(config: Config) -> Transcripts:
    """Return what is kept of conversations under these settings."""
    return _LEVELS[config.transcripts]


def _only(fields: Mapping[str, str], names: frozenset[str] | set[str]) -> dict[str, str]:
    kept = {name: text for name, text in fields.items() if name in names}
    sizes = [
        f"{name} {len(text):,} characters" for name, text in fields.items() if name not in names and text
    ]
    return {**kept, _OMITTED: ", ".join(sizes)} if sizes else kept
