"""JSONL: a memory as lines of JSON, one for each entry, event and file. docs/exchange.md describes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gitmem.okf import layout
from gitmem.okf.files import PartFile, SectionsFile, open_file

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

LEFT_OUT = ("config/", "snapshots/")
"""What is about this bundle, and not what an agent knows."""


def entry_lines(bundle: Bundle) -> Iterator[str]:
    """Every entry, event and file of the tip, in the order of their paths: § entries with who brought them."""
    tree = bundle.tree()
    for path, entry in tree.files():
        if layout.is_generated(path) or path.startswith(LEFT_OUT):
            continue
        data = tree.read_entry(entry)
        file = open_file(path, data)
        if isinstance(file, SectionsFile):
            yield from (_line(item) for item in _sections(bundle, path, file))
        elif isinstance(file, PartFile):
            session = str(file.front.get("session", ""))
            for event in file.file.events:
                yield _line(
                    {
                        "gitmem": "event",
                        "session": session,
                        "id": event.id,
                        "kind": event.kind,
                        "at": event.at,
                        "fields": dict(event.fields),
                    }
                )
        else:
            yield _line({"gitmem": "file", "path": path, **_content(data)})


def _sections(bundle: Bundle, path: str, file: SectionsFile) -> Iterator[dict[str, Any]]:
    from gitmem.memory.history.blame import blame_of

    stories = {story.entry.key: story for story in blame_of(bundle, path)}
    for key, entry in file.entries.items():
        item: dict[str, Any] = {"gitmem": "entry", "path": path, "text": entry.text, "at": entry.at}
        if entry.replaces:
            item["replaces"] = entry.replaces
        if entry.extra:
            item["extra"] = dict(entry.extra)
        if story := stories.get(key):
            came = story.introduced
            known = {
                "commit": came.id,
                "agent": came.commit.author.name,
                "session": came.session,
                "machine": next(iter(came.trailers.get("Machine", ())), ""),
                "reason": next(iter(came.trailers.get("Reason", ())), ""),
                "source": next(iter(came.trailers.get("Source", ())), ""),
            }
            item["came"] = {name: value for name, value in known.items() if value}
        yield item


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        import base64

        return {"base64": base64.b64encode(data).decode()}


def _line(item: dict[str, Any]) -> str:
    return json.dumps(item, ensure_ascii=False) + "\n"
