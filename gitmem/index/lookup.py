"""Looking up what the index knows of the history: commits by path, session or trailer, and spans by place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from gitmem.index import schema
from gitmem.index.database import Database
from gitmem.index.filters import marks
from gitmem.index.records import Place, SessionFacts
from gitmem.okf import timestamps
from gitmem.okf.entries import EntryKey


@dataclass(frozen=True, slots=True)
class CommitRow:
    """A commit: its id, its place, and who made it. `main` is False for one that a merge brought."""

    oid: str
    seq: int
    main: bool
    time: int
    kind: str
    session: str
    agent: str
    machine: str


@dataclass(frozen=True, slots=True)
class Span(Place):
    """A text at one of its places."""

    text: str


_COMMIT = "SELECT c.oid, c.seq, c.main, c.time, c.kind, c.session, c.agent, c.machine FROM commits c "
# Newest first; among what one merge brought, its own commit and then the later ones.
_NEWEST = " ORDER BY c.seq DESC, c.main DESC, c.id DESC"
PLACE_COLUMNS = (
    "s.id, p.name, s.space, s.key, s.type, s.session, c.agent, c.machine, s.at, s.tags, s.deprecated, s.scope, "
    "s.rank, s.source, s.replaces, s.turn, c.oid, s.from_seq, s.to_seq"
)
_TAGS = 9
"""The place of the tags among them."""
SPANS = "span s JOIN path p ON p.id = s.path JOIN commits c ON c.id = s.origin"
_SPAN = f"SELECT {PLACE_COLUMNS}, e.text FROM {SPANS} JOIN entry e ON e.id = s.entry"
_COLUMNS = {"path": "p.name", "commit": "c.oid"}
_KNOWN = "(s.rank = 'knowledge' OR s.type = 'observation')"
_HAVING = "SELECT m.entry FROM words JOIN message m ON m.id = words.rowid WHERE words MATCH ?"
_A_FEW = 3
"""Turns in which a name may have been said before an entry brought it into the memory."""
_OTHERS = re.compile(r"\n\[(?:assistant|note)\] ")
"""What follows the words of the user in the text of a turn."""
Named = Literal["type", "tag", "session", "agent", "machine", "path"]
_NAMES: dict[Named, str] = {
    "type": "SELECT DISTINCT type FROM span",
    "tag": "SELECT DISTINCT tags FROM span WHERE tags <> ''",
    "session": "SELECT name FROM session UNION SELECT session FROM commits UNION SELECT session FROM span",
    "agent": "SELECT DISTINCT agent FROM commits",
    "machine": "SELECT machine FROM commits UNION SELECT substr(scope, 9) FROM span WHERE scope LIKE 'machine:%'",
    "path": "SELECT name FROM path",
}
_EVENT_OF = "s.session = ? AND s.space = 'event' AND s.to_seq IS NULL"


class Lookup:
    """The history by its keys. Answers hold for the commit that the index is at."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # Where the index stands

    @property
    def tip(self) -> str:
        """The commit that the index reflects; empty before the first."""
        return self.database.get("tip")

    @property
    def seq(self) -> int:
        """That commit's place on the first-parent line."""
        return int(self.database.get("seq") or 0)

    def count_texts(self) -> int:
        """Return the number of distinct texts in the index."""
        return int(self.database.column("SELECT count(*) FROM entry")[0])

    # Commits

    def commit(self, oid: str) -> CommitRow | None:
        return next(iter(self._commits("WHERE c.oid = ?", (oid,))), None)

    def commit_at(self, seq: int) -> CommitRow | None:
        """The commit at a place of the first-parent line."""
        return next(iter(self._commits("WHERE c.seq = ? AND c.main = 1", (seq,))), None)

    def time_of(self, seq: int) -> str:
        """Return the time of the commit at a place of the first-parent line, to the second."""
        found = self.commit_at(seq)
        return timestamps.of_seconds(found.time).strftime("%Y-%m-%dT%H:%M:%S") if found else ""

    def commits_touching(self, path: str, *, limit: int = -1) -> list[CommitRow]:
        """Commits that changed a file, or anything below a directory, newest first; "" is everything.

        A merge counts only where its result is none of its parents'.
        """
        if not path:
            return self._commits("WHERE true", (), limit)
        where = (
            "WHERE c.id IN (SELECT x.commit_id FROM path_change x JOIN path p ON p.id = x.path "
            "WHERE p.name = ? OR (p.name > ? AND p.name < ?))"
        )
        return self._commits(where, (path, f"{path}/", f"{path}0"), limit)

    def commits_with(self, trailer: str, value: str) -> list[CommitRow]:
        """Commits with that value of a trailer (Session, Agent, Machine, Source, Derived-From, …), newest first."""
        where = "WHERE c.id IN (SELECT commit_id FROM trailer WHERE key = ? AND value = ?)"
        return self._commits(where, (trailer, value))

    def in_order(self, oids: Iterable[str]) -> list[str]:
        """Those of some commits that are on the line or came by a merge, newest first."""
        found = self.database.rows_of("SELECT seq, main, id, oid FROM commits WHERE oid IN", oids)
        return [oid for *_, oid in sorted(found, reverse=True)]

    def _commits(self, where: str, values: Iterable[Any], limit: int = -1) -> list[CommitRow]:
        found = self.database.rows(f"{_COMMIT}{where}{_NEWEST} LIMIT ?", (*values, limit))
        return [CommitRow(oid, seq, bool(main), *rest) for oid, seq, main, *rest in found]

    # Spans

    def spans(self, *, now: bool = False, **by: str | int) -> list[Span]:
        """Every place of the entries with these values, the oldest first; with `now` only where they are still.

        The values are those of `path`, `space`, `key`, `type`, `replaces`, `entry`, `id` and `commit`.
        """
        asked = [f"{_COLUMNS.get(name, f's.{name}')} = ?" for name in by]
        asked += ["s.to_seq IS NULL"] if now else []
        # Said once more in the query itself, or SQLite does not use the index of such rows.
        asked += ["s.replaces <> ''"] if "replaces" in by else []
        asked += ["s.space = '§'"] if by.get("space") == "§" else []
        return self._spans(f"WHERE {' AND '.join(asked)}", by.values())

    def span_at(self, path: str, key: EntryKey) -> Span | None:
        """Return the last place of an entry in a file."""
        return next(reversed(self.spans(path=path, key=key.id, space=key.space)), None)

    def places(self, space: str = "", beginning: str = "") -> list[tuple[str, str, str]]:
        """Path, space and key of every entry there ever was, or of those of a space whose key begins so."""
        where = "WHERE s.space = ? AND substr(s.key, 1, ?) = ?" if space else ""
        return self.database.rows(
            f"SELECT DISTINCT p.name, s.space, s.key FROM span s JOIN path p ON p.id = s.path {where}",
            (space, len(beginning), beginning) if space else (),
        )

    def spans_of_id(self, space: str, least: str, most: str, end: str, *, limit: int) -> list[Span]:
        """Every place of entries whose ids are between two, and end so."""
        where = (
            "WHERE s.space = ? AND s.key >= ? AND s.key < ? AND substr(s.key, -length(?)) = ?"
            if end
            else "WHERE s.space = ? AND s.key >= ? AND s.key < ? AND ? = ?"
        )
        return self._spans(where, (space, least, most, end, end))[:limit]

    def spans_containing(self, text: str) -> list[Span]:
        """Every place that a text with these words in it stood at; upper and lower case are one."""
        entries = "SELECT id FROM entry WHERE instr(lower(text), lower(?)) > 0"
        return self._spans(f"WHERE s.entry IN ({entries})", (text,))

    def spans_in(self, path: str) -> list[Span]:
        """The entries of a file as they are now, the newest first."""
        return sorted(self.spans(now=True, path=path), key=lambda span: span.at, reverse=True)

    # The events of a session, in the order of time

    def count_events(self, session: str) -> int:
        return int(self.database.column(f"SELECT count(*) FROM span s WHERE {_EVENT_OF}", (session,))[0])

    def events(
        self, session: str, limit: int, *, last: bool = False, start: str = "", end: str = "~"
    ) -> list[Span]:
        """Return the first or last events of a session, of a stretch of time where one is given."""
        found = self._events("AND s.at >= ? AND s.at < ?", (session, start, end, limit), backwards=last)
        return found[::-1] if last else found

    def events_around(self, session: str, span: int, reach: int) -> list[Span]:
        """An event with `reach` events before and after it."""
        found = self.database.row("SELECT at FROM span WHERE id = ?", (span,))
        if found is None:
            return []
        here = (session, found[0], span)
        before = self._events("AND (s.at, s.id) <= (?, ?)", (*here, reach + 1), backwards=True)
        behind = self._events("AND (s.at, s.id) > (?, ?)", (*here, reach), backwards=False)
        return [*before[::-1], *behind]

    def _events(self, where: str, values: Iterable[Any], *, backwards: bool) -> list[Span]:
        way = "DESC" if backwards else "ASC"
        return self._spans(f"WHERE {_EVENT_OF} {where}", values, f"s.at {way}, s.id {way} LIMIT ?")

    def _spans(self, where: str, values: Iterable[Any], order: str = "s.from_seq, s.id") -> list[Span]:
        return [
            Span(*_with_tags(row))
            for row in self.database.rows(f"{_SPAN} {where} ORDER BY {order}", tuple(values))
        ]

    # Sessions

    def session(self, name: str) -> SessionFacts | None:
        """Return the current facts of a session's concept."""
        return next(iter(self._sessions("name = ? AND to_seq IS NULL", (name,))), None)

    def session_once(self, name: str) -> SessionFacts | None:
        """Return the current or last facts of a session's concept."""
        return self._last_session("name", name)

    def session_in(self, path: str) -> SessionFacts | None:
        """The same of the session that a file belongs to."""
        return self._last_session("path", path if path.count("/") < 4 else f"{path.rpartition('/')[0]}.md")

    def _last_session(self, column: str, value: str) -> SessionFacts | None:
        where = f"{column} = ? ORDER BY to_seq IS NOT NULL, from_seq DESC LIMIT 1"
        return next(iter(self._sessions(where, (value,))), None)

    def names(self, what: Named) -> list[str]:
        """Every name of a kind that the history has, or had."""
        return [name for (row,) in self.database.rows(_NAMES[what]) for name in tags_of(row)]

    def sessions(self, *, limit: int = -1, offset: int = 0) -> list[SessionFacts]:
        """Every session there is, the newest first."""
        return self._sessions(
            "to_seq IS NULL ORDER BY started DESC, name DESC LIMIT ? OFFSET ?", (limit, offset)
        )

    def sessions_between(self, start: str, end: str, *, limit: int) -> list[SessionFacts]:
        """The sessions that may have gone on between two moments, the newest first."""
        return self._sessions(
            "to_seq IS NULL AND started < ? AND (started >= ? OR ended >= ? OR ended = '') "
            "ORDER BY started DESC, name DESC LIMIT ?",
            (end, start, start, limit),
        )

    def sessions_titled(self, title: str) -> list[str]:
        """The sessions of exactly that title, upper and lower case being one."""
        found = self._sessions("to_seq IS NULL AND title <> '' AND lower(title) = lower(?)", (title,))
        return [one.name for one in found]

    def roots(self) -> dict[str, str]:
        """Return for each session that came out of another the first one of its line."""
        query = "SELECT name, parent FROM session WHERE parent > '' AND to_seq IS NULL"
        parents: dict[str, str] = dict(self.database.rows(query))
        found = {}
        for name in parents:
            seen, root = {name}, name
            while (parent := parents.get(root, "")) and parent not in seen:  # a circle is made by hand
                seen.add(parent)
                root = parent
            found[name] = root
        return found

    def session_sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of entries that each session ever wrote."""
        listed = list(names)
        query = f"SELECT session, count(*) FROM span WHERE session IN ({marks(listed)}) GROUP BY session"
        return dict(self.database.rows(query, listed))

    def _sessions(self, where: str, values: Iterable[Any]) -> list[SessionFacts]:
        columns = ", ".join(column.name for column in fields(SessionFacts))
        found = self.database.rows(f"SELECT {columns} FROM session WHERE {where}", tuple(values))
        return [SessionFacts(*row) for row in found]

    # Keys: by what a text is known that repeats an entry

    def has_keys(self) -> bool:
        return self.database.row("SELECT 1 FROM key LIMIT 1") is not None

    def keys_near(self, tokens: Iterable[str]) -> list[tuple[int, str]]:
        """Return the keys and quotes that a text of these tokens may have, each with the id of its entry."""
        return list(
            dict.fromkeys(self.database.rows_of("SELECT entry, word FROM key WHERE token IN", tokens))
        )

    def was_known(self, phrase: str, entry: int, seq: int, session: str) -> bool:
        """Return whether knowledge, or more than a few turns of other sessions, had a phrase before a commit."""
        ranks = self.database.column(
            f"SELECT s.rank FROM span s WHERE s.entry IN ({_HAVING}) AND s.entry <> ? "
            "AND s.from_seq BETWEEN 1 AND ? AND (s.rank = 'knowledge' OR (s.type = 'turn' AND s.session <> ?)) "
            "ORDER BY s.rank <> 'knowledge' LIMIT ?",
            (f'"{phrase}"', entry, seq - 1, session, _A_FEW + 1),
        )
        return "knowledge" in ranks or len(ranks) > _A_FEW

    # Turns: what was said in one, and what it wrote

    def events_of_turn(self, turn: str) -> list[Span]:
        """Return the events of a turn."""
        return self._spans("WHERE s.turn = ? AND s.turn <> ''", (turn,))

    def turns_of(self, path: str, key: str) -> list[str]:
        """The turns that wrote an entry, as any version of it said."""
        return self.database.column(
            "SELECT DISTINCT w.turn FROM wrote w JOIN path p ON p.id = w.path WHERE p.name = ? AND w.key = ? ORDER BY 1",
            (path, key),
        )

    def first_turns(self, session: str, limit: int = 50) -> list[tuple[str, str]]:
        """The turns with which a session began, each with what was said in it."""
        return self.database.rows(
            "SELECT s.turn, e.text FROM span s JOIN entry e ON e.id = s.entry WHERE s.session = ? AND s.type = 'turn' "
            "AND s.space = 'event' ORDER BY s.at, s.id LIMIT ?",
            (session, limit),
        )

    def turns_beside(self, turn: str) -> tuple[str, str]:
        """The previous and next turn of one in its session; empty where there is none."""
        beside = "SELECT o.turn FROM span o WHERE o.session = h.session AND o.type = 'turn' AND o.space = 'event' AND"
        found = self.database.row(
            f"SELECT ({beside} (o.at, o.id) < (h.at, h.id) ORDER BY o.at DESC, o.id DESC LIMIT 1), "
            f"({beside} (o.at, o.id) > (h.at, h.id) ORDER BY o.at, o.id LIMIT 1) FROM span h "
            "WHERE h.turn = ? AND h.turn <> '' AND h.type = 'turn' ORDER BY h.from_seq, h.id LIMIT 1",
            (turn,),
        )
        before, behind = found or ("", "")
        return before or "", behind or ""

    def said_in(self, turn: str) -> str:
        """Return the words of the user in a turn; empty where none are on record."""
        return _said_in(span.text for span in self.events_of_turn(turn) if span.type == "turn")

    def shown_to(self, name: str) -> list[tuple[str, str]]:
        """The sessions that were shown an entry of that name, each with the turn."""
        return self.database.rows("SELECT session, turn FROM shown WHERE name = ? ORDER BY from_seq", (name,))

    def prompted_between(self, start: int, end: int | None) -> list[str]:
        """The sessions whose prompts were made from a commit of this stretch of the line."""
        return self.database.column(
            "SELECT DISTINCT b.session FROM commits c JOIN block b ON b.commit_oid = c.oid "
            "WHERE c.seq >= ? AND c.seq < ? ORDER BY c.seq",
            (start, self.seq + 1 if end is None else end),
        )

    def gone_of_turn(self, turn: str) -> list[tuple[int, str]]:
        """The entries that a turn wrote and that are no longer where it wrote them; each with the commit that says so."""
        return self.database.rows(
            "SELECT DISTINCT s.entry, c.oid FROM wrote w JOIN commits c ON c.id = w.origin "
            "JOIN span s ON s.path = w.path AND s.key = w.key WHERE w.turn = ? AND NOT EXISTS "
            "(SELECT 1 FROM span n WHERE n.path = w.path AND n.key = w.key AND n.to_seq IS NULL)",
            (turn,),
        )

    def undone(self) -> dict[str, list[str]]:
        """The turns that the user took back, each with the commits that say so."""
        found: dict[str, list[str]] = {}
        query = "SELECT s.turn, c.oid FROM span s JOIN commits c ON c.id = s.origin"
        query += f" WHERE {schema.IS_UNDO}"
        for turn, commit in self.database.rows(query):
            found.setdefault(turn, []).append(commit)
        return found

    def shown_in(self, turn: str) -> list[str]:
        """The names of the entries that a turn was shown."""
        return self.database.column("SELECT DISTINCT name FROM shown WHERE turn = ?", (turn,))

    def gone_sections(self, limit: int) -> list[tuple[int, str, str, str]]:
        """The § entries that are in no file any more, the last ones first: id, key, text, and what the user said with it."""
        turns = (
            "SELECT group_concat(t.text, char(30)) FROM wrote w JOIN span x ON x.turn = w.turn AND x.turn <> '' "
            "AND x.type = 'turn' JOIN entry t ON t.id = x.entry WHERE w.path = s.path AND w.key = s.key"
        )
        found = self.database.rows(
            f"SELECT s.entry, s.key, e.text, ({turns}), max(s.to_seq) FROM span s JOIN entry e ON e.id = s.entry "
            "WHERE s.to_seq IS NOT NULL AND s.space = '§' AND NOT EXISTS "
            "(SELECT 1 FROM span n WHERE n.entry = s.entry AND n.space = '§' AND n.to_seq IS NULL) "
            "GROUP BY s.entry ORDER BY 5 DESC LIMIT ?",
            (limit,),
        )
        return [
            (entry, key, text, _said_in((turns or "").split(chr(30)))) for entry, key, text, turns, _ in found
        ]

    def text_of(self, entry: int) -> str:
        return "".join(self.database.column("SELECT text FROM entry WHERE id = ?", (entry,)))

    def knowledge_spans(self, entry: int) -> list[Span]:
        """Every place where an entry was knowledge or an observation, the oldest first."""
        return self._spans(f"WHERE s.entry = ? AND {_KNOWN}", (entry,))

    def successors(self, key: str) -> list[tuple[int, str]]:
        """The entries that took the place of a § entry and are there now, the newest first."""
        return self.database.rows(
            "SELECT e.id, e.text FROM span s JOIN entry e ON e.id = s.entry "
            "WHERE s.replaces = ? AND s.replaces <> '' "
            "ORDER BY s.to_seq IS NULL DESC, s.at DESC, s.key DESC",
            (key,),
        )

    def rivals(self, path: str, replaces: str) -> list[Span]:
        """The entries of a file that replace the same one."""
        # The plus keeps SQLite from reading the whole file: a store has had thousands of entries, few replace one.
        where = "s.replaces = ? AND s.replaces <> '' AND +p.name = ? AND s.to_seq IS NULL"
        return self._spans(f"WHERE {where} AND {_KNOWN}", (replaces, path))

    def knowledge_with(self, phrase: str, limit: int) -> list[tuple[int, str]]:
        """Return the knowledge of now that has these words in a row."""
        return self.database.rows(
            "SELECT DISTINCT e.id, e.text FROM entry e JOIN span s ON s.entry = e.id "
            f"WHERE e.id IN ({_HAVING}) AND s.to_seq IS NULL AND {_KNOWN} LIMIT ?",
            (f'"{phrase}"', limit),
        )

    # Retractions and links

    def is_retracted(self, name: str) -> bool:
        """Return whether an entry is retracted now, by the name of its retraction."""
        return bool(self.retracted_among((name,)))

    def retracted_among(self, names: Iterable[str]) -> set[str]:
        """Those of the names under which something is retracted now."""
        found = self.database.rows_of("SELECT hash FROM retraction WHERE to_seq IS NULL AND hash IN", names)
        return {name for (name,) in found}

    def has_retractions(self) -> bool:
        """Return whether anything is retracted now."""
        return self.database.row("SELECT 1 FROM retraction WHERE to_seq IS NULL LIMIT 1") is not None

    def links(self, path: str) -> list[str]:
        """The paths that a file links to."""
        return self.database.column(
            "SELECT DISTINCT l.target FROM link l JOIN path p ON p.id = l.source "
            "WHERE p.name = ? AND l.to_seq IS NULL ORDER BY l.target",
            (path,),
        )

    def backlinks(self, path: str) -> list[str]:
        """The files that link to a path."""
        return self.database.column(
            "SELECT DISTINCT p.name FROM link l JOIN path p ON p.id = l.source "
            "WHERE l.target = ? AND l.to_seq IS NULL ORDER BY p.name",
            (path,),
        )


def _said_in(turns: Iterable[str]) -> str:
    """Return the words of the user in the texts of turns."""
    said = (_OTHERS.split(text)[0] for text in turns)
    return "\n".join(text[7:] for text in said if text.startswith("[user] "))


def tags_of(stored: str) -> tuple[str, ...]:
    return tuple(stored.strip("\n").split("\n")) if stored else ()


def place_of(row: Sequence[Any]) -> Place:
    """The place in a row of PLACE_COLUMNS."""
    return Place(*_with_tags(row))


def _with_tags(row: Sequence[Any]) -> list[Any]:
    values = list(row)
    values[_TAGS] = tags_of(values[_TAGS])
    return values
