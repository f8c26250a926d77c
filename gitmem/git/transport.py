"""Transport: fetch from and push to any git server, by the git program where there is one, else by dulwich.

A fetch goes into a throw-away repository that borrows our objects, so nothing enters ours before
it was looked at. Only `main`, the branches of machines (`in/<machine>`) and named snapshots travel.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import RefusedPush, RemoteError
from gitmem.files import (
    about,
    append_to,
    close_to_others,
    durable_directory,
    make_directories,
    make_durable,
    replace_file,
    write_new,
)
from gitmem.git import git_program
from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH, SNAPSHOTS, Refs
from gitmem.git.remote_address import check_place, shown_url, without_credentials, without_login
from gitmem.locks import scratch_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitmem.git.repository import Repository

INCOMING = "refs/incoming/"
MACHINES = "refs/heads/in/"
"""Branches of machines: each holds what its machine sent. The next sync of any machine folds what `main` lacks of them."""
DEFAULT_TIMEOUT = 120.0
MAX_FETCH = 1024 * 1024 * 1024
"""Bytes that one fetch may bring: years of a memory, and less than most disks have left."""
_MACHINE = re.compile(r"[^\W_](?:[\w-]{0,98}[^\W_])?")
"""A machine in the name of its branch, as `paths.slug` makes it: one level, words joined by hyphens."""

_LONG = 500
_MOST_UNFIT = 8
"""Branches that may cost a fetch of their own and bring nothing."""
_NO_MAIN = f"couldn't find remote ref {BRANCH}"
# Not another machine that was faster: trying again would not help.
_REFUSED = (b"declined", b"currently checked out", b"prohibited", b"denied", b"unpack")


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
        """Return the refs of a remote that are synchronized."""
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

    def fetch(self, room: ThrowAway, url: str, *, branches: bool = False) -> Fetched:
        """Everything new of the remote into the throw-away repository; `branches` of machines only if wanted.

        The address may be that of a git bundle file.
        """
        check_place(url, room.lender)
        try:
            return Fetched.of(self._fetch(room, url, "all" if branches else "main"))
        except RemoteError:
            if not branches:
                raise
        # One object that is not as git wants it stops a fetch: a branch that has one keeps no other back.
        refs, unfit = self._fetch(room, url, "main"), dict[str, str]()
        for ref in self._branches(room, url):
            try:
                if len(unfit) >= _MOST_UNFIT:
                    raise RemoteError(f"{len(unfit)} others were unfit before it.")
                refs |= self._fetch(room, url, ref)
            except RemoteError as error:
                unfit[ref.removeprefix(MACHINES)] = str(error)
        return replace(Fetched.of(refs), unfit=unfit)

    @abstractmethod
    def _fetch(self, room: ThrowAway, url: str, wanted: str) -> dict[str, Oid]:
        """Fetch `all` refs, `main` with the snapshots, or the one that is named; gives them by name."""

    @abstractmethod
    def _branches(self, room: ThrowAway, url: str) -> list[str]:
        """The branches of machines on the remote."""

    @abstractmethod
    def push(self, room: ThrowAway, url: str, updates: Sequence[Update]) -> list[str]:
        """Move refs on the remote, to objects of the room's lender; gives those that someone else had moved meanwhile."""

    def _run(
        self, words: list[str], url: str, env: Mapping[str, str], *, given: bytes = b"", largest: int = 0
    ) -> subprocess.CompletedProcess[bytes]:
        try:
            return git_program.run(words, env=env, seconds=self._timeout, given=given, largest=largest)
        except subprocess.TimeoutExpired:
            raise RemoteError(
                f"{shown_url(url)} did not answer in {self._timeout:g} seconds: try again later."
            ) from None
        except OSError as error:
            raise RemoteError(f"{words[0]} could not be started ({error.strerror}).") from error

    def _too_much(self, url: str) -> RemoteError:
        return RemoteError(
            f"{shown_url(url)} sends more than {self._max_fetch >> 20:,} MB at once: nothing of it was taken."
        )


