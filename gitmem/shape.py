"""Every result as JSON, and the JSON Schema of it, from one table.

`--json` prints these documents. One thing has one name in all of them (docs/json.md). A field is `name: type`, with
`= path` where the result calls it otherwise; `type?` is null where the text is empty; `name~` is there only where it
is asked for; `*path: Shape` has all fields of another shape. `[type]` is a list, `{type}` a mapping from names.
docs/json-schema.json is made from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

Json = Any

SHAPES: dict[str, str] = {
    # History
    "Person": "name: str, email: str",
    "Entry": "space: str = key.space, id: str = key.id, kind: str, text: str, at: str?, replaces: str?",
    "Change": "path: str, op: str, record: bool = is_record(), from_path: str?, old: Entry?, new: Entry?",
    "Origin": "commit: str = id, at: str, kind: str, session: str?, agent: str?, machine: str?, "
    "author: Person = commit.author, reason: str?, source: str?, pulled_from: str?",
    "LogEntry": "commit: str = id, parents: [str] = commit.parents, kind: str, subject: str, at: str, "
    "author: Person = commit.author, committer: Person = commit.committer, session: str?, agent: str?, machine: str?, "
    "reason: str?, pulled_from: str?, trailers: {[str]}, counts~: {int}",
    "ShownCommit": "*entry: LogEntry, message: str = entry.commit.message, changes~: [Change] = diff, "
    "unified~: str = unified(diff)",
    "ShownSession": "*state: SessionState, commits: [LogEntry], changes: [Change]",
    "ShownEntry": "path: str, *story: Blamed",
    "ShownSnapshot": "*snapshot: Snapshot, changes: [Change] = since",
    "ShownFile": "path: str, commit: str, kind: str, size: int = data.#, text: str?, base64: str? = base64(), "
    "entries: [Entry], links: [PageLink], backlinks: [str] = sources()",
    "PageLink": "path: str = target, exists: bool",
    "ShownDirectory": "path: str, commit: str, kind: str, names: [str]",
    "Diff": "from: str? = old, to: str? = new, session: str?, changes~: [Change], "
    "files~: [FileCounts] = by_file(changes), unified~: str = unified(.)",
    "FileCounts": "path: str, counts: {int}",
    "Wording": "text: str, *by: Origin",
    "Blamed": "id: str = entry.key.id, space: str = entry.key.space, text: str = entry.text, at: str? = entry.at, "
    "introduced: Origin, last_changed: Origin = changed, times_changed: int = times, replaced: str?, "
    "earlier: [Wording], first: Origin?, verified: str?, verified_here: bool, left: Origin?",
    "Life": "path: str, space: str = key.space, id: str = key.id, text: str, introduced: Origin = came, left: Origin?, "
    "said: [str]",
    "Exposed": "session: str, in_prompt: bool, recalled_for: [str], wrote: [str] = written()",
    "Derived": "commit: str = entry.id, session: str?, path: str = change.path, text: str = change.new.text, "
    "why: str?, taken: bool",
    "Traced": "text: str, entries: [Life] = lives, sessions: [Exposed] = exposed, derived: [Derived], command: str?",
    "LearnedItem": "kind: str = noun, op: str, path: str, text: str = title, was: str?, about: str?, "
    "confirmed: bool = is_confirmed()",
    "Learned": "items: [LearnedItem], in_short: [str], event_count: int = record.events, "
    "session_count: int = record.sessions.#",
    "News": "*item: LearnedItem, by_commit: Origin? = by",
    "Digest": "since: str, until: str, topics: {[News]} = by_topic(), restores: [Origin], reviewed: [Origin], "
    "waiting: [Pending], "
    "event_count: int = record.events, session_count: int = record.sessions.#",
    "Chapter": "session: str?, title: str, kind: str = chapter_kind(), started: str = iso(started), "
    "ended: str = iso(ended), agent: str? = entry.agent, machine: str? = entry.machine, commits: [str] = commit_ids(), "
    "learned: Learned",
    # Undo
    "Snapshot": "name: str, commit: str, automatic: bool = is_automatic, note: str?, at: str = iso(time)",
    "Restored": "to: str = target, commit: str?, withheld: int, dry_run: bool, changes: [Change]",
    "Reverted": "reverted: [str] = commit_oids(), commit: str?, dry_run: bool, changes: [Change] = knowledge(changes), "
    "kept: [str], derived: [Derived]",
    "Undoable": "*entry: LogEntry, what: str, commits: [str] = commit_oids()",
    # The curated store, sessions, plans
    "Answer": "changed: bool, held: [str], target: str, message: str, usage: int, limit: int, percent: int, "
    "entry_count: int = count, note: str?, suggestion: str?, near: [Entry], commit: str?",
    "Fact": "id: str = entry.key.id, at: str? = entry.at, replaces: str? = entry.replaces, text: str = entry.text, "
    "unconfirmed: str?, pinned: bool, share: int, blame: Blamed?",
    "Store": "usage: int, limit: int, entries: [Fact] = facts",
    "Facts": "memory: Store?, user: Store?",
    "FrozenBlock": "commit: str, hash: str, text: str",
    "SessionState": "session: str = id, title: str? = @title, status: str? = @status, started: str? = @started, "
    "ended: str? = @ended, source: str? = @source, platform: str? = @platform, model: str? = @model, "
    "agent: str? = @agent, machine: str? = @machine, parent: str? = @parent, counts: {int} = counts(), path: str, "
    "more: {any} = more()",
    "Step": "text: str, done: bool, result: str?, at: str?",
    "Plan": "name: str, path: str, title: str, archived: bool = is_archived, done_count: int = progress.0, "
    "step_count: int = progress.1, steps: [Step]",
    # Search and recall
    "Hit": "space: str = key.space, id: str = key.id, path: str, session: str?, type: str, rank: str, text: str, "
    "at: str?, score: float, snippet: str, agent: str?, machine: str?, tags: [str], commit: str?, also: int, "
    "source: str?, holds_now: str? = since, unconfirmed: str?, removed_by: str? = removed, "
    "parts~: {float}",
    "Found": "hits: [Hit], withheld: int",
    "Line": "id: str, session: str, type: str, at: str?, text: str, matches: bool, rank: str, source: str?, "
    "holds_now: str? = since, unconfirmed: str?",
    "About": "session: str, title: str?, started: str?, ended: str?, source: str?, platform: str?, model: str?, "
    "agent: str?, machine: str?, parent: str?",
    "Recap": "*about: About, recap: str, score: float, windows: [[Line]], began: [Line], ended_with: [Line] = ended, "
    "through: [str]",
    "Recalled": "sessions: [Recap] = recaps, withheld: int",
    "Reading": "*about: About, lines: [Line], left_out: int",
    # Other machines and programs
    "Steps": "agent: str, place: str, changed: bool, dry_run: bool, "
    "steps: [ConnectStep], warnings: [str], content: str?",
    "ConnectStep": "state: str = 0, what: str = 1",
    "Remote": "name: str, url: str = shown_url(), mode: str, consent: bool, shared: bool",
    "RemoteStatus": "*remote: Remote, ahead: int, behind: int, last_success: str?, last_error: str?, "
    "last_error_at: str?, failures: int, next_try: str?",
    "Synced": "remote: str, commit: str = tip, received: int, sent: int, checked_entries: int = checked, held: [str], "
    "snapshots: [str], branch: str?, dry_run: bool, review: Waiting = ., "
    "archived_texts: [str] = archived_texts(), changes: [Change] = knowledge(came)",
    "Waiting": "told: str? = waiting",
    "Holding": "commit: str, paths: [str]",
    "Erased": "what: str, dry_run: bool, commits: [Holding], rewritten: int, snapshots: [str], held: [str] = quarantine, "
    "beside: [str], receipts: [str], left_over: [str] = left, remotes: [str], commit: str?",
    "Imported": "form: str = format, dry_run: bool, commit_count: int = commits, entry_count: int = entries, "
    "event_count: int = events, file_count: int = files, session_count: int = sessions, removed_count: int = removed, "
    "known_count: int = known, held: [str], redacted: [str], problems: [str], unread: [str]",
    "Exported": "form: str = format, where: str, paths: [str] = files, entry_count: int = entries",
    # Safety
    "Pending": "id: str, kind: str, path: str, text: str, why: str, at: str?, session: str?, source: str?",
    "Finding": "rule: str, category: str, reason: str, span: [int]",
    "Result": "verdict: str, findings: [Finding]",
    # Skills
    "Skill": "name: str, category: str?, description: str, version: str? = head.version, "
    "platforms: [str] = head.platforms, path: str = root, read_only: bool = is_external",
    "Use": "uses: int = times, failed: int, last_used: str? = last, failing: bool = is_failing, note: str?",
    "ListedSkill": "*skill: Skill, *use: Use",
    "SkillView": "*skill: Skill, file: str, content: str? = content(), bytes: int = size, files: [str]",
    "SkillFinding": "file: str, line: int, rule: str, category: str, danger: str, reason: str",
    "SkillWrite": "name: str, action: str, path: str, commit: str?, held: [str], message: str, diff: str?, "
    "findings: [SkillFinding]",
    # Upkeep
    "LastSession": "session: str = state.id, title: str? = session_title(state), open: bool = is_open, "
    "started: str? = state.@started, ended: str? = state.@ended, agent: str? = state.@agent, "
    "machine: str? = state.@machine, learned: Learned = learned(changes)",
    "StoreUsage": "target: str, path: str, entry_count: int, usage: int, limit: int, tokens: int, "
    "not_in_block: [str] = left_out",
    "PendingEdit": "path: str, change: str, problem: str?",
    "Status": "bundle: str, git_dir: str, commit: str = newest.id, subject: str = newest.subject, at: str = newest.at, "
    "format: int, file_count: int = paths.#, concept_count: int, store: Weight = weight, curated: [StoreUsage], "
    "last_session: LastSession?, events_waiting: int, remotes: [RemoteStatus], "
    "review: WaitingCounts = ., last_gc: str? = last_gc(), "
    "hand_edits: [PendingEdit], problems: [str]",
    "WaitingCounts": "counts: {int} = waiting_counts, told: str? = waiting_in_words",
    "Weight": "loose: int, packs: int, bytes: int",
}
_NAMES = {"review.Item": "Pending"}
"""Shapes of classes whose names two modules have."""


# --- a result as JSON ------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A field of a shape, its type, and where a result has it; the fields of an `included` shape are the object's own."""

    name: str
    type: str
    path: str
    is_optional: bool
    is_included: bool


