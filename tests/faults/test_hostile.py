"""Hostile commits: each is refused whole, held, kept out or shown as a claim; what is honest is as before."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.errors import GitMemError, RemoteError
from gitmem.git.commit_graph import is_ancestor
from gitmem.git.git_settings import Remote, Remotes
from gitmem.memory import review
from gitmem.memory.curated.prompt_block import freeze
from gitmem.memory.opening import open_bundle
from gitmem.memory.sync.server import received
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.clone import clone
from gitmem.okf.layout import is_generated
from gitmem.world import World

from tests.faults.hostile import ATTACK, Hub, Kind
from tests.faults.hostile_commits import COMMIT_KINDS, FORGERIES, HONEST, POISON, SEEN, TAKING
from tests.faults.hostile_ground import KINDS, lay_ground
from tests.git.support import fsck_clean, run_git, scratch_left, try_git
from tests.memory.conftest import Clock
from tests.trees import copied

NEEDS_A_PAST = frozenset(("many-entries", *(kind.name for kind in TAKING)))
"""What takes something away, or displaces it, that a clone never had."""
UNREADABLE = ("damaged-date-in-words", "damaged-no-zone", "damaged-zone-in-words")
"""Over a path dulwich reads the commit of every branch: such a one stops the sync, and nothing is taken."""
ONLY_HERE = ("rewrites-an-event", "rewrites-an-event-with-poison")
"""What only the machine knows that recorded it."""


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with all that a memory has, and the hub it was synced to; copied for every kind."""
    root = tmp_path_factory.mktemp("ground")
    lay_ground(root)
    return root


