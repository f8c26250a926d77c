"""Answers for people: the curated store, and how a memory stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.cli.output import AGE, bold, count, dim, green, padded, red, safe, size, table, yellow
from gitmem.cli.render import renders
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.cli.context import App
    from gitmem.memory.curated.prompt_block import FrozenBlock
    from gitmem.memory.curated.store import Answer
    from gitmem.memory.facts import Fact, Facts
    from gitmem.memory.review import Item
    from gitmem.memory.status import PendingEdit, Status
    from gitmem.memory.sync.remote_state import RemoteStanding


@renders("Answer")
def tell_answer(app: App, answer: Answer) -> None:
    """Print the effect of a change of the store, and how full the store is."""
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


# --- status ----------------------------------------------------------------------------------------------


@renders("Status")
def tell_status(app: App, found: Status, *, verbose: bool = False) -> None:
    """Print the state of a memory; with `verbose` also what is stored, and how."""
    out = app.out
    out.line(bold(found.bundle))
    rows = [*_session_rows(app, found), *_store_rows(found)]
    if found.events_waiting:
        rows.append(("journal", f"{count(found.events_waiting, 'event')} not committed yet"))
    rows += [(f"sync {one.remote.name}", _remote(app, one)) for one in found.remotes]
    rows += _stored_rows(app, found) if verbose else []
    for name, text in table(rows):
        out.line("  ", dim(name), "  ", text)
    if found.waiting_in_words:
        out.line()
        out.line(yellow(found.waiting_in_words))
    good = [edit for edit in found.hand_edits if not edit.problem]
    bad = [edit for edit in found.hand_edits if edit.problem]
    how = "the next write" if bad else "the next write or `gitmem commit`"
    _tell_edits(app, f"Edited by hand; {how} commits them:", good)
    _tell_edits(app, "Edited by hand, and not committed until they are repaired or removed:", bad)
    for problem in found.problems:
        out.line()
        out.line(red("! "), problem)


def _tell_edits(app: App, heading: str, edits: Sequence[PendingEdit]) -> None:
    if not edits:
        return
    app.out.line()
    app.out.line(heading)
    for edit in edits:
        style = {"added": green, "removed": red}.get(edit.change, yellow)
        note = f"  ({edit.problem})" if edit.problem else ""
        app.out.line("  ", style(f"{edit.change:<8}"), edit.path, dim(note))


def _session_rows(app: App, found: Status) -> Iterator[tuple[str, str]]:
    if found.last_session is None:
        return
    state = found.last_session.state
    title = state.get("title") if state.get("title") != f"Session {state.id}" else ""
    name = state.id + (f' "{shortened(title, 60)}"' if title else "")
    if found.last_session.is_open:
        since = f", open since {app.moment(state.get('started'))}" if state.get("started") else ", open"
        yield "session", name + since
    else:
        ended = f", ended {app.moment(state.get('ended'))}" if state.get("ended") else ""
        yield "last session", name + ended
    yield "learned", ", ".join(found.learned.in_short()) or "nothing"


def _store_rows(found: Status) -> Iterator[tuple[str, str]]:
    for store in found.curated:
        entries = count(store.entry_count, "entry", "entries")
        share = f"({round(100 * store.usage / store.limit)} %)"
        yield (
            store.path.rpartition("/")[2],
            f"{entries}, {store.usage:,} of {store.limit:,} characters {share}",
        )


def _remote(app: App, one: RemoteStanding) -> str:
    last = f"last sync {app.moment(one.last_success)}" if one.last_success else "never synced"
    failed = f"; the last try failed: {one.last_error}" if one.failures else ""
    return f"{one.ahead:,} to send, {one.behind:,} to take in; {last}{failed}"


def _stored_rows(app: App, found: Status) -> list[tuple[str, str]]:
    newest, store = found.newest, found.weight
    packs = f"{count(store.packs, 'pack')}, {store.loose:,} loose"
    return [
        ("git directory", found.git_dir),
        ("newest commit", f"{newest.id[:8]}  {newest.subject}  ({app.moment(newest.at)})"),
        ("holds", f"{count(found.concept_count, 'concept')}, {count(len(found.paths), 'file')}"),
        ("object store", f"{size(store.bytes)} ({packs})"),
        ("last gc", app.date(found.last_gc) if found.last_gc is not None else "never"),
        ("format", str(found.format)),
    ]


# --- what waits ------------------------------------------------------------------------------------------


@renders("Item")
def tell_item(app: App, item: Item, *, lines: int = 0, **_: bool) -> None:
    """An item that waits for a person, its text cut to so many lines where that is asked for."""
    app.out.line(bold(item.id), "  ", item.kind, "  ", item.path, "  ", dim(app.moment(item.at)))
    if item.why:
        app.out.line(red("  ! "), safe(item.why))
    for name, value in (("session", item.session), ("source", item.source)):
        if value:
            app.out.line(dim(f"  {name}: "), value)
    app.out.line()
    text = item.text.split("\n")
    app.out.text("\n".join(text[:lines] if lines else text))
    if lines and len(text) > lines:
        app.out.line(dim(f"… and {len(text) - lines:,} more lines"))
