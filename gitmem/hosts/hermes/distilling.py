"""Pending distilling, kept on disk so that the next start does what this process has no time for.

A session is distilled by the rules when it ends, from what was said while this process ran. Where a model is asked
too, or the process ends too early, the next start distils what is recorded of the session.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from gitmem.errors import GitMemError
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.distill.facts import Fact

if TYPE_CHECKING:
    from gitmem.hosts.hermes.write_notices import Notices
    from gitmem.memory.capture.journal_format import Record
    from gitmem.memory.memory import Memory

By = Literal["rules", "model"]
Messages = list[Mapping[str, Any]]

_SAID, _DISTILLED, _SETTLED = "said", "distilled", "settled"
_ANNOUNCED, _STORED = "announced", "stored"
_MOST = 2_000
"""Messages of one session that are kept in memory."""


@dataclass(slots=True)
class _Waiting:
    """A session with something new in it: up to when each of the two has seen it."""

    rules: str = ""
    model: str = ""


class Distilling:
    """The sessions of one provider that have to be distilled, and the facts that were announced and not yet stored."""

    def __init__(self, bundle: Memory, notices: Notices) -> None:
        self._bundle = bundle
        self._notices = notices
        self._lock = threading.Lock()
        self._talk: dict[str, deque[Mapping[str, Any]]] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._announced: dict[int, tuple[str, list[Fact]]] = {}

    # The agent's thread

    def said(self, session: str, user: str, assistant: str) -> None:
        """A turn is over. It stays in memory until the session ends; that there was one is noted."""
        if not self._is_wanted:
            return
        with self._lock:
            talk = self._talk.setdefault(session, deque(maxlen=_MOST))
            talk += [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
            is_new = session not in self._waiting
            if is_new:
                self._waiting[session] = _Waiting()
        if is_new:
            self._notices.note(_SAID, {}, session)

    def announce(self, session: str, facts: Sequence[Fact]) -> int:
        """Note facts that the host is about to hear of: on disk when this returns."""
        text = json.dumps([asdict(fact) for fact in facts], ensure_ascii=False)
        number = self._notices.note(_ANNOUNCED, {"facts": text}, session, durable=True)
        with self._lock:
            self._announced[number] = (session, list(facts))
        return number

    # The worker

    @property
    def _is_wanted(self) -> bool:
        return self._bundle.config.flush_min_turns > 0

    @property
    def asks_a_model(self) -> bool:
        return self._is_wanted and bool(self._bundle.config.distiller.base_url)

    @property
    def is_waiting(self) -> bool:
        """Return whether the next start has something to do."""
        with self._lock:
            return bool(self._waiting or self._announced)

    def announced(self) -> list[tuple[int, str, list[Fact]]]:
        """Facts that the host heard of and no commit has: their number, session and texts."""
        with self._lock:
            return [(number, *found) for number, found in self._announced.items()]

    def stored(self, number: int) -> None:
        """Announced facts are in a commit now."""
        with self._lock:
            known = self._announced.pop(number, None)
        if known is not None:
            self._notices.note(_STORED, {"number": str(number)}, known[0])

    def talk(self, session: str) -> Messages:
        """Return what was said in a session while this process ran."""
        with self._lock:
            return list(self._talk.get(session, ()))

    def recorded(self, session: str, by: By) -> Messages:
        """Return what is recorded of a session and was not yet seen by the rules or by the model."""
        with self._lock:
            since = getattr(self._waiting.get(session, _Waiting()), by)
        try:
            events = self._bundle.sessions.events(session)
        except GitMemError:  # there is no such session, or it cannot be read
            return []
        turns = [event.fields for event in events if event.kind == "turn" and event.at > since]
        return [
            {"role": role, "content": fields[role]}
            for fields in turns
            for role in ("user", "assistant")
            if fields.get(role)
        ]

    def done(self, session: str, by: By, *, is_over: bool) -> None:
        """The rules or the model have seen all of a session that there is; where it `is_over`, nothing waits for more."""
        now = self._bundle.now()
        words = transcripts_of(self._bundle.config)
        with self._lock:
            waiting = self._waiting.get(session)
            if waiting is None:
                return
            setattr(waiting, by, now)
            # A model is asked later by what is recorded: where no words are, there is nothing to ask it.
            if is_over:
                self._talk.pop(session, None)
                if by == "model" or not (self.asks_a_model and words.user):
                    del self._waiting[session]
            settled = session not in self._waiting
        self._notices.note(_SETTLED if settled else _DISTILLED, {"by": by}, session, at=now)

    def waiting(self) -> list[str]:
        """The sessions that earlier processes left."""
        with self._lock:
            return [session for session in self._waiting if session not in self._talk]

    # From process to process

    def take_over(self) -> None:
        """Make what dead processes left ours."""
        for records in self._notices.of_the_dead():
            for session, waiting in _left(records).items():
                self._waiting.setdefault(session, waiting)
            for session, facts in _not_stored(records):
                self.announce(session, facts)
        self.note_again()

    def note_again(self) -> None:
        """Write everything once more: what was noted before is about to be forgotten."""
        with self._lock:
            waiting, announced = dict(self._waiting), dict(self._announced)
        for session, one in waiting.items():
            for by, at in (("rules", one.rules), ("model", one.model)):
                if at:
                    self._notices.note(_DISTILLED, {"by": by}, session, at=at)
            self._notices.note(_SAID, {}, session)
        for number, (session, facts) in announced.items():
            self.announce(session, facts)
            with self._lock:
                del self._announced[number]


def _left(records: Sequence[Record]) -> dict[str, _Waiting]:
    """The sessions in a journal with something new in them."""
    found: dict[str, _Waiting] = {}
    for record in records:
        if record.kind == _SAID:
            found.setdefault(record.session, _Waiting())
        elif record.kind == _DISTILLED:
            by = "model" if record.fields.get("by") == "model" else "rules"
            setattr(found.setdefault(record.session, _Waiting()), by, record.at)
        elif record.kind == _SETTLED:
            found.pop(record.session, None)
    return found


def _not_stored(records: Sequence[Record]) -> Iterator[tuple[str, list[Fact]]]:
    stored = {record.fields.get("number") for record in records if record.kind == _STORED}
    for record in records:
        if record.kind == _ANNOUNCED and str(record.seq) not in stored:
            try:
                facts = [Fact(**one) for one in json.loads(str(record.fields["facts"]))]
            except (ValueError, KeyError, TypeError):  # not ours: another version's, or damaged
                continue
            yield record.session, facts
