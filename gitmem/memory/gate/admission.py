"""Admission: the one way into the memory. Every text passes it: redaction, the scanner, what was retracted, and
whether it is the user's own or came out of a tool.

What becomes of a text is decided by the `Policy` of the place it is meant for. Nobody outside this package asks the
scanner, the redactor or the retractions; `lint-imports` checks it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, lru_cache
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

from gitmem.errors import BlockedContent
from gitmem.memory.gate.ledger import Ledger, held_id
from gitmem.memory.gate.marks import PROJECT, UNCONFIRMED
from gitmem.memory.gate.project import here, project_here
from gitmem.memory.gate.scan import BundleScanner
from gitmem.safety.verdict import Finding, Result, Scope, Verdict

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import WritableFiles
    from gitmem.memory.origin import Origin
    from gitmem.memory.retraction import State
    from gitmem.okf.entries import Entry, EntryKey
    from gitmem.safety.channels import Attribution
    from gitmem.safety.secrets import Secret

# The scanner and YAML take a while to import: each is imported where it is needed.

_DESCRIPTION = re.compile(r"^description:\s*(\S.*)$", re.MULTILINE)
_FRONT = 4_000
_PARAGRAPH = re.compile(r"\n\s*\n")
_PARAGRAPHS = 60
_FULL = 0.8
"""The share of its limit from which on an agent makes room in a store."""


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


_REMOVED = "was removed while its session still had it before it, and the user did not say it again"
_FOLLOWS = "follows from something that was taken back, which its session still had before it"


# --- the answers -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Admitted:
    """The text as it may be stored, what marks it there, and where it came from as far as that is known."""

    text: str
    marks: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Marking:
    """Attribution of a text: its mark in the tree, its sources, and why it waits for a person where it does."""

    marks: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    waits: str = ""

    def instead_of(self, entry: Entry | None) -> Marking:
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


@dataclass(eq=False)
class Admission:
    """The way into one bundle, for one change.

    `files` is the tree that is being changed, whose retractions count. `by_person` says that a person asks: then what
    was retracted may come back.
    """

    bundle: Bundle
    files: WritableFiles | None = None
    _: KW_ONLY
    origin: Origin | None = None
    by_person: bool = False

    def entry(
        self, text: str, path: str, policy: Policy = ENTRY, *, replaces: Entry | None = None
    ) -> Admitted | Held:
        """An entry of the § file at `path`, in the place of another or beside it.

        Raises where it cannot be an entry, or is blocked and refused.
        """
        from gitmem.memory.origin import written_by
        from gitmem.memory.retraction import is_retracted
        from gitmem.okf.curated import check_text
        from gitmem.okf.entries import Entry, section_key

        text = _cleaned(check_text(text), policy)
        result = self.judge(text, policy)
        key = section_key(text)
        where = {"kind": "entry", "path": path}
        if self.by_person:
            self._accept_here(key, held_id(text, where))
        if self.files is not None and is_retracted(self.files, key):
            # What a person adds by name counts as released; a block stands all the same.
            if self.by_person and not _is_blocked(result):
                self.retract(Entry(key, text), path, state="released")
            else:
                result = retracted_result(result, len(text))
        elif not self.by_person:
            result = self._judge_removed(text, self.judge_origin(text, result))
        came = self.marking(text).instead_of(replaces)
        answer = self._settled(text, came.judged(result, len(text)), policy, where)
        if isinstance(answer, Admitted):
            return replace(answer, marks={**came.marks, **written_by(self.origin)}, sources=came.sources)
        if came.waits and self.files is not None:
            # So that it leaves the host's file too, and does not come back by itself.
            self.retract(Entry(key, text, extra=written_by(self.origin)), path, state="held")
        return answer

    def _accept_here(self, key: EntryKey, held: str) -> None:
        """A person here wants it: that others brought it again, or that it was rejected once, is settled with that."""
        ledger = self.bundle.part(Ledger)
        if ledger.waits(key.id):
            ledger.clear([key.id])
        if ledger.is_rejected(held):
            ledger.remove_held(held)

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
        return self.marking(found[1], decides=True).judged(result, len(text)) if found else result

    def skill_marks(self, text: str) -> Mapping[str, str]:
        """Return what marks a skill in which something came out of a tool and nobody asked for it.

        What the agent saw of the machine itself is what skills are made of.
        """
        for part in _PARAGRAPH.split(text)[:_PARAGRAPHS]:
            marks = self.marking(part).marks if part.strip() else {}
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
        if result.verdict is Verdict.ALLOW:
            return Admitted(text)
        fate = policy.on_block if result.verdict is Verdict.BLOCK else policy.on_hold
        if fate == "refuse":
            raise BlockedContent(result)
        return Admitted(text) if fate == "let in" else Held(self.hold(text, result, where), result)

    def marking(self, text: str, *, may_wait: bool = True, decides: bool = False) -> Marking:
        """Return where a text that would be believed came from, by what its session heard.

        What was only said is recorded: it is marked and never waits. A decision is worded as an order ("send mails with X"),
        so that alone does not make it wait.
        """
        found = self._attributed(text)
        sources = tuple(redacted(source) for source in (found.source, *found.others) if source)
        if self.bundle.config.transcripts == "off":  # a URL or a command is what a tool was asked
            sources = (found.channel,) if found.channel else ()
        if found.channel is None:
            return Marking(sources=sources)
        trust = self.bundle.config[f"trust.{found.channel}"]
        if (
            found.local
            and found.channel == "file"
            and trust == "mark"
            and (project := project_here(self.bundle))
        ):
            return Marking({PROJECT: project}, sources)
        if (found.confirmed and not (found.local and trust == "hold")) or trust == "follow":
            return Marking(sources=sources)
        marks = {UNCONFIRMED: found.channel, "source": sources[0]}
        stakes = found.stakes - {"order"} if decides else found.stakes
        waits = may_wait and (trust == "hold" or bool(stakes))
        return Marking(marks, sources, _why_unconfirmed(found, sources[0]) if waits else "")

    def believed(self, text: str) -> Marking:
        """The same for words that cannot wait in quarantine, a plan's: raises where a person must look first."""
        came = self.marking(text)
        if came.waits:
            raise BlockedContent(came.judged(Result(Verdict.ALLOW), len(text)))
        return came

    def _attributed(self, text: str) -> Attribution:
        from gitmem.memory.gate.evidence import SessionEvidence
        from gitmem.memory.origin import RELEASED
        from gitmem.safety.channels import OWN, UNHEARD, ToolResult, declared

        if self.by_person or self.origin is None:
            return OWN
        session, source, known = self.origin.session, self.origin.source, self.bundle.part(SessionEvidence)
        beside = [one for one in known.unconfirmed(self.files) if one.text != text]
        evidence = known.of(session) if session else known.all()
        if not source.startswith(RELEASED) and (channel := declared(source)):
            beside.append(ToolResult(channel, source, text, evidence.turn))
            known.declared(session, channel, source, text)
        hears = evidence.hears or known.could_hear(session)
        if not hears and not evidence.results and not beside:  # a command: no user could be heard
            return OWN
        found = evidence.attribute(text, beside, here=here(self.bundle).own)
        is_own = found.source == UNHEARD and (not hears or known.is_known(text, self.files))
        return OWN if is_own else found

    # For those who decide about many texts, or about files of their own

    def judge(self, text: str, policy: Policy, path: str = "") -> Result:
        """Return what the scanner says of a text, and the secrets in it where the policy holds those; nothing is done.

        The path of a script says which language it is in.
        """
        if policy.on_credential == "hold" and secrets_in(text):
            finding = Finding("secret", "secret", "holds a secret", (0, len(text)), Verdict.HOLD)
            return Result(Verdict.HOLD, (finding,))
        return self.bundle.part(BundleScanner).judge(text, policy.scope, path)

    def judge_origin(self, text: str, result: Result, *, session: str = "", turn: str = "") -> Result:
        """The verdict on a text that a session writes: held where it follows from what was taken back.

        A session that runs while something is taken back has it before it still.
        """
        from gitmem.memory.exposure import Exposure

        session = session or (self.origin.session if self.origin else "")
        if not session or not self._has_retractions:
            return result
        files = self.files or self.bundle.tree()
        follows = self.bundle.part(Exposure).taken_back(session, text, files, turn)
        return retracted_result(result, len(text), _FOLLOWS) if follows else result

    def _judge_removed(self, text: str, result: Result) -> Result:
        """The verdict on an entry: held where others removed it and its session still has it, unless the user says it."""
        from gitmem.memory.exposure import Exposure
        from gitmem.memory.gate.evidence import SessionEvidence

        session = self.origin.session if self.origin else ""
        if not session or not self.bundle.part(Exposure).was_removed(session, text):
            return result
        from gitmem.safety.channels import asks_to_keep, speaks_of

        said = self.bundle.part(SessionEvidence).of(session).said[-1:]
        is_said = any(asks_to_keep(one.text) or speaks_of(text, one.text) for one in said)
        return result if is_said else retracted_result(result, len(text), _REMOVED)

    def evicts(self, entry: Entry, *, usage: int, limit: int) -> bool:
        """Say whether an agent removes an entry for want of room: its store is full, and the user did not speak of it."""
        from gitmem.memory.gate.evidence import SessionEvidence
        from gitmem.safety.channels import speaks_of

        session = self.origin.session if self.origin else ""
        if self.by_person or not session or usage < _FULL * limit:
            return False
        said = self.bundle.part(SessionEvidence).of(session).said[-1:]
        return not any(speaks_of(entry.text, one.text) for one in said)

    @cached_property
    def _has_retractions(self) -> bool:
        return self.bundle.tree().entry("retractions") is not None

    def judge_all(self, entries: Iterable[Entry], policy: Policy) -> list[Result]:
        """The same for many entries; this bundle's own rules are looked for once."""
        return self.bundle.part(BundleScanner).judge_entries(entries, policy.scope)

    def hold(self, text: str, result: Result, where: Mapping[str, str]) -> str:
        """Put a text into quarantine; gives its id there. `where` says where it would have gone."""
        return self.hold_all([(text, result, where)])[0]

    def hold_all(self, texts: Iterable[tuple[str, Result, Mapping[str, str]]]) -> list[str]:
        """The same for several, which cost what one does."""
        return self.bundle.part(Ledger).hold(texts, origin=self.origin or self.bundle.origin())

    def hold_retracted(self, entry: Entry, path: str, why: str) -> str:
        """Keep the text of an entry that somebody else retracted; gives its id in quarantine."""
        result = retracted_result(Result(Verdict.ALLOW), len(entry.text), why)
        return self.hold(entry.text, result, {"kind": "entry", "path": path})

    def retract(self, entry: Entry, path: str, *, state: State) -> None:
        """Say in the tree that an entry must not come back, or (`released`) that it may."""
        from gitmem.memory.retraction import retract

        assert self.files is not None
        origin = self.origin or self.bundle.origin()
        retract(self.files, entry, path, state=state, at=self.bundle.now(), origin=origin)

    def release_retraction(self, where: str) -> None:
        """Say of the retraction at a path that it holds no more: where it was taken back, others still have it."""
        from gitmem.memory.retraction import set_state

        assert self.files is not None
        origin = self.origin or self.bundle.origin()
        set_state(self.files, where, state="released", at=self.bundle.now(), origin=origin)


