"""Verdicts are words with an order of their own."""

from __future__ import annotations

from gitmem.safety.verdict import Finding, Result, Verdict


def test_order_is_by_gravity_and_not_by_the_alphabet() -> None:
    """`block` is the highest verdict, though `hold` comes after it in the alphabet."""
    assert [Verdict.ALLOW, Verdict.HOLD, Verdict.BLOCK] == sorted(
        [Verdict.BLOCK, Verdict.ALLOW, Verdict.HOLD]
    )
    assert Verdict.BLOCK == max(Verdict)
    assert Verdict.HOLD >= Verdict.HOLD > Verdict.ALLOW
    assert Verdict.ALLOW <= Verdict.HOLD


def test_a_verdict_is_its_word() -> None:
    """Callers may compare with and print plain words."""
    assert str(Verdict.HOLD) == "hold"
    assert f"{Verdict.BLOCK}" == "block"


def test_explain_names_the_gravest_reasons_once() -> None:
    """A person reads why, with the rule's id, and no reason twice."""
    grave = Finding("a.b", "cat", "does harm", (0, 3), Verdict.BLOCK)
    mild = Finding("c.d", "cat", "looks odd", (4, 6), Verdict.HOLD)
    result = Result(Verdict.BLOCK, (grave, grave, mild))
    assert "does harm (a.b)" == result.explain()
    assert ("a.b", "c.d") == result.rules
