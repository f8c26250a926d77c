"""Channels: by which way a text reached a session, what is at stake in it, and whether the user confirmed it. Pure.

What the user said, what is in a file of the working directory and what a command printed here is ours. The web, mail, other
agents, unknown tools and files elsewhere are foreign: a text that may come from there is marked, and waits for a person
where money, credentials, permissions or orders are at stake. A text is foreign where it has a key of a foreign result which
the user never said, or where it was written in the turn of such a result and says what the result says rather than the user.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal, get_args

from gitmem import resources
from gitmem.safety.unicode import fold as as_seen
from gitmem.text.keys import fold, is_sure, keys_of
from gitmem.text.words import STOP

Channel = Literal["web", "mail", "file", "shell", "agent", "tool", "recall", "remote"]
CHANNELS: tuple[Channel, ...] = get_args(Channel)
Stake = Literal["order", "payee", "address", "host", "credential", "permission"]
STAKES: tuple[Stake, ...] = get_args(Stake)
HELD: frozenset[Stake] = frozenset(("payee", "credential", "permission", "order"))
"""Stakes that a person reviews first where the user confirmed nothing."""

# --- where a text came from ------------------------------------------------------------------------------

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
DECLARED = -1
"""The turn of a source that a caller named for one text: it belongs to that call alone."""
UNHEARD = "an agent that named no source"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result: its channel, its source (a URL, a file, a command, a sender), and its turn."""

    channel: Channel
    source: str
    text: str
    turn: int = 0
    recalled: bool = False
    """Whether it is in the memory already, unconfirmed: its stakes were judged when it was added."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the user, and what the assistant had shown just before it."""

    text: str
    shown: str = ""


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


def attribute(
    text: str, said: Sequence[Said], results: Sequence[ToolResult], *, turn: int = 0, here: str | None = ""
) -> Attribution:
    """Attribute a text to its source, by what its session had received up to a turn.

    `here` is the working directory; None where it is another person's.
    """
    at_stake = stakes_of(text) & HELD
    foreign = [one for one in results if not is_local(one, here)]
    words = "\n".join(one.text for one in said)
    brought = keys_of(text) - keys_of(words)
    found = [one for one in foreign if not brought.isdisjoint(keys_of(one.text))]
    found = found or [one for one in foreign if _repeats(text, one, words, turn, at_stake)]
    if not found:
        near = [one for one in results if is_local(one, here) and not brought.isdisjoint(keys_of(one.text))]
        if near:
            return Attribution(near[-1].channel, near[-1].source, local=True)
        # Of what is at stake nothing was heard: it is marked, and does not wait.
        is_unheard = bool(at_stake) and (not said or any(map(is_sure, brought)))
        return Attribution("tool", UNHEARD, confirmed=False) if is_unheard else OWN
    best = found[-1]
    others = tuple(dict.fromkeys(one.source for one in found if one.source != best.source))[-3:]
    confirmed = _is_asked_for(text, said, brought, at_stake)
    stakes = frozenset() if best.recalled else at_stake
    return Attribution(best.channel, best.source, others, confirmed, stakes=stakes)


def is_local(result: ToolResult, here: str | None = "") -> bool:
    """Return whether a result is local: output of a command or of the memory, or a file of the working directory."""
    if result.channel in ("shell", "recall"):
        return not result.recalled
    if result.channel != "file" or here is None or result.recalled or _ELSEWHERE.search(result.source):
        return False
    is_inside = bool(here) and result.source.startswith(f"{here.rstrip('/')}/")
    return is_inside or not result.source.startswith(("/", "~"))


def _repeats(text: str, result: ToolResult, said: str, turn: int, at_stake: frozenset[Stake]) -> bool:
    """Return whether a text that shares no key with a result still derives from it rather than from the user."""
    his, theirs = cover(text, said), cover(text, result.text)
    if theirs >= _MOST:
        return his < theirs
    # In the turn of a foreign text, in another language say, what is at stake must be the user's own.
    is_his = his >= _MOST or (his and his >= theirs) or at_stake <= stakes_named(said)
    return result.turn == turn and not result.recalled and not is_his


def cover(text: str, other: str) -> float:
    """Return the share of the longer words of a text that another has, each by how it begins."""
    words, there = (
        {one[:_BEGINNING] for one in _WORD.findall(fold(each)) if one not in STOP} for each in (text, other)
    )
    return len(words & there) / len(words) if words else 0.0


