"""The index of a bundle, brought up to the tip before anybody reads it, and rebuilt when it is unusable."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from gitmem.errors import BundleBusy, IndexTrouble
from gitmem.git.objects import Commit, Oid
from gitmem.index.database import PRIVATE, Database, publish, remove
from gitmem.index.lookup import Lookup
from gitmem.notices import Notice
from gitmem.state import INDEX, INDEX_NEW

if TYPE_CHECKING:
    from gitmem.locks import Lock
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.replay import Progress

T = TypeVar("T")

_WAIT = 60.0
_PATIENCE = 1.0
"""Seconds that a reader waits for a build in the background; then it reads the index as it is."""


Index = Lookup
"""An open index."""


class Indexing:
    """The index of one bundle: `current()` is what every reader asks for."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._repository = bundle.repository
        self.path = bundle.state.path(INDEX)
        self._local = threading.local()
        self._open: weakref.WeakSet[Index] = weakref.WeakSet()
        bundle.on_close(self.close_all)
        self.progress: Progress = lambda _done, _of: None
        """Told how far a long build has come; the command line shows a bar."""

    # Reading

    def current(self) -> Index:
        """The index as of the tip. Where it cannot be kept on disk, a private one for this process."""
        tip = self._bundle.tip
        index = self._opened()
        if index is not None and index.database.path == PRIVATE:
            self._fill(index.database, tip)
            return index
        try:
            if index is None:
                index = self._keep(Index(Database.open(self.path)))
            if index.tip != tip:
                if index.tip and self._is_brought_up_elsewhere(index, tip):
                    self._bundle.report(Notice("index-behind"))
                else:
                    self._fill(index.database, tip)
            return index
        except IndexTrouble as trouble:
            return self._repaired(trouble, tip)

    def catch_up(self) -> None:
        """Bring the index up to the tip in the background, while readers go on with what it has."""
        with (
            contextlib.suppress(IndexTrouble, BundleBusy),
            self._lock("index-background").hold("index", wait=0),
            self._building(),
        ):
            database = Database.open(self.path)
            try:
                self._fill(database, self._bundle.tip)
            finally:
                database.close()

    def _is_brought_up_elsewhere(self, index: Index, tip: Oid) -> bool:
        lock, until = self._lock("index-background"), time.monotonic() + _PATIENCE
        while lock.is_held and time.monotonic() < until:
            time.sleep(_PATIENCE / 20)
        return index.tip != tip and lock.is_held

    def ask(self, question: Callable[[Index], T]) -> T:
        """Put a question to the index as of the tip, and once more to a repaired one where it fails."""
        try:
            return question(self.current())
        except IndexTrouble as trouble:
            return question(self._repaired(trouble, self._bundle.tip))

    def _repaired(self, trouble: IndexTrouble, tip: Oid) -> Index:
        self.close()
        if trouble.kind in ("missing", "damaged"):
            if trouble.kind == "damaged":
                self._bundle.report(Notice("index-rebuilt", detail=trouble.why))
            try:
                return self._keep(Index(self._build(tip, unless_current=trouble.kind == "missing")))
            except IndexTrouble as worse:
                trouble = worse
        self._bundle.report(Notice("index-private", detail=trouble.why))
        return self._keep(Index(self._private(tip)))

    # Writing

    def rebuild(self) -> Index:
        """The index made anew from the history, whatever stood there."""
        self.close()
        return self._keep(Index(self._build(self._bundle.tip, unless_current=False)))

    def forget(self) -> None:
        """Delete the index, with every text that it holds; the next reader makes it again."""
        self.close()
        with self._building():
            remove(self.path)

    def _build(self, tip: Oid, *, unless_current: bool) -> Database:
        """A fresh database at the index's place; another process's, if it was faster."""
        with self._building():
            if unless_current:
                with contextlib.suppress(IndexTrouble):
                    found = Database.open(self.path)
                    self._fill(found, tip)
                    return found
            made = self._bundle.state.path(INDEX_NEW)
            remove(made)
            try:
                database = Database.create(made)
                try:
                    self._fill(database, tip)
                    database.settle()
                finally:
                    database.close()
                publish(made, self.path)
            finally:
                remove(made)
            return Database.open(self.path)

    def _private(self, tip: Oid) -> Database:
        database = Database.create(PRIVATE)
        self._fill(database, tip)
        return database

    @contextlib.contextmanager
    def _building(self) -> Iterator[None]:
        """One process builds; the others wait for it."""
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(self._lock().hold("index", wait=_WAIT))
            except BundleBusy:
                raise IndexTrouble("busy", "another process is building it") from None
            except OSError as error:
                raise IndexTrouble("unwritable", f"the system refuses ({error.strerror})") from error
            yield

    def _lock(self, name: str = "index") -> Lock:
        """The lock of a build, or `index-background` of one that takes long: nobody waits for that."""
        return self._bundle.state.lock(name, "Another process is building the index.")

    def _fill(self, database: Database, tip: Oid) -> None:
        """Bring a database up to a commit, in one transaction."""
        if Lookup(database).tip == tip:
            return
        if not database.is_writable:
            raise IndexTrouble("unwritable", "it is behind and cannot be written to")
        from gitmem.index.writer import Writer
        from gitmem.memory.replay import Replay

        with database.writing():
            index = Lookup(database)
            if index.tip == tip:  # another process was faster
                return
            commits, base, seq = self._missing(index, tip)
            writer = Writer(database)
            if seq < index.seq:
                writer.roll_back(seq)
            replay = Replay(self._repository, writer)
            replay.run(commits, base=base, seq=seq, progress=self.progress)
            database.set("tip", tip)
            database.set("seq", str(seq + len(commits)))

    def _missing(self, index: Lookup, tip: Oid) -> tuple[list[Commit], Commit | None, int]:
        """The commits of the line that the index lacks, oldest first, and the one it has before them, with its place."""
        store = self._repository.store
        found: list[Commit] = []
        current: Oid | None = tip
        while current is not None:
            commit = store.commit(current)
            known = index.commit(current)
            if known is not None and known.main:
                return found[::-1], commit, known.seq
            found.append(commit)
            current = commit.parents[0] if commit.parents else None
        return found[::-1], None, 0

    # Connections: one for each thread

    def _opened(self) -> Index | None:
        index: Index | None = getattr(self._local, "index", None)
        if index is not None and index.database.is_replaced:
            self.close()
            return None
        return index

    def _keep(self, index: Index) -> Index:
        self._local.index = index
        self._open.add(index)
        finalizer = weakref.finalize(
            index, index.database.close
        )  # a thread that ends closes nothing by itself
        # At exit a worker may be inside SQLite still, and closing its connection under it crashes the process.
        finalizer.atexit = False
        return index

    def close(self) -> None:
        """Give this thread's connection back."""
        index: Index | None = getattr(self._local, "index", None)
        if index is not None:
            self._local.index = None
            index.database.close()

    def close_all(self) -> None:
        """Give back the connections of all threads: nobody asks any more."""
        self._local = threading.local()
        for index in list(self._open):
            index.database.close()
