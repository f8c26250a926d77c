"""Hand edits: what a person changed in the work tree becomes a commit of kind `edit`, through the gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.errors import BundleUnusable, InvalidContent
from gitmem.git.message import Message
from gitmem.git.objects import FILE, TreeEntry, blob_id
from gitmem.git.transaction import Draft, HandEditsInTheWay, Published, publish
from gitmem.git.tree import Tree
from gitmem.git.worktree_status import HandEdit
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import FOUND_ENTRY, Admission, Held
from gitmem.memory.provenance import Origin
from gitmem.notices import Notice
from gitmem.okf import layout, paths, validate
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import section_key
from gitmem.okf.files import SectionsFile, open_file

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


def take_in_all(bundle: Bundle, *, strict: bool, reason: str = "") -> list[Published]:
    """Commit what a person changed by hand, as kind `edit`.

    A file that cannot be part of a bundle stops it when `strict`, before anything is committed; else it
    is left where it is, with a warning.
    """
    published: list[Published] = []
    in_the_way = ""
    with bundle.writing("edit"):
        for _ in range(5):  # a file may change while we look
            try:
                published += take_in(bundle, bundle.hand_edits(), strict=strict, reason=reason)
            except HandEditsInTheWay as stop:
                in_the_way = stop.edits[0].path
            else:
                return published
    raise BundleUnusable(f"{in_the_way} was edited by hand and blocks a commit: repair or remove it first.")


def take_in(bundle: Bundle, edits: Iterable[HandEdit], *, strict: bool, reason: str = "") -> list[Published]:
    """Commit these hand edits."""
    edits = list(edits)
    if not edits:
        return []
    usable, problems = _acceptable(bundle, edits)
    for path, problem in problems.items():
        if strict:
            raise InvalidContent(
                f"{problem} It was edited by hand: repair or remove it, then run this again."
            )
        bundle.report(Notice("file-not-committed", path, problem))
    # What was staged comes first, so that a version which only the index held has its commit.
    published = []
    for staged in (True, False):
        group = {edit.path: edit for edit in usable if edit.staged == staged}
        later = {edit.path for edit in usable if not edit.staged} if staged else set()
        if group:
            made = _commit(bundle, group, leave=later & group.keys(), reason=reason)
            published += [made] if made else []
            if made is None:
                _put_back(bundle, group)
    return published


def _put_back(bundle: Bundle, edits: Mapping[str, HandEdit]) -> None:
    """Make files what the tip has, where all that was new in them is held back: they would stay in the way."""
    worktree = bundle.repository.worktree
    with bundle.writing("edit"):
        tree = bundle.tree()
        for path, edit in edits.items():
            entry = tree.entry(path)
            as_it_was = edit.data is not None and worktree.holds(path, TreeEntry(FILE, blob_id(edit.data)))
            if entry is not None and edit.stored == tree.read_entry(entry) and as_it_was and not edit.staged:
                worktree.bring(path, entry)


def _commit(
    bundle: Bundle, edits: Mapping[str, HandEdit], *, leave: set[str], reason: str
) -> Published | None:
    names = sorted(edits)
    what = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    origin = Origin(machine=bundle.config.machine, source="hand edit", reason=reason)
    moment = int(bundle.world.clock().timestamp())

    def plan(tip: Tree) -> Draft | None:
        bundle.refuse_newer(tip)
        wanted = Edits(tip)
        for path, edit in edits.items():
            wanted.write(path, edit.stored)
        return Draft(
            bundle.admit_files(wanted.finished()),
            bundle.admit_message(Message("edit", what, bundle.admit_origin(origin).trailers())),
            bundle.person_named(bundle.world.person or "human", moment),
            bundle.person_named("gitmem", moment),
            takes_in={path: edit.data for path, edit in edits.items()},
            leaves=frozenset(leave),
        )

    return publish(bundle.repository, plan, purpose="edit")


def _acceptable(bundle: Bundle, edits: Iterable[HandEdit]) -> tuple[list[HandEdit], dict[str, str]]:
    """The edits that can be committed, in the form they are stored in, and why the others cannot, by their path."""
    usable: list[HandEdit] = []
    problems: dict[str, str] = {}
    for edit in edits:
        try:
            stored = _stored(bundle, edit)
        except InvalidContent as error:
            problems[edit.path] = str(error)
            continue
        if edit.staged and stored != edit.data and stored == bundle.read(edit.path):
            problems[edit.path] = (
                f"All that is staged of {edit.path} is held back: `git restore --staged` it."
            )
        else:
            usable.append(replace(edit, stored=stored))
    return usable, problems


def _stored(bundle: Bundle, edit: HandEdit) -> bytes | None:
    """The bytes to store: as the person wrote them, but for the list of § entries and what is held back."""
    if edit.problem:
        raise InvalidContent(f"{edit.path} {edit.problem}.")
    if edit.data is None:
        return None
    paths.check_path(edit.path)
    data = edit.data
    file = open_file(edit.path, data)
    if isinstance(file, SectionsFile):
        data = _curated(bundle, edit.path, file.file)
    elif not layout.is_generated(edit.path):
        _refuse(bundle, edit.path, data)
    for violation in validate.check_file(edit.path, data):
        raise InvalidContent(f"{edit.path} is not a valid OKF file: {violation.reason}")
    return data


def _curated(bundle: Bundle, path: str, file: CuratedFile) -> bytes:
    """A § file with its list brought up to date; new entries lose their secrets, flagged ones go to quarantine."""
    old = bundle.read(path)
    known = CuratedFile.salvage(old, path) if old is not None else None
    file = file.taken_in(known, bundle.now())
    before = {entry.key for entry in known.entries} if known else set()
    admission = Admission(bundle, Edits(bundle.tree()), origin=bundle.origin(source="hand edit"))
    for entry in file.entries:
        if entry.key in before:
            continue
        answer = admission.entry(entry.text, path, FOUND_ENTRY)
        if isinstance(answer, Held):
            bundle.report(Notice("entry-held", path, f"{answer.id}: {answer.result.explain()}"))
            file = file.remove(entry.key.id)
        elif answer.text != entry.text:
            clean = replace(entry, key=section_key(answer.text), text=answer.text)
            file = file.with_entries(clean if each == entry else each for each in file.entries)
            bundle.report(Notice("secret-redacted", path, answer.text))
    return file.render()


def _refuse(bundle: Bundle, path: str, data: bytes) -> None:
    """Raise where a person wrote a secret that was not there before, or where the scanner flags the file."""
    admission = Admission(bundle, origin=bundle.origin(source="hand edit"))
    answer = admission.file(path, data, bundle.read(path) or b"")
    if isinstance(answer, Held):
        raise InvalidContent(
            f"{path} is held back by the scanner: {answer.result.explain()}. If it is fine, "
            f"`gitmem quarantine release {answer.id}` lets it in."
        )
