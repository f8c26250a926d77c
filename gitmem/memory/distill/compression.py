"""The compression flush: before a host forgets messages, their durable facts become a commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.git.commit_graph import first_parents
from gitmem.git.message import Message
from gitmem.memory.capture import recorder
from gitmem.memory.capture.buffer import HotMemoryBuffer, lay_events, marker
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.conversation import clean_text, mark
from gitmem.memory.curated.store import TARGETS, CuratedStore, Operation
from gitmem.memory.distill.distiller import RuleDistiller
from gitmem.memory.distill.facts import DistilledFact, Distiller, handback
from gitmem.memory.edits import Edits
from gitmem.memory.exposure import blocks_of
from gitmem.memory.gate.admission import Admission, redacted
from gitmem.memory.gate.egress import Egress
from gitmem.memory.gate.ledger import Ledger
from gitmem.memory.origin import Origin, Trigger, source_trailer
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import entry_hash
from gitmem.text.words import WORD

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.events import Event

Messages = Sequence[Mapping[str, Any]]
_FAR = 2_000
"""Commits that one session is looked back over."""
_FRAME = frozenset(("user", "s", "the", "a", "an", "is", "are", "does", "correction", "by"))
"""Words that the rules put around what was said."""


@dataclass(frozen=True, slots=True)
class Compressed:
    """Result of a compression flush: the facts, those that could not be kept, and the text for the host."""

    facts: tuple[DistilledFact, ...]
    refused: tuple[str, ...]
    text: str
    published: Published | None
    events: tuple[Event, ...] = ()


class Compressor:
    """Distils each message of a session at most once."""

    def __init__(self, bundle: Bundle, buffer: HotMemoryBuffer, distiller: Distiller | None = None) -> None:
        """Without a distiller, the one that the bundle's settings ask for."""
        self._bundle = bundle
        self._buffer = buffer
        self._distiller = distiller or bundle.part(make_distiller)
        self._seen: set[bytes] = set()
        self._asked: set[bytes] = set()  # messages of the user in earlier calls

    def compress(
        self, messages: Messages, *, kind: str = "compress", trigger: Trigger = "pre-compress"
    ) -> Compressed:
        """Everything in the buffer and every fact in new messages, as one commit.

        Sessions with few user turns are not distilled; their events are flushed all the same. This
        may wait for an endpoint: on an agent's own thread ask `preview`, and do this on a worker.
        """
        messages = list(messages)  # a host goes on writing to its list
        done = self.keep(self.found(messages), kind=kind, trigger=trigger)
        self.saw(messages)
        return done

    def found(self, messages: Messages) -> list[DistilledFact]:
        """Return what the distiller finds in new messages; nothing where the session is too short."""
        fresh = self._unseen(messages)
        return self._placed(self._distilled(fresh), fresh) if fresh and self._is_long_enough(messages) else []

    def _placed(self, facts: Iterable[DistilledFact], messages: Messages) -> list[DistilledFact]:
        """The facts, each with the turn in which the user said it."""
        asked = [message for message in messages if _is_user(message)]
        ids = [
            str(one.get("turn") or self._buffer.turns.get(entry_hash(clean_text(one)), "")) for one in asked
        ]
        return [
            replace(fact, said_in=ids[fact.turn - 1] if 0 < fact.turn <= len(ids) else "") for fact in facts
        ]

    def saw(self, messages: Messages) -> None:
        """These messages are not new any more."""
        is_long = self._is_long_enough(messages)
        self._asked |= {mark(message) for message in messages if _is_user(message)}
        if is_long:  # what was too short to look at is looked at when there is more of it
            self._seen |= {mark(message) for message in messages}

    def keep(
        self, facts: Sequence[DistilledFact], *, kind: str = "compress", trigger: Trigger = "pre-compress"
    ) -> Compressed:
        """Everything in the buffer and these facts, as one commit."""
        origin = self._buffer.session.origin(self._bundle.config).because(trigger)
        kept: list[DistilledFact] = []
        refused: list[str] = []
        with self._buffer.drained() as events:

            def work(edits: Edits) -> Message | None:
                kept.clear()
                refused.clear()
                done = lay_events(
                    self._bundle,
                    edits,
                    events,
                    writer=self._buffer.writer,
                    sessions=self._buffer.sessions,
                    origin=origin,
                )
                sources = self._lay_facts(edits, facts, kept, refused, origin)
                if not edits:
                    return None
                parts = [recorder.summary(done), _counted(len(kept))]
                summary = ", ".join(part for part in parts if part) or "nothing new"
                told: dict[str, str | tuple[str, ...]] = {"Events": marker(self._buffer.writer, events)}
                return Message(kind, summary, told | source_trailer(sources, origin))

            published = self._bundle.commit(work, purpose=kind, origin=origin)
        return Compressed(tuple(kept), tuple(refused), self.told(kept), published, tuple(events))

    def finish(self, messages: Messages, *, trigger: Trigger = "session-end") -> Compressed:
        """Flush the last events of a session, and the facts in what no compression has seen."""
        return self.compress(messages, kind="flush", trigger=trigger)

    def preview(self, messages: Messages) -> list[DistilledFact]:
        """Return what `compress` will keep of new messages by the rules, at once: it writes nothing and waits for nobody."""
        messages = list(messages)
        if not self._is_long_enough(messages):
            return []
        fresh, origin = self._unseen(messages), self._buffer.session.origin(self._bundle.config)
        egress, admission, kept = (
            Egress(self._bundle),
            Admission(self._bundle, origin=origin),
            list[DistilledFact](),
        )
        found = [
            fact
            for fact in self._placed(RuleDistiller().distil(fresh), fresh)
            # Else laying it would hold it.
            if egress.may_be_believed(fact.text) and not admission.marking(fact.text).waits
        ]
        self._lay_facts(Edits(self._bundle.tree()), found, kept, [], origin)
        return kept

    def told(self, facts: Sequence[DistilledFact]) -> str:
        """Facts as text for the host, stored already or noted on disk: those that may be believed, as they may leave.

        What the user did not say himself is left to the store, which marks it: the host's summary would not.
        """
        store, egress = self._bundle.part(CuratedStore), Egress(self._bundle)
        origin = self._buffer.session.origin(self._bundle.config)
        admission = Admission(self._bundle, origin=origin)
        return handback(
            [
                replace(fact, text=egress.clean(fact.text), old_text=egress.clean(fact.old_text))
                for fact in facts
                if store.is_enabled(fact.target)
                and egress.may_be_believed(fact.text)
                and not admission.marking(fact.text).marks
            ]
        )

    def _distilled(self, messages: Messages) -> list[DistilledFact]:
        try:
            return self._distiller.distil(messages)
        except Exception as error:  # noqa: BLE001 - somebody else's distiller must not cost the flush
            self._bundle.report(Notice("distiller-failed", detail=str(error)))
            return RuleDistiller().distil(messages)

    def _lay_facts(
        self,
        edits: Edits,
        facts: Sequence[DistilledFact],
        kept: list[DistilledFact],
        refused: list[str],
        origin: Origin,
    ) -> dict[str, None]:
        """Put facts through the curated store and its scanner; one that is refused stops no other.

        All facts of a session with one user among several are that user's: no shared file gets private talk.
        Gives where they came from, as far as the session heard it.
        """
        sources: dict[str, None] = {}
        if not facts:
            return sources
        known = [_words(text) for text in self._known(origin.user)]
        for fact in facts:
            target = "user" if origin.user else fact.target
            if fact.action == "add" and any(_words(fact.text) <= words for words in known):
                continue
            operation = Operation(fact.action, fact.text, fact.old_text)
            try:
                laid = self._bundle.part(CuratedStore).lay(
                    edits, [operation], target=target, origin=replace(origin, turn=fact.said_in)
                )
            except GitMemError as error:
                refused.append(f"{fact.text or fact.old_text}: {error}")
                continue
            sources |= laid.sources
            if laid.is_changed:
                kept.append(fact)
                known.append(_words(fact.text))
            elif laid.held:
                refused.append(f"{fact.text}: held for a person to look at ({', '.join(laid.held)}).")
        return sources

    def _known(self, user: str) -> Iterator[str]:
        """Yield what the stores say, what left them in this session, and what waits for a person.

        The words that these were taken from may still be in the conversation.
        """
        read: set[tuple[str, str]] = set()
        own = layout.user_memory(user) if user else ""
        for tree in _trees_since(self._bundle, self._buffer.session.id):
            for path, found in tree.files("memories"):
                if (path, found.oid) not in read and (path == own or not path.startswith(layout.USERS)):
                    read.add((path, found.oid))
                    yield from (
                        one.text for one in CuratedFile.parse_leniently(tree.read_entry(found), path).entries
                    )
        for held in self._bundle.part(Ledger).held():
            if held.destination.get("kind") == "entry":
                yield held.text

    def _unseen(self, messages: Messages) -> list[Mapping[str, Any]]:
        return [message for message in messages if mark(message) not in self._seen]

    def _is_long_enough(self, messages: Messages) -> bool:
        """Return whether the session, with what the host has forgotten by now, has enough turns of the user."""
        least = self._bundle.config.flush_min_turns
        here = [mark(message) for message in messages if _is_user(message)]
        return least > 0 and len(here) + len(self._asked.difference(here)) >= least


