"""Names in a filter: one that names nothing is a mistake, and gets those that may be meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.git.message import KINDS
from gitmem.git.revisions import did_you_mean
from gitmem.memory.history.log import History
from gitmem.okf import layout

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_EVENT_TYPES = ("turn", "observation", "decision", "tool_call", "skill_use")
_TRAILERS = ("session", "agent", "machine")


def check_names(bundle: Bundle, **given: str | Iterable[str]) -> None:
    """Raise where a filter that found nothing names what never was; call it for an empty answer, since it reads all."""
    for what, names in given.items():
        for name in (names,) if isinstance(names, str) else names:
            if (
                name
                and (known := _known(bundle, what)) is not None
                and name.lower() not in map(str.lower, known)
            ):
                raise UnknownRevision(f"There is no {what} {name!r} here.", hint=_hint(name, known))


def check_each(bundle: Bundle, found: bool, **given: tuple[str, ...]) -> None:
    """Raise where a filter names what never was: one that found nothing, or one value of several."""
    doubtful = {what: names for what, names in given.items() if not found or len(names) > 1}
    check_names(bundle, **doubtful)
    for path in doubtful.get("path", ()):
        check_path(bundle, path)


def check_path(bundle: Bundle, path: str, *, directory: bool = True) -> None:
    """Raise where no file, nor (with `directory`) a directory, is or ever was at a path."""
    entry = bundle.tree().entry(path)
    if entry is not None and entry.is_directory and not directory:
        files = [name for name, _ in bundle.tree().files(path)][:3]
        raise UnknownRevision(
            f"{path} is a directory: name a file.", hint=f"Such as {', '.join(files)}." if files else ""
        )
    if entry is None and next(bundle.part(History).touching(path), None) is None:
        known = [name for name, _ in bundle.tree().files()]
        hint = did_you_mean(path, known, "List files with `git ls-files`.")
        raise UnknownRevision(f"No file {path!r} was ever in this bundle.", hint=hint)


def _known(bundle: Bundle, what: str) -> Iterable[str] | None:
    """All names of a kind; None for a filter that is not a name."""
    if what == "kind":
        return KINDS
    if what == "type":
        from gitmem.memory.indexing import Indexing

        return {*layout.TYPES, *_EVENT_TYPES, *bundle.part(Indexing).current().types()}
    if what in _TRAILERS:
        history = bundle.part(History).log()
        return {value for entry in history for value in entry.trailers.get(what.title(), ())}
    return None


def _hint(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    few = len(names) <= len(KINDS)
    return did_you_mean(name, names, f"There are {', '.join(names)}." if names and few else "")
