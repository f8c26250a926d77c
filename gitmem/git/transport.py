"""Transport: fetch from and push to any git server, by the git program where there is one, else by dulwich.

A fetch goes into a throw-away repository that borrows our objects, so nothing enters ours before
it was looked at. Only `main`, the branches of machines (`in/<machine>`) and named snapshots travel.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitmem.errors import RemoteError
from gitmem.files import append_to, write_new
from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH, SNAPSHOTS
from gitmem.permissions import close_to_others, make_directories
from gitmem.scratch import scratch_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.git.repository import Repository

INCOMING = "refs/incoming/"
MACHINES = "refs/heads/in/"
"""Branches of machines whose push of `main` was beaten by another's: whoever syncs next folds them into it."""
DEFAULT_TIMEOUT = 120.0
MAX_FETCH = 1024 * 1024 * 1024
"""Bytes that one fetch may bring: years of a memory, and less than most disks have left."""
_LOGINS = "Keep logins in git's credential helper: `git help credentials`."
_ABOUT_US = ("/proc/", "/dev/fd/")
"""Paths that mean another place for each process."""
_SCHEMES = ("ssh", "https", "http", "git", "file")
_WITH_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# Up to the last @ before the path: a password may hold one.
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]+@")
_SCP_LOGIN = re.compile(r"^[^/@:\s]+:[^/@\s]+@(?=[^/:\s]+:)")
"""A password before the host where there is no scheme: ssh would show it to everybody, and not use it."""
_MACHINE = re.compile(r"[^\W_](?:[\w-]{0,98}[^\W_])?")
"""A machine in the name of its branch, as `paths.slug` makes it: one level, words joined by hyphens."""
_QUERY = re.compile(r"(://[^\s?#]*[?#])[^\s'\"]+")


@dataclass(frozen=True, slots=True)
class Fetched:
    """The refs of a remote: its `main`, and its named snapshots by name."""

    main: Oid | None
    snapshots: dict[str, Oid] = field(default_factory=dict)
    branches: dict[str, Oid] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)
    """Branches that git would not even fetch, with its complaint."""
    there: Fetched | None = None
    """The same as the remote still has it, where an erase here rewrote it."""

    @classmethod
    def of(cls, refs: Mapping[str, Oid]) -> Fetched:
        """Return what travels of a remote's refs."""
        known = {ref: oid for ref, oid in refs.items() if is_travelling(ref)}
        snapshots, branches = (
            {ref.removeprefix(top): oid for ref, oid in known.items() if ref.startswith(top)}
            for top in (SNAPSHOTS, MACHINES)
        )
        return cls(refs.get(BRANCH), snapshots, branches)


@dataclass(frozen=True, slots=True)
class Update:
    """A ref to move on the remote, if it still is what we saw there; `new` None deletes it."""

    ref: str
    new: Oid | None
    expected: Oid | None


class Transport(ABC):
    """One way to talk to a remote. Both implementations pass the same tests."""

    name: str

    def __init__(self, environment: Mapping[str, str], *, timeout: float, max_fetch: int = MAX_FETCH) -> None:
        self._environment = environment
        self._timeout = timeout
        self._max_fetch = max_fetch

    @abstractmethod
    def fetch(self, room: ThrowAway, url: str, *, branches: bool = False) -> Fetched:
        """Everything new of the remote into the throw-away repository; `branches` of machines only if wanted."""

    @abstractmethod
    def push(self, room: ThrowAway, url: str, updates: Sequence[Update]) -> list[str]:
        """Move refs on the remote, to objects of the room's lender; gives those that someone else had moved meanwhile."""

    def _late(self, url: str) -> RemoteError:
        return RemoteError(f"{shown_url(url)} did not answer in {self._timeout:g} seconds: try again later.")


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
    try:
        url.encode()
    except UnicodeEncodeError:
        raise RemoteError(
            f"{shown_url(url)!a} is not UTF-8, and not the address of a git repository."
        ) from None
    if not url.strip() or url.startswith("-") or "\n" in url or "\0" in url:
        raise RemoteError(f"{shown_url(url)!r} is not the address of a git repository.")
    if "::" in url.partition("/")[0]:
        raise RemoteError(f"{shown_url(url)!r} asks for a helper program: use ssh, https or a path.")
    if scheme and scheme[1].lower() not in _SCHEMES:
        raise RemoteError(f"{scheme[1]}:// is not supported: use ssh, https or a path.")
    # Both would be arguments of a program, for everybody on this machine to see.
    kind = scheme[1].lower() if scheme else ""
    if kind in ("http", "https") and re.search(r"[?#]", url):
        raise RemoteError(f"{shown_url(url)} has a query in it.", hint=_LOGINS)
    with_password = kind == "ssh" and urllib.parse.urlsplit(url).password is not None
    if with_password or _SCP_LOGIN.match(url):
        raise RemoteError(
            f"{shown_url(url)} has a password in it, which ssh does not take.", hint="Use a key."
        )


