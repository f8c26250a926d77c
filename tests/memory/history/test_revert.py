"""Undo: restore, revert and undo on entries, and what keeps retracted things out."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from gitmem.errors import InvalidContent, UnknownRevision, UsageError
from gitmem.git.message import Message
from gitmem.git.objects import Commit
from gitmem.memory.edits import Edits
from gitmem.memory.history.log import History
from gitmem.memory.history.restore import restore
from gitmem.memory.history.revert import Undo
from gitmem.memory.memory import Memory
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.entries import Change
from gitmem.okf.events import Event, EventsFile


def texts(bundle: Memory) -> list[str]:
    return [entry.text for entry in bundle.curated.entries("memory")]


def everything(bundle: Memory) -> str:
    return "\n".join((bundle.read(path) or b"").decode() for path, _ in bundle.tree().files())


def commits_of(bundle: Memory, session: str) -> list[Commit]:
    return [entry.commit for entry in bundle.log(session=session)]


def write_concept(bundle: Memory, path: str, body: str, session: str, **meta: object) -> None:
    def work(edits: Edits) -> Message | None:
        edits.write(path, Concept.new("Note", body, **meta).render())
        return Message("flush", path)

    bundle.commit(work, purpose="test", origin=bundle.origin(session=session))


def put(bundle: Memory, files: Mapping[str, bytes | None]) -> Commit:
    """A commit that puts files as they are, as plain git would."""

    def work(edits: Edits) -> Message | None:
        for path, data in files.items():
            edits.put(path, data)
        return Message("flush", "files")

    published = bundle.commit(work, purpose="test", origin=bundle.origin())
    assert published is not None
    return published.commit


def part(*numbers: int, **changed: str) -> bytes:
    """A session part with events, each with its number for a text or with another one."""
    events = [
        Event(f"w-{n}", "turn", f"2026-06-30T14:00:0{n}Z", {"text": changed.get(f"w{n}", f"{n}")})
        for n in numbers
    ]
    return EventsFile.new("s").append(events).render()


@pytest.fixture
def poisoned(bundle: Memory) -> Memory:
    """Honest work, a session that adds, rewords and removes, and an honest session afterwards."""
    with bundle.session("h0") as session:
        session.record_observation("honest beginning")
    for text in ("fact one", "fact two", "fact three"):
        bundle.curated.add(text, origin=bundle.origin(session="h0"))
    write_concept(bundle, "notes/plan.md", "honest plan\n", "h0", title="Plan")
    bundle.snapshots.create("clean", origin=bundle.origin())
    bad = bundle.origin(session="bad", source="report.txt")
    with bundle.session("bad") as session:
        session.record_observation("bad was here")
        bundle.curated.add("poison fact", origin=bad)
        bundle.curated.replace("fact two", "fact two, poisoned", origin=bad)
        bundle.curated.remove("fact three", origin=bad)
        write_concept(bundle, "notes/plan.md", "poisoned plan\n", "bad", title="Plan")
        write_concept(bundle, "notes/evil.md", "evil note\n", "bad", title="Evil")
    with bundle.session("h1") as session:
        session.record_observation("honest work")
        bundle.curated.add("fact four", origin=bundle.origin(session="h1"))
    return bundle


def test_revert_of_a_session_takes_its_poison_and_keeps_the_rest(poisoned: Memory) -> None:
    """Added goes, removed comes back, reworded goes back, later learning stays; all in one commit."""
    before = poisoned.tip
    done = poisoned.revert(session="bad", reason="poisoned")
    assert done.published is not None
    assert done.published.commit.parents == (before,)
    assert texts(poisoned) == ["fact one", "fact two", "fact three", "fact four"]
    assert poisoned.read("notes/plan.md") == (poisoned.read("notes/plan.md", "clean"))
    tree = everything(poisoned)
    assert "poison" not in tree.replace("reason: poisoned", "")
    assert "evil" not in tree
    assert "bad was here" not in tree
    assert "honest work" in tree
    assert set(poisoned.show("HEAD").entry.trailers["Reverts"]) == {
        commit.oid for commit in commits_of(poisoned, "bad")
    }


def test_a_dry_run_changes_nothing_and_says_the_same(poisoned: Memory) -> None:
    """The changes that are told are those that are made."""
    tip = poisoned.tip
    told = poisoned.revert(session="bad", dry_run=True)
    assert poisoned.tip == tip
    made = poisoned.revert(session="bad")

    def core(changes: Sequence[Change]) -> list[tuple[str, str]]:
        return [(c.path, c.op) for c in changes if not c.path.startswith("retractions/")]

    assert core(told.changes) == core(made.changes)


def test_reverting_twice_changes_nothing(poisoned: Memory) -> None:
    """The second time there is nothing to do, and no commit."""
    poisoned.revert(session="bad")
    tip = poisoned.tip
    assert poisoned.revert(session="bad").published is None
    assert poisoned.tip == tip


def test_reverting_the_revert_brings_all_back(poisoned: Memory) -> None:
    """The tree is what it was before the revert, log and retractions included."""
    before = poisoned.tree().oid
    done = poisoned.revert(session="bad")
    assert done.published is not None
    poisoned.part(Undo).revert([done.published.commit], origin=poisoned.origin(), retracting=False)
    assert poisoned.tree().oid == before


def test_undo_takes_a_revert_back(poisoned: Memory) -> None:
    """`undo` is the same, found by itself; a second undo goes to what was before."""
    before = poisoned.tree().oid
    poisoned.revert(session="bad")
    poisoned.undo()
    assert poisoned.tree().oid == before
    assert poisoned.undo().commits[0].subject.startswith("memory: ")


def test_undo_passes_over_what_never_came_to_be(bundle: Memory) -> None:
    """A line of the reflog is written before the ref moves: one whose commit is not in the history counts for nothing."""
    bundle.remember("The shop opens at nine.")
    before = bundle.tip
    bundle.remember("The shop closes at five.")
    restore(bundle, before, origin=bundle.origin())
    bundle.repository.refs.set("refs/heads/main", before, expected=bundle.tip)
    assert [commit.oid for commit in Undo(bundle).undo(origin=bundle.origin()).commits] == [before]
    with pytest.raises(UnknownRevision, match="Nothing to undo"):
        Undo(bundle).undo(origin=bundle.origin())


def test_redo_takes_an_undo_back(poisoned: Memory) -> None:
    """What the undo took back comes again, retractions included, as a commit that names the undo."""
    poisoned.revert(session="bad")
    reverted = poisoned.tree().oid
    undone = poisoned.undo()
    told = poisoned.redo(dry_run=True)
    assert poisoned.tip == undone.commit
    done = poisoned.redo()
    assert poisoned.tree().oid == reverted
    assert (done.commits[0].oid, done.changes) == (undone.commit, told.changes)
    made = poisoned.show(done.commit).entry
    assert (made.trailers["Reverts"], made.trailers["Source"]) == ((undone.commit,), ("redo",))
    assert made.subject.startswith("revert: redo revert: ")
    answer = poisoned.remember("poison fact")
    assert answer.held


def test_undo_and_redo_go_back_and_forth(bundle: Memory) -> None:
    """Two steps back and two forward; a redo is undone like anything else, and the one before it after that."""
    for text in ("one", "two", "three"):
        bundle.remember(text)
        bundle.snapshot(text)
    three = bundle.tree().oid
    bundle.restore("two")
    two = bundle.tree().oid
    bundle.restore("one")
    one = bundle.tree().oid

    def undo_redo(*verbs: str) -> list[str]:
        states = []
        for verb in verbs:
            bundle.undo() if verb == "undo" else bundle.redo()
            states.append({one: "one", two: "two", three: "three"}[bundle.tree().oid])
        return states

    assert undo_redo("undo", "undo", "redo", "redo") == ["two", "three", "two", "one"]
    assert undo_redo("undo", "redo", "undo", "undo") == ["two", "one", "two", "three"]
    assert undo_redo("redo", "undo", "redo", "redo") == ["two", "three", "two", "one"]
    with pytest.raises(UnknownRevision, match="no undo to take back"):
        bundle.redo()


def test_redo_keeps_what_came_since(bundle: Memory) -> None:
    """Facts between undo and redo stay, also one that was reworded meanwhile."""
    bundle.remember("old fact")
    bundle.snapshot("good")
    bundle.remember("late fact")
    bundle.remember("later fact")
    bundle.restore("good")
    bundle.undo()
    bundle.remember("since")
    bundle.replace("later fact", "later fact, reworded")
    done = bundle.redo()
    assert texts(bundle) == ["old fact", "later fact, reworded", "since"]
    assert [(change.op, change.old and change.old.text) for change in done.changes] == [
        ("remove", "late fact")
    ]


def test_a_new_decision_ends_what_can_be_redone(bundle: Memory) -> None:
    """After a restore or revert there is nothing to redo."""
    with pytest.raises(UnknownRevision, match="no undo"):
        bundle.redo()
    bundle.remember("one")
    bundle.snapshot("good")
    bundle.remember("two")
    bundle.restore("good")
    bundle.undo()
    bundle.remember("three")
    bundle.revert(text="three")
    with pytest.raises(UnknownRevision, match="no undo"):
        bundle.redo()
    bundle.remember("four")
    bundle.undo()
    assert "four" not in texts(bundle)
    bundle.redo()
    assert "four" in texts(bundle)
    bundle.undo()
    assert texts(bundle) == ["one", "two"]


def test_what_was_changed_since_stays_and_is_told(poisoned: Memory) -> None:
    """A later wording of a poisoned entry wins over the old one."""
    poisoned.curated.replace("poisoned", "fact two, looked at again", origin=poisoned.origin(session="h2"))
    done = poisoned.revert(session="bad")
    assert "fact two, looked at again" in texts(poisoned)
    assert [notice.kind for notice in done.kept] == ["kept-wording"]


PART, LATER_PART = "sessions/2026-06/30/s/w-0001.md", "sessions/2026-06/30/s/w-0002.md"


def test_an_event_that_was_changed_goes_back_beside_later_ones(bundle: Memory) -> None:
    """What an event said before is there again, though its part grew since; nothing of it is retracted."""
    put(bundle, {PART: part(1, 2)})
    chosen = put(bundle, {PART: part(1, 2, w1="reworded")})
    put(bundle, {PART: part(1, 2, 3, w1="reworded")})
    bundle.part(Undo).revert([chosen], origin=bundle.origin())
    assert bundle.read(PART) == part(2, 3, 1)
    assert not bundle.tree().names("retractions")


def test_an_event_that_moved_goes_back_beside_later_ones(bundle: Memory) -> None:
    """An event that went to another part is in its own again, though both parts grew since."""
    put(bundle, {PART: part(1, 2)})
    chosen = put(bundle, {PART: part(1), LATER_PART: part(2)})
    put(bundle, {PART: part(1, 3), LATER_PART: part(2, 4)})
    bundle.part(Undo).revert([chosen], origin=bundle.origin())
    assert bundle.read(PART) == part(1, 3, 2)
    assert bundle.read(LATER_PART) == part(4)
    assert not bundle.tree().names("retractions")


def test_a_concept_that_moved_goes_back_as_it_is_now(bundle: Memory) -> None:
    """A later edit travels along; where the old place is taken, the concept stays."""
    old, new = (Concept.new("Note", body, title="Plan").render() for body in ("a", "b"))
    put(bundle, {"notes/a.md": old, "notes/b.md": None})
    chosen = put(bundle, {"notes/a.md": None, "notes/b.md": old})
    put(bundle, {"notes/b.md": new})
    bundle.part(Undo).revert([chosen], origin=bundle.origin(), dry_run=True)
    taken = put(bundle, {"notes/a.md": old})
    assert not bundle.part(Undo).revert([chosen], origin=bundle.origin()).changes
    bundle.part(Undo).revert([taken], origin=bundle.origin(), retracting=False)
    bundle.part(Undo).revert([chosen], origin=bundle.origin())
    assert (bundle.read("notes/a.md"), bundle.read("notes/b.md")) == (new, None)


def test_front_matter_goes_back_key_by_key(bundle: Memory) -> None:
    """Keys that nobody touched since go back, the others and a text that was rewritten stay and are named."""
    path = "notes/plan.md"
    put(bundle, {path: Concept.new("Note", "a", title="A", status="open").render()})
    chosen = put(bundle, {path: Concept.new("Note", "b", title="B", tags=["x"], owner="me").render()})
    put(bundle, {path: Concept.new("Note", "c", title="B", tags=["x"], owner="you").render()})
    done = bundle.part(Undo).revert([chosen], origin=bundle.origin())
    concept = bundle.concept(path)
    assert concept is not None
    assert (dict(concept.meta), concept.body) == (
        {"type": "Note", "title": "A", "status": "open", "owner": "you"},
        "c",
    )
    assert [str(notice) for notice in done.kept] == [
        f"{path}: its text was changed again since, so it stays.",
        f"{path}: `owner` was changed again since, so it stays.",
    ]


def test_a_file_that_broke_since_stays_and_is_told(bundle: Memory) -> None:
    """A concept or a part that cannot be read any more stops no revert; a § file gives up the entry."""
    broken = b"---\ntype: [\n---\n"
    put(bundle, {"notes/a.md": Concept.new("Note", "a", title="A").render(), PART: part(1, 2)})
    bundle.curated.add("fact one", origin=bundle.origin())
    bundle.curated.add("fact two", origin=bundle.origin(session="bad"))
    new = {"notes/a.md": Concept.new("Note", "a").render(), PART: part(2)}
    chosen = [put(bundle, new), *commits_of(bundle, "bad")]
    put(bundle, dict.fromkeys(new, broken) | {layout.MEMORY: broken + "fact one\n§\nfact two".encode()})
    done = bundle.part(Undo).revert(chosen, origin=bundle.origin())
    assert [str(notice) for notice in done.kept] == [
        f"{PART}: rewritten since, so it stays.",
        "notes/a.md: `title` was changed again since, so it stays.",
    ]
    assert [bundle.read(path) for path in new] == [broken, broken]
    assert texts(bundle) == ["fact one"]


def test_a_bare_section_file_that_got_front_matter_can_be_reverted(bundle: Memory) -> None:
    """What came with the front matter goes, but for the type, without which it would be no file of ours."""
    put(bundle, {layout.MEMORY: b"fact one"})
    chosen = put(bundle, {layout.MEMORY: b"---\ntype: CuratedMemory\ntitle: Mine\n---\nfact one"})
    bundle.curated.add("fact two", origin=bundle.origin())
    bundle.part(Undo).revert([chosen], origin=bundle.origin())
    assert texts(bundle) == ["fact one", "fact two"]
    concept = bundle.concept(layout.MEMORY)
    assert concept is not None
    assert [key for key in concept.meta if key != "entries"] == ["type"]


def test_a_restore_does_not_bring_retracted_things_back(poisoned: Memory) -> None:
    """Going back to a state in the middle of the poison leaves the poison out."""
    middle = commits_of(poisoned, "bad")[0].oid
    poisoned.revert(session="bad")
    done = poisoned.restore(middle)
    assert done.withheld > 0
    assert "poison fact" not in texts(poisoned)
    assert "evil note" not in everything(poisoned)
    assert "poisoned plan" not in everything(poisoned)


def below(bundle: Memory, directory: str) -> dict[str, bytes | None]:
    return {path: bundle.read(path) for path, _ in bundle.tree().files(directory)}


EVERYWHERE = ["memories", "notes", "sessions", "retractions", "config", layout.LOG]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"everything": True},
        {"paths": EVERYWHERE},
        {"paths": EVERYWHERE, "everything": True},
        {"paths": ["retractions"]},
    ],
)
def test_no_restore_across_a_retraction_takes_it_back(poisoned: Memory, how: dict[str, Any]) -> None:
    """Whole, below paths or without sessions, to before and after the poison: retractions stay, poison stays out."""
    moments = [poisoned.tip, commits_of(poisoned, "bad")[0].oid, poisoned.snapshots.get("clean").commit]
    poisoned.part(Undo).revert(commits_of(poisoned, "bad"), origin=poisoned.origin(reason="why"))
    write_concept(poisoned, layout.CONFIG_ERASED, "what was erased\n", "h2")
    kept = {**below(poisoned, "retractions"), **below(poisoned, "config")}
    assert len(kept) > 5
    for moment in [*moments, *moments]:  # the second time over a tree that a restore made
        restore(poisoned, moment, origin=poisoned.origin(), **how)
        assert kept == {**below(poisoned, "retractions"), **below(poisoned, "config")}
        tree = everything(poisoned)
        for poison in ("poison", "evil note", "bad was here"):
            assert poison not in tree
        if how != {"paths": ["retractions"]}:
            assert ("fact four" in texts(poisoned)) == (moment == moments[0])
    assert poisoned.curated.add("poison fact", origin=poisoned.origin(session="h3")).held


def test_a_restore_says_how_much_stays_out(poisoned: Memory) -> None:
    """One for each entry, event and wording, the same in a dry run, which changes nothing."""
    before = poisoned.tip
    poisoned.part(Undo).revert(commits_of(poisoned, "bad"), origin=poisoned.origin())
    tip = poisoned.tip
    told = restore(poisoned, before, everything=True, origin=poisoned.origin(), dry_run=True)
    assert tip == poisoned.tip
    assert told.published is None
    made = restore(poisoned, before, everything=True, origin=poisoned.origin())
    # Two § entries, the event, its session, the note, and the rewritten body of another.
    assert 6 == told.withheld == made.withheld
    assert (before, f"restore: to {before} ({before[:12]})") == (
        made.target,
        poisoned.part(History).entry("HEAD").commit.subject,
    )


def test_a_restored_log_lacks_what_was_reverted_since(poisoned: Memory) -> None:
    """Its lines carry texts too: those of the revert stay out, the others are there, and all after its undo."""
    before = poisoned.tip
    log = poisoned.read_log()
    poisoned.part(Undo).revert(commits_of(poisoned, "bad"), origin=poisoned.origin())
    poisoned.curated.add("learned since", origin=poisoned.origin())
    restore(poisoned, before, origin=poisoned.origin())
    assert "honest work" in poisoned.read_log()
    assert "fact four" in poisoned.read_log()
    assert "poison" not in poisoned.read_log()
    assert "learned since" not in poisoned.read_log()
    for _ in ("the restore", "what was learned since", "the revert"):
        poisoned.undo()
    # Some other retraction, so that the log is gone through again.
    poisoned.curated.add("slip", origin=poisoned.origin(session="slip"))
    poisoned.part(Undo).revert(commits_of(poisoned, "slip"), origin=poisoned.origin())
    restore(poisoned, before, origin=poisoned.origin())
    assert log == poisoned.read_log()


def test_an_agent_that_writes_a_retracted_text_is_held_and_a_person_releases_it(poisoned: Memory) -> None:
    """The text waits in quarantine; a person's own add lifts the retraction."""
    poisoned.revert(session="bad")
    answer = poisoned.curated.add("poison fact", origin=poisoned.origin(session="h3"))
    assert answer.held
    assert "poison fact" not in texts(poisoned)
    poisoned.curated.add("poison fact", origin=poisoned.origin(), by_person=True)
    assert "poison fact" in texts(poisoned)


