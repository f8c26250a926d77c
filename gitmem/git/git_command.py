"""How the git program is called: its surprises turned off, people's own settings for servers left on.

Nothing is imported here: a sync that finds nothing new needs this and hardly anything else.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# No hooks, no submodules, no surprising protocols, every object checked on arrival.
_SAFE = (
    "protocol.allow=never",
    "protocol.ssh.allow=always",
    "protocol.https.allow=always",
    "protocol.http.allow=always",
    "protocol.git.allow=always",
    "protocol.file.allow=always",
    "core.hooksPath=/dev/null",
    "transfer.fsckObjects=true",
    "fetch.unpackLimit=1",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "push.recurseSubmodules=no",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsync=all",
)
_KEPT = (
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSL_CAINFO",
)


def command(*arguments: str) -> list[str]:
    """The words of a call."""
    settings = [word for setting in _SAFE for word in ("-c", setting)]
    return ["git", *settings, *arguments]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What the program sees of the environment: it asks nobody, and speaks English."""
    kept = {key: value for key, value in given.items() if not key.startswith("GIT_") or key in _KEPT}
    kept.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=20")
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
