"""Changes for people: knowledge first, the record on request; undo, restore, revert, sync and snapshots with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gitmem.cli.terminal import (
    AGE,
    Output,
    Piece,
    Styled,
    bold,
    count,
    cyan,
    dim,
    green,
    padded,
    red,
    safe,
    size,
    width,
    yellow,
)
from gitmem.okf.plain import shortened
from gitmem.shape import COUNTED, counts_by_file, written_line

if TYPE_CHECKING:
    from gitmem.cli.app import App
    from gitmem.memory.history.impact import Derived
    from gitmem.memory.history.log import Diff, ShownCommit
    from gitmem.memory.history.restore import Restored
    from gitmem.memory.history.revert import Reverted
    from gitmem.memory.printed_ids import ShownSnapshot
    from gitmem.memory.snapshots import Snapshot
    from gitmem.memory.sync.sync import Synced
    from gitmem.okf.entries import Change, Entry
    from gitmem.okf.learned import Learned, LearnedItem

_STYLES: dict[str, str] = {"add": "green", "remove": "red", "change": "yellow", "move": "yellow"}
_SIGNS: dict[str, str] = {"add": "+", "remove": "-", "change": "~", "move": "~"}
_MARGIN, _DEEPER = "    ", "      "
_LABELS = {"body": "text", "meta": ""}
_SAID = {"observation": "noted: ", "decision": "decided: ", "held": "held back: ", "recalled": "recalled: "}
_LONGEST_WHY = 200


def tell(out: Output, changes: Iterable[Change], *, events: bool = False, stat: bool = False) -> None:
    """Print what was learned, by what it is; with `events` the record too, with `stat` only how much of it.

    Every command that shows changes shows them by this.
    """
    from gitmem.okf.learned import learned

    changes = list(changes)
    what = learned(changes)
    if stat:
        _tell_stat(out, changes, what, events=events)
    else:
        for heading, group in groupby(what.items, key=lambda item: item.heading):
            items = list(group)
            where = f"  {items[0].path}" if items[0].noun == "fact" and items[0].path != heading else ""
            out.line(bold(heading), dim(where))
            for item in items:
                _tell_item(out, item)
        if events:
            _tell_events(out, what.events)
    record = what.record
    if events or not record.in_words():
        return
    if what:
        out.block(dim(f"… and {record.in_words()} (--events)"))
    elif record.went and not record.came:
        sessions = count(len(record.sessions), "session")
        out.block(
            f"No facts change; the record of {sessions} ({count(record.went, 'event')}) goes (--events)"
        )
    else:
        out.block(dim(f"Nothing learned; {record.in_words()} (--events)"))


def _tell_item(out: Output, item: LearnedItem) -> None:
    mark = Styled(f"  {item.sign} ", _STYLES[item.op])
    label = [cyan(f"{item.noun}: ")] if item.heading == item.path and item.title else []
    tail = [dim(f"  ({shortened(item.about, _LONGEST_WHY)})" if item.about else "")]
    tail += [yellow("  unconfirmed")] if item.unconfirmed else []
    if item.was:
        _changed(out, [mark, *label], item.was, item.title, tail, _MARGIN)
    else:
        text = item.title.rstrip("\n")
        out.block(
            mark, *label, Styled(text, _STYLES[item.op]) if item.op in ("add", "remove") else text, *tail
        )
    for line in item.lines:
        out.block(_MARGIN, dim(line.removeprefix("- ")), indent=_MARGIN + "    ")
    for change in item.parts:
        if change.key.id != "title" or change.op == "change":
            _tell_part(out, change)


_LONGEST_COMPARED = 200_000
"""In characters: nobody reads two longer texts word by word, and printing a megabyte of them takes seconds."""


def _tell_part(out: Output, change: Change) -> None:
    """Print the differences inside a file."""
    mark = Styled(f"{_MARGIN}{_SIGNS[change.op]} ", _STYLES[change.op])
    space = change.key.space
    name = _LABELS.get(space, "") or (change.key.id.replace("_", " ") if space == "meta" else "")
    label: list[Piece] = [cyan(f"{name}: ")] if name else []
    if change.op == "change" and change.old is not None and change.new is not None:
        _changed(out, [mark, *label], change.old.text, change.new.text, [], _DEEPER)
        return
    if _entry(change).kind != "binary":
        text = _entry(change).text.rstrip("\n")
        out.block(mark, *label, Styled(text, _STYLES[change.op]), indent=_DEEPER)


def _changed(
    out: Output, lead: Sequence[Piece], old: str, new: str, tail: Sequence[Piece], margin: str
) -> None:
    if max(len(old), len(new)) > _LONGEST_COMPARED:
        sizes = f"{size(len(old.encode()))} became {size(len(new.encode()))}"
        out.line(*lead, dim(f"{sizes}; `gitmem diff --unified` has the lines"), *tail)
        return
    if "\n" in old.strip("\n") and "\n" in new.strip("\n"):
        import difflib

        out.line(*lead, dim("lines changed"), *tail)
        for line in difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1):
            if not line.startswith(("---", "+++", "@@")):
                out.line(margin, coloured(line))
        return
    out.block(*lead, *told_words(out, old, new), *tail, indent=margin)


def told_words(out: Output, old: str, new: str) -> list[Piece]:
    """A text with the words that went and came."""
    from gitmem.okf.comparison import words

    return [
        piece for sign, text in words(old.strip("\n"), new.strip("\n")) for piece in _word(out, sign, text)
    ]


def _word(out: Output, sign: str, text: str) -> list[Piece]:
    """A run of words that came or went; without colours in the brackets of git's word diff."""
    if sign == " ":
        return [text]
    core = text.lstrip()
    gap = text[: len(text) - len(core)]
    style = green if sign == "+" else red
    if out.colour:
        return [gap, style(core)]
    return [gap, f"[-{core}-]" if sign == "-" else f"{{+{core}+}}"]


