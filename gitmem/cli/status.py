"""`gitmem status`: how the bundle stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_dates, with_json
from gitmem.cli.output import Output, bold, count, dim, green, red, size, table, yellow
from gitmem.errors import GitMemError
from gitmem.okf.plain import shortened
from gitmem.shape import Json, shape

if TYPE_CHECKING:
    from gitmem.git.worktree_status import HandEdit
    from gitmem.memory.memory import Memory


@click.command()
@click.option("-v", "--verbose", is_flag=True, help="Also what is stored, and how.")
@click.option(
    "--config", "show_config", is_flag=True, help="Every setting, its value and where it comes from."
)
@with_dates
@with_json
def status(app: App, verbose: bool, show_config: bool) -> None:
    """Show the session, how full the curated store is, how the remotes stand, and what waits for you.

    In a bundle, `gitmem` alone does the same.

    \b
    gitmem status
    gitmem status -v
    gitmem status --config
    """
    if show_config:
        from gitmem.cli.config import show_settings

        show_settings(app)
        return
    tell_status(app, verbose=verbose)


def tell_status(app: App, *, verbose: bool = False) -> None:
    """How the bundle stands, for people or as JSON."""
    found = _gather(app)
    app.out.json(found)
    _tell(app, found, verbose=verbose)


# --- status ----------------------------------------------------------------------------------------------


def _gather(app: App) -> Json:
    """All that `status` tells, as the JSON document has it."""
    from gitmem.git.housekeeping import Weight, last_time
    from gitmem.memory.bundle import format_of
    from gitmem.okf import layout

    bundle = app.bundle
    repository = bundle.repository
    problems: list[str] = []
    tip = next(bundle.log())
    tree = bundle.tree()
    agent = tree.read(layout.CONFIG_AGENT)
    version = format_of(agent) if agent is not None else layout.FORMAT
    if version > layout.FORMAT:
        problems.append(f"This bundle has format {version}: upgrade gitmem to write to it.")
    try:
        repository.refuse_if_busy()
        edits = bundle.hand_edits()
    except GitMemError as error:  # a busy bundle can still be looked at
        problems.append(f"{error} {error.hint}".strip())
        edits = []
    paths = bundle.file_paths()
    weight = Weight.of(repository)
    cleaned = last_time(repository)
    return {
        "bundle": bundle.root,
        "git_dir": repository.git_dir,
        "commit": tip.commit.oid,
        "subject": tip.commit.subject,
        "at": tip.at,
        "format": version,
        "file_count": len(paths),
        "concept_count": sum(path.endswith(".md") and not layout.is_generated(path) for path in paths),
        "store": {"bytes": weight.bytes, "packs": weight.packs, "loose": weight.loose},
        "curated": _usage(bundle),
        "last_session": _session(bundle),
        "events_waiting": _waiting(bundle),
        "remotes": _remotes(bundle),
        "review": _review(bundle, edits),
        "last_gc": None if cleaned is None else _iso(cleaned),
        "hand_edits": _edits_json(bundle, edits),
        "problems": problems,
    }


def _session(bundle: Memory) -> Json | None:
    """The session that committed last, which may be open, and what it learned."""
    from gitmem.memory.history.story import last_session

    found = last_session(bundle)
    if found is None:
        return None
    from gitmem.okf.learned import learned

    state = found.state
    return {
        "session": state.id,
        "title": None if state.get("title") == f"Session {state.id}" else state.get("title") or None,
        "open": found.is_open,
        "started": state.get("started") or None,
        "ended": state.get("ended") or None,
        "agent": state.get("agent") or None,
        "machine": state.get("machine") or None,
        "learned": shape(learned(found.changes)),
    }


def _remotes(bundle: Memory) -> list[Json]:
    from gitmem.git.remotes import Remotes

    if not Remotes(bundle.repository).all():
        return []
    from gitmem.memory.sync.remote_state import how_remotes_stand

    return [shape(one) for one in how_remotes_stand(bundle)]


def _review(bundle: Memory, edits: list[HandEdit]) -> dict[str, object]:
    """What waits for a person: how many of each kind, and a sentence."""
    from gitmem.memory.review import in_words, unconfirmed, waiting

    items = [*waiting(bundle, edits), *unconfirmed(bundle)]
    kinds = [item.kind for item in items]
    return {
        "counts": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "told": in_words(items) or None,
    }


def _iso(seconds: float) -> str:
    from gitmem.okf.timestamps import of_seconds, stamp

    return stamp(of_seconds(seconds))


def _usage(bundle: Memory) -> list[Json]:
    from gitmem.okf import layout

    rows: list[Json] = []
    for target, path, limit in (
        ("memory", layout.MEMORY, bundle.config.memory_char_limit),
        ("user", layout.USER, bundle.config.user_char_limit),
    ):
        data = bundle.read(path)
        if data is not None:
            from gitmem.okf.curated import CuratedFile

            file = CuratedFile.salvage(data, path)
            rows.append(
                {
                    "target": target,
                    "path": path,
                    "entry_count": len(file.entries),
                    "usage": file.usage,
                    "limit": limit,
                }
            )
    return rows


def _waiting(bundle: Memory) -> int:
    """Events in journals that no commit has yet."""
    import os

    try:
        if not os.listdir(bundle.journal_dir):
            return 0
    except OSError:
        return 0
    from gitmem.memory.capture.journal import pending_count

    return pending_count(bundle.journal_dir)


def _edits_json(bundle: Memory, edits: list[HandEdit]) -> list[Json]:
    if not edits:
        return []
    from gitmem.memory.hand_edits import problems_of

    tree = bundle.tree()
    found: dict[str, Json] = {}
    problems = problems_of(bundle, edits)
    for edit in edits:
        row = found.setdefault(edit.path, {"path": edit.path, "staged": False, "problem": None})
        row["change"] = _kind_of_edit(edit, edit.path in tree)
        row["staged"] = row["staged"] or edit.staged
        row["problem"] = problems.get(edit.path) or None
    return list(found.values())


def _kind_of_edit(edit: HandEdit, known: bool) -> str:
    if not known:
        return "added"
    return "removed" if edit.data is None and not edit.problem else "changed"


def _tell(app: App, found: Json, *, verbose: bool) -> None:
    out = app.out
    out.line(bold(found["bundle"]))
    rows = [*_session_rows(app, found["last_session"]), *_store_rows(found["curated"])]
    if found["events_waiting"]:
        rows.append(("journal", f"{count(found['events_waiting'], 'event')} not committed yet"))
    rows += _remote_rows(app, found["remotes"])
    rows += _stored_rows(app, found) if verbose else []
    for name, text in table(rows):
        out.line("  ", dim(name), "  ", text)
    if told := found["review"]["told"]:
        out.line()
        out.line(yellow(told))
    good = [row for row in found["hand_edits"] if not row["problem"]]
    bad = [row for row in found["hand_edits"] if row["problem"]]
    how = "the next write" if bad else "the next write or `gitmem edit --commit`"
    _tell_edits(out, f"Edited by hand; {how} commits them:", good)
    _tell_edits(out, "Edited by hand, and not committed until they are repaired or removed:", bad)
    for problem in found["problems"]:
        out.line()
        out.line(red("! "), problem)


def _tell_edits(out: Output, heading: str, rows: list[Json]) -> None:
    if not rows:
        return
    out.line()
    out.line(heading)
    for row in rows:
        style = {"added": green, "removed": red}.get(row["change"], yellow)
        note = f"  ({row['problem']})" if row["problem"] else "  (staged)" if row["staged"] else ""
        out.line("  ", style(f"{row['change']:<8}"), row["path"], dim(note))


def _session_rows(app: App, session: Json | None) -> list[tuple[str, str]]:
    if session is None:
        return []
    name = session["session"] + (f' "{shortened(session["title"], 60)}"' if session["title"] else "")
    if session["open"]:
        since = f", open since {app.moment(session['started'])}" if session["started"] else ", open"
        rows = [("session", name + since)]
    else:
        ended = f", ended {app.moment(session['ended'])}" if session["ended"] else ""
        rows = [("last session", name + ended)]
    return [*rows, ("learned", ", ".join(session["learned"]["in_short"]) or "nothing")]


def _store_rows(curated: list[Json]) -> list[tuple[str, str]]:
    return [
        (
            row["path"].rpartition("/")[2],
            f"{count(row['entry_count'], 'entry', 'entries')}, {row['usage']:,} of {row['limit']:,} characters"
            f" ({round(100 * row['usage'] / row['limit'])} %)",
        )
        for row in curated
    ]


def _remote_rows(app: App, remotes: list[Json]) -> list[tuple[str, str]]:
    rows = []
    for row in remotes:
        last = f"last sync {app.moment(row['last_success'])}" if row["last_success"] else "never synced"
        told = f"{row['ahead']:,} to send, {row['behind']:,} to take in; {last}"
        if row["failures"]:
            told += f"; the last try failed: {row['last_error']}"
        rows.append((f"sync {row['name']}", told))
    return rows


def _stored_rows(app: App, found: Json) -> list[tuple[str, str]]:
    store = found["store"]
    packs = f"{count(store['packs'], 'pack')}, {store['loose']:,} loose"
    return [
        ("git directory", found["git_dir"]),
        ("newest commit", f"{found['commit'][:8]}  {found['subject']}  ({app.moment(found['at'])})"),
        ("holds", f"{count(found['concept_count'], 'concept')}, {count(found['file_count'], 'file')}"),
        ("object store", f"{size(store['bytes'])} ({packs})"),
        ("last gc", app.moment(found["last_gc"]) if found["last_gc"] else "never"),
        ("format", str(found["format"])),
    ]
