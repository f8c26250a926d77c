"""Restore in detail: exactly the files of that moment, but for what was retracted since."""

from __future__ import annotations

import pytest
from gitmem.errors import UnknownRevision
from gitmem.git.message import Message
from gitmem.memory.edits import Edits
from gitmem.memory.history.log import History, LogFilter
from gitmem.memory.history.restore import restore
from gitmem.memory.history.revert import Undo
from gitmem.memory.memory import Memory
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.events import EventsFile

NOTE = Concept.new("Note", "honest\n").render()


def commit(bundle: Memory, session: str, **files: bytes | None) -> str:
    """A commit that some session made; gives its id."""

    def work(edits: Edits) -> Message:
        for path, data in files.items():
            edits.put(path, data)
        if any(map(layout.is_generated, files)):
            edits.keep_pages()
        return Message("flush", ", ".join(files))

    bundle.commit(work, purpose="test", origin=bundle.origin(session=session))
    return bundle.tip


def revert(bundle: Memory, session: str) -> None:
    chosen = [entry.commit for entry in bundle.part(History).log(LogFilter(session=(session,)))]
    bundle.part(Undo).revert(chosen, origin=bundle.origin())


def slip(bundle: Memory) -> None:
    """Something that was reverted, so that every restore has to look for what was retracted."""
    bundle.curated.add("slip", origin=bundle.origin(session="slip"))
    revert(bundle, "slip")


def test_a_restore_of_everything_is_exact_and_a_part_of_it_has_pages_of_its_own(bundle: Memory) -> None:
    """Whole, the pages are those of the moment, to the byte; else they list what is there now."""
    odd = b"# Odd\n"
    target = commit(bundle, "s", **{"decisions/a.md": NOTE, "decisions/index.md": odd, "tools/t.md": NOTE})
    assert odd == bundle.read("decisions/index.md")
    later = {
        "decisions/a.md": None,
        "decisions/b.md": NOTE,
        "sessions/2026-06/30/s.md": NOTE,
        "tools/t.md": None,
    }
    tip = commit(bundle, "s", **later)
    for paths in (["decisions"], ["decisions/"], []):
        restore(bundle, target, paths=paths, origin=bundle.origin())
        page = (bundle.read("decisions/index.md") or b"").decode()
        assert "a.md" in page
        assert "b.md" not in page
        assert "sessions/2026-06/30/s.md" in bundle.tree()
        assert "tools/t.md" not in bundle.tree()
        restore(bundle, tip, everything=True, origin=bundle.origin())
        assert bundle.repository.tree(tip).oid == bundle.tree().oid
    restore(bundle, target, everything=True, origin=bundle.origin())
    assert bundle.repository.tree(target).oid == bundle.tree().oid


def test_what_waits_is_recorded_before_a_restore(bundle: Memory) -> None:
    """An event in the buffer happened before it, so the history has it; a dry run leaves it waiting."""
    target = bundle.tip
    with bundle.session("open") as session:
        session.buffer.push("observation", content="pending words")
        restore(bundle, target, dry_run=True, origin=bundle.origin())
        assert 1 == len(session.buffer)
        restore(bundle, target, origin=bundle.origin())
        assert 0 == len(session.buffer)
    assert any("pending words" in event.text for event in bundle.sessions.events("open"))


def test_a_restore_tells_its_changes(bundle: Memory) -> None:
    """In entries, the same before and after it is made; a path that never was is named."""
    target = bundle.tip
    bundle.curated.add("later", origin=bundle.origin())
    told = restore(bundle, target, dry_run=True, origin=bundle.origin())
    made = restore(bundle, target, origin=bundle.origin())
    for done in (told, made):
        assert ["later"] == [
            change.old.text for change in done.changes if change.old and change.op == "remove"
        ]
    with pytest.raises(UnknownRevision, match=r"nor the present has anything at 'no/such'"):
        restore(bundle, target, paths=["no/such"], origin=bundle.origin())


