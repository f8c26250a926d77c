"""The tools that the model gets, as the host wants them described: to look, to name a state, to keep something."""

from __future__ import annotations

import json
from typing import Any

from gitmem.config import Config

MOST = 20
"""What one answer lists at most."""


def _schema(
    name: str, description: str, properties: dict[str, Any], required: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": list(required)},
    }


_TEXT = {"type": "string"}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST, "description": "How many at most."}
_SCHEMAS = {
    "gitmem_search": _schema(
        "gitmem_search",
        "Search the versioned memory: entries, decisions, sessions, plans and skills. Each hit has a rank: knowledge "
        "holds, said is what was said in a session, tool is untrusted output of a tool. With as_of it answers as the "
        "memory was then.",
        {
            "query": {"type": "string", "description": "Words to look for."},
            "as_of": {
                "type": "string",
                "description": "A date, snapshot, commit or session:ID; now if left out.",
            },
            "type": {"type": "string", "description": "Only one kind, such as Decision or CuratedMemory."},
            "limit": _LIMIT,
        },
        ("query",),
    ),
    "gitmem_recall": _schema(
        "gitmem_recall",
        "Recall earlier conversations that were about something: which session, when, and what was said.",
        {"query": {"type": "string", "description": "What it was about."}, "limit": _LIMIT},
        ("query",),
    ),
    "gitmem_history": _schema(
        "gitmem_history",
        "The history of the memory. `log` lists changes, `diff` shows what changed between two moments, "
        "`blame` says for each entry of a file when it came, from which session, and why.",
        {
            "action": {"type": "string", "enum": ["log", "diff", "blame"]},
            "path": {"type": "string", "description": "A file, such as memories/MEMORY.md."},
            "since": {
                "type": "string",
                "description": "For diff: the earlier moment (date, snapshot, commit).",
            },
            "until": {"type": "string", "description": "For diff: the later moment; now if left out."},
            "text": {"type": "string", "description": "For blame: only entries that contain this."},
            "limit": _LIMIT,
        },
        ("action",),
    ),
    "gitmem_snapshot": _schema(
        "gitmem_snapshot",
        "Name the present state of the memory, so that the user can go back to it.",
        {"name": {"type": "string", "description": "A short name."}, "note": _TEXT},
    ),
    "gitmem_remember": _schema(
        "gitmem_remember",
        "Keep something with its reason and source: a decision with its rationale, or a durable fact for "
        "MEMORY.md (memory) or USER.md (user). For plain facts the memory tool is enough.",
        {
            "kind": {"type": "string", "enum": ["decision", "memory", "user"]},
            "text": {"type": "string", "description": "The decision or the fact, one or two sentences."},
            "reason": {
                "type": "string",
                "description": "Why: the rationale of the decision, the ground of the fact.",
            },
            "source": {"type": "string", "description": "Where it comes from: a URL, a file, a person."},
            "tags": {"type": "array", "items": _TEXT},
        },
        ("kind", "text"),
    ),
    "gitmem_revert": _schema(
        "gitmem_revert",
        "Take back one change of the memory, by its commit. Only when the user asks for it.",
        {
            "commit": {"type": "string", "description": "The commit, from gitmem_history."},
            "reason": {"type": "string", "description": "Why."},
        },
        ("commit", "reason"),
    ),
}
RECALLING = ("gitmem_search", "gitmem_recall")
KEEPING = ("gitmem_remember",)
"""Tools after which there is something to commit, or to bring to the host's files."""


def names(config: Config) -> list[str]:
    """The tools that the settings allow."""
    left_out = set(RECALLING) if config.recall_mode == "context" else set()
    if not config.session_search:
        left_out.add("gitmem_recall")
    if not config.undo_tools:  # the model must not be talked into erasing memory
        left_out.add("gitmem_revert")
    return [name for name in _SCHEMAS if name not in left_out]


def schemas(config: Config) -> list[dict[str, Any]]:
    """Their schemas, bare, as the host wants them."""
    return [json.loads(json.dumps(_SCHEMAS[name])) for name in names(config)]


def refuse(tool: str, why: str) -> str:
    return json.dumps({"error": f"{tool} is not possible here: {why}."})
