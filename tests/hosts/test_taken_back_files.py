"""Files of a Hermes home after something was taken back or edited by hand."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from gitmem.hosts.hermes.files import HostFiles
from gitmem.memory import review
from gitmem.memory.mirror.links import after_change
from gitmem.memory.mirror.mirror import Looked

from tests.hosts.conftest import Driver, HermesHome
from tests.hosts.talk import answer, result, user
from tests.hosts.test_skill_files import SKILL, put

Begin = Callable[..., Driver]


def _skill_turn(provider: Driver, home: HermesHome, said: str) -> None:
    """The host's own tool writes a skill in a turn that the user began."""
    provider.on_turn_start(1, said)
    put(home, "deploy/SKILL.md")
    arguments = json.dumps({"action": "create", "name": "deploy", "content": SKILL})
    function = {"name": "skill_manage", "arguments": arguments}
    call = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}
    provider.sync_turn(said, "Saved.", messages=[user(said), call, result("1", "ok"), answer("Saved.")])
    provider.settle()
    provider.compare()


def test_a_skill_that_is_asked_for_again_goes_to_review(home: HermesHome, begin: Begin) -> None:
    """Its session was reverted: no agent gets it back by itself, nothing is lost, and a person's word brings it back."""
    provider = begin("s1")
    _skill_turn(provider, home, "Please save the way to deploy as a skill")
    provider.shutdown()
    home.bundle().revert(session="s1")
    later = begin("s2")
    assert not (home.path / "skills/deploy/SKILL.md").exists()
    _skill_turn(later, home, "I do want the deploy skill, save it again please")
    later.compare()
    [held] = home.bundle().ledger.held()
    assert SKILL == held.text
    assert not (home.path / "skills/deploy/SKILL.md").exists()
    bundle = home.bundle()
    review.release(bundle, held.id, by="ada")
    after_change(bundle)
    assert SKILL == (home.path / "skills/deploy/SKILL.md").read_text()


def test_an_entry_that_was_edited_out_is_not_recalled_in_the_next_turn(
    home: HermesHome, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the edit is not taken in yet: a person took it out, and the prompt does not have it."""
    home.write("The harbour crane is blue", "Tea is at four")
    begin("s1").settle()
    monkeypatch.setattr(HostFiles, "look", lambda *_, **__: Looked())
    home.write("Tea is at four", age=0)
    provider = begin("s2")
    assert ["The harbour crane is blue", "Tea is at four"] == home.curated()
    assert "blue" not in provider.prefetch("which colour has the harbour crane?")
