"""Admission: the one way into the memory. Every text passes it: redaction, the scanner, what was retracted, and
whether it is the user's own or came out of a tool.

What becomes of a text is decided by the `Policy` of the place it is meant for. Nobody outside this package asks the
scanner, the redactor or the retractions; `lint-imports` checks it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from threading import Event
from typing import TYPE_CHECKING, Literal

from gitmem.errors import BlockedContent
from gitmem.memory.gate.scan import Gate

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Files, ListedFiles, WritableFiles
    from gitmem.memory.origin import Origin
    from gitmem.memory.retraction import State
    from gitmem.okf.entries import Entry, EntryKey
    from gitmem.okf.files import EntryFile
    from gitmem.safety.channels import Attribution
    from gitmem.safety.secrets import Secret
    from gitmem.safety.verdict import Result, Scope

# The scanner and YAML take a while to import: each is imported where it is needed.

_DESCRIPTION = re.compile(r"^description:\s*(\S.*)$", re.MULTILINE)
_FRONT = 4_000
_PARAGRAPH = re.compile(r"\n\s*\n")
_PARAGRAPHS = 60
UNCONFIRMED = "unconfirmed"
"""What marks an entry that came by a channel and that nobody confirmed; `source` beside it says from where."""


# --- what becomes of a text ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Policy:
    """Policy for texts of one kind of place."""

    scope: Scope
    """How strictly the scanner reads it."""
    on_credential: Literal["redact", "refuse", "hold", "report"]
    on_hold: Literal["quarantine", "let in"]
    on_block: Literal["quarantine", "let in", "refuse"]


HELD_BACK = "is held back by the scanner"

ENTRY = Policy("memory", on_credential="redact", on_hold="quarantine", on_block="refuse")
"""An entry of the curated store that an agent or a person adds: by a command, a tool, a contest, a profile."""
FOUND_ENTRY = Policy("memory", on_credential="redact", on_hold="quarantine", on_block="quarantine")
"""An entry found in a file, a hand edit or the host's own: nobody is there to be refused."""
EVENT = Policy("event", on_credential="redact", on_hold="quarantine", on_block="quarantine")
"""An event of a session; a stub takes the place of one that is held."""
TALK = Policy("event", on_credential="redact", on_hold="let in", on_block="quarantine")
"""A turn, what the user or the assistant said: one that the scanner only doubts is recorded, and the way out marks it."""
NOTE = Policy("event", on_credential="redact", on_hold="let in", on_block="refuse")
"""A title, the step of a plan, the note of a snapshot: short words about the memory."""
TRAILER = Policy("event", on_credential="redact", on_hold="let in", on_block="let in")
"""Words that come along: reason and source of a change, what a host says of a session or a skill. No commit fails
for them, and the way out is guarded."""
SKILL = Policy("skill", on_credential="hold", on_hold="quarantine", on_block="quarantine")
"""A file of a skill: a script with a redacted line is a broken script."""


def hand_file(path: str) -> Policy:
    """A whole file that a person edited."""
    return Policy(scope_of(path), on_credential="refuse", on_hold="quarantine", on_block="quarantine")


def plain_git(path: str) -> Policy:
    """A file that a person commits or pushes with plain git: a hook can refuse it, and nothing else."""
    return Policy(scope_of(path), on_credential="refuse", on_hold="let in", on_block="refuse")


@lru_cache(maxsize=256)
def incoming(path: str) -> Policy:
    """An entry that another machine sent; what is only doubtful enters, and the way out hides it here."""
    return Policy(scope_of(path), on_credential="report", on_hold="let in", on_block="quarantine")


def scope_of(path: str) -> Scope:
    """Return how strictly a file is read: what enters the prompt most, what only records least."""
    if path.startswith("memories/"):
        return "memory"
    return "skill" if path.startswith("skills/") else "event"


_FOLLOWS = "follows from something that was taken back, which its session still had before it"


