"""Knowledge in a range of changes, apart from the record of how it came about.

*Knowledge* is what a reader wants: curated facts, decisions, plans, skills, any other concept or file. The
*record* is conversations, the user's profile by day, tools, notes of snapshots, retractions and generated pages
(`layout.is_record`). Every view shows knowledge first and closes with one line about the record. A decision is one item,
though it is also an event of its session; a plan that went to the archive is one item too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, TypeVar

from gitmem.okf import layout
from gitmem.okf.entries import CONCEPT, Change, Entry, EntryKey, Op

_ARCHIVE = "plans/archive/"
BOOKKEEPING = frozenset(
    ("generated", "timestamp", "session", "event", "status", "completed", "entries", "verified", "model")
)
"""Front matter that gitmem maintains itself."""
_SIGNS: dict[Op, str] = {"add": "+", "remove": "-", "change": "~", "move": "~"}
_SKILL_FILE = "SKILL.md"


@dataclass(frozen=True, slots=True)
class LearnedItem:
    """One thing that was learned, changed or forgotten."""

    noun: str
    """What people call it: fact, decision, plan, skill, or the type of the concept in small letters."""
    op: Op
    path: str
    title: str
    """What it says in a line or so: the text of a fact, the title of anything else."""
    was: str = ""
    """What a fact said before, where it was reworded."""
    about: str = ""
    """More about it: why it was decided, how far a plan is, which file of a skill."""
    parts: tuple[Change, ...] = field(default=(), compare=False, repr=False)
    """What of a concept that stays is different: its title, its text, its tags."""
    lines: tuple[str, ...] = ()
    """What is new in a plan: its steps, as they are now."""
    is_done: bool = False
    """A plan that was finished."""
    key: EntryKey = CONCEPT
    from_path: str = ""
    unconfirmed: bool = False

    @property
    def sign(self) -> str:
        return _SIGNS[self.op]

    @property
    def heading(self) -> str:
        """Under which it is listed; the path for what has no place of its own in a bundle."""
        if self.noun == "fact":
            return _fact_heading(self.path)
        return {"decision": "Decisions", "plan": "Plans", "skill": "Skills"}.get(self.noun, self.path)


@dataclass(frozen=True, slots=True)
class RecordSize:
    """Size of the record in a range of changes."""

    came: int = 0
    """Events that came."""
    went: int = 0
    changed: int = 0
    sessions: frozenset[str] = frozenset()
    others: tuple[tuple[str, int], ...] = ()
    """What else there is, by its name: notes about the user, tools, snapshots."""

    @property
    def events(self) -> int:
        return self.came + self.went + self.changed

    def in_words(self) -> str:
        """In words, for a closing line."""
        sessions = _count(len(self.sessions), "session") if self.sessions else ""
        counted = ((self.came, ""), (self.went, " less"), (self.changed, " changed"))
        events = ", ".join(_count(number, "event") + word for number, word in counted if number)
        first = f"{events} in {sessions}" if events and sessions else events or sessions
        others = [_count(number, name) for name, number in self.others]
        return ", ".join([first, *others] if first else others)


@dataclass(frozen=True, slots=True)
class Learned:
    """Knowledge in a range of changes, and the size of the record beside it."""

    items: tuple[LearnedItem, ...] = ()
    record: RecordSize = RecordSize()
    events: tuple[Change, ...] = field(default=(), repr=False)
    """The changes of the record, without retractions and without what an item says already."""

    def __bool__(self) -> bool:
        return bool(self.items)

    def in_short(self) -> list[str]:
        """Return a short phrase for each thing learned."""
        counts: dict[tuple[str, str], int] = {}
        words: list[str] = []
        decided = [item for item in self.items if item.noun == "decision" and item.op == "add"]
        for item in self.items:
            if item.noun == "plan" and item.op != "remove":
                words.append(f'plan "{item.title}" {item.about or "made"}')
            elif item not in decided:
                counts[item.noun, item.sign] = counts.get((item.noun, item.sign), 0) + 1
        if decided:
            more = f" +{len(decided) - 1}" if len(decided) > 1 else ""
            words.insert(0, f'decided "{decided[0].title}"{more}')
        order = sorted(counts, key=lambda one: (one[0] != "fact", one[0], "+~-".index(one[1])))
        return [f"{sign}{_count(counts[noun, sign], noun)}" for noun, sign in order] + words


def learned(changes: Iterable[Change]) -> Learned:
    """The knowledge in these changes, apart from the record; see the module for what is which."""
    knowledge: dict[str, list[Change]] = {}
    record: list[Change] = []
    for change in (one for given in changes for one in _apart(given)):
        if layout.is_record(change.path):
            record.append(change)
        else:
            knowledge.setdefault(change.path, []).append(change)
    items = _with_plans_joined([item for path, group in knowledge.items() for item in _items(path, group)])
    items = without_parts_of_skills(items)
    decisions = {item.path for item in items if item.noun == "decision"}
    return Learned(tuple(sorted(items, key=_place)), _record(record), tuple(_events(record, decisions)))


def _apart(change: Change) -> tuple[Change, ...]:
    """A move between knowledge and the record as what it is for each: it came here, and went there."""
    if change.op != "move" or layout.is_record(change.path) == layout.is_record(change.from_path):
        return (change,)
    return Change(change.from_path, "remove", change.old, None), Change(change.path, "add", None, change.new)


# Knowledge


_T = TypeVar("_T", Change, LearnedItem)


def without_parts_of_skills(found: Iterable[_T]) -> list[_T]:
    """A skill that came or went as one thing, without its further files."""
    found, end = list(found), f"/{_SKILL_FILE}"
    pages = [one for one in found if one.path.endswith(end) and one.key == CONCEPT]
    whole = {(one.op, one.path.removesuffix(end)) for one in pages}

    def is_part(one: _T) -> bool:
        above = accumulate(one.path.split("/")[:-1], "{}/{}".format)
        return (
            one.op != "change" and not one.path.endswith(end) and any((one.op, way) in whole for way in above)
        )

    return [one for one in found if not (whole and is_part(one))]


def _items(path: str, changes: list[Change]) -> Iterator[LearnedItem]:
    """The items of one file: each § entry, or the file as a whole."""
    whole = [change for change in changes if change.key.space != "§"]
    yield from map(_fact, _with_rewordings([change for change in changes if change.key.space == "§"]))
    first = next((change for change in whole if change.key.space in ("concept", "blob")), None)
    if first is not None:
        yield _whole(first)
    else:
        parts = tuple(change for change in whole if change.key.id not in BOOKKEEPING)
        if parts:
            yield _changed(path, parts)


def _with_rewordings(changes: list[Change]) -> list[Change]:
    """Facts that left and came at once as one that was reworded: back to what it said, or over several wordings."""
    gone = [change for change in changes if change.op == "remove"]
    came = [change for change in changes if change.op == "add"]
    if not gone or not came:
        return changes
    from gitmem.text.similarity import pair_similar

    pairs = pair_similar([_text(change.old) for change in gone], [_text(change.new) for change in came])
    for place, change in enumerate(came):
        for number, left in enumerate(gone):
            if left.old is not None and change.new is not None and left.old.replaces == change.new.key.id:
                pairs = {**{k: i for k, i in pairs.items() if i != number}, place: number}
    reworded = {
        id(came[k]): Change(came[k].path, "change", gone[i].old, came[k].new) for k, i in pairs.items()
    }
    taken = {id(gone[i]) for i in pairs.values()}
    return [reworded.get(id(change), change) for change in changes if id(change) not in taken]


def _text(entry: Entry | None) -> str:
    return entry.text if entry is not None else ""


def _fact(change: Change) -> LearnedItem:
    entry = change.new or change.old
    assert entry is not None
    was = change.old.text if change.op == "change" and change.old is not None else ""
    marked = bool(entry.extra.get("unconfirmed"))
    about = ""
    if change.op == "move":
        about = "archived" if change.path.startswith("memories/archive/") else f"from {change.from_path}"
    return LearnedItem(
        "fact", change.op, change.path, entry.text, was, about,
        key=entry.key, from_path=change.from_path, unconfirmed=marked,
    )  # fmt: skip


def _whole(change: Change) -> LearnedItem:
    """A file that came, went, moved, or is no concept."""
    entry = change.new or change.old
    assert entry is not None
    noun = noun_of(change.path, entry.kind)
    title = entry.text if entry.key == CONCEPT else change.path.rpartition("/")[2]
    item = LearnedItem(noun, change.op, change.path, title, key=entry.key, from_path=change.from_path)
    if noun == "skill":
        title, about = skill_file_of(change.path)
        return replace(item, title=title, about=about)
    if entry.key != CONCEPT:
        return replace(item, parts=(change,), about=entry.text if entry.kind == "binary" else "")
    from gitmem.okf.concept import Concept

    concept = Concept.parse_leniently(entry.source)
    marked = "unconfirmed" in concept.meta if concept else False
    if noun == "decision" and concept is not None:
        return replace(item, about=_rationale(concept.body), unconfirmed=marked)
    if noun == "plan" and concept is not None:
        return replace(item, **_plan(change.path, concept.body), unconfirmed=marked)
    return replace(item, unconfirmed=marked)


def _changed(path: str, parts: tuple[Change, ...]) -> LearnedItem:
    """A concept that stays, and is different."""
    noun = noun_of(path)
    title = parts[0].title or path.rpartition("/")[2].removesuffix(".md")
    item = LearnedItem(noun, "change", path, title, parts=parts)
    if noun == "skill":
        title, about = skill_file_of(path)
        return replace(item, title=title, about=about)
    body = next((change for change in parts if change.key.space == "body"), None)
    if noun == "plan" and body is not None and body.new is not None:
        before = body.old.text.split("\n") if body.old is not None else []
        known = _plan(path, body.new.text)
        lines = tuple(line for line in known["lines"] if line not in before)
        rest = tuple(change for change in parts if change is not body and change.key.id != "steps")
        return replace(item, **{**known, "lines": lines}, parts=rest)
    return item


def noun_of(path: str, kind: str = "") -> str:
    """Return the noun for the file at a path: decision, plan, skill."""
    if path.startswith("skills/"):
        return "skill"
    if path.startswith("config/"):
        return "setting"
    known = {layout.DECISION: "decision", layout.PLAN: "plan"}.get(layout.default_type(path), "")
    return known or (
        kind.lower() if kind and kind != "binary" else "note" if path.endswith(".md") else "file"
    )


def _fact_heading(path: str) -> str:
    if path == layout.USER:
        return "About the user"
    if path.startswith(layout.USERS):
        return f"About the user {path.split('/')[2]}"
    if path.startswith("memories/machines/"):
        return f"Facts on {path.split('/')[2]}"
    return "Facts" if path == layout.MEMORY else "Archive" if path.startswith("memories/archive/") else path


def skill_file_of(path: str) -> tuple[str, str]:
    """The name of a skill, and which of its files it is."""
    folders = path.split("/")
    if folders[-1] == _SKILL_FILE:
        return folders[-2], ""
    # A file beside SKILL.md, or in one of the folders that skills have.
    home = next(
        (n for n, name in enumerate(folders) if name in ("references", "scripts", "templates", "assets")), -1
    )
    return folders[home - 1], "/".join(folders[home:])


def _rationale(body: str) -> str:
    """Why something was decided, as a decision's page has it."""
    return " ".join(body.partition("\n## Rationale\n")[2].split())


