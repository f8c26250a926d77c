"""The tools that the model gets: to look, to name a state, to keep something. Taking back is the user's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gitmem.config import Config
from gitmem.errors import GitMemError, UsageError
from gitmem.memory.gate.secrets import redact

if TYPE_CHECKING:
    from gitmem.hosts.hermes.bundle_worker import Keeper
    from gitmem.memory.capture.recorder import SessionInfo
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.memory import Memory

RESULT_LIMIT = 12_000
_TEXT_LIMIT = 1_500
_MOST = 20


def _schema(
    name: str, description: str, properties: dict[str, Any], required: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": list(required)},
    }


_TEXT = {"type": "string"}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": _MOST, "description": "How many at most."}
_SCHEMAS = {
    "gitmem_search": _schema(
        "gitmem_search",
        "Search the versioned memory: entries, decisions, sessions, plans and skills. With as_of it answers "
        "as the memory was then.",
        {
            "query": {"type": "string", "description": "Words to look for."},
            "as_of": {
                "type": "string",
                "description": "A date, snapshot, commit or session:ID; now if left out.",
            },
            "type": {"type": "string", "description": "Only one kind, such as Decision or CuratedMemory."},
            "limit": _LIMIT,
        },
        ("query",),
    ),
    "gitmem_recall": _schema(
        "gitmem_recall",
        "Recall earlier conversations that were about something: which session, when, and what was said.",
        {"query": {"type": "string", "description": "What it was about."}, "limit": _LIMIT},
        ("query",),
    ),
    "gitmem_history": _schema(
        "gitmem_history",
        "The history of the memory. `log` lists changes, `diff` shows what changed between two moments, "
        "`blame` says for each entry of a file when it came, from which session, and why.",
        {
            "action": {"type": "string", "enum": ["log", "diff", "blame"]},
            "path": {"type": "string", "description": "A file, such as memories/MEMORY.md."},
            "since": {
                "type": "string",
                "description": "For diff: the earlier moment (date, snapshot, commit).",
            },
            "until": {"type": "string", "description": "For diff: the later moment; now if left out."},
            "text": {"type": "string", "description": "For blame: only entries that contain this."},
            "limit": _LIMIT,
        },
        ("action",),
    ),
    "gitmem_snapshot": _schema(
        "gitmem_snapshot",
        "Name the present state of the memory, so that the user can go back to it.",
        {"name": {"type": "string", "description": "A short name."}, "note": _TEXT},
    ),
    "gitmem_remember": _schema(
        "gitmem_remember",
        "Keep something with its reason and source: a decision with its rationale, or a durable fact for "
        "MEMORY.md (memory) or USER.md (user). For plain facts the memory tool is enough.",
        {
            "kind": {"type": "string", "enum": ["decision", "memory", "user"]},
            "text": {"type": "string", "description": "The decision or the fact, one or two sentences."},
            "reason": {
                "type": "string",
                "description": "Why: the rationale of the decision, the ground of the fact.",
            },
            "source": {"type": "string", "description": "Where it comes from: a URL, a file, a person."},
            "tags": {"type": "array", "items": _TEXT},
        },
        ("kind", "text"),
    ),
    "gitmem_revert": _schema(
        "gitmem_revert",
        "Take back one change of the memory, by its commit. Only when the user asks for it.",
        {
            "commit": {"type": "string", "description": "The commit, from gitmem_history."},
            "reason": {"type": "string", "description": "Why."},
        },
        ("commit", "reason"),
    ),
}
_RECALLING = ("gitmem_search", "gitmem_recall")
KEEPING = ("gitmem_remember",)
"""Tools after which there is something to commit, or to bring to the host's files."""


def names(config: Config) -> list[str]:
    """The tools that the settings allow."""
    left_out = set(_RECALLING) if config.recall_mode == "context" else set()
    if not config.session_search:
        left_out.add("gitmem_recall")
    if not config.undo_tools:  # the model must not be talked into erasing memory
        left_out.add("gitmem_revert")
    return [name for name in _SCHEMAS if name not in left_out]


def schemas(config: Config) -> list[dict[str, Any]]:
    """Their schemas, bare, as the host wants them."""
    return [json.loads(json.dumps(_SCHEMAS[name])) for name in names(config)]


def refuse(tool: str, why: str) -> str:
    return json.dumps({"error": f"{tool} is not possible here: {why}."})