# --- the answers -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Admitted:
    """The text as it may be stored, what marks it there, and where it came from as far as that is known."""

    text: str
    marks: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Came:
    """Attribution of a text: its mark in the tree, its sources, and why it waits for a person where it does."""

    marks: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    waits: str = ""

    def instead_of(self, entry: Entry | None) -> Came:
        """The same for a text that takes the place of an entry: what was confirmed stays until a person has looked.

        What an agent saw of the machine itself may correct what was known of it.
        """
        if entry is None or self.marks.get(UNCONFIRMED, "shell") == "shell" or UNCONFIRMED in entry.extra:
            return self
        why = f"came from {self.sources[0]}, and would take the place of what was confirmed"
        return self if self.waits else replace(self, waits=why)

    def judged(self, result: Result, length: int) -> Result:
        """The verdict on the text: held at least where it waits, and it says why."""
        return _held_for(UNCONFIRMED, "channel", self.waits, result, length) if self.waits else result


@dataclass(frozen=True, slots=True)
class Held:
    """The text went to quarantine under this id, for a person to look at."""

    id: str
    result: Result


# --- the way in ------------------------------------------------------------------------------------------


class Admission:
    """The way into one bundle, for one change.

    `files` is the tree that is being changed, whose retractions count. `by_person` says that a person asks: then what
    was retracted may come back.
    """

    def __init__(
        self,
        bundle: Bundle,
        files: WritableFiles | None = None,
        *,
        origin: Origin | None = None,
        by_person: bool = False,
    ) -> None:
        self._bundle = bundle
        self._files = files
        self._origin = origin
        self._by_person = by_person

    def entry(
        self, text: str, path: str, policy: Policy = ENTRY, *, replaces: Entry | None = None
    ) -> Admitted | Held:
        """An entry of the § file at `path`, in the place of another or beside it.

        Raises where it cannot be an entry, or is blocked and refused.
        """
        from gitmem.memory.retraction import is_retracted
        from gitmem.okf.curated import check_text
        from gitmem.okf.entries import Entry, section_key

        text = _cleaned(check_text(text), policy)
        result = self.judge(text, policy)
        key = section_key(text)
        if self._by_person:
            self._accept_here(key)
        if self._files is not None and is_retracted(self._files, key):
            # What a person adds by name counts as released; a block stands all the same.
            if self._by_person and not _is_blocked(result):
                self.retract(Entry(key, text), path, state="released")
            else:
                result = retracted_result(result, len(text))
        elif not self._by_person:
            result = self.judge_origin(text, result)
        came = self.came(text).instead_of(replaces)
        where = {"kind": "entry", "path": path}
        answer = self._settled(text, came.judged(result, len(text)), policy, where)
        if isinstance(answer, Admitted):
            return replace(answer, marks=came.marks, sources=came.sources)
        if came.waits and self._files is not None:
            # So that it leaves the host's file too, and does not come back by itself.
            self.retract(Entry(key, text), path, state="held")
        return answer

    def _accept_here(self, key: EntryKey) -> None:
        """A person here wants it: that others brought it again is settled with that."""
        from gitmem.memory.gate.foreign import Foreign

        foreign = Foreign(self._bundle)
        if foreign.waits(key.id):
            foreign.decide(key.id, accepted=True)

    def note(self, text: str, policy: Policy = NOTE) -> str:
        """Short words about the memory as they may be stored; raises where they are blocked and refused."""
        text = _cleaned(text, policy)
        if policy.on_block == "refuse" and text:
            result = self.judge(text, policy)
            if _is_blocked(result):
                raise BlockedContent(result)
        return text

    def file(self, path: str, data: bytes, before: bytes) -> Admitted | Held:
        """A whole file that a person edited; raises where it holds a secret that was not there before."""
        policy = hand_file(path)
        text = data.decode("utf-8", "replace")
        for secret in _refused_secrets(text, policy, before):
            raise _secret_in_file(path, text, secret)
        return self._settled(text, self.judge(text, policy, path), policy, {"kind": "file", "path": path})

    def file_refusal(self, path: str, data: bytes, before: bytes) -> str:
        """Why `file` would keep it out; empty where it lets it in. Nothing is held."""
        from gitmem.safety.verdict import Verdict

        policy, text = hand_file(path), data.decode("utf-8", "replace")
        for secret in _refused_secrets(text, policy, before):
            return str(_secret_in_file(path, text, secret))
        result = self.judge(text, policy, path)
        return "" if result.verdict is Verdict.ALLOW else f"{path} {HELD_BACK}: {result.explain()}."

    def skill(self, text: str, path: str = "") -> Result:
        """Return what is said of a file of a skill. Its description is in every prompt, so it may not come from anywhere;
        that it gives orders is a skill's nature."""
        result = self.judge(text, SKILL, path)
        found = _DESCRIPTION.search(text[:_FRONT]) if text.startswith("---") else None
        came = self._attributed(found[1]) if found is not None else None
        if came is None or came.channel is None or came.confirmed or not came.stakes - {"order"}:
            return result
        return self.came(found[1]).judged(result, len(text)) if found is not None else result

    def skill_marks(self, text: str) -> Mapping[str, str]:
        """Return what marks a skill in which something came out of a tool and nobody asked for it.

        What the agent saw of the machine itself is what skills are made of.
        """
        for part in _PARAGRAPH.split(text)[:_PARAGRAPHS]:
            marks = self.came(part).marks if part.strip() else {}
            if marks.get(UNCONFIRMED, "shell") != "shell":
                return marks
        return {}

    def refusals(self, text: str, policy: Policy, before: bytes, path: str = "") -> list[str]:
        """Why a text of a file may not enter, for a hook to say; `before` is the file as it was."""
        found = [
            f"it holds a secret ({secret.kind})" for secret in _refused_secrets(text, policy, before)[:1]
        ]
        result = self.judge(text, policy, path)
        if _is_blocked(result) and policy.on_block == "refuse":
            found.append(f"the scanner blocks it: {result.explain()}")
        return found

    def _settled(
        self, text: str, result: Result, policy: Policy, where: Mapping[str, str]
    ) -> Admitted | Held:
        from gitmem.safety.verdict import Verdict

        if result.verdict is Verdict.ALLOW:
            return Admitted(text)
        fate = policy.on_block if result.verdict is Verdict.BLOCK else policy.on_hold
        if fate == "refuse":
            raise BlockedContent(result)
        return Admitted(text) if fate == "let in" else Held(self.hold(text, result, where), result)

    def came(self, text: str, *, may_wait: bool = True) -> Came:
        """Return where a text that would be believed came from, by what its session heard.

        What was merely said is recorded: it is marked and never waits.
        """
        found = self._attributed(text)
        sources = tuple(redacted(source) for source in (found.source, *found.others) if source)
        if self._bundle.config.transcripts == "off":  # a URL or a command is what a tool was asked
            sources = (found.channel,) if found.channel else ()
        if found.channel is None:
            return Came(sources=sources)
        trust = self._bundle.config[f"trust.{found.channel}"]
        if (found.confirmed and not (found.local and trust == "hold")) or trust == "follow":
            return Came(sources=sources)
        marks = {UNCONFIRMED: found.channel, "source": sources[0]}
        waits = may_wait and (trust == "hold" or bool(found.stakes))
        return Came(marks, sources, _why_unconfirmed(found, sources[0]) if waits else "")

    def believed(self, text: str) -> Came:
        """The same for words that cannot wait in quarantine, a plan's: raises where a person must look first."""
        came = self.came(text)
        if came.waits:
            from gitmem.safety.verdict import Result, Verdict

            raise BlockedContent(came.judged(Result(Verdict.ALLOW), len(text)))
        return came

    def _attributed(self, text: str) -> Attribution:
        from gitmem.memory.gate.hearing import Hearing, own_directory
        from gitmem.safety.channels import OWN, attribute
        from gitmem.safety.heard import Result, declared

        if self._by_person or self._origin is None:
            return OWN
        session, hearing = self._origin.session, self._bundle.part(Hearing)
        beside = [one for one in hearing.unconfirmed(self._files) if one.text != text]
        if channel := declared(self._origin.source):
            beside.append(Result(channel, self._origin.source, text))
            hearing.declared(session, self._origin.source, text)
        heard = hearing.of(session) if session else hearing.all()
        if not heard and not beside and not hearing.could_hear(session):  # a command: no user could be heard
            return OWN
        return attribute(text, heard, beside, here=own_directory(self._bundle.world.cwd))

    # For those who decide about many texts, or about files of their own

    def judge(self, text: str, policy: Policy, path: str = "") -> Result:
        """Return what the scanner says of a text, and the secrets in it where the policy holds those; nothing is done.

        The path of a script says which language it is in.
        """
        from gitmem.safety.verdict import Finding, Result, Verdict

        if policy.on_credential == "hold" and secrets_in(text):
            finding = Finding("secret", "secret", "holds a secret", (0, len(text)), Verdict.HOLD)
            return Result(Verdict.HOLD, (finding,))
        return self._bundle.part(Gate).judge(text, policy.scope, path)

    def judge_origin(self, text: str, result: Result, *, session: str = "") -> Result:
        """The verdict on a text that a session writes: held where it follows from what was taken back.

        A session that runs while something is taken back has it before it still.
        """
        from gitmem.memory.exposure import Exposure
        from gitmem.memory.retraction import holds

        session = session or (self._origin.session if self._origin else "")
        exposure = self._bundle.part(Exposure)
        before = exposure.known(session) if session else []
        if not before or not self._has_retractions:
            return result
        files = self._files or self._bundle.tree()
        gone = {known for known in before if holds(files, known.retraction)}
        parents = exposure.parents(session, text) if gone else []
        if any(known in gone for known, _ in parents):
            return retracted_result(result, len(text), _FOLLOWS)
        return result

    @cached_property
    def _has_retractions(self) -> bool:
        return self._bundle.tree().entry("retractions") is not None

    def judge_all(self, entries: Iterable[Entry], policy: Policy) -> list[Result]:
        """The same for many entries; this bundle's own rules are looked for once."""
        return self._bundle.part(Gate).judge_entries(entries, policy.scope)

    def hold(self, text: str, result: Result, where: Mapping[str, str]) -> str:
        """Put a text into quarantine; gives its id there. `where` says where it would have gone."""
        return self.hold_all([(text, result, where)])[0]

    def hold_all(self, texts: Iterable[tuple[str, Result, Mapping[str, str]]]) -> list[str]:
        """The same for several, which cost what one does."""
        from gitmem.memory.gate.quarantine import Quarantine

        origin = self._origin or self._bundle.origin()
        return self._bundle.part(Quarantine).hold_all(texts, origin=origin)

    def hold_retracted(self, entry: Entry, path: str, why: str) -> str:
        """Keep the text of an entry that somebody else retracted; gives its id in quarantine."""
        from gitmem.safety.verdict import Result, Verdict

        result = retracted_result(Result(Verdict.ALLOW), len(entry.text), why)
        return self.hold(entry.text, result, {"kind": "entry", "path": path})

    def retract(self, entry: Entry, path: str, *, state: State) -> None:
        """Say in the tree that an entry must not come back, or (`released`) that it may."""
        from gitmem.memory.retraction import retract

        assert self._files is not None
        origin = self._origin or self._bundle.origin()
        retract(self._files, entry, path, state=state, at=self._bundle.now(), origin=origin)

    def release_retraction(self, where: str) -> None:
        """Say of the retraction at a path that it holds no more: where it was taken back, others still have it."""
        from gitmem.memory.retraction import set_state

        assert self._files is not None
        origin = self._origin or self._bundle.origin()
        set_state(self._files, where, state="released", at=self._bundle.now(), origin=origin)


