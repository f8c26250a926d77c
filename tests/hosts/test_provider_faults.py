"""A provider in a broken house: the host's session goes on, and the user reads one line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem import background
from gitmem.git.git_settings import Remote, Remotes
from gitmem.hosts.hermes.provider import GitMemProvider
from gitmem.memory.capture.recovery import pending_count

from tests.hosts.conftest import Driver, HermesHome
from tests.hosts.talk import answer, events, turn, user

Begin = Callable[..., Driver]


def test_nothing_is_written_for_another_context(home: HermesHome, begin: Begin) -> None:
    """Cron jobs and subagents never write to their parent's memory."""
    tip = home.bundle().tip
    home.write("changed by the host")
    provider = begin("s1", agent_context="cron")
    turn(provider, [], "one", "1")
    provider.on_memory_write("add", "memory", "x", metadata={})
    provider.on_delegation("a", "b")
    assert "" == provider.on_pre_compress([user("x")] * 20)
    assert "error" in json.loads(provider.handle_tool_call("gitmem_remember", {"kind": "fact", "text": "x"}))
    provider.shutdown()
    assert tip == home.bundle().tip
    assert "" != provider.system_prompt_block()


def test_schemas_before_initialize(bare_home: HermesHome) -> None:
    """Also in a home without anything, and with a broken configuration."""
    (bare_home.path / "config.yaml").write_text("a: [")
    names = [schema["name"] for schema in GitMemProvider().get_tool_schemas()]
    assert [
        "gitmem_search",
        "gitmem_fetch",
        "gitmem_recall",
        "gitmem_remember",
        "gitmem_history",
        "gitmem_diff",
        "gitmem_snapshot",
    ] == names
    assert all(
        set(schema) == {"name", "description", "parameters"} for schema in GitMemProvider().get_tool_schemas()
    )


def _drive(provider: Driver) -> None:
    """Every hook once."""
    assert provider.get_tool_schemas()
    assert "" == provider.system_prompt_block()
    provider.on_turn_start(1, "hello")
    assert "" == provider.prefetch("hello")
    provider.on_memory_write("add", "memory", "x", metadata={"session_id": "s1"})
    provider.sync_turn("hello", "hi", session_id="s1", messages=[user("hello"), answer("hi")])
    provider.queue_prefetch("hello")
    provider.on_delegation("task", "result")
    assert "" == provider.on_pre_compress([user("hello")])
    provider.on_session_switch("s2", parent_session_id="s1", reset=True)
    assert "error" in json.loads(provider.handle_tool_call("gitmem_search", {"query": "x"}))
    provider.on_session_end([])
    provider.shutdown()
    provider.shutdown()


def _deleted(home: HermesHome) -> None:
    shutil.rmtree(home.path / "gitmem")


def _without_git_dir(home: HermesHome) -> None:
    shutil.rmtree(home.home.git_dir)


def _without_branch(home: HermesHome) -> None:
    Path(home.home.git_dir, "refs/heads/main").unlink()


def _with_a_bad_setting(home: HermesHome) -> None:
    (home.path / "gitmem.yaml").write_text("no_such_setting: 1\n")


def _with_a_journal_that_is_a_file(home: HermesHome) -> None:
    journal = Path(home.home.git_dir, "gitmem/journal")
    shutil.rmtree(journal, ignore_errors=True)
    journal.write_text("in the way")


@pytest.mark.parametrize(
    "harm",
    [_deleted, _without_git_dir, _without_branch, _with_a_bad_setting, _with_a_journal_that_is_a_file],
)
def test_a_failed_start_leaves_hooks_that_do_nothing(
    bare_home: HermesHome, harm: Callable[[HermesHome], None]
) -> None:
    """One line for the user, the error kept for `status`, and every hook returns."""
    bare_home.install()
    harm(bare_home)
    provider = Driver()
    provider.initialize(
        "s1", hermes_home=str(bare_home.path), platform="cli", warning_callback=provider.warned.append
    )
    _drive(provider)
    assert 1 == len(provider.warned), provider.warned
    assert provider.warned[0].startswith("gitmem: This session runs without versioned memory: ")
    assert "Traceback" not in provider.warned[0]
    assert "bug" not in provider.warned[0]
    assert provider.error
    assert provider.error in Path(bare_home.home.trouble).read_text()


def _with_broken_packs(home: HermesHome) -> None:
    for pack in Path(home.home.git_dir, "objects/pack").glob("*.pack"):
        pack.chmod(0o644)
        pack.write_bytes(b"garbage")


def _on_a_missing_commit(home: HermesHome) -> None:
    Path(home.home.git_dir, "refs/heads/main").write_text("1" * 40 + "\n")


def _in_a_merge(home: HermesHome) -> None:
    Path(home.home.git_dir, "MERGE_HEAD").write_text("1" * 40 + "\n")


