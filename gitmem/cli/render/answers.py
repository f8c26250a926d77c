"""Answers for people: the curated store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.output import AGE, bold, count, dim, padded, yellow
from gitmem.cli.render import renders

if TYPE_CHECKING:
    from gitmem.cli.context import App
    from gitmem.memory.curated.prompt_block import FrozenBlock
    from gitmem.memory.curated.store import Answer
    from gitmem.memory.facts import Fact, Facts


@renders("Answer")
def tell_answer(app: App, answer: Answer) -> None:
    """What a change of the store did, and how full the store is."""
    if answer.changed or not answer.held:
        app.out.line(answer.message)
    usage = f"{answer.percent}% — {answer.usage:,}/{answer.limit:,} chars"
    app.out.line(dim(f"{answer.target}: {usage}, {count(answer.count, 'entry', 'entries')}"))
    for remark in filter(None, (answer.note, answer.suggestion)):
        app.out.line(yellow(remark))


@renders("Facts")
def tell_facts(app: App, found: Facts) -> None:
    """Stores with their facts, oldest first."""
    for store in found.stores:
        entries = count(len(store.facts), "entry", "entries")
        app.out.line(bold(f"{store.target}: {entries}, {store.usage:,} of {store.limit:,} characters"))
        for fact in store.facts:
            _tell_fact(app, fact)


def _tell_fact(app: App, fact: Fact) -> None:
    from gitmem.cli.render.history import blame_line

    lead = f"  {fact.entry.key.id[:8]} {padded(app.day(fact.entry.at), AGE if app.ages else 0)}  "
    mark = yellow(f"  unconfirmed, from {fact.unconfirmed}") if fact.unconfirmed else ""
    app.out.block(dim(lead), fact.entry.text, mark, indent=" " * len(lead))
    if fact.blame is not None:
        app.out.block(" " * 11, dim(blame_line(fact.blame, app.date)), indent=" " * 13)


@renders("FrozenBlock")
def tell_block(app: App, block: FrozenBlock) -> None:
    """The prompt block, byte for byte."""
    if block.text:
        app.out.text(block.text)
        app.out.line()
