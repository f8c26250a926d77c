"""The compression flush: before a host forgets messages, their durable facts become a commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.git.message import Message
from gitmem.memory.capture.buffer import HotMemoryBuffer, lay_events, marker
from gitmem.memory.conversation import mark
from gitmem.memory.curated.store import TARGETS, CuratedStore, Operation
from gitmem.memory.distill.facts import Distiller, Fact, handback
from gitmem.memory.distill.known import is_known, known_texts
from gitmem.memory.distill.rules import RuleDistiller
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import Admission, redacted
from gitmem.memory.gate.egress import Egress
from gitmem.memory.origin import Origin, Trigger, origin_of, source_trailer
from gitmem.notices import Notice

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.events import Event

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Compressed:
    """Result of a compression flush: the facts, those that could not be kept, and the text for the host."""

    facts: tuple[Fact, ...]
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

    def found(self, messages: Messages) -> list[Fact]:
        """Return what the distiller finds in new messages; nothing where the session is too short."""
        fresh = self._unseen(messages)
        return self._distilled(fresh) if fresh and self._is_long_enough(messages) else []

    def saw(self, messages: Messages) -> None:
        """These messages are not new any more."""
        is_long = self._is_long_enough(messages)
        self._asked |= {mark(message) for message in messages if _is_user(message)}
        if is_long:  # what was too short to look at is looked at when there is more of it
            self._seen |= {mark(message) for message in messages}

    def keep(
        self, facts: Sequence[Fact], *, kind: str = "compress", trigger: Trigger = "pre-compress"
    ) -> Compressed:
        """Everything in the buffer and these facts, as one commit."""
        origin = origin_of(self._bundle.config, self._buffer.session).because(trigger)
        kept: list[Fact] = []
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
                parts = [done.summary(), _counted(len(kept))]
                summary = ", ".join(part for part in parts if part) or "nothing new"
                told: dict[str, str | tuple[str, ...]] = {"Events": marker(self._buffer.writer, events)}
                return Message(kind, summary, told | source_trailer(sources, origin))

            published = self._bundle.commit(work, purpose=kind, origin=origin)
        told = _for_the_host(self._bundle, kept, origin)
        return Compressed(tuple(kept), tuple(refused), told, published, tuple(events))

    def finish(self, messages: Messages, *, trigger: Trigger = "session-end") -> Compressed:
        """At the end of a session: its last events, and the facts in what no compression has seen."""
        return self.compress(messages, kind="flush", trigger=trigger)

    def preview(self, messages: Messages) -> list[Fact]:
        """Return what `compress` will keep of new messages by the rules, at once: it writes nothing and waits for nobody."""
        messages = list(messages)
        if not self._is_long_enough(messages):
            return []
        origin = origin_of(self._bundle.config, self._buffer.session)
        egress, admission, kept = Egress(self._bundle), Admission(self._bundle, origin=origin), list[Fact]()
        found = [
            fact
            for fact in RuleDistiller().distil(self._unseen(messages))
            # Else laying it would hold it.
            if egress.may_be_believed(fact.text) and not admission.came(fact.text).waits
        ]
        self._lay_facts(Edits(self._bundle.tree()), found, kept, [], origin)
        return kept

    def told(self, facts: Sequence[Fact]) -> str:
        """Facts as text for the host; whoever hands it over has stored them, or noted them on disk."""
        origin = origin_of(self._bundle.config, self._buffer.session)
        return _for_the_host(self._bundle, facts, origin)

    def _distilled(self, messages: Messages) -> list[Fact]:
        try:
            return self._distiller.distil(messages)
        except Exception as error:  # noqa: BLE001 - somebody else's distiller must not cost the flush
            self._bundle.report(Notice("distiller-failed", detail=str(error)))
            return RuleDistiller().distil(messages)

    def _lay_facts(
        self, edits: Edits, facts: Sequence[Fact], kept: list[Fact], refused: list[str], origin: Origin
    ) -> dict[str, None]:
        """Put facts through the curated store and its scanner; one that is refused stops no other.

        Gives where they came from, as far as the session heard it.
        """
        sources: dict[str, None] = {}
        if not facts or self._buffer.session.user:
            return sources
        known = known_texts(self._bundle, self._buffer.session.id)
        for fact in facts:
            if fact.action == "add" and is_known(fact.text, known):
                continue
            operation = Operation(fact.action, fact.text, fact.old_text)
            try:
                laid = self._bundle.part(CuratedStore).lay(
                    edits, [operation], target=fact.target, origin=origin
                )
            except GitMemError as error:
                refused.append(f"{fact.text or fact.old_text}: {error}")
                continue
            sources |= laid.sources
            if laid.changed:
                kept.append(fact)
                known.append(fact.text)
            elif laid.held:
                refused.append(f"{fact.text}: held for a person to look at ({', '.join(laid.held)}).")
        return sources

    def _unseen(self, messages: Messages) -> list[Mapping[str, Any]]:
        return [message for message in messages if mark(message) not in self._seen]

    def _is_long_enough(self, messages: Messages) -> bool:
        """Return whether the session, with what the host has forgotten by now, has enough turns of the user.

        Never one with a user of a gateway: the stores are read by all of them, and what one says is his own.
        """
        if self._buffer.session.user:
            return False
        least = self._bundle.config.flush_min_turns
        here = [mark(message) for message in messages if _is_user(message)]
        return least > 0 and len(here) + len(self._asked.difference(here)) >= least


def make_distiller(bundle: Bundle) -> Distiller:
    """The distiller that the settings ask for: an endpoint with the rules behind it, or the rules alone."""
    config = bundle.config
    rules = RuleDistiller()
    if not config.distiller.base_url:
        return rules
    from gitmem.memory.distill.by_model import EndpointDistiller
    from gitmem.memory.endpoint import Endpoint

    settings = config.distiller
    key = bundle.world.env.get(settings.api_key_env, "") if settings.api_key_env else ""
    try:
        endpoint = Endpoint(settings.base_url, settings.model, key, timeout=settings.timeout)
    except GitMemError as error:
        bundle.report(Notice("endpoint-unusable", "distiller", str(error)))
        return rules
    return EndpointDistiller(
        endpoint, rules, entries=lambda: _known_entries(bundle), redact=redacted, report=bundle.report
    )


def _known_entries(bundle: Bundle) -> dict[str, list[str]]:
    """The entries that a model may see: those that may be in a prompt."""
    from gitmem.memory.curated.contests import uncontested
    from gitmem.safety.verdict import Verdict

    store, egress, tree = bundle.part(CuratedStore), Egress(bundle), bundle.tree()
    return {
        target: [
            entry.text
            for entry, result in egress.curated(uncontested(store.entries(target)), tree)
            if result.verdict is Verdict.ALLOW
        ]
        for target in TARGETS
    }


def _for_the_host(bundle: Bundle, facts: Sequence[Fact], origin: Origin) -> str:
    """Facts as text for the host, stored already or about to be: those that may be believed, as they may leave.

    What the user did not say himself is left to the store, which marks it: the host's summary would not.
    """
    store, egress, admission = bundle.part(CuratedStore), Egress(bundle), Admission(bundle, origin=origin)
    return handback(
        [
            replace(fact, text=egress.clean(fact.text), old_text=egress.clean(fact.old_text))
            for fact in facts
            if store.is_enabled(fact.target)
            and egress.may_be_believed(fact.text)
            and not admission.came(fact.text).marks
        ]
    )


def _counted(facts: int) -> str:
    return "" if not facts else "1 fact kept" if facts == 1 else f"{facts} facts kept"


def _is_user(message: object) -> bool:
    return isinstance(message, Mapping) and message.get("role") == "user"
