"""Hand edits as they enter the history: which can, in what form, and why others can not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent
from gitmem.git.worktree import HandEdit
from gitmem.okf import entries, layout, paths, validate
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import EntryKey, section_key

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.safety.verdict import Scope


def acceptable(bundle: Bundle, edits: Iterable[HandEdit]) -> tuple[list[HandEdit], list[str]]:
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
        result = bundle.gate.judge(entry.text, "memory") if entry.key not in before else None
        if result is not None and result.verdict is not Verdict.ALLOW:
            origin = bundle.origin(source="hand edit")
            where = {"kind": "entry", "path": path}
            held = bundle.quarantine.hold(entry.text, result, destination=where, origin=origin)
            bundle.warnings.append(f"An entry in {path} is held back as {held}: {result.explain()}.")
            file = file.remove(entry.key.id)
    return file.render()


def _redacted(bundle: Bundle, path: str, file: CuratedFile, before: set[EntryKey]) -> CuratedFile:
    """The § file without the secrets in its new entries, as `memory add` would have stored them."""
    for entry in file.entries:
        text = bundle.redact(entry.text) if entry.key not in before else entry.text
        if text != entry.text:
            clean = replace(entry, key=section_key(text), text=text)
            file = file.with_entries(clean if each == entry else each for each in file.entries)
            bundle.warnings.append(f"A secret that was written into {path} is redacted: {text}")
    return file


def _refuse_secrets(bundle: Bundle, path: str, data: bytes) -> None:
    """Raise where a person wrote a secret that was not there before."""
    from gitmem.safety.secrets import find

    text = data.decode("utf-8", "replace")
    found = find(text)
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
    result = bundle.gate.judge(text, scope_of(path))
    if result.verdict is not Verdict.ALLOW:
        where = {"kind": "file", "path": path}
        held = bundle.quarantine.hold(
            text, result, destination=where, origin=bundle.origin(source="hand edit")
        )
        raise InvalidContent(
            f"{path} is held back by the scanner: {result.explain()}. If it is fine, "
            f"`gitmem quarantine release {held}` lets it in."
        )


def scope_of(path: str) -> Scope:
    """How strictly a file is read: what enters the prompt most, what only records least."""
    if path.startswith("memories/"):
        return "memory"
    return "skill" if path.startswith("skills/") else "event"
