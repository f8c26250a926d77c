"""Evidence of a session: the user's own words, results of tools with their sources, and what was shown in between.

It is kept while a session runs, and made again from a conversation or from recorded events. It is bounded: of a long
session the newest counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

Channel = Literal["web", "mail", "file", "shell", "agent", "tool", "recall", "remote"]
CHANNELS: tuple[Channel, ...] = get_args(Channel)

_RESULT = 60_000
_RESULTS = 600_000
_SAID = 100_000
_SOURCE = 300
_ARGUMENTS = 20_000
RELEASED = "released by "
"""How the source of a change begins that a person let in."""


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result: its channel, its source (a URL, a file, a command, a sender), and its turn."""

    channel: Channel
    source: str
    text: str
    turn: int = 0
    recalled: bool = False
    """Whether it is in the memory already, unconfirmed: what was at stake was looked at when it came."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the user, and what the assistant had shown just before it."""

    text: str
    shown: str = ""
    turn: int = 0


_Kept = TypeVar("_Kept", Result, Said)


class Heard:
    """Evidence of one session, the oldest first. Beyond a size the oldest is forgotten.

    One thread adds to it while another looks: both lists are replaced, never changed.
    """

    def __init__(self) -> None:
        self.said: tuple[Said, ...] = ()
        self.results: tuple[Result, ...] = ()
        self.turn = 0
        self._shown = ""
        self._page = ""

    def __bool__(self) -> bool:
        return bool(self.said or self.results)

    def user(self, text: str) -> None:
        """The user says something: a turn begins. Told again, before anybody answered, it is the same turn."""
        text = _bounded(text, _SAID)
        if not text or (self.said and self.said[-1].text == text and not self._shown):
            return
        self.turn += 1
        self._keep(text)
        self._shown = ""

    def assistant(self, text: str) -> None:
        """The assistant shows something to the user."""
        self._shown = _bounded(text, _SAID) or self._shown

    def tool(self, name: str, arguments: object, result: str) -> None:
        """A tool returned something."""
        if _ECHO.match(name) or not result.strip():
            return
        if name == "clarify":  # the user's answer to a question
            self._keep(_bounded(result, _SAID))
            return
        channel, source = source_of(name, _given(arguments), result)
        if channel == "web" and source.startswith(("http://", "https://")):
            self._page = source
        elif name.startswith("browser_") and self._page:
            source = self._page
        self.result(channel, source, result)

    def result(self, channel: Channel, source: str, text: str) -> None:
        """Something came in by a channel; the same again is not kept twice."""
        source = " ".join(source.split())[:_SOURCE]
        if source.startswith(RELEASED):  # whoever names a command so must not pass for a person
            source = f"{channel}: {source}"
        came = Result(channel, source, _bounded(text, _RESULT), self.turn)
        if any(came.text == one.text and came.source == one.source for one in self.results):
            return
        self.results = _newest((*self.results, came), _RESULTS)

    def _keep(self, text: str) -> None:
        self.said = _newest((*self.said, Said(text, self._shown, self.turn)), 4 * _SAID)


def _newest(found: tuple[_Kept, ...], limit: int) -> tuple[_Kept, ...]:
    """The last ones that fit, at least one."""
    used = 0
    for number, one in enumerate(reversed(found)):
        used += len(one.text)
        if used > limit and number:
            return found[-number:]
    return found


def _bounded(text: str, limit: int) -> str:
    """Beginning and end of a text that is too long."""
    return text if len(text) <= limit else f"{text[: limit * 2 // 3]}\n{text[-limit // 3 :]}"


# --- where a tool's result comes from --------------------------------------------------------------------

# What these answer is the memory itself, or nothing that anybody said.
_ECHO = re.compile(r"(?:memory|todo|skill_manage|skills?_list|skill_view|gitmem_\w+|cronjob|kanban_\w+)$")
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


def source_of(name: str, given: Mapping[str, object], result: str = "") -> tuple[Channel, str]:
    """By which channel a tool's result came, and the URL, file, command, sender or agent that it came from."""
    command = _first(given, "command", "cmd", "script", "code", "input") if _SHELL.match(name) else ""
    if command:
        return _of_command(command, result)
    if _MAIL.match(name):
        return "mail", _sender(result) or _first(
            given, "sender", "from", "mailbox", "folder", "query"
        ) or name
    if _AGENT.match(name):
        return "agent", _first(given, "agent", "name", "child_session", "task", "goal") or name
    url = _first(given, "url", "urls", "link", "uri", "href", "page")
    if url.startswith(("http://", "https://", "www.")) or (url and _WEB.match(name)):
        return "web", url
    path = _first(given, "path", "file_path", "file", "filename", "paths", "directory")
    if path and not _WEB.match(name):
        return "file", path
    if _WEB.match(name):
        return "web", _only_url(result) or _first(given, "query", "q") or name
    if _FILE.match(name):
        return "file", path or _first(given, "pattern", "query") or name
    if _RECALLING.match(name):
        return "recall", name
    if _SHELL.match(name):
        return "shell", name
    return "tool", url or name


_AGENT_NAMED = re.compile(r"\b(?:sub)?agents?\b", re.I)
_SITE = re.compile(r"(?:https?|ftp|gopher|file)://|www\.|[\w-]+(?:\.[\w-]+)+/", re.I)


def declared(source: str) -> Channel | None:
    """The channel of a source that a caller names; None where it says nothing against the text.

    It can lower trust and never raise it: "the user" or a file is a claim that only what was heard can bear out.
    """
    source = source.strip()
    if source.startswith(RELEASED):
        return None
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
    found = dict.fromkeys(_URL.findall(result[:_ARGUMENTS]))
    return next(iter(found)) if len(found) == 1 else ""


def _given(arguments: object) -> Mapping[str, object]:
    """The arguments of a call; as JSON or as they are."""
    if isinstance(arguments, str):
        text = arguments[:_ARGUMENTS]
        try:
            arguments = json.loads(text)
        except (ValueError, RecursionError):
            found = _URL.search(text)
            return {"url": found[0]} if found else {}
    return arguments if isinstance(arguments, Mapping) else {}


def _first(given: Mapping[str, object], *names: str) -> str:
    for name in names:
        value = given.get(name)
        if isinstance(value, list | tuple) and value:
            value = value[0]
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())
    return ""
