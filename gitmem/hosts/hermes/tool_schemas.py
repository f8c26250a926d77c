"""The tools that the model gets in Hermes: rows of the one table, under names that clash with nobody's."""

from __future__ import annotations

import json
from typing import Any

from gitmem.config import Config
from gitmem.hosts.tools.table import HERMES_PREFIX, Tool, offered_by


def tools(config: Config) -> list[Tool]:
    """The rows that the settings allow."""
    return offered_by(config, "hermes")


def names(config: Config) -> list[str]:
    return [HERMES_PREFIX + row.name for row in tools(config)]


def schemas(config: Config) -> list[dict[str, Any]]:
    """Their schemas, bare, as the host wants them; it may do with them what it likes."""
    return [json.loads(json.dumps(row.for_model(HERMES_PREFIX))) for row in tools(config)]


def keeps(tool: str) -> bool:
    """Return whether there is something to commit after a tool, or to bring to the host's files."""
    return tool == f"{HERMES_PREFIX}remember"


def refuse(tool: str, why: str) -> str:
    return json.dumps({"error": f"{tool} is not possible here: {why}."})
