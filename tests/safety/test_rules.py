"""Rules as data: every shipped rule does what its examples say, and no rule can be slow or match everything."""

from __future__ import annotations

import warnings

import pytest
from gitmem.safety.rules import Rule, expand, load_shipped, parse_rules, problem_with
from gitmem.safety.scanner import Scanner
from gitmem.safety.verdict import Verdict

RULES, PROBLEMS = load_shipped()
SKILL_RULES, SKILL_PROBLEMS = load_shipped("skill_rules")

MINIMAL = """
[[rule]]
id = "{id}"
category = "house rules"
severity = "hold"
reason = "speaks of the project nobody may speak of"
pattern = '''{pattern}'''
"""


def parse(pattern: str, name: str = "mine") -> tuple[list[Rule], list[str]]:
    return parse_rules(MINIMAL.format(id=name, pattern=pattern), "config/scanner.md")


def test_every_shipped_rule_loads() -> None:
    """No shipped rule is left out."""
    assert () == PROBLEMS == SKILL_PROBLEMS
    assert len(RULES) > 80
    assert len(RULES) + len(SKILL_RULES) == len({rule.id for rule in (*RULES, *SKILL_RULES)})


@pytest.mark.parametrize("rule", SKILL_RULES, ids=lambda rule: rule.id)
def test_examples_of_rules_about_skills(rule: Rule) -> None:
    """The same for those that are read for skills alone."""
    assert frozenset(("skill",)) == rule.scopes
    assert rule.match
    assert rule.no_match
    alone = Scanner((rule,))
    for text in rule.match:
        assert rule.id in alone.scan(text, "skill").rules, text
    for text in rule.no_match:
        assert rule.id not in alone.scan(text, "skill").rules, text


def test_the_categories_of_the_guard_are_covered() -> None:
    """Each class of attack that a skill can make has rules, here or among those for all texts."""
    wanted = {
        "exfiltration",
        "destructive",
        "persistence",
        "network",
        "obfuscation",
        "execution",
        "traversal",
        "privilege escalation",
        "supply chain",
        "credential exposure",
        "mining",
    }
    assert wanted == {rule.category for rule in SKILL_RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_shipped_examples(rule: Rule) -> None:
    """A rule alone finds what must match and nothing in what must not."""
    assert rule.match, "a rule without an example that matches is not tested"
    assert rule.no_match
    alone = Scanner((rule,))
    for text in rule.match:
        assert rule.id in alone.scan(text).rules, text
    for text in rule.no_match:
        assert rule.id not in alone.scan(text).rules, text


@pytest.mark.parametrize("rule", [*RULES, *SKILL_RULES], ids=lambda rule: rule.id)
def test_shipped_patterns_are_sound(rule: Rule) -> None:
    """Every pattern compiles without a warning, needs its anchor, and does not match ordinary text."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not rule.regex.match("")
    assert rule.anchors
    assert rule.reason[0].islower()
    assert not rule.reason.endswith(".")


def test_the_categories_of_the_design_are_covered() -> None:
    """Each class of attack that the design names has rules."""
    wanted = {
        "instruction override",
        "role hijack",
        "concealment from the user",
        "delayed trigger",
        "exfiltration",
        "credential access",
        "persistence and backdoors",
        "promptware and C2",
        "fake fence",
        "self-replicating note",
    }
    assert wanted <= {rule.category for rule in RULES}


def test_a_bundles_rule_works() -> None:
    """A bundle's rule needs no anchors if it begins with a word, and its id says where it comes from."""
    rules, problems = parse("bluebird {w3}launch")
    assert [] == problems
    result = Scanner(RULES).with_rules(rules).scan("Bluebird will soon launch.")
    assert ("bundle.mine",) == result.rules
    assert Verdict.HOLD == result.verdict


def test_alternatives_make_anchors() -> None:
    """Words in a group at the beginning are anchors too."""
    rules, problems = parse("(?:bluebird|redbird)s? fly")
    assert [] == problems
    assert ("bluebird*", "redbird*") == rules[0].anchors


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (".", "does not begin with a word"),
        (".*", "does not begin with a word"),
        ("a", "does not begin with a word"),
        ("(unclosed", "not a regular expression"),
        ("secret(?:a+)+b", "more than"),
        ("secret(?:a{1,9}){1,9}b", "repetition inside a repetition"),
        ("secret.*", "more than"),
        ("secret[^x]+", "more than"),
        (r"secret(a)\1", "refers back"),
        ("secret{gap200}a{gap200}b{gap100}c", "too many ways"),
        ("user", "ordinary text"),
        ("the", "ordinary text"),
        ("x" * 2000, "longer than"),
    ],
)
def test_dangerous_patterns_are_refused(pattern: str, why: str) -> None:
    """What could be slow or would hit everything is named and left out."""
    rules, problems = parse(pattern if pattern[0] != "(" or "unclosed" not in pattern else "secret(unclosed")
    assert [] == rules
    assert 1 == len(problems)
    assert "rule mine in config/scanner.md was ignored" in problems[0]
    assert why in problems[0]


