"""Calls of the git program: in a directory of ours, surprises turned off, people's settings for servers left on.

A repository's configuration can name programs in more ways than a list could turn off. So git never sees that of a bundle:
it works in a git directory that we made (`transport.ThrowAway`, `housekeeping.py`), or in none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# No hooks, no submodules, no surprising protocols, every object checked on arrival.
_SAFE = (
    "protocol.allow=never",
    *(f"protocol.{name}.allow=always" for name in ("ssh", "https", "http", "git", "file")),
    "core.hooksPath=/dev/null",
    "transfer.fsckObjects=true",
    "fetch.unpackLimit=1",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "push.recurseSubmodules=no",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsync=all",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
)
# A server that falls silent is given up: whoever started git may be dead by then.
SSH = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
_KEPT = (
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_SSL_CAINFO",
)  # fmt: skip


def command(*arguments: str, git_dir: str = "") -> list[str]:
    """The words of a call in a git directory of our making; without one, outside of any."""
    settings = [word for setting in _SAFE for word in ("-c", setting)]
    where = ("--git-dir", git_dir) if git_dir else ("-C", "/")
    return ["git", *settings, *where, *arguments]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return what the program sees of the environment: it asks nobody, and speaks English."""
    kept = {key: value for key, value in given.items() if not key.startswith("GIT_") or key in _KEPT}
    kept.setdefault("GIT_SSH_COMMAND", SSH)
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
