"""What gitmem shows to programs: every result as JSON, with stable keys.

The command line prints these with `--json`; the tools of a host hand some of them to a model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gitmem.okf import layout
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.git.remotes import Remote
    from gitmem.memory.capture.sessions import SessionState
    from gitmem.memory.curated.contests import Contest
    from gitmem.memory.curated.prompt_block import FrozenBlock
    from gitmem.memory.curated.store import Answer
    from gitmem.memory.find.recall import About, Line, Reading, Recalled
    from gitmem.memory.find.search import Found, Hit
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.history.reach import Exposed, Reached
    from gitmem.memory.history.restore import Restored
    from gitmem.memory.history.revert import Reverted
    from gitmem.memory.history.trace import Life, Traced
    from gitmem.memory.plans import Plan
    from gitmem.memory.snapshots import Snapshot
    from gitmem.memory.sync.engine import Synced
    from gitmem.memory.sync.remote_state import RemoteStanding
    from gitmem.okf.entries import Change, Entry

Json = dict[str, Any]


# --- history ---------------------------------------------------------------------------------------------


def entry_json(entry: Entry) -> Json:
    return {
        "space": entry.key.space,
        "id": entry.key.id,
        "kind": entry.kind,
        "text": entry.text,
        "at": entry.at,
        "replaces": entry.replaces,
    }


def changes_json(changes: Iterable[Change]) -> list[Json]:
    return [
        {
            "path": change.path,
            "op": change.op,
            "record": layout.is_record(change.path),
            "from_path": change.from_path or None,
            "old": entry_json(change.old) if change.old else None,
            "new": entry_json(change.new) if change.new else None,
        }
        for change in changes
    ]


def commit_json(entry: LogEntry) -> Json:
    """A commit, whole."""
    commit = entry.commit
    return {
        "commit": commit.oid,
        "parents": list(commit.parents),
        "kind": entry.kind,
        "subject": commit.subject,
        "at": entry.at,
        "author": {"name": commit.author.name, "email": commit.author.email},
        "committer": {"name": commit.committer.name, "email": commit.committer.email},
        "session": entry.session,
        "agent": entry.first("Agent"),
        "machine": entry.first("Machine"),
        "reason": entry.first("Reason"),
        "pulled_from": entry.pulled_from or None,
        "trailers": {key: list(values) for key, values in entry.trailers.items()},
    }


def counts_json(changes: Iterable[Change]) -> Json:
    """How many entries came, went and changed."""
    ops = [change.op for change in changes]
    return {
        "added": ops.count("add"),
        "removed": ops.count("remove"),
        "changed": ops.count("change") + ops.count("move"),
    }


def origin_json(entry: LogEntry) -> Json:
    """Who made a commit, when and why."""
    return {
        "commit": entry.id,
        "at": entry.at,
        "kind": entry.kind,
        "session": entry.session or None,
        "agent": entry.first("Agent") or None,
        "machine": entry.first("Machine") or None,
        "author": entry.commit.author.name,
        "reason": entry.first("Reason") or None,
        "source": entry.first("Source") or None,
        "pulled_from": entry.pulled_from or None,
    }


def blamed_json(one: Blamed) -> Json:
    return {
        "id": one.entry.key.id,
        "space": one.entry.key.space,
        "text": one.entry.text,
        "at": one.entry.at or None,
        "introduced": origin_json(one.introduced),
        "changed": origin_json(one.changed),
        "times_changed": one.times,
        "replaced": one.replaced or None,
        "verified": one.verified or None,
        "verified_here": one.verified_here,
        "left": origin_json(one.left) if one.left else None,
    }


def traced_json(found: Traced) -> Json:
    return {
        "text": found.text,
        "entries": [_life_json(life) for life in found.lives],
        "sessions": [_exposed_json(one) for one in found.exposed],
        "reached": reached_json(found.reached),
        "command": found.command,
        "command_for_all": found.command_for_all,
    }


def _life_json(life: Life) -> Json:
    return {
        "path": life.path,
        "space": life.key.space,
        "id": life.key.id,
        "text": life.text,
        "came": origin_json(life.came),
        "left": origin_json(life.left) if life.left else None,
    }


def _exposed_json(one: Exposed) -> Json:
    return {
        "session": one.session,
        "in_prompt": one.in_prompt,
        "certain": one.certain,
        "recalled_for": list(one.recalled_for),
        "wrote": [written_line(reached.change) for reached in one.wrote],
    }


def reached_json(reached: Iterable[Reached]) -> Json:
    """What was reached, by its group."""
    from gitmem.memory.history.reach import GROUPS

    found: dict[str, list[Json]] = {group: [] for group in GROUPS}
    for one in reached:
        found[one.group].append(
            {
                "commit": one.entry.id,
                "session": one.session or None,
                "path": one.change.path,
                "text": one.change.new.text if one.change.new else "",
                "why": one.why or None,
                "taken": one.taken,
            }
        )
    return found


def written_line(change: Change) -> str:
    """What a session wrote, on one line."""
    entry = change.new or change.old
    assert entry is not None
    return f"{change.op} in {change.path}: {shortened(entry.text)}"


# --- undo ------------------------------------------------------------------------------------------------


def snapshot_json(one: Snapshot) -> Json:
    from gitmem.okf.timestamps import of_seconds, stamp

    return {
        "name": one.name,
        "commit": one.commit,
        "automatic": one.is_automatic,
        "note": one.note,
        "at": stamp(of_seconds(one.time)),
    }


def restored_json(done: Restored, *, dry_run: bool) -> Json:
    return {
        "target": done.target,
        "commit": done.commit or None,
        "withheld": done.withheld,
        "dry_run": dry_run,
        "changes": changes_json(done.changes),
    }


def reverted_json(done: Reverted, *, dry_run: bool) -> Json:
    return {
        "reverted": [commit.oid for commit in done.commits],
        "commit": done.commit or None,
        "dry_run": dry_run,
        "changes": changes_json(without_retractions(done.changes)),
        "kept": [str(notice) for notice in done.kept],
        "derived": [derived_line(entry) for entry in done.derived],
        "reached": reached_json(done.reached),
    }


def without_retractions(changes: Iterable[Change]) -> list[Change]:
    """Changes that people care about: retractions are bookkeeping."""
    return [change for change in changes if not change.path.startswith("retractions/")]


def derived_line(entry: LogEntry) -> str:
    return f"{entry.id[:8]} {entry.commit.subject}"


# --- the curated store, sessions, plans ------------------------------------------------------------------


def answer_json(answer: Answer) -> Json:
    return {
        "success": True,
        "changed": answer.changed,
        "held": bool(answer.held),
        "quarantine": list(answer.held),
        "target": answer.target,
        "message": answer.message,
        "usage": answer.usage,
        "limit": answer.limit,
        "percent": answer.percent,
        "entry_count": answer.count,
        "note": answer.note or None,
        "suggestion": answer.suggestion or None,
        "commit": answer.commit or None,
    }


def curated_json(entry: Entry, blamed: Blamed | None = None) -> Json:
    found = {"hash": entry.key.id, "at": entry.at, "replaces": entry.replaces or None, "text": entry.text}
    return {**found, "origin": blamed_json(blamed)} if blamed else found


def block_json(block: FrozenBlock) -> Json:
    return {"commit": block.commit, "hash": block.hash, "text": block.text}


def contest_json(one: Contest) -> Json:
    return {"path": one.path, "was": one.replaced, "entries": [entry.text for entry in one.entries]}


def session_json(state: SessionState) -> Json:
    return {"path": state.path, **{key: value for key, value in state.concept.meta.items() if key != "type"}}


def plan_json(one: Plan) -> Json:
    done, total = one.progress
    return {
        "name": one.name,
        "path": one.path,
        "title": one.title,
        "archived": one.is_archived,
        "done": done,
        "total": total,
        "steps": [step.listed() for step in one.steps],
    }


# --- search and recall -----------------------------------------------------------------------------------


def found_json(found: Found, *, explain: bool = False) -> Json:
    return {
        "hits": [_hit_json(hit, explain) for hit in found.hits],
        "withheld": found.withheld,
        "near": list(found.near),
    }


def _hit_json(hit: Hit, explain: bool) -> Json:
    return {
        "path": hit.path,
        "session": hit.session,
        "type": hit.type,
        "rank": hit.rank,
        "text": hit.text,
        "at": hit.at,
        "score": hit.score,
        "snippet": hit.snippet,
        "agent": hit.agent,
        "machine": hit.machine,
        "tags": list(hit.tags),
        "commit": hit.commit,
        "key": {"space": hit.key.space, "id": hit.key.id},
        "also": hit.also,
        "alike": hit.alike,
        **({"source": hit.source} if hit.source else {}),
        **({"since": hit.since} if hit.since else {}),
        **({"unconfirmed": hit.unconfirmed} if hit.unconfirmed else {}),
        **({"removed": hit.removed} if hit.removed else {}),
        **({"parts": hit.parts} if explain else {}),
    }


def recalled_json(found: Recalled) -> Json:
    rows = [
        {
            **about_json(recap.about),
            "recap": recap.recap,
            "score": recap.score,
            "windows": [_lines_json(window) for window in recap.windows],
            "began": _lines_json(recap.began),
            "ended_with": _lines_json(recap.ended),
            "through": list(recap.through),
        }
        for recap in found.recaps
    ]
    return {"sessions": rows, "withheld": found.withheld}


def reading_json(reading: Reading) -> Json:
    lines = _lines_json(reading.lines)
    return {**about_json(reading.about), "lines": lines, "left_out": reading.left_out}


def about_json(about: About) -> Json:
    from dataclasses import asdict

    return {**asdict(about), "when": about.started}


def _lines_json(lines: Iterable[Line]) -> list[Json]:
    from dataclasses import asdict

    return [asdict(line) for line in lines]


# --- other machines --------------------------------------------------------------------------------------


def remote_json(one: Remote) -> Json:
    from gitmem.git.transport import shown_url

    return {
        "name": one.name,
        "url": shown_url(one.url),
        "mode": one.mode,
        "consent": one.consent,
        "shared": one.shared,
    }


def standing_json(one: RemoteStanding) -> Json:
    return {
        **remote_json(one.remote),
        "ahead": one.ahead,
        "behind": one.behind,
        "last_success": one.last_success or None,
        "last_error": one.last_error or None,
        "last_error_at": one.last_error_at or None,
        "failures": one.failures,
        "next_try": one.next_try or None,
    }


def synced_json(done: Synced) -> Json:
    return {
        "remote": done.remote,
        "tip": done.tip,
        "received": done.received,
        "sent": done.sent,
        "checked_entries": done.checked,
        "held": list(done.held),
        "snapshots": list(done.snapshots),
        "dry_run": done.dry_run,
        "waiting": done.waiting or None,
        "taken": done.taken or None,
        "archived": [text for store in done.archived for text in store.texts],
        "changes": changes_json(without_retractions(done.came)),
    }
