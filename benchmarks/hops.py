"""Count the module boundaries that one operation crosses.

A hop is a pair of modules of gitmem of which one calls the other at least once. The number says how many seams a reader
meets who follows the operation from its verb to the disk.

    python -m benchmarks.hops            # the table
    python -m benchmarks.hops flush -v   # with the pairs of one operation
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import gitmem

# Measured before the rebuild of 2026, and wanted after it.
BEFORE = {"push": 16, "flush": 134, "remember": 136, "search": 77, "revert": 231, "sync": 282}
WANTED = {"flush": 90, "search": 50, "revert": 130, "sync": 180}

HOME = str(Path(gitmem.__file__).parent) + os.sep
Hops = set[tuple[str, str]]


@contextmanager
def counted(hops: Hops) -> Iterator[None]:
    """Collect the pairs (caller, callee) of gitmem's modules, on this thread and on those that it starts."""

    def module(frame: FrameType | None) -> str | None:
        # Comprehensions and the standard library may be between two modules of gitmem: the nearest caller of ours counts.
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(HOME):
                return name[len(HOME) : -3].replace(os.sep, ".").removesuffix(".__init__")
            frame = frame.f_back
        return None

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(HOME):
            callee, caller = module(frame), module(frame.f_back)
            if caller and callee and caller != callee and frame.f_code.co_name != "<module>":
                hops.add((caller, callee))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def command(*arguments: str) -> None:
    """Run a gitmem command in a process of its own."""
    subprocess.run([sys.executable, "-m", "gitmem", *arguments], check=True, stdout=subprocess.DEVNULL)


def operations(directory: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Each operation on a memory that has a session, a fact and a remote; made ready before it is counted."""
    origin = directory / "origin.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(origin)], check=True)
    with gitmem.open(directory / "memory", create=True) as memory:
        memory.remember("The staging host is stage1")
        with memory.session("night") as session:
            session.remember("Deploys happen on Tuesdays")
        with memory.session("day") as session:
            session.record_observation("warm")
            session.flush()
            yield "push", lambda: session.record_observation("The build is green")
            yield "flush", session.flush
        yield "remember", lambda: memory.remember("Backups run at noon")
        memory.search("staging host")
        yield "search", lambda: memory.search("staging host")
        yield "revert", lambda: memory.revert(session="night")
        command("-C", memory.root, "remote", "add", "origin", str(origin), "--yes")
        memory.sync()
        other = str(directory / "other")
        command("clone", str(origin), other)
        command("-C", other, "remember", "The office is in Lyon")
        command("-C", other, "sync")
        memory.remember("The office is in Berlin")
        yield "sync", memory.sync


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("only", nargs="*", help="which operations")
    parser.add_argument("-v", action="store_true", help="print the pairs too")
    asked = parser.parse_args()
    print(f"{'operation':<10}{'before':>8}{'now':>6}{'wanted':>8}")
    with tempfile.TemporaryDirectory() as directory:
        for name, run in operations(Path(directory)):
            hops: Hops = set()
            with counted(hops):
                run()
            if asked.only and name not in asked.only:
                continue
            print(f"{name:<10}{BEFORE[name]:>8}{len(hops):>6}{WANTED.get(name, ''):>8}")
            if asked.v:
                print(*(f"  {caller} -> {callee}" for caller, callee in sorted(hops)), sep="\n")


if __name__ == "__main__":
    main()
