"""The network dies, hangs or lies: a bundle is as before or as after, and the next sync succeeds."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.errors import RemoteError
from gitmem.git.git_settings import Remote, Remotes
from gitmem.git.remote_address import shown_url
from gitmem.locate import enlist
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.sync.remote_state import remote_states
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.clone import clone
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.git.support import fsck_clean, run_git, scratch_left
from tests.memory.conftest import Clock
from tests.servers.local import (
    HOST,
    Link,
    dripping_server,
    free_port,
    git_daemon,
    http_backend,
    silent_server,
)
from tests.trees import contents, copied

_POINTS = 50


@dataclass
class Ground:
    """Two machines that both learned something, a hub between them, and a link to it that can be cut."""

    root: Path
    link: Link
    url: str

    def bundle(self) -> Memory:
        """A fresh copy of the second machine, in front of a fresh copy of the hub."""
        for name in ("hub.git", "b"):
            shutil.rmtree(self.root / "now" / name, ignore_errors=True)
            copied(self.root / name, self.root / "now" / name)
        bundle = open_bundle(
            World(os.environ, clock=Clock()),
            str(self.root / "now" / "b"),
            "as is",
            config=Config(machine="b"),
        )
        Remotes(bundle.repository).save(Remote("origin", self.url, consent=True))
        return bundle

    @property
    def hub(self) -> str:
        return str(self.root / "now" / "hub.git")

    def hub_tip(self) -> str:
        return Path(self.hub, "refs", "heads", "main").read_text().strip()  # asked often: no process for it


def prepare(root: Path) -> Path:
    """Makes the ground; gives the directory that a server serves."""
    (root / "now").mkdir()
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(root / "hub.git")], check=True)
    a, _ = create(World(os.environ, clock=Clock()), str(root / "a"), config=Config(machine="a"))
    Remotes(a.repository).save(Remote("origin", str(root / "hub.git"), consent=True))
    Sync(a).run()
    b = clone(
        World(os.environ, clock=Clock()),
        str(root / "hub.git"),
        str(root / "b"),
        config=Config(machine="b"),
    )
    a.curated.add("a knows")
    a.snapshots.create("from-a", origin=a.origin())
    Sync(a).run()
    b.curated.add("b knows")
    b.snapshots.create("from-b", origin=b.origin())
    for bundle in (a, b):
        bundle.repository.store.close()
    return root / "now"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    root = tmp_path_factory.mktemp("daemon")
    with git_daemon(prepare(root)) as port:
        link = Link(port)
        yield Ground(root, link, f"git://{HOST}:{link.port}/hub.git")
        link.close()


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    root = tmp_path_factory.mktemp("web")
    with http_backend(prepare(root)) as port:
        link = Link(port)
        yield Ground(root, link, f"http://{HOST}:{link.port}/hub.git")
        link.close()


def cut_everywhere(ground: Ground, transport: str, points: int) -> None:
    ground.link.cut_after(None)
    whole = ground.bundle()
    before, hub_before = whole.tip, ground.hub_tip()
    Sync(whole, prefer=transport).run()
    after, total = whole.tip, ground.link.passed
    assert ground.hub_tip() == after
    whole.repository.store.close()
    cuts = 0
    for point in range(points):
        bundle = ground.bundle()
        ground.link.cut_after(total * point // points, abrupt=bool(point % 2))
        told = ""
        try:
            Sync(bundle, timeout=30, prefer=transport).run()
        except RemoteError as error:
            told = str(error)
            cuts += 1
        assert "\n" not in told
        assert [bool(told)] == [bool(one.failures) for one in remote_states(bundle)]
        assert bundle.tip in (before, after)
        assert ground.hub_tip() in (hub_before, after)
        assert scratch_left(bundle.repository) == []
        if point % 5 == 0:
            fsck_clean(bundle.repository)
        ground.link.cut_after(None)
        Sync(bundle, timeout=30, prefer=transport).run()
        assert (bundle.tip, ground.hub_tip()) == (after, after)
        assert {"a knows", "b knows"} == {entry.text for entry in bundle.curated.entries("memory")}
        assert {"from-a", "from-b"} == {one.name for one in bundle.snapshots.all()}
        bundle.repository.store.close()
    run_git(ground.hub, "fsck", "--strict")
    assert cuts > points * 3 // 4


def test_the_network_dies_at_fifty_points(daemon: Ground) -> None:
    """With the git program, over the git protocol."""
    cut_everywhere(daemon, "git", _POINTS)


def test_the_network_dies_under_dulwich(daemon: Ground) -> None:
    """Without the git program, over the git protocol."""
    cut_everywhere(daemon, "dulwich", _POINTS // 8)


@pytest.mark.slow
def test_the_network_dies_at_fifty_points_under_dulwich(daemon: Ground) -> None:
    """The same at more points."""
    cut_everywhere(daemon, "dulwich", _POINTS)


@pytest.mark.parametrize("transport", ["git", "dulwich"])
@pytest.mark.slow
def test_the_network_dies_over_http(web: Ground, transport: str) -> None:
    """The same over HTTP."""
    cut_everywhere(web, transport, _POINTS)


@pytest.mark.parametrize("transport", ["git", "dulwich"])
def test_sync_over_http(web: Ground, transport: str) -> None:
    """Fetch, merge and push over HTTP, by either transport."""
    web.link.cut_after(None)
    bundle = web.bundle()
    Sync(bundle, prefer=transport).run()
    assert web.hub_tip() == bundle.tip
    fsck_clean(bundle.repository)
    bundle.repository.store.close()


@pytest.mark.parametrize("transport", ["git", "dulwich"])
@pytest.mark.parametrize("scheme", ["git", "http"])
def test_a_silent_server_is_not_waited_for(daemon: Ground, scheme: str, transport: str) -> None:
    """A server that takes the connection and says nothing ends in a clear error, not in waiting."""
    bundle = daemon.bundle()
    with silent_server() as port:
        Remotes(bundle.repository).save(Remote("origin", f"{scheme}://{HOST}:{port}/hub.git", consent=True))
        with pytest.raises(RemoteError, match="did not answer"):
            Sync(bundle, timeout=0.3, prefer=transport).run()
    assert scratch_left(bundle.repository) == []
    bundle.repository.store.close()


_DRIPS = {
    "refs": ("git", b"ff00"),
    "headers": ("http", b"HTTP/1.1 200 OK\r\nX-Slow: "),
    "body": (
        "http",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\nff00",
    ),
}


@pytest.mark.parametrize("transport", ["git", "dulwich"])
@pytest.mark.parametrize("where", _DRIPS)
def test_a_dripping_server_is_not_waited_for(daemon: Ground, where: str, transport: str) -> None:
    """A server that sends a byte now and then is given up when the time is over, and nothing is left open."""
    scheme, first = _DRIPS[where]
    bundle = daemon.bundle()
    with dripping_server(first) as port:
        Remotes(bundle.repository).save(Remote("origin", f"{scheme}://{HOST}:{port}/hub.git", consent=True))
        with pytest.raises(RemoteError, match=r"did not answer in 0\.3 seconds"):
            Sync(bundle, timeout=0.3, prefer=transport).run()
    assert scratch_left(bundle.repository) == []
    bundle.repository.store.close()


@pytest.mark.parametrize("transport", ["git", "dulwich"])
@pytest.mark.parametrize("wrong", ["port", "path", "host", "login"])
def test_no_credentials_in_what_is_told(
    tmp_path: Path, web: Ground, wrong: str, transport: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong address gives one sentence, and neither it nor the state files show the password."""
    from gitmem.cli.main import main

    secret = "hun%40ter@two"
    bundle = web.bundle()
    copied(bundle.root, tmp_path / "w")
    bundle.repository.store.close()
    copy = open_bundle(
        World(os.environ, clock=Clock()), str(tmp_path / "w"), "as is", config=Config(machine="b")
    )
    enlist(World(os.environ), copy.root)
    with http_backend(web.root / "now", login=("ada", "other")) as port:
        where = {
            "port": f"{HOST}:{free_port()}/hub.git",
            "path": f"{HOST}:{web.link.port}/nothing.git",
            "host": "nowhere.invalid/hub.git",
            "login": f"{HOST}:{port}/hub.git",
        }[wrong]
        Remotes(copy.repository).save(Remote("origin", f"http://ada:{secret}@{where}", consent=True))
        with pytest.raises(RemoteError) as error:
            Sync(copy, timeout=20, prefer=transport).run()
        told = str(error.value)
        assert main(["-C", copy.root, "sync", "--transport", transport]) == 1
        assert main(["-C", copy.root, "status"]) == 0
        assert main(["-C", copy.root, "remote", "list"]) == 0
    shown = capsys.readouterr()
    assert "\n" not in told
    for text in (told, shown.out, shown.err, *state_texts(copy)):
        for form in (secret, "hun@ter@two", "hun@ter", "ter@two"):
            assert form not in text
    copy.repository.store.close()


