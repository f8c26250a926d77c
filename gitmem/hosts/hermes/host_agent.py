"""The host agent's model, title and tokens. No hook reports them; its callbacks lead to it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any


class HostAgent:
    """The agent behind a provider, as far as the host lets one see it; where it does not, nothing is known."""

    def __init__(self, kwargs: Mapping[str, Any]) -> None:
        self._told = kwargs
        callbacks = (kwargs.get(name) for name in ("warning_callback", "status_callback"))
        self._agent = next((one for call in callbacks if (one := getattr(call, "__self__", None))), None)

    @property
    def model(self) -> str:
        """The model that answers now."""
        return _text(getattr(self._agent, "model", "")) or _text(self._told.get("model"))

    def title(self, session: str) -> str:
        """The title that the host has given a session by now."""
        with contextlib.suppress(Exception):  # the host's own store
            return _text(self._agent._session_db.get_session_title(session))  # type: ignore[union-attr]
        return ""

    @property
    def tokens(self) -> dict[str, int]:
        """Return how many tokens the session has taken; empty where the host does not count them."""
        counted = {
            name: getattr(self._agent, f"session_{name}_tokens", 0)
            for name in ("input", "output", "cache_read", "cache_write", "reasoning")
        }
        return {name: count for name, count in counted.items() if isinstance(count, int) and count > 0}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