def make_distiller(bundle: Bundle) -> Distiller:
    """The distiller that the settings ask for: an endpoint with the rules behind it, or the rules alone."""
    from gitmem.memory.endpoint import endpoint_for

    endpoint = endpoint_for(bundle, "distiller", "distiller")
    if endpoint is None:
        return RuleDistiller()
    from gitmem.memory.distill.by_model import EndpointDistiller

    return EndpointDistiller(
        endpoint, entries=lambda: _known_entries(bundle), redact=redacted, report=bundle.report
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold())) - _FRAME


def _trees_since(bundle: Bundle, session: str) -> Iterator[Tree]:
    """Yield the state now, and those back to the one that the session's first prompt was made from."""
    state = bundle.part(Sessions).find(session)
    first = blocks_of(state.concept)[:1] if state is not None else []
    for commit in islice(first_parents(bundle.repository, bundle.tip), _FAR if first else 1):
        yield bundle.repository.tree(commit.oid)
        if commit.oid in first:
            return


def _known_entries(bundle: Bundle) -> dict[str, list[str]]:
    """The entries that a model may see: those that may be in a prompt."""
    from gitmem.memory.curated.prompt_block import for_agents

    return {target: [entry.text for entry in for_agents(bundle, target)] for target in TARGETS}


def _counted(facts: int) -> str:
    return "" if not facts else "1 fact kept" if facts == 1 else f"{facts} facts kept"


def _is_user(message: object) -> bool:
    return isinstance(message, Mapping) and message.get("role") == "user"
