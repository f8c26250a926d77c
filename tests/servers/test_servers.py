"""The same sync through real servers: web servers with a login, git's own daemon, ssh, and a bare path."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.errors import RemoteError
from gitmem.git.git_settings import Remote, Remotes
from gitmem.memory.sync.remote_refs import RemoteRefs
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.clone import clone
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.git.support import fsck_clean, run_git
from tests.memory.conftest import Clock
from tests.servers import real
from tests.servers.local import HOST, git_daemon

KINDS = ("path", "daemon", "nginx", "lighttpd", "ssh")


@dataclass
class Server:
    """A server with an empty repository: its address, and what programs need to reach it."""

    hub: str
    url: str
    environment: dict[str, str] = field(default_factory=dict)


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    root, state = tmp_path / "served", tmp_path / "state"
    root.mkdir()
    state.mkdir()
    hub = str(root / "hub.git")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", hub], check=True)
    run_git(hub, "config", "http.receivepack", "true")
    with ExitStack() as stack:
        if request.param == "path":
            yield Server(hub, hub)
        elif request.param == "daemon":
            yield Server(hub, f"git://{HOST}:{stack.enter_context(git_daemon(root))}/hub.git")
        elif request.param == "ssh":
            url, command = stack.enter_context(real.sshd(root, state))
            yield Server(hub, f"{url}/hub.git", {"GIT_SSH_COMMAND": command})
        else:
            serve = real.nginx if request.param == "nginx" else real.lighttpd
            yield Server(hub, f"{stack.enter_context(serve(root, state))}/hub.git", with_login(tmp_path))


def with_login(directory: Path) -> dict[str, str]:
    """A git configuration whose credential helper knows the login, as a person's would."""
    helper = directory / "helper"
    user, password = real.LOGIN
    helper.write_text(f'#!/bin/sh\ntest "$1" = get && echo username={user} && echo password={password}\n')
    helper.chmod(0o755)
    config = directory / "gitconfig"
    config.write_text(f"[credential]\n\thelper = {helper}\n")
    return {"GIT_CONFIG_GLOBAL": str(config)}


@pytest.mark.servers
@pytest.mark.parametrize("transport", ["git", "dulwich"])
def test_two_machines_through_a_server(server: Server, tmp_path: Path, transport: str) -> None:
    """Both learn, both sync, both have everything; snapshots travel, and deleting one far away works."""
    environment = {**os.environ, **server.environment}
    clock = Clock()
    a, _ = create(World(environment, clock=clock), str(tmp_path / "a"), config=Config(machine="a"))
    Remotes(a.repository).save(Remote("origin", server.url, consent=True))
    a.snapshots.create("start", origin=a.origin())

    def sync(bundle: object) -> None:
        Sync(bundle, timeout=60, prefer=transport).run()  # type: ignore[arg-type]

    sync(a)
    b = clone(
        World(environment, clock=clock),
        server.url,
        str(tmp_path / "b"),
        config=Config(machine="b"),
        prefer=transport,
    )
    assert b.snapshots.get("start").commit == a.snapshots.get("start").commit
    a.curated.add("a knows")
    b.curated.add("b knows")
    with b.session("big") as session:  # more than git sends in one piece
        for number in range(40):
            session.record_observation(f"{number} " + os.urandom(20_000).hex())
    for bundle in (b, a, b):
        sync(bundle)
    assert a.tip == b.tip == run_git(server.hub, "rev-parse", "main")
    assert {entry.text for entry in a.curated.entries("memory")} == {"a knows", "b knows"}
    assert RemoteRefs(a, prefer=transport).delete_snapshot("start")
    assert run_git(server.hub, "for-each-ref", "refs/tags") == ""
    run_git(server.hub, "fsck", "--strict")
    for bundle in (a, b):
        fsck_clean(bundle.repository)
        bundle.repository.store.close()


@pytest.mark.servers
@pytest.mark.parametrize("transport", ["git", "dulwich"])
def test_without_the_login_nothing_goes(server: Server, tmp_path: Path, transport: str) -> None:
    """A server that wants a login or a key gets an error out of us, in one sentence without secrets."""
    if not server.environment:
        pytest.skip("this one asks for no login")
    environment = {**os.environ, "GIT_SSH_COMMAND": "ssh -F none -o BatchMode=yes -o IdentityFile=/dev/null"}
    a, _ = create(World(environment, clock=Clock()), str(tmp_path / "a"), config=Config(machine="a"))
    url = server.url.replace("http://", "http://ada:wrong-one@")
    Remotes(a.repository).save(Remote("origin", url, consent=True))
    with pytest.raises(RemoteError) as error:
        Sync(a, timeout=60, prefer=transport).run()
    assert "\n" not in str(error.value)
    assert "wrong-one" not in str(error.value)
    assert run_git(server.hub, "for-each-ref") == ""
    a.repository.store.close()
