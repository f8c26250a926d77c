"""Every error that gitmem raises on purpose. `except gitmem.GitMemError` catches them all.

GitMemError                 exit 1: it failed; the message says what happened and what to do
├── UsageError              exit 2: asked for something that makes no sense
├── BundleNotFound          no bundle here
├── BundleUnusable          there is something here, but it cannot be worked with as it is
│   ├── BundleBusy          another program is in the middle of something; try again
│   ├── NewerFormat         written by a newer gitmem
│   ├── MissingObject       the history names an object that is not there
│   └── IndexTrouble        the search index cannot be used
├── InvalidContent          the content cannot be stored
│   ├── UnsafePath          a path that must not enter a bundle
│   ├── BrokenConcept       a file that is not a readable OKF concept
│   ├── TooLarge            over a limit that is never cut silently
│   └── Refused             the gate or the store refuses this content; nothing was changed
│       ├── BlockedContent  the scanner blocks the text; `result` says why
│       ├── BlockedSkill    the guard blocks the skill; `findings` says where and why
│       └── StoreRefusal    the curated store cannot do it; says how full it is and what it holds
├── RemoteError             a remote could not be reached, or would not do what was asked
│   ├── RefusedFetch        something in what it sent must not enter; nothing of it did
│   ├── RefusedPush         its rules do not let a ref be set; trying again does not help
│   ├── RewrittenRemote     its history does not continue what was seen there before
│   └── UnrelatedHistories  it holds another memory: no commit in common
├── EndpointError           the model endpoint gave no usable answer
├── UnknownRevision         no commit, snapshot, date or session of that name
├── ConfigError             a setting of an unknown name or the wrong type
└── FoundSomething          exit 3: the check worked, and found what it looks for
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.safety.verdict import Result

Trouble = Literal["missing", "damaged", "busy", "unwritable"]
"""What is wrong with a search index: making it again helps against the first two alone."""


VERIFY = "Run `gitmem check`."
"""The hint of whatever finds the repository damaged."""


_FEW_FINDINGS = 3
_DANGERS = {"dangerous": "an attack", "caution": "something to be looked at"}


class GitMemError(Exception):
    """It failed. `str(error)` is one sentence; `hint`, if any, says what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(GitMemError):
    exit_code = 2


class BundleNotFound(GitMemError):
    pass


class BundleUnusable(GitMemError):
    pass


class BundleBusy(BundleUnusable):
    pass


class NewerFormat(BundleUnusable):
    pass


class MissingObject(BundleUnusable):
    def __init__(self, oid: str) -> None:
        super().__init__(f"Object {oid} is missing from the repository.", hint=VERIFY)
        self.oid = oid


class IndexTrouble(BundleUnusable):
    def __init__(self, kind: Trouble, why: str) -> None:
        super().__init__(f"The search index cannot be used: {why}.", hint="Try `gitmem check --fix`.")
        self.kind = kind
        self.why = why


class InvalidContent(GitMemError):
    pass


class UnsafePath(InvalidContent):
    pass


class BrokenConcept(InvalidContent):
    pass


class TooLarge(InvalidContent):
    pass


class Refused(InvalidContent):
    pass


class BlockedContent(Refused):
    def __init__(self, result: Result) -> None:
        super().__init__(f"This cannot be stored: {result.explain()}.")
        self.result = result


class BlockedSkill(Refused):
    def __init__(self, name: str, danger: str, findings: Sequence[str]) -> None:
        told = "; ".join(findings[:_FEW_FINDINGS])
        more = f"; and {len(findings) - _FEW_FINDINGS} more" if len(findings) > _FEW_FINDINGS else ""
        super().__init__(
            f"The skill {name} is not stored, it looks like {_DANGERS.get(danger, danger)}: {told}{more}.",
            hint="Nothing was changed. Take out what is named, and try again.",
        )
        self.danger = danger
        self.findings = tuple(findings)


class StoreRefusal(Refused):
    def __init__(
        self, message: str, *, usage: int, limit: int, entries: Sequence[str], near: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.usage = usage
        self.limit = limit
        self.entries = tuple(entries)
        self.near = tuple(near)
        """Entries that may be meant, where the text that names one fits none or several."""


class RemoteError(GitMemError):
    pass


class RefusedFetch(RemoteError):
    pass


class RefusedPush(RemoteError):
    """The remote does not take it, however often it is tried."""


class RewrittenRemote(RemoteError):
    pass


class UnrelatedHistories(RemoteError):
    pass


class EndpointError(GitMemError):
    pass


class UnknownRevision(GitMemError):
    pass


class ConfigError(GitMemError):
    pass


class FoundSomething(GitMemError):
    exit_code = 3
