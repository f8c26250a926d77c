"""Folders of markdown: notes, an Obsidian vault, an OKF bundle, and what OpenClaw, Claude Code and Codex keep."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from gitmem.errors import InvalidContent
from gitmem.files import read_regular
from gitmem.memory.exchange.importing import SETTINGS, Importer, NewEntry, NewFile, Piece
from gitmem.okf import layout, paths, timestamps
from gitmem.okf.curated import split_texts
from gitmem.okf.entries import Entry
from gitmem.okf.files import SectionsFile, open_file

_MANY = 200
LARGEST = 8 * 1024 * 1024
# No bracket inside and a bound on each part: a page of opening brackets is read once.
_WIKILINK = re.compile(r"\[\[([^\[\]|#\n]{1,500})(#[^\[\]|\n]{0,500})?(?:\|([^\[\]\n]{1,500}))?\]\]")
_BAD_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)\+00:00Z")
_BULLET = re.compile(r"^[*+-]\s+(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_DAILY = re.compile(r"\d{4}-\d\d-\d\d.*\.md")


def markdown_pieces(path: str, importer: Importer) -> Iterator[Piece]:
    """A file or a folder of notes, below `notes/`: front matter stays, wikilinks become links that resolve."""
    if os.path.isfile(path):
        yield Piece(
            f"markdown {os.path.basename(path)}",
            files=(NewFile(f"notes/{os.path.basename(path)}", read_regular(path)),),
        )
        return
    found = list(_files(path, importer))
    names = {os.path.splitext(os.path.basename(one))[0].casefold(): one for one, _ in found}
    batch: list[NewFile] = []
    for relative, full in found:
        data = read_regular(full)
        if relative.endswith(".md"):
            data = _linked(data, relative, names)
        batch.append(NewFile(f"notes/{relative}", data))
        if len(batch) >= _MANY:
            yield Piece(f"markdown {os.path.basename(path)}", files=tuple(batch))
            batch = []
    if batch:
        yield Piece(f"markdown {os.path.basename(path)}", files=tuple(batch))


def _linked(data: bytes, relative: str, names: dict[str, str]) -> bytes:
    """A note with markdown links in the place of wikilinks; one that leads nowhere stays as it is."""

    def link(found: re.Match[str]) -> str:
        target = names.get(found[1].strip().rpartition("/")[2].casefold())
        if target is None:
            return found[0]
        where = os.path.relpath(target, os.path.dirname(relative) or ".").replace(os.sep, "/")
        return f"[{found[3] or found[1]}]({where.replace(' ', '%20')})"

    return _WIKILINK.sub(link, data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def okf_pieces(path: str, importer: Importer) -> Iterator[Piece]:
    """An OKF bundle: its git history where there is one, then what it is now. Known breaks of the format are repaired."""
    from gitmem.memory.exchange.from_history import history_pieces

    other = OtherBundle(path)
    yield from history_pieces(path, other, importer)
    batch: list[NewFile] = []
    for found, full in _files(path, importer):
        if not (relative := other.place(found)):
            continue
        data = repaired_times(read_regular(full), relative, importer)
        file = open_file(relative, data)
        if isinstance(file, SectionsFile):
            if entries := tuple(new_entry(entry, relative) for entry in file.entries.values()):
                yield Piece(f"okf {relative}", entries=entries)
            continue
        batch.append(NewFile(relative, data))
        if len(batch) >= _MANY:
            yield Piece(f"okf {os.path.basename(path)}", files=tuple(batch))
            batch = []
    if batch:
        yield Piece(f"okf {os.path.basename(path)}", files=tuple(batch))


class OtherBundle:
    """An OKF bundle that is imported, gitmem's or another program's."""

    def __init__(self, root: str) -> None:
        self.name = os.path.basename(os.path.abspath(root))
        agent = os.path.join(root, layout.CONFIG_AGENT)
        self._is_gitmem = os.path.isfile(agent) and b"gitmem_format" in read_regular(agent)

    def place(self, path: str) -> str:
        """Return where a file of it goes here; empty where it stays: it is made again, or says how that bundle is run."""
        folder, slash, name = path.rpartition("/")
        if name == layout.INDEX or path in SETTINGS:
            return ""
        if self._is_gitmem and (name == layout.LOG or path.startswith(("config/", "snapshots/"))):
            return ""
        # Others write into their log what is nowhere else.
        return f"{folder}{slash}log-of-{paths.slug(self.name)}.md" if name == layout.LOG else path


def new_entry(entry: Entry, path: str, at: str = "") -> NewEntry:
    """An entry of another bundle's § file; `at`, where it does not say how old it is."""
    return NewEntry(entry.text, path, entry.at or at, entry.replaces, tuple(entry.extra.items()))


def repaired_times(data: bytes, relative: str, importer: Importer) -> bytes:
    """A file whose times have one offset."""
    text = data.decode("utf-8", "surrogateescape")
    repaired = _BAD_TIME.sub(r"\1Z", text)
    if repaired != text:
        importer.problem(f"{relative}: a time with two offsets was repaired.")
    return repaired.encode("utf-8", "surrogateescape")


