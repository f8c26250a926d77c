"""Calls of the git program: in a directory of ours, surprises turned off, people's settings for servers left on.

A repository's configuration can name programs in more ways than a list could turn off. So git never sees that of a bundle:
it works in a git directory that we made (`transport.ThrowAway`, `housekeeping.py`), or in none.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
# A server that falls silent is given up: the caller of git may be dead by then.
SSH = "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
_KEPT = (
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_SSL_CAINFO",
)  # fmt: skip
_LIMITED = ("/bin/sh", "-c", 'ulimit -f "$0" && exec "$@"')


def command(*arguments: str, git_dir: str = "") -> list[str]:
    """The words of a call in a git directory of our making; without one, outside of any."""
    settings = [word for setting in _SAFE for word in ("-c", setting)]
    where = ("--git-dir", git_dir) if git_dir else ("-C", "/")
    return ["git", *settings, *where, *arguments]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the program: no prompts, English messages."""
    kept = {key: value for key, value in given.items() if not key.startswith("GIT_") or key in _KEPT}
    kept.setdefault("GIT_SSH_COMMAND", SSH)
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def run(
    words: Sequence[str], *, env: Mapping[str, str], seconds: float, given: bytes = b"", largest: int = 0
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end; raises TimeoutExpired when it, and all that it started, was killed after so many seconds.

    No file that it writes grows beyond `largest` bytes, whatever the server sends.
    """
    if largest:
        words = [*_LIMITED, str(largest // 512), *words]
    # A session of its own: git starts ssh and others, which must end with it.
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env),
        start_new_session=True,
    ) as process:
        try:
            out, complaint = process.communicate(given, timeout=seconds)
        except BaseException:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
    return subprocess.CompletedProcess(list(words), process.returncode, out, complaint)