class Tools:
    """The tools of one session. They run on the worker; what they answer passes the gate."""

    def __init__(self, keeper: Keeper, session: SessionInfo) -> None:
        self._keeper = keeper
        self._bundle: Memory = keeper.bundle
        self._session = session

    def run(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer as a JSON string, never longer than the model should read."""
        found: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "gitmem_search": self._search,
            "gitmem_recall": self._recap,
            "gitmem_history": self._history,
            "gitmem_snapshot": self._snapshot,
            "gitmem_remember": self._remember,
            "gitmem_revert": self._revert,
        }
        if name not in found or name not in names(self._bundle.config):
            return json.dumps({"error": f"There is no tool {name!r} here."})
        try:
            return self._rendered(found[name](arguments), scanned=name in _RECALLING)
        except GitMemError as error:
            return json.dumps({"error": " ".join(f"{error} {error.hint}".split())}, ensure_ascii=False)

    # Looking

    def _search(self, given: Mapping[str, Any]) -> dict[str, Any]:
        from gitmem.memory.find.search import Wanted

        wanted = Wanted(type=_text(given, "type"), as_of=_text(given, "as_of"))
        query = _text(given, "query", needed=True)
        found = self._bundle.search(query, wanted, limit=_limit(given, 8))
        hits = [
            {
                "text": hit.text,
                "path": hit.path,
                "type": hit.type,
                "at": hit.at,
                "session": hit.session or None,
                "machine": hit.machine or None,
            }
            for hit in found.hits
        ]
        return {"hits": hits, **({"did_you_mean": list(found.near)} if found.near else {})}

    def _recap(self, given: Mapping[str, Any]) -> dict[str, Any]:
        query = _text(given, "query", needed=True)
        found = self._bundle.recall(query, limit=_limit(given, 3), current=self._session.id)
        sessions = [
            {
                "session": one.about.session,
                "title": one.about.title or None,
                "started": one.about.started,
                "machine": one.about.machine or None,
                "recap": one.recap,
                "matches": [line.text for window in one.windows for line in window if line.matches],
            }
            for one in found.recaps
        ]
        return {"sessions": sessions}

    def _history(self, given: Mapping[str, Any]) -> dict[str, Any]:
        action = _text(given, "action", needed=True)
        if action == "log":
            return self._log(given)
        if action == "diff":
            return self._diff(given)
        if action == "blame":
            return self._blame(given)
        raise UsageError("The action is one of log, diff, blame.")

    def _log(self, given: Mapping[str, Any]) -> dict[str, Any]:
        from gitmem.memory.history.log import LogFilter

        found: list[dict[str, Any]] = []
        for entry in self._bundle.history.log(LogFilter(path=_text(given, "path"))):
            found.append(_commit(entry))
            if len(found) >= _limit(given, 10):
                break
        return {"commits": found}

    def _diff(self, given: Mapping[str, Any]) -> dict[str, Any]:
        old = self._bundle.resolve(_text(given, "since") or "yesterday")
        new = self._bundle.resolve(_text(given, "until") or "HEAD")
        changes = self._bundle.history.between(old, new, _text(given, "path"))
        listed = [
            {
                "op": change.op,
                "path": change.path,
                "old": change.old.text if change.old else None,
                "new": change.new.text if change.new else None,
            }
            for change in changes
        ]
        return {"changes": listed[: _limit(given, _MOST)], "count": len(listed)}

    def _blame(self, given: Mapping[str, Any]) -> dict[str, Any]:
        from gitmem.memory.history.blame import blame_of

        path = _text(given, "path") or "memories/MEMORY.md"
        wanted = _text(given, "text")
        entries = [one.as_json() for one in blame_of(self._bundle, path).values() if wanted in one.entry.text]
        return {"path": path, "entries": entries[: _limit(given, _MOST)]}

    # Keeping

    def _snapshot(self, given: Mapping[str, Any]) -> dict[str, Any]:
        self._keeper.flush("explicit")
        origin = self._origin()
        made = self._bundle.snapshots.create(_text(given, "name"), _text(given, "note"), origin=origin)
        return {"snapshot": made.name, "commit": made.commit, "undo": f"gitmem restore {made.name}"}

    def _remember(self, given: Mapping[str, Any]) -> dict[str, Any]:
        kind = _text(given, "kind", needed=True)
        text = _text(given, "text", needed=True)
        reason, source = _text(given, "reason"), _text(given, "source")
        if kind == "decision":
            return self._decide(text, reason, source, given.get("tags"))
        if kind not in ("memory", "user"):
            raise UsageError("The kind is one of decision, memory, user.")
        origin = self._origin(reason=reason, source=source or "gitmem_remember")
        target: Any = kind
        answer = self._bundle.curated.add(text, target=target, origin=origin)  # the host's file follows
        return {
            "success": not answer.held,
            "message": answer.message,
            "usage": f"{answer.percent}% — {answer.usage:,}/{answer.limit:,} chars",
            "commit": answer.commit or None,
        }

    def _decide(self, text: str, reason: str, source: str, tags: object) -> dict[str, Any]:
        """On disk when it answers, and committed right after: nobody waits for git."""
        from gitmem.safety.verdict import Verdict

        listed = [str(tag) for tag in tags] if isinstance(tags, list) else []
        why = "\n\n".join(part for part in (reason, f"Source: {source}" if source else "") if part)
        self._keeper.take(self._session, "decision", decision=text, rationale=why, tags=listed)
        verdict = self._bundle.gate.judge("\n".join((text, why)), "event")
        if verdict.verdict is not Verdict.ALLOW:
            return {"success": False, "message": f"Held back for the user to look at: {verdict.explain()}."}
        return {"success": True, "kept": "decision", "message": "It is committed in a moment."}

    def _revert(self, given: Mapping[str, Any]) -> dict[str, Any]:
        commit = self._bundle.history.entry(_text(given, "commit", needed=True)).commit
        origin = self._origin(reason=_text(given, "reason", needed=True), source="gitmem_revert")
        self._keeper.flush("explicit")
        done = self._bundle.undo.revert([commit], origin=origin)
        self._keeper.compare()
        return {
            "success": done.published is not None,
            "changed": len(done.changes),
            "kept": done.kept,
            "undo": "gitmem undo",
        }

    def _origin(self, *, reason: str = "", source: str = "") -> Any:
        from dataclasses import replace

        from gitmem.memory.provenance import origin_of

        return replace(
            origin_of(self._bundle.config, self._session), reason=redact(reason), source=redact(source)
        )

    # The way out

    def _rendered(self, answer: dict[str, Any], *, scanned: bool) -> str:
        """JSON whose texts were scanned, fenced and cut: what is recalled is data."""
        passed = _Gate(None if scanned else self._bundle).passed(answer)
        return json.dumps(passed, ensure_ascii=False)


class _Gate:
    """What may reach the model, text by text, up to a limit for the whole. Recall has its own scan behind it."""

    def __init__(self, bundle: Memory | None) -> None:
        self._bundle = bundle
        self._left = RESULT_LIMIT

    def passed(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {str(key): self.passed(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            passed: list[Any] = []
            for one in value:
                if self._left <= 0:
                    passed.append("(cut: ask for less)")
                    break
                passed.append(self.passed(one))
            return passed
        return value

    def _text(self, value: str) -> str:
        from gitmem.safety.fence import sanitize

        if self._bundle is not None and len(value) > 20 and not self._is_harmless(value):
            return "[withheld: the scanner flags this text]"
        text = sanitize(value)
        text = text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 1] + "…"
        self._left -= len(text)
        return text if self._left > 0 else "…"

    def _is_harmless(self, text: str) -> bool:
        from gitmem.safety.verdict import Verdict

        assert self._bundle is not None
        return self._bundle.gate.judge(text, "recall").verdict is Verdict.ALLOW


def _commit(entry: LogEntry) -> dict[str, Any]:
    return {
        "commit": entry.commit.oid[:12],
        "at": entry.at,
        "subject": entry.commit.subject,
        "session": entry.session or None,
        "machine": entry.first("Machine") or None,
        "reason": entry.first("Reason") or None,
        "source": entry.first("Source") or None,
    }


def _text(given: Mapping[str, Any], name: str, *, needed: bool = False) -> str:
    value = given.get(name)
    text = value.strip() if isinstance(value, str) else ""
    if needed and not text:
        raise UsageError(f"`{name}` is missing.")
    return text


def _limit(given: Mapping[str, Any], default: int) -> int:
    value = given.get("limit")
    return max(1, min(_MOST, value)) if isinstance(value, int) and not isinstance(value, bool) else default
