"""Channels: where a text came from that a session writes, by what the session heard. Pure.

What the user said, what is in a file of the working directory and what a command printed here is ours. The web, mail, other
agents, unknown tools and files elsewhere are foreign: a text that may come from there is marked, and waits for a person
where money, credentials, permissions or orders are at stake. A text is foreign where it has a key of a foreign result which
the user never said, or where it was written in the turn of such a result and says what the result says rather than the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gitmem.safety import _lexicon as lexicon
from gitmem.safety.heard import Channel, Heard, Result, Said
from gitmem.safety.stakes import Stake, stakes_named, stakes_of
from gitmem.text.keys import fold, keys_of

HELD: frozenset[Stake] = frozenset(("payee", "credential", "permission", "order"))
"""What a person looks at first where nobody confirmed it."""
_ELSEWHERE = re.compile(
    r"(?:^|/)(?:\.\.|downloads|tmp|temp|node_modules|vendor|third_party|site-packages|attachments|inbox)(?:/|$)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{4,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")
_BEGINNING = 5
"""Letters by which two forms of a word are one."""
_MOST = 0.5
"""The share of a text's words from which another text says it."""
_RECENT = 3
"""Messages of the user in which a request to keep something counts."""
_SHORT = 400
"""Characters of what was shown to the user that he can be taken to have read, where something is at stake."""
_KEEP, _NOT, _ASKING = (re.compile(one, re.IGNORECASE) for one in (lexicon.KEEP, lexicon.NOT, lexicon.ASKING))


@dataclass(frozen=True, slots=True)
class Attribution:
    """Origin of a text. Without a channel it is the user's or the agent's own."""

    channel: Channel | None = None
    source: str = ""
    others: tuple[str, ...] = ()
    """Further sources that have it too."""
    confirmed: bool = True
    local: bool = False
    """Whether it is in a file or an output of this machine."""
    stakes: frozenset[Stake] = frozenset()


OWN = Attribution()
UNHEARD = "an agent that named no source"
_UNHEARD = Attribution("tool", UNHEARD, confirmed=False)
"""Of a session of which nothing was heard, not even the user: what is at stake is marked, and nothing waits."""


def attribute(
    text: str, heard: Heard, beside: Iterable[Result] = (), *, here: str | None = ""
) -> Attribution:
    """Say where a text came from; `beside` is what else it may repeat.

    `here` is the working directory; None where it is another person's.
    """
    results = [*heard.results, *beside]
    if not heard and not results:
        return _UNHEARD if stakes_of(text) & HELD else OWN
    foreign = [one for one in results if not is_local(one, here)]
    said = "\n".join(one.text for one in heard.said)
    brought = keys_of(text) - keys_of(said)
    at_stake = stakes_of(text) & HELD
    came = [one for one in foreign if not brought.isdisjoint(keys_of(one.text))]
    came = came or [one for one in foreign if _repeats(text, one, said, heard.turn, at_stake)]
    if not came:
        near = [one for one in results if is_local(one, here) and not brought.isdisjoint(keys_of(one.text))]
        return Attribution(near[-1].channel, near[-1].source, local=True) if near else OWN
    best = came[-1]
    others = tuple(dict.fromkeys(one.source for one in came if one.source != best.source))[-3:]
    return Attribution(
        best.channel,
        best.source,
        others,
        _is_asked_for(text, heard.said, brought, at_stake),
        False,
        frozenset() if best.recalled else at_stake,
    )


def is_local(result: Result, here: str | None = "") -> bool:
    """Say whether a result is of this machine: a command's output, the memory's, or a file of the working directory."""
    if result.channel in ("shell", "recall"):
        return not result.recalled
    if result.channel != "file" or here is None or result.recalled or _ELSEWHERE.search(result.source):
        return False
    is_inside = bool(here) and result.source.startswith(f"{here.rstrip('/')}/")
    return is_inside or not result.source.startswith(("/", "~"))


def _repeats(text: str, result: Result, said: str, turn: int, at_stake: frozenset[Stake]) -> bool:
    """Say whether a text without a key of a result is that result's all the same, rather than the user's."""
    his, theirs = cover(text, said), cover(text, result.text)
    if theirs >= _MOST:
        return his < theirs
    # In the turn of a foreign text, in another language say, what is at stake must be the user's own.
    is_his = his >= _MOST or (his and his >= theirs) or at_stake <= stakes_named(said)
    return result.turn == turn and not is_his


def cover(text: str, other: str) -> float:
    """Return the share of the longer words of a text that another has, each by how it begins."""
    words, there = ({one[:_BEGINNING] for one in _WORD.findall(fold(each))} for each in (text, other))
    return len(words & there) / len(words) if words else 0.0


def _is_asked_for(
    text: str, said: Sequence[Said], brought: frozenset[str], at_stake: frozenset[Stake]
) -> bool:
    """Say whether the user asked to keep it: he saw it and said so, or named what is at stake."""
    for one in said[-_RECENT:]:
        asked = _KEEP.search(one.text)
        if asked is None or _NOT.search(one.text[: asked.start()]) or _ASKING.search(one.text):
            continue
        names_it = at_stake - {"order"} <= stakes_named(one.text)
        was_shown = brought <= keys_of(one.shown) and cover(text, one.shown) >= _MOST
        if was_shown and (not at_stake or names_it or len(one.shown) <= _SHORT):
            return True
        if names_it and (not at_stake or cover(text, one.text) or not brought.isdisjoint(keys_of(one.text))):
            return True
    return False
