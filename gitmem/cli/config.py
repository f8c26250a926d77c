"""`gitmem config`: the settings, read and written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import bold, dim, yellow
from gitmem.errors import BundleNotFound, ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitmem.config import Config, Setting, Value
    from gitmem.settings_edit import Keys

_home = click.option(
    "--home", is_flag=True, help="In gitmem.yaml of the Hermes home: for every bundle, not for this one."
)


@click.group()
def config() -> None:
    """Settings: list, read, set and unset them.

    A setting is set for this bundle on this machine; with --home for the Hermes home. Variables (GITMEM_…) go before
    both. docs/settings.md has them all.

    \b
    gitmem config list
    gitmem config get transcripts
    gitmem config set transcripts text
    gitmem config unset transcripts
    """


@config.command("list")
@with_json
def list_(app: App) -> None:
    """List every setting, its value and where that comes from."""
    show_settings(app)


def show_settings(app: App) -> None:
    """Every setting, for people or as JSON."""
    from gitmem.config import settings

    found = _settings(app)
    app.out.json({"settings": [_row(found, row) for row in settings()]})
    app.out.paged()
    width = max(len(row.key) for row in settings())
    for row in settings():
        shown = spelled(found[row.key])
        app.out.line(bold(row.key.ljust(width)), "  ", shown, dim(f"  ({found.origin(row.key)})"))


@config.command("get")
@click.argument("key")
@with_json
def get(app: App, key: str) -> None:
    """Print the value of a setting."""
    setting, found = _setting(key), _settings(app)
    app.out.json(_row(found, setting))
    app.out.line(spelled(found[setting.key], empty=""))


@config.command("set")
@click.argument("key")
@click.argument("value")
@_home
@with_json
def set_(app: App, key: str, value: str, home: bool) -> None:
    """Set a setting for this bundle, or with --home for the Hermes home."""
    from gitmem.config import from_text

    setting = _setting(key)
    wanted = from_text(setting, value, "the command line")
    file = _File(app, setting, home=home)
    file.put(wanted)
    _tell(app, setting)
    holds = _settings(app).origin(setting.key)
    if holds != file.origin:
        app.out.line(yellow(f"What holds is from {holds}, which goes before {file.origin}."))


@config.command("unset")
@click.argument("key")
@_home
@with_json
def unset(app: App, key: str, home: bool) -> None:
    """Take a setting out of the file of this bundle, or with --home of the Hermes home."""
    setting = _setting(key)
    _File(app, setting, home=home, reading=True).remove()
    _tell(app, setting)


class _File:
    """The file that a setting is written to."""

    def __init__(self, app: App, setting: Setting, *, home: bool, reading: bool = False) -> None:
        from gitmem.config import GIT_DIR_CONFIG, HERMES_YAML
        from gitmem.files import read_settings
        from gitmem.state import CONFIG

        if setting.is_personal and not home and not reading:
            raise UsageError(
                f"`{setting.key}` is not for a bundle to say, which may come from somebody else.",
                hint="Set it with --home.",
            )
        self._setting = setting
        self._state = None if home else app.repository.state
        self._path = (
            os.path.join(app.world.hermes_home, "gitmem.yaml")
            if self._state is None
            else self._state.path(CONFIG)
        )
        self.origin = HERMES_YAML if home else GIT_DIR_CONFIG
        self._text = read_settings(self._path, self.origin)

    def put(self, value: Value) -> None:
        from gitmem.settings_edit import put

        self._change(lambda keys: put("yaml", self._text, keys, value))

    def remove(self) -> None:
        from gitmem.settings_edit import remove

        self._change(lambda keys: remove("yaml", self._text, keys))

    def _change(self, change: Callable[[Keys], str]) -> None:
        from gitmem.settings_edit import keys_of_setting

        try:
            text = change(keys_of_setting(self._text, self._setting.key))
        except ConfigError as error:
            raise ConfigError(f"{self.origin}: {error}", hint=error.hint) from error
        if text != self._text:
            self._write(text)

    def _write(self, text: str) -> None:
        from gitmem.hosts.hermes.install import replace_text
        from gitmem.state import CONFIG

        if self._state is not None:
            self._state.write_text(CONFIG, text, durable=True)
        else:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            replace_text(self._path, text)


def _settings(app: App) -> Config:
    try:
        return app.config_of(app.repository)
    except BundleNotFound:  # settings hold without a bundle too
        return app.config_of(None)


def _setting(key: str) -> Setting:
    from gitmem.config import setting_named

    return setting_named(key, "the command line")


def _row(found: Config, row: Setting) -> dict[str, object]:
    return {"key": row.key, "value": found[row.key], "origin": found.origin(row.key), "help": row.help}


def spelled(value: Value, *, empty: str = '""') -> str:
    """A value as one would write it."""
    return str(value).lower() if isinstance(value, bool) else str(value) or empty


def _tell(app: App, setting: Setting) -> None:
    """What holds now."""
    found = _settings(app)
    app.out.json(_row(found, setting))
    here = found.origin(setting.key)
    app.out.line(bold(setting.key), "  ", spelled(found[setting.key]), dim(f"  ({here})"))
