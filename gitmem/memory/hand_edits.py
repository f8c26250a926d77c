"""Hand edits: what a person changed in the work tree becomes a commit of kind `edit`, through the gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from gitmem.errors import BundleUnusable, InvalidContent
from gitmem.git.message import Message
from gitmem.git.objects import FILE, TreeEntry, blob_id
from gitmem.git.transaction import Draft, HandEditsInTheWay, Published, publish
from gitmem.git.tree import Tree
from gitmem.git.worktree import HandEdit
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import FOUND_ENTRY, HELD_BACK, Admission, Held
from gitmem.memory.origin import LOST, Origin
from gitmem.notices import Notice
from gitmem.okf import frontmatter, layout, paths, validate
from gitmem.okf.concept import as_note, decode, type_of
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import section_key
from gitmem.okf.files import open_file
from gitmem.okf.timestamps import of_seconds

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_MANY = 3
"""Entries that one edit takes out of a § file, from which on it may be an accident of another program."""
_DRIFT = timedelta(days=1)
"""So far a clock may be behind that of another machine."""


def problems_of(bundle: Bundle, edits: Iterable[HandEdit]) -> dict[str, str]:
    """Why some hand edits will not be committed as they are, by their path. Nothing is held, reported or changed."""
    _, found = _acceptable(bundle, edits, look=True)
    return {path: problem.removeprefix(f"{path} ").rstrip(".") for path, problem in found.items()}


def take_in_all(bundle: Bundle, *, strict: bool, reason: str = "") -> list[Published]:
    """Commit hand edits; one that cannot be stops it when `strict`, else it is left where it is, with a warning."""
    tip, now = bundle.repository.tip(), bundle.world.clock()
    newest = of_seconds(bundle.repository.store.commit(tip).committer.time) if tip else None
    if newest is not None and newest - now > _DRIFT:  # once: the commit that follows has the clock's date
        bundle.report(Notice("clock-behind", f"{now:%Y-%m-%d}", f"{newest:%Y-%m-%d}"))
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
                f"{problem} It was edited by hand: repair or remove it, then run this again.",
                hint="`gitmem review` can drop the edit, which brings back what was committed last.",
            )
        bundle.report(Notice("file-not-committed", path, problem))
    if not usable:
        return []
    found: list[Published] = []
    for group in _groups(bundle, usable):
        made = _commit(bundle, group, reason=reason)
        if made is None:
            _put_back(bundle, group)
        else:
            found.append(made)
    return found


def _groups(bundle: Bundle, edits: Iterable[HandEdit]) -> list[dict[str, HandEdit]]:
    """The edits of each commit: all in one, but for a file that lost most of its entries, which may be an accident."""
    groups: dict[str, dict[str, HandEdit]] = {"": {}}
    for edit in edits:
        groups.setdefault(edit.path if _many_removed(bundle, edit) else "", {})[edit.path] = edit
    return [group for group in groups.values() if group]


def put_back(bundle: Bundle, path: str) -> None:
    """Make a file what the newest commit has, whatever a person made of it."""
    with bundle.writing("edit"):
        worktree = bundle.repository.worktree
        worktree.refuse_links([path])
        worktree.bring(path, bundle.tree().entry(path))


def commit_text(bundle: Bundle, path: str, data: bytes, *, reason: str = "") -> str:
    """Write a file as a person would, and commit it through the gate; gives the commit. A broken one is not written."""
    if problem := problems_of(bundle, [HandEdit(path, data)]).get(path):
        raise InvalidContent(f"{path} {problem}")
    with bundle.writing("edit"):
        worktree = bundle.repository.worktree
        worktree.refuse_links([path])
        worktree.write(path, data, FILE)
        found = [edit for edit in bundle.hand_edits() if edit.path == path]
        published = take_in(bundle, found, strict=True, reason=reason)
    return published[-1].commit.oid if published else ""


def _put_back(bundle: Bundle, edits: Mapping[str, HandEdit]) -> None:
    """Make files what the tip has, where all that was new in them is held back: they would stay in the way."""
    worktree = bundle.repository.worktree
    with bundle.writing("edit"):
        tree = bundle.tree()
        for path, edit in edits.items():
            entry = tree.entry(path)
            as_it_was = edit.data is not None and worktree.holds(path, TreeEntry(FILE, blob_id(edit.data)))
            if entry is not None and edit.stored == tree.read_entry(entry) and as_it_was:
                worktree.bring(path, entry)


def _commit(bundle: Bundle, edits: Mapping[str, HandEdit], *, reason: str) -> Published | None:
    names = sorted(edits)
    what = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    origin = Origin(machine=bundle.config.machine, source="hand edit", reason=reason)
    moment = int(bundle.world.clock().timestamp())

    if many := _many_removed(bundle, edits[names[0]]) if len(names) == 1 else 0:
        what = f"{what}{LOST}{many} entries"

    def plan(tip: Tree) -> Draft | None:
        bundle.refuse_newer(tip)
        wanted = Edits(tip)
        for path, edit in edits.items():
            wanted.write(path, edit.stored)
        return Draft(
            wanted.finished(),
            bundle.admitted_message(Message("edit", what, bundle.admitted_origin(origin).trailers())),
            bundle.person_named(bundle.world.person or "human", moment),
            bundle.person_named("gitmem", moment),
            takes_in={path: edit.data for path, edit in edits.items()},
        )

    made = publish(bundle.repository, plan, purpose="edit")
    if made and many:
        bundle.report(Notice("many-removed", what, made.commit.oid[:8]))
    if made and made.warning:
        bundle.report(Notice("work-tree-behind", detail=made.warning))
    return made


def _many_removed(bundle: Bundle, edit: HandEdit) -> int:
    """The number of entries that a § file lost, where that is most of them; else 0."""
    was = open_file(edit.path, bundle.read(edit.path))
    if was.kind != "curated":
        return 0
    gone = len(was.entries.keys() - open_file(edit.path, edit.stored).entries.keys())
    return gone if gone >= _MANY and 2 * gone > len(was.entries) else 0


def _acceptable(
    bundle: Bundle, edits: Iterable[HandEdit], *, look: bool = False
) -> tuple[list[HandEdit], dict[str, str]]:
    """The edits that can be committed, as they are stored, and why the others cannot; a `look` holds nothing back."""
    usable: list[HandEdit] = []
    edits = list(edits)
    problems = _colliding(bundle, edits)
    for edit in edits:
        if edit.path not in problems:
            try:
                usable.append(replace(edit, stored=_stored(bundle, edit, look)))
            except InvalidContent as error:
                problems[edit.path] = str(error)
    return usable, problems


def _colliding(bundle: Bundle, edits: Iterable[HandEdit]) -> dict[str, str]:
    """New files that another machine could not tell from one that is there: it would refuse the whole memory."""
    tree = bundle.tree()
    added = {edit.path for edit in edits if edit.data is not None and edit.path not in tree}
    if not added:
        return {}
    removed = {edit.path for edit in edits if edit.data is None and not edit.problem}
    names = [path for path in bundle.file_paths() if path not in removed]
    return {
        second: f"{second} is the same as {first} on a disk that ignores case: rename one."
        for first, second in validate.collisions([*names, *sorted(added)])
        if second in added
    }


def _as_concept(path: str, data: bytes) -> bytes:
    """A plain markdown file as a note with front matter; any other file as it is.

    Broken front matter stays as the person wrote it: it is a slip to repair, and not a plain text.
    """
    has_form = layout.is_generated(path) or layout.default_type(path) or path.startswith("skills/")
    if not path.endswith(".md") or has_form:
        return data
    try:
        text = decode(data, path)
        found = frontmatter.read(text)
    except InvalidContent:
        return data
    return data if found is not None and type_of(found[0]) else as_note(path, text)[0].render()


def _stored(bundle: Bundle, edit: HandEdit, look: bool) -> bytes | None:
    """The bytes to store: as the person wrote them, but for the list of § entries and what is held back."""
    path = edit.path
    if edit.problem:
        raise InvalidContent(f"{path} {edit.problem}.")
    if edit.data is None:
        return None
    paths.check_path(path)
    data = _as_concept(path, edit.data)
    if reason := validate.too_large(path, data):
        raise InvalidContent(f"{path} is too large. {reason}")
    file = open_file(path, data).content
    if isinstance(file, CuratedFile):
        if look:
            return data
        data = _curated(bundle, path, file)
    for violation in validate.check_file(path, data):
        raise InvalidContent(f"{path} is not a valid OKF file: {violation.reason}")
    if isinstance(file, CuratedFile) or layout.is_generated(path):
        return data
    admission, before = Admission(bundle, origin=bundle.origin(source="hand edit")), bundle.read(path) or b""
    if look:
        if reason := admission.file_refusal(path, data, before):
            raise InvalidContent(reason)
    elif isinstance(answer := admission.file(path, data, before), Held):
        raise InvalidContent(
            f"{path} {HELD_BACK}: {answer.result.explain()}. If it is fine, "
            f"`gitmem review {answer.id} --accept` lets it in."
        )
    return data


def _curated(bundle: Bundle, path: str, file: CuratedFile) -> bytes:
    """A § file with its list brought up to date; new entries lose their secrets, flagged ones go to quarantine."""
    old = bundle.read(path)
    known = CuratedFile.parse_leniently(old, path) if old is not None else None
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