def _plan(path: str, body: str) -> dict[str, Any]:
    """Return the progress of a plan, and its steps."""
    steps = tuple(line for line in body.split("\n") if line.startswith("- ["))
    done = sum(line.startswith("- [x]") for line in steps)
    over = path.startswith(_ARCHIVE)
    about = "done" if over else f"{done} of {len(steps)} done" if done else ""
    return {"about": about, "lines": steps, "is_done": over}


def _with_plans_joined(items: list[LearnedItem]) -> list[LearnedItem]:
    """A plan that went to the archive, or came back from it, is one item."""
    gone = {_name(item): item for item in items if item.noun == "plan" and item.op == "remove"}
    came = {_name(item) for item in items if item.noun == "plan" and item.op == "add"}
    joined = []
    for item in items:
        before = gone.get(_name(item)) if item.noun == "plan" and item.op == "add" else None
        if before is not None:
            lines = tuple(line for line in item.lines if line not in before.lines)
            joined.append(replace(item, op="change", from_path=before.path, lines=lines))
        elif not (item.noun == "plan" and item.op == "remove" and _name(item) in came):
            joined.append(item)
    return joined


def _name(item: LearnedItem) -> str:
    return item.path.rpartition("/")[2]


_NOUNS = ("fact", "decision", "plan", "skill")


