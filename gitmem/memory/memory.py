"""The memory of an agent: the product's nouns and verbs over one bundle.

Each verb is thin: it says who asks, and hands the work to the room that does it. The rooms are imported when they are
first asked for, because start-up is a feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from gitmem.memory.lifetime import OpenBundle

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.index.readers import Reader
    from gitmem.memory.capture.session_page import SessionOptions
    from gitmem.memory.capture.sessions import Sessions
    from gitmem.memory.curated.store import Answer, CuratedStore, Target
    from gitmem.memory.erase.eraser import Erased
    from gitmem.memory.exchange.exporting import Exported
    from gitmem.memory.exchange.importing import Imported
    from gitmem.memory.find.context import Context
    from gitmem.memory.find.recall import About, Reading, Recalled
    from gitmem.memory.find.search import Found
    from gitmem.memory.gate.ledger import Ledger
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.digest import Digest
    from gitmem.memory.history.log import Diff, LogEntry, ShownCommit
    from gitmem.memory.history.restore import Restored
    from gitmem.memory.history.revert import Reverted, Undoable
    from gitmem.memory.history.trace import Traced
    from gitmem.memory.indexing import Indexing
    from gitmem.memory.origin import Origin
    from gitmem.memory.pages import Plans
    from gitmem.memory.session import Session
    from gitmem.memory.skills.store import Skills
    from gitmem.memory.snapshots import Snapshot, Snapshots
    from gitmem.memory.sync.sync import Synced

    Date = str | datetime


_INHERITED = ("close", "config", "read", "root", "tip", "warnings")
_MACHINERY = ("index", "session_named")
_MANY_COMMITS = 1_000
"""Commits of an import whose index is made in the background."""


def _part(name: str, says: str) -> Any:
    """A noun of the memory: a part of it, of the class that is named by its module below `gitmem.memory`."""
    module, _, found = name.partition(":")

    def get(memory: Memory) -> Any:
        return memory.part(getattr(import_module(f"gitmem.memory.{module}"), found))

    return property(get, doc=says)


class Memory(OpenBundle):
    """One agent's memory. Threads may share it. Dates are words (`last friday`), ISO dates or datetimes."""

    def __dir__(self) -> list[str]:
        """List the nouns and verbs of the product, without the machinery that they are made of."""
        own = (name for name in vars(Memory) if not name.startswith("_") and name not in _MACHINERY)
        return sorted((*own, *_INHERITED))

    def __repr__(self) -> str:
        return f"<Memory {self.root}>"

    # Nouns: what has a state of its own

    curated: CuratedStore = _part(
        "curated.store:CuratedStore", "The curated store: the facts of MEMORY and USER."
    )
    sessions: Sessions = _part("capture.sessions:Sessions", "Sessions, and what was recorded in them.")
    plans: Plans = _part("pages:Plans", "Plans and their steps.")
    skills: Skills = _part("skills.store:Skills", "Skills: knowledge of how things are done.")
    snapshots: Snapshots = _part("snapshots:Snapshots", "Named states.")
    ledger: Ledger = _part("gate.ledger:Ledger", "Items that wait for a person, and decisions taken here.")
    index: Indexing = _part("indexing:Indexing", "The index behind search.")

    # Remembering

    def remember(
        self,
        text: str,
        *,
        target: Target = "memory",
        machine: bool = False,
        reason: str = "",
        source: str = "",
        session: str = "",
        derived_from: Iterable[str] = (),
        by_person: bool = False,
    ) -> Answer:
        """Add an entry to the curated store; one that is there already changes nothing.

        `machine` says that it is true on this machine only, `by_person` that a person asks: then what was retracted
        may come back.
        """
        origin = self._origin(reason, source, session, derived_from)
        return self.curated.add(text, target=target, machine=machine, origin=origin, by_person=by_person)

    def replace(
        self,
        old: str,
        new: str,
        *,
        target: Target | None = None,
        machine: bool | None = None,
        reason: str = "",
        source: str = "",
        session: str = "",
        derived_from: Iterable[str] = (),
        by_person: bool = False,
    ) -> Answer:
        """Put another text in the place of the one curated entry that contains `old`, or has that id."""
        if target is None or machine is None:
            target, machine, _ = self.curated.find(old, target=target, machine=machine)
        origin = self._origin(reason, source, session, derived_from)
        return self.curated.replace(
            old, new, target=target, machine=machine, origin=origin, by_person=by_person
        )

    def forget(
        self,
        text: str,
        *,
        target: Target | None = None,
        machine: bool | None = None,
        reason: str = "",
        source: str = "",
        session: str = "",
        derived_from: Iterable[str] = (),
    ) -> Answer:
        """Remove the one curated entry that contains the text, or has that id; it stays in the history.

        Where none or several contain it, a StoreRefusal says which may be meant (`near`).
        """
        if target is None or machine is None:
            target, machine, _ = self.curated.find(text, target=target, machine=machine)
        origin = self._origin(reason, source, session, derived_from)
        return self.curated.remove(text, target=target, machine=machine, origin=origin)

    def prompt_block(self, *, as_of: Date = "HEAD") -> str:
        """The curated store as it goes into a prompt, byte for byte what a session that begins now would see."""
        from gitmem.memory.curated.prompt_block import freeze

        return freeze(self, revision=_date(as_of)).text

    def session(self, session: str = "", **about: Unpack[SessionOptions]) -> Session:
        """A session to record in: enter it by `with` or `async with`, or call its start() and end()."""
        from gitmem.memory.session import Session

        return Session(self, session, **about)

    def session_named(self, session: str = "") -> str:
        """The session that is meant: the one named, $GITMEM_SESSION's, or the one that is open on this machine."""
        return session or self.world.env.get("GITMEM_SESSION", "") or self.sessions.open_id()

    # Recording without a session of one's own: written through at once

    def record_observation(self, content: str, category: str = "Observation", *, session: str = "") -> str:
        """Record something that was seen; gives the event's id."""
        return self.record_event("observation", session=session, content=content, category=category)

    def record_decision(
        self, decision: str, rationale: str = "", tags: str | Iterable[str] = (), *, session: str = ""
    ) -> str:
        """Record a decision with its rationale; it becomes a page of its own."""
        return self.record_event(
            "decision", session=session, decision=decision, rationale=rationale, tags=tags
        )

    def record_tool_call(
        self, tool_name: str, args: object = None, result: str = "", *, session: str = ""
    ) -> str:
        """Record a call of a tool with its result."""
        return self.record_event("tool_call", session=session, tool_name=tool_name, args=args, result=result)

    def record_turn(self, user: str, assistant: str, *, session: str = "") -> str:
        """Record what the user said and what was answered."""
        return self.record_event("turn", session=session, user=user, assistant=assistant)

    def record_event(self, /, kind: str, *, session: str = "", **fields: object) -> str:
        """One event, committed before this returns; without a session it goes to today's. Gives its id.

        Nothing is recorded, and an empty id given, for a kind that the settings leave out.
        """
        from gitmem.memory.capture.buffer import Recording

        return self.part(Recording).record(kind, self.session_named(session), fields)

    def register_tool(self, name: str, description: str = "", schema: object = None) -> str:
        """Make a tool known before its first use; gives the path of its concept."""
        from gitmem.memory.pages import register_tool

        return register_tool(self, name, description, schema)

    # Finding

    def search(
        self,
        query: str,
        *,
        type: str | Iterable[str] = (),  # noqa: A002 (what the front matter calls it)
        tag: str | Iterable[str] = (),
        session: str | Iterable[str] = (),
        agent: str | Iterable[str] = (),
        since: Date = "",
        until: Date = "",
        path: str | Iterable[str] = (),
        scope: str = "",
        removed: bool = False,
        as_of: Date = "",
        events: bool = False,
        reader: Reader | None = None,
        limit: int = 10,
    ) -> Found:
        """The entries that answer a query, best first; now, or `as_of` a commit, snapshot, date or session.

        An empty query lists what passes the filters, the newest first. All of them hold, of one with several values any.

        `removed` looks among those that are gone; `events` is for people, and leaves out neither echoes of the memory
        nor what no longer holds. `scope` is empty for what holds on this machine, or `shared`, `all`, or the name of
        a machine. `reader` is for whom it is, where several users talk to one agent.
        """
        from gitmem.index.filters import Filters
        from gitmem.memory.find.search import Search

        wanted = Filters(
            _values(type),
            tuple(self.sessions.meant(one) for one in _values(session)),
            _values(agent),
            _values(tag),
            _date(since),
            _date(until),
            _values(path),
            scope,
            removed,
            _date(as_of),
            events=events,
            reader=reader,
        )
        return self.part(Search)(query, wanted, limit=limit)

    def recall(
        self,
        query: str,
        *,
        limit: int = 3,
        since: Date = "",
        until: Date = "",
        current: str = "",
        events: bool = False,
        reader: Reader | None = None,
    ) -> Recalled:
        """Return what earlier sessions had to do with a question; the current session is left out.

        `events` is for people and shows all that was recorded; `reader` is for whom it is.
        """
        from gitmem.index.filters import Filters
        from gitmem.memory.find.recall import Recall

        wanted = Filters(since=_date(since), until=_date(until), events=events, reader=reader)
        current = self.session_named(current)
        found = self.part(Recall)(query, wanted, limit=limit, current=current)
        if current:
            from gitmem.memory.capture.buffer import note_recalled

            note_recalled(self, current, found.entries)
        return found

    def recent_sessions(
        self, *, limit: int = 3, current: str = "", reader: Reader | None = None
    ) -> list[About]:
        """The newest sessions; the current one is left out."""
        from gitmem.memory.find.recall import Recall

        current = self.session_named(current)
        return self.part(Recall).browse(limit=limit, current=current, reader=reader)

    def read_session(self, session: str, *, around: str = "", events: bool = False) -> Reading:
        """Return how a session began and ended; or what is around an entry, by its id, which says the session too.

        Ids may be shortened as they are shown: to a beginning that only one has.

        `events` is for people, and shows all that was recorded.
        """
        from gitmem.memory.find.recall import Recall

        recall = self.part(Recall)
        if around:
            return recall.scroll(session, around, events=events)
        return recall.read(session, events=events)

    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        session: str = "",
        block: str | None = None,
        reader: Reader | None = None,
    ) -> Context:
        """The entries worth knowing for a turn; its `fenced` is a block for the prompt, of `budget` characters at most.

        Nothing of the present `session`, which the agent has before it anyway, and nothing that is in the prompt
        block: `block` is its text, or None for the curated store as a whole. What is shown goes into the session's record,
        so that a take-back knows what it reached.
        """
        from gitmem.memory.capture.buffer import note_recalled
        from gitmem.memory.find.context import context

        found = context(self, query, budget, session=session, block=block, reader=reader)
        if session:
            note_recalled(self, session, ((one.path, one.key) for one in found.shown))
        return found

    # History

    def log(
        self,
        *,
        kind: str | Iterable[str] = (),
        session: str | Iterable[str] = (),
        agent: str | Iterable[str] = (),
        machine: str | Iterable[str] = (),
        path: str | Iterable[str] = (),
        since: Date = "",
        until: Date = "",
        text: str = "",
        limit: int | None = None,
        start: Date = "HEAD",
    ) -> Iterator[LogEntry]:
        """Commits, newest first, from `start` back; with a text, those that brought or took an entry with it.

        All conditions hold, of one with several values any. A fold of branches shows as what it brought, unless kinds
        are named.
        """
        from itertools import chain, islice

        from gitmem.memory.find.filter_names import check_each
        from gitmem.memory.history.log import History, LogFilter
        from gitmem.memory.sync.fold import without_folds

        wanted = LogFilter(
            _values(kind),
            tuple(self.sessions.meant(one) for one in _values(session)),
            _values(agent),
            _values(machine),
            _values(path),
            *self._between(since, until),
        )
        every = self.part(History).log(wanted, start=_date(start), text=text)
        found = islice(every if wanted.kind else without_folds(self.repository, every), limit)
        first = list(islice(found, 1))
        names = {name: getattr(wanted, name) for name in ("kind", "session", "agent", "machine", "path")}
        check_each(self, bool(first), **names)
        return chain(first, found)

    def show(self, revision: Date = "HEAD") -> ShownCommit:
        """A commit, and what it did."""
        from gitmem.memory.history.log import History

        return self.part(History).show(_date(revision))

    def diff(
        self, a: Date | None = None, b: Date | None = None, *, session: str = "", path: str = ""
    ) -> Diff:
        """Return what changed, entry by entry, from `a` to `b` or to now; or what one session did.

        Without either: what was edited by hand and not committed yet.
        """
        from gitmem.errors import UsageError
        from gitmem.memory.find.filter_names import check_path
        from gitmem.memory.history.log import History

        history = self.part(History)
        if session and (a or b):
            raise UsageError("Give revisions or a session, not both.")
        if b and not a:
            raise UsageError(f"Say what to compare {b} with.")
        if session:
            found = history.of_session(self.sessions.meant(session), path)
        elif a:
            found = history.between(self.resolve(_date(a)), self.resolve(_date(b or "HEAD")), path)
        else:
            found = history.of_work_tree(path)
        if path and not found.changes:
            check_path(self, path)
        return found

    def blame(self, path: str, *, removed: bool = False, as_of: Date = "HEAD") -> list[Blamed]:
        """For every entry of a file: when it was added, by whom and why; `removed` lists those that are gone too."""
        from gitmem.memory.history.blame import blame_of

        return blame_of(self, path, revision=_date(as_of), removed=removed)

    def trace(self, text: str) -> Traced:
        """Return where a text, or an entry by its id, came from, what it was before, who saw it and what follows from it."""
        from gitmem.memory.history.trace import trace
        from gitmem.memory.ids import text_meant

        return trace(self, text_meant(self.index.current(), text))

    def digest(self, since: Date = "1 week ago", until: Date = "now") -> Digest:
        """Return what was learned, changed, decided, done and taken back in a stretch of time, and what waits for a
        person.
        """
        from gitmem.memory.history.digest import digest

        return digest(self, self.moment(_date(since), start=True), self.moment(_date(until)))

    def read_log(self) -> str:
        """The text of log.md with what was committed since it was written, as an agent may read it."""
        from gitmem.memory.gate.egress import Egress
        from gitmem.memory.log_page import since_pages
        from gitmem.okf import layout, pages

        lines = [
            *pages.parse_log(self.read(layout.LOG) or b""),
            *since_pages(self.repository, self.tip).lines,
        ]
        return Egress(self, self.index.current()).log(pages.log_page(lines))

    # Undoing: each is a commit on top

    def revert(
        self,
        *commits: str,
        session: str | Iterable[str] = (),
        agent: str | Iterable[str] = (),
        machine: str | Iterable[str] = (),
        source: str | Iterable[str] = (),
        since: Date = "",
        until: Date = "",
        text: str | Iterable[str] = (),
        path: str | Iterable[str] = (),
        entry: str | Iterable[str] = (),
        derived: bool = False,
        keep_record: bool = False,
        reason: str = "",
        dry_run: bool = False,
    ) -> Reverted:
        """Take back what some commits did, and keep everything that was learned since.

        They are named, or chosen by what they have in common: all conditions hold, of one with several values any of
        them, and one that chooses nothing is an error. `entry` takes back single entries by their ids, `path` only what
        is below it, `keep_record` only what was learned: the record of the conversations stays. The answer's `derived`
        is what was written because of their entries, by sessions that had them before them; with `derived` it is taken
        back too. What goes is retracted: no merge and no restore brings it back.
        """
        from dataclasses import replace

        from gitmem.errors import UsageError
        from gitmem.memory.history.impact import Place
        from gitmem.memory.history.revert import Undo
        from gitmem.memory.history.select import Selection, select
        from gitmem.memory.ids import entry_meant
        from gitmem.okf.entries import EntryKey

        self._ready_for_change(dry_run)
        only: dict[str, frozenset[Place]] = {}
        for one in _values(entry):
            found = entry_meant(self.index.current(), one)
            place = found.path, EntryKey(found.space, found.key)
            only[found.commit] = only.get(found.commit, frozenset()) | {place}
        named, span = tuple(map(self.resolve, commits)), self._between(since, until)
        wanted = Selection(
            (*named, *(commit for commit in only if commit not in named)),
            session=tuple(map(self.sessions.meant, _values(session))),
            agent=_values(agent),
            machine=_values(machine),
            source=_values(source),
            text=_values(text),
            path=tuple(one.rstrip("/") for one in _values(path)),
            since=span[0],
            until=span[1],
            derived=derived,
            keep_record=keep_record,
            only={commit: places for commit, places in only.items() if commit not in named},
        )
        if wanted.is_empty:
            raise UsageError(
                "Say what to take back: a commit, or a session, agent, machine, source, path, time or text."
            )
        selected = select(self, wanted)
        done = self.part(Undo).revert(
            selected.commits,
            origin=self.origin(reason=reason),
            dry_run=dry_run,
            picks=selected.picks,
            within=wanted.takes if wanted.is_partial else None,
        )
        return replace(done, derived=selected.derived)

    def restore(
        self,
        revision: Date,
        *,
        paths: str | Iterable[str] = (),
        everything: bool = False,
        reason: str = "",
        dry_run: bool = False,
    ) -> Restored:
        """Put facts, decisions, notes, plans and skills back to a revision; what was retracted since stays out.

        `everything` takes the record of conversations back too, `paths` only what is below them.
        """
        from gitmem.memory.history.restore import restore

        self._ready_for_change(dry_run)
        return restore(
            self,
            _date(revision),
            paths=[paths] if isinstance(paths, str) else list(paths),
            everything=everything,
            dry_run=dry_run,
            origin=self.origin(reason=reason),
        )

    def undoable(self, limit: int = 10) -> list[Undoable]:
        """List the changes that the next undos would take back, the next one first."""
        from itertools import islice

        from gitmem.memory.history.revert import Undo

        return list(islice(self.part(Undo).undoable(), limit))

    def undo(self, *, dry_run: bool = False) -> Reverted:
        """Take back the last change, whatever it was."""
        from gitmem.memory.history.revert import Undo

        self._ready_for_change(dry_run)
        return self.part(Undo).undo(origin=self.origin(), dry_run=dry_run)

    def redo(self, *, dry_run: bool = False) -> Reverted:
        """Take back the last undo: what it took back returns."""
        from gitmem.memory.history.revert import Undo

        self._ready_for_change(dry_run)
        return self.part(Undo).redo(origin=self.origin(), dry_run=dry_run)

    def snapshot(self, name: str = "", note: str = "") -> Snapshot:
        """Name the present state; without a name it is the time."""
        self._ready_for_change()
        return self.snapshots.create(name, note, origin=self.origin(session=self.session_named()))

    def erase(
        self,
        *,
        text: str = "",
        regex: str = "",
        secret: str = "",
        entry: str = "",
        path: str = "",
        session: str = "",
        person: str = "",
        reason: str = "",
        by: str = "",
        dry_run: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> Erased:
        """Erase something for good, from every commit, snapshot and file here: a text, an entry, a path or a session.

        A text is found as whole words, in upper or lower case and in every form that a memory writes it in; `regex` is
        matched as it is. `person` takes names with commas between them, and what names a person goes whole. `secret` is
        `COMMIT:PATH`, and means the secrets in that file. A receipt stays in `config/erased.md`; it cannot be undone.
        """
        from gitmem.errors import UsageError
        from gitmem.memory.erase.eraser import Eraser
        from gitmem.memory.erase.selection import EraseRequest

        given = {"text": text, "regex": regex, "secret": secret, "entry": entry}
        given |= {"path": path, "session": session, "person": person}
        asked = [EraseRequest(what, name) for what, name in given.items() if name]  # type: ignore[arg-type]
        if len(asked) != 1:
            raise UsageError(
                "Say what to erase: one text, expression, secret, entry, path, session or person."
            )
        self.flush_buffers()
        self._ready_for_change(dry_run)
        who = by or self.world.person or self.config.agent_id
        return Eraser(self, progress).run(asked[0], by=who, reason=reason, dry_run=dry_run)

    # Other programs

    def export(self, form: str, where: str, *, overwrite: bool = False) -> Exported:
        """Write the memory for other programs: okf, markdown, jsonl or agents-md; nothing here changes.

        Files that are there stay unless `overwrite`. Of AGENTS.md only the block between gitmem's markers is written.
        """
        from gitmem.memory.exchange.exporting import export

        return export(self, form, where, overwrite=overwrite)  # type: ignore[arg-type]

    def bring_in(
        self,
        form: str,
        where: str,
        *,
        since: Date = "",
        sessions: bool = False,
        dry_run: bool = False,
        progress: Callable[[Imported], None] | None = None,
    ) -> Imported:
        """Import what another program kept: hermes, holographic, okf, openclaw, markdown or jsonl.

        Each piece becomes one commit with its own date, through the gate. A second run brings only what is new; `undo`
        takes a run back whole. `since` and `sessions` choose among the sessions of Hermes.
        """
        from gitmem.memory.curated.archive import archive_overfull
        from gitmem.memory.exchange.importing import Importer, pieces

        self._ready_for_change(dry_run)
        if not dry_run:
            self.index.current()  # readers have it while what is imported is indexed in the background
        importer = Importer(self, form, dry_run=dry_run)
        begun = self.moment(_date(since), start=True).timestamp() if since else 0.0
        found = pieces(form, where, importer, since=begun, sessions=sessions)
        done = importer.run(found, progress or (lambda _: None))
        if not dry_run and done.entries:
            archive_overfull(self)
        if done.commits >= _MANY_COMMITS:
            from gitmem import background

            background.start(self.root, "gc", "--auto", env=self.world.env)
        return done

    # Other machines

    def sync(
        self,
        remote: str = "",
        *,
        dry_run: bool = False,
        allow_unrelated: bool = False,
        from_file: str = "",
        transport: str = "",
        timeout: float = 120.0,
        wait: float = 30.0,
        progress: Callable[[str], None] | None = None,
        accept_erasure: bool = False,
        leave_out: bool = False,
        fold: bool = False,
    ) -> Synced:
        """Bring this memory and a remote together: fetch, check, fold, push. `from_file` takes in a bundle file instead.

        What the scanner flags is held back, and listed in `held`. `progress` gets a few words for each stage. One sync
        of a memory runs at a time: another one is waited for, so many seconds. `accept_erasure` erases here, for good, what
        was erased on another machine; with `leave_out` unsent commits that hold it go too. `fold` says that this machine
        is to fold what other machines left on branches, however many others could do it.
        """
        from gitmem.memory.sync.sync import Sync

        self._ready_for_change(dry_run)
        syncing = Sync(
            self,
            timeout=timeout,
            prefer=transport,
            progress=progress,
            accept_erasure=accept_erasure,
            leave_out=leave_out,
            folds=fold,
        )
        if from_file:
            return syncing.from_file(from_file, dry_run=dry_run, allow_unrelated=allow_unrelated)
        return syncing.run(remote, dry_run=dry_run, allow_unrelated=allow_unrelated, wait=wait)

    # What verbs have in common

    def _ready_for_change(self, dry_run: bool = False) -> None:
        """Before a change of the whole: every hand edit is committed first, or nothing happens."""
        if not dry_run:
            self.prepare("whole")

    def _between(self, since: Date, until: Date) -> tuple[datetime | None, datetime | None]:
        begin = self.moment(_date(since), start=True) if since else None
        return begin, self.moment(_date(until)) if until else None

    def _origin(self, reason: str, source: str, session: str, derived_from: Iterable[str]) -> Origin:
        from gitmem.memory.find.entry_names import entry_names

        names, session = entry_names(self, derived_from), self.session_named(session)
        return self.origin(session=session, reason=reason, source=source, derived_from=names)


def _values(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return what a condition may be: one value, several, or (empty) anything."""
    return tuple(filter(None, (given,) if isinstance(given, str) else given))


def _date(given: Date) -> str:
    """Return a date as a person would write it."""
    return given if isinstance(given, str) else given.isoformat()