@pytest.mark.parametrize("login", ["ada:hunter-two@", "ghp-like-token@"])
def test_no_login_in_a_process_list(tmp_path: Path, web: Ground, login: str) -> None:
    """What git, and every program that git starts, gets as arguments is without the login of the address."""
    web.bundle().close()
    listed = tmp_path / "listed"
    real = shutil.which("git")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text(f'#!/bin/sh\nprintf "%s\\n" "$0" "$@" >> {listed}\nexec {real} "$@"\n')
    (tmp_path / "bin/git").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    with http_backend(web.root / "now", login=("ada", "hunter-two")) as port:
        url = f"http://{login}{HOST}:{port}/hub.git"
        world = World(env, clock=Clock())
        if login.startswith("ada"):
            clone(world, url, str(tmp_path / "c"), config=Config(machine="c"), prefer="git").close()
            for _ in range(2):  # the second finds nothing new
                with open_bundle(world, str(tmp_path / "c"), "as is", config=Config(machine="c")) as copy:
                    Sync(copy, prefer="git").run()
            config = (tmp_path / "c/.git/config").read_text()
            assert url in config  # the one place that keeps it
        else:
            with pytest.raises(RemoteError) as refused:
                clone(world, url, str(tmp_path / "c"), config=Config(machine="c"), prefer="git")
            assert "ghp-like-token" not in str(refused.value)
    words = listed.read_text()
    assert f"http://{HOST}:{port}/hub.git" in words
    assert login.rstrip("@").rpartition(":")[2] not in words