# --- without a bundle ------------------------------------------------------------------------------------


def redacted(text: str) -> str:
    """Text without secrets: what is journaled, committed or sent is never the secret itself."""
    from gitmem.safety.secrets import redact

    return redact(text, ibans=_IBANS.is_set())


_IBANS = Event()


def redact_ibans() -> None:
    """Redact numbers of bank accounts too, from now on and in all that this process writes.

    A text has one redacted form, by which it is known again on every side, so the process has one redactor: once a
    memory that it opens asks for this, it holds for all.
    """
    if not _IBANS.is_set():
        _IBANS.set()
        redacted_words.cache_clear()
        redacted_id.cache_clear()


@lru_cache(maxsize=4096)
def redacted_words(text: str) -> str:
    """As `redacted`, for short words that come again with every commit: a model, a title, a subject."""
    return redacted(text)


@lru_cache(maxsize=4096)
def redacted_id(text: str) -> str:
    """A name that something is found by, without secrets: two that differ stay apart, and the same is the same."""
    if redacted(text) == text:
        return text
    from hashlib import blake2b

    return f"redacted-{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def secrets_in(text: str) -> list[Secret]:
    """The secrets in a text, in the order they stand there."""
    from gitmem.safety.secrets import find

    return find(text)


def judge_incoming(path: str, entry: Entry) -> tuple[bool, Result, list[Secret]]:
    """Return whether an entry that another machine sent must be held back; the verdict; the secrets to report.

    The shipped rules alone, without the statistical stage: every machine must come to the same verdict.
    """
    from operator import attrgetter

    from gitmem.okf.events import texts_of
    from gitmem.safety.scanner import Scanner
    from gitmem.safety.verdict import Result, Verdict

    policy = incoming(path)
    scanner = Scanner.shipped()
    judged = [scanner.scan(text, policy.scope, statistics=False, path=path) for text in texts_of(entry)]
    result = max(judged, key=attrgetter("verdict"), default=Result(Verdict.ALLOW))
    held = _is_blocked(result) and policy.on_block == "quarantine"
    return held, result, secrets_in(entry.text) if policy.on_credential == "report" else []