@pytest.mark.parametrize("harm", [_with_broken_packs, _on_a_missing_commit, _in_a_merge])
def test_a_store_that_takes_nothing_is_told_once(
    bare_home: HermesHome, harm: Callable[[HermesHome], None]
) -> None:
    """It opens, and fails later: one line all the same, and the journal has what was said."""
    bare_home.install()
    harm(bare_home)
    provider = Driver()
    provider.initialize("s1", hermes_home=str(bare_home.path), warning_callback=provider.warned.append)
    for number in range(2):
        turn(provider, [], f"turn {number}", "ok")
        provider.prefetch("hello")
        provider.handle_tool_call("gitmem_history", {})
        provider.on_pre_compress([user("I prefer tabs.")] * 10)
        provider.on_session_end([])
        provider.settle()
    provider.shutdown()
    assert 1 == len(provider.warned), provider.warned
    assert "bug" not in provider.warned[0]
    assert 2 <= pending_count(os.path.join(bare_home.home.git_dir, "gitmem/journal"))


def test_a_bundle_that_is_in_use_blocks_no_hook(
    home: HermesHome, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the lock: hooks return while it does, tools say `queued`, the journal keeps it all."""
    for name in ("_TOOL_WAIT", "_COMPRESS_WAIT", "_SHUTDOWN_WAIT"):
        monkeypatch.setattr(f"gitmem.hosts.hermes.agent_run.{name}", 0.2)
    provider = begin("s1")
    lock = home.bundle().repository.lock
    with lock.hold("a long gc"):
        turn(provider, [], "one", "1")
        provider.on_memory_write("add", "memory", "x", metadata={})
        provider.on_session_end([])
        text = provider.handle_tool_call("gitmem_remember", {"kind": "decision", "text": "Use tabs"})
        assert "queued" == json.loads(text)["status"]
        assert "prefers tabs" in provider.on_pre_compress([user("I prefer tabs.")] * 10)
        provider.shutdown()
        assert pending_count(home.bundle().journal_dir) >= 1
    provider.settle()  # the worker goes on as soon as it can
    assert "turn" in [kind for kind, _ in events(home)]


def test_a_full_disk_is_told_and_stops_nothing(
    home: HermesHome, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal cannot be written: one line, and the session goes on."""
    provider = begin("s1")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("gitmem.memory.capture.journal.write_all", full)
        turn(provider, [], "lost", "lost too")
    provider.on_turn_start(2, "next")
    assert any("No space left" in line for line in provider.warned)
    turn(provider, [], "two", "2")
    provider.settle()
    assert ["next", "two"] == sorted(fields["user"] for _, fields in events(home))


_READ_ONLY = """
import sys
from gitmem.hosts.hermes.provider import GitMemProvider
provider = GitMemProvider(shim=99)
provider.initialize("s1", hermes_home=sys.argv[1], platform="cli", warning_callback=print)
provider.on_turn_start(1, "hello")
provider.on_memory_write("add", "memory", "x", metadata={})
provider.sync_turn("hello", "hi", session_id="s1", messages=[])
provider.on_session_end([])
provider.shutdown()
print("goes on")
"""


def test_a_read_only_home(bare_home: HermesHome) -> None:
    """Told in one line, and the session goes on."""
    bare_home.install()
    command = [sys.executable, "-P", "-c", _READ_ONLY, str(bare_home.path)]
    if os.geteuid() == 0:  # root may write anywhere, unless it gives that up
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("setpriv is not there, and root may write anywhere")
        command = [setpriv, "--bounding-set=-dac_override,-dac_read_search", *command]
    below = [directory for directory, _, _ in os.walk(bare_home.path)]
    for directory in below:
        os.chmod(directory, 0o555)
    try:
        done = subprocess.run(command, env=bare_home.env, capture_output=True, text=True, check=True)
    finally:
        for directory in below:
            os.chmod(directory, 0o755)
    told, *rest = done.stdout.splitlines()
    assert told.startswith("gitmem: This session runs without versioned memory: "), done.stdout + done.stderr
    assert "bug" not in told
    assert ["goes on"] == rest


def test_an_unreachable_remote_keeps_nobody_waiting(home: HermesHome, begin: Begin, tmp_path: Path) -> None:
    """Sync is a process of its own; that it failed is told in one line of the next session."""
    Remotes(home.bundle().repository).save(Remote("origin", str(tmp_path / "gone.git"), consent=True))
    provider = begin("s1")
    turn(provider, [], "one", "1")
    provider.shutdown()
    background.wait(120)
    again = begin("s2")
    again.system_prompt_block()
    [told] = [line for line in again.warned if "origin" in line]
    assert told.startswith("gitmem: The last sync with origin failed (")
    assert told.endswith("it is tried again by itself.")
    assert ["one"] == [fields["user"] for _, fields in events(home)]


def test_an_older_shim_is_told(home: HermesHome) -> None:
    """It works all the same."""
    provider = Driver()
    provider._shim = 0
    provider.initialize("s1", hermes_home=str(home.path), warning_callback=provider.warned.append)
    provider.on_turn_start(1, "hi")
    assert ["gitmem: The plugin files of gitmem are of an older version: run `gitmem connect hermes`."] == [
        line for line in provider.warned if "older" in line
    ]
    provider.shutdown()
