"""Two agents on one memory: each commit says which of them made it.

python team.py ~/memory
"""

from __future__ import annotations

import sys

import gitmem


def main(path: str) -> None:
    with gitmem.open(path, create=True) as memory:
        with gitmem.MemoryManager(memory) as manager, manager.session(agent="researcher/1") as session:
            session.turn("Which database should we use?")
            session.tool_call(
                "remember",
                {"text": "Use PostgreSQL for billing", "kind": "decision", "why": "the queries join a lot"},
            )
            session.done("PostgreSQL: the queries join a lot.")

        with gitmem.MemoryManager(memory) as manager, manager.session(agent="coder/1") as session:
            prompt = session.turn("Which database did we choose for billing?")
            print(prompt.recalled)  # what the other one decided, as data
            session.tool_call("remember", {"text": "The schema of billing is in db/schema.sql"})
            session.done("PostgreSQL. I put the schema into db/schema.sql.")

        for entry in memory.log(limit=20):
            if entry.session:
                print(entry.first("Agent"), "·", entry.subject)
        print(memory.revert(agent="coder/1", reason="a test", dry_run=True))


if __name__ == "__main__":
    main(sys.argv[1])
