"""Quarantine: what the scanner held back, on a branch of its own that no work tree, index or remote sees."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import BundleBusy, InvalidContent, UnknownRevision
from gitmem.git.message import Message
from gitmem.git.objects import Person, render_commit
from gitmem.git.refs import QUARANTINE
from gitmem.git.tree import Tree
from gitmem.memory.gate.admission import redacted
from gitmem.memory.origin import Origin
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.entries import entry_hash
from gitmem.okf.short_ids import is_meant, meant
from gitmem.text.keys import is_sure, keys_of, quotes_of
from gitmem.version import __version__

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.safety.verdict import Result

_TRIES = 50


@dataclass(frozen=True, slots=True)
class QuarantineItem:
    """One thing held back: its text, why, and where it would have gone."""

    id: str
    concept: Concept

    @property
    def text(self) -> str:
        return self.concept.body

    @property
    def destination(self) -> dict[str, str]:
        value = self.concept.meta.get("destination")
        return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else {}

    @property
    def verdict(self) -> str:
        return str(self.concept.meta.get("verdict", ""))

    @property
    def findings(self) -> list[dict[str, str]]:
        value = self.concept.meta.get("findings")
        return [dict(item) for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []

    @property
    def at(self) -> str:
        return str(self.concept.meta.get("at", ""))

    @property
    def origin(self) -> dict[str, str]:
        value = self.concept.meta.get("origin")
        return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else {}


class Quarantine:
    """The quarantine of one bundle, on this machine."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._repository = bundle.repository

    def all(self) -> list[QuarantineItem]:
        """Return what is held, the oldest first."""
        tree = self._tree()
        found = []
        for name, entry in tree.names().items():
            with contextlib.suppress(InvalidContent):
                found.append(
                    QuarantineItem(name.removesuffix(".md"), Concept.parse(tree.read_entry(entry), name))
                )
        return sorted(found, key=lambda held: (held.at, held.id))

    def has(self, name: str) -> bool:
        """Return whether an id that begins so is held."""
        return any(is_meant(name, each.removesuffix(".md")) for each in self._tree().names())

    def get(self, name: str) -> QuarantineItem:
        """One item by its id or the beginning of it."""
        held = {one.id: one for one in self.all()}
        found = meant(name, held, "items in quarantine")
        if not found:
            raise UnknownRevision(
                f"No item in quarantine begins with {name!r}.",
                hint="List them with `gitmem review --list`.",
            )
        return held[found]

    def hold(self, text: str, result: Result, *, destination: Mapping[str, str], origin: Origin) -> str:
        """Keep a text back; gives its id. The same text for the same place is kept once."""
        return self.hold_all([(text, result, destination)], origin=origin)[0]

    def hold_all(
        self, texts: Iterable[tuple[str, Result, Mapping[str, str]]], *, origin: Origin
    ) -> list[str]:
        """The same for several texts, each with its result and its place: one commit of the quarantine for all."""
        held = self._tree()
        names, new = [], {}
        for given, result, destination in texts:
            text = redacted(given)
            name = entry_hash(f"{sorted(destination.items())}\n{text}")[:12]
            names.append(name)
            if f"{name}.md" not in held:
                new[f"{name}.md"] = self._concept(text, result, destination, origin).render()
        if new:
            ids = dict.fromkeys(path.removesuffix(".md") for path in new)
            self._change(new, f"hold {', '.join(ids)}" if len(ids) < 4 else f"hold {len(ids)} texts", origin)
        return names

    def _concept(self, text: str, result: Result, destination: Mapping[str, str], origin: Origin) -> Concept:
        return Concept.new(
            layout.QUARANTINED,
            text,
            title=f"Held: {result.rules[0] if result.rules else result.verdict}",
            verdict=str(result.verdict),
            findings=[
                {"rule": finding.rule, "category": finding.category, "reason": finding.reason}
                for finding in result.findings
            ],
            destination=dict(destination),
            origin={key: str(value) for key, value in origin.trailers().items() if value} or None,
            commit=self._bundle.tip,
            at=self._bundle.now(),
            generated={"by": f"gitmem/{__version__}", "at": self._bundle.now()},
        )

    def remove(self, name: str, *, why: str) -> QuarantineItem:
        """Take an item out of quarantine; its text stays in the quarantine's own history."""
        held = self.get(name)
        self._change({f"{held.id}.md": None}, f"{why} {held.id}", self._bundle.origin())
        return held

    def _tree(self) -> Tree:
        return self._repository.tree(self._repository.refs.read(QUARANTINE))

    def _change(self, files: Mapping[str, bytes | None], what: str, origin: Origin) -> None:
        moment = int(self._bundle.world.clock().timestamp())
        who = Person("gitmem", f"gitmem@{self._bundle.config.machine or 'localhost'}", moment)
        with self._bundle.writing("quarantine"):
            for _ in range(_TRIES):
                tip = self._repository.refs.read(QUARANTINE)
                tree, objects = self._repository.tree(tip).apply(files)
                message = Message("quarantine", what, origin.trailers()).render()
                commit = render_commit(tree.oid, (tip,) if tip else (), who, who, message)
                self._repository.store.write([*objects, commit])
                if self._repository.refs.set(QUARANTINE, commit.oid, expected=tip):
                    return
        raise BundleBusy("Somebody else keeps changing the quarantine: try again in a moment.")


class HeldKeys:
    """The keys and quotes of the entries in quarantine: a person has yet to say whether any of it holds."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._known: tuple[str | None, tuple[str, ...]] = (None, ())

    def __call__(self) -> tuple[str, ...]:
        tip = self._bundle.repository.refs.read(QUARANTINE)
        if tip != self._known[0]:
            held = [
                one for one in self._bundle.part(Quarantine).all() if one.destination.get("kind") == "entry"
            ]
            words = [word for one in held for word in (*keys_of(one.text), *quotes_of(one.text))]
            self._known = tip, tuple(one for one in words if " " in one or is_sure(one))
        return self._known[1]
