"""The scanner of one bundle: the shipped rules, its own rules, and what people here have released."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.memory.gate.ledger import Ledger
from gitmem.memory.gate.marks import FlaggedEntry
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.okf.entries import entry_hash
from gitmem.okf.events import texts_of
from gitmem.safety.verdict import Finding, Result, Scope, Verdict
from gitmem.version import __version__

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.entries import Entry
    from gitmem.safety.scanner import Scanner


_MOST_SCANNED = 10_000
"""Verdicts that are kept: some two megabytes."""
# What parts the sections of a prompt block: an entry with it could begin a section of its own.
_SECTION = re.compile(r"(?:═\W{0,3}){5}")


class BundleScanner:
    """The scanner with this bundle's own rules, and what people here have released."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._scanner: Scanner | None = None
        self._scanner_for: str | None = ""
        self._scanned: dict[tuple[bytes, Scope, str], Result] = {}
        self._scanned_by: Scanner | None = None

    @property
    def is_ready(self) -> bool:
        return self._scanner is not None

    def use_shipped_rules(self) -> None:
        """The caller knows that this bundle has no rules of its own, and saves looking for them."""
        from gitmem.safety.scanner import Scanner

        self._scanner, self._scanner_for = Scanner.shipped(), None

    @property
    def scanner(self) -> Scanner:
        """The shipped rules and those that this bundle adds; its own can tighten and never loosen."""
        if self._scanner is not None and self._scanner_for is None:
            return self._scanner
        entry = self._bundle.repository.tree(self._bundle.repository.tip()).entry(layout.CONFIG_SCANNER)
        key = entry.oid if entry is not None else ""
        if self._scanner is None or self._scanner_for != key:
            data = self._bundle.repository.store.blob(key) if key else None
            self._scanner, self._scanner_for = self._with_rules(data), key
        return self._scanner

    def _with_rules(self, data: bytes | None) -> Scanner:
        from gitmem.okf.concept import Concept
        from gitmem.safety.rules import parse_rules
        from gitmem.safety.scanner import Scanner

        if data is None:
            return Scanner.shipped()
        if not self.rules_are_accepted(data):
            self._bundle.report(Notice("rules-not-accepted", layout.CONFIG_SCANNER))
            return Scanner.shipped()
        try:
            rules, problems = parse_rules(_toml_of(Concept.parse(data).body), layout.CONFIG_SCANNER)
        except GitMemError as error:
            rules, problems = [], [str(error)]
        for problem in problems:
            self._bundle.report(Notice("rule-ignored", layout.CONFIG_SCANNER, problem))
        return Scanner.shipped().with_rules(rules)

    @property
    def rules(self) -> str:
        """A name for the rules that hold now: those of this version, and the bundle's own where a person accepted them."""
        from gitmem.safety.scanner import Scanner

        return f"{__version__} {self._scanner_for if self.scanner is not Scanner.shipped() else ''}"

    def rules_are_accepted(self, data: bytes) -> bool:
        """Return whether a person here accepted this bundle's own rules as they are: others may have sent them."""
        return self._ledger.is_released(hashlib.sha256(data).hexdigest())

    def accept_rules(self) -> bool:
        """A person says that this bundle's rules hold here; False where it has none."""
        data = self._bundle.read(layout.CONFIG_SCANNER)
        if data is None:
            return False
        self._ledger.release([hashlib.sha256(data).hexdigest()], self._bundle.world.person or "human")
        self._scanner = None
        return True

    def judge(self, text: str, scope: Scope, path: str = "") -> Result:
        """The verdict on a text; what a person released on this machine is let through."""
        return self._judge(self.scanner, text, scope, path)

    def judge_entries(self, entries: Iterable[Entry], scope: Scope) -> list[Result]:
        """The gravest verdict on a text of each entry; the bundle's own rules are looked for once."""
        scanner = self.scanner
        return [self._judge_entry(scanner, entry, scope) for entry in entries]

    def _judge_entry(self, scanner: Scanner, entry: Entry, scope: Scope) -> Result:
        judged = [self._judge(scanner, text, scope) for text in texts_of(entry)]
        result = max(judged, key=attrgetter("verdict"), default=Result(Verdict.ALLOW))
        if result.verdict is not Verdict.ALLOW and self.is_released(entry_hash(entry.text)):
            return Result(Verdict.ALLOW, result.findings)
        return result

    def _judge(self, scanner: Scanner, text: str, scope: Scope, path: str = "") -> Result:
        result = self._scan(scanner, text, scope, path)
        if scope == "memory" and (found := _SECTION.search(text)):
            reason = "looks like a section of the prompt"
            finding = Finding("prompt.section", "structure", reason, found.span(), Verdict.HOLD)
            result = Result(max(result.verdict, Verdict.HOLD), (*result.findings, finding))
        if result.verdict is not Verdict.ALLOW and self.is_released(entry_hash(text)):
            return Result(Verdict.ALLOW, result.findings)
        return result

    def _scan(self, scanner: Scanner, text: str, scope: Scope, path: str) -> Result:
        """Scan a text, once for all answers of this process: the verdict belongs to the text and the rules.

        Buys "of `recall`": of the hundred lines that an answer reads, most were read for another one.
        """
        if self._scanned_by is not scanner or len(self._scanned) > _MOST_SCANNED:
            self._scanned, self._scanned_by = {}, scanner
        digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
        key = digest, scope, path
        known = self._scanned.get(key)
        if known is None:
            # A front matter in front of a text must not make it look more harmless than it is.
            readings = [_moved(scanner.scan(one, scope, path=path), start) for start, one in _readings(text)]
            known = self._scanned[key] = max(readings, key=lambda one: one.verdict)
        return known

    def is_released(self, text_hash: str) -> bool:
        return self._ledger.is_released(text_hash)

    @property
    def _ledger(self) -> Ledger:
        return self._bundle.part(Ledger)


