"""The files of a skill: what of a script is code, and what a file without text is."""

from __future__ import annotations

import re

from gitmem.safety.verdict import Finding, Result, Verdict

# --- A script without what its language does not run: comments, and strings where the script runs none. The result is
# --- as long as the script, so that a place in one is the same place in the other. One pass of one pattern: linear.

_HASH = "hash"
_SHELL = "shell"
_SLASH = "slash"
_FAMILIES = {
    **dict.fromkeys(("py", "pyw", "rb", "pl", "r", "jl", "ps1", "psm1", "tcl"), _HASH),
    **dict.fromkeys(("sh", "bash", "zsh", "ksh", "fish", "dash"), _SHELL),
    **dict.fromkeys(
        ("js", "mjs", "cjs", "jsx", "ts", "tsx", "go", "rs", "java", "kt", "c", "cc", "cpp", "h", "cs", "php", "swift"),
        _SLASH,
    ),
}  # fmt: skip
_SHEBANG = re.compile(r"#!\s?\S*?(?:env\s+(?:-S\s+)?)?(python|ruby|perl|bash|zsh|dash|ksh|sh|node|deno|bun)")
_BY_PROGRAM = {
    **dict.fromkeys(("python", "ruby", "perl"), _HASH),
    **dict.fromkeys(("bash", "zsh", "dash", "ksh", "sh"), _SHELL),
    **dict.fromkeys(("node", "deno", "bun"), _SLASH),
}
# An unended string or comment goes on to the end: to look for its end again and again would be quadratic.
_PLAIN = r'"(?:\\[\s\S]|[^"\\\n])*+(?:"|\n|\Z)|\'(?:\\[\s\S]|[^\'\\\n])*+(?:\'|\n|\Z)'
_TOKENS = {
    _HASH: re.compile(
        rf'(?P<text>"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|{_PLAIN})|(?P<comment>\#[^\n]*+)'
    ),
    _SHELL: re.compile(
        r"(?P<text>\"(?:\\[\s\S]|[^\"\\])*+(?:\"|\Z)|'[^']*+(?:'|\Z)|\\[\s\S])|(?P<comment>(?<![^\s;&|(])\#[^\n]*+)"
    ),
    _SLASH: re.compile(
        rf"(?P<text>`(?:\\[\s\S]|[^`\\])*+(?:`|\Z)|{_PLAIN})|(?P<comment>//[^\n]*+|/\*[\s\S]*?(?:\*/|\Z))"
    ),
}
# A script that starts other programs, or runs what it puts together, runs its strings.
_RUNS = re.compile(
    r"\b(?:system|popen\w*|subprocess|check_output|check_call|spawn\w*|exec\w*|eval|child_process|shell\w*|passthru|"
    r"proc_open|pty|Function|run|call|iex|invoke-expression|backtick|instance_eval|compile)\b",
    re.IGNORECASE,
)
# What a shell only prints: no pipe, no redirection, nothing that is run inside.
_PRINTED = re.compile(r"^[ \t]*(?:echo|printf)\b[^\n|;&<>`$]*+$", re.MULTILINE)
_KEPT = re.compile(r"[^\n]")
_MOST, _SHORTEST = 1_000, 20
"""Strings and comments of a script: one with more than these, each that long, is read as if all of it were run."""


def code_of(text: str, path: str) -> str | None:
    """Return the code of a script, known by its name or first line; None for any other file."""
    family = _family(text, path)
    if family is None:
        return None
    parts = _without(text, _TOKENS[family])
    if parts is None:
        return None
    bare, silent = parts
    if family == _SHELL:
        return _PRINTED.sub(lambda found: _blank(found[0]), bare)
    return bare if _RUNS.search(silent) else silent


def _without(text: str, tokens: re.Pattern[str]) -> tuple[str, str] | None:
    """Return the text without comments, and without strings as well; None where it has too many of them."""
    bare: list[str] = []
    silent: list[str] = []
    place = 0
    for number, found in enumerate(tokens.finditer(text)):
        if number >= _MOST + len(text) // _SHORTEST:
            return None
        start, end = found.span()
        blank = _blank(found[0])
        is_comment = found.lastgroup == "comment" and not (start == 0 and text.startswith("#!"))
        before = text[place:start]
        bare += (before, blank if is_comment else found[0])
        silent += (before, blank)
        place = end
    rest = text[place:]
    return "".join((*bare, rest)), "".join((*silent, rest))


def _family(text: str, path: str) -> str | None:
    name = path.rpartition("/")[2]
    family = _FAMILIES.get(name.rpartition(".")[2].lower()) if "." in name else None
    if family is None and path and not name.endswith(".md") and (found := _SHEBANG.match(text)):
        family = _BY_PROGRAM[found[1]]
    return family


def _blank(text: str) -> str:
    return _KEPT.sub(" ", text) if "\n" in text else " " * len(text)


# --- Files that are not text.

_PROGRAMS = (
    b"\x7fELF", b"MZ", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe", b"\0asm", b"dex\n", b"!<arch>\n",
)  # fmt: skip
_MEDIA = (
    b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"%PDF-", b"II*\0", b"MM\0*", b"ID3",
    b"OggS", b"fLaC", b"\0\0\x01\0", b"wOFF", b"wOF2", b"OTTO", b"\0\x01\0\0", b"ttcf", b"SQLite format 3\0",
)  # fmt: skip


def judge_binary(data: bytes) -> Result:
    """Judge a file that is not text by its first bytes: a program is blocked, what is not known is held."""
    is_media = data[:4] == b"RIFF" and data[8:12] in (b"WEBP", b"WAVE", b"AVI ")
    if is_media or data[4:8] == b"ftyp" or data.startswith(_MEDIA):
        return Result(Verdict.ALLOW)
    if data.startswith(_PROGRAMS):
        rule, category, severity = "file.program", "execution", Verdict.BLOCK
        reason = "is a program, which nobody can read"
    else:
        rule, category, severity = "file.binary", "obfuscation", Verdict.HOLD
        reason = "is neither text nor a known kind of picture, sound, font or document"
    return Result(severity, (Finding(rule, category, reason, (0, 0), severity),))