def openclaw_pieces(path: str, importer: Importer) -> Iterator[Piece]:
    """An OpenClaw home or workspace: MEMORY.md, USER.md, SOUL.md, the daily logs, and allow-lists as a record only."""
    top = next(
        (
            one
            for one in (os.path.join(path, "workspace"), path)
            if os.path.isfile(os.path.join(one, "MEMORY.md"))
        ),
        path,
    )
    if not os.path.isdir(top):
        raise InvalidContent(f"There is no directory {path}.")
    files: list[NewFile] = []
    for relative, full in _files(top, importer):
        name = os.path.basename(relative)
        at = os.stat(full).st_mtime
        text = read_regular(full).decode("utf-8", "replace")
        if relative in ("MEMORY.md", "USER.md"):
            store = layout.USER if name == "USER.md" else layout.MEMORY
            yield Piece(f"openclaw {relative}", at, _listed(text, store, at))
        elif relative == "SOUL.md":
            files.append(NewFile(layout.CONFIG_SOUL, text.encode()))
        elif _DAILY.fullmatch(name) and relative.endswith(".md"):
            files.append(NewFile(f"openclaw/daily/{name}", text.encode()))
        elif name in ("exec-approvals.json", "allowlist.json", "command-allowlist.json"):
            files.append(_record(name, text))
    for name in ("exec-approvals.json",):
        beside = os.path.join(path, name)
        if top != path and os.path.isfile(beside):
            text = read_regular(beside).decode("utf-8", "replace")
            files.append(_record(name, text))
    if files:
        yield Piece("openclaw files", files=tuple(files))


def _record(name: str, text: str) -> NewFile:
    """An allow-list of commands, to read: gitmem applies nothing of it."""
    head = "---\ntype: Record\ntitle: Commands that OpenClaw allowed\n---\nA record: gitmem applies none of it.\n\n"
    return NewFile(f"openclaw/{paths.slug(name)}.md", f"{head}```json\n{text}\n```\n".encode())


def _listed(text: str, store: str, at: float) -> tuple[NewEntry, ...]:
    """The entries of a memory file: between § lines, or the items of its lists and its paragraphs."""
    if re.search(r"^\s*§\s*$", text, re.MULTILINE):
        texts = list(split_texts(text))
    else:
        bullets = [" ".join(one.split()) for one in _BULLET.findall(text)]
        plain = _BULLET.sub("", re.sub(r"^#.*$", "", text, flags=re.MULTILINE))
        texts = bullets + [" ".join(one.split()) for one in re.split(r"\n\s*\n", plain) if one.strip()]
    begun = timestamps.stamp(timestamps.of_seconds(at))
    return tuple(NewEntry(one, store, timestamps.later(begun, number)) for number, one in enumerate(texts))


def claude_pieces(path: str, importer: Importer) -> Iterator[Piece]:
    """The memory directory of a Claude Code project: each topic file as `claude/<project>/<name>.md`, read only."""
    memory = path if os.path.basename(path) == "memory" else os.path.join(path, "memory")
    if not os.path.isdir(memory):
        raise InvalidContent(f"There is no memory directory in {path}.")
    project = paths.slug(os.path.basename(os.path.dirname(os.path.abspath(memory))))
    files = []
    for relative, full in _files(memory, importer):
        if relative.endswith(".md") and os.path.basename(relative) != "MEMORY.md":
            files.append(NewFile(f"claude/{project}/{relative}", _claude_topic(read_regular(full))))
    if files:
        yield Piece(f"claude {project}", files=tuple(files))


def _claude_topic(data: bytes) -> bytes:
    """A topic file as a concept of type Memory; Claude's own type is its kind."""
    from gitmem.okf.concept import Concept

    text = data.decode("utf-8", "replace")
    file = open_file("claude/x.md", data)
    if file.concept is not None:
        return file.concept.with_meta(type="Memory", kind=file.concept.type).render()
    from gitmem.okf import frontmatter

    try:
        found = frontmatter.read(text)
    except InvalidContent:
        return data
    if found is None:
        return data
    meta, parts, _ = found
    inner = meta.get("metadata")
    kind = inner.get("type") if isinstance(inner, dict) else None
    return Concept.new("Memory", parts.body, kind=kind, **meta).render()


def codex_pieces(path: str, importer: Importer) -> Iterator[Piece]:
    """Codex's memory directories, read only: its summaries and notes below `codex/`."""
    tops = [os.path.join(path, name) for name in ("memories", "memories_v2")]
    tops = [top for top in tops if os.path.isdir(top)] or ([path] if os.path.isdir(path) else [])
    if not tops:
        raise InvalidContent(f"There is no directory {path}.")
    files = []
    for top in tops:
        for relative, full in _files(top, importer):
            if relative.endswith(".md") and os.path.basename(relative) != "raw_memories.md":
                place = (
                    f"skills/codex/{relative[7:]}" if relative.startswith("skills/") else f"codex/{relative}"
                )
                files.append(NewFile(place, read_regular(full)))
    if files:
        yield Piece("codex memories", files=tuple(files))


def _files(top: str, importer: Importer) -> Iterator[tuple[str, str]]:
    """The files below a folder by their relative paths, without hidden ones and links."""
    if not os.path.isdir(top):
        raise InvalidContent(f"There is no directory {top}.")
    for directory, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            full = os.path.join(directory, name)
            if name.startswith(".") or os.path.islink(full):
                continue
            if not os.path.isfile(full) or os.path.getsize(full) > LARGEST:
                importer.problem(f"{full} was left out: it is not a file, or larger than 8 MB.")
                continue
            yield os.path.relpath(full, top).replace(os.sep, "/"), full
