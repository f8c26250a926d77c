"""Facts of one session. Until it is distilled, a note in its journal says so, for the next start too.

A session is distilled by the rules when it ends, from what was said while this process ran. Where a model is asked
too, or the process ends too early, the next start distils what is recorded of the session.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from gitmem.errors import GitMemError
from gitmem.memory.capture.journal_format import CONTROL
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.distill.compression import Compressed, Compressor
from gitmem.memory.distill.facts import DistilledFact

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.capture.journal_format import Record
    from gitmem.memory.origin import Trigger
    from gitmem.memory.session import Session

By = Literal["rules", "model"]
Messages = Sequence[Mapping[str, Any]]
SAID, ANNOUNCED = CONTROL + "said", CONTROL + "announced"
_MOST = 2_000
"""Messages of one session that are kept in memory."""


class PendingFacts:
    """The talk of a session since it was distilled, and the facts that were announced and are not stored yet."""

    def __init__(self, bundle: Bundle, session: Session) -> None:
        self._bundle = bundle
        self._session = session
        self._lock = threading.Lock()
        self._note = 0
        """The number of the note that something is to be distilled; 0 where nothing is."""
        self._seen: dict[str, str] = {}
        """The moments up to which the rules and the model have seen the session."""
        self._said: deque[Mapping[str, Any]] = deque(maxlen=_MOST)

    # The agent's thread

    def said(self, user: str, assistant: str) -> None:
        """A turn is over. It stays in memory until the session ends; that there was one is noted."""
        if self._bundle.config.flush_min_turns <= 0:
            return
        with self._lock:
            self._said += [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
        self._note = self._note or self._session.buffer.note(SAID[1:], {})

    def talk(self) -> Messages:
        """Return what was said while this process ran."""
        with self._lock:
            return list(self._said)

    def announce(self, messages: Messages) -> tuple[int, str]:
        """The text for the host where the commit takes its time, and the number of the durable note of its facts."""
        compressor = self._session.compressor
        facts = compressor.preview(messages)
        if not facts:
            return 0, ""
        text = json.dumps([asdict(fact) for fact in facts], ensure_ascii=False)
        number = self._session.buffer.note(ANNOUNCED[1:], {"facts": text}, durable=True)
        return number, compressor.told(facts)

    # The worker

    @property
    def asks_a_model(self) -> bool:
        """Return whether a model is to see what is recorded of the session, now that it is over."""
        return bool(self._note) and self._has_model

    @property
    def _has_model(self) -> bool:
        config = self._bundle.config
        # Where no words are recorded, there is nothing to ask it.
        has_words = bool(transcripts_of(config).user)
        return config.flush_min_turns > 0 and bool(config.distiller.base_url) and has_words

    def compress(self, messages: Messages) -> Compressed:
        """Everything that waits and the durable facts of these messages, as one commit, by the rules."""
        done = self._session.compressor.compress(messages)
        self._saw("rules", is_over=False)
        return done

    def finish(self, trigger: Trigger) -> bool:
        """Commit the facts of a session that is over, by the rules; True where there are new ones."""
        self._store_announced()
        return bool((talk := self.talk()) and self._finished(talk, trigger))

    def finish_recorded(self) -> bool:
        """As `finish`, by what is recorded: its process ended too early."""
        self._store_announced()
        return bool(self._note) and self._finished(self.recorded("rules"), "session-end")

    def _finished(self, messages: Messages, trigger: Trigger) -> bool:
        done = self._session.compressor.finish(messages, trigger=trigger)
        self._saw("rules", is_over=True)
        return bool(done.facts)

    def stored(self, number: int) -> None:
        """Announced facts are in a commit now."""
        self._session.buffer.settle(number)

    def _store_announced(self) -> None:
        """Commit facts that the host heard of, where their commit failed or its process died."""
        for note in self._session.buffer.notes(ANNOUNCED):
            self._session.compressor.keep(_facts(note))
            self.stored(note.seq)

    def take_over(self, note: Record) -> None:
        """Note again what the journal of a dead process says of this session."""
        number = self._session.buffer.note(note.kind[1:], note.fields)
        if note.kind == SAID:
            self._note = number
            self._seen = {by: str(note.fields.get(by, "")) for by in ("rules", "model")}

    def recorded(self, by: By) -> Messages:
        """Return what is recorded of the session and was not yet seen by the rules or by the model."""
        try:
            events = self._bundle.part(Sessions).events(self._session.id)
        except GitMemError:  # there is no such session, or it cannot be read
            return []
        since = self._seen.get(by, "")
        return [
            {"role": role, "content": turn.fields[role], "turn": turn.turn}
            for turn in events
            if turn.kind == "turn" and turn.at > since
            for role in ("user", "assistant")
            if turn.fields.get(role)
        ]

    def keep_found(self, facts: Sequence[DistilledFact]) -> bool:
        """Commit the findings of a model in a session that is over; True where there are new ones."""
        kept = self._session.compressor.keep(facts, kind="flush", trigger="session-end")
        self._saw("model", is_over=True)
        return bool(kept.facts)

    def _saw(self, by: By, *, is_over: bool) -> None:
        """The rules or the model have seen all of the session that there is; where it `is_over`, nothing more follows."""
        if not self._note:
            return
        self._seen[by] = self._bundle.now()
        is_settled = is_over and (by == "model" or not self._has_model)
        if is_over:
            with self._lock:
                self._said.clear()
        buffer, old = self._session.buffer, self._note
        self._note = 0 if is_settled else buffer.note(SAID[1:], self._seen)
        buffer.settle(old)

    # Beside the worker: this waits for a network

    def ask_model(self) -> list[DistilledFact]:
        """Return what the model that the settings name finds in what it has not seen of the record; one request."""
        return Compressor(self._bundle, self._session.buffer).found(self.recorded("model"))


def _facts(note: Record) -> list[DistilledFact]:
    try:
        return [DistilledFact(**one) for one in json.loads(str(note.fields["facts"]))]
    except (ValueError, KeyError, TypeError):  # not ours: another version's, or damaged
        return []
