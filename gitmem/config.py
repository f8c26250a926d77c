"""Every setting of gitmem, and how its value is found.

Order, first hit wins: `GITMEM_*` environment, `<git dir>/gitmem/config` (personal settings excepted),
`$HERMES_HOME/gitmem.yaml`, `plugins.gitmem` and then `memory` of Hermes' `config.yaml`, the default below. Nothing here
looks at the environment, the home directory or the disk: `cli/` and `hosts/` hand in what they read.

The fields of `Config` are the table. A new setting is one line there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from gitmem.errors import ConfigError

ENV_PREFIX = "GITMEM_"
# Variables of the command line that name a thing to work on and set nothing.
NOT_SETTINGS = frozenset({"GITMEM_BUNDLE", "GITMEM_SESSION", "GITMEM_DEBUG", "GITMEM_SAFE_DIRECTORY"})

GIT_DIR_CONFIG = "<git dir>/gitmem/config"
HERMES_YAML = "$HERMES_HOME/gitmem.yaml"
USER_YAML = "~/.config/gitmem/config.yaml"
HERMES_CONFIG = "$HERMES_HOME/config.yaml"

MAX_FILE = 1 << 20

Value = str | bool | int | float

_NAME = r"([A-Za-z_][A-Za-z0-9_]*)?"
_BOOLS = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}


def _setting(default: Value, help: str, **more: Any) -> Any:  # noqa: A002 - the column's name
    """One row of the table; `more` is any other column of `Setting`."""
    return field(default=default, metadata={"help": help, **more})


# --- the table -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EndpointConfig:
    """An OpenAI-compatible endpoint; without a base_url there is none, and no socket is opened."""

    base_url: str = _setting("", "where the endpoint is, up to and with /v1", is_personal=True)
    model: str = _setting("", "model to ask for")
    # A name and never the key itself: `status --config` prints this.
    api_key_env: str = _setting(
        "",
        "environment variable that holds the key",
        pattern=_NAME,
        form="the name of a variable",
        is_personal=True,
    )
    timeout: float = _setting(20.0, "seconds one request may take", minimum=0.1)


Trust = Literal["follow", "mark", "hold"]


@dataclass(frozen=True)
class TrustConfig:
    """Trust in an entry by the channel it came through, where the user did not say it or ask to keep it.

    `follow` takes it as the user's own; `mark` marks it, and holds it for a person where it gives orders or changes who is
    paid, an address, a host, a credential's place or a permission; `hold` always holds it.
    """

    web: Trust = _setting("mark", "what becomes of unconfirmed entries from the web")
    mail: Trust = _setting("mark", "the same for mail")
    file: Trust = _setting("mark", "the same for files that a tool read")
    shell: Trust = _setting("mark", "the same for what commands on this machine printed")
    agent: Trust = _setting("mark", "the same for other agents")
    tool: Trust = _setting("mark", "the same for any other tool")
    recall: Trust = _setting("mark", "the same for what was recalled from earlier sessions")
    remote: Trust = _setting("mark", "the same for what machines of others brought")


@dataclass(frozen=True)
class RedactConfig:
    """Texts that are redacted beside secrets."""

    iban: bool = _setting(False, "redact numbers of bank accounts (IBAN) too")


@dataclass(frozen=True)
class Config:
    """All settings with their values; `origin(key)` says where each one came from."""

    bundle_path: str = _setting("", "bundle to use when no other is named")
    agent_id: str = _setting("hermes", "author of the commits")
    machine: str = _setting("", "name of this machine in commits; the host name if empty")
    auto_snapshot: bool = _setting(True, "snapshot when a session or a plan ends")
    log_tool_calls: bool = _setting(True, "record tool calls")
    log_decisions: bool = _setting(True, "record decisions")
    use_hot_memory: bool = _setting(True, "collect events in a buffer; false writes each one at once")
    hot_memory_max: int = _setting(50, "events in the buffer before it is flushed", minimum=1)
    flush_min_turns: int = _setting(6, "user turns before a session is distilled; 0 = never")
    nudge_interval: int = _setting(10, "turns between two memory nudges; 0 = never")
    transcripts: Literal["all", "text", "user-only", "off"] = _setting("all", "what is kept of conversations")
    fsync: Literal["always", "interval", "off"] = _setting("interval", "when the journal is fsynced")
    fsync_interval_ms: int = _setting(200, "milliseconds between two fsyncs of the journal", minimum=1)
    memory_enabled: bool = _setting(True, "keep MEMORY.md")
    user_profile_enabled: bool = _setting(True, "keep USER.md")
    memory_char_limit: int = _setting(2200, "characters of MEMORY.md that fit into a prompt", minimum=1)
    user_char_limit: int = _setting(1375, "characters of USER.md that fit into a prompt", minimum=1)
    when_full: Literal["auto", "keep", "refuse"] = _setting(
        "auto",
        "a fact beyond the limit: kept, or refused; auto refuses under Hermes and where a limit is set",
    )
    context_cadence: int = _setting(1, "turns between two recalls; 0 = never")
    context_budget: int = _setting(4000, "characters one recall may add to a turn")
    recall_mode: Literal["context", "tools", "hybrid"] = _setting("hybrid", "how recall reaches the agent")
    context_share: float = _setting(
        0.3,
        "share of a prompt about oneself that an entry must have to be recalled unasked; of others 0.3 more",
    )
    session_search: bool = _setting(True, "give the agent what was said in earlier sessions")
    users: Literal["separate", "shared"] = _setting(
        "separate", "whether users of a gateway see each other's sessions"
    )
    enforce_host_files: bool = _setting(False, "take what the scanner flags out of the host's own files")
    undo_tools: bool = _setting(False, "let the model itself take memory back")
    past_tools: bool = _setting(False, "let the model look at what was removed, and at earlier states")
    external_skills: str = _setting(
        "", "directories with skills that are only read, as in $PATH", is_personal=True
    )
    own_directories: str = _setting(
        "", "directories whose files are your own, cloned ones too, as in $PATH", is_personal=True
    )
    auto_sync: bool = _setting(True, "sync when a session begins or ends")
    sync_wait: float = _setting(
        1.5, "seconds that the beginning of a session waits for its sync; 0 = not at all"
    )
    trust: TrustConfig = TrustConfig()
    redact: RedactConfig = RedactConfig()
    distiller: EndpointConfig = EndpointConfig()
    summarizer: EndpointConfig = EndpointConfig()
    embeddings: EndpointConfig = EndpointConfig()

    _origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    _ignored: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __getitem__(self, key: str) -> Value:
        """The value of a setting by its dotted name."""
        if key not in _table():
            raise KeyError(key)
        found: Any = self
        for part in key.split("."):
            found = getattr(found, part)
        value: Value = found
        return value

    @property
    def ignored(self) -> tuple[str, ...]:
        """Settings that the bundle's own directory gives and that only the user's files may give."""
        return self._ignored

    def given(self, values: Mapping[str, Any]) -> Config:
        """Return these settings with values that a program gives, which count as set even where they are the default."""
        origins = {**self._origins, **dict.fromkeys(values, "the program")}
        return replace(self, **values, _origins=MappingProxyType(origins))

    def origin(self, key: str) -> str:
        """Return where the value of `key` came from: a variable, a file, or `default`."""
        if key not in _table():
            raise KeyError(key)
        return self._origins.get(key, "default")


# --- the table, as rows ----------------------------------------------------------------------------------


class Setting(NamedTuple):
    key: str
    type: Literal["str", "bool", "int", "float", "choice"]
    default: Value
    help: str
    choices: tuple[str, ...] = ()
    minimum: float = 0
    pattern: str = ""
    form: str = ""
    """Form that the pattern asks for, in words."""
    is_personal: bool = False
    """It says where to send what to whom: a bundle, which may come from somebody else, has no say in that."""

    @property
    def env(self) -> str:
        return ENV_PREFIX + self.key.upper().replace(".", "_")

    @property
    def expected(self) -> str:
        """Return what a value must be, as the end of a sentence."""
        if self.type == "choice":
            return "one of " + ", ".join(self.choices)
        if self.type == "bool":
            return "true or false"
        if self.type == "str":
            return self.form or "text"
        kind = "a whole number" if self.type == "int" else "a number"
        return f"{kind} of at least {self.minimum:g}"


def _rows(table: type, prefix: str = "") -> Iterator[Setting]:
    hints = get_type_hints(table)
    for column in fields(table):
        key, kind = prefix + column.name, hints[column.name]
        default: Any = column.default
        if is_dataclass(default):
            yield from _rows(kind, f"{key}.")
        elif column.metadata:
            choices = get_args(kind) if get_origin(kind) is Literal else ()
            name: Any = "choice" if choices else kind.__name__
            yield Setting(key, name, default, choices=choices, **column.metadata)


@cache
def settings() -> tuple[Setting, ...]:
    """Every setting. Buys "`gitmem log -n 20`": made when it is asked for, and most commands find nothing set."""
    return tuple(_rows(Config))


@cache
def _table() -> dict[str, Setting]:
    return {setting.key: setting for setting in settings()}


def setting_named(key: str, source: str) -> Setting:
    """The setting of that name; the error names the nearest one."""
    if key not in _table():
        raise _unknown(key, source, _table())
    return _table()[key]


# --- sources ---------------------------------------------------------------------------------------------


class ConfigFile(NamedTuple):
    """A parsed source; where the host shares it, keys that are not ours are left alone."""

    origin: str
    values: Mapping[Any, Any]
    is_shared: bool = False


def parse_file(text: str, origin: str) -> ConfigFile:
    """The settings in a YAML text (`key: value` lines are YAML)."""
    return ConfigFile(origin, _mapping(_yaml(text, origin), origin))


def sources(
    git_dir_config: str = "", hermes_yaml: str = "", hermes_config: str = "", user_yaml: str = ""
) -> list[ConfigFile]:
    """The files in their order, from their texts; a file that is not there is an empty text."""
    host = _mapping(_yaml(hermes_config, HERMES_CONFIG), HERMES_CONFIG)
    plugins = host.get("plugins")
    plugin = plugins.get("gitmem") if isinstance(plugins, Mapping) else None
    memory = host.get("memory")
    plugin_origin = f"{HERMES_CONFIG} (plugins.gitmem)"
    return [
        parse_file(git_dir_config, GIT_DIR_CONFIG),
        parse_file(hermes_yaml, HERMES_YAML),
        ConfigFile(plugin_origin, _mapping(plugin, plugin_origin)),
        # The host's own section: in a form that we do not know it says nothing to us.
        ConfigFile(f"{HERMES_CONFIG} (memory)", memory if isinstance(memory, Mapping) else {}, True),
        parse_file(user_yaml, USER_YAML),
    ]


def resolve(env: Mapping[str, str], files: Iterable[ConfigFile] = (), *, hostname: str = "") -> Config:
    """The settings that hold, from the environment and then the files in their order."""
    found: dict[str, tuple[Value, str]] = {}
    given = sorted(name for name in env if name.startswith(ENV_PREFIX) and name not in NOT_SETTINGS)
    by_variable = {setting.env: setting for setting in settings()} if given else {}
    for name in given:
        setting = by_variable.get(name)
        if setting is None:
            raise _unknown(name, "the environment", by_variable)
        # `GITMEM_X= command` is how a shell takes a variable away; only a text can be empty.
        if env[name] or setting.type == "str":
            value = from_text(setting, env[name], f"the environment ({name})")
            found.setdefault(setting.key, (value, f"environment {name}"))

    # Every file is checked in full, also where an earlier source already gave the value.
    ignored: list[str] = []
    for file in files:
        for key, raw in _flat(file):
            if raw is not None and _table()[key].is_personal and file.origin == GIT_DIR_CONFIG:
                ignored.append(key)
            elif raw is not None:
                found.setdefault(key, (_from_data(_table()[key], raw, file.origin), file.origin))

    if hostname and not found.get("machine", ("", ""))[0]:
        found["machine"] = hostname, "host name"
    origins = MappingProxyType({key: origin for key, (_, origin) in found.items()})
    config = Config(_origins=origins, _ignored=tuple(ignored))
    values: dict[str, Any] = {}
    for key, (value, _) in found.items():
        group, _, own = key.rpartition(".")
        values[group or key] = (
            replace(values.get(group, getattr(config, group)), **{own: value}) if group else value
        )
    return replace(config, **values)


def _yaml(text: str, origin: str) -> object:
    if not text.strip():
        return None
    if len(text) > MAX_FILE:
        raise ConfigError(f"{origin} is larger than 1 MiB, which no configuration is.")
    import yaml

    # Buys "`gitmem log -n 20`": libyaml's loader is ten times faster. But a deeply nested text kills the process. Block
    # depth is at most the length of a line, flow depth the number of brackets: where both are small it is used.
    shallow = text.count("[") + text.count("{") < 1000 and max(map(len, text.splitlines())) < 1000
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if shallow else yaml.SafeLoader
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506 (both are safe loaders)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise ConfigError(
            f"{origin} is not readable as YAML{where}.", hint="Correct the file, or move it away."
        ) from error


def _mapping(found: object, origin: str) -> Mapping[Any, Any]:
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise ConfigError(
            f"{origin} does not hold `key: value` lines.", hint="For example: hot_memory_max: 50"
        )
    return found


def _flat(file: ConfigFile) -> Iterator[tuple[str, object]]:
    """Known keys with their values; groups may be nested (`distiller: {model: x}`) or dotted."""
    groups = {key.partition(".")[0] for key in _table() if "." in key} if file.values else set()
    for name, raw in file.values.items():
        if isinstance(name, str) and name in groups:
            if raw is None:
                continue
            if not isinstance(raw, Mapping):
                raise ConfigError(
                    f"`{name}` in {file.origin} must hold settings of its own, as in `{name}: {{model: x}}`."
                )
            pairs = [(f"{name}.{inner}", value) for inner, value in raw.items()]
        else:
            pairs = [(str(name), raw)]
        for key, value in pairs:
            if key in _table():
                yield key, value
            elif not file.is_shared:
                raise _unknown(key, file.origin, _table())


def from_text(setting: Setting, text: str, source: str) -> Value:
    """The value that a text stands for; raises where it is none for this setting."""
    word = text.strip().lower()
    value: object = text
    try:
        if setting.type == "bool":
            value = _BOOLS[word]
        elif setting.type in ("int", "float"):
            value = int(word) if setting.type == "int" else float(word)
    except (ValueError, KeyError):
        raise _wrong(setting, text, source) from None
    return _from_data(setting, value, source)


def _from_data(setting: Setting, raw: object, source: str) -> Value:
    # YAML 1.1 reads a bare `off` as false: `fsync: off` must mean what it says.
    if setting.type == "choice" and isinstance(raw, bool):
        raw = "on" if raw else "off"
    if setting.type == "float" and isinstance(raw, int) and not isinstance(raw, bool):
        raw = float(raw) if abs(raw) < 1e15 else math.inf
    expected = {"str": str, "choice": str, "bool": bool, "int": int, "float": float}[setting.type]
    if type(raw) is not expected:
        raise _wrong(setting, raw, source)
    value: Any = raw
    if isinstance(value, str):
        is_fit = (
            value in setting.choices
            if setting.choices
            else re.fullmatch(setting.pattern or r"(?s:.*)", value)
        )
    else:
        is_fit = isinstance(value, bool) or (math.isfinite(value) and value >= setting.minimum)
    if not is_fit:
        raise _wrong(setting, value, source)
    checked: Value = value
    return checked


def _wrong(setting: Setting, value: object, source: str) -> ConfigError:
    # What was given for a text may be a key in the wrong place, so it is not repeated.
    given = "" if setting.type == "str" else f", not {_short(value)}"
    return ConfigError(
        f"`{setting.key}` in {source} must be {setting.expected}{given}.", hint=f"It is: {setting.help}."
    )


def _unknown(key: str, source: str, known: Mapping[str, object]) -> ConfigError:
    import difflib

    shown = _short(key)[1:-1]
    near = difflib.get_close_matches(shown, known, n=1, cutoff=0.0)
    return ConfigError(f"`{shown}` in {source} is not a setting of gitmem; the nearest one is `{near[0]}`.")


def _short(value: object) -> str:
    shown = repr(value) if isinstance(value, Value) else f"a {type(value).__name__}"
    return shown if len(shown) <= 60 else f"{shown[:57]}..{shown[-1]}"
