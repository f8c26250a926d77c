"""One key of the host's config.yaml is set and taken out, and every other byte stays."""

from __future__ import annotations

import pytest
import yaml
from gitmem.errors import ConfigError
from gitmem.hosts.hermes.config_edit import provider_of, set_provider, take_out
from hypothesis import given
from hypothesis import strategies as st

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

TEXTS = {
    "empty": "",
    "comment": "# nothing yet\n",
    "no section": "model:\n  default: x\n",
    "no newline": "model:\n  default: x",
    "crlf": "model:\r\n  default: x\r\nmemory:\r\n  nudge_interval: 3\r\n",
    "commented": _COMMENTED,
    "section at the end": "a: 1\nmemory:\n    nudge_interval: 3\n",
    "null section": "memory:\na: 1\n",
    "null section, said": "memory: null\na: 1\n",
    "empty flow": "memory: {}\na: 1\n",
    "flow": "memory: {nudge_interval: 3, memory_enabled: true} # short\na: 1\n",
    "other provider": "memory:\n  provider: honcho  # the cloud\n  nudge_interval: 3\n",
    "quoted provider": "memory:\n  provider: 'honcho'\n",
    "empty provider": "memory:\n  provider: ''\n",
    "bare provider": "memory:\n  provider:\n  nudge_interval: 1\n",
    "flow provider": "memory: {provider: honcho, nudge_interval: 3}\n",
    "quoted key": '"memory":\n  "provider": mem0\n',
    "nested": "memory:\n  honcho:\n    provider: inner\n  nudge_interval: 2\n",
    "bom": "\ufeffmemory:\n  nudge_interval: 2\n",
    "bom and flow": "\ufeffmemory: { a: 1 }   # short\n",
    "spaces in flow": "memory: {  }\nx: 1\n",
    "spaces around": "memory: { provider: honcho ,a: 'x' }\n",
    "open end": "model: x\r\nmemory:",
    "document": "---\nmodel: x\n...\n",
    "block text": "prompt: |\n  memory:\n    provider: not this\nmemory:\n  nudge_interval: 2\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_set_and_taken_out(name: str) -> None:
    """Set, the value is there and nothing else changed; taken out, every byte is as it was."""
    text = TEXTS[name]
    edited = set_provider(text, "gitmem")
    assert provider_of(edited.text) == "gitmem"
    before, after = (yaml.safe_load(one.removeprefix("\ufeff")) or {} for one in (text, edited.text))
    for one in (before, after):
        one["memory"] = {key: value for key, value in (one.get("memory") or {}).items() if key != "provider"}
    assert before == after
    comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    assert comments == [line.partition("#")[2] for line in edited.text.splitlines() if "#" in line]
    again = take_out(edited.text, edited.removal, "gitmem")
    expected = text.replace("memory: null", "memory:") if name == "null section, said" else text
    assert expected == again


def test_setting_twice_changes_nothing() -> None:
    """The second edit gives the text as it is."""
    once = set_provider(_COMMENTED, "gitmem").text
    assert once == set_provider(once, "gitmem").text


def test_another_provider_is_left_alone_when_taking_out() -> None:
    """Whoever chose another provider since keeps it."""
    text = "memory:\n  provider: honcho\n"
    assert text == take_out(text, "key", "gitmem")


@pytest.mark.parametrize(
    "text",
    [
        "memory: [a]\n",
        "memory: &m {provider: x}\nother: *m\n",
        "memory: {a: {b: 1}}\n",
        "memory:\n  provider: |\n    gone\n",
        "{}\n",
        "{model: x}\n",
        "- a\n",
        "a: [\n",
        "memory: 3\n",
        "memory:\n\tprovider: x\n",
    ],
)
def test_what_is_not_edited_safely_is_refused(text: str) -> None:
    """Better a line to copy than a broken configuration."""
    with pytest.raises(ConfigError):
        set_provider(text, "gitmem")


_value = st.one_of(st.integers(0, 9), st.booleans(), st.sampled_from(["x", "a b", "#no", "it's", ""]))
_inner = st.dictionaries(st.sampled_from(["provider", "nudge_interval", "a", "b-c"]), _value, max_size=4)
_config = st.dictionaries(
    st.sampled_from(["memory", "model", "display", "x"]), st.one_of(_value, _inner), max_size=4
)


@given(_config, st.booleans())
def test_any_configuration_is_edited_or_refused(config: dict[str, object], flow: bool) -> None:
    """Whatever PyYAML writes: the rest says the same afterwards, or nothing is done."""
    text = yaml.safe_dump(config, default_flow_style=flow or None)
    try:
        edited = set_provider(text, "gitmem")
    except ConfigError:
        return
    after = yaml.safe_load(edited.text)
    assert after["memory"]["provider"] == "gitmem"
    back = yaml.safe_load(take_out(edited.text, edited.removal, "gitmem")) or {}
    for one in (config, back):
        section = one.get("memory")
        if isinstance(section, dict):
            one["memory"] = {k: v for k, v in section.items() if not (k == "provider" and not v)}
        one["memory"] = one.get("memory") or {}
    assert config == back
