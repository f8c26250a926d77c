"""Recall for a turn. It has a thread and a bundle object of its own: no commit makes it wait."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.hosts.hermes.home import Home, open_home
from gitmem.memory.find.prefetch import Prefetch, recalls
from gitmem.memory.mirror.sections import NAMES, parse
from gitmem.okf.entries import EntryKey
from gitmem.state import MIRROR
from gitmem.world import World

if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.index.readers import Reader
    from gitmem.memory.indexing import Index
    from gitmem.memory.memory import Memory

Entries = Sequence[tuple[str, EntryKey]]

_PATIENCE = 1.0
"""How long a turn waits for what was not prepared; then it begins without, and the next one has it."""


class Prefetcher:
    """Recall for one provider. A failure here recalls nothing, and never stops a turn.

    Hosts drop providers without a word: the thread, and what it reads, ends by itself when nothing is asked for.
    """

    def __init__(
        self, home: Home, world: World, config: Config, session: str, reader: Reader | None = None
    ) -> None:
        self._home, self._world, self._config, self._reader = home, world, config, reader
        self._prefetch = Prefetch(self._look_up, idle=self._rest)
        self._turn = 0
        self._bundle: Memory | None = None
        self._index: Index | None = None
        self._shown: dict[str, Entries] = {}
        """The entries in each of the last answers."""
        self.switch(session)

    def prefetch(self, query: str) -> str:
        """Return what is worth knowing for this turn, within the budget; nothing where only tools recall.

        Nothing for a turn that is about nothing ("yes, do that"). At once where it was prepared and the question has
        no word that the last one had not; any other is looked up: an answer to the last one would not help it.
        """
        self._turn += 1
        words = _words(query, self._world.clock())
        if not words or not recalls(self._config, self._turn):
            return ""
        if not words <= self._prepared_for or self._prefetch.ready(self._turn) is None:
            # Behind a lookup that takes this long (the index of a large memory is being built) no turn waits again.
            idle = self._prefetch.settle(_PATIENCE / 10)
            self._prepare(words, query)
            if idle:
                self._prefetch.settle(_PATIENCE)
        return self._prefetch.ready(self._turn) or ""

    def entries_in(self, text: str) -> Entries:
        """The entries of an answer, for the record of what a session saw."""
        return self._shown.get(text, ())

    def after_turn(self, query: str) -> None:
        """A turn is over and committed: bring the index up, and have ready what the next may need."""
        if recalls(self._config):
            self._prepare(_words(query, self._world.clock()), query)

    def switch(self, session: str) -> None:
        """Another session, or a prompt that was rebuilt."""
        self._session = session
        # The host freezes its files into the prompt when a session begins: what is in them is known.
        self._block = b"\n".join(map(self._home.memory_file, NAMES.values())).decode("utf-8", "replace")
        self._prefetch.forget()
        self._prepared_for: frozenset[str] = frozenset()

    def close(self) -> None:
        self._prefetch.close()

    def _prepare(self, words: frozenset[str], query: str) -> None:
        self._prepared_for = words
        self._prefetch.after_turn(self._turn, query)

    # On the thread that prefetches

    def _look_up(self, query: str) -> str:
        from gitmem.memory.find.context import context

        if self._bundle is None:
            self._bundle = open_home(self._home, self._world)
        self._index = self._bundle.index.current()
        block = "\n".join([self._block, *self._edited_out(self._bundle)])
        found = context(self._bundle, query, session=self._session, block=block, reader=self._reader)
        last = dict(list(self._shown.items())[-3:])
        self._shown = {**last, found.lines: [(one.path, one.key) for one in found.shown]}
        return found.lines

    def _rest(self) -> None:
        if self._index is not None:
            self._index.database.close()
        if self._bundle is not None:
            self._bundle.repository.store.close()
        self._index = self._bundle = None

    def _edited_out(self, bundle: Memory) -> list[str]:
        """The entries that were taken out of the host's files and that the bundle still has: they are not recalled."""
        found: list[str] = []
        with contextlib.suppress(GitMemError):  # a file that cannot be read is reported by the mirror
            for target, name in NAMES.items():
                agreed = str(bundle.state.read_json(MIRROR, f"hermes-{target}").get("text", ""))
                now = parse(self._home.memory_file(name), name)
                found += [text for text in parse(agreed.encode(), name) if text not in now]
        return found


def _words(query: str, now: datetime) -> frozenset[str]:
    """The words that tell one question from another; none where there is nothing to look up."""
    from gitmem.memory.find.date_questions import TurnQuestion
    from gitmem.text.words import STOP, WORD, fold

    if not TurnQuestion.of(query, now=now):
        return frozenset()
    return frozenset(WORD.findall(fold(query))) - STOP
