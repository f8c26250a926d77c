"""The tables of the index. All of it can be rebuilt from the history; a change here raises VERSION."""

from __future__ import annotations

from dataclasses import fields

from gitmem.index.records import UNDONE, SessionFacts

VERSION = 14
APPLICATION = 0x676D656D  # "gmem"

IS_UNDO = f"tags = '\n{UNDONE}\n'"
"""What is true of an event that says that the user took back its turn."""

_SESSION = ", ".join(f"{column.name} TEXT NOT NULL" for column in fields(SessionFacts))

VECTORS_CHANGED = (
    "INSERT INTO meta VALUES ('vectors changed', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
)
"""Counts the changes of the vectors, since the ids of messages that went are given again."""

# `seq` is a commit's place on the first-parent line of main, the first commit being 1. A commit that came in
# by a merge has the seq of that merge and main = 0. Rows with `from_seq` and `to_seq` stand on that line: from
# the one up to and without the other, NULL while they stand.
SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE entry (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, text TEXT NOT NULL);

-- The messages of a text, since each is weighed by its own length: a turn has two, what the one said and what the other
-- answered; another text is one. `start` and `length` count characters; a length of -1 is the whole text.
CREATE TABLE message (
    id INTEGER PRIMARY KEY, entry INTEGER NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL
);
CREATE INDEX message_entry ON message (entry);
CREATE VIEW message_text (id, entry, text) AS
    SELECT m.id, m.entry, CASE WHEN m.length < 0 THEN e.text ELSE substr(e.text, m.start + 1, m.length) END
    FROM message m JOIN entry e ON e.id = m.entry;

-- A vector for each message, where search by meaning is on; empty for one that gets none.
CREATE TABLE vector (message INTEGER PRIMARY KEY, data BLOB NOT NULL);

CREATE VIRTUAL TABLE words USING fts5 (
    text, content = 'message_text', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE grams USING fts5 (pieces, content = '', tokenize = "ascii tokenchars '_'");

CREATE TABLE path (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE commits (
    id INTEGER PRIMARY KEY,
    oid TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,
    main INTEGER NOT NULL,
    time INTEGER NOT NULL,
    kind TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    machine TEXT NOT NULL
);
CREATE INDEX commits_seq ON commits (seq, main);

CREATE TABLE trailer (
    key TEXT NOT NULL, value TEXT NOT NULL, commit_id INTEGER NOT NULL, PRIMARY KEY (key, value, commit_id)
) WITHOUT ROWID;

CREATE TABLE path_change (
    path INTEGER NOT NULL, commit_id INTEGER NOT NULL, PRIMARY KEY (path, commit_id)
) WITHOUT ROWID;

CREATE TABLE span (
    id INTEGER PRIMARY KEY,
    entry INTEGER NOT NULL,
    path INTEGER NOT NULL,
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    type TEXT NOT NULL,
    session TEXT NOT NULL,
    at TEXT NOT NULL,
    tags TEXT NOT NULL,
    deprecated INTEGER NOT NULL,
    scope TEXT NOT NULL,
    rank TEXT NOT NULL,
    source TEXT NOT NULL,
    replaces TEXT NOT NULL,
    turn TEXT NOT NULL,
    origin INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER
);
CREATE INDEX span_entry ON span (entry);
CREATE INDEX span_path ON span (path, key);
CREATE INDEX span_section ON span (key) WHERE space = '§';
CREATE INDEX span_session ON span (session, at);
CREATE INDEX span_gone ON span (to_seq) WHERE to_seq IS NOT NULL;
-- Used only by queries that repeat `replaces <> ''`: of a bound value SQLite cannot know it.
CREATE INDEX span_replaces ON span (replaces) WHERE replaces <> '';

CREATE INDEX span_turn ON span (turn) WHERE turn <> '';
CREATE INDEX span_undo ON span (turn) WHERE {IS_UNDO};

-- Which turn of a conversation wrote an entry, as any version of it said; a row is never taken out. `origin` brought it.
CREATE TABLE wrote (
    turn TEXT NOT NULL,
    path INTEGER NOT NULL,
    key TEXT NOT NULL,
    origin INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    PRIMARY KEY (turn, path, key, origin)
) WITHOUT ROWID;
CREATE INDEX wrote_path ON wrote (path, key);

-- Which entries a session was shown, by the names in its `recalled` events, and from which commits its prompts were made.
CREATE TABLE shown (
    name TEXT NOT NULL,
    session TEXT NOT NULL,
    turn TEXT NOT NULL,
    from_seq INTEGER NOT NULL,
    PRIMARY KEY (name, session, turn)
) WITHOUT ROWID;
CREATE TABLE block (
    commit_oid TEXT NOT NULL, session TEXT NOT NULL, from_seq INTEGER NOT NULL, PRIMARY KEY (commit_oid, session)
) WITHOUT ROWID;

-- By what a text is known that repeats an entry which may not hold here: its keys, and its sentences word for word.
-- `token` is a word of it that such a text has.
CREATE TABLE key (
    token TEXT NOT NULL,
    word TEXT NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (token, word, entry)
) WITHOUT ROWID;
CREATE INDEX key_entry ON key (entry);

CREATE TABLE session ({_SESSION}, from_seq INTEGER NOT NULL, to_seq INTEGER);
CREATE INDEX session_name ON session (name);
CREATE INDEX session_parent ON session (parent);
CREATE INDEX session_started ON session (started);

CREATE TABLE link (
    source INTEGER NOT NULL, target TEXT NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER
);
CREATE INDEX link_source ON link (source);
CREATE INDEX link_target ON link (target);

CREATE TABLE retraction (hash TEXT NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER);
CREATE INDEX retraction_hash ON retraction (hash);
"""
