"""Commit messages: `kind: what happened`, a reason in prose, and trailers that plain git reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

KINDS = (
    "init", "flush", "compress", "snapshot", "memory", "session", "plan", "skill", "restore", "revert",
    "merge", "edit", "host", "import", "recover", "archive", "erase", "note",
)  # fmt: skip
TRAILERS = (
    "Kind", "Session", "Turn", "Parent-Session", "Agent", "Machine", "Platform", "Model", "Trigger", "Reason",
    "Source", "Derived-From", "Reverts", "Snapshot", "Scan", "Events",
)  # fmt: skip
_IDS = ("Turn", "Derived-From", "Reverts", "Events", "Scan")
_SUBJECT_LIMIT = 100
_VALUE_LIMIT = 2000
_TRAILER = re.compile(r"([A-Z][A-Za-z-]*): (.*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x80-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Message:
    """A commit message: its kind, one line of what happened, and its provenance."""

    kind: str
    what: str
    trailers: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    body: str = ""

    @property
    def subject(self) -> str:
        """The first line of the commit, and of its line in the reflog."""
        return one_line(f"{self.kind}: {self.what}", _SUBJECT_LIMIT)

    def render(self) -> str:
        """The text of the commit. Trailer values are one line each: a newline in one would forge another."""
        lines = [f"Kind: {self.kind}"]
        for key in sorted(self.trailers, key=lambda key: (*TRAILERS, key).index(key)):
            value = self.trailers[key]
            for item in (value,) if isinstance(value, str) else value:
                if clean := trailer_value(item):
                    lines.append(f"{key}: {clean}")
        # A paragraph that git cannot take for trailers: those are the last one.
        body = [_CONTROL.sub(" ", line).rstrip() for line in self.body.strip().split("\n")]
        prose = "\n".join([*body, "", ""]) if self.body.strip() else ""
        return f"{self.subject}\n\n{prose}" + "\n".join(lines) + "\n"

    def redacted(self, redact: Callable[[str], str]) -> Message:
        """The same, redacted: all but what names commits and entries."""
        trailers = dict(self.trailers)
        for key, value in self.trailers.items():
            if key not in _IDS:
                trailers[key] = redact(value) if isinstance(value, str) else tuple(map(redact, value))
        return Message(self.kind, redact(self.what), trailers, redact(self.body))


def one_line(text: str, limit: int) -> str:
    """Text on one line, without control characters, cut with an ellipsis."""
    line = _CONTROL.sub(" ", text).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def trailer_value(text: str) -> str:
    """A value as it is in a trailer: what is looked for there has to be as clean as what was written."""
    return one_line(text, _VALUE_LIMIT)


def trailers_of(message: str) -> dict[str, tuple[str, ...]]:
    """The trailers in the last paragraph of a commit message; empty where it has none.

    With a `Kind` it is gitmem's own, and a line that cannot be read there hides no other.
    """
    paragraph = message.rstrip().rpartition("\n\n")[2]
    found: dict[str, list[str]] = {}
    prose = False
    for line in paragraph.split("\n"):
        match = _TRAILER.fullmatch(line)
        if match is not None:
            found.setdefault(match[1], []).append(match[2])
        elif not line.startswith((" ", "\t")):
            prose = True
    if prose and "Kind" not in found:
        return {}
    return {key: tuple(values) for key, values in found.items()}


def kind_of(message: str) -> str:
    """The kind of a commit: its trailer, else the word before the colon where we know it, else `edit`."""
    kinds = trailers_of(message).get("Kind")
    if kinds:
        return kinds[0]
    word = message.partition(":")[0]
    return word if word in KINDS else "edit"
