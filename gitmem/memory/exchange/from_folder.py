"""Folders of markdown: notes, an Obsidian vault, an OKF bundle, an OpenClaw workspace; and a MEMORY.md by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from gitmem.errors import InvalidContent
from gitmem.files import read_regular
from gitmem.memory.exchange.importing import SETTINGS, Importer, NewEntry, NewFile, Piece
from gitmem.okf import layout, paths, timestamps
from gitmem.okf.curated import split_texts
from gitmem.okf.entries import Entry
from gitmem.okf.files import open_file

_MANY = 200
LARGEST = 8 * 1024 * 1024
# No bracket inside and a bound on each part: a page of opening brackets is read once.
_WIKILINK = re.compile(r"\[\[([^\[\]|#\n]{1,500})(#[^\[\]|\n]{0,500})?(?:\|([^\[\]\n]{1,500}))?\]\]")
_BAD_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)\+00:00Z")
_BULLET = re.compile(r"^[*+-]\s+(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_HEADING = re.compile(r"^#.*$", re.MULTILINE)
_FACTS = {"MEMORY.md": layout.MEMORY, "USER.md": layout.USER}
"""Files of facts, where one is imported by its name, and in a workspace of OpenClaw; in another folder they are notes."""
_APPROVALS = ("exec-approvals.json", "allowlist.json", "command-allowlist.json")
"""Files in which OpenClaw keeps the commands that it may run."""


def markdown_pieces(path: str, importer: Importer) -> Iterator[Piece]:
    """A file or a folder of notes, below `notes/`: front matter stays, wikilinks become links that resolve."""
    name = os.path.basename(path)
    source = f"markdown {name}"
    if not os.path.isfile(path):
        found = list(_files(path, importer))
        names = {os.path.splitext(os.path.basename(one))[0].casefold(): one for one, _ in found}
        yield from _in_batches(source, (_note(relative, full, names) for relative, full in found))
    elif name in _FACTS:
        yield _facts(path, source, importer)
    else:
        yield Piece(source, files=(NewFile(f"notes/{name}", read_regular(path)),))


def _in_batches(source: str, files: Iterable[NewFile]) -> Iterator[Piece]:
    given = iter(files)
    while batch := tuple(islice(given, _MANY)):
        yield Piece(source, files=batch)


def _note(relative: str, full: str, names: dict[str, str]) -> NewFile:
    data = read_regular(full)
    return NewFile(f"notes/{relative}", _linked(data, relative, names) if relative.endswith(".md") else data)


def _facts(path: str, source: str, importer: Importer) -> Piece:
    name, at = os.path.basename(path), os.stat(path).st_mtime
    texts, is_whole = importer.texts_in(path, name, _split_facts)
    return Piece(source, at, tuple(aged(texts, _FACTS[name], at)), is_whole=bool(texts) and is_whole)


def _split_facts(text: str) -> list[str]:
    """The entries of a memory file: between § lines, or the items of its lists and its paragraphs."""
    if re.search(r"^\s*§\s*$", text, re.MULTILINE):
        return split_texts(text)
    paragraphs = re.split(r"\n\s*\n", _BULLET.sub("", _HEADING.sub("", text)))
    return [" ".join(one.split()) for one in (*_BULLET.findall(text), *paragraphs) if one.strip()]


def aged(texts: Iterable[str], store: str, at: float) -> Iterator[NewEntry]:
    """New entries of one moment, in their order."""
    begun = timestamps.stamp_of(at)
    return (NewEntry(one, store, timestamps.later(begun, number)) for number, one in enumerate(texts))


def openclaw_pieces(path: str, importer: Importer) -> Iterator[Piece]:
    """An OpenClaw home or workspace: its facts, SOUL.md, daily logs, and allow-lists as a record only."""
    workspace = os.path.join(path, "workspace")
    top = workspace if os.path.isdir(workspace) else path
    beside = [(name, os.path.join(path, name)) for name in _APPROVALS if top != path]
    files: list[NewFile] = []
    for relative, full in (*_files(top, importer), *(one for one in beside if os.path.isfile(one[1]))):
        name = os.path.basename(relative)
        if relative in _FACTS:
            yield _facts(full, f"openclaw {relative}", importer)
        elif relative == "SOUL.md":
            files.append(NewFile(layout.CONFIG_SOUL, read_regular(full)))
        elif name in _APPROVALS:
            files.append(NewFile(f"openclaw/{paths.slug(name)}.md", _recorded(read_regular(full))))
        elif name.endswith(".md") and name != "AGENTS.md":
            files.append(NewFile(f"openclaw/{relative}", read_regular(full)))
    yield from _in_batches("openclaw files", files)


def _recorded(commands: bytes) -> bytes:
    """An allow-list of commands as a page to read: gitmem applies none of it."""
    head = "---\ntype: Record\ntitle: Commands that OpenClaw allowed\n---\nA record: gitmem applies none of it.\n\n"
    return head.encode() + b"```json\n" + commands + b"\n```\n"


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
    stores: list[Piece] = []

    def files() -> Iterator[NewFile]:
        for found, full in _files(path, importer):
            if not (relative := other.place(found)):
                continue
            data = repaired_times(read_regular(full), relative, importer)
            file = open_file(relative, data)
            if file.kind != "curated":
                yield NewFile(relative, data)
            elif entries := tuple(new_entry(entry, relative) for entry in file.entries.values()):
                stores.append(Piece(f"okf {relative}", entries=entries))

    yield from _in_batches(f"okf {os.path.basename(path)}", files())
    yield from stores


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


def _files(top: str, importer: Importer) -> Iterator[tuple[str, str]]:
    """The files below a folder by their relative paths, without hidden ones and links; one that leads out is named."""
    if not os.path.isdir(top):
        is_there = os.path.lexists(top)
        raise InvalidContent(f"{top} is not a directory." if is_there else f"There is no directory {top}.")
    inside = os.path.join(os.path.realpath(top), "")
    for directory, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if os.path.islink(os.path.join(directory, name))]
        for name in sorted([*names, *links]):
            full = os.path.join(directory, name)
            if name.startswith("."):
                continue
            if os.path.islink(full):
                if not os.path.realpath(full).startswith(inside):
                    importer.leave_out(full, f"it is a link out of {top}.")
            elif not os.path.isfile(full) or os.path.getsize(full) > LARGEST:
                importer.leave_out(full, "it is not a file, or larger than 8 MB.")
            else:
                yield os.path.relpath(full, top).replace(os.sep, "/"), full