def _place(item: LearnedItem) -> tuple[int, str]:
    """Facts first, then decisions, plans and skills; the rest by path."""
    rank = _NOUNS.index(item.noun) if item.noun in _NOUNS else len(_NOUNS)
    if item.noun == "fact":
        return rank, {layout.MEMORY: "", layout.USER: "\0"}.get(item.path, item.path)
    if item.noun in ("decision", "plan"):  # a name ends with its day
        return rank, item.path.rpartition("_")[2] + item.path
    return rank, item.path


# The record


def _record(changes: list[Change]) -> RecordSize:
    ops: dict[Op, int] = {"add": 0, "remove": 0, "change": 0, "move": 0}
    sessions: set[str] = set()
    others: dict[str, int] = {}
    for change in changes:
        if change.key.space == "event":
            ops[change.op] += 1
        if session := layout.session_name(change.path):
            sessions.add(session)
        elif name := _other(change.path):
            others[name] = others.get(name, 0) + 1
    changed = ops["change"] + ops["move"]
    return RecordSize(ops["add"], ops["remove"], changed, frozenset(sessions), tuple(sorted(others.items())))


def _other(path: str) -> str:
    if path.startswith("hermes/observations/"):
        return "note about the user"
    return "tool" if path.startswith("tools/") else "snapshot" if path.startswith("snapshots/") else ""


def _events(record: list[Change], decisions: set[str]) -> Iterator[Change]:
    """The changes of the record that no item shows already."""
    for change in record:
        event = (change.new or change.old) if change.key.space == "event" else None
        is_shown = event is not None and event.kind == "decision" and event.extra.get("concept") in decisions
        if not is_shown and not change.path.startswith("retractions/"):
            yield change


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    if noun == "note about the user":
        return f"{number:,} notes about the user"
    return f"{number:,} {noun}s"
