"""Many versions of one § file: a text with its line of the list is read once, not once a version.

Buys "`blame MEMORY.md` / `git blame`, 1,001 revisions": YAML is what each version would cost, and two versions
differ in an entry or two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gitmem.errors import InvalidContent
from gitmem.okf import frontmatter, layout
from gitmem.okf.concept import MAX_CONCEPT_BYTES
from gitmem.okf.curated import entry_of, listed_items, split_texts
from gitmem.okf.entries import CURATED_TYPES, DELIMITER, Entry, EntryKey, entry_hash
from gitmem.okf.files import open_file

_LIST = b"\nentries:\n"
_DELIMITER = DELIMITER.encode()
# A line that needs no YAML to be understood: its values are plainly text.
_HASH = r'(?:"([0-9a-f]{32})"|([a-f][0-9a-f]{31}))'
_PLAIN_ITEM = re.compile(rf'- \{{h: {_HASH}, at: "([0-9T:.Z+-]*)"(?:, replaces: {_HASH})?\}}')


class CuratedVersions:
    """The entries of versions of one file, each exactly as `open_file` gives them."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._is_markdown = path.endswith(".md") and not layout.is_generated(path)
        self._frames: dict[tuple[bytes, bytes], bool] = {}
        self._read: dict[bytes, tuple[bytes, Entry]] = {}
        """By line of the list: the text it was met with, and the entry that they make."""

    def entries(self, data: bytes) -> Mapping[EntryKey, Entry]:
        """The entries of one version, in its order."""
        try:
            known = self._by_pairs(data) if self._is_markdown else None
        except (UnicodeDecodeError, InvalidContent):
            known = None
        return open_file(self._path, data).entries if known is None else known

    def _by_pairs(self, data: bytes) -> dict[EntryKey, Entry] | None:
        """The entries of a file whose list and body go in step, as gitmem writes them; None for any other."""
        if not data.startswith(b"---\n") or b"\r" in data or len(data) > MAX_CONCEPT_BYTES:
            return None
        end, start = data.find(b"\n---", 3), data.find(_LIST, 3)
        if not 0 <= start < end <= frontmatter.MAX_YAML_BYTES or data[end + 4 : end + 5] != b"\n":
            return None
        lines = data[start + len(_LIST) : end].split(b"\n")
        after: list[bytes] = []
        while lines and not lines[-1].startswith(b"- {"):
            after.insert(0, lines.pop())
        texts = data[end + 5 :].removesuffix(b"\n").split(_DELIMITER)
        if len(lines) != len(texts) or not self._is_frame(data[4 : start + 1], b"\n".join(after)):
            return None
        entries: dict[EntryKey, Entry] = {}
        for text, line in zip(texts, lines, strict=True):
            known = self._read.get(line)
            if known is None or known[0] != text:
                entry = _paired(text, line)
                if entry is None:
                    return None
                known = self._read[line] = text, entry
            entries[known[1].key] = known[1]
        return entries if len(entries) == len(lines) else None  # of equal ones the first counts

    def _is_frame(self, head: bytes, tail: bytes) -> bool:
        """The list is the value of the key `entries` of a § file, between these two parts of the front matter."""
        known = self._frames.get((head, tail))
        if known is None:
            before = head.decode()
            text = f"{before}entries: []\n{tail.decode()}\n"
            keys = {block.key: block.start for block in frontmatter.blocks(text) or ()}
            known = keys.get("entries") == len(before) and frontmatter.load(text).get("type") in CURATED_TYPES
            self._frames[head, tail] = known
        return known


def _paired(raw: bytes, raw_line: bytes) -> Entry | None:
    """The entry of a text and its line of the list; None where they are not just that."""
    texts, line = list(split_texts(raw.decode())), raw_line.decode()
    if len(texts) != 1:
        return None
    name = entry_hash(texts[0])
    plain = _PLAIN_ITEM.fullmatch(line)
    if plain is not None:
        quoted, bare, at, *replaces = plain.groups("")
        about, item = quoted + bare, {"at": at, "replaces": "".join(replaces)}
        return entry_of(name, texts[0], item) if about == name else None
    meta = frontmatter.load(f"entries:\n{line}\n")
    items = listed_items(meta["entries"])
    return entry_of(name, texts[0], items[name]) if len(meta) == 1 and list(items) == [name] else None
