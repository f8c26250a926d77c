from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
from gitmem import config
from gitmem.config import Config, ConfigFile, parse_file, resolve, settings, sources
from gitmem.errors import ConfigError

DEFAULTS = {
    "bundle_path": "",
    "agent_id": "hermes",
    "machine": "",
    "auto_snapshot": True,
    "log_tool_calls": True,
    "log_decisions": True,
    "use_hot_memory": True,
    "hot_memory_max": 50,
    "flush_min_turns": 6,
    "nudge_interval": 10,
    "transcripts": "all",
    "fsync": "interval",
    "fsync_interval_ms": 200,
    "memory_enabled": True,
    "user_profile_enabled": True,
    "memory_char_limit": 2200,
    "user_char_limit": 1375,
    "context_cadence": 1,
    "context_budget": 4000,
    "recall_mode": "hybrid",
    "session_search": True,
    "users": "separate",
    "distiller.base_url": "",
    "distiller.model": "",
    "distiller.api_key_env": "",
    "distiller.timeout": 20.0,
    "summarizer.base_url": "",
    "summarizer.model": "",
    "summarizer.api_key_env": "",
    "summarizer.timeout": 20.0,
    "embeddings.base_url": "",
    "embeddings.model": "",
    "embeddings.api_key_env": "",
    "embeddings.timeout": 20.0,
}


def refusal(env: dict[str, str] | None = None, *files: ConfigFile) -> str:
    with pytest.raises(ConfigError) as caught:
        resolve(env or {}, files)
    return str(caught.value)


class TestTable:
    def test_documented_defaults(self) -> None:
        """The settings that the documentation promises are there with their defaults."""
        resolved = resolve({})
        assert {key: resolved[key] for key in DEFAULTS} == DEFAULTS

    def test_every_setting_is_described(self) -> None:
        """Each row has a help text, and its default would pass its own check."""
        for setting in settings():
            assert setting.help, setting.key
            assert setting.default == resolve({setting.env: str(setting.default)})[setting.key]

    def test_variables_are_unambiguous(self) -> None:
        """No two settings share an environment variable, nor one of the command line's own."""
        names = [setting.env for setting in settings()]
        assert len(names) == len(set(names))
        assert not config.NOT_SETTINGS & set(names)

    def test_row_types(self) -> None:
        """The type of a row comes from its field."""
        kinds = {setting.key: setting.type for setting in settings()}
        assert tuple(
            kinds[key]
            for key in ("hot_memory_max", "undo_tools", "recall_mode", "distiller.timeout", "distiller.model")
        ) == ("int", "bool", "choice", "float", "str")

    def test_typed_access(self) -> None:
        """Attributes and dotted names give the same values."""
        resolved = resolve({"GITMEM_DISTILLER_MODEL": "small", "GITMEM_HOT_MEMORY_MAX": "7"})
        assert (resolved.distiller.model, resolved.hot_memory_max) == ("small", 7)
        assert (resolved["distiller.model"], resolved["hot_memory_max"]) == ("small", 7)

    def test_unknown_name_is_a_key_error(self) -> None:
        """A program that asks for a setting that does not exist has a bug."""
        for ask in (resolve({}).__getitem__, resolve({}).origin):
            for key in ("nonsense", "_origins", "distiller", "__class__"):
                with pytest.raises(KeyError):
                    ask(key)

    def test_frozen(self) -> None:
        """A resolved configuration does not change any more."""
        with pytest.raises(dataclasses.FrozenInstanceError):
            resolve({}).hot_memory_max = 3  # type: ignore[misc]


