"""Markdown links between the files of a bundle: edges from a file to a path."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

# `[text](target)` and `[text](<target> "title")`; an image is not a link, and neither is what is in code.
_LINK = re.compile(
    r"(?<!!)\[(?:[^\[\]\n]|\[[^\[\]\n]{0,200}\]){0,500}\]\(\s*(<[^<>\n]{1,1000}>|[^\s()<>]{1,1000})"
)
_DEFINED = re.compile(r"^ {0,3}\[[^\]\n]{1,200}\]:\s+(<[^<>\n]{1,1000}>|\S{1,1000})", re.MULTILINE)
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


def targets(path: str, text: str) -> list[str]:
    """The paths in the bundle that a file's text links to, each once, in order."""
    if "](" not in text and "]:" not in text:
        return []
    text = _CODE.sub(" ", text)
    found: dict[str, None] = {}
    for match in (*_LINK.finditer(text), *_DEFINED.finditer(text)):
        target = resolve(path, match.group(1).strip("<>"))
        if target and target != path:
            found[target] = None
    return list(found)


def resolve(path: str, link: str) -> str:
    """The path that a link in the file at `path` names; empty for one that leads outside the bundle."""
    link = unquote(link.partition("#")[0].partition("?")[0])
    if not link or _SCHEME.match(link) or "\0" in link or "\\" in link:
        return ""
    base = "" if link.startswith("/") else posixpath.dirname(path)
    target = posixpath.normpath(posixpath.join(base, link.lstrip("/")))
    return "" if target in (".", "..") or target.startswith("../") else target
