"""Answers for people: facts, skills, plans, imports, erasures, connections, and the state of a memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.cli.render.history import subject_in_words, who
from gitmem.cli.terminal import AGE, bold, count, cyan, dim, green, padded, red, safe, size, width, yellow
from gitmem.okf.layout import is_record
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.cli.app import App
    from gitmem.git.git_settings import Remote
    from gitmem.hosts.connect import Steps
    from gitmem.memory.curated.prompt_block import FrozenBlock
    from gitmem.memory.curated.store import Answer
    from gitmem.memory.erase.eraser import Erased
    from gitmem.memory.exchange.exporting import Exported
    from gitmem.memory.exchange.importing import Imported
    from gitmem.memory.facts import Fact, Facts
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.pages import Plan
    from gitmem.memory.review import Item
    from gitmem.memory.skills.store import SkillView, SkillWrite
    from gitmem.memory.status import PendingEdit, Status, StoreUsage


def tell_answer(app: App, answer: Answer, *, removed: LogEntry | None = None) -> None:
    """Print the effect of a change of the store, what is like it or was `removed` before, and how full the store is."""
    if answer.changed or not answer.held:
        app.out.line(answer.message)
    entries = count(answer.count, "entry", "entries")
    app.out.line(dim(f"{answer.target}: {entries}, {_used(answer.usage, answer.limit)}"))
    if removed is not None:
        why = f": {removed.reason}" if removed.reason else ""
        left = f"It was here before: {subject_in_words(removed.subject)} ({who(removed)}, {app.date(removed.commit.made)})"
        app.out.block(yellow(left + why), indent="  ")
    for entry in answer.near:
        when = f", {app.day(entry.at)}" if entry.at else ""
        app.out.block(yellow(f"Compare {entry.key.id[:8]}{when}: "), entry.text, indent="  ")
    if answer.near:
        app.out.line(dim("Both are kept. `gitmem forget ID` removes the one that no longer holds."))
    for remark in filter(None, (answer.note, answer.suggestion)):
        app.out.line(yellow(remark))


def tell_facts(app: App, found: Facts, *, nothing: str = "") -> None:
    """Stores with their facts, oldest first; where only some are wanted, those, or the sentence `nothing`."""
    for store in found.stores:
        entries = count(len(store.facts), "entry", "entries")
        if not nothing:
            app.out.line(bold(f"{store.target}: {entries}, {_used(store.usage, store.limit)}"))
        elif store.facts:
            app.out.line(bold(f"{store.target}: {entries}"))
        for fact in store.facts:
            _tell_fact(app, fact)
    if nothing and not any(store.facts for store in found.stores):
        app.out.line(nothing)
    if hidden := sum(store.hidden for store in found.stores):
        app.out.line(dim(f"{hidden} hidden on this machine by the undo of a sync (`gitmem redo` shows them)"))


def _tell_fact(app: App, fact: Fact) -> None:
    lead = f"  {fact.entry.key.id[:8]} {padded(app.day(fact.entry.at), AGE if app.ages else 0)}  "
    mark = yellow(f"  unconfirmed, from {fact.unconfirmed}") if fact.unconfirmed else ""
    pinned = cyan("  pinned") if fact.pinned else ""
    by = fact.blame.changed if fact.blame is not None else None
    told = fact.blame.source if fact.blame is not None and not fact.unconfirmed else ""
    source = f"from {told}" if told else ""
    author = (by.agent or by.commit.author.name) if by is not None else ""
    tail = dim(f"  ({', '.join(filter(None, (author, source, f'{fact.share} %')))})")
    app.out.block(dim(lead), fact.entry.text, pinned, mark, tail, indent=" " * len(lead))


def tell_frozen_block(app: App, block: FrozenBlock) -> None:
    """The prompt block, byte for byte."""
    if block.text:
        app.out.text(block.text)
        app.out.line()


_NEARLY_FULL = 80


# --- status ----------------------------------------------------------------------------------------------


def tell_status(app: App, found: Status, *, verbose: bool = False) -> None:
    """Print the state of a memory; with `verbose` also what is stored, and how."""
    out = app.out
    columns = out.columns
    too_long = columns and len(found.bundle) > columns
    out.line(bold(f"…{found.bundle[1 - columns :]}" if too_long else found.bundle))
    rows = list(_status_rows(app, found, verbose=verbose))
    widest = max(width(name) for name, _ in rows)
    for name, text in rows:
        out.block("  ", dim(padded(name, widest)), "  ", text, indent=" " * (widest + 4))
    for store in found.curated:
        _tell_full(app, store)
    if found.waiting_in_words:
        out.line()
        out.block(yellow(found.waiting_in_words), indent="  ")
    good = [edit for edit in found.hand_edits if not edit.problem]
    bad = [edit for edit in found.hand_edits if edit.problem]
    _tell_edits(app, "Edited by hand; the next write or `gitmem commit` commits them:", good)
    _tell_edits(app, "Edited by hand, and not committed until they are repaired or removed:", bad)
    for problem in found.problems:
        out.line()
        out.block(red("! "), problem, indent="  ")


def _tell_full(app: App, store: StoreUsage) -> None:
    """Warn above 80 %, and name what the prompt block has no room for."""
    if store.left_out:
        app.out.line()
        left = count(len(store.left_out), "entry of", "entries of")
        told = f"{left} {_name(store)} found by search only, not in prompts (`gitmem facts --pin ID`):"
        app.out.block(yellow(told), indent="  ")
        for text in store.left_out[:_LISTED]:
            app.out.block("  ", shortened(text))
        _tell_more(app, store.left_out)
    elif store.usage * 100 > _NEARLY_FULL * store.limit:
        app.out.line()
        told = f"{_name(store)} fills {store.usage * 100 // store.limit} % of its place in a prompt."
        app.out.block(yellow(told), indent="  ")


def _tell_edits(app: App, heading: str, edits: Sequence[PendingEdit]) -> None:
    if not edits:
        return
    app.out.line()
    app.out.block(heading, indent="  ")
    for edit in edits:
        style = {"added": green, "removed": red}.get(edit.change, yellow)
        note = f"  ({edit.problem})" if edit.problem else ""
        app.out.block("  ", style(f"{edit.change:<8}"), edit.path, dim(note))


def _status_rows(app: App, found: Status, *, verbose: bool) -> Iterator[tuple[str, str]]:
    """Yield the lines of a status: a name and what is seen."""
    if found.last_session is not None:
        state, is_open = found.last_session.state, found.last_session.is_open
        when = state.get("started" if is_open else "ended")
        told = f", {'open since' if is_open else 'ended'} {app.date(when)}" if when else ""
        title = f'"{shortened(found.title, 60)}"' if found.title else state.id
        yield "session" if is_open else "last session", title + told
        if learned := found.learned.in_short():
            yield "learned", ", ".join(learned)
    for store in found.curated:
        if store.entry_count:
            entries = count(store.entry_count, "entry", "entries")
            tokens = count(store.tokens, "token")
            yield _name(store), f"{entries}, {_used(store.usage, store.limit)}, about {tokens}"
    if not any(store.entry_count for store in found.curated):
        yield "facts", "none yet: `gitmem remember TEXT` adds one"
    if found.events_waiting:
        yield "journal", f"{count(found.events_waiting, 'event')} not committed yet"
    for one in found.remotes:
        last = f"last sync {app.date(one.last_success)}" if one.last_success else "never synced"
        failed = f"; the last try failed: {one.last_error}" if one.failures else ""
        yield f"sync {one.remote.name}", f"{one.ahead:,} to send, {one.behind:,} to take in; {last}{failed}"
    if verbose:
        newest, weight = found.newest, found.weight
        subject = subject_in_words(newest.subject)
        yield "git directory", found.git_dir
        yield "newest commit", f"{newest.id[:8]}  {subject}  ({app.date(newest.at)})"
        yield "holds", f"{count(found.concept_count, 'concept')}, {count(len(found.paths), 'file')}"
        yield "object store", f"{size(weight.bytes)} ({count(weight.packs, 'pack')}, {weight.loose:,} loose)"
        yield "last gc", app.date(found.last_gc) if found.last_gc is not None else "never"
        yield "format", str(found.format)


def _name(store: StoreUsage) -> str:
    return store.path.rpartition("/")[2]


def _used(usage: int, limit: int) -> str:
    """The usage of a store, in one form everywhere."""
    return f"{usage:,} of {limit:,} characters ({usage * 100 // limit} %)"


# --- plans, skills, remotes, connections -----------------------------------------------------------------


def tell_plan(app: App, plan: Plan, *, short: bool = False) -> None:
    """A plan with its steps, or on one line with its progress."""
    if short:
        done, total = plan.progress
        archived = dim("  archived") if plan.is_archived else ""
        app.out.block(cyan(f"{done}/{total} "), bold(plan.title), f"  {plan.name}", archived)
        return
    app.out.line(bold(plan.title), dim(f"  {plan.path}"))
    for step in plan.steps:
        app.out.line("  ", step.line())


def tell_skill_write(app: App, done: SkillWrite) -> None:
    """Print the effect of a change of a skill."""
    from gitmem.cli.render.changes import tell_lines

    if not done.held:
        app.out.line(done.message)
        tell_lines(app.out, done.diff if done.action in ("patch", "edit") else "")


def tell_skill_view(app: App, found: SkillView, *, file: str = "") -> None:
    """A skill or one of its files, with the names of the others."""
    app.out.paged()
    if found.is_text:
        app.out.text(found.text)
    else:
        app.out.line(dim(f"{found.file} is not text: {found.size:,} bytes"))
    if not file and found.files:
        app.out.line()
        app.out.line(dim(f"files: {', '.join(found.files)}"))


def tell_remote(app: App, one: Remote) -> None:
    """A remote on one line."""
    from gitmem.git.remote_address import shown_url

    shared = ", shared" if one.shared else ""
    agreed = "" if one.consent or not one.pushes else ", you have not allowed sending yet"
    app.out.block(bold(one.name), "  ", shown_url(one.url), dim(f"  ({one.mode}{shared}{agreed})"))


def tell_steps(app: App, done: Steps, *, title: str) -> None:
    """Print what was done to connect an agent."""
    app.out.line(f"{title} ", bold(done.place))
    for state, what in done.steps:
        app.out.line(green("✓ ") if state == "done" else dim("· "), "would " * (state == "would") + what)
    if done.content:
        app.out.text(done.content)
    for warning in done.warnings:
        app.warn(warning)


# --- import, export, erase -------------------------------------------------------------------------------

_LISTED = 10


def tell_exported(app: App, done: Exported, *, place: str = "") -> None:
    """Print what an export wrote."""
    if done.files:
        app.out.line(green("exported "), f"{safe(place)}: {count(len(done.files), 'file')}")
    else:
        app.out.line(f"{safe(place)} says all of it already.")


def tell_imported(app: App, done: Imported) -> None:
    """Print what an import brought, or would bring."""
    events = f"{count(done.events, 'event')} of {count(done.sessions, 'session')}" if done.events else ""
    entries = count(done.entries, "entry", "entries") if done.entries else ""
    what = ", ".join(filter(None, (entries, events, count(done.files, "file") if done.files else "")))
    app.out.line(green("would import " if done.dry_run else "imported "), what or "nothing")
    if done.removed:
        app.out.line(dim(f"{done.removed} of an earlier state went again: `gitmem log` has them"))
    if done.known:
        app.out.line(dim(f"{done.known} are here already"))
    held = [f"held back for a person (`gitmem review`): {one}" for one in done.held]
    redacted = [f"a secret was redacted in: {one}" for one in done.redacted]
    for listed in (held, redacted, done.problems):
        for one in listed[:_LISTED]:
            app.out.line(yellow(safe(one)))
        _tell_more(app, listed)
    if done.unread:
        app.out.line(
            yellow(f"{count(len(done.unread), 'file or line', 'files or lines')} could not be imported")
        )
    if not done.dry_run and done.commits:
        app.out.line(dim(f"{count(done.commits, 'commit')}; `gitmem undo` takes all of it back."))


def _tell_more(app: App, listed: Sequence[object]) -> None:
    if len(listed) > _LISTED:
        app.out.line(dim(f"and {len(listed) - _LISTED} more: --json lists them"))


_ELSEWHERE = (
    "gitmem cannot reach other copies: backups, clones, exported files, what a host or a model keeps. "
    "A forge serves old commits by their ids until it collects its garbage: GitHub's support does that on request; "
    "GitLab has Settings > Repository > Repository cleanup; on your own server run "
    "`git reflog expire --expire=now --all` and `git gc --prune=now` in the repository. "
    "A password or key that was in here must be changed."
)


def _holders(done: Erased) -> list[str]:
    """Files, snapshots and pending items that hold a text, counted."""
    paths = {path for one in done.commits for path in one.paths if path}
    record = {path for path in paths if is_record(path)}
    counted = [
        (len(record), "page of the record", "pages of the record"),
        (len(done.snapshots), "snapshot", ""),
        (len(done.quarantine), "pending item", ""),
    ]
    return [*sorted(paths - record), *(count(*one) for one in counted if one[0])]


def tell_erased(app: App, done: Erased, *, asks: bool = False) -> None:
    """Print what was erased, or what holds it and would be rewritten: the sentence that counts first."""
    out = app.out
    if done.dry_run:
        counted = count(done.rewritten, "commit")
        out.block(bold(f"It would be gone for good: {counted} rewritten, with no way back."), indent="")
        texts = {"Written as": done.forms, "Also in": _holders(done)}
        for title, names in texts.items():
            if names:
                more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
                out.block(f"{title}: ", safe("; ".join(names[:_LISTED])) + more, indent="  ")
        if not asks:
            told = "Nothing was changed: this was a dry run. `--json` lists each commit and file."
            out.block(dim(told), indent="")
        return
    out.line(yellow(done.commit[:8]), f"  erased: {count(done.rewritten, 'commit')} rewritten")
    out.line(f"receipt {', '.join(done.receipts)} in config/erased.md")
    for path in done.left:
        told = f"{path} still holds it, and is not gitmem's to change: edit it yourself."
        out.block(yellow(told), indent="  ")
    for remote in done.remotes:
        told = f"{remote} still has the old history: `gitmem sync {remote}` puts the new one there."
        out.block(told, indent="  ")
    out.block(dim(_ELSEWHERE), indent="")


# --- what waits ------------------------------------------------------------------------------------------


def item_words(item: Item) -> str:
    """The text of an item; of an event its fields, one a line."""
    import json

    try:
        fields = json.loads(item.text)
    except ValueError:
        return item.text
    if not isinstance(fields, dict):
        return item.text
    return "\n".join(f"{name}: {value}" for name, value in fields.items() if value)


def tell_item(app: App, item: Item, *, lines: int = 0, **_: bool) -> None:
    """An item that waits for a person, its text cut to so many lines where that is asked for."""
    app.out.line(bold(item.id), "  ", item.kind, "  ", item.path, "  ", dim(app.date(item.at)))
    if item.why:
        app.out.line(red("  ! "), safe(item.why))
    for name, value in (("session", item.session), ("source", item.source)):
        if value:
            app.out.line(dim(f"  {name}: "), value)
    app.out.line()
    text = item_words(item).split("\n")
    app.out.text("\n".join(text[:lines] if lines else text))
    if lines and len(text) > lines:
        app.out.line(dim(f"… and {len(text) - lines:,} more lines"))
