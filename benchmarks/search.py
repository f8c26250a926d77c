"""How fast search is, against bare SQLite, git grep and hermes-okf.

    python -m benchmarks.search [--quick] [--million] [--json] [--only NAME…]

Sections: `query` (six-word questions at 100,000 entries, and with --million at 1,000,000, beside FTS5's own
any-word query for the same words), `asked` (processor time of search, recall and unasked context), `rebuild` (beside a
bare loop that reads, parses and inserts the same rows; memory of the process), `flush` (bringing the index up after 50
events at 10,000 files, beside a full rebuild), `command` (`gitmem search` as a process beside `git grep`), `prefetch`
(cold and warm), `peer` (hermes-okf's `recall()` at 10,000 concepts, where it is installed). --quick takes a tenth of
every size.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

from gitmem.config import Config
from gitmem.git.message import Message
from gitmem.git.transaction import Draft, publish
from gitmem.memory.find.context import context
from gitmem.memory.find.prefetch import Prefetch
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.create import create
from gitmem.okf.concept import Concept
from gitmem.okf.events import Event, EventsFile
from gitmem.text.words import STOP
from gitmem.world import World

from benchmarks.support import WHO, Report, Row, git, interleaved, ratio_row, timed, working_directory

_START = datetime(2026, 1, 1, tzinfo=UTC)
_PART = 40  # events to a part of 16 KB
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]


# --- content ----------------------------------------------------------------------------------------------


def _now() -> datetime:
    return datetime.now(UTC)


class Vocabulary:
    """Words as frequent as in prose: the n-th is n times as rare as the first."""

    def __init__(self, size: int = 30_000) -> None:
        chance = random.Random(1)
        stop = sorted(STOP)
        made = {"".join(chance.choices(_SYLLABLES, k=chance.randint(2, 5))) for _ in range(size * 2)}
        self.words = [*stop, *sorted(made - set(stop))[: size - len(stop)]]
        chance.shuffle(self.words[len(stop) :])
        total = 0.0
        self._cumulated = [total := total + 1 / (rank + 3) for rank in range(len(self.words))]

    def text(self, chance: random.Random, words: int) -> str:
        return " ".join(chance.choices(self.words, cum_weights=self._cumulated, k=words))

    def question(self, chance: random.Random, text: str) -> str:
        """Six words of a text, none twice: a question has frequent words and a few that tell."""
        known = list(dict.fromkeys(text.split()))
        return " ".join(chance.sample(known, min(6, len(known))))


VOCABULARY = Vocabulary()


def event(number: int, chance: random.Random) -> Event:
    at = (_START + timedelta(minutes=number % 500_000)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return Event(f"w-{number}", "turn", at, {"user": VOCABULARY.text(chance, chance.randint(20, 60))})


def bundle_of_events(root: str, entries: int) -> Memory:
    """A bundle of sessions with so many turns in all, in one commit for each 100,000."""
    bundle = create(World(os.environ, clock=_now), root, config=Config(machine="bench", fsync="off"))[0]
    chance = random.Random(entries)
    number = 0
    while number < entries:
        files: dict[str, bytes] = {}
        until = min(entries, number + 100_000)
        while number < until:
            session = f"s{number // 400:06d}"
            events = [event(one, chance) for one in range(number, min(number + _PART, until))]
            files[f"sessions/2026-01/30/{session}/w-{number:07d}.md"] = (
                EventsFile.new(session).append(events).render()
            )
            number += len(events)
        draft = Draft(files, Message("flush", "turns"), WHO, WHO)
        publish(bundle.repository, partial(_same, draft), purpose="benchmark")
    return bundle


def _same(draft: Draft, _tip: object) -> Draft:
    return draft


def bundle_of_concepts(root: str, files: int) -> Memory:
    bundle = create(World(os.environ, clock=_now), root, config=Config(machine="bench", fsync="off"))[0]
    chance = random.Random(files)
    made = {}
    for number in range(files):
        name = hashlib.sha1(b"%d" % number).hexdigest()
        title = VOCABULARY.text(chance, 5)
        at = f"2026-01-{1 + number % 28:02d}T10:00:00Z"
        concept = Concept.new("Note", VOCABULARY.text(chance, 90) + "\n", title=title, timestamp=at)
        made[f"notes/{name[:2]}/{name[2:14]}.md"] = concept.render()
    publish(bundle.repository, lambda _: Draft(made, Message("flush", "notes"), WHO, WHO), purpose="b")
    return bundle


def questions(bundle: Memory, count: int) -> list[str]:
    database = sqlite3.connect(bundle.index.path)
    (last,) = database.execute("SELECT max(id) FROM entry").fetchone()
    chance = random.Random(7)
    ids = [chance.randint(1, last) for _ in range(count)]
    texts = [database.execute("SELECT text FROM entry WHERE id >= ?", (one,)).fetchone()[0] for one in ids]
    database.close()
    return [VOCABULARY.question(chance, text.replace("[user] ", "")) for text in texts]


# --- sections ---------------------------------------------------------------------------------------------


def query(report: Report, directory: str, entries: int, *, times_bare: float, at_least: float) -> None:
    """Our answer, ranked and with snippets, beside FTS5's ten best rows for any of the words."""
    bundle = bundle_of_events(os.path.join(directory, f"q{entries}"), entries)
    took = timed(bundle.index.current)
    asked = questions(bundle, 40)
    bare = sqlite3.connect(bundle.index.path)

    def ask_bare(number: int) -> float:
        match = " OR ".join(f'"{word}"' for word in asked[number].split())
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT 10"
        return timed(lambda: bare.execute(sql, (match,)).fetchall())

    def ask_us(number: int) -> float:
        return timed(lambda: bundle.search(asked[number], limit=10))

    taken = interleaved({"ours": ask_us, "bare": ask_bare}, len(asked), warm_up=3)
    rows = [
        ratio_row("search / bare FTS5 any-word, top 10", taken["ours"], taken["bare"], at_most=times_bare)
        if times_bare
        else ratio_row(
            "bare FTS5 any-word / search, top 10", taken["bare"], taken["ours"], at_least=at_least
        ),
        Row("index built", took, unit="s"),
        Row("index on disk", os.path.getsize(bundle.index.path) / 1e6, unit="MB"),
    ]
    report.section(f"query at {entries:,} entries", rows)
    if times_bare:
        prefetching(report, bundle, asked)
    bare.close()
    bundle.index.close()


