"""The bundle: an agent's memory as a git repository. Everything in `memory/` works through it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.config import Config
from gitmem.errors import BundleNotFound, BundleUnusable, InvalidContent, NewerFormat, UsageError
from gitmem.git.message import Message
from gitmem.git.objects import Oid, Person
from gitmem.git.repository import Repository
from gitmem.git.setup import open_repository
from gitmem.git.tree import Tree
from gitmem.memory.capture.open_buffers import Capture

if TYPE_CHECKING:
    from gitmem.git.transaction import Published
    from gitmem.git.worktree import HandEdit
    from gitmem.memory.capture.buffer import Flushed
    from gitmem.memory.capture.sessions import Session, Sessions
    from gitmem.memory.curated.store import CuratedStore
    from gitmem.memory.distill.facts import Distiller
    from gitmem.memory.edits import Edits
    from gitmem.memory.find.index import Indexing
    from gitmem.memory.find.recall import Recall
    from gitmem.memory.find.search import Search
    from gitmem.memory.gate.quarantine import Quarantine
    from gitmem.memory.gate.scan import Gate
    from gitmem.memory.history.log import History
    from gitmem.memory.history.revert import Undo
    from gitmem.memory.plans import Plans
    from gitmem.memory.provenance import Origin, Trigger
    from gitmem.memory.snapshots import Snapshots
    from gitmem.okf.concept import Concept

Clock = Callable[[], datetime]
Lookup = Callable[[str], str]
Work = Callable[["Edits"], Message | None]
"""Adds to the edits and says what the commit is about; None where there is nothing to commit."""


# What only some commands need is imported where it is used: start-up is a feature.


def _nothing(_name: str) -> str:
    return ""


class Bundle:
    """One bundle, opened.

    `clock` gives aware datetimes; `person` is who edits files by hand here; `lookup` gives the value
    of an environment variable, for the key of an endpoint.
    """

    def __init__(
        self,
        repository: Repository,
        config: Config,
        clock: Clock,
        person: str = "",
        lookup: Lookup = _nothing,
    ) -> None:
        self.repository = repository
        self.config = config
        self.clock = clock
        self.person = person or "human"
        self.lookup = lookup
        self.warnings: list[str] = []
        self.capture = Capture(self)

    @classmethod
    def open(
        cls,
        root: str,
        *,
        config: Config | None = None,
        clock: Clock,
        person: str = "",
        lookup: Lookup = _nothing,
    ) -> Bundle:
        """The bundle whose work tree is `root`."""
        repository = open_repository(root)
        if repository.tip() is None:
            branches = [name.removeprefix("refs/heads/") for name in repository.refs.under("refs/heads/")]
            if branches:
                raise BundleUnusable(
                    f"{repository.root} has no branch main, which gitmem works on: "
                    f"rename {branches[0]} with `git branch -m {branches[0]} main` if that is it."
                )
            raise BundleNotFound(
                f"{repository.root} is a repository without commits, not a bundle yet.",
                hint="Make it one with `gitmem init`.",
            )
        return cls(repository, config or Config(), clock, person, lookup)

    @property
    def root(self) -> str:
        return self.repository.root

    @property
    def state_dir(self) -> str:
        """Where this machine's own state lives, beside the objects and never committed."""
        return self.repository.state_dir

    @property
    def journal_dir(self) -> str:
        return os.path.join(self.state_dir, "journal")

    # What is asked of a bundle, one noun each

    @cached_property
    def history(self) -> History:
        from gitmem.memory.history.log import History

        return History(self)

    @cached_property
    def index(self) -> Indexing:
        from gitmem.memory.find.index import Indexing

        return Indexing(self)

    @cached_property
    def search(self) -> Search:
        from gitmem.memory.find.search import Search

        return Search(self)

    @cached_property
    def recall(self) -> Recall:
        from gitmem.memory.find.recall import Recall

        return Recall(self)

    @cached_property
    def sessions(self) -> Sessions:
        from gitmem.memory.capture.sessions import Sessions

        return Sessions(self)

    @cached_property
    def plans(self) -> Plans:
        from gitmem.memory.plans import Plans

        return Plans(self)

    @cached_property
    def curated(self) -> CuratedStore:
        from gitmem.memory.curated.store import CuratedStore

        return CuratedStore(self)

    @cached_property
    def gate(self) -> Gate:
        from gitmem.memory.gate.scan import Gate

        return Gate(self)

    @cached_property
    def quarantine(self) -> Quarantine:
        from gitmem.memory.gate.quarantine import Quarantine

        return Quarantine(self)

    @cached_property
    def snapshots(self) -> Snapshots:
        from gitmem.memory.snapshots import Snapshots

        return Snapshots(self)

    @cached_property
    def undo(self) -> Undo:
        from gitmem.memory.history.revert import Undo

        return Undo(self)

    def session(self, session: str = "", **known: str) -> AbstractContextManager[Session]:
        """A session to record in, as a context manager; leaving it ends the session."""
        from gitmem.memory.capture.sessions import open_session

        return open_session(self, session, **known)

    # Reading

    @property
    def tip(self) -> Oid:
        tip = self.repository.tip()
        if tip is None:
            raise BundleUnusable("The branch main is gone; run `gitmem verify`.")
        return tip

    def resolve(self, name: str) -> Oid:
        """The commit that a name, date or session stands for."""
        from gitmem.git import revisions

        return revisions.resolve(self.repository, name, now=self.clock().astimezone())

    def moment(self, text: str, *, start: bool = False) -> datetime:
        """The moment that a date or words like `2 days ago` name; a day alone is its end, or its start."""
        from gitmem.git.revisions import parse_date

        found = parse_date(text, now=self.clock().astimezone())
        if found is None:
            raise UsageError(f"{text!r} is not a date: write 2026-06-30, yesterday or `2 days ago`.")
        # A bare day is told from a time by what it reads as.
        if start and (found.hour, found.minute, found.second) == (23, 59, 59) and ":" not in text:
            return found.replace(hour=0, minute=0, second=0)
        return found

    def tree(self, revision: str = "HEAD") -> Tree:
        return self.repository.tree(self.resolve(revision))

    def read(self, path: str, revision: str = "HEAD") -> bytes | None:
        """A file's bytes at a revision; None where it has no such file."""
        return self.tree(revision).read(path)

    def concept(self, path: str, revision: str = "HEAD") -> Concept | None:
        from gitmem.okf.concept import Concept

        data = self.read(path, revision)
        return None if data is None else Concept.parse(data, path)

    def list_concepts(self, directory: str = "") -> list[str]:
        """Paths of the concepts below a directory, without generated pages."""
        from gitmem.okf import layout

        return [
            path
            for path, _ in self.tree().files(directory)
            if path.endswith(".md") and not layout.is_generated(path)
        ]

    def file_paths(self) -> list[str]:
        """Paths of all files of the newest commit."""
        # Git's index has them in one place; trees are as many reads as there are directories.
        worktree = self.repository.worktree
        names = worktree.tracked() if worktree.index_is_ours(self.tip) else None
        if names is not None:
            return [name.decode("utf-8", "surrogateescape") for name in names]
        return [path for path, _ in self.tree().files()]

    def read_log(self) -> str:
        """The text of log.md."""
        from gitmem.okf import layout

        return (self.read(layout.LOG) or b"").decode("utf-8", "replace")

    def now(self) -> str:
        """The present moment as bundles write it."""
        from gitmem.okf import timestamps

        return timestamps.stamp(self.clock())

    # Recording without a session of one's own: written through at once

    def record_observation(self, content: str, category: str = "Observation", *, session: str = "") -> str:
        return self.record_event("observation", session=session, content=content, category=category)

    def record_decision(
        self, decision: str, rationale: str = "", tags: Iterable[str] = (), *, session: str = ""
    ) -> str:
        return self.record_event(
            "decision", session=session, decision=decision, rationale=rationale, tags=list(tags)
        )

    def record_tool_call(
        self, tool_name: str, args: object = None, result: str = "", *, session: str = ""
    ) -> str:
        return self.record_event("tool_call", session=session, tool_name=tool_name, args=args, result=result)

    def record_turn(self, user: str, assistant: str, *, session: str = "") -> str:
        return self.record_event("turn", session=session, user=user, assistant=assistant)

    def record_event(self, kind: str, *, session: str = "", **fields: object) -> str:
        """One event, committed before this returns; without a session it goes to today's. Gives its id.

        Nothing is recorded, and an empty id given, for a kind that the settings leave out.
        """
        return self.capture.record(kind, session, fields)

    def flush_buffers(self, trigger: Trigger = "explicit") -> list[Flushed]:
        """Commit what waits in the open buffers of this process, as every snapshot and restore does first."""
        return self.capture.flush(trigger)

    def register_tool(self, name: str, description: str = "", schema: object = None) -> str:
        """Make a tool known before its first use; gives the path of its concept."""
        from gitmem.memory.capture.recorder import ensure_tool
        from gitmem.okf import layout

        path = layout.tool(name)
        at = self.now()

        def work(edits: Edits) -> Message | None:
            ensure_tool(edits, name, at, description, schema)
            return Message("flush", f"tool {name}")

        self.commit(work, purpose="tool", origin=self.origin())
        return path

    def recover_journals(self) -> list[str]:
        """Commit what processes that died left in their journals; told in `warnings` too."""
        try:
            if not os.listdir(self.journal_dir):
                return []
        except FileNotFoundError:
            return []
        from gitmem.memory.capture.buffer import recover

        told = recover(self)
        self.warnings += told
        return told

    @cached_property
    def distiller(self) -> Distiller:
        """What takes facts out of a conversation: the rules, or the endpoint that the settings name."""
        from gitmem.memory.distill.compression import make_distiller

        return make_distiller(self.config, self, self.lookup, self.warnings.append)

    def nudge(self, turn: int) -> str:
        """The memory nudge for the turn of that number (from 1), where one is due; else nothing."""
        from gitmem.memory.distill.nudge import NUDGE, nudge_due

        return NUDGE if nudge_due(turn, self.config.nudge_interval) else ""

    def redact(self, text: str) -> str:
        """Text without secrets: what is journaled, committed or sent is never the secret itself."""
        from gitmem.safety.secrets import redact

        return redact(text)

    # Writing

    def origin(self, **known: object) -> Origin:
        """An origin with this agent and machine filled in."""
        from gitmem.memory.provenance import Origin

        values: dict[str, object] = {"agent": self.config.agent_id, "machine": self.config.machine, **known}
        return Origin(**values)  # type: ignore[arg-type]

    def commit(self, work: Work, *, purpose: str, origin: Origin, wait: float = 30.0) -> Published | None:
        """One commit of what `work` collects on the present tip; None where it changes nothing.

        `work` runs again on the new tip when someone else was faster. Files that a person edited
        meanwhile are taken in first, in a commit of their own.
        """
        from gitmem.git.transaction import Draft, HandEditsInTheWay, publish
        from gitmem.memory.edits import Edits

        who = self._agent(origin)
        origin = origin.told(self.redact)

        def plan(tip: Tree) -> Draft | None:
            self._refuse_newer(tip)
            edits = Edits(tip)
            message = work(edits)
            if message is None:
                return None
            return Draft(edits.finished(), _signed(message, origin), *who())

        for _ in range(20):
            try:
                published = publish(self.repository, plan, purpose=purpose, wait=wait)
            except HandEditsInTheWay as stop:
                self.take_in(stop.edits)
                continue
            if published and published.warning:
                self.warnings.append(published.warning)
            return published
        raise BundleUnusable("A file keeps changing under our hands: close the program that edits it.")

    @contextmanager
    def writing(self, purpose: str) -> Iterator[None]:
        """Hold the bundle lock over several reads and commits."""
        from gitmem.git import transaction

        with transaction.writing(self.repository, purpose):
            yield

    def mend(self) -> bool:
        """Finish what a dead writer began; False where a live one is at work or the disk refuses."""
        if self.repository.pending.read() is None:
            return True
        from gitmem.git import transaction

        try:
            with transaction.writing(self.repository, "mend", wait=0):
                return True
        except BundleUnusable:
            return False

    # Hand edits

    def hand_edits(self) -> list[HandEdit]:
        """What a person changed and nobody has committed yet."""
        from gitmem.git import recovery

        return recovery.hand_edits(self.repository)

    def take_in_edits(self, *, strict: bool, reason: str = "") -> list[Published]:
        """Commit what a person changed by hand, as kind `edit`.

        A file that can not be part of a bundle stops it when `strict`, before anything is
        committed; else it is left where it lies and told in `warnings`.
        """
        from gitmem.git.transaction import HandEditsInTheWay

        published: list[Published] = []
        in_the_way = ""
        with self.writing("edit"):
            for _ in range(5):  # a file may change while we look
                try:
                    published += self._take_in(self.hand_edits(), strict=strict, reason=reason)
                except HandEditsInTheWay as stop:
                    in_the_way = stop.edits[0].path
                else:
                    return published
        raise BundleUnusable(
            f"{in_the_way} was edited by hand and stands in the way of a commit: mend or remove it first."
        )

    def take_in(self, edits: Iterable[HandEdit]) -> None:
        """Commit these hand edits, which stand in the way of a change; an unusable one stops it."""
        self._take_in(edits, strict=True, reason="")

    def _take_in(self, edits: Iterable[HandEdit], *, strict: bool, reason: str) -> list[Published]:
        edits = list(edits)
        if not edits:
            return []
        from gitmem.memory.hand_edits import acceptable

        usable, problems = acceptable(self, edits)
        for problem in problems:
            if strict:
                raise InvalidContent(
                    f"{problem} It was edited by hand: mend or remove it, then run this again."
                )
            self.warnings.append(f"{problem} It is left as it is, uncommitted.")
        # What was staged comes first, so that a version which only the index held has its commit.
        published = []
        for staged in (True, False):
            group = {edit.path: edit for edit in usable if edit.staged == staged}
            later = {edit.path for edit in usable if not edit.staged} if staged else set()
            if group:
                made = self._commit_edits(group, leave=later & group.keys(), reason=reason)
                published += [made] if made else []
        return published

    def _commit_edits(self, edits: dict[str, HandEdit], *, leave: set[str], reason: str) -> Published | None:
        from gitmem.git.transaction import Draft, publish
        from gitmem.memory.edits import Edits
        from gitmem.memory.provenance import Origin

        paths = sorted(edits)
        what = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
        origin = Origin(machine=self.config.machine, source="hand edit", reason=reason)
        moment = int(self.clock().timestamp())

        def plan(tip: Tree) -> Draft | None:
            self._refuse_newer(tip)
            wanted = Edits(tip)
            for path, edit in edits.items():
                if edit.stored is None:
                    wanted.remove(path)
                else:
                    wanted.write(path, edit.stored)
            return Draft(
                wanted.finished(),
                Message("edit", what, origin.trailers()),
                Person(self.person, f"{self.person}@{self.config.machine or 'localhost'}", moment),
                self._committer(moment),
                takes_in={path: edit.data for path, edit in edits.items()},
                leaves=frozenset(leave),
            )

        return publish(self.repository, plan, purpose="edit")

    # Who

    def _agent(self, origin: Origin) -> Callable[[], tuple[Person, Person]]:
        """Author and committer, asked for at the moment of the commit."""
        agent = origin.agent or self.config.agent_id
        machine = self.config.machine or "localhost"

        def people() -> tuple[Person, Person]:
            moment = int(self.clock().timestamp())
            return Person(agent, f"{agent}@{machine}", moment), self._committer(moment)

        return people

    def _committer(self, moment: int) -> Person:
        return Person("gitmem", f"gitmem@{self.config.machine or 'localhost'}", moment)

    def _refuse_newer(self, tip: Tree) -> None:
        from gitmem.okf import layout

        entry = tip.entry(layout.CONFIG_AGENT)
        if entry is None or entry.oid == self._known_format:
            return
        found = format_of(tip.read_entry(entry))
        if found > layout.FORMAT:
            raise NewerFormat(
                f"This bundle has format {found}, newer than this gitmem writes ({layout.FORMAT}): "
                "upgrade gitmem."
            )
        self._known_format = entry.oid

    _known_format: Oid = ""


def format_of(agent_config: bytes) -> int:
    """The bundle format that config/agent.md names; 1 where it can not be read."""
    from gitmem.okf import frontmatter

    try:
        split = frontmatter.split(agent_config.decode("utf-8", "replace"))
        found = frontmatter.load(split.yaml).get("gitmem_format") if split else None
    except InvalidContent:
        return 1
    return found if isinstance(found, int) else 1


def _signed(message: Message, origin: Origin) -> Message:
    return Message(message.kind, message.what, {**origin.trailers(), **message.trailers}, message.body)
