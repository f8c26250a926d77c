"""Paths in a bundle: which are safe on every machine, and how a name becomes one.

A tree is checked out on Linux, macOS and Windows, and may come from a stranger. So a path is refused when any
of those systems would read it as another file, as git's own, or as a device.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from gitmem.errors import UnsafePath

MAX_COMPONENT_BYTES = 200
MAX_PATH_BYTES = 1024
MAX_COMPONENTS = 32
MAX_PLAIN_NAME = 80

# Unicode's Default_Ignorable_Code_Point, spelled out so that the answer does not depend on the Unicode
# version of the running Python; it contains the bidi controls and every character that HFS+ ignores in a
# name.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_OUTSIDE = re.compile(r"(^|/)(\.{0,2}|\.git)(/|$)|\0", re.IGNORECASE)
_UNSAFE = (
    (re.compile(r"\A\Z"), "it is empty"),
    (re.compile(r"\A/"), "it is absolute"),
    (re.compile(r"\\"), "it holds a backslash"),
    (re.compile(":"), "it holds a colon, which names a drive or a stream on Windows"),
    (re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"), "it holds a control character"),
    (_INVISIBLE, "it holds an invisible character"),
    (re.compile(r'[<>"|?*]'), 'it holds one of < > " | ? *, which Windows does not allow'),
)
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$)")
# The short names that Windows gives to .git, .gitmodules, .gitattributes and .gitignore.
_SHORT_GIT = re.compile(r"(git|gitmod|gitatt|gitign|gi[0-9a-f]{4})~[0-9]+")
_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]*")
_WORDS = re.compile(r"[a-z0-9]+")
_SLUG_BYTES = 100
_ACCENTS = re.compile(r"([a-z])[\u0300-\u036f]+")
# Letters that no decomposition brings to ASCII, but that have a customary spelling.
_SPELLED = str.maketrans(
    {"æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"}
)
# A concept cannot have these names, whatever directory it is in (OKF keeps them for generated pages).
_RESERVED_STEMS = ("index", "log")


def leads_outside(path: str) -> bool:
    """Return whether a path leaves the work tree or enters `.git`: the last wall, whatever was let through before."""
    return bool(_OUTSIDE.search(path))


def check_path(path: str) -> None:
    """Nothing when the path may enter a bundle; else UnsafePath with a sentence that says why not."""
    reason = _unsafe(path)
    if reason:
        raise UnsafePath(f"The path {_shown(path)} cannot be in a bundle: {reason}.")


def fold(path: str) -> str:
    """The key under which paths collide on a file system that ignores case or Unicode form."""
    # Buys "fetch + merge + push": a directory is looked at again with every commit that adds to it.
    if path.isascii():  # it has one form, and folding it is lowering it
        return path.lower()
    # Decomposed first: folding a composed character can give another outcome than folding its parts.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def slug(text: str, limit: int = 60) -> str:
    """The text as lower-case words joined by `-`, in any script; a stable `untitled-…` when none is left.

    Latin letters lose their accents, others stay. A name has at most `limit` characters and 100 bytes: room for
    a date and a hash behind it on every file system.
    """
    # Bounded before normalising: one character can grow eighteen times.
    spelled = unicodedata.normalize("NFKC", text[: limit * 8]).casefold().translate(_SPELLED)
    plain = _ACCENTS.sub(r"\1", unicodedata.normalize("NFKD", spelled))
    name = ""
    for word in _words(_INVISIBLE.sub("", unicodedata.normalize("NFC", plain))):
        longer = f"{name}-{word}" if name else _cut(word, limit)
        if len(longer) > limit or len(longer.encode()) > _SLUG_BYTES:
            break
        name = longer
    if not name:
        return f"untitled-{_digest(text, 8)}"
    if _unsafe(name):
        return f"{name}-{_digest(text, 8)}"
    return name


def _words(text: str) -> list[str]:
    """Runs of letters and digits with the marks that belong to them: many scripts write vowels as marks."""
    kept = (char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in text)
    return [word for word in "".join(kept).split() if word[0].isalnum()]


def _cut(word: str, limit: int) -> str:
    """The beginning of a word that fits into a name."""
    return word[:limit].encode()[:_SLUG_BYTES].decode("utf-8", "ignore")


def safe_name(name: str) -> str:
    """One path component for any name; different names get different components, also where case is ignored.

    Plain names stay as they are. Every other one gets a readable base and a hash of the exact name; the `~h`
    before it cannot be in a plain name, and is none of the short names that Windows gives to `.git`.
    """
    return name if len(name) <= MAX_PLAIN_NAME and _is_plain(name) else _made_safe(name)


def _made_safe(name: str) -> str:
    base = "-".join(_WORDS.findall(unicodedata.normalize("NFKD", name[:400]).lower()))[:40].strip("-")
    return f"{base or 'name'}~h{_digest(name, 12)}"


def _is_plain(name: str) -> bool:
    if len(name) > MAX_PLAIN_NAME or not _PLAIN.fullmatch(name):
        return False
    return name not in _RESERVED_STEMS and not _unsafe(name)


def _unsafe(path: str) -> str:
    """The reason against the path, empty when there is none."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "it cannot be written as UTF-8"
    if size > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES} bytes"
    for pattern, reason in _UNSAFE:
        if pattern.search(path):
            return reason
    if unicodedata.normalize("NFC", path) != path:
        return "it is not in Unicode normal form C"
    components = path.split("/")
    if len(components) > MAX_COMPONENTS:
        return f"it has more than {MAX_COMPONENTS} components"
    at_root = len(components) == 1
    return next(filter(None, (_unsafe_component(one, at_root=at_root) for one in components)), "")


def _unsafe_component(component: str, *, at_root: bool) -> str:
    if not component:
        return "it has an empty component"
    if component in (".", ".."):
        return f"it has the component {component}"
    if len(component.encode()) > MAX_COMPONENT_BYTES:
        return f"a component is longer than {MAX_COMPONENT_BYTES} bytes"
    if component[-1] in ". ":
        return "a component ends with a dot or a space, which Windows drops"
    # Compatibility forms too: no file system folds them today, and no honest name is lost.
    folded = unicodedata.normalize("NFKC", component).casefold().rstrip(". ")
    if folded == ".git" or _SHORT_GIT.fullmatch(folded.split(".")[0]):
        return "it names git's own directory"
    if folded.startswith(".gitmem-tmp"):
        return "it has a name of gitmem's own scratch files"
    if folded in (".gitmodules", ".gitattributes"):
        return f"a bundle has no {folded}"
    if folded == ".gitignore" and not (at_root and component == ".gitignore"):
        return "a .gitignore stands only at the root"
    if _DEVICE.fullmatch(folded.split(".")[0].rstrip()):
        return "it names a device on Windows"
    return ""


def _shown(path: str) -> str:
    """The path for a message: ASCII only, so that nothing in it can act on a terminal."""
    return ascii(path if len(path) <= 80 else f"{path[:79]}…")


def _digest(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
