"""Options that many commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gitmem.cli.context import App

_Command = TypeVar("_Command", bound=Callable[..., Any])

pass_app = click.make_pass_decorator(App)


def json_option(command: _Command) -> _Command:
    """`--json`: the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)
