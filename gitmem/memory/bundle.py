"""The bundle: an agent's memory as a git repository, read and committed to. Everything in `memory/` stands on it.

`Memory` (memory/memory.py) is the one concrete bundle: it adds the product's nouns and verbs, and fills in the few
decisions about content that a commit needs and that are made above this module, by the gate.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from gitmem.config import Config
from gitmem.errors import BundleUnusable, GitMemError, InvalidContent, NewerFormat, UsageError
from gitmem.git import recovery, revisions
from gitmem.git.message import Message
from gitmem.git.objects import Oid, Person
from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository
from gitmem.git.tree import Tree
from gitmem.memory.edits import Edits
from gitmem.memory.ids import session_meant
from gitmem.memory.log_page import lines_of, makes_pages, since_pages
from gitmem.memory.origin import Origin
from gitmem.notices import Notice
from gitmem.okf import frontmatter, layout, timestamps
from gitmem.okf.concept import Concept
from gitmem.okf.events import first_words, given_title
from gitmem.state import JOURNAL
from gitmem.world import World

if TYPE_CHECKING:
    from gitmem.dates import Period
    from gitmem.git.transaction import Published
    from gitmem.git.worktree import HandEdit
    from gitmem.memory.origin import Trigger

Work = Callable[[Edits], Message | None]
"""Adds to the edits and says what the commit is about; None where there is nothing to commit."""

Arriving = Callable[[Oid], tuple[Oid, Message | None]]
"""Gives for our tip the commit that has it and what arrived, and how the reflog names that: see `Draft.onto`."""

_Part = TypeVar("_Part")

# What only some commands need is imported where it is used: start-up is a feature.


class Bundle:
    """One bundle, opened: reading it, and committing to it."""

    if TYPE_CHECKING:  # questions of a commit to the rooms above this one: `OpenBundle` answers them

        def admitted_origin(self, origin: Origin) -> Origin: ...
        def admitted_message(self, message: Message) -> Message: ...
        def lay_session(self, edits: Edits, message: Message, origin: Origin) -> Message: ...
        def session_is_laid(self, origin: Origin) -> None: ...
        def commit_hand_edits(self, edits: Iterable[HandEdit]) -> None: ...

    def __init__(self, repository: Repository, config: Config, world: World) -> None:
        self.repository = repository
        self.state = repository.state
        """This machine's own, beside the objects and never committed."""
        self.config = config
        self.world = world
        self.notices: list[Notice] = []
        """What operations had to say, oldest first; whoever shows them takes them out."""
        self._parts: dict[Any, Any] = {}
        self._buffers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._adding = threading.Lock()
        self._closing: list[Callable[[], object]] = []

    @property
    def root(self) -> str:
        """The directory of the bundle."""
        return self.repository.root

    @property
    def journal_dir(self) -> str:
        return self.state.folder(JOURNAL)

    @property
    def has_journals(self) -> bool:
        """Return whether a process has a journal here, or left one."""
        return os.path.isdir(self.journal_dir) and bool(os.listdir(self.journal_dir))

    def part(self, kind: Callable[[Bundle], _Part]) -> _Part:
        """The one `kind` of this bundle (its gate, its index, its curated store), made when first asked for."""
        found: _Part | None = self._parts.get(kind)
        return found if found is not None else self._parts.setdefault(kind, kind(self))

    def has_part(self, kind: Callable[[Bundle], object]) -> bool:
        """Return whether anybody asked for that part yet."""
        return kind in self._parts

    def on_close(self, close: Callable[[], object]) -> None:
        """Have this called when the bundle is closed: a part that holds something open gives it back then."""
        self._closing.append(close)

    # The buffers of this process, of which it keeps none alive

    def add_buffer(self, buffer: object) -> None:
        """Have this buffer flushed before every snapshot, restore and note, and closed with the bundle."""
        with self._adding:
            self._buffers.add(buffer)

    def open_buffers(self) -> list[Any]:
        """The buffers that take events here."""
        with self._adding:
            return [buffer for buffer in self._buffers if buffer.is_open]

    def flush_buffers(self, trigger: Trigger = "explicit") -> list[Any]:
        """Flush every open buffer, each as a commit of its own; gives those that held something."""
        done, failed = [], []
        for buffer in self.open_buffers():
            try:
                flushed = buffer.flush(trigger)
            except GitMemError as error:
                if buffer.is_open:  # one that another thread closed meanwhile was flushed by it
                    failed.append(error)
            else:
                done += [flushed] if flushed.events else []
        if failed:
            raise failed[0]
        return done

    # What there is to say

    def report(self, notice: Notice) -> None:
        """Keep a notice for whoever asked; the same one is kept once."""
        if notice not in self.notices:
            self.notices.append(notice)

    @property
    def warnings(self) -> list[str]:
        """The notices as sentences worth showing to somebody."""
        return [str(notice) for notice in self.notices]

    # Reading

    def checked_out(self) -> Oid:
        """The commit that a person has checked out in the place of `main`, which is reported; empty where it is the same."""
        refs = self.repository.refs
        head = refs.head()
        commit = refs.read(head) if head.startswith("refs/") else head
        if head == BRANCH or not commit or commit == self.repository.tip():
            return ""
        branch = head.removeprefix("refs/heads/")
        self.report(
            Notice("head-elsewhere", f"at {commit[:8]}" if branch == commit else f"on branch {branch}")
        )
        return commit

    @property
    def tip(self) -> Oid:
        """The newest commit of `main`."""
        tip = self.repository.tip()
        if tip is None:
            raise BundleUnusable("The branch main is gone.", hint="Run `gitmem check`.")
        return tip

    def resolve(self, name: str) -> Oid:
        """The commit that a name, date or session stands for."""
        if name == "HEAD" and (tip := self.repository.tip()):
            return tip
        if name.strip().startswith("session:"):
            session = name.strip().removeprefix("session:")
            tip = self.repository.tip()
            name = f"session:{session_meant(self.repository.tree(tip), session) if tip else session}"
        return revisions.resolve(self.repository, name, now=self.world.here())

    def moment(self, text: str, *, start: bool = False) -> datetime:
        """The moment that a date names: the end of a day, a week or a month, or its start."""
        found = self.span(text)
        return found.start if start else found.end

    def span(self, text: str) -> Period:
        """The stretch of time that a date names, as people say it."""
        from gitmem import dates

        found = dates.span(text, now=self.world.here())
        if found is None:
            raise UsageError(f"{text!r} is not a date.", hint=f"Write one of: {dates.UNDERSTOOD}.")
        return found

    def tree(self, revision: str = "HEAD") -> Tree:
        return self.repository.tree(self.resolve(revision))

    def read(self, path: str, revision: str = "HEAD") -> bytes | None:
        """A file's bytes at a revision; None where it has no such file."""
        return self.tree(revision).read(path)

    def concept(self, path: str) -> Concept | None:
        data = self.read(path)
        return None if data is None else Concept.parse(data, path)

    def session_title(self, session: str) -> str:
        """The host's title of a session, else the first thing the user said, for people; empty where neither is known."""
        tree = self.tree()
        path = layout.find_session(tree, session)
        if path is None:
            return ""
        page = Concept.parse_leniently(tree.read(path))
        title = given_title(page, session) if page else ""
        home = path.removesuffix(".md")
        firsts = (name for name in tree.names(home) if name.endswith("-0001.md"))
        return title or first_words(tree.read(f"{home}/{name}") or b"" for name in firsts)

    def list_concepts(self, directory: str = "") -> list[str]:
        """Paths of the concepts below a directory, without generated pages."""
        return [
            path
            for path, _ in self.tree().files(directory)
            if path.endswith(".md") and not layout.is_generated(path)
        ]

    def file_paths(self) -> list[str]:
        """Paths of all files of the newest commit."""
        # Buys "`gitmem status` at 10,000 files": trees are as many reads as there are directories.
        file = self.repository.index_file
        index = file.read() if file.is_ours(self.tip) else None
        return [path for path, _ in self.tree().files()] if index is None else list(index.files())

    def now(self) -> str:
        """The present moment as bundles write it."""
        return timestamps.stamp(self.world.clock())

    # Writing

    def origin(
        self,
        *,
        session: str = "",
        agent: str = "",
        model: str = "",
        reason: str = "",
        source: str = "",
        derived_from: tuple[str, ...] = (),
    ) -> Origin:
        """An origin on this machine; the agent is this bundle's own unless another is named."""
        agent, machine = agent or self.config.agent_id, self.config.machine
        made = Origin(session, agent=agent, machine=machine, model=model, reason=reason, source=source)
        return replace(made, derived_from=derived_from)

    def commit(
        self,
        work: Work,
        *,
        purpose: str,
        origin: Origin,
        arriving: Arriving | None = None,
    ) -> Published | None:
        """One commit of what `work` collects on the present tip; None where it changes nothing.

        `work` runs again on the new tip when someone else was faster. Files that a person edited
        meanwhile are taken in first, in a commit of their own. With something `arriving`, the edits are made on top
        of that, and `main` moves over both at once.
        """
        from gitmem.git.transaction import Draft, HandEditsInTheWay, publish

        origin = self.admitted_origin(origin)
        agent = origin.agent or self.config.agent_id

        def plan(tip: Tree) -> Draft | None:
            self.refuse_newer(tip)
            onto, arrival = arriving(self.tip) if arriving else (None, None)
            edits = Edits(self.repository.tree(onto) if onto else tip)
            message = work(edits)
            if message is None:
                if onto is None:
                    return None
                message, edits = Message("merge", "nothing to settle"), Edits(edits.tip)
                edits.keep_pages()  # `main` moves to what arrives, and no commit is made
            message = self.lay_session(edits, message, origin)
            edits.makes_pages = makes_pages(message.kind, origin.trigger)
            if edits.makes_pages and message.kind not in ("merge", "restore"):
                since = since_pages(self.repository, self.repository.tip())
                edits.refresh_pages(since.paths)
                edits.log(since.lines)
                if message.kind != "revert":  # which brings the lines back that it finds in the history
                    edits.log(lines_of(edits))
            moment = int(self.world.clock().timestamp())
            trailers = {**origin.trailers(), **message.trailers}
            return Draft(
                edits.finished(),
                self.admitted_message(Message(message.kind, message.what, trailers, message.body)),
                self.person_named(agent, int(origin.at) or moment),
                self.person_named("gitmem", moment),
                onto=onto,
                arrival=arrival,
                leaves=leaves,
            )

        leaves: frozenset[str] = frozenset()
        for _ in range(20):
            try:
                published = publish(self.repository, plan, purpose=purpose)
            except HandEditsInTheWay as stop:
                if self.repository.tip() is None:  # the first commit: they become edits of what it makes
                    leaves |= {edit.path for edit in stop.edits}
                else:
                    self.commit_hand_edits(stop.edits)
                continue
            if published:
                self.session_is_laid(origin)
            if published and published.warning:
                self.report(Notice("work-tree-behind", detail=published.warning))
            return published
        raise BundleUnusable("A file keeps changing while it is committed: close the program that edits it.")

    def person_named(self, name: str, moment: int) -> Person:
        """Author or committer of a commit made here."""
        return Person(name, f"{'.'.join(name.split())}@{self.config.machine or 'localhost'}", moment)

    @contextmanager
    def writing(self, purpose: str) -> Iterator[None]:
        """Hold the bundle lock over several reads and commits."""
        from gitmem.git import transaction

        with transaction.writing(self.repository, purpose):
            yield

    def finish_pending(self) -> bool:
        """Finish what a dead writer or a power cut left; False where a live one is at work or the disk refuses."""
        try:
            if not recovery.is_due(self.repository):
                return True
            from gitmem.git import transaction

            with transaction.writing(self.repository, "recovery", wait=0):
                return True
        except BundleUnusable:
            return False

    def hand_edits(self) -> list[HandEdit]:
        """Return what a person changed and nobody has committed yet."""
        return recovery.hand_edits(self.repository)

    # The format

    def refuse_newer(self, tip: Tree) -> None:
        """Raise where a newer gitmem wrote this bundle."""
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
    """The bundle format that config/agent.md names; 1 where it cannot be read."""
    try:
        found = frontmatter.read(agent_config.decode("utf-8", "replace"))
    except InvalidContent:
        return 1
    named = found[0].get("gitmem_format") if found else None
    return named if isinstance(named, int) else 1
