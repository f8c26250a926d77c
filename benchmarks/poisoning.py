"""Recovery from poisoning: what is left of the poison and what is lost of the honest work, after undo.

    python -m benchmarks.poisoning [--quick]

200 honest sessions by several agents; poison from 10 sessions among them (new entries, reworded entries,
removed entries, new concepts, poisoned skills); 50 honest sessions afterwards that touch the same files.
Then, each on a copy: `revert --session` of the ten, one by one; `restore` to the last clean snapshot; and
hermes-okf 0.5.9's `git_revert` to the same commit (skipped where it is not installed).
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gitmem.config import Config
from gitmem.git.message import Message
from gitmem.memory.edits import Edits
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.upkeep.create import create
from gitmem.okf.concept import Concept
from gitmem.world import World

AGENTS = ("hermes", "scout", "clerk")


@dataclass
class Story:
    """What should be there in the end, and what must not be."""

    honest: dict[str, str] = field(default_factory=dict)
    """Honest entries by their name, as they should read."""
    poison: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    """Honest concepts and skills by path."""


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=50)
        return self.now


def write(bundle: Memory, path: str, body: str, session: str, agent: str, kind: str = "Note") -> None:
    meta = {"name": path.split("/")[-2], "description": "a procedure"} if kind == "Skill" else {}

    def work(edits: Edits) -> Message | None:
        edits.write(path, Concept.new(kind, body, **meta).render())
        return Message("skill" if kind == "Skill" else "flush", path)

    bundle.commit(work, purpose="benchmark", origin=bundle.origin(session=session, agent=agent))


def honest_session(bundle: Memory, world: Story, number: int, rng: random.Random) -> None:
    agent = AGENTS[number % len(AGENTS)]
    name = f"honest-{number}"
    origin = bundle.origin(session=name, agent=agent)
    with bundle.session(name, agent=agent) as session:
        session.record_observation(f"{name} observed the build number {number}")
        fact = f"fact {number}: service {number} listens on port {8000 + number}"
        bundle.curated.add(fact, origin=origin)
        world.honest[f"f{number}"] = fact
        if number % 5 == 0:
            path = f"notes/topic-{number % 20}-{number}.md"
            world.notes[path] = f"honest note {number}\n"
            write(bundle, path, world.notes[path], name, agent)
        if number % 25 == 0:
            path = f"skills/ops/deploy-{number}/SKILL.md"
            world.notes[path] = f"honest steps {number}\n"
            write(bundle, path, world.notes[path], name, agent, "Skill")
    del rng


def poison_session(bundle: Memory, world: Story, number: int, rng: random.Random) -> None:
    agent = AGENTS[number % len(AGENTS)]
    name = f"poison-{number}"
    origin = bundle.origin(session=name, agent=agent, source="https://evil.example")
    with bundle.session(name, agent=agent) as session:
        session.record_observation(f"POISON{number} observation")
        bundle.curated.add(f"POISON{number}: mallory approves every change", origin=origin)
        victims = [text for text in world.honest.values() if text in _texts(bundle)]
        reworded, removed = rng.sample(victims, 2)
        bundle.curated.replace(reworded, f"POISON{number} {reworded}", origin=origin)
        bundle.curated.remove(removed, origin=origin)
        write(bundle, f"notes/evil-{number}.md", f"POISON{number} note\n", name, agent)
        path = rng.choice([path for path in world.notes if path.startswith("skills/")])
        write(bundle, path, f"POISON{number} steps\n", name, agent, "Skill")
        world.poison.append(f"POISON{number}")


def _texts(bundle: Memory) -> list[str]:
    return [entry.text for entry in bundle.curated.entries("memory")]


@dataclass
class Outcome:
    """Poison that is left, honest things that are gone, and honest things that read differently."""

    residual: int
    lost: int
    altered: int


def judge(root: Path, world: Story) -> Outcome:
    """Look at the files themselves, as any program would."""
    memory = (root / "memories" / "MEMORY.md").read_text(encoding="utf-8")
    entries = set(memory.split("\n---\n", 1)[1].split("\n§\n"))
    files = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8", errors="replace")
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }
    residual = sum(mark in text for text in files.values() for mark in world.poison)
    lost = altered = 0
    for text in world.honest.values():
        if text not in entries:
            altered += any(text in entry for entry in entries)
            lost += not any(text in entry for entry in entries)
    for path, body in world.notes.items():
        lost += path not in files
        altered += path in files and not files[path].endswith(body)
    return Outcome(residual, lost, altered)


def build(root: Path, honest: int, poisoned: int, after: int) -> tuple[Memory, Story]:
    rng = random.Random(11)
    config = Config(machine="laptop", memory_char_limit=10_000_000, auto_snapshot=False)
    bundle, _ = create(World(os.environ, clock=Clock()), str(root), config=config)
    world = Story()
    first_poison = honest // 4
    moments = sorted(rng.sample(range(first_poison, honest), poisoned))
    for number in range(honest):
        if number == moments[0]:
            bundle.snapshots.create("clean", origin=bundle.origin())
        if number in moments:
            poison_session(bundle, world, moments.index(number), rng)
        honest_session(bundle, world, number, rng)
    for number in range(honest, honest + after):
        honest_session(bundle, world, number, rng)
    return bundle, world


def copied(bundle: Memory, target: Path) -> Memory:
    shutil.copytree(bundle.root, target, symlinks=True)
    return open_bundle(
        World(os.environ, clock=bundle.world.clock), str(target), "as is", config=bundle.config
    )


def by_hermes_okf(bundle: Memory, target: Path, commit: str) -> bool:
    """hermes-okf's own undo on the same history; False where it is not installed."""
    try:
        from hermes_okf.git_bundle import GitOKFBundle
    except ImportError:
        return False
    subprocess.run(["git", "clone", "-q", bundle.root, str(target)], check=True)
    GitOKFBundle(target).git_revert(commit)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    scale = 10 if parser.parse_args().quick else 1
    honest, poisoned, after = 200 // scale, max(2, 10 // scale), 50 // scale
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        bundle, world = build(place / "bundle", honest, poisoned, after)
        before = judge(Path(bundle.root), world)
        rows = [("before", before)]
        clean = bundle.snapshots.get("clean").commit

        reverted = copied(bundle, place / "revert")
        for number in range(poisoned):
            reverted.revert(session=f"poison-{number}", reason="poisoned")
        rows.append((f"gitmem revert --session ({poisoned} sessions)", judge(Path(reverted.root), world)))

        restored = copied(bundle, place / "restore")
        restored.restore("clean")
        rows.append(("gitmem restore clean", judge(Path(restored.root), world)))

        if by_hermes_okf(bundle, place / "okf", clean):
            rows.append(("hermes-okf git_revert", judge(place / "okf", world)))
        else:
            print("hermes-okf is not installed (pip install 'hermes-okf[git]==0.5.9'): its row is left out.")

        print(f"{honest} honest sessions, {poisoned} poisoned among them, {after} honest ones afterwards")
        print(f"{'':44}{'residual poison':>16}{'honest lost':>13}{'altered':>9}")
        for name, outcome in rows:
            print(f"{name:44}{outcome.residual:>16}{outcome.lost:>13}{outcome.altered:>9}")


if __name__ == "__main__":
    main()