def coloured(line: str) -> Piece:
    """One line of a unified diff in its colour."""
    if line.startswith(("--- ", "+++ ")):
        return bold(line)
    style = {"+": green, "-": red, "@": cyan}.get(line[:1])
    return style(line) if style else line


# The record


def _tell_events(out: Output, changes: Sequence[Change]) -> None:
    from gitmem.okf.layout import session_name

    places: dict[str, list[Change]] = {}
    for change in changes:
        places.setdefault(session_name(change.path) or change.path, []).append(change)
    for place, listed in places.items():
        listed.sort(key=lambda change: _entry(change).at)  # each process that recorded some has a file
        page = next((_entry(one) for one in listed if one.key.space == "concept"), None)
        of_session = bool(session_name(listed[0].path))
        named = page.text if page is not None and page.text not in ("", f"Session {place}") else ""
        if of_session:
            out.line(bold(f"Session {place}"), dim(f"  {named}" if named else ""))
        else:
            out.line(bold(place.removeprefix("hermes/observations/").removesuffix(".md").replace("_", " ")))
        for change in listed:
            if change.key.space == "event" or not of_session:
                _tell_event(out, change)


def _entry(change: Change) -> Entry:
    entry = change.new or change.old
    assert entry is not None
    return entry


def _tell_event(out: Output, change: Change) -> None:
    mark = Styled(f"  {_SIGNS[change.op]} ", _STYLES[change.op])
    label, text = _said(_entry(change))
    out.block(mark, cyan(label), Styled(text, _STYLES[change.op]) if change.op in ("add", "remove") else text)


def _said(entry: Entry) -> tuple[str, str]:
    """Return what happened, as people say it: a label, and the words."""
    fields = {name: str(value) for name, value in entry.extra.items()}
    if entry.kind == "turn" and fields:
        sides = (("user", fields.get("user", "")), ("agent", fields.get("assistant", "")))
        told = [f"{who}: {words}" for who, words in sides if words]
        return "", "\n".join(told)
    if entry.kind == "tool_call" and fields:
        result = f" → {fields['result']}" if fields.get("result") else ""
        return f"used {fields.get('tool_name', 'a tool')}: ", f"{fields.get('args', '')}{result}"
    words = fields.get("content") or fields.get("decision") or entry.text
    return _SAID.get(entry.kind, f"{entry.kind}: " if entry.kind else ""), words.rstrip("\n")


# How much


def _tell_stat(out: Output, changes: Sequence[Change], what: Learned, *, events: bool) -> None:
    wanted = {path for item in what.items for path in (item.path, item.from_path)}
    wanted |= {change.path for change in what.events} if events else set()
    rows = counts_by_file(change for change in changes if change.path in wanted)
    columns = max((width(safe(row["path"])) for row in rows), default=0)
    for row in rows:
        signs = {op: row["counts"][name] for op, name in COUNTED.items() if row["counts"][name]}
        told = [Styled(f" {_SIGNS[op]}{number}", _STYLES[op]) for op, number in signs.items()]
        out.line(padded(safe(row["path"]), columns), " ", *told)
    total = sum(sum(row["counts"].values()) for row in rows)
    if rows:
        out.line(dim(f"{count(total, 'change')} in {count(len(rows), 'file')}"))


# --- results that are changes ----------------------------------------------------------------------------


def tell_diff(app: App, diff: Diff, *, unified: bool = False, nothing: str = "", **view: bool) -> None:
    """Print a diff by what was learned, or as lines."""
    if unified:
        for line in diff.unified():
            tell_lines(app.out, line.removesuffix("\n"))
    elif diff:
        tell(app.out, diff, **view)
    elif nothing:
        app.out.line(dim(nothing))


def tell_lines(out: Output, text: str) -> None:
    """Print lines of a unified diff in their colours."""
    for line in text.split("\n") if text else ():
        out.line(coloured(line))


