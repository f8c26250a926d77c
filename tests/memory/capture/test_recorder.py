"""Templates of concepts: what is filled in, what is left out, and what stays as it was written."""

from __future__ import annotations

from gitmem.memory.capture.recorder import fill


def test_what_is_not_given_is_left_out() -> None:
    """Keys and text without a value do not appear; the rest is in the template's order."""
    concept = fill("concept", type="Note", title="Tea", tags=["drink"], body="Green.\n")
    assert b"---\ntype: Note\ntitle: Tea\ntags:\n- drink\n---\nGreen.\n" == concept.render()
    assert b"---\ntype: Note\n---\n" == fill("concept", type="Note").render()


def test_braces_in_a_text_are_only_text() -> None:
    """What an agent wrote is no template."""
    concept = fill("concept", type="Note", title="{body}", body="{title} {x} § ---")
    assert ("{body}", "{title} {x} § ---\n") == (concept.title, concept.body)