def _is_asked_for(
    text: str, said: Sequence[Said], brought: frozenset[str], at_stake: frozenset[Stake]
) -> bool:
    """Return whether the user asked to keep it: saw it and said so, or named what is at stake."""
    for one in said[-_RECENT:]:
        if not asks_to_keep(one.text):
            continue
        names_it = at_stake - {"order"} <= stakes_named(one.text)
        was_shown = brought <= keys_of(one.shown) and cover(text, one.shown) >= _MOST
        if was_shown and (not at_stake or names_it or len(one.shown) <= _SHORT):
            return True
        if names_it and (not at_stake or cover(text, one.text) or not brought.isdisjoint(keys_of(one.text))):
            return True
    return False


def speaks_of(text: str, said: str) -> bool:
    """Return whether the user refers to a text that an agent removes, or asks to forget something."""
    if asks_to_forget(said) or not keys_of(text).isdisjoint(keys_of(said)):
        return True
    return cover(text, said) >= _MOST


def asks_to_forget(text: str) -> bool:
    return _asked("forget").search(as_seen(text)) is not None


def asks_to_keep(text: str) -> bool:
    """Return whether the user asks to keep something, rather than not to or whether it was kept."""
    folded = as_seen(text)
    asked = _asked("keep").search(folded)
    if asked is None or _asked("asking").search(folded):
        return False
    return not _asked("not").search(folded[: asked.start()])


# --- what is at stake ------------------------------------------------------------------------------------


@cache
def _patterns() -> dict[str, dict[str, str]]:
    """The patterns of stakes.toml, each in one line and with its pieces."""
    data: dict[str, dict[str, str]] = tomllib.loads(resources.read("safety/stakes.toml").decode())
    pieces = {name: _joined(text) for name, text in data.pop("pieces").items()}
    piece = re.compile("<(" + "|".join(pieces) + ")>")
    return {
        table: {name: piece.sub(lambda match: pieces[match[1]], _joined(text)) for name, text in each.items()}
        for table, each in data.items()
    }


def _joined(pattern: str) -> str:
    return re.sub(r"\s*\n\s*", "", pattern)


@cache
def _stake(stake: Stake, *, named: bool) -> re.Pattern[str]:
    changing, naming = (_patterns()[table][stake] for table in ("changing", "named"))
    return re.compile(f"{changing}|{naming}" if named else changing, re.IGNORECASE | re.MULTILINE)


@cache
def _asked(name: str) -> re.Pattern[str]:
    return re.compile(_patterns()["asked"][name], re.IGNORECASE)


@lru_cache(maxsize=64)
def stakes_of(text: str) -> frozenset[Stake]:
    """Return the stakes of a text: what would change if it were believed."""
    folded = as_seen(text)
    return frozenset(stake for stake in STAKES if _stake(stake, named=False).search(folded))


def stakes_named(text: str) -> frozenset[Stake]:
    """Return the stakes of a request, including those only named (`the bank details`)."""
    folded = as_seen(text)
    return frozenset(stake for stake in STAKES if _stake(stake, named=True).search(folded))


def in_words(stakes: frozenset[Stake]) -> str:
    """Return the stakes as shown to a reviewer."""
    return " and ".join(words for stake, words in _patterns()["words"].items() if stake in stakes)


# --- the channel of a tool's result, or of a source that a caller names ----------------------------------