def judge_skill(path: str, text: str) -> Result:
    """Return what the shipped scanner says of a file of a skill that is in no bundle."""
    from gitmem.safety.scanner import Scanner

    return Scanner.shipped().scan(text, SKILL.scope, path=path)


def is_retracted(files: Files, key: EntryKey, path: str = "", text: str = "") -> bool:
    """Return whether an entry was retracted in a tree, and nobody released it since."""
    from gitmem.memory import retraction

    return retraction.is_retracted(files, key, path, text)


def retractions_of(file: EntryFile) -> set[str]:
    """Return where the retractions would be that take something of a file away."""
    from gitmem.okf import layout
    from gitmem.okf.entries import retraction_hash

    return {layout.retraction(retraction_hash(key, file.path, file.body)) for key in file.units}


def retracted_units(files: Files, file: EntryFile) -> set[EntryKey]:
    """Return what of a file was retracted in a tree: entries, or the file as a whole."""
    text = file.body
    return {key for key in file.units if is_retracted(files, key, file.path, text)}


def says_retracted(files: Files, file: EntryFile) -> bool:
    """Return whether the text of a concept, or words about it, were retracted in a tree."""
    from gitmem.memory import retraction

    return retraction.says_retracted(files, file)


def retracts(data: bytes | None, path: str) -> bool:
    """Return whether a file of `retractions/` is there and still holds."""
    from gitmem.memory import retraction

    return data is not None and retraction.retracts(data, path)


