"""Hand edits: what a person changed in the work tree becomes a commit of kind `edit`, through the gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.errors import BundleUnusable, InvalidContent
from gitmem.git.message import Message
from gitmem.git.transaction import Draft, HandEditsInTheWay, Published, publish
from gitmem.git.tree import Tree
from gitmem.git.worktree import HandEdit
from gitmem.memory.edits import Edits
from gitmem.memory.gate.quarantine import Quarantine
from gitmem.memory.gate.scan import Gate, scope_of
from gitmem.memory.gate.secrets import find_secrets, redact
from gitmem.memory.provenance import Origin
from gitmem.okf import entries, layout, paths, validate
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import EntryKey, section_key

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
    for problem in problems:
        if strict:
            raise InvalidContent(
                f"{problem} It was edited by hand: repair or remove it, then run this again."
            )
        bundle.warnings.append(f"{problem} It is left as it is, uncommitted.")
    # What was staged comes first, so that a version which only the index held has its commit.
    published = []
    for staged in (True, False):
        group = {edit.path: edit for edit in usable if edit.staged == staged}
        later = {edit.path for edit in usable if not edit.staged} if staged else set()
        if group:
            made = _commit(bundle, group, leave=later & group.keys(), reason=reason)
            published += [made] if made else []
    return published


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
            if edit.stored is None:
                wanted.remove(path)
            else:
                wanted.write(path, edit.stored)
        return Draft(
            wanted.finished(),
            Message("edit", what, bundle.admit_origin(origin).trailers()),
            bundle.person_named(bundle.world.person or "human", moment),
            bundle.person_named("gitmem", moment),
            takes_in={path: edit.data for path, edit in edits.items()},
            leaves=frozenset(leave),
        )

    return publish(bundle.repository, plan, purpose="edit")


def _acceptable(bundle: Bundle, edits: Iterable[HandEdit]) -> tuple[list[HandEdit], list[str]]:
    """The edits that can be committed, in the form they are stored in, and a sentence for each other."""
    usable: list[HandEdit] = []
    problems: list[str] = []
    for edit in edits:
        try:
            usable.append(replace(edit, stored=_stored(bundle, edit)))
        except InvalidContent as error:
            problems.append(str(error))
    return usable, problems


def _stored(bundle: Bundle, edit: HandEdit) -> bytes | None:
    """The bytes to store: as the person wrote them, but for the list of § entries and what is held back."""
    if edit.problem:
        raise InvalidContent(f"{edit.path} {edit.problem}.")
    if edit.data is None:
        return None
    paths.check_path(edit.path)
    data = edit.data
    if entries.kind_of(edit.path, data) == "curated":
        data = _curated(bundle, edit.path, data)
    elif not layout.is_generated(edit.path):
        _refuse_secrets(bundle, edit.path, data)
        _refuse_flagged(bundle, edit.path, data)
    for violation in validate.check_file(edit.path, data):
        raise InvalidContent(f"{edit.path} is not a valid OKF file: {violation.reason}")
    return data


def _curated(bundle: Bundle, path: str, data: bytes) -> bytes:
    """A § file with its list brought up to date; new entries lose their secrets, flagged ones go to quarantine."""
    from gitmem.safety.verdict import Verdict

    old = bundle.read(path)
    known = CuratedFile.salvage(old, path) if old is not None else None
    file = CuratedFile.parse(data, path).taken_in(known, bundle.now())
    before = {entry.key for entry in known.entries} if known else set()
    file = _redacted(bundle, path, file, before)
    for entry in file.entries:
        result = bundle.part(Gate).judge(entry.text, "memory") if entry.key not in before else None
        if result is not None and result.verdict is not Verdict.ALLOW:
            origin = bundle.origin(source="hand edit")
            where = {"kind": "entry", "path": path}
            held = bundle.part(Quarantine).hold(entry.text, result, destination=where, origin=origin)
            bundle.warnings.append(f"An entry in {path} is held back as {held}: {result.explain()}.")
            file = file.remove(entry.key.id)
    return file.render()


def _redacted(bundle: Bundle, path: str, file: CuratedFile, before: set[EntryKey]) -> CuratedFile:
    """The § file without the secrets in its new entries, as `memory add` would have stored them."""
    for entry in file.entries:
        text = redact(entry.text) if entry.key not in before else entry.text
        if text != entry.text:
            clean = replace(entry, key=section_key(text), text=text)
            file = file.with_entries(clean if each == entry else each for each in file.entries)
            bundle.warnings.append(f"A secret that was written into {path} is redacted: {text}")
    return file


def _refuse_secrets(bundle: Bundle, path: str, data: bytes) -> None:
    """Raise where a person wrote a secret that was not there before."""
    text = data.decode("utf-8", "replace")
    found = find_secrets(text)
    if not found:
        return
    old = (bundle.read(path) or b"").decode("utf-8", "replace")
    fresh = [secret for secret in found if text[secret.start : secret.end] not in old]
    if fresh:
        line = text.count("\n", 0, fresh[0].start) + 1
        raise InvalidContent(
            f"{path} holds a secret in line {line} ({fresh[0].kind}): take it out, and write down where it is "
            "kept instead."
        )


def _refuse_flagged(bundle: Bundle, path: str, data: bytes) -> None:
    from gitmem.safety.verdict import Verdict

    text = data.decode("utf-8", "replace")
    result = bundle.part(Gate).judge(text, scope_of(path))
    if result.verdict is not Verdict.ALLOW:
        where = {"kind": "file", "path": path}
        held = bundle.part(Quarantine).hold(
            text, result, destination=where, origin=bundle.origin(source="hand edit")
        )
        raise InvalidContent(
            f"{path} is held back by the scanner: {result.explain()}. If it is fine, "
            f"`gitmem quarantine release {held}` lets it in."
        )
