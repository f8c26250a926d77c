"""Hand edits as they enter the history: which can, in what form, and why others can not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gitmem.errors import InvalidContent
from gitmem.git.tree import Tree
from gitmem.git.worktree import HandEdit
from gitmem.okf import entries, paths, validate
from gitmem.okf.curated import CuratedFile


def acceptable(edits: Iterable[HandEdit], tip: Tree, at: str) -> tuple[list[HandEdit], list[str]]:
    """The edits that can be committed, in the form they are stored in, and a sentence for each other."""
    usable: list[HandEdit] = []
    problems: list[str] = []
    for edit in edits:
        try:
            usable.append(replace(edit, stored=_stored(edit, tip, at)))
        except InvalidContent as error:
            problems.append(str(error))
    return usable, problems


def _stored(edit: HandEdit, tip: Tree, at: str) -> bytes | None:
    """The bytes to store for an edit: as the person wrote them, but for the list of § entries."""
    if edit.problem:
        raise InvalidContent(f"{edit.path} {edit.problem}.")
    if edit.data is None:
        return None
    paths.check_path(edit.path)
    data = edit.data
    if entries.kind_of(edit.path, data) == "curated":
        old = tip.read(edit.path)
        known = CuratedFile.salvage(old, edit.path) if old is not None else None
        data = CuratedFile.parse(data, edit.path).taken_in(known, at).render()
    for violation in validate.check_file(edit.path, data):
        raise InvalidContent(f"{edit.path} is not a valid OKF file: {violation.reason}")
    return data
