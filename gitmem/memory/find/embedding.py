"""Search by meaning, where the extra `[semantic]` is installed: texts become vectors, and near ones are found.

The model is WordLlama, which comes inside its wheel and stays on this machine; or whatever answers at `embeddings.base_url`,
which then gets the texts that an agent may see, with secrets redacted. Vectors are made in the background and kept in the
index; until they are there, and whenever the model fails, search goes on by words.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from gitmem.errors import EndpointError, GitMemError, IndexTrouble
from gitmem.index.filters import shared_scopes
from gitmem.index.messages import split
from gitmem.index.vectors import Vectors
from gitmem.memory.gate.admission import redacted
from gitmem.memory.gate.egress import Egress
from gitmem.memory.indexing import Index, Indexing
from gitmem.notices import Notice

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.endpoint import Endpoint

_BATCH = 64
_LONGEST = 8_000  # characters of a message: what it is about, it says before
_PATIENCE = 2.0
"""Seconds that a search waits for vectors that are being made."""
_NEAREST = 100
_UNRELATED = 0.08
"""How near to a text another is that has nothing to do with it."""


class Embedder(Protocol):
    """Something that makes vectors of texts."""

    name: str
    """The model, and where it is: vectors of another are of no use."""
    is_here: bool
    """Whether it runs inside this process: then it may see everything."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text; raise EndpointError where there are none."""


class WordLlama:
    """A static model of 16 MB inside its own wheel; nothing is downloaded."""

    name, is_here = "wordllama:l2_supercat_256", True

    def __init__(self) -> None:
        from pathlib import Path

        wordllama: Any = import_module("wordllama")
        files = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=files, disable_download=True)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        # A batch takes a number for each token and dimension: eight long texts are some ten megabytes.
        found = self._model.embed(list(texts), norm=True, batch_size=8)
        return [list(map(float, one)) for one in found]


class EndpointEmbedder:
    """An OpenAI-compatible `/embeddings`."""

    is_here = False

    def __init__(self, endpoint: Endpoint, base_url: str) -> None:
        self._endpoint = endpoint
        self.name = f"{base_url}:{endpoint.model}"
        self.is_loopback = endpoint.is_loopback

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return self._endpoint.embed(texts)


def _model(embedder: Embedder, width: int) -> str:
    """Return a name for what made the vectors: those of another model or length are of no use."""
    return f"{embedder.name}:{width}"


class Meaning:
    """The nearest entries of one bundle by meaning; none where no model is installed or set."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._filling: threading.Thread | None = None
        self._has_failed = self._has_said = False
        self._by_index: tuple[Index, Vectors] | None = None

    @cached_property
    def embedder(self) -> Embedder | None:
        if not find_spec("numpy"):
            return None
        if base_url := self._bundle.config.embeddings.base_url:
            from gitmem.memory.endpoint import endpoint_for

            endpoint = endpoint_for(self._bundle, "embeddings", "search")
            return EndpointEmbedder(endpoint, base_url) if endpoint else None
        try:
            return WordLlama() if find_spec("wordllama") else None
        except (OSError, ImportError, ValueError) as error:
            self._bundle.report(Notice("endpoint-unusable", "search", str(error)))
            return None

    def near(self, index: Index, text: str) -> Mapping[int, float]:
        """Return the entries nearest to a text: 1 for the nearest, less for the others, none that is half as near."""
        embedder = self.embedder
        if embedder is None or not text.strip() or not index.database.is_writable:
            return {}
        vectors = self._vectors(index)
        try:
            (asked,) = embedder.embed([redacted(text)[:_LONGEST]])
            vectors.use(_model(embedder, len(asked)))
            if missing := vectors.count_missing():
                self._fill_beside(embedder, len(asked))
                missing = vectors.count_missing()
            found = vectors.nearest(asked, _NEAREST)
        except (GitMemError, ValueError) as error:
            if isinstance(error, IndexTrouble):
                raise
            self._failed(error)
            return {}
        if missing and not self._has_said and not self._has_failed:
            self._has_said = True
            self._bundle.report(Notice("meaning-behind", f"{missing:,}"))
        if not found:
            return {}
        best, least = found[0][1], found[-1][1]
        enough = max(_UNRELATED, best / 2)
        return {entry: (score - least) / ((best - least) or 1.0) for entry, score in found if score >= enough}

    def _vectors(self, index: Index) -> Vectors:
        if self._by_index is None or self._by_index[0] is not index:
            self._by_index = index, Vectors(index.database)
        return self._by_index[1]

    # Making them

    def _fill_beside(self, embedder: Embedder, width: int) -> None:
        """Make what is missing on a thread of its own; wait for it a little, since it may be little."""
        if self._filling is None or not self._filling.is_alive():
            self._filling = threading.Thread(target=self._fill, args=(embedder, width), daemon=True)
            self._filling.start()
        self._filling.join(_PATIENCE)

    def _fill(self, embedder: Embedder, width: int) -> None:
        indexing = self._bundle.part(Indexing)
        try:
            index = indexing.current()
            vectors = Vectors(index.database)
            egress = None if embedder.is_here else Egress(self._bundle, index)
            if isinstance(embedder, EndpointEmbedder) and not embedder.is_loopback:
                self._bundle.report(Notice("embeddings-sent", embedder.name))
            while rows := vectors.missing(_BATCH):
                texts = {
                    number: clean[:_LONGEST]
                    for number, entry, place, text in rows
                    if (
                        clean := text if egress is None else self._as_it_leaves(index, egress, entry, place)
                    ).strip()
                }
                made = dict(zip(texts, embedder.embed(list(texts.values())) if texts else (), strict=True))
                if any(len(vector) != width for vector in made.values()):
                    raise EndpointError(f"{embedder.name} answered with vectors of several lengths.")
                vectors.store(_model(embedder, width), [(number, made.get(number)) for number, *_ in rows])
        except (GitMemError, OSError, ValueError) as error:
            self._failed(error)
        finally:
            indexing.close()

    def _failed(self, error: Exception) -> None:
        """Report the first failure; the next ones say the same."""
        if not self._has_failed:
            self._has_failed = True
            self._bundle.report(Notice("endpoint-failed", "search", str(error)))

    def _as_it_leaves(self, index: Index, egress: Egress, entry: int, place: int) -> str:
        """Return a message of an entry as an agent gets it now, by its number in the entry; empty where it gets none."""
        here = shared_scopes(self._bundle.config.machine)
        for span in index.spans(now=True, entry=entry):
            if span.scope in here and (shown := egress.show(span.text, span)):
                said = split(shown.text)  # the whole of it: an answer may go with its question
                return said[place] if len(said) == len(split(span.text)) else ""
        return ""
