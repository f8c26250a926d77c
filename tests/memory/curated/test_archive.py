"""A store that a merge made too full is archived in the order of what can be missed; nothing is lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.git.git_settings import Remote, Remotes
from gitmem.git.refs import BRANCH
from gitmem.memory.curated.archive import (
    ENVIRONMENT,
    LESSON,
    PREFERENCE,
    QUIRK,
    archive_overfull,
    class_of,
)
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.clone import clone
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.world import World

from tests.git.support import fsck_clean
from tests.memory.find.support_index import spans_in

EXAMPLES = {
    "Lesson: never run migrations on a Friday": LESSON,
    "The outage turned out to be DNS": LESSON,
    "pytest hangs with xdist, a workaround is -p no:cacheprovider": QUIRK,
    "The deploy command exits early": QUIRK,
    "The server runs Debian 12": ENVIRONMENT,
    "Modules are named in the singular": ENVIRONMENT,
    "Ada prefers short answers": PREFERENCE,
    "Use tabs, not spaces": PREFERENCE,
}


@pytest.mark.parametrize(("text", "expected"), EXAMPLES.items())
def test_classes(text: str, expected: int) -> None:
    """Words tell lessons, quirks of tools, surroundings and preferences apart."""
    assert expected == class_of(text)


def test_what_a_merge_overfills_is_archived(make_bundle: Callable[..., Memory], tmp_path: Path) -> None:
    """Two machines fill their stores; what a sync brought leaves first, of that lessons; both end at one commit."""
    a = make_bundle("a", memory_char_limit=120)
    hub = str(tmp_path / "hub.git")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", hub], check=True)
    Remotes(a.repository).save(Remote("origin", hub, consent=True))
    Sync(a).run()
    config = Config(machine="b", memory_char_limit=120)
    b = clone(World(os.environ, clock=a.world.clock), hub, str(tmp_path / "b"), config=config)
    facts = {
        a: ("Ada prefers short answers", "Lesson: never deploy on a Friday", "The server runs Debian 12"),
        b: ("The disk is called nvme0", "The outage turned out to be DNS", "Use tabs, not spaces"),
    }
    for bundle, texts in facts.items():
        for text in texts:
            bundle.curated.add(text)
    assert () == Sync(a).run().archived
    moves = len(list(b.repository.refs.moves(BRANCH)))
    [archived] = Sync(b).run().archived
    # One move over the merge and what is archived on top of it, with a line for each in the log of `main`.
    (_, settled, _), (_, merged, _), *older = b.repository.refs.moves(BRANCH)
    assert (moves, settled) == (len(older), b.tip)
    assert (merged,) == b.repository.store.commit(settled).parents
    assert archived.texts == ("Lesson: never deploy on a Friday", "The server runs Debian 12")
    for bundle in (a, b, a):
        assert () == Sync(bundle).run().archived
        assert [] == archive_overfull(bundle)
    assert a.tip == b.tip
    for bundle in (a, b):
        kept = [entry.text for entry in bundle.curated.entries("memory")]
        path = layout.archive("memory")
        old = [entry.text for entry in CuratedFile.parse(bundle.read(path) or b"", path).entries]
        assert {*facts[a], *facts[b]} == {*kept, *old}
        assert len(kept) + len(old) == 6
        assert sum(map(len, kept)) + 3 * (len(kept) - 1) <= 120
        assert [span.text for span in spans_in(bundle, path)] == old
        bundle.index.close()
    fsck_clean(b.repository)
    b.repository.store.close()


def test_the_archive_commit_says_its_kind(make_bundle: Callable[..., Memory]) -> None:
    """It is a commit of kind `archive`, and a store within its limit gives none."""
    small = make_bundle("small", memory_char_limit=1000)
    small.curated.add("The server runs Debian 12 and has been there for years")
    assert archive_overfull(small) == []
    fuller = open_bundle(
        World(os.environ, clock=small.world.clock),
        small.root,
        "as is",
        config=Config(machine="laptop", memory_char_limit=20),
    )
    assert archive_overfull(fuller)
    assert "archive: 1 entry" in fuller.repository.store.commit(fuller.tip).message
    fuller.repository.store.close()


def test_a_local_path_suggests_the_machine(bundle: Memory) -> None:
    """An entry that names a local path is suggested for this machine only; others are not."""
    assert "--machine" in bundle.curated.add("The venv is in /home/ada/venv").suggestion
    assert bundle.curated.add("Logs go to /var/log/app", machine=True).suggestion == ""
    assert bundle.curated.add("The docs are at https://example.com/home/x").suggestion == ""
    assert "--machine" in bundle.curated.add("see ~/notes and C:\\work").suggestion
    assert bundle.curated.add("either/or, and/or, 1/2, src/home/x").suggestion == ""