def local_path(url: str) -> str:
    """The path that an address names on this machine; empty where it names a server."""
    scheme = _WITH_SCHEME.match(url)
    if scheme and scheme[1].lower() == "file":
        return urllib.parse.unquote(urllib.parse.urlsplit(url).path)
    return "" if scheme or ":" in url.partition("/")[0] else url


def check_place(url: str, lender: Repository) -> None:
    """Refuse an address that no git program should be given, or a path that holds no repository."""
    check_url(url)
    path = local_path(url)
    if not path:
        return
    # Git runs the hooks of a repository that it pushes to. One that came with the bundle is not a remote.
    if not os.path.isabs(path) or path.startswith(_ABOUT_US) or _is_inside(path, lender):
        raise RemoteError(
            f"{path} is inside the bundle, or depends on where you are: a remote is somewhere else.",
            hint="Name it by its full path: `gitmem remote add NAME PATH`.",
        )
    if not os.path.isdir(path):
        quoted = shlex.quote(path)
        raise RemoteError(
            f"There is no directory {path}.",
            hint=f"Make it a repository: `git init --bare -b main {quoted}`.",
        )


def _is_inside(path: str, lender: Repository) -> bool:
    real = os.path.realpath(path)
    ours = [os.path.realpath(place) for place in (lender.root, lender.git_dir) if place]
    return any(real == one or real.startswith(os.path.join(one, "")) for one in ours)


def shown_url(url: str) -> str:
    """An address without the credentials in it."""
    return _QUERY.sub(r"\1***", _CREDENTIALS.sub("***@", _SCP_LOGIN.sub("***@", url)))


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
            make_directories(os.path.join(path, *name.split("/")))
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
    def lender(self) -> Repository:
        return self._lender

    @property
    def objects(self) -> str:
        return os.path.join(self.git_dir, "objects")

    def keep_login(self, url: str) -> str:
        """The address without its login, which git finds in a file here: its arguments are for everybody to see."""
        parts = urllib.parse.urlsplit(url) if _WITH_SCHEME.match(url) else None
        if parts is None or parts.scheme.lower() not in ("http", "https") or "@" not in parts.netloc:
            return url
        login, _, host = parts.netloc.rpartition("@")
        user, with_password, password = (urllib.parse.unquote(part) for part in login.partition(":"))
        config = [f'[credential "{parts.scheme}://{host}"]\n']
        if user:
            config.append(f"\tusername = {_config_value(user)}\n")
        if with_password:
            kept = os.path.join(self.git_dir, "login")
            quoted = ":".join(urllib.parse.quote(part, safe="") for part in (user, password))
            write_new(kept, f"{parts.scheme}://{quoted}@{host}\n".encode())
            store = _config_value(f"store --file={shlex.quote(kept)}")
            config.append(f"\thelper =\n\thelper = {store}\n")  # an empty one takes back those before it
        append_to(os.path.join(self.git_dir, "config"), "".join(config).encode())
        return urllib.parse.urlunsplit(parts._replace(netloc=host))

    @contextmanager
    def opened(self) -> Iterator[Repository]:
        """Open the fetched objects for reading."""
        from gitmem.git.repository import Repository

        room = Repository("", self.git_dir)
        room.store.lender = self._lender.store
        room.clocks = self._lender.clocks
        try:
            yield room
        finally:
            room.store.close()


@contextmanager
def throw_away(lender: Repository, haves: Sequence[Oid]) -> Iterator[ThrowAway]:
    """A throw-away repository among the lender's scratch files, gone at the end whatever happens."""
    path = scratch_directory(lender.scratch, "fetch-")
    try:
        yield ThrowAway(path, lender, haves)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def take_over(room: ThrowAway, repository: Repository) -> None:
    """Move the fetched objects into our store; the checks are the caller's, and come before."""
    target = repository.store.pack_directory
    make_directories(target)
    source = os.path.join(room.objects, "pack")
    names = sorted(os.listdir(source), key=lambda name: name.endswith(".idx"))  # the index last
    for name in names:
        if name.endswith((".pack", ".idx", ".rev")):
            _durable_move(os.path.join(source, name), os.path.join(target, name))
    for directory in os.listdir(room.objects):
        if len(directory) == 2:
            make_directories(os.path.join(repository.store.directory, directory))
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
    close_to_others(target)  # git made it


def _write(path: str, text: str) -> None:
    write_new(path, text.encode())


def _config_value(text: str) -> str:
    """A text as git's configuration quotes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def remote_ref(remote: str) -> str:
    """The ref that remembers where a remote's `main` stood when we last saw it."""
    return f"refs/remotes/{remote}/main"


def is_travelling(ref: str) -> bool:
    """Return whether a ref goes to remotes: `main`, branches of machines and named snapshots."""
    if ref.endswith("^{}"):  # not a ref: what servers add to say which commit a tag names
        return False
    if ref.startswith(MACHINES):
        return _MACHINE.fullmatch(ref.removeprefix(MACHINES)) is not None
    return ref == BRANCH or (ref.startswith(SNAPSHOTS) and not ref.startswith(SNAPSHOTS + "auto/"))