_FIELD = re.compile(r"(\*?)([\w.]+)(~?): ([\w\[\]{}?]+)(?: = ([\w.@#]+(?:\([\w.]*\))?))?(?:, |$)")


@cache
def fields_of(shape: str) -> tuple[Field, ...]:
    """Read the fields of a row of the table."""
    rows = [one.groups("") for one in _FIELD.finditer(shape)]
    return tuple(
        Field(name, kind, path or name, bool(maybe), bool(star)) for star, name, maybe, kind, path in rows
    )


def shape(result: object, *, more: Collection[str] = ()) -> Json:
    """Give a result, or what lists and mappings hold of results, as JSON; `more` names optional fields."""
    if result is None or isinstance(result, bool | int | float | str):
        return result
    if isinstance(result, Mapping):
        return {str(name): shape(one, more=more) for name, one in result.items()}
    module, name = type(result).__module__.rpartition(".")[2], type(result).__name__
    name = _NAMES.get(f"{module}.{name}", name)
    if name in SHAPES:
        return _object(result, name, more)
    if isinstance(result, Iterable):
        return [shape(one, more=more) for one in result]
    return _text(result)


def _object(value: Any, name: str, more: Collection[str]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for field in fields_of(SHAPES[name]):
        if field.is_included:
            found |= _object(_at(value, field.path), field.type, more)
        elif not field.is_optional or field.name in more:
            found[field.name] = _as(_at(value, field.path), field.type, more)
    return found


def _as(value: Any, kind: str, more: Collection[str]) -> Json:
    """A value as JSON of a type; an empty text is null where the type may be."""
    if value is None or (kind.endswith("?") and value == ""):
        return None if kind.endswith("?") else ""
    kind = kind.removesuffix("?")
    if isinstance(value, Mapping) and kind[0] in "[{":
        return {str(name): _as(one, kind[1:-1], more) for name, one in value.items()}
    if kind[0] == "[":
        return [_as(one, kind[1:-1], more) for one in value]
    if kind in SHAPES:
        return _object(value, kind, more)
    return _text(value) if kind == "str" else shape(value, more=more)


def _at(value: Any, path: str) -> Any:
    """Return what a path names: attributes, keys, places, `#` for how many, `@key` for `get`, `function()` of this
    module.
    """
    if path.endswith(")"):
        name, _, argument = path[:-1].partition("(")
        return COMPUTED[name](_at(value, argument) if argument else value)
    for part in path.split(".") if path != "." else ():
        if part == "#":
            value = len(value)
        elif part.isdecimal():
            value = value[int(part)]
        elif part.startswith("@"):
            value = value.get(part[1:])
        else:
            value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, "")
        value = value() if callable(value) else value
    return value


