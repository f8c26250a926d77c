"""An erase and other machines: the remote gets the new history, a second clone follows when told to, nothing comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from gitmem.errors import InvalidContent, RewrittenRemote
from gitmem.memory.memory import Memory
from gitmem.memory.sync.engine import Sync
from gitmem.memory.sync.server import guard
from gitmem.okf.erasures import Mark, Receipt, with_receipts

from tests.git.support import fsck_clean, run_git
from tests.memory.conftest import Clock
from tests.memory.erase.support import SECRET, files_with, objects_with, told_of, whole
from tests.memory.sync.test_engine import Machines
from tests.memory.sync.test_server import commit


@pytest.fixture(params=["git", "dulwich"])
def machines(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Machines]:
    made = Machines(tmp_path, clock, request.param)
    yield made
    for bundle in made.all.values():
        fsck_clean(bundle.repository)
        bundle.repository.store.close()


def accept(machines: Machines, bundle: Memory) -> None:
    Sync(bundle, prefer=machines.transport, accept_erasure=True).run("origin")


def hub_holds(machines: Machines) -> bool:
    """Whether anything that a ref of the hub leads to holds the text."""
    names = run_git(machines.hub, "for-each-ref")
    return SECRET in run_git(machines.hub, "log", "-p", "--all", "--format=%B") or "blue-harbour" in names


def test_the_remote_follows_and_a_second_clone_when_told(machines: Machines) -> None:
    """Refused until a person agrees; then both have the same history, without it, and each keeps its own work."""
    a = machines.first()
    told_of(a)
    machines.sync(a)
    b = machines.another("b")
    b.remember("A fact that only b knows.")
    a.erase(text=SECRET, reason="asked for")
    a.remember("A fact that came after.")
    machines.sync(a)
    assert not hub_holds(machines)

    tip = b.tip
    with pytest.raises(RewrittenRemote, match=r"text erased on 2026-06-30 by ada \(asked for\)") as refused:
        machines.sync(b)
    assert "gitmem sync origin --accept-erasure" in refused.value.hint
    assert b.tip == tip
    accept(machines, b)
    machines.settle()

    assert a.tip == b.tip
    for bundle in (a, b):
        texts = {entry.text for entry in bundle.curated.entries("memory")}
        assert {"A fact that only b knows.", "A fact that came after."} <= texts
        assert objects_with(bundle.root, SECRET) == []
        assert files_with(bundle.root, SECRET) == []
        assert whole(bundle) == []
    assert not hub_holds(machines)
    assert [one.name for one in b.snapshots.all() if not one.is_automatic] == ["with-erased"]


def test_what_others_pushed_meanwhile_is_kept_without_it(machines: Machines) -> None:
    """Commits on top of the old history are rewritten on their way in."""
    a = machines.first()
    told_of(a)
    machines.sync(a)
    b = machines.another("b")
    b.remember(f"b too knows {SECRET} now.")
    machines.sync(b)
    a.erase(text=SECRET)
    machines.sync(a)
    assert not hub_holds(machines)
    assert objects_with(a.root, SECRET) == []
    assert "b too knows (erased) now." in {entry.text for entry in a.curated.entries("memory")}
    accept(machines, b)
    machines.settle()

    assert a.tip == b.tip
    assert objects_with(b.root, SECRET) == []


@pytest.mark.parametrize("synced_between", [False, True])
def test_a_clone_that_missed_several_erases_follows_them_at_once(
    machines: Machines, synced_between: bool
) -> None:
    """The receipts explain the new history together, whether the remote saw each of them or only the last."""
    a = machines.first()
    told_of(a)
    a.remember("The second code is 9931-tango.")
    machines.sync(a)
    b = machines.another("b")
    b.remember("A fact that only b knows.")
    for text in (SECRET, "9931-tango"):
        a.erase(text=text)
        a.remember(f"Written after the erase of {len(text)} characters.")
        if synced_between:
            machines.sync(a)
    machines.sync(a)
    with pytest.raises(RewrittenRemote):
        machines.sync(b)
    accept(machines, b)
    machines.settle()

    assert a.tip == b.tip
    assert "A fact that only b knows." in {entry.text for entry in a.curated.entries("memory")}
    for text in (SECRET, "9931-tango"):
        assert objects_with(b.root, text) == []
        assert files_with(b.root, text) == []
    assert whole(b) == []


@pytest.mark.parametrize("what", ["entry", "path", "session"])
def test_a_clone_follows_every_kind_of_erase(machines: Machines, what: str) -> None:
    """The receipt says neither which entry nor which path nor which session: the clone finds it."""
    a = machines.first()
    with a.session("anna") as session:
        session.record_observation("Anna lives at the harbour now.")
    a.remember("Anna moved to 12 Harbour Street in May.")
    a.plans.create("Find Anna a harbour flat", ["look"])
    machines.sync(a)
    b = machines.another("b")
    (plan,) = a.list_concepts("plans")
    entry = next(entry.key.id for entry in a.curated.entries("memory"))
    a.erase(
        entry=entry if what == "entry" else "",
        path=plan if what == "path" else "",
        session="anna" if what == "session" else "",
    )
    machines.sync(a)
    accept(machines, b)
    machines.settle()

    assert a.tip == b.tip
    assert run_git(b.root, "log", "-p", "--format=%B") == run_git(a.root, "log", "-p", "--format=%B")


def test_a_rewrite_without_receipts_is_refused_as_ever(machines: Machines) -> None:
    """Also one whose receipts explain something else."""
    a = machines.first()
    a.remember("The user likes tabs.")
    a.remember(f"The code is {SECRET}.")
    machines.sync(a)
    b = machines.another("b")
    a.erase(text=SECRET)
    machines.sync(a)
    forged = commit(a, "memories/extra.md", "---\ntype: Note\n---\nx\n")
    tree = run_git(a.root, "rev-parse", f"{forged}^{{tree}}")
    alone = run_git(a.root, "commit-tree", tree, "-m", "edit: all of it")
    run_git(machines.hub, "fetch", "-q", a.root, "main")
    run_git(a.root, "push", "-q", "--force", "--no-verify", machines.hub, f"{alone}:refs/heads/main")
    run_git(a.root, "reset", "-q", "--hard", f"{forged}~1")
    tip = b.tip
    with pytest.raises(RewrittenRemote, match="was rewritten"):
        machines.sync(b)
    with pytest.raises(RewrittenRemote, match="was rewritten"):
        accept(machines, b)
    assert b.tip == tip


def test_a_text_that_a_person_writes_again_is_new(machines: Machines) -> None:
    """A receipt keeps nothing out: an entry, a decision and a hand edit with the words are stored and sent as they are."""
    a = machines.first()
    b = machines.another("b")
    a.remember(f"The code is {SECRET}.")
    a.erase(text=SECRET)
    machines.sync(a)
    a.remember(f"Again {SECRET}, says the agent.")
    commit(b, "notes/x.md", f"---\ntype: Note\n---\nIt is {SECRET}.\n")
    machines.sync(b)
    machines.sync(a)

    assert f"Again {SECRET}, says the agent." in {entry.text for entry in a.curated.entries("memory")}
    assert SECRET.encode() in (a.tree().read("notes/x.md") or b"")


def test_a_forged_receipt_changes_nothing(machines: Machines) -> None:
    """It arrives by a sync and knows each word of the memory: no entry is blanked, nothing is refused, nothing is slow."""
    a = machines.first()
    honest = ["The user likes tabs.", "Invoices are paid on Mondays.", "The office is in Porto."]
    for text in honest:
        a.remember(text)
    machines.sync(a)
    b = machines.another("b")
    words = {word for text in honest for word in text.split()} | {"the", "user", "is", "on", "in"}
    forged = Receipt.new("text", "x", words, at="2026-01-01T00:00:00Z", by="ada", reason="")
    wide = replace(forged, marks=tuple(Mark(1, f"{number:03x}", "0" * 64) for number in range(1500)))
    commit(b, "config/erased.md", with_receipts(None, [forged, wide]).decode())
    machines.sync(b)
    machines.sync(a)
    began = time.process_time()
    a.remember("The user is in Porto on Mondays.")
    machines.sync(a)

    assert time.process_time() - began < 5, "the receipt was compared with what is written"
    assert [*honest, "The user is in Porto on Mondays."] == [e.text for e in a.curated.entries("memory")]


def test_a_guarded_server_takes_an_erase_and_no_other_rewrite(machines: Machines) -> None:
    """Its own objects tell it whether the receipts explain the push."""
    import sys

    if machines.transport == "dulwich":
        pytest.skip("a push by dulwich to a path runs no hook")
    a = machines.first()
    told_of(a)
    machines.sync(a)
    guard(machines.hub, python=sys.executable)
    a.erase(text=SECRET)
    machines.sync(a)

    assert not hub_holds(machines)


def test_a_refused_sync_names_the_command_that_helps(machines: Machines) -> None:
    """The command is run as it is written, and the next sync goes through."""
    import shlex

    a = machines.first()
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9" * 2
    commit(a, "notes/aws.md", f"---\ntype: Note\n---\nuse {key}\n")
    with pytest.raises(InvalidContent, match="holds a secret") as refused:
        machines.sync(a)
    command = refused.value.hint.partition("`")[2].partition("`")[0]
    words = shlex.split(command)
    assert words[:3] == ["gitmem", "erase", "--secret"]
    a.erase(secret=words[3])
    machines.sync(a)

    assert objects_with(a.root, key) == []
    assert key not in run_git(machines.hub, "log", "-p", "--all")
