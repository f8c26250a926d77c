"""Export: the memory as files that other programs and people read. Nothing of the bundle is changed."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from gitmem.errors import InvalidContent, UsageError
from gitmem.files import read_file, replace_file
from gitmem.okf import layout
from gitmem.okf.events import EventsFile
from gitmem.okf.files import EntryFile, open_file
from gitmem.okf.plain import Printed

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.curated.store import Target

Format = Literal["okf", "markdown", "jsonl", "agents-md"]
FORMATS: tuple[Format, ...] = get_args(Format)

BEGIN, END = "<!-- gitmem:begin -->", "<!-- gitmem:end -->"
_BLOCK = re.compile(rf"{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.DOTALL)
_LEFT_OUT = ("config/", "snapshots/")
"""What is about this bundle, and not what an agent knows."""
_TRAILERS = ("Machine", "Reason", "Source")
_TITLES: dict[Target, str] = {"memory": "What is known", "user": "The user"}


@dataclass(frozen=True, slots=True)
class Exported(Printed):
    """Files that an export wrote."""

    format: Format
    where: str
    files: tuple[str, ...] = ()
    """Paths of what was written, from `where` where that is a directory."""
    entries: int = 0


def export(bundle: Bundle, form: Format, where: str, *, overwrite: bool = False) -> Exported:
    """Write the memory in a format to a file or directory; what is there already stays unless `overwrite`."""
    if form not in FORMATS:
        raise UsageError(f"There is no format {form!r}: choose one of {', '.join(FORMATS)}.")
    if form == "agents-md":
        return _agents_md(bundle, where)
    if form == "okf":  # the tree as it is: a conformant bundle without its history
        tree = bundle.tree()
        files = {path: os.path.join(where, *path.split("/")) for path, _ in tree.files()}
        _refuse_existing(files.values(), overwrite=overwrite)
        for path, full in files.items():
            _put(full, tree.read(path) or b"")
        return Exported(form, where, tuple(sorted(files)), len(files))
    _refuse_existing([where], overwrite=overwrite)
    lines = list(_jsonl(bundle) if form == "jsonl" else _markdown(bundle))
    _put(where, "".join(lines).encode())
    return Exported(form, where, (where,), len(lines))


def _markdown(bundle: Bundle) -> Iterator[str]:
    """Yield one document for people."""
    from gitmem.memory.curated.prompt_block import for_agents

    yield f"# Memory of {bundle.config.agent_id}\n"
    for target, title in _TITLES.items():
        if entries := for_agents(bundle, target):
            yield f"\n## {title}\n\n"
            yield from (_bullet(entry.text) for entry in entries)
    section = ""
    for path, title, body in _concepts(bundle):
        if (top := path.partition("/")[0]) != section:
            section = top
            yield f"\n## {top.capitalize()}\n"
        yield f"\n### {title}\n\n{body}\n" if body else f"\n### {title}\n"


def _concepts(bundle: Bundle) -> Iterator[tuple[str, str, str]]:
    """Decisions, plans, skills and notes: the path, the title and the text of each."""
    tree = bundle.tree()
    for path in bundle.list_concepts():
        if path.startswith(("config/", "retractions/", "sessions/", "snapshots/", "memories/", "tools/")):
            continue
        file = open_file(path, tree.read(path))
        if file.concept is not None and file.kind == "concept":
            title = file.concept.title or path.rpartition("/")[2].removesuffix(".md")
            yield path, title, file.body.strip()


def _bullet(text: str) -> str:
    return "- " + text.replace("\n", "\n  ") + "\n"


def _jsonl(bundle: Bundle) -> Iterator[str]:
    """Every entry, event and file of the tip, in the order of their paths: § entries with who brought them."""
    tree = bundle.tree()
    for path, entry in tree.files():
        if layout.is_generated(path) or path.startswith(_LEFT_OUT):
            continue
        data = tree.read_entry(entry)
        file = open_file(path, data)
        if file.kind == "curated":
            yield from (_line(item) for item in _sections(bundle, path, file))
        elif isinstance(file.content, EventsFile):
            for event in file.content.events:
                names = {"session": str(file.front.get("session", "")), "id": event.id, "kind": event.kind}
                yield _line({"gitmem": "event", **names, "at": event.at, "fields": dict(event.fields)})
        else:
            yield _line({"gitmem": "file", "path": path, **_content(data)})


def _sections(bundle: Bundle, path: str, file: EntryFile) -> Iterator[dict[str, Any]]:
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
            known = {"commit": came.id, "agent": came.commit.author.name, "session": came.session}
            known |= {one.lower(): "".join(came.trailers.get(one, ())[:1]) for one in _TRAILERS}
            item["came"] = {name: value for name, value in known.items() if value}
        yield item


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _line(item: dict[str, Any]) -> str:
    return json.dumps(item, ensure_ascii=False) + "\n"


def _agents_md(bundle: Bundle, where: str) -> Exported:
    """Write the confirmed facts between two markers of AGENTS.md or CLAUDE.md; nothing else there is touched."""
    from gitmem.memory.curated.prompt_block import for_agents
    from gitmem.memory.gate.marks import is_unconfirmed

    present = (read_file(where) or b"").decode("utf-8", "surrogateescape")
    if present.count(BEGIN) != present.count(END) or present.count(BEGIN) > 1:
        raise InvalidContent(
            f"The markers of gitmem in {where} are not a pair: nothing was changed.",
            hint=f"Leave one {BEGIN} and one {END} behind it, or none.",
        )
    facts = [
        _bullet(entry.text.replace(BEGIN, "").replace(END, ""))
        for target in _TITLES
        for entry in for_agents(bundle, target)
        if not is_unconfirmed(entry)
    ]
    block = f"{BEGIN}\n{''.join(facts)}{END}\n"
    if BEGIN in present:
        text = _BLOCK.sub(lambda _: block, present)
    else:
        gap = "" if not present or present.endswith("\n\n") else "\n" if present.endswith("\n") else "\n\n"
        text = f"{present}{gap}{block}"
    if text != present:
        _put(where, text.encode("utf-8", "surrogateescape"))
    return Exported("agents-md", where, (where,) if text != present else ())


def _refuse_existing(paths: Iterable[str], *, overwrite: bool) -> None:
    there = [path for path in paths if os.path.lexists(path)]
    if there and not overwrite:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise InvalidContent(
            f"{there[0]}{more} would be written over: nothing was written.",
            hint="Choose another place, or give --overwrite.",
        )


def _put(path: str, data: bytes) -> None:
    directory = os.path.dirname(os.path.abspath(path))
    os.makedirs(directory, exist_ok=True)
    replace_file(path, data, scratch=directory, durable=True)