# --- without a bundle ------------------------------------------------------------------------------------


def redacted(text: str) -> str:
    """Text without secrets: what is journaled, committed or sent is never the secret itself.

    Buys "of `recall`": a text that has none is read once for all answers of this process.
    """
    from gitmem.safety.secrets import redact

    ibans = _IBANS.is_set()
    read = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest(), ibans
    if read in _WITHOUT_SECRETS:
        return text
    left = redact(text, ibans=ibans)
    if left == text:
        if len(_WITHOUT_SECRETS) >= _MOST_READ:
            _WITHOUT_SECRETS.clear()
        _WITHOUT_SECRETS.add(read)
    return left


_WITHOUT_SECRETS: set[tuple[bytes, bool]] = set()
_MOST_READ = 20_000
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

    policy = incoming(path)
    scanner = Scanner.shipped()
    judged = [scanner.scan(text, policy.scope, statistics=False, path=path) for text in texts_of(entry)]
    result = max(judged, key=attrgetter("verdict"), default=Result(Verdict.ALLOW))
    held = _is_blocked(result) and policy.on_block == "quarantine"
    return held, result, secrets_in(entry.text) if policy.on_credential == "report" else []


def retracted_result(result: Result, length: int, why: str = "") -> Result:
    """A verdict on a text that was retracted: held at least, and it says why."""
    reason = why or "was taken back earlier, and must not come back by itself"
    return _held_for("retracted", "retraction", reason, result, length)