def tell_shown_commit(
    app: App, shown: ShownCommit, *, unified: bool = False, short: bool = False, **view: bool
) -> None:
    """A commit with all that it says of itself, or on one line, and what it changed."""
    entry, commit, out = shown.entry, shown.entry.commit, app.out
    if short:
        out.line(yellow(entry.id[:8]), " ", commit.subject)
        tell(out, shown.diff, **view)
        return
    from gitmem.cli.render.history import subject_in_words, who

    out.paged()
    out.block(bold(subject_in_words(commit.subject)), indent="")
    out.line("  ", yellow(commit.oid[:8]), dim(f"  {app.date(commit.made)} by {who(entry)}"))
    if len(commit.parents) > 1:
        out.line(dim("  merge of "), " ".join(parent[:8] for parent in commit.parents))
    for name in ("Session", "Reason", "Source", "Derived-From", "Reverts", "Scan"):
        for value in entry.trailers.get(name, ()):
            title = app.bundle.session_title(value) if name == "Session" else ""
            words = value[:8] if name == "Reverts" else f"{value}  {title}".rstrip()
            out.block(dim(f"  {name.lower()}: "), words, indent=_MARGIN)
    body = commit.message.partition("\n")[2].strip("\n")
    body = body.rpartition("\n\n")[0].strip("\n") if entry.trailers else body
    if body:
        out.block("  ", body, indent="  ")
    out.line()
    tell_diff(app, shown.diff, unified=unified, nothing="No entries changed.", **view)


def tell_snapshot(app: App, one: Snapshot, *, made: bool = False) -> None:
    """A snapshot on one line."""
    if made:
        app.out.line(yellow(one.commit[:8]), " snapshot ", bold(one.name))
        return
    when = dim(padded(app.date(one.time), AGE))
    app.out.line(when, yellow(one.commit[:8]), bold(one.name), one.note, between="  ")


def tell_shown_snapshot(app: App, shown: ShownSnapshot, **view: bool) -> None:
    """A snapshot, and what changed since."""
    one = shown.snapshot
    app.out.line(bold(one.name), "  ", yellow(one.commit[:8]), "  ", dim(app.date(one.time)))
    app.out.line("  ", one.note)
    app.out.line()
    app.out.line("Since then:" if shown.since else "Nothing changed since.")
    tell(app.out, shown.since, **view)


def tell_restored(app: App, done: Restored, *, is_listed: bool = False) -> None:
    """Print what a restore changes, unless that was listed before it, and how it ended."""
    if not is_listed:
        when = app.world.local(done.at)
        app.out.line(f"Back to {when:%A} {when.day} {when:%B}, {when:%H:%M} ({done.target[:8]}):")
        tell(app.out, done.changes)
    if done.withheld:
        stay = "1 retracted entry stays" if done.withheld == 1 else f"{done.withheld} retracted entries stay"
        app.out.line(yellow(f"{stay} out."))
    _tell_end(app, done, "undo")


def tell_reverted(app: App, done: Reverted, *, is_named: bool = False, **view: bool) -> None:
    """Print the effect of a revert; of an undo first the change that it took back, unless that is there already."""
    if done.undone is not None and not is_named:
        from gitmem.cli.render.history import tell_undoable

        tell_undoable(app, done.undone)
    tell(app.out, done.changes, **view)
    for sentence in map(str, done.kept):
        app.out.line(yellow("kept "), sentence)
    if done.derived:
        fate = "taken back too" if done.derived[0].taken else "--derived takes it back too"
        app.out.block(yellow(f"Written because of it; {fate}:"), indent="  ")
    for one in done.derived:
        app.out.block("  ", dim(f"{one.entry.id[:8]}  {one.session}  "), derived_line(one))
    _tell_end(app, done, "undo" if done.undone is None else "redo")


def derived_line(one: Derived) -> str:
    """Return what was written because of an entry, on one line."""
    return f"{written_line(one.change)} ({one.why})"


def _tell_end(app: App, done: Restored | Reverted, by: str) -> None:
    if not done.changes:
        app.out.line("Nothing would change." if done.dry_run else "Nothing to do: that is how it is already.")
    elif done.dry_run:
        app.out.line(dim("Nothing was changed: this was a dry run."))
    else:
        app.out.line(yellow(done.commit[:8]), dim(f"  `gitmem {by}` takes this back."))


def tell_synced(app: App, done: Synced, **view: bool) -> None:
    """Print what a sync brought, and what it sent."""
    out = app.out
    tell(out, done.came, **view)
    commits = count(done.received, "commit")
    if done.dry_run:
        out.line(green("a sync "), f"with {done.remote}: {commits} would come, {done.sent} would go")
    else:
        out.line(green("synced "), f"with {done.remote}: {commits} came, {done.sent} went")
    if done.branch:
        out.line(
            f"Others were faster: it is on the branch {done.branch} there, and in main with the next sync."
        )
    for store in done.archived:
        moved = count(len(store.texts), "entry", "entries")
        out.line(yellow(f"The {store.target} store was over its limit: {moved} moved to the archive."))
    if done.waiting:
        out.line(yellow(done.waiting))
