"""Every error that gitmem raises on purpose.

GitMemError                 exit 1: it failed; the message says what happened and what to do
├── UsageError              exit 2: asked for something that makes no sense
├── BundleNotFound          no bundle here
├── BundleUnusable          there is something here, but it can not be worked with as it stands
│   ├── BundleBusy          another program is in the middle of something; try again
│   └── NewerFormat         written by a newer gitmem
├── InvalidContent          the content can not be stored
│   ├── UnsafePath          a path that must not enter a bundle
│   ├── BrokenConcept       a file that is not a readable OKF concept
│   └── TooLarge            over a limit that is never cut silently
├── UnknownRevision         no commit, snapshot, date or session of that name
├── ConfigError             a setting of an unknown name or the wrong type
└── FoundSomething          exit 3: the check worked, and found what it looks for
"""

from __future__ import annotations


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


class InvalidContent(GitMemError):
    pass


class UnsafePath(InvalidContent):
    pass


class BrokenConcept(InvalidContent):
    pass


class TooLarge(InvalidContent):
    pass


class UnknownRevision(GitMemError):
    pass


class ConfigError(GitMemError):
    pass


class FoundSomething(GitMemError):
    exit_code = 3