class GitTransport(Transport):
    """Calls `git` with its surprises turned off; people's credential helpers and ssh settings work."""

    name = "git"

    def _fetch(self, room: ThrowAway, url: str, wanted: str) -> dict[str, Oid]:
        main, snapshots = f"+{BRANCH}:{INCOMING}heads/main", f"+{SNAPSHOTS}*:{INCOMING}tags/snapshot/*"
        refspecs = [main, snapshots, f"^{SNAPSHOTS}auto/*"]
        if wanted == "all":
            refspecs.append(f"+{MACHINES}*:{INCOMING}heads/in/*")
        elif wanted != "main":
            refspecs = [f"+{wanted}:{INCOMING}{wanted.removeprefix('refs/')}"]
        options = ("--no-tags", "--no-auto-gc", "--no-write-fetch-head", "--quiet")
        words = ("fetch", *options, "--", room.keep_login(url))
        try:
            try:
                self._git(room, *words, *refspecs, url=url, largest=self._max_fetch)
            except RemoteError as error:
                if _NO_MAIN not in str(error):
                    raise  # else it is a new repository, or one that was emptied
                self._git(room, *words, *refspecs[1:], url=url, largest=self._max_fetch)
        except RemoteError:
            if self._is_full(room):
                raise self._too_much(url) from None
            raise
        refs = Refs(room.git_dir).under(INCOMING)
        return {f"refs/{ref.removeprefix(INCOMING)}": oid for ref, oid in refs.items()}

    def _branches(self, room: ThrowAway, url: str) -> list[str]:
        listed = self._git(room, "ls-remote", "--", room.keep_login(url), f"{MACHINES}*", url=url).stdout
        return [*filter(is_travelling, listed.decode("utf-8", "replace").split()[1::2])]

    def _is_full(self, room: ThrowAway) -> bool:
        """Return whether a pack grew to the limit: its writer was ended without a message."""
        with os.scandir(os.path.join(room.objects, "pack")) as found:
            return any(entry.stat().st_size >= self._max_fetch // 512 * 512 for entry in found)

    def push(self, room: ThrowAway, url: str, updates: Sequence[Update]) -> list[str]:
        check_place(url, room.lender)
        leases = [f"--force-with-lease={update.ref}:{update.expected or ''}" for update in updates]
        specs = [f"{update.new or ''}:{update.ref}" for update in updates]
        bare = room.keep_login(url)
        words = ("push", "--porcelain", "--no-verify", *leases, "--", bare, *specs)
        done = self._git(room, *words, url=url, may_fail=True)
        if not done.returncode:
            return []
        # A line for each ref: a flag, what goes where, the outcome.
        lines = [line.split("\t") for line in done.stdout.decode("utf-8", "replace").splitlines()]
        refused = {line[1].partition(":")[2]: line[2] for line in lines if line[0] == "!"}
        told = "".join(f"! {outcome}\n" for outcome in refused.values()).encode() + done.stderr
        if not refused:
            raise RemoteError(f"{shown_url(url)} cannot be used: {_reason(told, url)}")
        if any(word in told for word in _REFUSED):
            raise RefusedPush(f"{shown_url(url)} cannot be used: {_reason(told, url)}")
        return list(refused)

    def _git(
        self, room: ThrowAway, *arguments: str, url: str, largest: int = 0, may_fail: bool = False
    ) -> subprocess.CompletedProcess[bytes]:
        words = git_program.command(*arguments, git_dir=room.git_dir)
        done = self._run(words, url, git_program.environment(self._environment), largest=largest)
        if done.returncode and not may_fail:
            raise RemoteError(f"{shown_url(url)} cannot be used: {_reason(done.stderr, url)}")
        return done


class DulwichTransport(Transport):
    """Has dulwich speak the git protocol, over ssh, http and local paths, in a process that ends when its time is over."""

    name = "dulwich"

    def _fetch(self, room: ThrowAway, url: str, wanted: str) -> dict[str, Oid]:
        refs: dict[str, Oid] = self._look(room, url, wanted)["refs"]
        return refs

    def _branches(self, room: ThrowAway, url: str) -> list[str]:
        branches: list[str] = self._look(room, url, "main")["branches"]
        return branches

    def _look(self, room: ThrowAway, url: str, wanted: str) -> dict[str, Any]:
        haves = list(Refs(room.git_dir).under("refs/have/").values())
        return self._ask(room, url, wanted=wanted, haves=haves, largest=self._max_fetch)

    def push(self, room: ThrowAway, url: str, updates: Sequence[Update]) -> list[str]:
        wanted = [(update.ref, update.new, update.expected) for update in updates]
        answer = self._ask(room, url, updates=wanted)
        if answer["declined"]:
            raise RefusedPush(f"{shown_url(url)} refused the push: {_printable(answer['declined'])}")
        moved: list[str] = answer["moved"]
        return moved

    def _ask(self, room: ThrowAway, url: str, **wanted: object) -> dict[str, Any]:
        check_place(url, room.lender)
        bare, user, password = without_login(url)
        if not user and bare.startswith(("http://", "https://")):
            user, password = self._known_login(bare)
        request = {
            "url": bare,
            "username": user,
            "password": password,
            "ssh": self._environment.get("GIT_SSH_COMMAND") or git_program.SSH,
            "objects": room.objects,
            "seconds": self._timeout,
            **wanted,
        }
        # -P: nothing is imported from the directory that it is started in.
        words = [sys.executable, "-P", "-m", "gitmem.git.dulwich_worker"]
        done = self._run(words, url, self._environment, given=json.dumps(request).encode())
        try:
            answer: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            answer = {"failed": done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]}
        if answer.get("is_full"):
            raise self._too_much(url)
        if "failed" in answer:
            reason = _printable(without_credentials(answer["failed"], url))
            raise RemoteError(f"{shown_url(url)} cannot be used: {reason}")
        return answer

    def _known_login(self, url: str) -> tuple[str, str]:
        """Return the login that git's credential helpers have for a server, where git is installed, without a prompt."""
        if not shutil.which("git"):
            return "", ""
        parts = urllib.parse.urlsplit(url)
        asked = f"protocol={parts.scheme}\nhost={parts.netloc}\npath={parts.path.lstrip('/')}\n\n"
        env = {**git_program.environment(self._environment), "GIT_ASKPASS": "true"}
        done = self._run(git_program.command("credential", "fill"), url, env, given=asked.encode())
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        found = dict(line.split("=", 1) for line in lines if "=" in line)
        return found.get("username", ""), found.get("password", "")


