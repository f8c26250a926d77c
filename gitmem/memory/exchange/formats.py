"""Import formats: their usual places and their readers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal, get_args

from gitmem.errors import UsageError
from gitmem.memory.exchange.importing import Importer, Piece

Format = Literal["hermes", "holographic", "okf", "openclaw", "claude", "codex", "markdown", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
_FOLDERS = ("okf", "openclaw", "claude", "codex", "markdown")


def pieces(
    form: str,
    where: str,
    importer: Importer,
    *,
    since: float = 0.0,
    sessions: bool = False,
) -> Iterator[Piece]:
    """Yield what a format's reader finds at a place, oldest first."""
    if form == "hermes":
        from gitmem.memory.exchange.from_hermes import home_pieces

        return home_pieces(where, importer, since=since, sessions=sessions)
    if form == "holographic":
        from gitmem.memory.exchange.from_hermes import fact_pieces

        database = os.path.join(where, "memory_store.db") if os.path.isdir(where) else where
        return fact_pieces(database, importer)
    if form == "jsonl":
        from gitmem.memory.exchange.from_lines import line_pieces

        return line_pieces(where, importer)
    if form not in _FOLDERS:
        raise UsageError(f"There is no format {form!r}: choose one of {', '.join(FORMATS)}.")
    from gitmem.memory.exchange import from_folder

    reader = {
        "okf": from_folder.okf_pieces,
        "openclaw": from_folder.openclaw_pieces,
        "claude": from_folder.claude_pieces,
        "codex": from_folder.codex_pieces,
        "markdown": from_folder.markdown_pieces,
    }[form]
    return reader(where, importer)