def test_a_session_part_without_its_retracted_events(bundle: Memory) -> None:
    """Those that nobody retracted come back alone; a part of which nothing is left goes."""
    moments = []
    with bundle.session("s") as session:
        for text in ("bad words", "honest words"):
            session.record_observation(text)
            session.buffer.flush()
            moments.append(bundle.tip)
    bundle.part(Undo).revert([bundle.repository.store.commit(moments[0])], origin=bundle.origin())
    [part] = [path for path in bundle.list_concepts("sessions") if "/s/" in path]
    restore(bundle, moments[0], everything=True, origin=bundle.origin())
    assert part not in bundle.tree()
    done = restore(bundle, moments[1], everything=True, origin=bundle.origin())
    assert 1 == done.withheld
    [event] = EventsFile.parse(bundle.read(part) or b"").events
    assert "honest words" == event.fields["content"]
    restore(bundle, moments[0], everything=True, origin=bundle.origin())
    assert part not in bundle.tree()


def test_what_nobody_retracted_comes_back_to_the_byte(bundle: Memory) -> None:
    """Also a § file in a form that gitmem does not write, while other things are retracted."""
    slip(bundle)
    bare, odd = "one\n§\ntwo".encode(), b"---\r\ntype: Note\r\n---\r\nby an editor\r\n"
    part = EventsFile.new("s").render() + b"a person's note, and no event\n"
    files = {
        layout.MEMORY: bare,
        "notes/n.md": odd,
        "notes/x.txt": b"blob",
        "notes/empty.txt": b"",
        "sessions/2026-06/30/s/w-0001.md": part,
    }
    target = commit(bundle, "s", **files)
    commit(bundle, "s", **dict.fromkeys(files, NOTE))
    done = restore(bundle, target, everything=True, origin=bundle.origin())
    assert 0 == done.withheld
    assert files == {path: bundle.read(path) for path in files}


def test_whatever_was_retracted_stays_out(bundle: Memory) -> None:
    """A blob, an entry of a § file in another place, a concept and its line in the index, the part of a bare file."""
    before = commit(bundle, "s", **{"notes/fine.md": NOTE})
    section = CuratedFile.new(title="Facts").add("fine", bundle.now()).add("lie", bundle.now()).render()
    bad = {
        "skills/a/b/assets/x.svg": b"evil picture",
        "notes/facts.md": section,
        "decisions/evil.md": Concept.new("Decision", "evil words\n", title="Evil").render(),
        layout.USER: "fine too\n§\nanother lie".encode(),
    }
    target = commit(bundle, "bad", **bad)
    revert(bundle, "bad")
    assert [] == [path for path in bad if path in bundle.tree() and path != layout.USER]
    done = restore(bundle, target, origin=bundle.origin())
    # Every entry of the four files came with that commit.
    assert 6 == done.withheld
    for path, _ in bundle.tree().files():
        for word in (b"evil", b"Evil", b"lie"):
            assert word not in (bundle.read(path) or b""), path
    user = CuratedFile.parse(bundle.read(layout.USER) or b"")
    assert ((), "USER") == (user.entries, user.concept.title)
    restore(bundle, before, origin=bundle.origin())
    assert NOTE == bundle.read("notes/fine.md")


def test_the_log_of_a_moment_lacks_only_what_reverts_took_since(bundle: Memory) -> None:
    """Several reverts count, an older one that was taken back does not, nor what a restore took."""
    slip(bundle)
    clean = bundle.tip
    for name in ("one", "two", "three"):
        bundle.curated.add(f"fact {name}", origin=bundle.origin(session=name))
    revert(bundle, "three")
    bundle.part(Undo).undo(origin=bundle.origin())  # the line is there again
    target = bundle.tip
    restore(bundle, clean, everything=True, origin=bundle.origin())
    assert "fact" not in bundle.read_log()
    restore(bundle, target, everything=True, origin=bundle.origin())
    assert all(f"add fact {name}" in bundle.read_log() for name in ("one", "two", "three"))
    revert(bundle, "one")
    revert(bundle, "two")
    restore(bundle, clean, everything=True, origin=bundle.origin())
    restore(bundle, target, everything=True, origin=bundle.origin())
    assert ["fact three"] == [entry.text for entry in bundle.curated.entries("memory")]
    assert "fact three" in bundle.read_log()
    assert "fact one" not in bundle.read_log()
    assert "fact two" not in bundle.read_log()