def choose(
    environment: Mapping[str, str], *, timeout: float = DEFAULT_TIMEOUT, prefer: str = ""
) -> Transport:
    """The git program where it is installed (people's credentials and settings just work), else dulwich.

    `environment` is what the programs it starts will see.
    """
    by_git = prefer != "dulwich" and shutil.which("git")
    return (GitTransport if by_git else DulwichTransport)(environment, timeout=timeout)


class ThrowAway:
    """A bare repository that borrows another's objects and is removed after use.

    It has a ref for each of `haves`: only what these do not stand on is sent.
    """

    def __init__(self, path: str, lender: Repository, haves: Iterable[Oid]) -> None:
        self.git_dir = path
        self.lender = lender
        for name in ("objects/info", "objects/pack", "refs/heads"):
            make_directories(os.path.join(path, *name.split("/")))
        have = [f"{oid} refs/have/{number}\n" for number, oid in enumerate(dict.fromkeys(haves))]
        for name, text in (
            ("HEAD", "ref: refs/heads/none\n"),
            ("config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tsharedRepository = 0600\n"),
            ("objects/info/alternates", lender.store.directory + "\n"),
            ("packed-refs", "".join(have)),
        ):
            write_new(os.path.join(path, *name.split("/")), text.encode())

    @property
    def objects(self) -> str:
        return os.path.join(self.git_dir, "objects")

    def keep_login(self, url: str) -> str:
        """The address without its login, which git finds in a file here: its arguments are for everybody to see."""
        from gitmem.git.git_settings import quoted

        bare, user, password = without_login(url)
        parts = urllib.parse.urlsplit(bare)
        config = [f'[credential "{parts.scheme}://{parts.netloc}"]\n'] if bare != url else []
        if user:
            config.append(f"\tusername = {quoted(user)}\n")
        if password is not None:
            kept = os.path.join(self.git_dir, "login")
            login = ":".join(urllib.parse.quote(part, safe="") for part in (user, password))
            write_new(kept, f"{parts.scheme}://{login}@{parts.netloc}\n".encode())
            store = quoted(f"store --file={shlex.quote(kept)}")
            config.append(f"\thelper =\n\thelper = {store}\n")  # an empty one takes back those before it
        append_to(os.path.join(self.git_dir, "config"), "".join(config).encode())
        return bare

    @contextmanager
    def opened(self) -> Iterator[Repository]:
        """Open the fetched objects for reading."""
        from gitmem.git.repository import Repository

        room = Repository("", self.git_dir)
        room.store.lender = self.lender.store
        room.clocks = self.lender.clocks
        try:
            yield room
        finally:
            room.store.close()


@contextmanager
def throw_away(lender: Repository, haves: Iterable[Oid]) -> Iterator[ThrowAway]:
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
    for name in sorted(os.listdir(source), key=lambda name: name.endswith(".idx")):  # the index last
        stem, ending = os.path.splitext(name)
        # A pack without its index is what a killed sync left: another of its name may have other bytes.
        if ending in (".pack", ".idx", ".rev") and not os.path.exists(os.path.join(target, f"{stem}.idx")):
            make_durable(source, [name])
            os.replace(os.path.join(source, name), os.path.join(target, name))
            close_to_others(os.path.join(target, name))  # git made it
    durable_directory(target)


def write_bundle_file(repository: Repository, path: str, refs: Mapping[str, Oid]) -> int:
    """Write everything these refs stand on into a git bundle file; gives the number of commits."""
    from gitmem.git.commit_graph import reachable
    from gitmem.git.packs import StagedPack

    listed = "".join(f"{oid} {ref}\n" for ref, oid in sorted(refs.items()))
    objects = list(reachable(repository.store, refs.values()))
    data = f"# v2 git bundle\n{listed}\n".encode() + StagedPack("", objects, stem="").data
    with about(path):
        replace_file(path, data, scratch=os.path.dirname(os.path.abspath(path)), durable=True)
    return sum(one.type == b"commit" for one in objects)


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


def _reason(stderr: bytes, url: str) -> str:
    """The lines of git's complaint that say why, without credentials."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    # The words of gitmem's own hook on a server are first: they give the reason.
    hook = [line.removeprefix("remote: gitmem: ") for line in lines if line.startswith("remote: gitmem: ")]
    errors = [line for line in lines if line.startswith(("fatal:", "error:", "!", "remote: error"))]
    reasons = [line[:_LONG] for line in (hook + errors or lines)[:3]]
    return _printable(without_credentials("; ".join(reasons), url)) or "git gave no reason"


def _printable(text: str) -> str:
    return "".join(char for char in text if char.isprintable())[: 3 * _LONG]
