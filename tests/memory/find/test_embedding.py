"""Search by meaning: near texts are found, and whatever fails there, search goes on by words. Needs numpy."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from gitmem.config import Config, EndpointConfig
from gitmem.errors import EndpointError
from gitmem.index.vectors import Vectors
from gitmem.memory.endpoint import Endpoint
from gitmem.memory.find import embedding
from gitmem.memory.find.context import context
from gitmem.memory.find.embedding import Meaning
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.memory.find.support_index import Clock, concept, graft
from tests.memory.test_endpoint import Server

_SUBJECTS = (("painting", "hobbies", "watercolour"), ("boiler", "heating"), ("ferry", "boat"))
QUESTION = "hobbies"
SCRIPTS = ["深色模式", "ダーク", "어두운", "темный", "σκοτεινό", "חשוך", "مظلم", "गहरा", "มืด", "մութ"]


def vector_of(text: str) -> list[float]:
    """A vector by subject, and a little of everything; what has no subject is near to nothing else."""
    said = text.lower()
    found = [float(any(word in said for word in words)) for words in _SUBJECTS]
    return [*(one + 0.01 for one in found), float(not any(found))]


def embeddings(handler: BaseHTTPRequestHandler, change: Callable[[list[Any]], Any] = list) -> None:
    body = handler.server_seen[-1][2]  # type: ignore[attr-defined]
    data = [{"index": number, "embedding": vector_of(text)} for number, text in enumerate(body["input"])]
    answer = json.dumps({"data": change(data)}).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(answer)))
    handler.end_headers()
    handler.wfile.write(answer)


class Model:
    """An embeddings endpoint on loopback; `change` is what it does to an honest answer."""

    def __init__(self) -> None:
        self.server = Server()
        self.change: Callable[[list[Any]], Any] = list
        self.server.answers = [self._answer]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        handler.server_seen = self.server.seen  # type: ignore[attr-defined]
        embeddings(handler, self.change)

    @property
    def sent(self) -> list[str]:
        return [text for _, _, body in self.server.seen for text in body["input"]]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, by_meaning_too: None) -> Iterator[Model]:
    monkeypatch.setattr(embedding, "_PATIENCE", 60.0)
    made = Model()
    yield made
    made.server.close()


@pytest.fixture
def memory(tmp_path: Path, model: Model) -> Iterator[Memory]:
    settings = EndpointConfig(base_url=model.server.url, model="small", timeout=120.0)
    config = Config(machine="laptop", embeddings=settings)
    made = create(World(os.environ, clock=Clock()), str(tmp_path / "b"), config=config)[0]
    with made.session("s1") as session:
        session.record_turn("I spend Sundays painting", "How nice.")
    with made.session("s2") as session:
        session.record_turn("The boiler was serviced", "Noted.")
    yield made
    made.close()


def sessions(memory: Memory, query: str) -> list[str]:
    return [hit.session for hit in memory.search(query)]


def test_no_word_in_common_finds_its_session(memory: Memory) -> None:
    assert sessions(memory, QUESTION)[0] == "s1"
    assert memory.search(QUESTION).hits[0].parts["meaning"] > 0
    assert memory.recall("what about heating?").recaps[0].about.session == "s2"


def test_a_text_that_is_far_is_not_found(memory: Memory) -> None:
    """However small the memory is, the nearest text answers, and not every other one behind it."""
    assert ["s1"] == sessions(memory, QUESTION)


def test_meaning_alone_brings_nothing_unasked(memory: Memory) -> None:
    memory.search(QUESTION)
    assert "" == context(memory, "do we have hobbies?").lines


def test_quotation_marks_are_meant_as_they_are_written(memory: Memory) -> None:
    assert [] == sessions(memory, f'"{QUESTION}"')


def test_what_came_later_is_found_and_what_was_taken_back_is_not(memory: Memory, model: Model) -> None:
    assert sessions(memory, QUESTION)
    with memory.session("s3") as session:
        session.record_turn("I bought watercolour paper", "Lovely.")
    assert {"s1", "s3"} <= set(sessions(memory, QUESTION)[:2])
    memory.revert(session="s1")
    assert "s1" not in sessions(memory, QUESTION)
    assert model.sent.count("I bought watercolour paper") == 1


def test_only_what_an_agent_may_see_is_sent_and_without_secrets(memory: Memory, model: Model) -> None:
    memory.revert(session="s2")
    secret = "ghp_" + "9fK2mQ7xT4vB8nR1cW6yZ3pL5dH0sJ1uA2eG"  # a plain commit brought it, past every gate
    graft(memory.repository, {"notes/heating.md": concept("Heating", f"Log in with {secret}")})
    memory.search(QUESTION)
    assert any("Log in with" in text for text in model.sent)
    assert not any(secret in text for text in model.sent)
    assert not any("boiler" in text for text in model.sent)


_FAULTS: dict[str, Callable[[list[Any]], Any]] = {
    "NaN": lambda data: [{**row, "embedding": [float("nan")] * 3} for row in data],
    "too few": lambda data: data[:-1],
    "several lengths": lambda data: [{**row, "embedding": [1.0] * (row["index"] % 2)} for row in data],
    "another length": lambda data: [{**row, "embedding": [1.0] * (3 + (len(data) > 1))} for row in data],
    "no list": lambda _: "embeddings",
    "words": lambda data: [{**row, "embedding": ["a"]} for row in data],
}


@pytest.mark.parametrize("fault", _FAULTS)
def test_a_wrong_answer_is_said_once_and_words_go_on(memory: Memory, model: Model, fault: str) -> None:
    model.change = _FAULTS[fault]
    for _ in range(3):
        assert sessions(memory, "boiler") == ["s2"]
    assert 1 == len(memory.warnings)


@pytest.mark.parametrize("status", [302, 401, 500])
def test_a_refusal_is_survived(memory: Memory, model: Model, status: int) -> None:
    model.server.answers = [(status, b"{}", {"Location": "http://127.0.0.1:1/v1"})]
    assert sessions(memory, "boiler") == ["s2"]
    assert memory.warnings


def test_an_endpoint_that_is_gone_is_said_once_and_words_go_on(memory: Memory) -> None:
    settings = replace(memory.config.embeddings, base_url="http://127.0.0.1:1/v1")  # nothing listens there
    other = Memory(memory.repository, replace(memory.config, embeddings=settings), memory.world)
    for _ in range(3):
        assert sessions(other, "boiler") == ["s2"]
    assert 1 == len(other.warnings)
    other.index.close()


def test_a_slow_endpoint_is_not_waited_for(
    memory: Memory, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors are made beside: a search that finds none goes on, and says when no answer came in time."""
    monkeypatch.setattr(embedding, "_PATIENCE", 0.0)
    may_answer = threading.Event()

    def never_in_time(_: BaseHTTPRequestHandler) -> None:
        may_answer.wait()

    model.server.answers = [never_in_time]
    settings = replace(memory.config.embeddings, timeout=0.1)
    other = Memory(memory.repository, replace(memory.config, embeddings=settings), memory.world)
    assert sessions(other, "boiler") == ["s2"]
    may_answer.set()
    assert 1 == len(other.warnings)
    other.close()


