"""An erase and other machines: the remote gets the new history, a second clone follows when told to, nothing comes back."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from gitmem.errors import InvalidContent, RefusedFetch, RemoteError, RewrittenRemote
from gitmem.git.git_settings import Remote, Remotes
from gitmem.git.objects import render_commit
from gitmem.memory.erase.erased_list import erased_commits, forget_erasure
from gitmem.memory.memory import Memory
from gitmem.memory.sync.server import guard
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.create import install_hooks
from gitmem.okf.curated import CuratedFile
from gitmem.okf.receipts import new_receipts, receipts_in, with_receipts

from tests.git.support import fsck_clean, run_git, try_git
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


def accept(machines: Machines, bundle: Memory, *, leave_out: bool = False) -> None:
    Sync(bundle, prefer=machines.transport, accept_erasure=True, leave_out=leave_out).run("origin")


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
    assert "in/b" in run_git(machines.hub, "for-each-ref", "--format=%(refname:short)").split()
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


def test_unsent_commits_with_the_text_are_left_to_the_person(machines: Machines) -> None:
    """They are listed, and nothing is changed; when told to, they are left out, and the rest of the work stays."""
    a = machines.first()
    told_of(a)
    machines.sync(a)
    b = machines.another("b")
    b.remember("A fact that only b knows.")
    b.remember(f"b heard of {SECRET} too.")
    holding = b.tip
    b.remember("One more fact of b.")
    a.erase(text=SECRET)
    machines.sync(a)
    before = run_git(b.root, "for-each-ref")
    with pytest.raises(RewrittenRemote, match=f"hold what was erased: {holding[:8]}"):
        accept(machines, b)
    assert run_git(b.root, "for-each-ref") == before
    accept(machines, b, leave_out=True)
    machines.settle()

    assert a.tip == b.tip
    texts = {entry.text for entry in a.curated.entries("memory")}
    assert {"A fact that only b knows.", "One more fact of b."} <= texts
    assert objects_with(b.root, SECRET) == []
    assert files_with(b.root, SECRET) == []
    assert whole(b) == []


@pytest.mark.parametrize("change", ["adds", "changes", "drops"])
def test_a_rewrite_that_does_more_than_erase_is_refused(machines: Machines, change: str) -> None:
    """Whatever a receipt says: one word that was not there, one that is another, or a commit that is missing."""
    a = machines.first()
    a.remember("The user likes tabs.")
    a.remember(f"The code is {SECRET}.")
    a.remember("Invoices are paid on Mondays.")
    machines.sync(a)
    b = machines.another("b")
    a.erase(text=SECRET)
    if change == "drops":
        forged = rewritten_by_hand(a, lambda data: data, drop=1)
    else:
        words = (b"on Mondays", b"on Fridays" if change == "changes" else b"on Mondays to Mallory")
        forged = rewritten_by_hand(a, lambda data: data.replace(*words))
    run_git(a.root, "push", "-q", "--force", "--no-verify", machines.hub, f"{forged}:refs/heads/main")
    tip = b.tip
    with pytest.raises(RewrittenRemote, match="something was erased for good"):
        machines.sync(b)
    with pytest.raises(RewrittenRemote, match="did more than to erase"):
        accept(machines, b)
    assert b.tip == tip
    assert "Invoices are paid on Mondays." in {entry.text for entry in b.curated.entries("memory")}


def rewritten_by_hand(memory: Memory, change: Callable[[bytes], bytes], *, drop: int = 0) -> str:
    """The history of a memory with another MEMORY.md in each commit since the second, but for some; dates stay."""
    store, parent = memory.repository.store, ""
    commits = list(reversed(run_git(memory.root, "rev-list", "main").split()))
    for number, oid in enumerate(commits):
        commit = store.commit(oid)
        if number == 0:
            parent = oid
            continue
        if drop and number == len(commits) - 1 - drop:
            continue
        tree = memory.repository.tree(oid)
        data = change(tree.read("memories/MEMORY.md") or b"")
        fixed = CuratedFile.parse(data, "memories/MEMORY.md").render()
        new, objects = tree.apply({"memories/MEMORY.md": fixed})
        made = render_commit(new.oid, [parent], commit.author, commit.committer, commit.message)
        store.write([*objects, made])
        parent = made.oid
    return parent


def test_a_rewrite_without_receipts_is_refused_as_ever(machines: Machines) -> None:
    """A remote that was rewritten by hand never deletes local memory."""
    a = machines.first()
    a.remember("The user likes tabs.")
    machines.sync(a)
    b = machines.another("b")
    tree = run_git(a.root, "rev-parse", "main^{tree}")
    alone = run_git(a.root, "commit-tree", tree, "-m", "edit: all of it")
    run_git(a.root, "push", "-q", "--force", "--no-verify", machines.hub, f"{alone}:refs/heads/main")
    tip = b.tip
    for work in (machines.sync, partial(accept, machines)):
        with pytest.raises(RewrittenRemote, match="was rewritten"):
            work(b)
    assert b.tip == tip


def test_no_way_brings_an_erased_commit_back(machines: Machines, tmp_path: Path) -> None:
    """A bundle file, a second remote, the branch of a machine, plain `git pull` and plain `git push` name the receipt."""
    a = machines.first()
    told_of(a)
    machines.sync(a)
    old = str(tmp_path / "old.git")
    run_git(tmp_path, "clone", "-q", "--bare", machines.hub, old)
    run_git(tmp_path, "--git-dir", old, "bundle", "create", "-q", str(tmp_path / "old.bundle"), "main")
    install_hooks(a.repository, python=sys.executable)
    a.erase(text=SECRET)
    machines.sync(a)
    refs = run_git(a.root, "for-each-ref")
    (receipt,) = receipts_in(a.read("config/erased.md"))
    named = rf"erased on 2026-06-30 by ada \(receipt {receipt.id}\)"

    with pytest.raises(RefusedFetch, match=named) as refused:
        Sync(a, prefer=machines.transport).from_file(str(tmp_path / "old.bundle"))
    assert f"`gitmem sync --forget-erasure {receipt.id}`" in refused.value.hint
    Remotes(a.repository).save(Remote("second", old, mode="pull-only"))
    with pytest.raises(RefusedFetch, match=named):
        Sync(a, prefer=machines.transport).run("second")
    run_git(tmp_path, "--git-dir", machines.hub, "fetch", "-q", "-n", old, "main:refs/heads/in/elsewhere")
    machines.sync(a)
    assert any(re.search(named, warning) for warning in a.warnings)
    run_git(tmp_path, "--git-dir", machines.hub, "update-ref", "-d", "refs/heads/in/elsewhere")
    pulled = try_git(a.root, "pull", "--no-rebase", "--no-edit", old, "main")
    assert re.search(named, pulled.stderr.decode())
    assert run_git(a.root, "for-each-ref") == refs
    pushed = try_git(a.root, "push", machines.hub, "FETCH_HEAD:refs/heads/back")
    assert re.search(named, pushed.stderr.decode())
    assert objects_with(a.root, SECRET) != [], "git itself has fetched them, and no ref leads there"
    assert not hub_holds(machines)


def test_the_own_branch_with_the_old_history_goes(machines: Machines) -> None:
    """It gets the new history; a branch of a machine that is gone goes, and what only it had is kept in `main`."""
    a = machines.first()
    told_of(a)
    machines.sync(a)
    where = machines.root / "plain"
    run_git(machines.root, "clone", "-q", machines.hub, str(where))
    path = where / "memories" / "MEMORY.md"
    file = CuratedFile.parse(path.read_bytes())
    path.write_bytes(file.add("The old laptop knows.", "2026-06-30T14:00:00.000Z").render())
    run_git(where, "commit", "-q", "--no-verify", "-am", "flush: x\n\nKind: flush\nMachine: old")
    run_git(where, "push", "-q", "origin", "HEAD:refs/heads/in/old")
    a.erase(text=SECRET)
    machines.sync(a)
    assert not hub_holds(machines)
    assert "The old laptop knows." in {entry.text for entry in a.curated.entries("memory")}
    refs = run_git(machines.hub, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    assert ["in/a", "main"] == refs


def test_a_clone_knows_what_was_erased(machines: Machines, tmp_path: Path) -> None:
    a = machines.first()
    told_of(a)
    machines.sync(a)
    run_git(tmp_path, "clone", "-q", "--bare", machines.hub, "old.git")
    a.erase(text=SECRET)
    machines.sync(a)
    b = machines.another("b")
    Remotes(b.repository).save(Remote("second", str(tmp_path / "old.git"), mode="pull-only"))
    with pytest.raises(RefusedFetch, match="erased on"):
        Sync(b, prefer=machines.transport).run("second")
    (receipt,) = receipts_in(b.read("config/erased.md"))
    assert forget_erasure(b.state, receipt.id) > 0
    assert erased_commits(b.state) == {}


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
    """One that names honest commits is refused; one that names others is text: the list of a machine is its own."""
    a = machines.first()
    a.remember("The user likes tabs.")
    machines.sync(a)
    b = machines.another("b")
    honest = b.tip
    at = "2026-01-01T00:00:00Z"
    foreign = new_receipts("text", 3, ["1" * 40], at=at, by="mallory", reason="")
    commit(b, "config/erased.md", with_receipts(None, foreign).decode())
    machines.sync(b)
    machines.sync(a)
    assert erased_commits(a.state) == {}
    forged = new_receipts("text", 3, [honest], at=at, by="mallory", reason="")
    commit(b, "config/erased.md", with_receipts(b.read("config/erased.md"), forged).decode())
    machines.sync(b)
    with pytest.raises(RefusedFetch, match="a receipt for commits that are in its own history"):
        machines.sync(a)
    a.remember("It can be written to.")
    assert len(list(a.curated.entries("memory"))) == 2


def test_a_guarded_server_takes_an_erase_when_its_administrator_says_so(machines: Machines) -> None:
    """The refusal has the command; it holds for that receipt and once, and the old history does not come back."""
    if machines.transport == "dulwich":
        pytest.skip("a push by dulwich to a path runs no hook")
    a = machines.first()
    told_of(a)
    machines.sync(a)
    old = run_git(machines.hub, "rev-parse", "main")
    b = machines.another("b")
    guard(machines.hub, python=sys.executable)
    a.erase(text=SECRET)
    with pytest.raises(RemoteError, match=r"git config gitmem\.erasure") as refused:
        machines.sync(a)
    command = str(refused.value).partition("`git config ")[2].partition("`")[0]
    run_git(machines.hub, "config", *command.split())
    machines.sync(a)
    assert not hub_holds(machines)

    for target in ("main", "in/b"):
        pushed = try_git(b.root, "push", "--no-verify", "--force", machines.hub, f"{old}:refs/heads/{target}")
        assert pushed.returncode
        assert re.search("cannot be rewritten|erased on", pushed.stderr.decode())
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