def asked_for(report: Report, directory: str, turns: int) -> None:
    """Processor time of what is asked for, beside FTS5 with 200 snippets for the same words."""
    bundle = bundle_of_events(os.path.join(directory, f"a{turns}"), turns)
    bundle.index.current()
    bare = sqlite3.connect(bundle.index.path)
    sql = "SELECT snippet(words, 0, '', '', '…', 30) FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT 200"

    def ask_bare(question: str) -> object:
        return bare.execute(sql, (" OR ".join(f'"{word}"' for word in question.split()),)).fetchall()

    ways: dict[str, Callable[[str], object]] = {
        "FTS5 with 200 snippets": ask_bare,
        "search": lambda question: bundle.search(question, limit=10),
        "recall": bundle.recall,
        "unasked context": lambda question: context(bundle, question),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for question in questions(bundle, 23):
        for name, ask in ways.items():
            began = time.process_time()
            ask(question)
            taken[name].append((time.process_time() - began) * 1000)
    median = {name: sorted(found[3:])[len(found[3:]) // 2] for name, found in taken.items()}
    search = median["search"]
    most = {
        "search": 3 * median["FTS5 with 200 snippets"] + 5,
        "recall": 2 * search,
        "unasked context": search,
    }
    rows = [Row(name, found, unit="ms", at_most=most.get(name)) for name, found in median.items()]
    report.section(f"processor time of a question at {turns:,} turns", rows)
    bare.close()
    bundle.index.close()


def prefetching(report: Report, bundle: Memory, asked: list[str]) -> None:
    """A cold prefetch looks it up on the turn's own time; a warm one finds it there."""
    prefetch = Prefetch(lambda text: context(bundle, text).fenced)
    cold: dict[int, float] = {}
    warm: dict[int, float] = {}
    for number, question in enumerate(asked):
        prefetch.forget()
        cold[number] = timed(partial(prefetch, number, question))
        warm[number] = timed(partial(prefetch, number + 1, question))
    prefetch.close()
    median = sorted(cold.values())[len(cold) // 2] * 1000
    report.section(
        "prefetch",
        [
            ratio_row("warm / cold", warm, cold, at_most=0.01),
            Row(
                "cold, median",
                median,
                unit="ms",
                at_most=50,
                note=f"worst {max(cold.values()) * 1000:.1f} ms",
            ),
        ],
    )


def rebuild(report: Report, directory: str, entries: int) -> None:
    """Our rebuild beside a loop that reads every file, parses it with the C loader and inserts the same rows."""
    events = bundle_of_events(os.path.join(directory, "r"), entries)
    notes = bundle_of_concepts(os.path.join(directory, "n"), entries // 10)
    for bundle, what in ((events, "turns"), (notes, "notes")):
        bundle.index.current()
        bundle.index.close()

        def ours(_: int, bundle: Memory = bundle) -> float:
            took = timed(bundle.index.rebuild)
            bundle.index.close()
            return took

        def bare(_: int, bundle: Memory = bundle) -> float:
            return timed(lambda: bare_loop(bundle, directory))

        taken = interleaved({"ours": ours, "bare": bare}, 3, warm_up=0)
        count = entries if what == "turns" else entries // 10
        report.section(
            f"rebuild, {count:,} {what}",
            [ratio_row("rebuild / bare loop", taken["ours"], taken["bare"], at_most=1.5)],
        )
    code = (
        "import sys, resource; from gitmem.config import Config; from gitmem.world import World;"
        "from gitmem.memory.opening import open_bundle;"
        "b = open_bundle(World(), sys.argv[1], 'as is', config=Config(machine='bench')); b.index.rebuild();"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, events.root], capture_output=True, text=True, check=True
    )
    report.section(
        f"memory of a rebuild, {entries:,} entries",
        [Row("peak", int(done.stdout) / 1024, unit="MB", at_most=300)],
    )


def bare_loop(bundle: Memory, directory: str) -> None:
    """What a rebuild must at least do: read, parse, insert rows and words."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    path = os.path.join(directory, "bare.db")
    if os.path.exists(path):
        os.unlink(path)
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = off")
    database.execute("PRAGMA synchronous = off")
    database.execute(
        "CREATE TABLE entry (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, text TEXT NOT NULL)"
    )
    database.execute(
        "CREATE VIRTUAL TABLE words USING fts5 (text, content = 'entry', content_rowid = 'id', "
        "tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    database.execute(
        "CREATE TABLE span (id INTEGER PRIMARY KEY, entry INTEGER, path TEXT, key TEXT, at TEXT)"
    )
    number = 0
    for path, data in files_of(bundle):
        head, _, body = data.decode().removeprefix("---\n").partition("\n---\n")
        meta = yaml.load(head, Loader=loader)
        if path.startswith("sessions/") and path.count("/") == 4:
            pieces = [piece.partition("\n\n") for piece in body.split("\n## ")[1:]]
            found = [(one, text.strip(), one[:24]) for one, _, text in pieces]
        else:
            found = [("", f"{meta.get('title', '')}\n\n{body.strip()}", str(meta.get("timestamp", "")))]
        for key, text, at in found:
            number += 1
            digest = hashlib.sha256(text.encode()).digest()[:16]
            cursor = database.execute("INSERT OR IGNORE INTO entry VALUES (?, ?, ?)", (number, digest, text))
            if cursor.rowcount:
                database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, text))
            database.execute("INSERT INTO span VALUES (?, ?, ?, ?, ?)", (number, number, path, key, at))
    database.commit()
    database.close()


def files_of(bundle: Memory) -> Iterator[tuple[str, bytes]]:
    """The markdown files of the tip, as the object store has them."""
    tree = bundle.tree()
    for path in bundle.file_paths():
        if path.endswith(".md") and not path.endswith(("index.md", "log.md")):
            data = tree.read(path)
            assert data is not None
            yield path, data


def flush(report: Report, directory: str, files: int) -> None:
    """Fifty events more, and the index brought up: beside making all of it again."""
    bundle = bundle_of_concepts(os.path.join(directory, "f"), files)
    bundle.index.current()
    whole = timed(bundle.index.rebuild)
    chance = random.Random(3)
    brought: list[float] = []
    for number in range(12):
        with bundle.session(f"b{number}") as session:
            for one in range(50):
                session.buffer.push("observation", content=VOCABULARY.text(chance, 30) + f" {number} {one}")
        brought.append(timed(bundle.index.current))
    middle = sorted(brought)[len(brought) // 2]
    report.section(
        f"bring up after 50 events at {files:,} files",
        [
            Row(
                "full rebuild / bring up",
                whole / middle,
                at_least=50,
                note=f"{whole * 1000:.0f} / {middle * 1000:.2f} ms",
            )
        ],
    )
    bundle.index.close()


def command(report: Report, directory: str, files: int) -> None:
    """`gitmem search` as people type it, start-up included, beside `git grep` of the same word."""
    bundle = bundle_of_concepts(os.path.join(directory, "c"), files)
    bundle.index.current()
    bundle.index.close()
    words = [max(question.split(), key=len) for question in questions(bundle, 15)]
    program = [sys.executable, "-m", "gitmem", "-C", bundle.root, "search"]
    env = {**os.environ, "GITMEM_MACHINE": "bench", "NO_COLOR": "1"}

    def ours(number: int) -> float:
        return processor(
            lambda: subprocess.run([*program, words[number]], check=True, capture_output=True, env=env)
        )

    def grep(number: int) -> float:
        return processor(lambda: git(bundle.root, "grep", "-w", "-i", words[number]))

    taken = interleaved({"ours": ours, "grep": grep}, len(words), warm_up=2)
    report.section(
        f"command at {files:,} files (processor time)",
        [ratio_row("gitmem search / git grep", taken["ours"], taken["grep"], at_most=1.8)],
    )


def processor(work: Callable[[], object]) -> float:
    """Processor time of the processes that the work starts, which a busy machine does not change much."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peer(report: Report, directory: str, files: int) -> None:
    """hermes-okf's `recall()`, which makes its index again for every question."""
    try:
        from hermes_okf import HermesMemory
    except ImportError:
        report.skip(
            "hermes-okf is not installed here: `pip install hermes-okf==0.5.9` beside gitmem adds it."
        )
        return
    bundle = bundle_of_concepts(os.path.join(directory, "p"), files)
    bundle.index.current()
    asked = questions(bundle, 3)
    agent = HermesMemory(bundle.root)

    def theirs(number: int) -> float:
        return timed(lambda: agent.recall(asked[number]))

    def ours(number: int) -> float:
        return timed(lambda: bundle.search(asked[number]))

    taken = interleaved({"ours": ours, "theirs": theirs}, len(asked), warm_up=0)
    report.section(
        f"hermes-okf at {files:,} concepts",
        [ratio_row("hermes-okf recall() / search", taken["theirs"], taken["ours"], at_least=100)],
    )
    bundle.index.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of every size")
    parser.add_argument("--million", action="store_true", help="also 1,000,000 entries (takes minutes)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--directory", help="where to make the bundles (default: a temporary one)")
    parser.add_argument("--only", nargs="*", default=(), help="query asked rebuild flush command peer")
    options = parser.parse_args()
    small = 10 if options.quick else 1
    report = Report(as_json=options.json)
    sections: dict[str, Callable[[str], None]] = {
        "query": lambda at: query(report, at, 100_000 // small, times_bare=1.5, at_least=0),
        "asked": lambda at: asked_for(report, at, 100_000 // small),
        "asked of few": lambda at: asked_for(report, at, 1_000),
        "rebuild": lambda at: rebuild(report, at, 100_000 // small),
        "flush": lambda at: flush(report, at, 10_000 // small),
        "command": lambda at: command(report, at, 10_000 // small),
        "peer": lambda at: peer(report, at, 10_000 // small),
    }
    if options.million:
        sections["million"] = lambda at: query(report, at, 1_000_000 // small, times_bare=0, at_least=2)
    began = time.monotonic()
    for name, section in sections.items():
        if not options.only or name in options.only:
            with working_directory(options.directory) as directory:
                section(directory)
    report.finish()
    if not options.json:
        print(f"{time.monotonic() - began:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
