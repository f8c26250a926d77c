"""What the tests of an erase look for: a text that is nowhere any more."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from gitmem.memory.memory import Memory
from gitmem.okf.paths import slug

from tests.git.support import try_git, wrong
from tests.trees import contents

SECRET = "blue harbour 7731"
"""Nothing that the redactor knows: it gets into the memory."""


def told_of(memory: Memory, text: str = SECRET) -> None:
    """A memory with the text in every place that a memory has."""
    memory.remember("The user likes tabs.")
    memory.remember(f"Anna's door code is {text} since May.")
    memory.snapshot(f"with-{slug(text)}", f"note of {text}")
    with memory.session("work-1") as session:
        session.record_observation(f"Anna said: {text}\nand went home")
        session.record_decision(f"Use {text} at the door", "It is what Anna said")
        session.record_tool_call("keypad", {"code": f'"{text}"', "zwölf": "ö"}, "opened")
        session.record_turn(f"what is {text}?", "a door code")
    memory.replace(
        f"Anna's door code is {text} since May.", f"Anna's new door code is {text}.", reason=f"was {text}"
    )
    memory.remember("The office has two doors.")


def objects_with(root: str | Path, text: str) -> list[str]:
    """Every object of a repository that holds the text, packs unpacked, by plain git."""
    listed = try_git(root, "cat-file", "--batch-all-objects", "--batch-check").stdout.decode().splitlines()
    found = []
    for line in listed:
        oid, kind, _ = line.split()
        data = try_git(root, "cat-file", kind, oid).stdout
        found += [f"{kind} {oid}: {line!r}" for line in data.splitlines() if text.encode() in line]
    return found


def files_with(root: str | Path, text: str) -> list[str]:
    """Every file below a directory that holds the text as it is, git's own directory included."""
    return [
        path
        for path, data in contents(root).items()
        if text.encode() in data or slug(text) in os.path.basename(path)
    ]


def whole(memory: Memory) -> list[str]:
    """What `gitmem check` finds: nothing."""
    return wrong(memory, history=True)


def fsck(root: str | Path) -> bytes:
    done = subprocess.run(["git", "fsck", "--strict", "--full"], cwd=root, capture_output=True, check=False)
    return done.stdout + done.stderr + (b"" if not done.returncode else b"failed")