def test_restore_gives_the_tree_exactly(poisoned: Memory) -> None:
    """Without retractions the tree is that of the revision; nothing of the history is lost."""
    target = poisoned.snapshots.get("clean").commit
    before = poisoned.tip
    done = poisoned.restore("clean", everything=True)
    assert poisoned.tree().oid == poisoned.repository.tree(target).oid
    assert done.published is not None
    assert done.published.commit.parents == (before,)
    assert poisoned.restore("clean", everything=True).published is None
    poisoned.undo()
    assert poisoned.tree().oid == poisoned.repository.tree(before).oid


def test_restore_of_a_path_and_without_sessions(poisoned: Memory) -> None:
    """`--path` leaves the rest; conversations stay, unless everything is asked for."""
    poisoned.restore("clean", paths=["memories"])
    assert texts(poisoned) == ["fact one", "fact two", "fact three"]
    assert "notes/evil.md" in poisoned.tree()
    poisoned.restore("clean")
    assert "notes/evil.md" not in poisoned.tree()
    assert poisoned.sessions.find("h1") is not None
    poisoned.restore("clean", everything=True)
    assert poisoned.sessions.find("h1") is None
    with pytest.raises(UnknownRevision):
        poisoned.restore("clean", paths=["no/such"])


def test_restore_to_a_session_and_a_date(poisoned: Memory) -> None:
    """`session:ID` is the state just before it."""
    poisoned.restore("session:bad")
    assert texts(poisoned) == ["fact one", "fact two", "fact three"]


