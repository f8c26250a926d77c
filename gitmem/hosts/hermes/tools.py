"""What the model's tools do. They look, name a state and keep something; taking back is the user's."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError, UsageError
from gitmem.hosts.hermes.tool_schemas import MOST, RECALLING, names
from gitmem.hosts.hermes.users import reader_of
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.find.search import Hit, Search, Wanted
from gitmem.memory.gate.admission import EVENT, Admission, redacted
from gitmem.memory.gate.egress import Egress, worth
from gitmem.memory.history.blame import Blamed
from gitmem.memory.history.log import LogEntry
from gitmem.memory.provenance import Origin, origin_of
from gitmem.okf import layout
from gitmem.okf.ranks import KNOWLEDGE, SAID, TOOL
from gitmem.safety.verdict import Verdict

if TYPE_CHECKING:
    from gitmem.hosts.hermes.bundle_worker import BundleWorker
    from gitmem.memory.capture.recorder import SessionInfo
    from gitmem.memory.find.recall import Line
    from gitmem.memory.memory import Memory

_FEW = 6
"""Changes of one commit that a log tells."""


class Tools:
    """The tools of one session. They run on the worker; what they answer passes the gate."""

    def __init__(self, bundle_worker: BundleWorker, session: SessionInfo) -> None:
        self._bundle_worker = bundle_worker
        self._bundle: Memory = bundle_worker.bundle
        self._session = session
        self._reader = reader_of(self._bundle.config, session)

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
        egress = Egress(self._bundle)
        try:
            answer = egress.answer(found[name](arguments), checked=name in RECALLING)
        except GitMemError as error:
            # Without its hint: that is a command for a person, or quotes names that nobody has looked at.
            answer = egress.answer({"error": " ".join(str(error).split())})
        return json.dumps(answer, ensure_ascii=False)

    # Looking

    def _search(self, given: Mapping[str, Any]) -> dict[str, Any]:
        query = _text(given, "query", needed=True)
        as_of = _text(given, "as_of")
        wanted = Wanted(
            type=_text(given, "type"),
            as_of=as_of,
            ranks=(KNOWLEDGE, SAID, TOOL) if self._bundle.config.session_search else (KNOWLEDGE,),
            reader=self._reader,
        )
        found = self._bundle.part(Search)(query, wanted, limit=_limit(given, 8))
        self._bundle_worker.note_shown(self._session, [(hit.path, hit.key) for hit in found.hits])
        hits = [
            {
                **_ranked(hit),
                "path": hit.path,
                "type": hit.type,
                "at": hit.at,
                "session": hit.session or None,
                "machine": hit.machine or None,
                **(
                    {"holds": "as it was then; it may not hold now"}
                    if as_of and hit.rank == KNOWLEDGE
                    else {}
                ),
            }
            for hit in found.hits
        ]
        return {"hits": hits, **({"did_you_mean": list(found.near)} if found.near else {})}

    def _recap(self, given: Mapping[str, Any]) -> dict[str, Any]:
        query = _text(given, "query", needed=True)
        found = self._bundle.recall(
            query, limit=_limit(given, 3), current=self._session.id, reader=self._reader
        )
        sessions = [
            {
                "session": one.about.session,
                "title": one.about.title or None,
                "started": one.about.started,
                "machine": one.about.machine or None,
                "recap": one.recap,
                "matches": [_ranked(line) for window in one.windows for line in window if line.matches],
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
        """The commits, told by what they did: their subjects quote texts that may be gone since."""
        entries = self._bundle.log(path=_text(given, "path"), limit=_limit(given, 10))
        egress = self._egress()
        return {"commits": [self._commit(entry, egress) for entry in entries]}

    def _egress(self) -> Egress:
        """The way out for what the history has: it knows what no longer holds, and for whom it is."""
        return Egress(self._bundle, self._bundle.index.current(), reader=self._reader)

    def _commit(self, entry: LogEntry, egress: Egress) -> dict[str, Any]:
        changes = [change for change in self._bundle.show(entry.id).diff if _is_knowledge(change.path)]
        told = [egress.change(change) for change in changes[:_FEW]]
        # Why and from where is said in the words of the change, or of whoever asked for it: they go with it.
        holds = egress.sees_session(entry.session) and any(
            egress.holds(change.path, change.new) for change in changes if change.new is not None
        )
        return {
            "commit": entry.commit.oid[:12],
            "at": entry.at,
            "kind": entry.kind,
            "session": entry.session or None,
            "machine": entry.first("Machine") or None,
            "reason": egress.text(entry.first("Reason")) or None if holds else None,
            "source": egress.text(entry.first("Source")) or None if holds else None,
            "changes": told,
            **({"more_changes": len(changes) - _FEW} if len(changes) > _FEW else {}),
        }

    def _diff(self, given: Mapping[str, Any]) -> dict[str, Any]:
        since, until = _text(given, "since") or "yesterday", _text(given, "until")
        egress = self._egress()
        changes = [
            one for one in self._bundle.diff(since, until, path=_text(given, "path")) if egress.tells(one)
        ]
        listed = [egress.change(change) for change in changes[: _limit(given, MOST)]]
        return {"changes": listed, "count": len(changes)}

    def _blame(self, given: Mapping[str, Any]) -> dict[str, Any]:
        path = _text(given, "path") or "memories/MEMORY.md"
        wanted = _text(given, "text")
        egress = self._egress()
        found = [
            story
            for story in self._bundle.blame(path)
            if wanted in story.entry.text and egress.holds(path, story.entry)
        ]
        return {"path": path, "entries": [_story(path, one, egress) for one in found[: _limit(given, MOST)]]}

    # Keeping

    def _snapshot(self, given: Mapping[str, Any]) -> dict[str, Any]:
        self._bundle_worker.flush("explicit")
        origin = self._origin()
        made = self._bundle.snapshots.create(_text(given, "name"), _text(given, "note"), origin=origin)
        return {
            "snapshot": made.name,
            "commit": made.commit,
            "undo": f"gitmem restore {shlex.quote(made.name)}",
        }

    def _remember(self, given: Mapping[str, Any]) -> dict[str, Any]:
        kind = _text(given, "kind", needed=True)
        text = _text(given, "text", needed=True)
        words = transcripts_of(self._bundle.config)
        reason, source = (words.of_the_agent(_text(given, name)) for name in ("reason", "source"))
        if kind == "decision":
            return self._decide(text, reason, source, given.get("tags"))
        if kind not in ("memory", "user"):
            raise UsageError("The kind is one of decision, memory, user.")
        origin = self._origin(reason=reason, source=source or "gitmem_remember")
        target: Any = kind
        answer = self._bundle.curated.add(text, target=target, origin=origin)  # the host's file follows
        if answer.changed:
            self._bundle_worker.wrote(self._bundle.curated.path(target), redacted(text.strip()), origin)
        return {
            "success": not answer.held,
            "message": answer.message,
            "usage": f"{answer.percent}% — {answer.usage:,}/{answer.limit:,} chars",
            "commit": answer.commit or None,
        }

    def _decide(self, text: str, reason: str, source: str, tags: object) -> dict[str, Any]:
        """On disk when it answers, and committed right after: nobody waits for git."""
        listed = [str(tag) for tag in tags] if isinstance(tags, list) else []
        why = "\n\n".join(part for part in (reason, f"Source: {source}" if source else "") if part)
        self._bundle_worker.decide(self._session, decision=text, rationale=why, tags=listed)
        result = Admission(self._bundle).judge("\n".join((text, why)), EVENT)
        if result.verdict is not Verdict.ALLOW:
            return {"success": False, "message": f"Held back for the user to look at: {result.explain()}."}
        return {"success": True, "kept": "decision", "message": "It is committed in a moment."}

    def _revert(self, given: Mapping[str, Any]) -> dict[str, Any]:
        from gitmem.memory.history.revert import Undo

        commit = self._bundle.show(_text(given, "commit", needed=True)).entry.commit
        reason = transcripts_of(self._bundle.config).of_the_agent(_text(given, "reason", needed=True))
        origin = self._origin(reason=reason, source="gitmem_revert")
        self._bundle_worker.flush("explicit")
        done = self._bundle.part(Undo).revert([commit], origin=origin)
        self._bundle_worker.compare()
        return {
            "success": done.published is not None,
            "changed": len(done.changes),
            "kept": len(done.kept),
            "undo": "gitmem undo",
        }

    def _origin(self, *, reason: str = "", source: str = "") -> Origin:
        return replace(
            origin_of(self._bundle.config, self._session), reason=redacted(reason), source=redacted(source)
        )


def _is_knowledge(path: str) -> bool:
    """Whether a file says something: not a page that gitmem makes, nor a record of a conversation."""
    return (
        not layout.is_generated(path) and not layout.is_session(path) and not path.startswith("retractions/")
    )


def _ranked(found: Hit | Line) -> dict[str, Any]:
    """A text with what it is worth, and by what it was replaced."""
    known = {"text": found.text, **worth(found.rank, found.source, found.unconfirmed)}
    return {**known, "since_then": f"replaced by: {found.since}"} if found.since else known


def _story(path: str, story: Blamed, egress: Egress) -> dict[str, Any]:
    """Who wrote an entry as it is now. What it said before is not told: it no longer holds."""
    last = story.changed
    why = last.first("Reason") if egress.sees_session(last.session) else ""
    return {
        "text": egress.text(story.entry.text),
        **worth(KNOWLEDGE, "", egress.came_from(path, story.entry.key)),
        "since": story.introduced.at,
        "written": last.at,
        "session": last.session or None,
        "agent": last.first("Agent") or None,
        "machine": last.first("Machine") or None,
        "reason": egress.text(why) or None,
        "source": egress.text(last.first("Source")) or None,
        "times_changed": story.times,
        "verified": story.verified or None,
        "verified_here": story.verified_here,
    }


def _text(given: Mapping[str, Any], name: str, *, needed: bool = False) -> str:
    value = given.get(name)
    text = value.strip() if isinstance(value, str) else ""
    if needed and not text:
        raise UsageError(f"`{name}` is missing.")
    return text


def _limit(given: Mapping[str, Any], default: int) -> int:
    value = given.get("limit")
    return max(1, min(MOST, value)) if isinstance(value, int) and not isinstance(value, bool) else default