class TestOrder:
    def test_first_source_wins(self) -> None:
        """Environment, git directory, gitmem.yaml, plugins.gitmem, memory, default: in this order."""
        keys = ("hot_memory_max", "flush_min_turns", "nudge_interval", "memory_char_limit", "user_char_limit")
        files = sources(
            "".join(f"{key}: 2\n" for key in keys[1:]),
            "".join(f"{key}: 3\n" for key in keys[1:] if key != "flush_min_turns") + "hot_memory_max: 3\n",
            "plugins: {gitmem: {flush_min_turns: 4, context_budget: 4, context_cadence: 4}}\n"
            "memory: {context_budget: 5, context_cadence: 5, fsync_interval_ms: 5}\n",
        )
        resolved = resolve({"GITMEM_HOT_MEMORY_MAX": "1"}, files)
        found = {key: (resolved[key], resolved.origin(key)) for key in (one.key for one in settings())}
        assert found["hot_memory_max"] == (1, "environment GITMEM_HOT_MEMORY_MAX")
        assert found["flush_min_turns"] == (2, "<git dir>/gitmem/config")
        assert found["context_cadence"] == (4, "$HERMES_HOME/config.yaml (plugins.gitmem)")
        assert found["fsync_interval_ms"] == (5, "$HERMES_HOME/config.yaml (memory)")
        assert found["agent_id"] == ("hermes", "default")

    def test_gitmem_yaml_before_the_host(self) -> None:
        """The user's gitmem.yaml outranks what the host's config says."""
        resolved = resolve({}, sources("", "agent_id: mine", "plugins: {gitmem: {agent_id: host}}"))
        assert (resolved.agent_id, resolved.origin("agent_id")) == ("mine", "$HERMES_HOME/gitmem.yaml")

    def test_groups_merge_key_by_key(self) -> None:
        """Two sources can each give a part of an endpoint, nested or dotted."""
        resolved = resolve(
            {"GITMEM_DISTILLER_BASE_URL": "http://localhost:1"},
            sources("distiller: {base_url: http://other, model: small}", "distiller.timeout: 3"),
        )
        assert config.EndpointConfig("http://localhost:1", "small", "", 3.0) == resolved.distiller
        assert config.EndpointConfig() == resolved.summarizer

    def test_machine_is_the_host_name(self) -> None:
        """Without a setting the machine is called what the caller says its host name is."""
        resolved = resolve({}, hostname="box")
        assert (resolved.machine, resolved.origin("machine")) == ("box", "host name")
        assert resolve({"GITMEM_MACHINE": "mine"}, hostname="box").machine == "mine"

    def test_empty_sources(self) -> None:
        """Files that are missing, empty or only comments change nothing."""
        assert Config() == resolve({}, sources("", "# nothing\n", "plugins:\nmemory:\n"))
        assert Config() == resolve({}, sources("", "agent_id:\ndistiller:\n", "plugins: {gitmem: }"))

    def test_process_environment_is_not_read(self) -> None:
        """Only the mapping that the caller hands in counts."""
        code = "import gitmem.config as c; print(c.resolve({}).agent_id)"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"GITMEM_AGENT_ID": "x"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "hermes\n"

    def test_import_is_light(self) -> None:
        """Reading the table does not import yaml."""
        code = "import sys, gitmem.config as c; c.resolve({}, c.sources()); print('yaml' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "False\n"


class TestValues:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("true", True),
            ("1", True),
            ("YES", True),
            ("on", True),
            ("false", False),
            ("0", False),
            ("No", False),
            ("off", False),
        ],
    )
    def test_bool_from_environment(self, text: str, value: bool) -> None:
        """The usual words for yes and no are understood in the environment."""
        assert value is resolve({"GITMEM_UNDO_TOOLS": text}).undo_tools

    def test_numbers_from_environment(self) -> None:
        """Numbers in the environment become numbers."""
        resolved = resolve({"GITMEM_NUDGE_INTERVAL": "0", "GITMEM_DISTILLER_TIMEOUT": "2.5"})
        assert (resolved.nudge_interval, resolved.distiller.timeout) == (0, 2.5)

    def test_empty_variable(self) -> None:
        """An empty variable takes a text away, and says nothing about anything else."""
        files = sources("distiller: {base_url: http://x}\nhot_memory_max: 3")
        resolved = resolve({"GITMEM_DISTILLER_BASE_URL": "", "GITMEM_HOT_MEMORY_MAX": ""}, files)
        assert (resolved.distiller.base_url, resolved.hot_memory_max) == ("", 3)

    def test_bare_off_in_yaml(self) -> None:
        """YAML reads a bare `off` as false; as a choice it still means off."""
        resolved = resolve({}, sources("fsync: off\ntranscripts: off\n"))
        assert (resolved.fsync, resolved.transcripts) == ("off", "off")

    def test_int_for_a_float(self) -> None:
        """A whole number is a number."""
        timeout = resolve({}, sources("distiller: {timeout: 5}")).distiller.timeout
        assert (5.0, float) == (timeout, type(timeout))

    @pytest.mark.parametrize(
        ("variable", "text"),
        [
            ("GITMEM_HOT_MEMORY_MAX", "many"),
            ("GITMEM_HOT_MEMORY_MAX", "0"),
            ("GITMEM_HOT_MEMORY_MAX", "1.5"),
            ("GITMEM_NUDGE_INTERVAL", "-1"),
            ("GITMEM_UNDO_TOOLS", "maybe"),
            ("GITMEM_FSYNC", "sometimes"),
            ("GITMEM_FSYNC", "Off"),
            ("GITMEM_DISTILLER_TIMEOUT", "nan"),
            ("GITMEM_DISTILLER_TIMEOUT", "inf"),
            ("GITMEM_DISTILLER_TIMEOUT", "0"),
        ],
    )
    def test_wrong_in_environment(self, variable: str, text: str) -> None:
        """A value of the wrong type is refused with the variable, and never guessed at."""
        message = refusal({variable: text})
        assert variable in message
        assert "must be" in message

    @pytest.mark.parametrize(
        "line",
        [
            "hot_memory_max: '5'",
            "hot_memory_max: true",
            "hot_memory_max: 5.0",
            "hot_memory_max: [5]",
            "agent_id: 7",
            "undo_tools: 1",
            "undo_tools: 'true'",
            "fsync: true",
            "recall_mode: {a: b}",
            "distiller: {timeout: true}",
            "distiller: 5",
        ],
    )
    @pytest.mark.parametrize("is_shared", [False, True])
    def test_wrong_in_files(self, line: str, is_shared: bool) -> None:
        """A value of the wrong type is refused in every file, also ours in the host's section."""
        message = refusal({}, parse_file(line, "the file")._replace(is_shared=is_shared))
        assert "the file" in message
        assert line.partition(":")[0] in message

    def test_overridden_values_are_checked_too(self) -> None:
        """A broken file is reported although the environment gives the value."""
        assert "gitmem/config" in refusal({"GITMEM_HOT_MEMORY_MAX": "5"}, *sources("hot_memory_max: x"))