def test_a_bad_rule_leaves_the_others() -> None:
    """One bad rule is named; the rest of the file works."""
    text = MINIMAL.format(id="bad", pattern="secret(") + MINIMAL.format(id="good", pattern="bluebird launch")
    rules, problems = parse_rules(text, "config/scanner.md")
    assert ["bundle.good"] == [rule.id for rule in rules]
    assert 1 == len(problems)
    assert "rule bad" in problems[0]


@pytest.mark.parametrize(
    "text",
    [
        "not toml [",
        "rule = 3",
        "[[rule]]\nid = 5",
        "[[rule]]\nid = 'a b'\npattern = 'x'",
        "[[rule]]\nid = 'x'\nseverity = 'allow'\nreason = 'r'\ncategory = 'c'\npattern = 'bluebird'",
        "[[rule]]\nid = 'x'\nseverity = 'hold'\nreason = 'r'\ncategory = 'c'\npattern = 'bluebird'\nscope = ['all']",
        "[[rule]]\nid = 'x'\nseverity = 'hold'\nreason = 'r'\ncategory = 'c'\npattern = 'bluebird'\ncolour = 'red'",
        "[[rule]]\nid = 'x'\nseverity = 'hold'\nreason = 'r'\ncategory = 'c'\npattern = 'bluebird'\nanchors = 7",
    ],
)
def test_broken_files_give_a_sentence(text: str) -> None:
    """Whatever a file holds, the answer is a sentence and never an exception."""
    rules, problems = parse_rules(text, "config/scanner.md")
    assert [] == rules
    assert 1 == len(problems)
    assert "ignored" in problems[0]


def test_the_same_id_twice() -> None:
    """The second rule of a name is left out."""
    text = MINIMAL.format(id="x", pattern="bluebird launch") + MINIMAL.format(
        id="x", pattern="redbird launch"
    )
    rules, problems = parse_rules(text, "f")
    assert 1 == len(rules)
    assert "same id" in problems[0]


def test_too_many_rules() -> None:
    """A bundle has a bounded number of rules."""
    text = "".join(MINIMAL.format(id=f"r{n}", pattern="bluebird launch") for n in range(105))
    rules, problems = parse_rules(text, "f")
    assert 100 == len(rules)
    assert "more than 100" in problems[0]


def test_blanks_and_gaps() -> None:
    """A blank spans punctuation, an optional one may be nothing, `{w2}` is up to two words."""
    assert r"a[\W_]{1,4}b[\W_]{0,4}c" == expand("a b ?c")
    assert "[ x]" == expand("[ x]")
    assert r"(?<!not\s)x" == expand("(?<!not )x")
    assert None is problem_with("bluebird {gap60}launch", ("bluebird",))
