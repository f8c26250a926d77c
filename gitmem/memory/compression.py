"""The compression flush: before a host forgets messages, their durable facts become a commit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.git.message import Message
from gitmem.memory.buffer import HotMemoryBuffer, lay_events, marker, origin_of
from gitmem.memory.curated import TARGETS, Operation
from gitmem.memory.distiller import RuleDistiller
from gitmem.memory.edits import Edits
from gitmem.memory.facts import Distiller, Fact, handback
from gitmem.memory.origin import Trigger

if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.git.transaction import Published
    from gitmem.memory.bundle import Bundle

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Compressed:
    """What a compression flush kept: the facts, those that could not be kept, and the text for the host."""

    facts: tuple[Fact, ...]
    refused: tuple[str, ...]
    text: str
    published: Published | None


class Compressor:
    """Distils each message of a session at most once."""

    def __init__(self, bundle: Bundle, buffer: HotMemoryBuffer, distiller: Distiller | None = None) -> None:
        self._bundle = bundle
        self._buffer = buffer
        self._distiller = distiller or RuleDistiller()
        self._seen: set[bytes] = set()

    def compress(
        self, messages: Messages, *, kind: str = "compress", trigger: Trigger = "pre-compress"
    ) -> Compressed:
        """Everything in the buffer and every fact in new messages, as one commit.

        Sessions with few user turns are not distilled; their events are flushed all the same.
        """
        fresh = self._unseen(messages)
        facts = self._distiller.distil(fresh) if self._is_long_enough(messages) else []
        events = self._buffer.waiting()
        origin = origin_of(self._bundle, self._buffer.session).because(trigger)
        kept: list[Fact] = []
        refused: list[str] = []

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
            for fact in facts:
                try:
                    laid = self._bundle.curated.lay(
                        edits, [_operation(fact)], target=fact.target, origin=origin
                    )
                except GitMemError as error:
                    refused.append(f"{fact.text or fact.old_text}: {error}")
                    continue
                if laid.changed:
                    kept.append(fact)
            if not edits:
                return None
            edits.want_log()
            parts = [done.summary(), f"{len(kept)} facts kept" if kept else ""]
            return Message(
                kind,
                ", ".join(part for part in parts if part) or "nothing new",
                {"Events": marker(self._buffer.writer, events)},
            )

        published = self._bundle.commit(work, purpose=kind, origin=origin)
        self._buffer.forget(events)
        self._seen |= {_mark(message) for message in fresh}
        return Compressed(tuple(kept), tuple(refused), handback(kept), published)

    def _unseen(self, messages: Messages) -> list[Mapping[str, Any]]:
        return [message for message in messages if _mark(message) not in self._seen]

    def _is_long_enough(self, messages: Messages) -> bool:
        least = self._bundle.config.flush_min_turns
        turns = sum(message.get("role") == "user" for message in messages)
        return least > 0 and turns >= least


def make_distiller(
    config: Config, bundle: Bundle, lookup: Callable[[str], str], report: Callable[[str], None]
) -> Distiller:
    """The distiller that the settings ask for: an endpoint with the rules behind it, or the rules alone.

    `lookup` gives the value of an environment variable, for the endpoint's key.
    """
    rules = RuleDistiller()
    if not config.distiller.base_url:
        return rules
    from gitmem.memory.endpoint import Endpoint
    from gitmem.memory.modeldistiller import EndpointDistiller

    settings = config.distiller
    key = lookup(settings.api_key_env) if settings.api_key_env else ""
    endpoint = Endpoint(settings.base_url, settings.model, key, timeout=settings.timeout)
    return EndpointDistiller(
        endpoint,
        rules,
        entries=lambda: {
            target: [entry.text for entry in bundle.curated.entries(target)] for target in TARGETS
        },
        redact=bundle.redact,
        report=report,
    )


def _operation(fact: Fact) -> Operation:
    return Operation(fact.action, fact.text, fact.old_text)


def _mark(message: Mapping[str, Any]) -> bytes:
    """The identity of a message by what it says; what the host added for the model does not count."""
    said = json.dumps([message.get("role"), message.get("content")], default=str, ensure_ascii=True)
    return hashlib.sha256(said.encode()).digest()
