"""The skills of a bundle: created, edited, patched and removed, each by one commit with its reason; listed and read.

Every write passes the guard (`gate/skill_guard.py`) before any of it lands. What is only doubtful waits for a person,
what is dangerous is refused, and then nothing at all is changed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches, unified_diff
from typing import TYPE_CHECKING, TypedDict, Unpack

from gitmem.errors import BundleBusy, InvalidContent, Refused, TooLarge, UnknownRevision, UsageError
from gitmem.git.message import Message
from gitmem.git.revisions import did_you_mean
from gitmem.memory.gate.admission import Admission
from gitmem.memory.gate.skill_guard import SkillGuard, text_of, was_taken_back
from gitmem.memory.skills.catalog import Catalog, Skill
from gitmem.memory.skills.patch import patched
from gitmem.okf import skills as form
from gitmem.okf.files import open_file
from gitmem.okf.frontmatter import plain_newlines
from gitmem.okf.pages import LogLine
from gitmem.okf.plain import Printed, few
from gitmem.okf.skills import MAX_FILE, MAX_FILES, ROOT, SKILL_FILE
from gitmem.world import platform_name

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.memory.gate.skill_guard import SkillFinding, Tier
    from gitmem.memory.origin import Origin
    from gitmem.memory.skills.usage import Uses

_NEAR = 3
_TOLD = 60
_TRIES = 20


class AskedBy(TypedDict, total=False):
    """The one who asks for a change."""

    origin: Origin | None
    by_person: bool


class _ChangedMeanwhile(Exception):
    """A file is not what a patch was made for."""


@dataclass(frozen=True, slots=True)
class SkillWrite(Printed):
    """Outcome of one action on a skill."""

    name: str
    action: str
    path: str
    commit: str = ""
    """Empty where nothing changed, or where it waits for a person."""
    held: tuple[str, ...] = ()
    """The ids in quarantine of what waits."""
    diff: str = ""
    findings: tuple[SkillFinding, ...] = ()

    @property
    def message(self) -> str:
        """One sentence for the one who asked."""
        if self.held:
            return (
                f"{self.path} waits for a person to look at it ({', '.join(self.held)}); nothing was changed."
            )
        if not self.commit:
            return f"{self.path} was so already; nothing was changed."
        return f"{self.path}: {self.action} done."


@dataclass(frozen=True, slots=True)
class SkillView(Printed):
    """One file of a skill, and the names of the others."""

    skill: Skill
    file: str
    text: str
    """Empty for what is no text."""
    files: Sequence[str]
    size: int

    @property
    def is_text(self) -> bool:
        return bool(self.text) or not self.size


class Skills:
    """The skills of one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    # Writing: one commit each

    def create(self, name: str, content: str, *, category: str = "", **asked: Unpack[AskedBy]) -> SkillWrite:
        """Make a new skill with its SKILL.md."""
        root = form.directory(name, category)
        return self._write("create", name, root, self._page(name, content), is_new=True, **asked)

    def edit(self, name: str, content: str, **asked: Unpack[AskedBy]) -> SkillWrite:
        """Put another SKILL.md in the place of the whole one."""
        skill = self._own(name)
        return self._write("edit", skill.name, skill.root, self._page(skill.name, content), **asked)

    def patch(
        self, name: str, old: str, new: str, *, file: str = "", every: bool = False, **asked: Unpack[AskedBy]
    ) -> SkillWrite:
        """Replace one passage of a file by another: where it is once, or everywhere (`every`)."""
        for _ in range(_TRIES):
            skill = self._own(name)
            where = self._file(file)
            before = self.view(name, where)
            if not before.is_text:
                raise InvalidContent(f"{where} of the skill {skill.name} is not text: it cannot be patched.")
            after = patched(before.text, old, new, every=every, where=f"{where} of the skill {skill.name}")
            if where == SKILL_FILE:
                self._page(skill.name, after)
            files, base = {where: after.encode()}, before.text.encode()
            try:
                return self._write("patch", skill.name, skill.root, files, base=base, **asked)
            except _ChangedMeanwhile:
                continue
        raise BundleBusy("Another process keeps changing this skill: try again in a moment.")

    def write_file(self, name: str, file: str, content: str | bytes, **asked: Unpack[AskedBy]) -> SkillWrite:
        """Write a supporting file, new or in the place of the one of that name."""
        skill = self._own(name)
        data = content.encode() if isinstance(content, str) else content
        return self._write("write", skill.name, skill.root, {form.check_file_path(file): data}, **asked)

    def remove_file(self, name: str, file: str, **asked: Unpack[AskedBy]) -> SkillWrite:
        """Remove a supporting file."""
        skill = self._own(name)
        if file == SKILL_FILE:
            raise InvalidContent(f"Without {SKILL_FILE} there is no skill.", hint="Delete the skill instead.")
        file = form.check_file_path(file)
        if file not in self.files(skill):
            raise UnknownRevision(
                f"The skill {skill.name} has no file {file}.", hint=_named("It has", self.files(skill))
            )
        return self._write("remove", skill.name, skill.root, {file: None}, **asked)

    def delete(self, name: str, **asked: Unpack[AskedBy]) -> SkillWrite:
        """Remove a skill with all its files; it stays in the history."""
        skill = self._own(name)
        gone: Mapping[str, bytes | None] = dict.fromkeys((SKILL_FILE, *self.files(skill)))
        return self._write("delete", skill.name, skill.root, gone, **asked)

    def import_directory(self, directory: str, *, category: str = "", **asked: Unpack[AskedBy]) -> SkillWrite:
        """Take in a skill from a directory on this machine, with all its files or not at all."""
        from gitmem.memory.skills.directory import read_skill

        name = os.path.basename(os.path.normpath(directory))
        root = form.directory(name, category)
        files = read_skill(directory)
        text = text_of(files[SKILL_FILE])
        if text is None:
            raise InvalidContent(f"{SKILL_FILE} of {directory} is not UTF-8.")
        known = next((one for one in self._catalog.of_bundle() if one.name == name), None)
        is_new = known is None or known.root != root
        gone = () if known is None or is_new else self.files(known)
        wanted = {**dict.fromkeys(gone), **files, **self._page(name, text)}
        return self._write("import", name, root, wanted, is_new=is_new, **asked)

    # Reading, from little to much

    def categories(self, *, platform: str = "") -> Mapping[str, int]:
        """The categories, each with how many skills it has; the empty one is of those that are in none."""
        return dict(sorted(Counter(one.category for one in self.list(platform=platform)).items()))

    def get(self, name: str, *, external: bool = True) -> Skill:
        """A skill by its name, or by category and name."""
        wanted = name.strip().strip("/")
        known = self.list() if external else self._catalog.of_bundle()
        found = [one for one in known if wanted in (one.name, one.title)]
        if not found:
            near = get_close_matches(wanted.rpartition("/")[2], [one.name for one in known], _NEAR)
            raise UnknownRevision(
                f"There is no skill {name[:80]!r}.",
                hint=_named("Near to it", near) or "List them with `gitmem skill list`.",
            )
        return found[0]

    def view(self, name: str, file: str = "") -> SkillView:
        """One file of a skill, SKILL.md where none is named, in the form that agents have."""
        skill = self.get(name)
        file = self._file(file)
        data = self._catalog.read(skill, file)
        files = self.files(skill)
        if data is None:
            raise UnknownRevision(f"The skill {skill.name} has no file {file}.", hint=_named("It has", files))
        return SkillView(skill, file, text_of(data) or "", files, len(data))

    def files(self, skill: Skill) -> Sequence[str]:
        """The supporting files of a skill, by their paths inside it."""
        return self._catalog.files(skill)

    def index(self, *, budget: int = 8_000, platform: str = "") -> str:
        """The skills as a prompt lists them: by category, each with its description, within `budget` characters.

        Those for this system, unless another is named.
        """
        from gitmem.memory.skills.prompt_index import PromptIndex

        return self._bundle.part(PromptIndex)(self.list(platform=platform or platform_name()), budget)

    # How they did

    def used(self, name: str, outcome: str, note: str = "", *, session: str = "") -> str:
        """Note that a skill was used and how that went (`ok`, `failed`), as an event of a session; gives its id."""
        from gitmem.memory.capture.buffer import Recording
        from gitmem.memory.capture.recorder import SKILL_USE
        from gitmem.memory.skills.usage import OUTCOMES

        if outcome not in OUTCOMES:
            raise UsageError(f"An outcome is {' or '.join(OUTCOMES)}, not {outcome!r}.")
        fields: dict[str, object] = {"skill": self.get(name).name, "outcome": outcome}
        if note := Admission(self._bundle).note(" ".join(note.split())):
            fields["note"] = note
        return self._bundle.part(Recording).record(SKILL_USE, session, fields)

    def usage(self) -> Uses:
        """Return how often each skill was used, how that went, and which one needs a patch."""
        from gitmem.memory.skills.usage import uses_of

        return uses_of(self._bundle)

    # What all of them do

    @property
    def _catalog(self) -> Catalog:
        return self._bundle.part(Catalog)

    def _own(self, name: str) -> Skill:
        """A skill of the bundle, to change."""
        skill = self.get(name)
        if skill.is_external:
            raise Refused(
                f"The skill {skill.name} is in {skill.root}, which is only read.",
                hint="Import it into the bundle to change it: `gitmem skill create NAME DIR`.",
            )
        return skill

    def _page(self, name: str, content: str) -> dict[str, bytes | None]:
        text = plain_newlines(content)
        form.check_text(name, text)
        return {SKILL_FILE: text.encode()}

    def _file(self, file: str) -> str:
        return SKILL_FILE if file in ("", SKILL_FILE) else form.check_file_path(file)

    def _write(
        self,
        action: str,
        name: str,
        root: str,
        files: Mapping[str, bytes | None],
        *,
        origin: Origin | None = None,
        by_person: bool = False,
        is_new: bool = False,
        base: bytes | None = None,
    ) -> SkillWrite:
        origin = origin or self._bundle.origin()
        for file, data in files.items():
            _check_data(file, data)
        tier: Tier = "trusted" if by_person else "community" if action == "import" else "agent"
        texts = {f"{root}/{file}": data for file, data in files.items() if data is not None}
        guard = SkillGuard(self._bundle, tier, origin=origin, by_person=by_person)
        found, held = guard.admit(name, texts)
        path = root if len(files) > 1 else f"{root}/{next(iter(files))}"
        if held:
            return SkillWrite(name, action, path, held=held, findings=found.findings)
        stored = {where: form.stored(where, data) for where, data in texts.items()}
        skill_file = f"{root}/{SKILL_FILE}"
        if skill_file in stored and found.marks:
            stored[skill_file] = form.marked(stored[skill_file], found.marks)
        wanted: dict[str, bytes | None] = {f"{root}/{file}": stored.get(f"{root}/{file}") for file in files}
        at = self._bundle.now()
        diff: list[str] = []

        def release(edits: Edits, path: str, data: bytes) -> None:
            admission = Admission(self._bundle, edits, origin=origin, by_person=True)
            for entry in open_file(path, data).units.values():
                admission.retract(entry, path, state="released")

        def work(edits: Edits) -> Message | None:
            diff.clear()
            if is_new:
                self._refuse_taken(edits, name, root)
            self._refuse_many(edits, root, wanted)
            for where, made in wanted.items():
                if base is not None and form.original(edits.read(where) or b"") != base:
                    raise _ChangedMeanwhile
                if by_person and made is not None and was_taken_back(edits, where, made):
                    release(edits, where, made)
                diff.append(_diff(edits, where, made))
                if made is not None or where in edits:
                    edits.write(where, made)
            if not edits.differs():
                return None
            what = f"{action} {name}" + (f": {few(files)}" if action not in _WHOLE else "")
            edits.log([LogLine(at, "Skill", what, f"skill:{at}:{name}")])
            return Message("skill", what)

        published = self._bundle.commit(work, purpose="skill", origin=origin)
        commit = published.commit.oid if published else ""
        shown = "\n".join(one for one in diff if one) if commit else ""
        return SkillWrite(name, action, path, commit, diff=shown, findings=found.findings)

    def _refuse_taken(self, edits: Edits, name: str, root: str) -> None:
        for one in self._catalog.in_tree(edits.tip):
            if one.name == name:
                raise InvalidContent(
                    f"There is a skill {name} already, in {one.root}.", hint="Edit or patch that one."
                )
            if root.startswith(f"{one.root}/"):
                raise InvalidContent(f"{one.root} is a skill, and so it is no category.")
        above = root
        while (above := above.rpartition("/")[0]) != ROOT:
            if (entry := edits.tip.entry(above)) is not None and not entry.is_directory:
                raise InvalidContent(
                    f"The category {above.rpartition('/')[2]} cannot be made: {above} is a file."
                )
        if edits.tip.entry(root) is not None:
            raise InvalidContent(f"{root} is a category or a file, and so it cannot be a skill.")

    def _refuse_many(self, edits: Edits, root: str, wanted: Mapping[str, bytes | None]) -> None:
        there = {path for path, _ in edits.tip.files(root)}
        after = (there | wanted.keys()) - {path for path, data in wanted.items() if data is None}
        if len(after) > MAX_FILES and len(after) > len(there):
            raise TooLarge(f"The skill would have {len(after)} files: at most {MAX_FILES}.")

    def list(
        self, category: str | None = None, *, platform: str = "", external: bool = True
    ) -> Sequence[Skill]:
        """The skills, by category and name: of one category or of all, and only those for a platform."""
        own = self._catalog.of_bundle()
        names = {one.name for one in own}
        others = [one for one in self._catalog.external() if one.name not in names] if external else []
        known = {one.category for one in (*own, *others)}
        if category and category not in known:
            hint = did_you_mean(category, known, "`gitmem skill list` shows all skills.")
            raise UnknownRevision(f"There is no category {category!r} here.", hint=hint)
        return tuple(
            one
            for one in (*own, *others)
            if (category is None or one.category == category) and one.head.runs_on(platform)
        )


_WHOLE = ("create", "edit", "delete", "import")


def _check_data(file: str, data: bytes | None) -> None:
    if data is None:
        return
    if len(data) > MAX_FILE:
        raise TooLarge(f"{file} has {len(data):,} bytes: at most {MAX_FILE:,}.")
    if (file.startswith("scripts/") or file.endswith(".md")) and text_of(data) is None:
        raise InvalidContent(f"{file} is not UTF-8 text, and a script or a page has to be.")


def _diff(edits: Edits, path: str, made: bytes | None) -> str:
    before, after = (text_of(form.original(data)) if data else "" for data in (edits.read(path), made))
    if before is None or after is None:
        return f"{path}: not text"
    name = path.removeprefix(f"{ROOT}/")
    return "\n".join(
        unified_diff(before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", lineterm="")
    )


def _named(before: str, names: Sequence[str]) -> str:
    return f"{before}: {', '.join(names[:_TOLD])}." if names else ""