def retracted_in(*trees: ListedFiles) -> Callable[[EntryKey], bool]:
    """Tells of an entry whether any of these trees retracts it; their names are read once."""
    from gitmem.memory.retraction import Retracted

    asked = [Retracted(tree) for tree in trees]
    return lambda key: any(one.has(key) for one in asked)


def retracted_result(result: Result, length: int, why: str = "") -> Result:
    """A verdict on a text that was retracted: held at least, and it says why."""
    reason = why or "was taken back earlier, and must not come back by itself"
    return _held_for("retracted", "retraction", reason, result, length)


def _held_for(rule: str, category: str, reason: str, result: Result, length: int) -> Result:
    from gitmem.safety.verdict import Finding, Result, Verdict

    finding = Finding(rule, category, reason, (0, length), Verdict.HOLD)
    return Result(max(result.verdict, Verdict.HOLD), (*result.findings, finding))


def _why_unconfirmed(came: Attribution, source: str) -> str:
    from gitmem.safety.stakes import WORDS

    at_stake = [words for stake, words in WORDS.items() if stake in came.stakes]
    said = f"came from {source} ({came.channel}), and the user did not say it"
    return said + (f"; it {' and '.join(at_stake)}" if at_stake else "")


def _cleaned(text: str, policy: Policy) -> str:
    return redacted(text) if policy.on_credential == "redact" else text


def _refused_secrets(text: str, policy: Policy, before: bytes) -> list[Secret]:
    """The secrets that a policy refuses; one that was there before stays a person's own affair."""
    if policy.on_credential != "refuse":
        return []
    old = before.decode("utf-8", "replace")
    return [secret for secret in secrets_in(text) if text[secret.start : secret.end] not in old]


def _is_blocked(result: Result) -> bool:
    from gitmem.safety.verdict import Verdict

    return result.verdict is Verdict.BLOCK


def _secret_in_file(path: str, text: str, secret: Secret) -> Exception:
    from gitmem.errors import InvalidContent

    line = text.count("\n", 0, secret.start) + 1
    return InvalidContent(
        f"{path} holds a secret in line {line} ({secret.kind}): take it out, and write down where it is "
        "kept instead."
    )