_ARGUMENTS = 20_000
_RECALLING = re.compile(r"session_search|.*(?:memory|recall|remember|history)")
_MAIL = re.compile(r".*(?:mail|inbox|imap|outlook|message_read|read_message)", re.I)
_AGENT = re.compile(r"(?:delegat|delegate_task|agent|subagent|task$|ask_|a2a|mixture_of)", re.I)
_WEB = re.compile(
    r".*(?:web|browser|browse|fetch|http|url|crawl|scrape|search_engine|x_search|rss|wiki)", re.I
)
_SHELL = re.compile(
    r"(?:terminal|bash|shell|sh|exec|run|command|process|execute_code|python|powershell)(?:_|$)", re.I
)
_FILE = re.compile(
    r".*(?:read_file|file_read|view|open_file|cat|search_files|grep|glob|pdf|document|notebook)", re.I
)
_URL = re.compile(r"https?://[^\s\"'<>|;)\]}\\]+")
_FETCHES = re.compile(
    r"(?:^|[\s;&|(`])(?:curl|wget|http|https|lynx|w3m|links|aria2c|gh|glab|hub|ssh|scp|sftp|rsync|telnet|nc|"
    r"Invoke-WebRequest|iwr|yt-dlp|npm view|pip download|git (?:clone|fetch|pull|ls-remote|remote show))(?![\w-])"
)
_PRINTS = re.compile(
    r"^\s*(?:sudo\s+)?(?:cat|less|more|head|tail|bat|type|strings|pdftotext|sed|awk|grep|rg|jq)\b"
    r"(?:\s+-[\w-]+(?:\s+\d+)?|\s+'[^']*'|\s+\"[^\"]*\")*\s+([~\w./\\][^\s|;&<>]*)"
)
_MAILBOX = re.compile(r"(?:^|[\s;&|(`])(?:mail|mutt|himalaya|notmuch|mu|neomutt|fetchmail)\b")
_SENDER = re.compile(
    r"(?im)^[\s>\"']*(?:from|sender|von|de|da|van)[\"']?\s*[:=]\s*[\"']?([^\n\"]{0,120}?)[\"',]*\s*$"
)
_SENDER_JSON = re.compile(r"\"(?:from|sender)\"\s*:\s*\"([^\"\\]{1,160})\"", re.I)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_AGENT_NAMED = re.compile(r"\b(?:sub)?agents?\b", re.I)
_SITE = re.compile(r"(?:https?|ftp|gopher|file)://|www\.|[\w-]+(?:\.[\w-]+)+/", re.I)


def source_of(name: str, arguments: object, result: str = "") -> tuple[Channel, str]:
    """By which channel a tool's result came, and the URL, file, command, sender or agent that it came from."""
    given = _given(arguments)
    is_shell, is_web = _SHELL.match(name), _WEB.match(name)
    if is_shell and (command := _first(given, "command", "cmd", "script", "code", "input")):
        return _of_command(command, result)
    if _MAIL.match(name):
        named = _first(given, "sender", "from", "mailbox", "folder", "query")
        return "mail", _sender(result) or named or name
    if _AGENT.match(name):
        return "agent", _first(given, "agent", "name", "child_session", "task", "goal") or name
    url = _first(given, "url", "urls", "link", "uri", "href", "page")
    if url.startswith(("http://", "https://", "www.")) or (url and is_web):
        return "web", url
    if is_web:
        return "web", _only_url(result) or _first(given, "query", "q") or name
    if path := _first(given, "path", "file_path", "file", "filename", "paths", "directory"):
        return "file", path
    if _FILE.match(name):
        return "file", _first(given, "pattern", "query") or name
    if _RECALLING.match(name):
        return "recall", name
    return ("shell", name) if is_shell else ("tool", url or name)


def declared(source: str) -> Channel | None:
    """The channel of a source that a caller names; None where it says nothing against the text.

    It can lower trust and never raise it: "the user" or a file is a claim that only what was heard can bear out.
    """
    source = source.strip()
    if _SITE.match(source):
        return "web"
    if _ADDRESS.search(source):
        return "mail"
    return "agent" if _AGENT_NAMED.search(source) else None


def _of_command(command: str, result: str) -> tuple[Channel, str]:
    url = _URL.search(command)
    if url or _FETCHES.search(command):
        return "web", url[0] if url else command
    if _MAILBOX.search(command):
        return "mail", _sender(result) or command
    printed = _PRINTS.match(command)
    return ("file", printed[1]) if printed else ("shell", command)


def _sender(result: str) -> str:
    found = _SENDER_JSON.search(result) or _SENDER.search(result)
    if found is None:
        return ""
    address = _ADDRESS.search(found[1])
    return address[0] if address else found[1].strip()


def _only_url(result: str) -> str:
    found = set(_URL.findall(result[:_ARGUMENTS]))
    return found.pop() if len(found) == 1 else ""


def _given(arguments: object) -> Mapping[str, Any]:
    """The arguments of a call; as JSON or as they are."""
    if isinstance(arguments, str):
        text = arguments[:_ARGUMENTS]
        try:
            arguments = json.loads(text)
        except (ValueError, RecursionError):
            found = _URL.search(text)
            return {"url": found[0]} if found else {}
    return arguments if isinstance(arguments, Mapping) else {}


def _first(given: Mapping[str, Any], *names: str) -> str:
    for name in names:
        value = given.get(name)
        if isinstance(value, list | tuple) and value:
            value = value[0]
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())
    return ""
