"""NUL, halves of characters, numbers and names of any length, by the Python API: one sentence, and nothing is stuck."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gitmem.errors import GitMemError
from gitmem.memory.memory import Memory

_WORDS = (
    "a\0b", "\ud800", "x\udcffy", "9" * 5000, "\U0010ffff\ufffe", "HEAD~" + "9" * 5000,
    "1" * 400 + " days ago", "session:\ud800", "session:a\0", "-", "snapshot/\ud800",
)  # fmt: skip
_TOLD: dict[str, Callable[[Memory, str], object]] = {
    "remember": lambda memory, word: memory.remember(word),
    "reason": lambda memory, word: memory.remember(f"Fact {len(word)}.", reason=word, source=word),
    "replace": lambda memory, word: memory.replace(word, "new"),
    "replace with": lambda memory, word: memory.replace("A fact about", word),
    "forget": lambda memory, word: memory.forget(word),
    "session": lambda memory, word: memory.session(word).start().end(),
    "model": lambda memory, word: memory.session("s", model=word, title=word).start().end(),
    "observation": lambda memory, word: memory.record_observation(word, word, session=word),
    "decision": lambda memory, word: memory.record_decision(word, word, [word]),
    "tool call": lambda memory, word: memory.record_tool_call(word, {word: word}, word),
    "tool": lambda memory, word: memory.register_tool(word, word, {word: word}),
    "turn": lambda memory, word: memory.record_turn(word, word),
    "snapshot": lambda memory, word: memory.snapshot(word, word),
}
_ASKED: dict[str, Callable[[Memory, str], object]] = {
    "prompt block": lambda memory, word: memory.prompt_block(as_of=word),
    "search": lambda memory, word: list(memory.search(word)),
    "recall": lambda memory, word: memory.recall(word),
    "read session": lambda memory, word: memory.read_session(word),
    "context": lambda memory, word: memory.context(word),
    "log of a path": lambda memory, word: list(memory.log(path=word)),
    "log of a session": lambda memory, word: list(memory.log(session=word)),
    "log since": lambda memory, word: list(memory.log(since=word)),
    "show": lambda memory, word: memory.show(word),
    "diff": lambda memory, word: memory.diff(word),
    "diff of a session": lambda memory, word: memory.diff(session=word),
    "diff of a path": lambda memory, word: memory.diff(path=word),
    "blame": lambda memory, word: memory.blame(word),
    "blame as of": lambda memory, word: memory.blame("memories/MEMORY.md", as_of=word),
    "trace": lambda memory, word: memory.trace(word),
    "revert": lambda memory, word: memory.revert(word, dry_run=True),
    "revert of a session": lambda memory, word: memory.revert(session=word, dry_run=True),
    "revert of a source": lambda memory, word: memory.revert(source=word, dry_run=True),
    "revert of a text": lambda memory, word: memory.revert(text=word, dry_run=True),
    "restore": lambda memory, word: memory.restore(word, dry_run=True),
    "restore of a path": lambda memory, word: memory.restore("HEAD", paths=[word], dry_run=True),
    "sync": lambda memory, word: memory.sync(word),
    "read": lambda memory, word: memory.read(word),
    "read as of": lambda memory, word: memory.read("memories/MEMORY.md", word),
    "list": lambda memory, word: memory.list_concepts(word),
}


def _works(memory: Memory) -> None:
    memory.remember("Something else.")
    memory.flush_buffers()
    memory.snapshot("afterwards")
    assert list(memory.search("garden"))
    assert list(memory.log())


def test_odd_words_are_an_error_or_a_text(bundle: Memory) -> None:
    """Whatever is told or asked raises nothing but an error of gitmem's own, and all goes on as before."""
    bundle.remember("A fact about a shed.")
    bundle.remember("The garden has roses.")
    for verbs in (_TOLD, _ASKED):
        for verb in verbs.values():
            for word in _WORDS:
                try:
                    verb(bundle, word)
                except GitMemError:
                    continue
    _works(bundle)


_VALUES: tuple[Any, ...] = (
    10**5000, -(10**5000), {10**5000: 1}, {"deep": [10**5000]}, float("nan"), float("inf"), b"bytes", {"a": {1, 2}},
)  # fmt: skip


@pytest.mark.parametrize("value", _VALUES, ids=lambda value: type(value).__name__)
def test_a_number_that_cannot_be_written(bundle: Memory, value: object) -> None:
    """A program's number of more digits than Python writes is refused in a sentence, or kept as it can be."""
    bundle.remember("A fact about the garden.")
    for call in (
        lambda: bundle.record_tool_call("x", {"n": value}, "r"),
        lambda: bundle.register_tool("x", "d", {"n": value}),
        lambda: bundle.record_event("observation", content="x", n=value),
        lambda: bundle.session("q").start().annotate(tokens={"n": value}),
        lambda: bundle.session("r").start().end(n=value),
    ):
        try:
            call()
        except GitMemError:
            pass
    _works(bundle)


@pytest.mark.parametrize(
    "number",
    ["9" * 5000, "0x" + "f" * 6000, "1e999999", "!!int '" + "9" * 5000 + "'", "1:" * 3000 + "1", ".inf"],
)
def test_a_number_in_a_file_that_can_be_read_and_not_written(bundle: Memory, number: str) -> None:
    """A hand edit with such a number is committed, searched and compared as any other."""
    path = bundle.repository.worktree.path("note.md")
    for body in ("one", "two"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"---\ntype: Note\nsize: {number}\n---\nThe garden has {body}.\n")
        bundle.take_in_edits(strict=True)
    assert list(bundle.diff("HEAD~1"))
    _works(bundle)
