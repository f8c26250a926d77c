"""What was learned: knowledge apart from the record."""

from __future__ import annotations

import pytest
from gitmem.okf import layout
from gitmem.okf.comparison import compare
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import Change
from gitmem.okf.events import Event, EventsFile
from gitmem.okf.learned import Learned, learned
from hypothesis import given
from hypothesis import strategies as st

AT = "2026-06-30T14:00:00.000Z"
DECISION = "decisions/use-postgres_2026-06-30.md"
PART = "sessions/2026-06/30/s1/0123456789abcdef-0001.md"


def _facts(*texts: str) -> bytes:
    file = CuratedFile.new(title="MEMORY")
    for text in texts:
        file = file.add(text, file.next_at(AT))
    return file.render()


def _plan(*steps: str, **meta: object) -> bytes:
    return Concept.new(
        "Plan", "".join(f"- {step}\n" for step in steps), title="Move the server", **meta
    ).render()


def _part(*events: Event) -> bytes:
    return EventsFile.new("s1").append(events).render()


def _of(old: dict[str, bytes], new: dict[str, bytes]) -> Learned:
    return learned(compare(old, new))


def _event(number: int, kind: str, **fields: str) -> Event:
    return Event(f"0123456789abcdef0123456789abcdef-{number}", kind, AT, fields)


DECIDED = Concept.new(
    "Decision", "Use Postgres\n\n## Rationale\n\nWe query\nJSON\n", title="Use Postgres", event="x"
).render()


def test_facts_are_items() -> None:
    """Each entry of a § file is one; one that was reworded has both wordings."""
    file = CuratedFile.parse(_facts("Deploys are on Tuesdays", "Old"))
    new = file.replace(file.entries[0].key.id, "Deploys are on Thursdays", AT).remove(file.entries[1].key.id)
    found = _of(
        {layout.MEMORY: file.render()}, {layout.MEMORY: new.render(), layout.USER: _facts("Likes tea")}
    )
    assert [(item.noun, item.op, item.heading, item.title, item.was) for item in found.items] == [
        ("fact", "remove", "Facts", "Old", ""),
        ("fact", "change", "Facts", "Deploys are on Thursdays", "Deploys are on Tuesdays"),
        ("fact", "add", "About the user", "Likes tea", ""),
    ]
    assert found.in_short() == ["+1 fact", "~1 fact", "-1 fact"]
    assert not found.record.in_words()


def test_a_decision_appears_once() -> None:
    """Its page is the item, with why; its event is counted, and not listed beside it."""
    events = _part(
        _event(1, "decision", decision="Use Postgres", concept=DECISION),
        _event(2, "turn", user="hi", assistant="hello"),
    )
    found = _of(
        {}, {DECISION: DECIDED, PART: events, "sessions/2026-06/30/s1.md": Concept.new("Session").render()}
    )
    (item,) = found.items
    assert (item.noun, item.op, item.title, item.about) == (
        "decision",
        "add",
        "Use Postgres",
        "We query JSON",
    )
    assert found.in_short() == ['decided "Use Postgres"']
    assert found.record.in_words() == "2 events in 1 session"
    assert [change.key.space for change in found.events] == ["concept", "event"]


def test_a_decision_that_is_only_an_event_is_listed() -> None:
    """Where its page is not among the changes, the event is all there is."""
    found = _of({}, {PART: _part(_event(1, "decision", decision="Use Postgres", concept=DECISION))})
    assert [change.key.space for change in found.events] == ["event"]


def test_a_plan_on_its_way() -> None:
    """Made, a step done, and done: one item each, with the steps that are new."""
    path, archived = "plans/move.md", "plans/archive/2026/move.md"
    made, half = _plan("[ ] copy", "[ ] switch"), _plan("[x] copy: 2 GB", "[ ] switch")
    over = _plan("[x] copy: 2 GB", "[x] switch", status="stable", completed=AT)
    (first,) = _of({}, {path: made}).items
    assert (first.op, first.title, first.about, first.lines) == (
        "add", "Move the server", "", ("- [ ] copy", "- [ ] switch"),
    )  # fmt: skip
    step = _of({path: made}, {path: half})
    assert [(one.op, one.about, one.lines, one.parts) for one in step.items] == [
        ("change", "1 of 2 done", ("- [x] copy: 2 GB",), ())
    ]
    (done,) = _of({path: half}, {archived: over}).items
    assert (done.op, done.about, done.is_done, done.lines, done.from_path) == (
        "change", "done", True, ("- [x] switch",), path,
    )  # fmt: skip
    (back,) = _of({archived: over}, {path: half}).items
    assert (back.op, back.is_done, back.path) == ("change", False, path)
    assert _of({}, {path: made}).in_short() == ['plan "Move the server" made']


