"""A result as text: what the command line writes into a pipe."""

from __future__ import annotations

from typing import cast

from gitmem.cli.app import App
from gitmem.cli.render import render
from gitmem.cli.terminal import Output
from gitmem.memory.memory import Memory
from gitmem.world import World


class _Page(Output):
    """An output that is kept."""

    def __init__(self) -> None:
        super().__init__({"NO_COLOR": "1"})
        self.colour = False
        self.text_so_far = ""

    @property
    def columns(self) -> int:
        return 0

    def paged(self) -> None:
        """Do nothing: a text is not paged."""

    def _write(self, text: str) -> None:
        self.text_so_far += text


class _Untitled:
    """The part of a memory that renderers read, of a result that is alone: its sessions have no titles."""

    def session_title(self, _session: str) -> str:
        return ""


def text_of(result: object) -> str:
    """The lines that the command line prints of a result, with exact dates and without colours."""
    app = App(World.real())
    page = _Page()
    app.out, app.ages, app.bundle = page, False, cast(Memory, _Untitled())
    render(app, result)
    return page.text_so_far.rstrip("\n")
