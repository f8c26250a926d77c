"""One key of a settings file is set, changed and taken back, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from gitmem.errors import ConfigError
from gitmem.settings_edit import Edit, Form, Keys, get, load, put, take_back
from hypothesis import given
from hypothesis import strategies as st

SERVER = ("mcp_servers", "gitmem")
PROVIDER = ("memory", "provider")
ENTRY = {"command": "/bin/gitmem", "args": ["-C", "/a b/ü", "mcp"]}
OTHER = {"command": "/bin/gitmem", "args": ["mcp"]}

FILES: dict[Form, list[str]] = {
    "toml": [
        "",
        'model = "o3" # mine\n\n[mcp_servers.other]\ncommand = "x"\n\n# the end\n[tui]\nx = 1\n',
        'model = "o3"',
        '[mcp_servers]\n[mcp_servers.other]\ncommand = "x"\n',
    ],
    "json": [
        "",
        "{}\n",
        "{ }",
        '{"a": 1}',
        '{\n  "mcp_servers": {}\n}\n',
        '{\n  // mine\n  "mcp_servers": {\n    "other": {"command": "x"} // keep\n  },\n  "z": [1, {"mcp_servers": 2}]\n}\n',
        '{\n  "a": "// no comment, {",\n  /* two\n lines */\n  "mcp_servers": {\n    "x": {},\n    "y": {},\n  },\n}\n',
        '{"mcp_servers": {"other": {"args": ["}", "\\""]}}, "b": null}',
        '{"projects": {"/x": {"mcp_servers": {"gitmem": {"command": "theirs"}}}}, "n": 1}',
    ],
}
_COMMENTED = """\
# my hermes
model:
  default: gpt-x   # the fast one
  base_url: "http://localhost:1"

memory:   # what it remembers
  # limits
  memory_char_limit: 3000
  user_char_limit: 2000 # more room

  nudge_interval: 5
display:
  memory: wide