def test_a_hand_edit_survives_a_restore(poisoned: Memory) -> None:
    """It is committed first, so the history has it."""
    with open(poisoned.repository.worktree.path("notes/plan.md"), "w") as file:
        file.write("---\ntype: Note\n---\nby hand\n")
    poisoned.take_in_edits(strict=True)
    poisoned.restore("clean")
    assert b"by hand" in (poisoned.read("notes/plan.md", "HEAD~1") or b"")


def test_snapshots(bundle: Memory) -> None:
    """Named ones are tags with a concept; names are checked, unique and deletable."""
    first = bundle.snapshots.create("before", "all well", origin=bundle.origin(session="s1", model="m"))
    concept = bundle.concept(layout.snapshot("before"))
    assert concept is not None
    assert (concept.type, concept.meta["model"], concept.body) == ("Snapshot", "m", "all well\n")
    assert first.commit == bundle.tip
    with pytest.raises(InvalidContent, match="already"):
        bundle.snapshots.create("before", origin=bundle.origin())
    for bad in ("a..b", "with space", "x~y", "auto/x", "-"):
        if bad != "-":
            with pytest.raises(InvalidContent):
                bundle.snapshots.create(bad, origin=bundle.origin())
    names = {bundle.snapshots.create(origin=bundle.origin()).name for _ in range(3)}
    assert len(names) == 3
    bundle.snapshots.delete("before")
    with pytest.raises(UnknownRevision):
        bundle.snapshots.get("before")