class Place:
    """A bundle, its hub, and what has to be as it was whatever comes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bundle = open_bundle(
            World(os.environ, clock=Clock()), str(root / "b"), "as is", config=Config(machine="b")
        )
        Remotes(self.bundle.repository).save(Remote("origin", str(root / "hub.git"), consent=True))
        self.hub = Hub(root / "hub.git")

    def work(self) -> None:
        """Something that only this machine knows, so that a sync has to merge."""
        with self.bundle.session("local") as session:
            session.record_observation("seen on this machine")

    @property
    def evil(self) -> str:
        return run_git(self.hub.path, "rev-parse", "refs/heads/main")  # git may have packed its refs

    def honest(self) -> dict[str, object]:
        """What a hostile commit must not change."""
        bundle = self.bundle
        kept = [path for where in ("decisions", "plans", "config") for path, _ in bundle.tree().files(where)]
        return {
            "facts": set(HONEST) <= {entry.text for entry in bundle.curated.entries("memory")},
            "user": [entry.text for entry in bundle.curated.entries("user")],
            "events": [event for event in bundle.sessions.events("s-1") if SEEN in event.text],
            "snapshot": bundle.snapshots.get("clean").commit,
            **{path: bundle.read(path) for path in kept if not is_generated(path) and ATTACK[:6] not in path},
        }

    def check(self, kind: Kind, before: dict[str, object]) -> None:
        """Nothing honest is gone, nothing hostile is in a prompt or an answer, and every command goes on."""
        bundle = self.bundle
        now = self.honest()
        assert before == {name: now.get(name) for name in before}
        block = freeze(bundle).text
        assert all(fact in block for fact in HONEST)
        assert 4 == block.count("═" * 46)
        said = [
            block,
            str(bundle.context("honest deploy claim")),
            *map(str, bundle.search("honest deploy").hits),
        ]
        for text in (kind.text, POISON):
            assert not text or not any(text in one for one in said)
        assert list(bundle.log(limit=3))
        assert bundle.curated.add("learned later", target="user").commit


@pytest.fixture
def place(ground: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("GITMEM_MACHINE", "b")  # for the hooks, which are processes of their own
    copied(ground, tmp_path / "w")
    made = Place(tmp_path / "w")
    yield made
    made.bundle.repository.store.close()


def by_sync(place: Place, kind: Kind, transport: str) -> None:
    bundle, before, tip, evil = place.bundle, place.honest(), place.bundle.tip, place.evil
    if kind.outcome == "refused":
        with pytest.raises(GitMemError) as refused:
            bundle.sync(transport=transport)
        assert "\n" not in str(refused.value)
        assert "\x1b" not in str(refused.value)
        assert bundle.tip == tip
        assert evil not in bundle.repository.store
    else:
        done = bundle.sync(transport=transport)
        assert (kind.outcome == "held") <= bool(done.held or "[BLOCKED" in freeze(bundle).text)
        taken = [item for item in review.waiting(bundle) if item.kind == "taken"]
        assert (kind.outcome == "kept") == bool(taken)
        assert "origin" == bundle.show(evil).entry.pulled_from
        assert not [one for one in bundle.blame("memories/MEMORY.md") if one.verified_here]
    place.check(kind, before)
    assert scratch_left(bundle.repository) == []


def by_server(place: Place, kind: Kind) -> None:
    """A guarded server takes nothing that a sync refuses or holds."""
    problems = received(place.hub.path, "", [f"{place.hub.tip} {place.evil} refs/heads/main\n"])
    if kind.outcome in ("refused", "held") and kind.name not in ONLY_HERE:
        assert problems


def by_clone(place: Place, kind: Kind, transport: str) -> None:
    where, world = place.root / "clone", World(os.environ, clock=Clock())
    if kind.outcome == "refused":
        with pytest.raises(GitMemError):
            clone(world, place.hub.path, str(where), config=Config(machine="b"), prefer=transport)
        assert not where.exists()
        return
    bundle = clone(world, place.hub.path, str(where), config=Config(machine="b"), prefer=transport)
    block = freeze(bundle).text
    assert kind.name in NEEDS_A_PAST or not kind.text or kind.text not in block
    assert kind.name in NEEDS_A_PAST or all(fact in block for fact in HONEST)
    assert "origin" == bundle.show(place.evil).entry.pulled_from
    assert not [entry for entry in bundle.blame("memories/MEMORY.md") if entry.verified_here]
    bundle.repository.store.close()


def by_pull(place: Place, kind: Kind) -> None:
    """Plain `git pull`, with the hooks that gitmem put there."""
    bundle, before, tip = place.bundle, place.honest(), place.bundle.tip
    done = try_git(bundle.root, "pull", "-q", "--no-edit", "--no-rebase", place.hub.path, "main")
    bundle.repository.store.close()
    if kind.outcome == "refused":
        assert bundle.tip == tip, done.stderr
        assert done.returncode
        assert b"Nothing was merged" in done.stderr or kind.name not in ("tree-bomb", "bad-log")
        assert "" == run_git(bundle.root, "status", "--porcelain")
    else:
        assert bundle.show(place.evil).entry.pulled_from
        assert not [one for one in bundle.blame("memories/MEMORY.md") if one.verified_here]
    place.check(kind, before)


def by_file(place: Place, kind: Kind) -> None:
    """`sync --from` a git bundle file."""
    bundle, before, evil = place.bundle, place.honest(), place.evil
    file = str(place.root / "sent.bundle")
    # By hand: `git bundle create` walks what it sends, and stops at some of it.
    objects = run_git(place.hub.path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    pack = ("git", "-C", place.hub.path, "pack-objects", "-q", "--stdout")
    sent = subprocess.run(pack, input=objects.encode() + b"\n", stdout=subprocess.PIPE, check=True).stdout
    Path(file).write_bytes(f"# v2 git bundle\n{evil} refs/heads/main\n\n".encode() + sent)
    if kind.outcome == "refused":
        with pytest.raises(GitMemError):
            bundle.sync(from_file=file)
        assert evil not in bundle.repository.store
    else:
        bundle.sync(from_file=file)
        assert file == bundle.show(evil).entry.pulled_from
        assert not [one for one in bundle.blame("memories/MEMORY.md") if one.verified_here]
    place.check(kind, before)


def by_branch(place: Place, kind: Kind, transport: str) -> None:
    """The hostile commit is on the branch of a machine, beside an honest one: that one is folded, whatever becomes of it."""
    bundle, before, evil, hub = place.bundle, place.honest(), place.evil, Path(place.hub.path)
    (hub / "refs/heads/main").write_text(f"{place.hub.tip}\n")
    (hub / "refs/heads/in").mkdir(exist_ok=True)
    (hub / "refs/heads/in/evil").write_text(f"{evil}\n")
    tree = run_git(str(hub), "rev-parse", f"{place.hub.tip}^{{tree}}")
    told = "flush: x\n\nKind: flush\nMachine: good"
    good = run_git(str(hub), "commit-tree", "-p", place.hub.tip, "-m", told, tree)
    run_git(str(hub), "update-ref", "refs/heads/in/good", good)
    if transport == "dulwich" and kind.name in UNREADABLE:
        with pytest.raises(RemoteError, match="cannot be used"):
            Sync(bundle, prefer=transport, folds=True).run()
        place.check(kind, before)
        return
    done = Sync(bundle, prefer=transport, folds=True).run()
    waits = [notice.subject for notice in done.notices if notice.kind == "branch-waits"]
    assert (kind.outcome == "refused") <= ("in/evil" in waits)
    # A claim to be of another machine than its branch waits, too.
    assert ("in/evil" in waits) <= (kind.outcome in ("refused", "held", "claim"))
    assert is_ancestor(bundle.repository, good, bundle.tip)
    assert bundle.tip == place.evil  # `main` of the hub is what is here
    if "in/evil" in waits:
        assert evil not in bundle.repository.store
    else:
        assert (kind.outcome == "held") <= bool(done.held or "[BLOCKED" in freeze(bundle).text)
        assert "origin" == bundle.show(evil).entry.pulled_from
        assert not [one for one in bundle.blame("memories/MEMORY.md") if one.verified_here]
    place.check(kind, before)


def attempt(place: Place, kind: Kind, *, shape: str, route: str, transport: str = "git") -> None:
    if shape == "merge":
        place.work()
    kind.make(place.hub)
    assert place.evil != place.hub.tip
    if route == "sync":
        by_server(place, kind)
        by_sync(place, kind, transport)
    elif route == "clone":
        by_clone(place, kind, transport)
    elif route == "branch":
        by_branch(place, kind, transport)
    elif route == "file":
        by_file(place, kind)
    else:
        by_pull(place, kind)
        return  # git keeps what it fetched, whatever became of it
    fsck_clean(place.bundle.repository)


@pytest.mark.parametrize("number", range(len(KINDS)), ids=lambda number: KINDS[number].name)
def test_hostile_commit(place: Place, number: int) -> None:
    """By a sync and at a server, in turns as a fast-forward or a merge, with git or without it."""
    shape, transport = ("fast-forward", "merge")[number % 2], ("git", "dulwich")[number // 2 % 2]
    attempt(place, KINDS[number], shape=shape, route="sync", transport=transport)


ROUTES = ["sync", "clone", "branch", "file", "pull"]
CLAIMS = [
    # Each by a sync; by another way every third in turn, and with `make test-slow` all.
    pytest.param(
        kind, route, shape, id=f"{kind.name}-{route}-{shape}",
        marks=[pytest.mark.slow] if place > 1 and (number + place) % 3 else [],
    )
    for number, kind in enumerate(FORGERIES)
    for place, (route, shape) in enumerate(product(ROUTES, ["fast-forward", "merge"]))
    if (route, shape) != ("clone", "merge")
]  # fmt: skip


@pytest.mark.parametrize(("kind", "route", "shape"), CLAIMS)
def test_no_line_of_the_reflog_can_be_forged(place: Place, kind: Kind, route: str, shape: str) -> None:
    """A commit that claims a person and quotes the reflog's own line is a claim, by whatever way it came."""
    attempt(place, kind, shape=shape, route=route)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["git", "dulwich"])
