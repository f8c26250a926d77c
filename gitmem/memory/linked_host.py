"""The agent beside a bundle that keeps files of its own: told before a change of the whole, and after one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gitmem.notices import Notice
from gitmem.state import HOST_LINK, SKILL_LINKS

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

# By name: hosts are above the memory. One that keeps files of its own leaves `host/link` in the state directory.
_HOST_LINK = "gitmem.hosts.hermes.host_link"
_SKILL_LINKS = "gitmem.memory.skills.links"


def take_host_along(bundle: Bundle) -> None:
    """Before a change of the whole: commit what the host wrote meanwhile."""
    if _is_linked(bundle):
        import_module(_HOST_LINK).take_host_along(bundle)
    if bundle.state.has(SKILL_LINKS):
        import_module(_SKILL_LINKS).take_along(bundle)


def bring_host_along(bundle: Bundle) -> list[Notice]:
    """After a change: write the host's files. Gives what there is to say to its user."""
    found: list[Notice] = import_module(_HOST_LINK).bring_host_along(bundle) if _is_linked(bundle) else []
    if bundle.state.has(SKILL_LINKS):
        found += import_module(_SKILL_LINKS).bring_along(bundle)
    return found


def _is_linked(bundle: Bundle) -> bool:
    return bundle.state.has(HOST_LINK)