def test_automatic_snapshots_are_not_doubled(make_bundle: Callable[..., Memory]) -> None:
    """No change, no new one; they write no concept; the setting turns them off."""
    bundle = make_bundle()
    tree = bundle.tree().oid
    assert bundle.snapshots.automatic() is not None
    assert bundle.snapshots.automatic() is None
    assert bundle.tree().oid == tree
    off = make_bundle("off", auto_snapshot=False)
    with off.session("s1") as session:
        session.record_observation("x")
    assert off.snapshots.all() == []


def test_blame_tells_origin_reason_and_rewording(poisoned: Memory) -> None:
    """Introduced, reworded, by which session; removed ones with when they left."""
    found = poisoned.blame(layout.MEMORY, removed=True)
    stories = {story.entry.text: story for story in found}
    reworded = stories["fact two, poisoned"]
    assert (reworded.introduced.session, reworded.changed.session, reworded.times) == ("h0", "bad", 1)
    assert reworded.replaced == "fact two"
    gone = stories["fact three"].left
    assert gone is not None
    assert gone.session == "bad"
    assert stories["fact four"].introduced.session == "h1"
    with pytest.raises(UnknownRevision):
        poisoned.blame("no/such.md")


def test_trace_tells_the_life_and_the_blast_radius(poisoned: Memory) -> None:
    """Where it came from, who had it in the prompt and what they wrote, and the command to run."""
    with poisoned.session("reader") as session:
        assert "poison fact" in session.prompt_block()
        poisoned.curated.add("follows from poison", origin=poisoned.origin(session="reader"))
    found = poisoned.trace("poison fact")
    [life] = [life for life in found.lives if life.path == layout.MEMORY]
    assert (life.came.session, life.left) == ("bad", None)
    exposed = {one.session: one for one in found.exposed}
    assert exposed["reader"].in_prompt
    assert life.came.id[:12] in found.command
    with pytest.raises(UnknownRevision):
        poisoned.trace("never said")


