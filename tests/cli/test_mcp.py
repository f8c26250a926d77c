"""`gitmem mcp` as people type it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.cli.conftest import Cli


def test_the_commands(mem: Cli) -> None:
    """What people type: print, try, install, take out; wrong words are refused."""
    mem.env["CODEX_HOME"] = str(mem.root.parent / "codex")
    path = Path(mem.env["CODEX_HOME"], "config.toml")
    shown = mem.run("mcp", "--print-config", "codex")
    assert tomllib.loads(shown.out)["mcp_servers"]["gitmem"]["args"][-3:] == ["-C", str(mem.root), "mcp"]
    assert str(path) in shown.err
    assert "would be" in mem("mcp", "install", "codex", "--dry-run").out
    assert not path.exists()
    assert "wrote" in mem("mcp", "install", "codex").out
    assert path.read_text() == shown.out
    assert "as it should be" in mem("mcp", "install", "codex").out
    assert "gitmem hermes install" in mem("mcp", "install", "hermes", "--dry-run").out
    found = mem("mcp", "install", "codex", "--allow-undo", "--json").json
    assert (True, False) == (found["changed"], found["dry_run"])
    assert "--allow-undo" in path.read_text()
    mem("mcp", "uninstall", "codex")
    assert "" == path.read_text()
    mem.fails("mcp", "install", "emacs", code=2)
    path.write_text("model = [")
    assert "config.toml" in mem.fails("mcp", "install", "codex")
