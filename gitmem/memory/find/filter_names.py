"""Names in a filter: one that names nothing is a mistake, and gets those that may be meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, get_args

from gitmem.errors import UnknownRevision
from gitmem.git.message import KINDS
from gitmem.git.revisions import did_you_mean
from gitmem.okf import layout

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_EVENT_TYPES = ("turn", "observation", "decision", "tool_call", "skill_use")


def check_each(bundle: Bundle, found: bool, **given: tuple[str, ...]) -> None:
    """Raise where a filter names what never was: one that found nothing, or one value of several."""
    doubtful = {what: names for what, names in given.items() if not found or len(names) > 1}
    check_names(bundle, **doubtful)


def check_names(bundle: Bundle, **given: str | Iterable[str]) -> None:
    """Raise where a filter names what never was; call it for an empty answer, since it reads every name."""
    for what, names in given.items():
        for name in filter(None, (names,) if isinstance(names, str) else names):
            if what == "path":
                check_path(bundle, name)
                continue
            known = _known(bundle, what)
            if known is not None and name.lower() not in map(str.lower, known):
                raise UnknownRevision(f"There is no {what} {name!r} here.", hint=_hint(name, known))


def check_path(bundle: Bundle, path: str, *, directory: bool = True) -> None:
    """Raise where no file, nor (with `directory`) a directory, is or ever was at a path."""
    path = path.rstrip("/")
    entry = bundle.tree().entry(path)
    if entry is not None and entry.is_directory and not directory:
        files = [name for name, _ in bundle.tree().files(path)][:3]
        raise UnknownRevision(
            f"{path} is a directory: name a file.", hint=f"Such as {', '.join(files)}." if files else ""
        )
    if entry is None:
        from gitmem.memory.indexing import Indexing

        ever = bundle.part(Indexing).current().names("path")
        if not any(name == path or name.startswith(f"{path}/") for name in ever):
            hint = did_you_mean(
                path, [name for name, _ in bundle.tree().files()], "List files with `git ls-files`."
            )
            raise UnknownRevision(f"No file {path!r} was ever in this memory.", hint=hint)


def _known(bundle: Bundle, what: str) -> frozenset[str] | None:
    """All names of a kind; None for a filter that is not a name."""
    if what == "kind":
        return frozenset(KINDS)
    from gitmem.index.lookup import Named
    from gitmem.memory.indexing import Indexing

    for named in get_args(Named):
        if named == what:
            found = frozenset(filter(None, bundle.part(Indexing).current().names(named)))
            return found.union(layout.TYPES, _EVENT_TYPES) if what == "type" else found
    return None


def _hint(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    few = len(names) <= len(KINDS)
    return did_you_mean(name, names, f"Known: {', '.join(names)}." if names and few else "")
