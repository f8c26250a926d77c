"""Common parts of the results of verbs."""

from __future__ import annotations


def brief(result: object, **facts: object) -> str:
    """A `repr` on one line: the facts that are there."""
    told = "".join(f" {name}={value}" for name, value in facts.items() if value != "")
    return f"<{type(result).__name__}{told}>"
