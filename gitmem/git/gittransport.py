"""The git program as a transport: fetch and push, and nothing else is left to it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.git.transport import (
    INCOMING,
    Fetched,
    RemoteError,
    ThrowAway,
    Update,
    check_url,
    shown_url,
)

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
_REJECTED = (
    "[rejected]",
    "[remote rejected]",
    "stale info",
    "fetch first",
    "failed to lock",
    "cannot lock ref",
)


class GitTransport:
    """Calls `git` with its surprises turned off; people's credential helpers and ssh settings work."""

    name = "git"

    def __init__(self, environment: Mapping[str, str], *, timeout: float) -> None:
        self._environment = environment
        self._timeout = timeout

    def fetch(self, room: ThrowAway, url: str) -> Fetched:
        check_url(url)
        refspecs = [
            f"+{BRANCH}:{INCOMING}main",
            f"+{SNAPSHOTS}*:{INCOMING}snapshot/*",
            f"^{SNAPSHOTS}auto/*",
        ]
        listed = self._remote_refs(url)
        if BRANCH not in listed:
            refspecs = refspecs[1:]
        if not any(ref.startswith(SNAPSHOTS) for ref in listed):
            refspecs = [spec for spec in refspecs if SNAPSHOTS not in spec]
        if refspecs:
            self._run(
                room.git_dir, "fetch", "--no-tags", "--no-auto-gc", "--quiet", "--", url, *refspecs, url=url
            )
        return Fetched(
            listed.get(BRANCH),
            {
                ref.removeprefix(SNAPSHOTS): oid
                for ref, oid in listed.items()
                if ref.startswith(SNAPSHOTS) and not ref.startswith(SNAPSHOTS + "auto/")
            },
        )

    def _remote_refs(self, url: str) -> dict[str, Oid]:
        told = self._run("", "ls-remote", "--quiet", "--refs", "--", url, BRANCH, f"{SNAPSHOTS}*", url=url)
        refs = {}
        for line in told.splitlines():
            oid, _, name = line.partition("\t")
            if len(oid) == 40:
                refs[name] = oid
        return refs

    def push(self, git_dir: str, url: str, updates: Sequence[Update]) -> list[str]:
        check_url(url)
        leases = [f"--force-with-lease={update.ref}:{update.expected or ''}" for update in updates]
        specs = [f"{update.new or ''}:{update.ref}" for update in updates]
        try:
            self._run(git_dir, "push", "--quiet", "--no-verify", *leases, "--", url, *specs, url=url)
        except RemoteError as error:
            if any(word in str(error) for word in _REJECTED):
                return [update.ref for update in updates]
            raise
        return []

    def _run(self, git_dir: str, *arguments: str, url: str) -> str:
        command = ["git"]
        for setting in _SAFE:
            command += ["-c", setting]
        if git_dir:
            command += ["--git-dir", git_dir]
        environment = {
            **{
                key: value
                for key, value in self._environment.items()
                if not key.startswith("GIT_") or key in _KEPT
            },
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }
        environment.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=20")
        try:
            done = subprocess.run(
                [*command, *arguments],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=self._timeout,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RemoteError(
                f"{shown_url(url)} did not answer in {self._timeout:.0f} seconds: try again later."
            ) from None
        except OSError as error:
            raise RemoteError(f"The git program could not be started ({error.strerror}).") from error
        if done.returncode:
            raise RemoteError(f"{shown_url(url)} can not be used: {_reason(done.stderr)}")
        return done.stdout.decode("utf-8", "replace")


_KEPT = (
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSL_CAINFO",
)


def _reason(stderr: bytes) -> str:
    """The lines of git's complaint that say why, without credentials."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "!", "remote: error"))] or lines
    return shown_url("; ".join(telling[:3])) or "git gave no reason"
