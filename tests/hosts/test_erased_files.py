"""An erase and a linked Hermes home: the host's own memory files follow, and nothing of gitmem's beside them keeps it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosts.conftest import Driver, HermesHome
from tests.hosts.test_memory_files import tool
from tests.memory.erase.support import SECRET, files_with, objects_with

Begin = Callable[..., Driver]


def test_the_hosts_files_follow_an_erase(home: HermesHome, begin: Begin) -> None:
    """What the host wrote is taken in first; then its file, the base and every journal are without it."""
    provider = begin()
    tool(provider, home, "add", "The user likes tabs.")
    tool(provider, home, "add", f"The door opens with {SECRET} in May.")
    provider.settle()
    provider.shutdown()
    home.write(
        "The user likes tabs.", f"The door opens with {SECRET} in May.", f"And the gate with {SECRET} too."
    )
    bundle = home.bundle()
    bundle.erase(text=SECRET)
    bundle.close()

    assert home.entries() == [
        "The user likes tabs.",
        "The door opens with (erased) in May.",
        "And the gate with (erased) too.",
    ]
    assert objects_with(bundle.root, SECRET) == []
    assert files_with(bundle.root, SECRET) == []
    assert files_with(Path(bundle.repository.git_dir), SECRET) == []
    tip = home.bundle().tip
    begin("later").settle()
    assert SECRET not in home.file().read_text()
    assert objects_with(bundle.root, SECRET) == []
    assert tip in {entry.id for entry in home.bundle().log()}


def test_a_host_that_was_not_reached_follows_at_its_next_look(home: HermesHome, begin: Begin) -> None:
    """The erase ends between the exchange and the host's file: that file is no edit that brings the text back."""
    provider = begin()
    tool(provider, home, "add", f"The door opens with {SECRET} in May.")
    provider.settle()
    provider.shutdown()
    bundle = home.bundle()

    def stop(stage: str) -> None:
        if stage == "placed":
            raise KeyboardInterrupt

    bundle.repository.on_stage = stop
    with pytest.raises(KeyboardInterrupt):
        bundle.erase(text=SECRET)
    assert SECRET in home.file().read_text()
    bundle.repository.store.close()
    begin("later").settle()

    assert home.entries() == ["The door opens with (erased) in May."]
    assert objects_with(bundle.root, SECRET) == []
    assert files_with(bundle.root, SECRET) == []
    assert files_with(Path(bundle.repository.git_dir), SECRET) == []