class TestUnknown:
    def test_variable(self) -> None:
        """A misspelt variable is named with the nearest one there is."""
        message = refusal({"GITMEM_HOT_MEMORY_MAXX": "5"})
        assert "`GITMEM_HOT_MEMORY_MAXX` in the environment" in message
        assert "`GITMEM_HOT_MEMORY_MAX`" in message

    @pytest.mark.parametrize(
        ("files", "origin"),
        [
            (sources("hot_memry_max: 5"), "<git dir>/gitmem/config"),
            (sources("", "hot_memry_max: 5"), "$HERMES_HOME/gitmem.yaml"),
            (
                sources("", "", "plugins: {gitmem: {hot_memry_max: 5}}"),
                "$HERMES_HOME/config.yaml (plugins.gitmem)",
            ),
        ],
    )
    def test_key_in_own_files(self, files: list[ConfigFile], origin: str) -> None:
        """A misspelt key is named with its file and the nearest one there is."""
        message = refusal({}, *files)
        assert "`hot_memry_max`" in message
        assert origin in message
        assert "`hot_memory_max`" in message

    def test_key_in_a_group(self) -> None:
        """A misspelt key inside a group is found too."""
        assert "`distiller.model`" in refusal({}, *sources("distiller: {modle: x}"))

    def test_host_memory_is_left_alone(self) -> None:
        """Keys of the host's memory section and other plugins are none of our business."""
        memory = "memory: {provider: gitmem, write_approval: false, 7: x, hot_memory_max: 9}\n"
        host = memory + "plugins: {enabled: [a], other: {b: c}}"
        assert resolve({}, sources("", "", host)).hot_memory_max == 9

    def test_strange_host_sections(self) -> None:
        """A host section in a form that we do not know says nothing to us."""
        assert Config() == resolve({}, sources("", "", "memory: [a, b]\nplugins: [gitmem]"))

    def test_variables_of_the_command_line(self) -> None:
        """GITMEM_BUNDLE and GITMEM_SESSION are no settings, and no errors either."""
        assert Config() == resolve(
            {"GITMEM_BUNDLE": "/b", "GITMEM_SESSION": "s", "PATH": "/bin", "GIT_DIR": "x"}
        )

    def test_secrets_are_not_repeated(self) -> None:
        """A key pasted into the wrong place is not in the error."""
        assert "sk-live" not in refusal({"GITMEM_DISTILLER_API_KEY": "sk-live-1"})
        assert "sk-live" not in refusal({"GITMEM_DISTILLER_API_KEY_ENV": "sk-live-1"})
        assert "sk-live" not in refusal({}, *sources("distiller: {api_key: sk-live-1}"))


class TestBadFiles:
    @pytest.mark.parametrize(
        "text",
        [
            "[",
            "- a\n- b",
            "just words",
            "a: 2026-13-45",
            "a: \x00",
            "\ud800: 1",
            "? [a]\n: b",
            "!!python/object:os.x {}",
        ],
    )
    def test_unreadable(self, text: str) -> None:
        """A text that is no configuration is refused with the name of its file."""
        with pytest.raises(ConfigError, match=r"^the file "):
            parse_file(text, "the file")

    @pytest.mark.parametrize(
        "text",
        [
            "x: " + "[" * 100_000,
            "\n".join(" " * i + "a:" for i in range(1400)),
            "- " * 50_000,
            "x: " + "y" * (1 << 20),
        ],
        ids=["flow", "block", "line", "large"],
    )
    def test_hostile(self, text: str) -> None:
        """Deep nesting and size end in an error, not in a crash of the process."""
        with pytest.raises(ConfigError):
            parse_file(text, "the file")

    def test_host_config_in_error(self) -> None:
        """When the host's file is broken, the message says that it is that one."""
        with pytest.raises(ConfigError, match=r"config\.yaml.*line 2"):
            sources("", "", "memory:\n\tx: [")
