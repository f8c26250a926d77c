"""The one seam between the provider and recall: what is looked up for a turn, and for the model's tools.

It has a bundle object of its own, because the host asks on a thread of its own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.hosts.hermes.home import Home, open_bundle

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_WORD = 3


class Recall:
    """Recall for one provider. A failure here recalls nothing, and never stops a turn."""

    def __init__(self, home: Home, env: Mapping[str, str], session: str) -> None:
        self._home = home
        self._env = env
        self.session = session
        self._lock = threading.RLock()
        self._bundle: Bundle | None = None
        self._ready: tuple[str, str] = ("", "")
        self._turns = 0

    def _opened(self) -> Bundle:
        if self._bundle is None:
            self._bundle = open_bundle(self._home, self._env)
        return self._bundle

    # For a turn

    def prefetch(self, query: str) -> str:
        """What is worth knowing for this turn, within the budget; nothing where only tools recall."""
        with self._lock:
            try:
                bundle = self._opened()
                config = bundle.config
                self._turns += 1
                cadence = config.context_cadence
                due = cadence > 0 and (self._turns - 1) % cadence == 0
                if config.recall_mode == "tools" or not due or config.context_budget <= 0:
                    return ""
                for_query, text = self._ready
                return text if for_query == query else _context(bundle, query, self.session)
            except (GitMemError, OSError):
                return ""

    def warm(self, query: str) -> None:
        """Bring the index up to date, and have an answer ready should the next turn ask the same."""
        with self._lock, contextlib.suppress(GitMemError, OSError):
            bundle = self._opened()
            if bundle.config.recall_mode != "tools":
                self._ready = (query, _context(bundle, query, self.session))

    # For the model's tools

    def search(self, query: str, *, as_of: str, kind: str, limit: int) -> list[dict[str, Any]]:
        with self._lock:
            return _search(self._opened(), query, as_of=as_of, kind=kind, limit=limit)

    def sessions(self, query: str, *, limit: int) -> list[dict[str, Any]]:
        with self._lock:
            return _sessions(self._opened(), query, limit=limit)

    def close(self) -> None:
        with self._lock:
            if self._bundle is not None:
                if "index" in self._bundle.__dict__:
                    self._bundle.index.close()
                self._bundle.repository.store.close()
                self._bundle = None


# --- until recall is there: words in files ---------------------------------------------------------------


def _context(bundle: Bundle, query: str, session: str) -> str:  # noqa: ARG001 (recall leaves out the present session)
    from gitmem.safety.fence import sanitize
    from gitmem.safety.verdict import Verdict

    lines: list[str] = []
    left = bundle.config.context_budget
    for hit in _search(bundle, query, as_of="", kind="Decision", limit=5):
        line = f"- {' '.join(str(hit['text']).split())[:400]} ({hit['path']})"
        if bundle.gate.judge(line, "recall").verdict is Verdict.ALLOW and len(line) < left:
            lines.append(sanitize(line))
            left -= len(line) + 1
    return "\n".join(lines)


def _search(bundle: Bundle, query: str, *, as_of: str, kind: str, limit: int) -> list[dict[str, Any]]:
    from gitmem.okf import entries as okf

    words = [word for word in query.lower().split() if len(word) >= _WORD] or query.lower().split()
    tree = bundle.tree(as_of or "HEAD")
    scored: list[tuple[int, str, dict[str, Any]]] = []
    for top in ("memories", "decisions", "plans", "hermes"):
        for path, entry in tree.files(top):
            if not path.endswith(".md"):
                continue
            for one in okf.entries_of(path, tree.read_entry(entry)).values():
                if one.key.space not in ("§", "body", "event"):
                    continue
                type_ = kind if kind else okf.kind_of(path, None)
                score = sum(word in one.text.lower() for word in words)
                if score and (not kind or path.startswith(f"{kind.lower()}s/") or kind == "CuratedMemory"):
                    scored.append(
                        (score, path, {"path": path, "text": one.text, "at": one.at, "type": type_})
                    )
    scored.sort(key=lambda item: (-item[0], item[1]))
    return [hit for _, _, hit in scored[:limit]]


def _sessions(bundle: Bundle, query: str, *, limit: int) -> list[dict[str, Any]]:
    words = [word for word in query.lower().split() if len(word) >= _WORD]
    found: list[dict[str, Any]] = []
    for state in bundle.sessions.all():
        texts = [" ".join(event.fields.values()) for event in bundle.sessions.events(state.id)]
        hits = [text for text in texts if any(word in text.lower() for word in words)]
        if hits:
            found.append({"session": state.id, "started": state.get("started"), "matches": hits[:3]})
        if len(found) >= limit:
            break
    return found
