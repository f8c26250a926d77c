"""Completions for a shell: sessions, snapshots, remotes, plans, held texts, paths and settings of the bundle.

Only names are read, no file is; where there is no bundle, or it cannot be read, nothing is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from gitmem.okf import layout

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory

Names = Callable[["Memory"], Iterable[str]]
_MOST = 200


class Offered(click.types.StringParamType):
    """Any text; a shell offers what is in the bundle."""

    def __init__(self, *sources: Names) -> None:
        self._sources = sources

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 (click's)
        incomplete: str,
    ) -> list[CompletionItem]:
        bundle = _bundle(ctx)
        if bundle is None:
            return []
        found = (name for source in self._sources for name in source(bundle) if name.startswith(incomplete))
        return [CompletionItem(name) for name in sorted(set(found))[:_MOST]]


def offer(command: click.Command, path: str) -> None:
    """Let the parameters of a command, and of those inside it, offer what they take."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            offer(inner, f"{path} {name}")
    for param in command.params:
        sources = _TAKEN.get((path, param.name or "")) or _OPTIONS.get(param.name or "")
        if sources and isinstance(param.type, click.types.StringParamType):
            param.type = Offered(*sources)


def _bundle(ctx: click.Context) -> Memory | None:
    from gitmem.cli.main import Run
    from gitmem.errors import GitMemError
    from gitmem.memory.opening import find_root, open_bundle

    root = ctx.find_root()
    run = root.obj if isinstance(root.obj, Run) else Run(None)
    try:
        return open_bundle(run.world, find_root(run.world, root.params.get("bundle") or ""), "as is")
    except (GitMemError, OSError):
        return None


# --- names -----------------------------------------------------------------------------------------------


def _sessions(bundle: Memory) -> Iterator[str]:
    yield from map(layout.session_name, layout.session_pages(bundle.tree()))


def _snapshots(bundle: Memory) -> Iterator[str]:
    from gitmem.git.refs import AUTOMATIC, SNAPSHOTS, snapshot_name

    refs = bundle.repository.refs
    yield from map(snapshot_name, (*refs.under(SNAPSHOTS), *refs.under(AUTOMATIC)))


def _revisions(bundle: Memory) -> Iterator[str]:
    yield from ("HEAD", "yesterday", "today")
    yield from _snapshots(bundle)
    yield from (f"session:{name}" for name in _sessions(bundle))


def _remotes(bundle: Memory) -> Iterator[str]:
    from gitmem.git.remotes import Remotes

    yield from (one.name for one in Remotes(bundle.repository).all())


def _plans(bundle: Memory) -> Iterator[str]:
    names = bundle.tree().names("plans")
    yield from (
        name.removesuffix(".md")
        for name, one in names.items()
        if not one.is_directory and name != layout.INDEX
    )


def _waiting(bundle: Memory) -> Iterator[str]:
    from gitmem.memory.review import unconfirmed, waiting

    yield from (item.id for item in (*waiting(bundle), *unconfirmed(bundle)))


def _paths(bundle: Memory) -> Iterator[str]:
    for path, _ in bundle.tree().files():
        if layout.is_generated(path):
            continue
        yield path
        parts = path.split("/")[:-1]
        yield from ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts) + 1))


def _settings(_: Memory) -> Iterator[str]:
    from gitmem.config import settings

    yield from (row.key for row in settings())


def _kinds(_: Memory) -> Iterator[str]:
    from gitmem.git.message import KINDS

    yield from KINDS


def _types(_: Memory) -> Iterator[str]:
    yield from layout.TYPES


def _machines(bundle: Memory) -> Iterator[str]:
    yield from filter(None, (bundle.config.machine,))
    yield from bundle.tree().names("memories/machines")


_OPTIONS: dict[str, tuple[Names, ...]] = {
    "session": (_sessions,),
    "session_id": (_sessions,),
    "parent": (_sessions,),
    "path": (_paths,),
    "paths": (_paths,),
    "as_of": (_revisions,),
    "machine": (_machines,),
    "kind": (_kinds,),
    "type": (_types,),
    "plan_name": (_plans,),
    "revision": (_revisions,),
    "revisions": (_revisions,),
}
"""Parameters that take the same in every command."""
_TAKEN: dict[tuple[str, str], tuple[Names, ...]] = {
    ("diff", "old"): (_revisions,),
    ("diff", "new"): (_revisions,),
    ("show", "what"): (_sessions, _revisions, _paths),
    ("edit", "file"): (_paths,),
    ("snapshot", "name"): (_snapshots,),
    ("sync", "name"): (_remotes,),
    ("remote remove", "name"): (_remotes,),
    ("remote forget", "name"): (_remotes,),
    ("plan step", "name"): (_plans,),
    ("plan complete", "name"): (_plans,),
    ("review", "item"): (_waiting,),
    ("config", "key"): (_settings,),
}
"""Parameters by the command that takes them."""
