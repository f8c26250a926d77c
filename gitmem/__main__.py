"""The command `gitmem`, also as `python -m gitmem`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one command and give its exit code."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_closed_streams()
    if "mcp" in sys.argv and (code := _served(sys.argv[1:])) is not None:
        return code
    from gitmem.cli.main import main as run

    return run()


def _served(words: list[str]) -> int | None:
    """`gitmem [-C BUNDLE] mcp` with options alone, without what commands need: a client waits for this start."""
    bundle = ""
    if words[:1] == ["-C"] and len(words) > 1:
        bundle, words = words[1], words[2:]
    if words[:1] != ["mcp"] or not {"--allow-undo", "--tools-only"}.issuperset(words[1:]):
        return None
    from gitmem.hosts.mcp.server import serve

    return serve(bundle, allow_undo="--allow-undo" in words, tools_only="--tools-only" in words)


def _open_closed_streams() -> None:
    """Let a closed descriptor (`>&-`) lead nowhere: else the next file that is opened would take its place."""
    import os

    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # gives the lowest free number, which is this one
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115 (lives as long as the process)


def _leave_the_current_directory() -> None:
    """Let nothing more be imported from where we are: it may be a bundle, and hold anything. As `python -P` does."""
    import os

    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not sys.flags.safe_path and sys.path[:1] != [home]:
        del sys.path[:1]


if __name__ == "__main__":
    _leave_the_current_directory()
    sys.exit(main())