"""
TEXTS = (
    "",
    "# nothing yet\n",
    "model:\n  default: x\n",
    "model:\n  default: x",
    "model:\r\n  default: x\r\nmemory:\r\n  nudge_interval: 3\r\n",
    _COMMENTED,
    "a: 1\nmemory:\n    nudge_interval: 3\n",
    "memory:\na: 1\n",
    "memory: null\na: 1\n",
    "memory: {}\na: 1\n",
    "memory:\n  provider: honcho  # the cloud\n  nudge_interval: 3\n",
    "memory:\n  provider: 'honcho'\n",
    "memory:\n  provider: ''\n",
    "memory:\n  provider:\n  nudge_interval: 1\n",
    '"memory":\n  "provider": mem0\n',
    "memory:\n  honcho:\n    provider: inner\n  nudge_interval: 2\n",
    "\ufeffmemory:\n  nudge_interval: 2\n",
    "memory: {  }\nx: 1\n",
    "model: x\r\nmemory:",
    "---\nmodel: x\n...\n",
    "prompt: |\n  memory:\n    provider: not this\nmemory:\n  nudge_interval: 2\n",
)
CASES: list[tuple[Form, str, Keys, Any]] = [
    *((form, text, SERVER, ENTRY) for form, texts in FILES.items() for text in texts),
    *(("yaml", text, PROVIDER, "gitmem") for text in TEXTS),
    *(("yaml", text, ("transcripts",), "text") for text in ("", "a: 1", "transcripts: all # mine\nb: 2\n")),
    *(("yaml", text, ("trust.web",), "hold") for text in ("", "trust.web: mark\n# c\n")),
]


def comments(text: str) -> list[str]:
    marks = ("# ", "//", "/*")
    return [text[text.index(mark) :].split("\n", maxsplit=1)[0] for mark in marks if mark in text]


@pytest.mark.parametrize(("form", "text", "keys", "value"), CASES)
def test_a_key_is_set_and_taken_back_to_the_byte(form: Form, text: str, keys: Keys, value: Any) -> None:
    """Set twice it is there once; comments stay; what is kept to take it back is not the file."""
    once = put(form, text, keys, value)
    assert value == get(form, once, keys)
    assert once == put(form, once, keys, value)
    assert [] == [one for one in comments(text) if one not in once]
    edit = Edit.between(text, once)
    assert text == take_back(form, once, edit, keys)
    if len(text) > 200:
        assert len(edit.added) + len(edit.removed) < len(text) / 2


@pytest.mark.parametrize(("form", "text", "keys", "value"), CASES)
def test_what_others_wrote_since_stays(form: Form, text: str, keys: Keys, value: Any) -> None:
    """The file was changed behind our edit, or the key itself was: ours goes, theirs is as it was."""
    once = put(form, text, keys, value)
    edit = Edit.between(text, once)
    more = {"json": ("newer",), "toml": ("newer", "table"), "yaml": ("newer",)}[form]
    theirs = 1 if form == "yaml" else {"x": 1}
    newer = put(form, once, more, theirs)
    left = take_back(form, newer, edit, keys)
    assert theirs == get(form, left, more)
    assert get(form, left, keys) != value
    assert [] == [one for one in comments(text) if one not in left]


@pytest.mark.parametrize(("form", "text", "keys", "value"), CASES)
def test_a_key_is_removed_without_a_note(form: Form, text: str, keys: Keys, value: Any) -> None:
    """Whoever lost the note gets the key out all the same, and nothing else changes."""
    once = put(form, text, keys, value)
    left = put(form, once, keys, None)
    assert None is get(form, left, keys)
    assert [] == [
        one for one in comments(text) if one not in left and "honcho" not in text and "mine" not in one
    ]
    assert left == put(form, left, keys, None)


@pytest.mark.parametrize(("form", "texts"), FILES.items())
def test_an_entry_is_changed(form: Form, texts: list[str]) -> None:
    """The new one takes the place of the old one."""
    for text in texts:
        changed = put(form, put(form, text, SERVER, ENTRY), SERVER, OTHER)
        assert OTHER == get(form, changed, SERVER)
        assert [] == [one for one in comments(text) if one not in changed]


@pytest.mark.parametrize(
    ("form", "text", "keys", "value"),
    [
        ("toml", "model = [", SERVER, ENTRY),
        ("toml", 'mcp_servers = { other = { command = "x" } }\n', SERVER, ENTRY),
        ("json", "[1]", SERVER, ENTRY),
        ("json", '{"a": ', SERVER, ENTRY),
        ("json", '{"mcp_servers": 7}', SERVER, ENTRY),
        ("yaml", "a: [1", PROVIDER, "gitmem"),
        ("yaml", "- 1\n", PROVIDER, "gitmem"),
        ("yaml", "{memory: {provider: x}}\n", PROVIDER, "gitmem"),
        ("yaml", "memory: {nudge_interval: 3, memory_enabled: true} # short\na: 1\n", PROVIDER, "gitmem"),
        ("yaml", "\ufeffmemory: { a: 1 }   # short\n", PROVIDER, "gitmem"),
        ("yaml", "memory: [a]\n", PROVIDER, "gitmem"),
        ("yaml", "memory: &m {provider: x}\nother: *m\n", PROVIDER, "gitmem"),
        ("yaml", "memory: {a: {b: 1}}\n", PROVIDER, "gitmem"),
        ("yaml", "memory:\n  provider: |\n    gone\n", PROVIDER, "gitmem"),
        ("yaml", "{}\n", PROVIDER, "gitmem"),
        ("yaml", "{model: x}\n", PROVIDER, "gitmem"),
        ("yaml", "memory: 3\n", PROVIDER, "gitmem"),
        ("yaml", "memory:\n\tprovider: x\n", PROVIDER, "gitmem"),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(
    form: Form, text: str, keys: Keys, value: Any
) -> None:
    """With an error that says what to do."""
    with pytest.raises(ConfigError) as refused:
        put(form, text, keys, value)
    assert refused.value.hint


def test_a_forged_note_changes_no_other_key() -> None:
    """Whatever it says was there before: only our key goes."""
    text = "memory:\n  provider: gitmem\nmodel: mine\n"
    for added, removed in (("mine", "theirs"), (text, "model: theirs\n"), ("", "evil: 1\n")):
        edit = Edit.between(text, text)._replace(start=text.find(added), added=added, removed=removed)
        left = take_back("yaml", text, edit, PROVIDER)
        assert {"model": "mine"} == load("yaml", left)


def test_strict_json_stays_strict() -> None:
    """An agent that reads no comments reads no comma behind the last key either."""
    text = '{"mcp_servers":{}}\n'
    once = put("json", text, SERVER, ENTRY)
    newer = once.replace("{\n", '{\n    "n": 1,\n', 1)
    left = take_back("json", newer, Edit.between(text, once), SERVER)
    assert {"mcp_servers": {"n": 1}} == json.loads(left)


def test_a_group_that_is_empty_goes_too() -> None:
    """The last setting of a group takes the group with it."""
    assert "a: 1\nz: 2\n" == put("yaml", "a: 1\ntrust:\n  web: hold\nz: 2\n", ("trust", "web"), None)
    assert "trust:\n  file: mark\n" == put(
        "yaml", "trust:\n  web: hold\n  file: mark\n", ("trust", "web"), None
    )


_value = st.one_of(st.integers(0, 9), st.booleans(), st.sampled_from(["x", "a b", "#no", "it's", ""]))
_inner = st.dictionaries(st.sampled_from(["provider", "nudge_interval", "a", "b-c"]), _value, max_size=4)
_config = st.dictionaries(
    st.sampled_from(["memory", "model", "display", "x"]), st.one_of(_value, _inner), max_size=4
)


@given(_config, st.booleans())
def test_any_configuration_is_edited_or_refused(config: dict[str, Any], flow: bool) -> None:
    """Whatever PyYAML writes: the rest says the same afterwards, and taken back it is the same text; or nothing is done."""
    text = yaml.safe_dump(config, default_flow_style=flow or None)
    try:
        edited = put("yaml", text, PROVIDER, "gitmem")
    except ConfigError:
        return
    assert "gitmem" == load("yaml", edited)["memory"]["provider"]
    assert text == take_back("yaml", edited, Edit.between(text, edited), PROVIDER)
