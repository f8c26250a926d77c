"""One story of each kind from `benchmarks.reach`, played to the real host: what is taken back is in no later request."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.stories import poison, taint
from benchmarks.stories.language import Story
from benchmarks.stories.stage import play

# The host's own warnings are its own affair.
pytestmark = pytest.mark.filterwarnings("ignore")

_OFTEN = (*poison.STORIES, taint.HARMFUL[0], taint.HONEST[40])
_FIRST = {story.kind: story for story in reversed((*_OFTEN, *taint.HARMFUL, *taint.HONEST))}


def _marked(kind: str) -> list[pytest.MarkDecorator]:
    return [] if any(story.kind == kind for story in _OFTEN) else [pytest.mark.slow]


@pytest.mark.parametrize(
    "story", [pytest.param(_FIRST[kind], id=kind, marks=_marked(kind)) for kind in _FIRST]
)
def test_a_story(story: Story, tmp_path: Path) -> None:
    """No request to the model holds what was planted from its moment on, and nothing honest is gone."""
    outcome = play(story, str(tmp_path))
    assert ((), ()) == (outcome.leaks, outcome.lost)
