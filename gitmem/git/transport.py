"""Transport: fetch from and push to any git server, by the git program where there is one, else by dulwich.

A fetch goes into a throw-away repository that borrows our objects, so nothing enters ours before
it was looked at. Only `main` and named snapshots travel.
"""

from __future__ import annotations

import os
import re
import shutil
import urllib.parse
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Protocol

from gitmem.errors import RemoteError
from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.state import FETCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.git.repository import Repository

INCOMING = "refs/incoming/"
DEFAULT_TIMEOUT = 120.0
MAX_FETCH = 1024 * 1024 * 1024
"""Bytes that one fetch may bring: years of a memory, and less than most disks have left."""
_SCHEMES = ("ssh", "https", "http", "git", "file")
_WITH_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# Up to the last @ before the path: a password may hold one.
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]+@")


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a remote has: its `main`, and its named snapshots by name."""

    main: Oid | None
    snapshots: dict[str, Oid] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Update:
    """A ref to move on the remote, if it still is what we saw there; `new` None deletes it."""

    ref: str
    new: Oid | None
    expected: Oid | None


class Transport(Protocol):
    """One way to talk to a remote. Both implementations pass the same tests."""

    name: str

    def fetch(self, room: ThrowAway, url: str) -> Fetched:
        """Everything new of the remote into the throw-away repository."""
        ...

    def push(self, git_dir: str, url: str, updates: Sequence[Update]) -> list[str]:
        """Move refs on the remote; gives those that someone else had moved meanwhile."""
        ...


def choose(
    environment: Mapping[str, str], *, timeout: float = DEFAULT_TIMEOUT, prefer: str = ""
) -> Transport:
    """The git program where it is installed (people's credentials and settings just work), else dulwich.

    `environment` is what the programs it starts will see.
    """
    if prefer != "dulwich" and shutil.which("git"):
        from gitmem.git.git_transport import GitTransport

        return GitTransport(environment, timeout=timeout)
    from gitmem.git.dulwich_transport import DulwichTransport

    return DulwichTransport(environment, timeout=timeout)


def too_much(url: str, limit: int) -> RemoteError:
    return RemoteError(
        f"{shown_url(url)} sends more than {limit >> 20:,} MB at once: nothing of it was taken."
    )


def check_url(url: str) -> None:
    """Refuse addresses that would run a program or could be taken for an option."""
    scheme = _WITH_SCHEME.match(url)
    if not url.strip() or url.startswith("-") or "\n" in url or "\0" in url:
        raise RemoteError(f"{shown_url(url)!r} is not the address of a git repository.")
    if "::" in url.partition("/")[0]:
        raise RemoteError(f"{shown_url(url)!r} asks for a helper program: use ssh, https or a path.")
    if scheme and scheme[1].lower() not in _SCHEMES:
        raise RemoteError(f"{scheme[1]}:// is not supported: use ssh, https or a path.")


def shown_url(url: str) -> str:
    """An address without the credentials in it."""
    return _CREDENTIALS.sub("***@", url)


def without_credentials(text: str, url: str) -> str:
    """A server's or a program's complaint without what the address of `url` gives away."""
    secret = urllib.parse.urlsplit(url).password if _WITH_SCHEME.match(url) else None
    for form in {secret, urllib.parse.unquote(secret)} if secret else ():
        text = text.replace(form, "***")
    return shown_url(text)


class ThrowAway:
    """A bare repository that borrows another's objects and is removed after use."""

    def __init__(self, path: str, lender: Repository, haves: Sequence[Oid]) -> None:
        self.git_dir = path
        self._lender = lender
        for name in ("objects/info", "objects/pack", "refs/heads", "refs/incoming", "refs/have"):
            os.makedirs(os.path.join(path, *name.split("/")))
        _write(os.path.join(path, "HEAD"), "ref: refs/heads/none\n")
        _write(
            os.path.join(path, "config"),
            "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n",
        )
        _write(os.path.join(path, "objects", "info", "alternates"), lender.store.directory + "\n")
        # What we have already, so that only the rest is sent.
        for number, oid in enumerate(dict.fromkeys(haves)):
            _write(os.path.join(path, "refs", "have", str(number)), oid + "\n")

    @property
    def objects(self) -> str:
        return os.path.join(self.git_dir, "objects")

    @contextmanager
    def opened(self) -> Iterator[Repository]:
        """What was fetched, to look at."""
        from gitmem.git.repository import Repository

        room = Repository("", self.git_dir)
        room.store.lender = self._lender.store
        try:
            yield room
        finally:
            room.store.close()


@contextmanager
def throw_away(lender: Repository, haves: Sequence[Oid]) -> Iterator[ThrowAway]:
    """A throw-away repository beside the lender's state, gone at the end whatever happens."""
    os.makedirs(lender.scratch, exist_ok=True)
    path = mkdtemp(prefix=FETCH.path(), dir=lender.state.directory)
    try:
        yield ThrowAway(path, lender, haves)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def take_over(room: ThrowAway, repository: Repository) -> None:
    """Move the fetched objects into our store; the checks are the caller's, and come before."""
    target = repository.store.pack_directory
    os.makedirs(target, exist_ok=True)
    source = os.path.join(room.objects, "pack")
    names = sorted(os.listdir(source), key=lambda name: name.endswith(".idx"))  # the index last
    for name in names:
        if name.endswith((".pack", ".idx", ".rev")):
            _durable_move(os.path.join(source, name), os.path.join(target, name))
    for directory in os.listdir(room.objects):
        if len(directory) == 2:
            os.makedirs(os.path.join(repository.store.directory, directory), exist_ok=True)
            for name in os.listdir(os.path.join(room.objects, directory)):
                _durable_move(
                    os.path.join(room.objects, directory, name),
                    os.path.join(repository.store.directory, directory, name),
                )
    from gitmem.files import durable_directory

    durable_directory(target)


def _durable_move(source: str, target: str) -> None:
    if os.path.exists(target):
        return
    descriptor = os.open(source, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(source, target)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def remote_ref(remote: str) -> str:
    """The ref that remembers where a remote's `main` stood when we last saw it."""
    return f"refs/remotes/{remote}/main"


def is_travelling(ref: str) -> bool:
    """Whether a ref goes to remotes: `main` and named snapshots."""
    if ref.endswith("^{}"):  # not a ref: what servers add to say which commit a tag names
        return False
    return ref == BRANCH or (ref.startswith(SNAPSHOTS) and not ref.startswith(SNAPSHOTS + "auto/"))