def test_no_login_in_the_process_list_of_dulwich(tmp_path: Path, web: Ground) -> None:
    """The process that talks to the server has the login from its input: not from its words or its environment."""
    web.bundle().close()
    world = World(os.environ, clock=Clock())
    with http_backend(web.root / "now", login=("ada", "hunter-two")) as port:
        url = f"http://ada:hunter-two@{HOST}:{port}/hub.git"
        clone(world, url, str(tmp_path / "c"), config=Config(machine="c"), prefer="dulwich").close()
    listed: list[bytes] = []

    def look(listener: socket.socket) -> None:
        with listener, listener.accept()[0]:
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    words, about = (process / "cmdline").read_bytes(), (process / "stat").read_text()
                    is_ours = about.rpartition(")")[2].split()[1] == str(os.getpid())  # its parent
                    if is_ours and b"dulwich_worker" in words:
                        listed.append(words + (process / "environ").read_bytes())

    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
        looking = threading.Thread(target=look, args=(listener,))
        looking.start()
        url = f"http://ada:hunter-two@{HOST}:{port}/hub.git"
        with pytest.raises(RemoteError):
            clone(world, url, str(tmp_path / "d"), config=Config(machine="d"), prefer="dulwich")
        looking.join()
    if os.path.exists("/proc/self/cmdline"):
        assert len(listed) == 1
        assert b"hunter-two" not in listed[0]


@pytest.mark.parametrize(
    "url",
    ["https://host/x.git?token=hunter-two", "ssh://ada:hunter-two@host/x.git", "ada:hunter-two@host:x.git"],
)
def test_an_address_that_would_show_its_login_is_refused(tmp_path: Path, url: str) -> None:
    """`?token=` and ssh's passwords would be arguments of a program: refused, without showing them."""
    with pytest.raises(RemoteError) as refused:
        clone(World(os.environ, clock=Clock()), url, str(tmp_path / "c"), config=Config(machine="c"))
    assert "hunter-two" not in f"{refused.value} {refused.value.hint}"
    assert not (tmp_path / "c").exists()


def state_texts(bundle: Memory) -> list[str]:
    tops = (bundle.state.directory, os.path.join(bundle.repository.git_dir, "logs"))
    return [data.decode("utf-8", "replace") for top in tops for data in contents(top).values()]


def test_a_password_with_an_at_sign_is_not_shown() -> None:
    """Everything up to the last @ before the path is left out of an address."""
    assert shown_url("https://me:a@b@host/x@y.git") == "https://***@host/x@y.git"
    assert shown_url("git@host:me/memory.git") == "git@host:me/memory.git"


@pytest.mark.parametrize("transport", ["git", "dulwich"])
def test_a_login_comes_from_gits_credential_helper(
    tmp_path: Path, web: Ground, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address without a login: what a person's helper knows of the server is used, by dulwich too."""
    helper = tmp_path / "helper"
    helper.write_text("#!/bin/sh\n[ \"$1\" = get ] && printf 'username=ada\\npassword=s3cret word\\n'\n")
    helper.chmod(0o755)
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[credential]\n\thelper = "{helper}"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    bundle = web.bundle()
    with http_backend(web.root / "now", login=("ada", "s3cret word")) as port:
        Remotes(bundle.repository).save(Remote("origin", f"http://{HOST}:{port}/hub.git", consent=True))
        assert "origin" == Sync(bundle, timeout=60, prefer=transport).run().remote
    bundle.repository.store.close()