def test_derived_entries_are_listed_and_taken_along(bundle: Memory) -> None:
    """What names a reverted entry in Derived-From is told, and goes with `--derived`, transitively."""
    bundle.curated.add("root lie", origin=bundle.origin(session="bad"))
    root = bundle.curated.entries("memory")[0].key.id
    bundle.curated.add("child", origin=bundle.origin(session="h1", derived_from=(root,)))
    child = bundle.curated.entries("memory")[1].key.id
    bundle.curated.add("grandchild", origin=bundle.origin(session="h2", derived_from=(child,)))
    told = bundle.revert(session="bad", dry_run=True)
    assert (len(told.commits), [one.session for one in told.derived]) == (1, ["h1", "h2"])
    done = bundle.revert(session="bad", derived=True)
    assert (texts(bundle), len(done.commits), all(one.taken for one in done.derived)) == ([], 3, True)


def test_selection_by_source_agent_and_text(poisoned: Memory) -> None:
    """Each way to name commits finds them; nothing fitting is an error."""
    by_source = poisoned.revert(source="report.txt", dry_run=True)
    assert len(by_source.commits) == 3
    by_text = poisoned.revert(text="poison fact", dry_run=True)
    assert {commit.subject for commit in by_text.commits} >= {"memory: add poison fact"}
    with pytest.raises(UnknownRevision):
        poisoned.revert(session="nobody")
    with pytest.raises(UsageError, match="what to take back"):
        poisoned.revert()


