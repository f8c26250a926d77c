from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from gitmem.errors import UnsafePath
from gitmem.okf.paths import check_path, fold, safe_name, slug
from hypothesis import example, given
from hypothesis import strategies as st

from tests.okf.strategies import TEXT

HOSTILE = [
    *(
        "",
        "/etc/passwd",
        "../x.md",
        "a/../b",
        "a/./b",
        ".",
        "..",
        "a//b",
        "a/",
        "a\\b.md",
        "C:/x",
        "c:x.md",
        "//h/s",
    ),
    *(
        "a\nb",
        "a\x1bb",
        "a\x7fb",
        "a\x00b",
        "a\x85b",
        "a\u202eb.md",
        "a\u2066b",
        "a\u200bb",
        "\ufeffa",
        "a\u00adb",
    ),
    *("a\ufe0fb", "a\u2028b", "a\U000e0041b", "a\u3164b", "\ud800.md", "e\u0301.md"),
    *(
        ".git",
        "a/.GIT/config",
        ".git.",
        ".git ",
        ".git. .",
        ".Git/x",
        "git~1",
        "GIT~2/x",
        "git~12",
        ".g\u200cit",
    ),
    *(".git::$INDEX_ALLOCATION", ".ｇｉｔ", "gitmod~1", "GITATT~1", "gi7eba~1", "git~1.txt"),
    *(
        ".gitmem-tmp-git-git/HEAD",
        "a/.GitMem-tmp-x",
        ".gitmodules",
        "a/.GitModules",
        ".gitattributes",
        "x/.GITATTRIBUTES",
        "a/.gitignore",
        ".GITIGNORE",
    ),
    *(
        "CON",
        "con.md",
        "a/Aux.md",
        "nul",
        "COM1",
        "lpt9.txt",
        "prn.a.b",
        "CONIN$",
        "conout$.md",
        "com¹.md",
        "aux .md",
    ),
    *("a.", "a ", "a/b./c", "a<b", "a>b", 'a"b', "a|b", "a?b", "a*b", "a:b"),
    *("x" * 201, "é" * 101, "/".join(["a"] * 33), "/".join(["x" * 150] * 8)),
]


@pytest.mark.parametrize("path", HOSTILE)
def test_hostile_paths_are_refused_with_a_sentence(path: str) -> None:
    """Each path that some system reads as another file, as git's own or as a device is refused."""
    with pytest.raises(UnsafePath) as caught:
        check_path(path)
    assert str(caught.value).endswith(".")
    assert str(caught.value).isascii()


@pytest.mark.parametrize(
    "path",
    [
        *("memories/MEMORY.md", "index.md", ".gitignore", "skills/a/b/SKILL.md", "skills/a/scripts/run.py"),
        *("decisions/use-tabs_2026-06-30.md", "tools/name~h0123456789ab.md", "日本語/é.md", "a b/c d.md"),
        *(
            "console.md",
            "com10.md",
            "gitmem.md",
            ".github/x",
            "gi-notes.md",
            "sessions/2026-06/30/s/w-0001.md",
        ),
        "/".join(["a"] * 32),
    ],
)
def test_ordinary_paths_pass(path: str) -> None:
    """What a bundle holds, also with other letters, is let through."""
    check_path(path)


def test_fold_finds_collisions() -> None:
    """Names that differ only in case or Unicode form are one file on macOS and Windows."""
    assert fold("A/É.md") == fold("a/e\u0301.md")
    assert fold("a.md") != fold("b.md")


@given(TEXT)
@example("\u0345\u03b1")
@example("\u1f81\u0653")
@example("İ")
def test_fold_is_stable(path: str) -> None:
    """A folded path folds to itself, and so do its upper case and its other form."""
    assert fold(fold(path)) == fold(path)
    assert fold(unicodedata.normalize("NFD", path)) == fold(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use PostgreSQL, not MySQL!", "use-postgresql-not-mysql"),
        ("Überraschung: Ärger & Straße", "uberraschung-arger-strasse"),
        ("Łódź æther", "lodz-aether"),
        ("one two three", "one-two-three"),
        ("データベースを選ぶ", "データベースを選ぶ"),
        ("Используйте Postgres", "используйте-postgres"),
        ("हिन्दी में निर्णय", "हिन्दी-में-निर्णय"),
        ("ﾊﾟﾜｰ ２０２６", "パワー-2026"),
    ],
)
def test_slug_reads_like_the_text(text: str, expected: str) -> None:
    """Words in lower case, Latin accents spelled out, letters of other scripts as they are."""
    assert slug(text) == expected


def test_slug_cuts_between_words() -> None:
    """A long text ends after a whole word, a long word is cut."""
    assert slug("alpha beta gamma", limit=11) == "alpha-beta"
    assert slug("x" * 200) == "x" * 60
    assert slug("日本語" * 50) == "日本語" * 11


@given(TEXT)
@example("con")
@example("日本語")
@example("")
def test_slug_is_a_safe_name(text: str) -> None:
    """Whatever the text, its slug is a path component and stays the same."""
    check_path(slug(text))
    assert slug(text) == slug(text)
    assert len(slug(text).encode()) <= 110
    assert slug(text) == fold(slug(text))


def test_slug_without_letters_is_told_apart() -> None:
    """Texts without any letter get names of their own."""
    assert slug("!!!") != slug("???")
    assert slug("!!!").startswith("untitled-")


@pytest.mark.parametrize("name", ["a", "20260630_141500_ab12", "terminal", "mcp.server-tool", "x" * 80])
def test_plain_names_stay(name: str) -> None:
    """A plain name is its own path component."""
    assert safe_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["A", "con", "nul.txt", "index", "log", "a.", "..", "-a", "a/b", "", "x" * 81, "é", "\ud800", "git~1"],
)
def test_other_names_get_a_hash(name: str) -> None:
    """A name that is not plain gets a readable base and a hash, and is safe as a file too."""
    made = safe_name(name)
    assert made != name
    assert "~h" in made
    check_path(made)
    check_path(f"tools/{made}.md")


@given(st.lists(TEXT | st.from_regex(r"[a-zA-Z0-9._~-]{1,5}", fullmatch=True), unique=True, max_size=8))
@example(["a", "A", "a~h000000000000"])
def test_different_names_never_share_a_path(names: list[str]) -> None:
    """Different names get different components, also where case and Unicode form are ignored."""
    made = [safe_name(name) for name in names]
    assert len({fold(one) for one in made}) == len(names)
    for one in made:
        check_path(one)


def test_paths_need_no_yaml() -> None:
    """Checking a path costs no import of the YAML reader."""
    code = "import sys, gitmem.okf.paths, gitmem.okf.layout; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(st.text(st.characters(max_codepoint=127)))
def test_a_plain_path_folds_as_any_other(path: str) -> None:
    """Lowering an ASCII path gives what decomposing and folding it gives."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
    assert folded == fold(path)
