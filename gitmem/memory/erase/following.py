"""Following an erase of another machine: what its receipts mean here, and whether they explain a rewritten history.

A receipt does not say what was erased. But whoever has the old history has the text, and the receipt knows it again. The
same erase of the same history gives the same commits on every machine, so a rewrite is explained when this machine's own
rewriting comes to the very commits that the remote has; anything else is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gitmem.git.commit_graph import only_in
from gitmem.git.objects import Oid
from gitmem.git.repository import Repository
from gitmem.git.rewrite import Rewriter, Rewritten, files_of
from gitmem.memory.erase.selection import Asked, choose
from gitmem.okf import layout
from gitmem.okf.blanking import Blanking
from gitmem.okf.erasing import ErasureRules, Gone
from gitmem.okf.erasures import Receipt, receipts_in
from gitmem.okf.files import open_file


def new_receipts(repository: Repository, theirs: Oid, ours: Oid | None) -> list[Receipt]:
    """The receipts of a commit that another one lacks."""
    known = {one.id for one in _receipts(repository, ours)} if ours else set()
    return [one for one in _receipts(repository, theirs) if one.id not in known]


def _receipts(repository: Repository, commit: Oid) -> list[Receipt]:
    return receipts_in(repository.tree(commit).read(layout.CONFIG_ERASED))


def rules_for(repository: Repository, roots: Sequence[Oid], receipts: Sequence[Receipt]) -> ErasureRules:
    """The rules of these erases, as far as their texts, paths and sessions are in the history of these commits."""
    found = [choose(repository, list(roots), asked) for asked in _recovered(repository, roots, receipts)]
    gone = [one.rules.gone for one in found]
    return ErasureRules(
        Blanking(text for one in found for text in one.rules.blanking.texts),
        Gone(
            frozenset().union(*(one.paths for one in gone)),
            frozenset().union(*(one.entries for one in gone)),
            frozenset().union(*(one.events for one in gone)),
            next((one.session for one in gone if one.session), ""),
        ),
        Blanking(text for one in found for text in one.rules.quoted.texts),
    )


def _recovered(repository: Repository, roots: Sequence[Oid], receipts: Sequence[Receipt]) -> list[Asked]:
    """Return what the receipts were of."""
    open_ones = {one.id: one for one in receipts}
    found: list[Asked] = []

    def try_all(kinds: tuple[str, ...], asked: str, name: str) -> None:
        for receipt in [one for one in open_ones.values() if one.what in kinds]:
            if receipt.is_of(asked):
                what = "text" if receipt.what == "secret" else receipt.what
                found.append(Asked(what, name))
                del open_ones[receipt.id]

    seen: set[str] = set()
    for path, text in _texts(repository, roots):
        if not open_ones:
            break
        for receipt in [one for one in open_ones.values() if one.what in ("text", "secret")]:
            if whole := receipt.whole_in(text):
                found.append(Asked("text", whole))
                del open_ones[receipt.id]
        for place in {path, *_above(path)} - seen:
            seen.add(place)
            try_all(("path",), place, place)
        if any(one.what in ("entry", "session") for one in open_ones.values()):
            file = open_file(path, text.encode("utf-8", "surrogateescape"))
            session = file.front.get("session")
            if isinstance(session, str) and session not in seen:
                seen.add(session)
                try_all(("session",), session, session)
            for key, entry in file.entries.items():
                if key.space in ("§", "event"):
                    try_all(("entry",), entry.text if key.space == "§" else key.id, key.id)
    return found


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _texts(repository: Repository, roots: Iterable[Oid]) -> Iterator[tuple[str, str]]:
    """Every file of the history with its path, then every message."""
    store = repository.store
    seen: set[Oid] = set()
    for path, oid in files_of(store, roots):
        if oid not in seen:
            seen.add(oid)
            yield path, store.blob(oid).decode("utf-8", "surrogateescape")
    for root in roots:
        for oid in only_in(repository, root, None):
            if oid not in seen:
                seen.add(oid)
                commit = store.commit(oid)
                yield "", f"{commit.author.name} {commit.author.email}\n{commit.message}"


def rewritten(repository: Repository, roots: Sequence[Oid], rules: ErasureRules) -> Rewritten:
    """Return what some commits and tags become by the rules."""
    commits = [repository.store.peel(oid)[0] for oid in roots]
    files = list(files_of(repository.store, commits))
    rules.survey_names(path for path, _ in files)
    for path, oid in files:
        rules.survey(path, oid, repository.store.blob(oid))
    return Rewriter(repository.store, rules).run(roots)


def explains(repository: Repository, receipts: Sequence[Receipt], old: Oid, new: Oid) -> bool:
    """Return whether the receipts explain how `old`, and all that it stands on, became a part of what `new` stands on."""
    if not receipts:
        return False
    done = rewritten(repository, [old], rules_for(repository, [old], receipts))
    return done.commits[old] != old and done.commits[old] in set(only_in(repository, new, None))
