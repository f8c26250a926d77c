"""A result as text: what the command line writes into a pipe."""

from __future__ import annotations

from typing import cast

from gitmem.cli.app import App
from gitmem.cli.render import render
from gitmem.cli.terminal import Output
from gitmem.memory.memory import Memory
from gitmem.world import World


class _Untitled:
    """The part of a memory that renderers read, of a result that is alone: its sessions have no titles."""

    def session_title(self, _session: str) -> str:
        return ""


def text_of(result: object) -> str:
    """The lines that the command line prints of a result, with exact dates and without colours."""
    app = App(World.real())
    told: list[str] = []
    app.out, app.ages, app.bundle = Output({}, told.append), False, cast(Memory, _Untitled())
    render(app, result)
    return "".join(told).rstrip("\n")