@pytest.mark.parametrize(
    ("path", "title", "about"),
    [
        ("skills/deploy/SKILL.md", "deploy", ""),
        ("skills/ops/deploy/SKILL.md", "deploy", ""),
        ("skills/deploy/references/hosts.md", "deploy", "references/hosts.md"),
        ("skills/deploy/run.sh", "deploy", "run.sh"),
    ],
)
def test_a_skill_has_a_name(path: str, title: str, about: str) -> None:
    """Each of its files tells of it."""
    (item,) = _of({}, {path: Concept.new("Skill", "Do it\n").render()}).items
    assert (item.noun, item.heading, item.title, item.about) == ("skill", "Skills", title, about)


def test_a_new_skill_is_one_thing() -> None:
    """With all its files, in folders of any name; of one that is there already each file counts."""
    skill = Concept.new("Skill", "Do it.\n", name="a", description="A").render()
    files = {f"skills/a/{name}": b"x\n" for name in ("LICENSE.txt", "reference/deep/b.md", "scripts/c.sh")}
    whole = {"skills/a/SKILL.md": skill, **files}
    assert [("add", "a")] == [(item.op, item.title) for item in _of({}, whole).items]
    assert [("remove", "a")] == [(item.op, item.title) for item in _of(whole, {}).items]
    assert 3 == len(_of({"skills/a/SKILL.md": skill}, whole).items)
    assert 2 == len(_of({}, {**whole, "skills/b/d.md": b"x\n"}).items)


def test_bookkeeping_is_no_news() -> None:
    """Front matter that gitmem keeps beside what somebody says changes nothing that was learned."""
    old = Concept.new("Decision", "Use Postgres\n", title="Use Postgres", generated={"at": AT})
    new = old.with_meta(generated={"at": "later"}, status="stable")
    assert not _of({DECISION: old.render()}, {DECISION: new.render()})
    (item,) = _of({DECISION: old.render()}, {DECISION: new.with_body("Use SQLite\n").render()}).items
    assert [change.key.space for change in item.parts] == ["body"]


def test_the_rest_of_the_record() -> None:
    """Notes by day, tools and snapshots are counted; retractions are nobody's news."""
    found = _of(
        {PART: _part(_event(1, "turn", user="a"), _event(2, "turn", user="b"))},
        {
            PART: _part(_event(2, "turn", user="b")),
            "hermes/observations/user_profile_2026-06-30.md": _facts("tea", "milk"),
            "tools/terminal.md": Concept.new("Tool").render(),
            "snapshots/good.md": Concept.new("Snapshot").render(),
            "retractions/01/0123.md": Concept.new("Retraction").render(),
        },
    )  # fmt: skip
    assert not found
    assert found.record.in_words() == "1 event less in 1 session, 2 notes about the user, 1 snapshot, 1 tool"
    assert not any(change.path.startswith("retractions/") for change in found.events)


_PATHS = st.sampled_from(
    (layout.MEMORY, DECISION, "plans/a.md", "plans/archive/2026/a.md", "skills/a/SKILL.md", "notes/a.md", PART, "x.bin",
     "sessions/2026-06/30/s1.md", "tools/t.md", "retractions/r.md", "index.md")
)  # fmt: skip
_DATA = st.sampled_from(
    (
        _facts("a"),
        _facts("a", "b"),
        DECIDED,
        _plan("[ ] a"),
        _plan("[x] a"),
        _part(_event(1, "turn", user="a")),
        b"\xff\0",
    )
)
_TREES = st.dictionaries(_PATHS, _DATA)


@given(_TREES, _TREES)
def test_every_change_is_knowledge_or_record(old: dict[str, bytes], new: dict[str, bytes]) -> None:
    """Each file that differs is told in one of the two, unless only bookkeeping differs; nothing is told of others."""
    changes = compare(old, new)
    found = learned(changes)
    told = {path for item in found.items for path in (item.path, item.from_path) if path}
    assert told <= {path for change in changes for path in (change.path, change.from_path)}
    assert not any(map(layout.is_record, told))
    assert all(layout.is_record(change.path) for change in found.events)
    plain = {
        change.path
        for change in changes
        if change.key.space in ("§", "concept", "blob") and not layout.is_record(change.path)
    }
    assert plain <= told


def test_what_moves_into_the_record_is_gone_from_what_is_known() -> None:
    """And what moves out of it has come."""
    page = "hermes/observations/user_profile_2026-06-30.md"
    (item,) = _of(
        {layout.USER: _facts("tea"), page: _facts()}, {layout.USER: _facts(), page: _facts("tea")}
    ).items
    assert (item.op, item.path, item.title) == ("remove", layout.USER, "tea")
    (item,) = _of(
        {layout.USER: _facts(), page: _facts("tea")}, {layout.USER: _facts("tea"), page: _facts()}
    ).items
    assert (item.op, item.from_path) == ("add", "")


def test_no_changes() -> None:
    """Nothing learned, nothing recorded."""
    found = learned(list[Change]())
    assert (bool(found), found.in_short(), found.record.in_words()) == (False, [], "")
