"""What gitmem shows to programs: every result as JSON, with stable keys.

The command line prints these with `--json`. One thing has one name in all of them (docs/json.md); docs/json-schema.json has
every shape, and a test compares the two. What is not there is null, never an empty text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.git.remotes import Remote
    from gitmem.memory.capture.session_page import SessionState
    from gitmem.memory.curated.contests import Contest
    from gitmem.memory.curated.prompt_block import FrozenBlock
    from gitmem.memory.curated.store import Answer
    from gitmem.memory.erase.eraser import Erased
    from gitmem.memory.find.recall import About, Line, Reading, Recalled
    from gitmem.memory.find.search import Found, Hit
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.digest import Digest, News
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.history.reach import Exposed, Reached
    from gitmem.memory.history.restore import Restored
    from gitmem.memory.history.revert import Reverted
    from gitmem.memory.history.trace import Life, Traced
    from gitmem.memory.plans import Plan
    from gitmem.memory.skills.catalog import Skill
    from gitmem.memory.skills.store import SkillView, SkillWrite
    from gitmem.memory.skills.usage import Use
    from gitmem.memory.snapshots import Snapshot
    from gitmem.memory.sync.engine import Synced
    from gitmem.memory.sync.remote_state import RemoteStanding
    from gitmem.okf.entries import Change, Entry
    from gitmem.okf.learned import Item, Learned

Json = dict[str, Any]


# --- history ---------------------------------------------------------------------------------------------


def entry_json(entry: Entry) -> Json:
    return {
        "space": entry.key.space,
        "id": entry.key.id,
        "kind": entry.kind,
        "text": entry.text,
        "at": entry.at or None,
        "replaces": entry.replaces or None,
    }


def changes_json(changes: Iterable[Change]) -> list[Json]:
    from gitmem.okf import layout

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


def learned_json(what: Learned) -> Json:
    """What was learned, one item each, and how much record there is beside it."""
    return {
        "items": [_item_json(item) for item in what.items],
        "in_short": what.in_short(),
        "event_count": what.record.events,
        "session_count": len(what.record.sessions),
    }


def digest_json(found: Digest) -> Json:
    from gitmem.memory.history.digest import TOPICS
    from gitmem.okf.timestamps import stamp

    def told(one: News) -> Json:
        by = origin_json(one.by) if one.by else None
        return {**_item_json(one.item), "by_commit": by}

    return {
        "since": stamp(found.since),
        "until": stamp(found.until),
        "topics": {
            topic.lower().replace(" ", "_"): [told(one) for one in found.of(topic)] for topic in TOPICS
        },
        "restores": [origin_json(entry) for entry in found.restores],
        "waiting": [
            {"id": item.id, "kind": item.kind, "path": item.path, "text": item.text, "why": item.why}
            for item in found.waiting
        ],
        "event_count": found.record.events,
        "session_count": len(found.record.sessions),
    }


def _item_json(item: Item) -> Json:
    return {
        "kind": item.noun,
        "op": item.op,
        "path": item.path,
        "text": item.title,
        "was": item.was or None,
        "about": item.about or None,
        "confirmed": not item.unconfirmed,
    }


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
        "session": entry.session or None,
        "agent": entry.first("Agent") or None,
        "machine": entry.first("Machine") or None,
        "reason": entry.first("Reason") or None,
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
        "author": {"name": entry.commit.author.name, "email": entry.commit.author.email},
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
        "last_changed": origin_json(one.changed),
        "times_changed": one.times,
        "replaced": one.replaced or None,
        "earlier": [{"text": words.text, **origin_json(words.by)} for words in one.earlier],
        "first": origin_json(one.first) if one.first else None,
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
        "introduced": origin_json(life.came),
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
        "note": one.note or None,
        "at": stamp(of_seconds(one.time)),
    }


def restored_json(done: Restored, *, dry_run: bool) -> Json:
    return {
        "to": done.target,
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
        "changed": answer.changed,
        "held": list(answer.held),
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
    found = {
        "id": entry.key.id,
        "at": entry.at or None,
        "replaces": entry.replaces or None,
        "text": entry.text,
    }
    return {**found, "blame": blamed_json(blamed)} if blamed else found


def block_json(block: FrozenBlock) -> Json:
    return {"commit": block.commit, "hash": block.hash, "text": block.text}


def contest_json(one: Contest) -> Json:
    return {
        "path": one.path,
        "replaces": one.replaced,
        "entries": [entry_json(entry) for entry in one.entries],
    }


_OF_A_SESSION = (
    "title", "status", "started", "ended", "source", "platform", "model", "agent", "machine", "parent",
)  # fmt: skip
_BESIDE = ("type", "session", "counts", "generated")


def session_json(state: SessionState) -> Json:
    known = {name: state.get(name) or None for name in _OF_A_SESSION}
    more = {
        name: value for name, value in state.concept.meta.items() if name not in (*_OF_A_SESSION, *_BESIDE)
    }
    return {
        "session": state.id,
        **known,
        "counts": state.concept.meta.get("counts") or {},
        "path": state.path,
        "more": more,
    }


def plan_json(one: Plan) -> Json:
    done, total = one.progress
    return {
        "name": one.name,
        "path": one.path,
        "title": one.title,
        "archived": one.is_archived,
        "done_count": done,
        "step_count": total,
        "steps": [
            {"text": step.text, "done": step.done, "result": step.result or None, "at": step.at or None}
            for step in one.steps
        ],
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
        "space": hit.key.space,
        "id": hit.key.id,
        "path": hit.path,
        "session": hit.session or None,
        "type": hit.type,
        "rank": hit.rank,
        "text": hit.text,
        "at": hit.at or None,
        "score": hit.score,
        "snippet": hit.snippet,
        "agent": hit.agent or None,
        "machine": hit.machine or None,
        "tags": list(hit.tags),
        "commit": hit.commit or None,
        "also": hit.also,
        "alike": hit.alike,
        "source": hit.source or None,
        "holds_now": hit.since or None,
        "unconfirmed": hit.unconfirmed or None,
        "removed_by": hit.removed or None,
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

    return _without_empty_texts(asdict(about))


def _lines_json(lines: Iterable[Line]) -> list[Json]:
    from dataclasses import asdict

    found = (asdict(line) for line in lines)
    return [_without_empty_texts({"holds_now": line.pop("since"), **line}) for line in found]


def _without_empty_texts(found: Json) -> Json:
    return {key: None if value == "" and key != "text" else value for key, value in found.items()}


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


def erased_json(done: Erased) -> Json:
    """What an erase did, or would do; never what was erased."""
    return {
        "what": done.what,
        "dry_run": done.dry_run,
        "commits": [{"commit": one.commit, "paths": list(one.paths)} for one in done.commits],
        "rewritten": done.rewritten,
        "snapshots": list(done.snapshots),
        "held": list(done.quarantine),
        "beside": list(done.beside),
        "receipts": list(done.receipts),
        "left_over": list(done.left),
        "remotes": list(done.remotes),
        "commit": done.commit or None,
    }


def synced_json(done: Synced) -> Json:
    return {
        "remote": done.remote,
        "commit": done.tip,
        "received": done.received,
        "sent": done.sent,
        "checked_entries": done.checked,
        "held": list(done.held),
        "snapshots": list(done.snapshots),
        "dry_run": done.dry_run,
        "review": {"told": done.waiting or None},
        "takes_away": done.taken or None,
        "archived_texts": [text for store in done.archived for text in store.texts],
        "changes": changes_json(without_retractions(done.came)),
    }


# --- skills ----------------------------------------------------------------------------------------------


def skill_json(one: Skill, use: Use | None = None) -> Json:
    return {
        "name": one.name,
        "category": one.category or None,
        "description": one.description,
        "version": one.head.version or None,
        "platforms": list(one.head.platforms),
        "path": one.root,
        "read_only": one.is_external,
        **({} if use is None else _use_json(use)),
    }


def _use_json(use: Use) -> Json:
    return {
        "uses": use.times,
        "failed": use.failed,
        "last_used": use.last or None,
        "failing": use.is_failing,
        "note": use.note or None,
    }


def skill_view_json(view: SkillView) -> Json:
    return {
        **skill_json(view.skill),
        "file": view.file,
        "content": view.text if view.is_text else None,
        "bytes": view.size,
        "files": list(view.files),
    }


def skill_write_json(done: SkillWrite) -> Json:
    return {
        "name": done.name,
        "action": done.action,
        "path": done.path,
        "commit": done.commit or None,
        "held": list(done.held),
        "message": done.message,
        "diff": done.diff or None,
        "findings": [
            {
                "file": one.file,
                "line": one.line,
                "rule": one.rule,
                "category": one.category,
                "danger": one.danger,
                "reason": one.reason,
            }
            for one in done.findings
        ],
    }
