"""What was erased does not come back: whatever is committed with its words in it is blanked on its way in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.git.message import Message
from gitmem.git.objects import blob_id
from gitmem.notices import Notice
from gitmem.okf import layout

if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.git.tree import Edit
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.erasing import ErasureRules
    from gitmem.okf.erasures import Receipt


class Erasures:
    """The receipts of one bundle, as its tip has them."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._known: tuple[str, list[Receipt]] = ("", [])

    def __bool__(self) -> bool:
        return bool(self.receipts)

    @property
    def receipts(self) -> list[Receipt]:
        repository = self._bundle.repository
        entry = repository.tree(repository.tip()).entry(layout.CONFIG_ERASED)
        name = entry.oid if entry is not None else ""
        if name != self._known[0]:
            from gitmem.okf.erasures import receipts_in

            self._known = name, receipts_in(repository.store.blob(name)) if name else []
        return self._known[1]

    def files(self, files: Mapping[str, Edit]) -> dict[str, Edit]:
        """The files of a commit as they may be made."""
        if not self.receipts:
            return dict(files)
        found: dict[str, Edit] = {}
        for path, edit in files.items():
            rules = self._rules(path, edit) if isinstance(edit, bytes) else None
            if rules is None or not isinstance(edit, bytes):
                found[path] = edit
                continue
            self._bundle.report(Notice("erased-came", path))
            rules.survey(path, blob_id(edit), edit)
            name = "/".join(rules.name("", part) for part in path.split("/"))
            found[name] = rules.content(path, edit, {})
        return found

    def message(self, message: Message) -> Message:
        """What a commit says, without what was erased."""
        if not self.receipts:
            return message
        trailers = {
            key: self.text(value) if isinstance(value, str) else tuple(map(self.text, value))
            for key, value in message.trailers.items()
        }
        what, body = self.text(message.what), self.text(message.body)
        return replace(message, what=what, trailers=trailers, body=body)

    def text(self, text: str) -> str:
        """A text without what was erased; where there is nothing of it, the very same."""
        spans = erased_in(self.receipts, text) if self.receipts and text else []
        if not spans:
            return text
        from gitmem.okf.blanking import Blanking

        return Blanking(spans).text(text)

    def _rules(self, path: str, data: bytes) -> ErasureRules | None:
        if path == layout.CONFIG_ERASED:
            return None
        text = f"{path}\n{data.decode('utf-8', 'replace')}"
        spans = erased_in(self.receipts, text)
        if not spans:
            return None
        from gitmem.okf.blanking import Blanking
        from gitmem.okf.erasing import ErasureRules, Gone

        return ErasureRules(Blanking(spans), Gone())


def erased_in(receipts: Iterable[Receipt], text: str) -> list[str]:
    """What of a text was erased: the exact text where it is known again, else its words."""
    found: list[str] = []
    for receipt in receipts:
        for start, end in receipt.found_in(text):
            whole = receipt.whole_in(text) if receipt.what in ("text", "secret") else ""
            found.append(whole or text[start:end])
    return list(dict.fromkeys(found))


def receipts_of(repository: Repository) -> list[Receipt]:
    """The receipts that `main` has."""
    from gitmem.okf.erasures import receipts_in

    return receipts_in(repository.tree(repository.tip()).read(layout.CONFIG_ERASED))