def _readings(text: str) -> list[tuple[int, str]]:
    """A text, and where it is a file with front matter what stands behind that; each with where it begins."""
    start = text.find("\n---\n") + len("\n---\n") if text.startswith("---\n") else 0
    body = text[start:] if start >= len("\n---\n") else ""
    return [(0, text), (start, body)] if body.strip() else [(0, text)]


def _moved(result: Result, start: int) -> Result:
    """A verdict on a piece of a text, with the places that its findings have in the whole."""
    if not start or not result.findings:
        return result
    moved = tuple(replace(one, span=(one.span[0] + start, one.span[1] + start)) for one in result.findings)
    return replace(result, findings=moved)


def _toml_of(body: str) -> str:
    """The rules in the body of config/scanner.md: its fenced TOML blocks, or all of it without any."""
    blocks: list[str] = []
    inside = False
    for line in body.splitlines():
        if line.strip().startswith("```"):
            inside = not inside
        elif inside:
            blocks.append(line)
    return "\n".join(blocks) if blocks else body


# --- over a whole bundle ---------------------------------------------------------------------------------


def scan_text(text: str, scope: Scope) -> Result:
    """The verdict of the shipped scanner on any text, of a bundle or not."""
    from gitmem.safety.scanner import Scanner

    return Scanner.shipped().scan(text, scope)


def scan_tree(bundle: Bundle) -> Iterator[tuple[str, Result]]:
    """A verdict for every entry that the scanner flags in the tree, with its place."""
    for one in flagged(bundle):
        yield _place_of(one.path, one.entry), one.result


def scan_history(bundle: Bundle) -> Iterator[tuple[str, Result]]:
    """The same for every entry that was ever committed, once for each version of its file."""
    from gitmem.git.commit_graph import tree_changes

    seen: set[tuple[str, str]] = set()
    for commit, changes in tree_changes(bundle.repository, bundle.tip):
        for change in changes:
            if change.new is None or (change.path, change.new.oid) in seen:
                continue
            seen.add((change.path, change.new.oid))
            data = bundle.repository.store.blob(change.new.oid)
            for one in _flagged_in(bundle, change.path, data):
                yield f"{_place_of(one.path, one.entry)} in {commit.oid[:8]}", one.result


def flagged(bundle: Bundle, directory: str = "") -> Iterator[FlaggedEntry]:
    """The entries below a directory that the scanner flags and that no person here has released."""
    tree = bundle.tree()
    for path, entry in tree.files(directory):
        yield from _flagged_in(bundle, path, tree.read_entry(entry))


def _flagged_in(bundle: Bundle, path: str, data: bytes) -> Iterator[FlaggedEntry]:
    from gitmem.memory.gate.admission import scope_of
    from gitmem.okf.files import open_file

    entries = list(open_file(path, data).entries.values())
    judged = bundle.part(BundleScanner).judge_entries(entries, scope_of(path))
    for entry, result in zip(entries, judged, strict=True):
        if result.verdict is not Verdict.ALLOW:
            yield FlaggedEntry(path, entry, result)


def _place_of(path: str, entry: Entry) -> str:
    name = entry.key.id[:12] if entry.key.space in ("§", "event") else entry.key.id
    return f"{path} ({name})" if name else path