@pytest.mark.parametrize("shape", ["fast-forward", "merge"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_hostile_commit_by_every_sync(place: Place, kind: Kind, shape: str, transport: str) -> None:
    """Each as a fast-forward and as a merge, with git and without it."""
    attempt(place, kind, shape=shape, route="sync", transport=transport)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_hostile_commit_by_clone(place: Place, kind: Kind) -> None:
    """A clone refuses it, holds it, or shows it as a claim."""
    attempt(place, kind, shape="fast-forward", route="clone")


@pytest.mark.parametrize("number", range(0, len(KINDS), 6), ids=lambda number: KINDS[number].name)
def test_some_hostile_commits_on_a_branch(place: Place, number: int) -> None:
    """A machine's branch passes the checks of `main`, in turns with and without work of our own."""
    shape, transport = ("fast-forward", "merge")[number // 6 % 2], ("git", "dulwich")[number // 12 % 2]
    attempt(place, KINDS[number], shape=shape, route="branch", transport=transport)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["fast-forward", "merge"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_hostile_commit_on_a_branch(place: Place, kind: Kind, shape: str) -> None:
    """Each on the branch of a machine, beside an honest one."""
    attempt(place, kind, shape=shape, route="branch")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_hostile_commit_by_file(place: Place, kind: Kind) -> None:
    """A bundle file is checked as a remote is."""
    attempt(place, kind, shape="fast-forward", route="file")


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["fast-forward", "merge"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_hostile_commit_by_plain_pull(place: Place, kind: Kind, shape: str) -> None:
    """Plain git brings it, and gitmem's hook takes it back or settles it."""
    attempt(place, kind, shape=shape, route="pull")


@pytest.mark.parametrize(
    "name",
    ["obeyed-CLAUDE.md", "format-99", "retracts-all", "deletes-a-retraction", "tree-bomb", "bad-log"],
)
def test_some_hostile_commits_by_plain_pull(place: Place, name: str) -> None:
    """A merge that plain git makes, for a few: refused before git writes a file, or settled afterwards."""
    [kind] = [one for one in KINDS if one.name == name]
    attempt(place, kind, shape="merge", route="pull")


def test_there_are_enough_kinds() -> None:
    """The generator makes at least 120 inside a valid bundle, each with a name of its own."""
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 180
    assert len(COMMIT_KINDS) >= 115


def test_escapes_in_author_and_message_are_shown(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A commit with escape sequences in author and message may come in; the terminal never sees them."""
    from gitmem.cli.main import main

    bundle, hub = place.bundle, place.hub
    hub.commit(
        run_git(hub.path, "rev-parse", f"{hub.tip}^{{tree}}"),
        author=b"\x1b]0;owned\x07x <x@x>",
        message=b"evil \x1b[2J\x1b[31m\n",
    )
    Sync(bundle).run()
    assert main(["-C", bundle.root, "log", "-n", "3"]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("target", ["blob", "tree"])
def test_a_snapshot_that_names_no_commit(place: Place, target: str) -> None:
    """A tag on something else does not become a snapshot: the fetch is refused."""
    bundle, hub = place.bundle, place.hub
    oid = hub.blob(b"x") if target == "blob" else run_git(hub.path, "rev-parse", f"{hub.tip}^{{tree}}")
    run_git(hub.path, "update-ref", "refs/tags/snapshot/odd", oid)
    with pytest.raises(GitMemError, match="snapshot"):
        Sync(bundle).run()
    assert all(snapshot.name != "odd" for snapshot in bundle.snapshots.all())