def _text(value: object) -> str:
    from gitmem.okf.timestamps import stamp

    return stamp(value) if isinstance(value, datetime) else str(value)


# --- what is computed ------------------------------------------------------------------------------------


def _iso(seconds: float) -> str:
    from gitmem.okf.timestamps import of_seconds, stamp

    return stamp(of_seconds(seconds))


def _is_record(change: Any) -> bool:
    from gitmem.okf import layout

    return layout.is_record(change.path)


def _shown_url(remote: Any) -> str:
    from gitmem.git.remote_address import shown_url

    return shown_url(remote.url)


def _learned(changes: Iterable[Any]) -> Any:
    from gitmem.okf.learned import learned

    return learned(changes)


def _by_topic(digest: Any) -> dict[str, list[Any]]:
    from gitmem.memory.history.digest import TOPICS

    return {topic.lower().replace(" ", "_"): digest.of(topic) for topic in TOPICS}


def counts_by_file(changes: Iterable[Any]) -> list[Json]:
    """Return how many entries of each file were added, removed, changed and moved."""
    found: dict[str, Json] = {}
    for change in changes:
        row = found.setdefault(
            change.path, {"path": change.path, "counts": dict.fromkeys(COUNTED.values(), 0)}
        )
        row["counts"][COUNTED[change.op]] += 1
    return list(found.values())


