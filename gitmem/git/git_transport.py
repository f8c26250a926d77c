"""The git program as a transport: fetch and push, and nothing else is left to it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gitmem.errors import RemoteError
from gitmem.git import git_command
from gitmem.git.refs import BRANCH, SNAPSHOTS, Refs
from gitmem.git.transport import (
    INCOMING,
    MACHINES,
    Fetched,
    ThrowAway,
    Transport,
    Update,
    check_place,
    is_travelling,
    shown_url,
    too_much,
    without_credentials,
)

_SHELL = "/bin/sh"
_LONG = 500
_MOST_UNFIT = 8
"""Branches that may cost a fetch of their own and bring nothing."""
_NO_MAIN = f"couldn't find remote ref {BRANCH}"
# Not somebody who was faster: trying again would not help.
_REFUSED = ("declined", "currently checked out", "prohibited", "denied")
_REJECTED = (
    "[rejected]",
    "[remote rejected]",
    "stale info",
    "fetch first",
    "failed to lock",
    "cannot lock ref",
)


class GitTransport(Transport):
    """Calls `git` with its surprises turned off; people's credential helpers and ssh settings work."""

    name = "git"

    def fetch(self, room: ThrowAway, url: str, *, branches: bool = False) -> Fetched:
        check_place(url, room.lender)
        wanted = [f"+{SNAPSHOTS}*:{INCOMING}tags/snapshot/*", f"^{SNAPSHOTS}auto/*"]
        unfit: dict[str, str] = {}
        try:
            self._fetch_main(
                room, url, *wanted, *([f"+{MACHINES}*:{INCOMING}heads/in/*"] if branches else ())
            )
        except RemoteError:
            if not branches:
                raise
            # One object that is not as git wants it stops a fetch: a branch that has one keeps no other back.
            self._fetch_main(room, url, *wanted)
            unfit = self._fetch_each(room, url)
        refs = Refs(room.git_dir).under(INCOMING)
        found = Fetched.of({f"refs/{ref.removeprefix(INCOMING)}": oid for ref, oid in refs.items()})
        return replace(found, unfit=unfit)

    def _fetch_main(self, room: ThrowAway, url: str, *others: str) -> None:
        try:
            self._fetch(room, url, f"+{BRANCH}:{INCOMING}heads/main", *others)
        except RemoteError as error:
            if _NO_MAIN not in str(error):
                raise
            self._fetch(room, url, *others)  # a new repository, or one that was emptied

    def _fetch_each(self, room: ThrowAway, url: str) -> dict[str, str]:
        """Fetch the branches of machines one by one; gives those that cannot be, and why."""
        listed = self._run(room, "ls-remote", "--", room.keep_login(url), f"{MACHINES}*", url=url).split()[
            1::2
        ]
        unfit: dict[str, str] = {}
        for ref in filter(is_travelling, listed):
            try:
                if len(unfit) >= _MOST_UNFIT:
                    raise RemoteError(f"{len(unfit)} others were unfit before it.")
                self._fetch(room, url, f"+{ref}:{INCOMING}{ref.removeprefix('refs/')}")
            except RemoteError as error:
                unfit[ref.removeprefix(MACHINES)] = str(error)
        return unfit

    def _fetch(self, room: ThrowAway, url: str, *refspecs: str) -> None:
        options = ("--no-tags", "--no-auto-gc", "--no-write-fetch-head", "--quiet")
        bare = room.keep_login(url)
        try:
            self._run(room, "fetch", *options, "--", bare, *refspecs, url=url, limited=True)
        except RemoteError:
            if self._is_full(room):
                raise too_much(url, self._max_fetch) from None
            raise

    def _is_full(self, room: ThrowAway) -> bool:
        """Return whether a pack grew to the limit: whoever wrote it was ended without a word."""
        with os.scandir(os.path.join(room.objects, "pack")) as found:
            return any(entry.stat().st_size >= self._max_fetch // 512 * 512 for entry in found)

    def push(self, room: ThrowAway, url: str, updates: Sequence[Update]) -> list[str]:
        check_place(url, room.lender)
        leases = [f"--force-with-lease={update.ref}:{update.expected or ''}" for update in updates]
        specs = [f"{update.new or ''}:{update.ref}" for update in updates]
        bare = room.keep_login(url)
        try:
            self._run(room, "push", "--quiet", "--no-verify", *leases, "--", bare, *specs, url=url)
        except RemoteError as error:
            refused = any(word in str(error) for word in _REFUSED)
            if not refused and any(word in str(error) for word in _REJECTED):
                return [update.ref for update in updates]
            raise
        return []

    def _run(self, room: ThrowAway, *arguments: str, url: str, limited: bool = False) -> str:
        command = git_command.command(*arguments, git_dir=room.git_dir)
        if limited and os.path.exists(_SHELL):  # a file cannot grow larger than that, whoever sends it
            command = [_SHELL, "-c", 'ulimit -f "$0" && exec "$@"', str(self._max_fetch // 512), *command]
        environment = git_command.environment(self._environment)
        returncode, out, complaint = self._started(command, environment, url)
        if returncode:
            raise RemoteError(f"{shown_url(url)} cannot be used: {_reason(complaint, url)}")
        return out.decode("utf-8", "replace")

    def _started(
        self, command: list[str], environment: Mapping[str, str], url: str
    ) -> tuple[int, bytes, bytes]:
        try:
            # A session of its own: git starts ssh and others, which must end with it.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise RemoteError(f"The git program could not be started ({error.strerror}).") from error
        with process:
            try:
                out, complaint = process.communicate(timeout=self._timeout)
            except BaseException as error:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise self._late(url) from None
        return process.returncode, out, complaint


def _reason(stderr: bytes, url: str) -> str:
    """The lines of git's complaint that say why, without credentials."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    # What gitmem's own hook says on a server comes first: it tells why.
    hook = [line.removeprefix("remote: gitmem: ") for line in lines if line.startswith("remote: gitmem: ")]
    telling = (
        hook + [line for line in lines if line.startswith(("fatal:", "error:", "!", "remote: error"))]
        or lines
    )
    told = without_credentials("; ".join(line[:_LONG] for line in telling[:3]), url)
    return "".join(char if char.isprintable() else "?" for char in told) or "git gave no reason"
