"""Prompts: texts that a client puts before its model. All of it passes the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gitmem.hosts.brief import brief
from gitmem.memory import review as waiting
from gitmem.memory.curated.prompt_block import for_agents
from gitmem.memory.curated.store import TARGETS
from gitmem.memory.gate.egress import Egress
from gitmem.memory.gate.marks import is_unconfirmed
from gitmem.safety.fence import fence

if TYPE_CHECKING:
    from gitmem.hosts.mcp.connection import Connection

_BLOCK = 4_000
"""Characters of the facts in the instructions."""
_CLAIM = 2_000
_PROMPTS = {
    "brief": "Tell me in a few sentences what changed in your memory since you were last here.\n\n{changes}",
    "why": "Why do you believe this: {claim}\n\nFind where it came from with history (by the ids below) and say when it "
    "was written, in which session, by whom and why; say so if nothing supports it.\n\n{hits}",
    "handoff": "This work goes on in another session. Remember what it needs: each decision with its rationale (kind "
    "decision), each lasting fact (kind fact), what I prefer (kind preference). No progress notes. Then tell me what you "
    "kept, with the ids.\n\nWhat is remembered already:\n{stores}",
    "tidy": "Look at what is remembered below. Propose which entries to merge, shorten, correct or remove, each with its "
    "id and the new wording, and wait for my word. What I agree to, change with revise, with why.\n\n{stores}",
    "review": "{pending}\n\nNo tool of yours can accept or release any of it. Tell me how much waits and why things wait "
    "in general, and that `gitmem review` in a terminal shows each one and asks me.",
}


def prompt(connection: Connection, name: str, arguments: Mapping[str, str]) -> str:
    """The text of a prompt."""
    claim = str(arguments.get("claim", "")).strip()[:_CLAIM]
    parts: dict[str, Callable[[], str]] = {
        "changes": lambda: fence(_changes(connection)),
        "claim": lambda: claim,
        "hits": lambda: fence(connection.call("search", {"query": claim, "limit": 5}).text),
        "stores": lambda: fence(_stores(connection)),
        "pending": lambda: _pending(connection),
    }
    text = _PROMPTS[name]
    return text.format(**{part: make() for part, make in parts.items() if f"{{{part}}}" in text})


def block(connection: Connection) -> str:
    """The facts for every prompt, as the instructions have them: only what is confirmed, as data."""
    memory = connection.memory
    shown = [
        f"- {' '.join(entry.text.split())}"
        for target in TARGETS
        for entry in for_agents(memory, target)
        if not is_unconfirmed(entry)
    ]
    text = "\n".join(shown)
    if not text or not Egress(memory).is_harmless(
        text
    ):  # what is harmless line by line may not be so together
        return ""
    connection.session.prompt_block()  # notes what this session had before it
    return fence(text[: text.rfind("\n", 0, _BLOCK)] if len(text) > _BLOCK else text)


def _changes(connection: Connection) -> str:
    """The changes by others, in days and counts, then what was learned since this client was last here."""
    last_seen = connection.last_seen
    others = brief(connection.memory, last_seen) or ["Nothing that others did is new to you."]
    learned = connection.call("history", {"since": last_seen, "limit": 10}).text
    when = "since you were last here" if last_seen else "so far"
    return "\n".join([*others, "", f"Learned {when}:", learned])


def _stores(connection: Connection) -> str:
    texts = [connection.call("fetch", {"id": store, "level": "full"}).text for store in ("MEMORY", "USER")]
    return "\n\n".join(texts)


def _pending(connection: Connection) -> str:
    """Return how much waits, and no word of it: it waits because no agent may have it."""
    found = waiting.in_words(waiting.waiting(connection.memory))
    return f"{found} The user decides with `gitmem review`." if found else "Nothing waits for a person."
