"""A script without what its language does not run: comments, and strings where the script runs none.

What comes out is as long as what went in, so that a place in one is the same place in the other. Linear: one pass of
one pattern for each language.
"""

from __future__ import annotations

import re

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
_MOST = 8_000
"""Strings and comments in 100,000 characters of a script: one with more is read as if all of it were run."""


def code_of(text: str, path: str) -> str | None:
    """What of a script is code, by its name or its first line; None for what is no script."""
    family = _family(text, path)
    if family is None:
        return None
    bare, silent = _without(text, _TOKENS[family])
    if family == _SHELL:
        return _PRINTED.sub(lambda found: _blank(found[0]), bare)
    return bare if _RUNS.search(silent) else silent


def _without(text: str, tokens: re.Pattern[str]) -> tuple[str, str]:
    """The text without comments, and without comments and strings; as it is where it has more than any script has."""
    bare: list[str] = []
    silent: list[str] = []
    place = 0
    for number, found in enumerate(tokens.finditer(text)):
        if number >= _MOST * (1 + len(text) // 100_000):
            return text, text
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