def test_a_first_build_says_how_far_it_is(
    memory: Memory, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The texts of a new index take long: a search answers by what is there, and says once what is missing."""
    monkeypatch.setattr(embedding, "_PATIENCE", 0.0)
    may_answer = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        assert len(model.server.seen[-1][2]["input"]) == 1 or may_answer.wait(60)
        handler.server_seen = model.server.seen  # type: ignore[attr-defined]
        embeddings(handler)

    model.server.answers = [answer]
    for _ in range(2):
        assert sessions(memory, "boiler") == ["s2"]
    (said,) = memory.warnings
    assert "does not know 4 texts" in str(said)
    may_answer.set()


@pytest.mark.parametrize("way", ["revert", "erase"])
def test_what_goes_while_vectors_are_made_has_none(memory: Memory, model: Model, way: str) -> None:
    """The endpoint is asked for texts of which one is taken back or erased before its answer is there."""
    began, may_answer = threading.Event(), threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if len(model.server.seen[-1][2]["input"]) > 1:
            began.set()
            assert may_answer.wait(60)
        handler.server_seen = model.server.seen  # type: ignore[attr-defined]
        embeddings(handler)

    model.server.answers = [answer]
    searching = threading.Thread(target=memory.search, args=(QUESTION,))
    searching.start()
    assert began.wait(60)
    memory.revert(session="s1") if way == "revert" else memory.erase(text="painting", by="a test")
    may_answer.set()
    searching.join()
    assert not any("painting" in hit.text for hit in memory.search(QUESTION))
    texts = memory.index.current().database.rows(
        "SELECT t.text FROM vector v JOIN message_text t ON t.id = v.message WHERE v.data <> x''"
    )
    assert way == "revert" or not any("painting" in text for (text,) in texts)


def test_another_dimension_or_model_begins_again(memory: Memory, model: Model) -> None:
    assert sessions(memory, QUESTION)[0] == "s1"
    model.change = lambda data: [{**row, "embedding": [*row["embedding"], 0.5]} for row in data]
    assert sessions(memory, "boiler")[0] == "s2"  # vectors of three numbers are not compared with four
    assert sessions(memory, QUESTION)[0] == "s1"  # and are made again
    settings = replace(memory.config.embeddings, model="large")
    other = Memory(memory.repository, replace(memory.config, embeddings=settings), memory.world)
    assert sessions(other, QUESTION)[0] == "s1"
    other.index.close()


def test_odd_texts_have_vectors_or_none(memory: Memory) -> None:
    with memory.session("odd") as session:
        for text in ("🎉🎉", "", "x" * 1_000_000, "ünïcödé \u0000 nul", *SCRIPTS):
            session.record_turn(text, "Noted.")
    assert sessions(memory, QUESTION)[0] == "s1"
    assert 0 == Vectors(memory.index.current().database).count_missing()


@pytest.mark.parametrize("which", ["min", "max"])
def test_a_damaged_vector_is_left_out(memory: Memory, which: str) -> None:
    assert sessions(memory, QUESTION)[0] == "s1"
    database = memory.index.current().database
    with database.writing():
        database.sql.execute(
            f"UPDATE vector SET data = x'ff' WHERE message = (SELECT {which}(message) FROM vector)"
        )
    other = Memory(memory.repository, memory.config, memory.world)
    assert sessions(other, "boiler")[0] == "s2"
    assert sessions(other, "what about heating?") == ["s2"]
    other.close()


def test_a_line_that_went_on_differently_has_vectors_of_its_own(memory: Memory) -> None:
    """The ids of messages that went are given again; what was loaded for them counts no more."""
    base = memory.tip
    graft(memory.repository, {"notes/a.md": concept("Heating oil")})
    assert "s1" == sessions(memory, QUESTION)[0]
    graft(memory.repository, {"notes/b.md": concept("Watercolour")}, parents=(base,))
    assert "notes/b.md" in [hit.path for hit in memory.search(QUESTION)]


def test_a_key_goes_by_https_or_stays() -> None:
    with pytest.raises(EndpointError, match="https"):
        Endpoint("http://models.example.org/v1", "m", "sk-1")
    assert Endpoint("https://models.example.org/v1", "m", "sk-1")
    assert Endpoint("http://127.0.0.1:11434/v1", "m", "sk-1").is_loopback


def test_without_the_extra_nothing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def find_spec(name: str) -> None:
        asked.append(name)

    monkeypatch.setattr(embedding, "find_spec", find_spec)
    made = create(World(os.environ, clock=Clock()), str(tmp_path / "b"), config=Config(machine="laptop"))[0]
    made.remember("The boiler was serviced")
    assert ["The boiler was serviced"] == [hit.text for hit in made.search("boiler")]
    assert made.part(Meaning).embedder is None
    assert asked == ["numpy"]
    made.close()


def test_the_model_of_the_extra_is_inside_its_wheel() -> None:
    pytest.importorskip("wordllama")
    vectors: Sequence[Sequence[float]] = embedding.WordLlama().embed(["I spend Sundays painting", "hobbies"])
    assert [256, 256] == [len(vector) for vector in vectors]
