"""Where hostile commits are tried: a bundle with all that a memory has, and the hub it was synced to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gitmem.config import Config
from gitmem.git.git_settings import Remote, Remotes
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.faults import hostile
from tests.faults.hostile_commits import COMMIT_KINDS, FACTS, POISON, REWORDED, SEEN
from tests.memory.conftest import Clock

KINDS = [*hostile.KINDS, *COMMIT_KINDS]


def lay_ground(root: Path) -> None:
    """The bundle `b` and the bare repository `hub.git`, in step, in an empty directory."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(root / "hub.git")], check=True)
    bundle, _ = create(
        World(os.environ, clock=Clock()), str(root / "b"), config=Config(machine="b"), python=sys.executable
    )
    for fact in FACTS:
        bundle.curated.add(fact)
    bundle.curated.replace(FACTS[0], REWORDED)
    bundle.curated.add("the user is Ada", target="user")
    with bundle.session("s-1") as session:
        session.record_observation(SEEN)
        session.record_decision("spaces", "they are narrower")
    bundle.plans.create("move house", ["pack"])
    bundle.curated.add(POISON, origin=bundle.origin(session="bad"))
    bundle.revert(session="bad")
    bundle.snapshots.create("clean", origin=bundle.origin())
    Remotes(bundle.repository).save(Remote("origin", str(root / "hub.git"), consent=True))
    Sync(bundle).run()
    bundle.repository.store.close()