def _base64(file: Any) -> str:
    import base64

    return "" if file.text is not None else base64.b64encode(file.data).decode()


def written_line(change: Any) -> str:
    """One line about an entry that a session wrote."""
    from gitmem.okf.plain import shortened

    return f"{change.op} in {change.path}: {shortened((change.new or change.old).text)}"


def knowledge(changes: Iterable[Any]) -> list[Any]:
    """Leave retractions out: they are bookkeeping."""
    return [change for change in changes if not change.path.startswith("retractions/")]


COUNTED = {"add": "added", "remove": "removed", "change": "changed", "move": "moved"}
_OF_A_SESSION = (
    "title", "status", "started", "ended", "source", "platform", "model", "agent", "machine", "parent",
    "type", "session", "counts", "generated",
)  # fmt: skip

COMPUTED: dict[str, Callable[[Any], Any]] = {
    "archived_texts": lambda done: [text for store in done.archived for text in store.texts],
    "base64": _base64,
    "by_file": counts_by_file,
    "by_topic": _by_topic,
    "chapter_kind": lambda one: "session" if one.session else one.entry.kind,
    "commit_ids": lambda one: [entry.id for entry in one.commits],
    "commit_oids": lambda done: [commit.oid for commit in done.commits],
    "content": lambda view: view.text if view.is_text else None,
    "counts": lambda state: state.concept.meta.get("counts") or {},
    "is_confirmed": lambda item: not item.unconfirmed,
    "is_record": _is_record,
    "iso": _iso,
    "knowledge": knowledge,
    "last_gc": lambda status: _iso(status.last_gc) if status.last_gc is not None else "",
    "learned": _learned,
    "more": lambda state: {k: v for k, v in state.concept.meta.items() if k not in _OF_A_SESSION},
    "session_title": lambda state: "" if state.get("title") == f"Session {state.id}" else state.get("title"),
    "shown_url": _shown_url,
    "sources": lambda file: [edge.source for edge in file.backlinks],
    "unified": lambda diff: "".join(diff.unified()),
    "written": lambda one: [written_line(derived.change) for derived in one.wrote],
}