def _held_for(rule: str, category: str, reason: str, result: Result, length: int) -> Result:
    finding = Finding(rule, category, reason, (0, length), Verdict.HOLD)
    return Result(max(result.verdict, Verdict.HOLD), (*result.findings, finding))


def _why_unconfirmed(came: Attribution, source: str) -> str:
    from gitmem.safety.channels import in_words

    said = f"came from {source} ({came.channel}), and the user did not say it"
    return said + (f"; it {in_words(came.stakes)}" if came.stakes else "")


def _cleaned(text: str, policy: Policy) -> str:
    return redacted(text) if policy.on_credential == "redact" else text


def _refused_secrets(text: str, policy: Policy, before: bytes) -> list[Secret]:
    """The secrets that a policy refuses; one that was there before stays a person's own affair."""
    if policy.on_credential != "refuse":
        return []
    old = before.decode("utf-8", "replace")
    return [secret for secret in secrets_in(text) if text[secret.start : secret.end] not in old]


def _is_blocked(result: Result) -> bool:
    return result.verdict is Verdict.BLOCK


def _secret_in_file(path: str, text: str, secret: Secret) -> Exception:
    from gitmem.errors import InvalidContent

    line = text.count("\n", 0, secret.start) + 1
    return InvalidContent(
        f"{path} holds a secret in line {line} ({secret.kind}): take it out, and write down where it is "
        "kept instead."
    )
