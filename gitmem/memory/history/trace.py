"""Trace: where a text came from, and everything it may have touched while it was there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision, UsageError
from gitmem.memory.capture.sessions import Sessions, SessionState
from gitmem.memory.find.recall_log import RecallLog
from gitmem.memory.history.log import History, LogEntry
from gitmem.memory.results import brief
from gitmem.okf.entries import Change, EntryKey
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


@dataclass(frozen=True, slots=True)
class Life:
    """One stretch in which an entry was in a file."""

    path: str
    key: EntryKey
    text: str
    came: LogEntry
    left: LogEntry | None = None

    def __repr__(self) -> str:
        left = self.left.id[:8] if self.left else ""
        return brief(self, path=self.path, text=repr(self.text), came=self.came.id[:8], left=left)


@dataclass(frozen=True, slots=True)
class Exposed:
    """A session that the text reached, by its prompt or by a recall, and what that session wrote."""

    session: str
    in_prompt: bool
    certain: bool
    """The prompt block it used is on record; else it only began while the text was there."""
    recalled_for: tuple[str, ...] = ()
    """The questions that brought it up, as far as the recall log has them."""
    wrote: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Traced:
    """The lives of all entries that held a text, and their blast radius."""

    text: str
    lives: tuple[Life, ...]
    exposed: tuple[Exposed, ...]

    @property
    def command(self) -> str:
        """The command that takes it back."""
        sessions = list(dict.fromkeys(life.came.session for life in self.lives if life.came.session))
        if len(sessions) == 1 and all(life.came.session for life in self.lives):
            return f"gitmem revert --session {sessions[0]}"
        commits = dict.fromkeys(life.came.commit.oid[:12] for life in self.lives)
        return f"gitmem revert {' '.join(commits)}"

    def __repr__(self) -> str:
        return brief(self, lives=len(self.lives), exposed=len(self.exposed), command=repr(self.command))


def trace(bundle: Bundle, text: str) -> Traced:
    """The whole life of a text, and the sessions it may have reached."""
    if not text.strip():
        raise UsageError("Give the text to trace, or a part of it.")
    lives = _lives(bundle, text)
    if not lives:
        raise UnknownRevision(f"No entry in the whole history contains {shortened(text)!r}.")
    return Traced(text, tuple(lives), tuple(_exposed(bundle, lives)))


def _lives(bundle: Bundle, text: str) -> list[Life]:
    """Oldest first: each entry with the text, from the commit it came with to the one it left with.

    Buys "`trace` over the whole history / `git log -S`": the index has them; it is made where there is none.
    """
    from gitmem.memory.find.index import Indexing

    index = bundle.part(Indexing).current()
    store = bundle.repository.store
    lives = []
    for span in index.spans_containing(text):
        left = index.commit_at(span.to_seq) if span.to_seq is not None else None
        lives.append(
            Life(
                span.path,
                EntryKey(span.space, span.key),
                span.text,
                LogEntry.of(store.commit(span.commit)),
                LogEntry.of(store.commit(left.oid)) if left is not None else None,
            )
        )
    return lives


def _exposed(bundle: Bundle, lives: list[Life]) -> list[Exposed]:
    """Sessions that the text reached, oldest first; by the block on record, else by when they began."""
    in_prompt = [life for life in lives if life.path.startswith("memories/")]
    recalled = _recalled(bundle, lives)
    found = []
    for state in reversed(bundle.part(Sessions).all()):
        blocks = _blocks(state)
        if blocks:
            exposed = any(_stood_at(bundle, life, commit) for life in in_prompt for commit in blocks)
        else:
            started = state.get("started")
            exposed = any(
                life.came.at <= started and (life.left is None or started < life.left.at)
                for life in in_prompt
            )
        questions = recalled.get(state.id, [])
        if exposed or questions:
            found.append(
                Exposed(
                    state.id, exposed, exposed and bool(blocks), tuple(questions), _wrote(bundle, state.id)
                )
            )
    return found


def _recalled(bundle: Bundle, lives: list[Life]) -> dict[str, list[str]]:
    """The questions for which each session was shown the text."""
    entries = {life.key for life in lives if life.key.space in ("§", "event")}
    files = {life.path for life in lives if life.key.space not in ("§", "event")}
    found: dict[str, list[str]] = {}
    for one in RecallLog(bundle).read():
        if any(key in entries or path in files for path, key in one.shown):
            questions = found.setdefault(one.session, [])
            if one.question not in questions:
                questions.append(one.question)
    return found


def _blocks(state: SessionState) -> list[str]:
    listed = state.concept.meta.get("prompt_blocks")
    if not isinstance(listed, list):
        return []
    return [str(item["commit"]) for item in listed if isinstance(item, Mapping) and "commit" in item]


def _stood_at(bundle: Bundle, life: Life, commit: str) -> bool:
    data = bundle.read(life.path, commit)
    return data is not None and life.text in data.decode("utf-8", "replace")


def _wrote(bundle: Bundle, session: str) -> tuple[Change, ...]:
    try:
        changes = bundle.part(History).of_session(session)
    except UnknownRevision:
        return ()
    return tuple(change for change in changes if not change.path.startswith("sessions/"))