def test_a_revert_equals_a_history_without_those_commits(make_bundle: Callable[..., Memory]) -> None:
    """Random subsets: where later commits touched other entries, the store is as if they never happened."""
    rng = random.Random(7)
    for round_number in range(6):
        bundle, other = make_bundle(f"a{round_number}"), make_bundle(f"b{round_number}")
        plan = []
        for step in range(12):
            plan.append((f"s{step}", f"fact {round_number}-{step}", rng.random() < 0.4))
        for session, text, _ in plan:
            bundle.curated.add(text, origin=bundle.origin(session=session))
        for session, text, doomed in plan:
            if not doomed:
                other.curated.add(text, origin=other.origin(session=session))
        sessions = {session for session, _, doomed in plan if doomed}
        chosen = [entry.id for entry in bundle.log() if entry.session in sessions]
        if chosen:
            bundle.revert(*chosen)
        assert texts(bundle) == texts(other)


def test_undo_takes_back_whatever_was_last(bundle: Memory) -> None:
    """A note, a plan step, a decision of a session, a rewording, a removal: one by one, the record stays."""
    bundle.remember("Deploys happen on Tuesdays")
    bundle.replace("Tuesdays", "Deploys happen on Thursdays")
    bundle.forget("Thursdays")
    write_concept(bundle, "notes/plan.md", "honest plan\n", "", title="Plan")
    with bundle.session("night") as session:
        session.record_turn("Which database?", "Postgres.")
        session.record_decision("Use Postgres", "We query JSON")
    undone = [bundle.undo() for _ in range(4)]
    assert [[commit.subject.partition(":")[0] for commit in one.commits] for one in undone] == [
        ["flush"],
        ["flush"],
        ["memory"],
        ["memory"],
    ]
    assert texts(bundle) == ["Deploys happen on Tuesdays"]
    assert "notes/plan.md" not in dict(bundle.tree().files())
    assert not any(path.startswith("decisions/") for path, _ in bundle.tree().files())
    assert "Which database?" in everything(bundle)
    assert [change.what for change in bundle.undoable()] == ["memory: add Deploys happen on Tuesdays"]
    for _ in range(4):
        bundle.redo()
    assert texts(bundle) == []
    assert "notes/plan.md" in dict(bundle.tree().files())


