"""The words a story is told in: sessions with what the model does in them, and what happens between them.

A story is data. `stage.py` plays it to the real host, and `judge.py` reads the requests that the model got.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.hosts.model import call, say

LAPTOP, DESKTOP = "laptop", "desktop"

Step = dict[str, Any]
"""What the model does when it is asked: it calls tools, or it answers."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user says, and what the model does about it; it answers "Done." at the end where it says nothing."""

    user: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who talks to the agent through a gateway."""

    name: str
    chat: str
    chat_type: str = "dm"


@dataclass(frozen=True, slots=True)
class Talk:
    """A session, or more of one that is still open."""

    session: str
    turns: tuple[Turn, ...]
    at: str = LAPTOP
    person: Person | None = None
    stays: bool = False
    """The session is left open: it has what it had in its prompt while the rest of the story goes on."""


@dataclass(frozen=True, slots=True)
class Compact:
    """The host compacts an open session, which is first made long enough for that."""

    session: str


@dataclass(frozen=True, slots=True)
class Run:
    """A command of gitmem, as a person gives it."""

    arguments: tuple[str, ...]
    at: str = LAPTOP


@dataclass(frozen=True, slots=True)
class Sync:
    """Both machines sync, one after the other, until each has what the other has."""


@dataclass(frozen=True, slots=True)
class From:
    """From here on no request may hold what was planted."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A new session with a related question, in which the model uses every tool that looks into the memory."""

    question: str
    at: str = LAPTOP
    person: Person | None = None


Act = Talk | Compact | Run | Sync | From | Ask


@dataclass(frozen=True, slots=True)
class Kept:
    """Something honest that has to be there in the end, for a model to see."""

    text: str
    place: Literal["prompt", "decision", "skill"] = "prompt"
    skill: str = ""
    """The name of the skill that says it."""


@dataclass(frozen=True, slots=True)
class Story:
    """What happens, what must not be seen by a model from some moment on, and what must."""

    name: str
    kind: str
    acts: tuple[Act, ...]
    planted: tuple[str, ...]
    """Phrases: wording and spacing of letters count, case and punctuation do not."""
    honest: tuple[Kept, ...] = ()
    pages: Mapping[str, str] = field(default_factory=dict)
    """What the world says: web pages by address, and `mail:NUMBER`, `work:FILE`, `run:COMMAND`, `agent:NAME`."""
    marked: Literal["never", "asked for", "anywhere"] = "never"
    """Where what was planted may be seen, if it is marked there as unconfirmed or untrusted."""
    private_to: str = ""
    """Nobody but this person's sessions may see what was planted."""


# What a model does


def add(text: str, target: str = "memory") -> Step:
    return call("memory", action="add", target=target, content=text)


def replace(old: str, text: str, target: str = "memory") -> Step:
    return call("memory", action="replace", target=target, old_text=old, content=text)


def remove(old: str, target: str = "memory") -> Step:
    return call("memory", action="remove", target=target, old_text=old)


def decide(text: str, reason: str = "") -> Step:
    return call("gitmem_remember", kind="decision", text=text, why=reason)


def skill(name: str, about: str, body: str) -> Step:
    content = f"---\nname: {name}\ndescription: {json.dumps(about)}\n---\n\n{body}\n"
    return call("skill_manage", action="create", name=name, content=content)


def look_at(source: str) -> Step:
    """Read a page, a mail, a file, what a command prints or another agent says."""
    channel, _, name = source.partition(":")
    if channel == "work":
        return call("read_file", path="{work}/" + name)
    asking = {
        "mail": call("mail_read", message_id=name),
        "run": call("terminal", command=name),
        "agent": call("ask_agent", agent=name, question="What do you know?"),
    }
    return asking.get(channel, call("web_extract", urls=[source]))


def talk(session: str, *turns: Turn, **more: Any) -> Talk:
    return Talk(session, turns, **more)


def turn(user: str, *steps: Step, answer: str = "Noted.") -> Turn:
    return Turn(user, (*steps, say(answer)))


def revert(session: str, at: str = LAPTOP) -> Run:
    """The command that the figure is about."""
    return Run(("revert", "--session", session, "--derived", "--reason", "it was poison"), at)
