"""`gitmem connect`, `disconnect` and `connections` as people type them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.cli.conftest import Cli


def test_the_commands(mem: Cli) -> None:
    """Try, connect, look, disconnect; wrong words are refused, and former ones answered with the new."""
    mem.env["CODEX_HOME"] = str(mem.root.parent / "codex")
    path = Path(mem.env["CODEX_HOME"], "config.toml")
    shown = mem("connect", "codex", "--dry-run", "--json").json
    assert tomllib.loads(shown["content"])["mcp_servers"]["gitmem"]["args"][-3:] == [
        "-C",
        str(mem.root),
        "mcp",
    ]
    assert str(path) == shown["place"]
    assert f"would write {path}" in mem("connect", "codex", "--dry-run").out
    assert not path.exists()
    assert "No agent is connected." in mem("connections").out
    assert "wrote" in mem("connect", "codex").out
    assert path.read_text() == shown["content"]
    assert "as it should be" in mem("connect", "codex").out
    found = mem("connect", "codex", "--allow-undo", "--json").json
    assert (True, False) == (found["changed"], found["dry_run"])
    assert "--allow-undo" in path.read_text()
    assert ["codex"] == [one["agent"] for one in mem("connections", "--json").json["connections"]]
    mem("disconnect", "codex")
    assert not path.exists() or "gitmem" not in path.read_text()
    mem.fails("connect", "emacs", code=2)
    mem.fails("connect", "codex", "--home", "x", code=2)
    assert "gitmem connect AGENT" in mem.fails("mcp", "install", "codex", code=2)
    assert "gitmem connect hermes" in mem.fails("hermes", "install", code=2)
    path.write_text("model = [")
    assert "config.toml" in mem.fails("connect", "codex")


def test_without_a_memory_one_is_created(gitmem: Cli) -> None:
    """The first command of a user may be this one; a wrong word, a try, an agent and -C create nothing."""
    config = gitmem.home / "codex" / "config.toml"
    gitmem.env["CODEX_HOME"] = str(config.parent)
    gitmem.run("connect", "codex", "--dry-run")
    gitmem.fails("connect", "emacs", code=2)
    gitmem.fails("-C", str(gitmem.home / "no"), "connect", "codex")
    gitmem.env["CODEX_SANDBOX"] = "x"
    gitmem.fails("connect", "codex")
    del gitmem.env["CODEX_SANDBOX"]
    assert [] == list(gitmem.home.iterdir())
    assert f"Created a memory in {gitmem.home}/.gitmem." in gitmem("connect", "codex").out
    assert f"{gitmem.home}/.gitmem" in config.read_text()
    assert "Created" not in gitmem("connect", "codex").out
    assert "init: memory of ada" in gitmem("log", "--commits").out