def test_undo_is_not_stuck_at_a_change_without_effect(bundle: Memory) -> None:
    """What was taken back by hand since is passed over."""
    bundle.remember("keep")
    bundle.remember("oops")
    before = bundle.tip
    bundle.forget("oops")
    bundle.revert(bundle.tip)
    bundle.forget("oops")
    path = "memories/MEMORY.md"
    put(bundle, {path: b"x\n"})
    put(bundle, {path: bundle.repository.tree(before).read(path)})
    taken = [bundle.undo().changes for _ in range(3)]
    assert all(taken)


def test_an_agent_brings_back_nothing_that_a_person_removed(bundle: Memory) -> None:
    """Not by undo, redo, revert or restore; what agents removed comes back, and the person can bring back everything."""
    person = bundle.origin(agent=bundle.world.person)
    for text in ("Alpha is in Berlin", "Beta is in Bonn", "Gamma is in Graz"):
        bundle.remember(text)
    full = bundle.tip
    bundle.forget("Gamma")
    bundle.curated.remove("Alpha", origin=person)
    forgotten = bundle.tip
    with pytest.raises(UsageError, match="a person removed"):
        bundle.undo()
    assert bundle.revert(forgotten).commit == ""
    assert bundle.restore(full).withheld == 1
    assert texts(bundle) == ["Beta is in Bonn", "Gamma is in Graz"]
    added = bundle.curated.add("Delta is in Dresden", origin=person).commit
    bundle.part(Undo).revert([bundle.repository.store.commit(bundle.resolve(added))], origin=person)
    undone = bundle.tip
    assert bundle.revert(undone).commit == ""
    assert "Delta is in Dresden" not in texts(bundle)
    bundle.part(Undo).undo(origin=person)
    assert "Delta is in Dresden" in texts(bundle)


def test_memory_undo_takes_the_last_change_back(bundle: Memory) -> None:
    """Without a retraction: the same text may be added again."""
    bundle.curated.add("keep")
    bundle.curated.add("oops")
    bundle.undo()
    assert texts(bundle) == ["keep"]
    assert bundle.curated.add("oops").changed


@pytest.mark.parametrize("session", ["s-1", "s\x01-1", "s\t-1"])
def test_a_blank_source_hides_no_commit_of_a_session(bundle: Memory, session: str) -> None:
    """Whatever a tool call puts into its source or session, `revert --session` finds and takes back what it wrote."""
    bundle.curated.add("poison", origin=bundle.origin(session=session, source="\x1b \x07"))
    assert [entry.kind for entry in bundle.log(session=session)] == ["memory"]
    bundle.revert(session=session)
    assert texts(bundle) == []
