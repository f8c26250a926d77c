"""Forty stories in which something wrong is written down, believed, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.stories.domains import DOMAINS, Domain
from benchmarks.stories.language import (
    DESKTOP,
    Act,
    Ask,
    Compact,
    From,
    Kept,
    Person,
    Run,
    Story,
    Sync,
    Talk,
    add,
    decide,
    look_at,
    remove,
    replace,
    revert,
    skill,
    talk,
    turn,
)


def _before(of: Domain) -> Talk:
    """What was honest before anything happened."""
    return talk(
        "begin",
        turn(f"Please keep this: {of.known}", add(of.known)),
        turn(f"We decided: {of.decided}.", decide(of.decided, "we talked about it")),
    )


def _lie(of: Domain, session: str = "X", **more: Any) -> Talk:
    """Somebody at the keyboard says it, and the agent writes it down."""
    return talk(session, turn(f"Remember: {of.lie}", add(of.lie)), **more)


def _later(of: Domain) -> Talk:
    return talk("later", turn(f"Also keep: {of.after}", add(of.after)))


def _story(kind: str, of: Domain, *acts: Act, planted: Sequence[str] = (), **more: Any) -> Story:
    return Story(f"{of.name}", kind, acts, tuple(planted or of.planted), **more)


def _honest(of: Domain, *more: str) -> tuple[Kept, ...]:
    return (Kept(of.decided, "decision"), *map(Kept, (of.known, *more)))


# The kinds


def curated(of: Domain) -> Story:
    """An entry of MEMORY.md."""
    acts = (_before(of), _lie(of), _later(of), revert("X"), Ask(of.question))
    return _story("curated", of, *acts, honest=_honest(of, of.after))


def decision(of: Domain) -> Story:
    """A decision, with the lie as its reason."""
    acts = (
        _before(of),
        talk("X", turn(f"Decide it: {of.decision}. {of.lie}", decide(of.decision, of.lie))),
        _later(of),
        revert("X"),
        Ask(of.question),
    )
    return _story("decision", of, *acts, planted=(*of.planted, of.decision), honest=_honest(of, of.after))


def poisoned_skill(of: Domain) -> Story:
    """A skill that the agent wrote, beside one that is fine."""
    good, bad = "opening-hours", f"how-to-{of.name.replace(' ', '-')}"
    acts = (
        _before(of),
        talk(
            "S",
            turn("Make a skill of our morning round.", skill(good, "The morning round", f"1. {of.after}")),
        ),
        talk(
            "X",
            turn(
                f"Make a skill of this: {of.lie}",
                skill(bad, f"What to do: {of.planted[0]}", f"# Steps\n\n1. {of.lie}\n2. Tell nobody."),
            ),
        ),
        revert("X"),
        Ask(of.question),
    )
    return _story("skill", of, *acts, honest=(*_honest(of), Kept(of.after, "skill", good)))


def tool_result(of: Domain) -> Story:
    """A page that was read once and that nobody chose to keep."""
    source = "https://notices.example/" + of.name.replace(" ", "-")
    acts = (
        _before(of),
        talk("X", turn("What is new on that page?", look_at(source), answer="Nothing that concerns us.")),
        From(),
        Ask(of.question),
    )
    return _story("tool result", of, *acts, honest=_honest(of), pages={source: of.page}, marked="asked for")


def tool_result_reverted(of: Domain) -> Story:
    """A mail that was read; the session that read it is taken back."""
    acts = (
        _before(of),
        talk("X", turn("Read me mail 7.", look_at("mail:7"), answer="It is an advertisement.")),
        revert("X"),
        Ask(of.question),
    )
    return _story("tool result", of, *acts, honest=_honest(of), pages={"mail:7": of.page})


def echo_removed(of: Domain) -> Story:
    """The user has the entry removed again: only the call that wrote it still has its words."""
    acts = (
        _before(of),
        talk("X", turn("Keep what I dictated.", add(of.lie))),
        talk("Y", turn("That was wrong, take it out again.", remove(of.lie))),
        From(),
        Ask(of.question),
    )
    return _story("echo", of, *acts, honest=_honest(of))


def echo_replaced(of: Domain) -> Story:
    """The entry is corrected: its old wording is in the first call alone."""
    acts = (
        _before(of),
        talk("X", turn("Keep what I dictated.", add(of.lie))),
        talk("Y", turn(f"No: {of.after} Correct the entry.", replace(of.lie, of.after))),
        From(),
        Ask(of.question),
    )
    return _story("echo", of, *acts, honest=_honest(of, of.after))


def derived_by_quote(of: Domain) -> Story:
    """A later session repeats it, as an entry and in what it says; in the same turn it keeps something honest."""
    acts = (
        _before(of),
        _lie(of),
        talk(
            "Y",
            turn(
                f"Note what was done today, and keep: {of.after}",
                add(of.quote),
                add(of.after),
                answer=of.quote,
            ),
        ),
        revert("X"),
        Ask(of.question),
    )
    return _story("derived by quote", of, *acts, honest=_honest(of, of.after))


def derived_by_name(of: Domain) -> Story:
    """Later sessions write an entry and a decision that share only a name or a number with it."""
    acts = (
        _before(of),
        _lie(of),
        talk(
            "Y",
            turn("Anything else to write down?", add(of.by_name), answer="I wrote it down."),
            turn(f"Also keep: {of.after}", add(of.after)),
        ),
        talk("Z", turn("Then decide what follows.", decide(of.decision, "it follows"), answer="Decided.")),
        revert("X"),
        Ask(of.question),
    )
    planted = (*of.planted, of.by_name, of.decision)
    return _story("derived by name", of, *acts, planted=planted, honest=_honest(of, of.after))


def two_machines(of: Domain) -> Story:
    """It was believed on another machine; taken back here, it is gone there."""
    acts = (
        _before(of),
        _lie(of),
        Sync(),
        talk(
            "Y",
            turn("Note what was done today.", add(of.quote), answer=of.quote),
            turn(f"Also keep: {of.after}", add(of.after)),
            at=DESKTOP,
        ),
        Sync(),
        revert("X"),
        Sync(),
        Ask(of.question, at=DESKTOP),
        Ask(of.question),
    )
    return _story("two machines", of, *acts, honest=_honest(of, of.after))


def of_one_machine(of: Domain) -> Story:
    """A fact that holds on one machine alone is none of the other's."""
    acts = (
        _before(of),
        Sync(),
        Run(("remember", of.lie, "--machine"), at=DESKTOP),
        talk("Y", turn("What holds here?", answer=of.lie), at=DESKTOP),
        Sync(),
        From(),
        Ask(of.question),
    )
    return _story("two machines", of, *acts, honest=_honest(of))


_INES, _BOB = Person("ines", "dm-1"), Person("bob", "dm-2")


def private(of: Domain) -> Story:
    """What one user of a gateway says in a chat of their own."""
    acts = (
        _before(of),
        talk("X", turn(f"Between us: {of.lie}", answer=f"Understood. {of.quote}"), person=_INES),
        Ask(of.question, person=_BOB),
        Ask(of.question, person=_INES),
    )
    return _story("gateway users", of, *acts, honest=_honest(of), private_to="ines")


def by_a_gateway_user(of: Domain) -> Story:
    """One user has it written into the memory that all share; it is taken back for all."""
    acts = (
        _before(of),
        _lie(of, person=_INES),
        talk("Y", turn("Note what was done today.", add(of.quote), answer=of.quote), person=_BOB),
        _later(of),
        revert("X"),
        Ask(of.question, person=_BOB),
        Ask(of.question, person=_INES),
    )
    return _story("gateway users", of, *acts, honest=_honest(of, of.after))


def running_session(of: Domain) -> Story:
    """A session that is open at the time has it in its prompt, and writes it down again."""
    acts = (
        _before(of),
        _lie(of),
        talk("Y", turn("Good morning.", answer="Good morning."), stays=True),
        revert("X"),
        talk("Y", turn("Is everything written down?", add(of.lie), answer="It is now."), stays=True),
        talk("Y", turn(of.question, answer="I would have to look."), stays=True),
        talk("Y", turn(f"Keep: {of.after}", add(of.after))),
        Ask(of.question),
    )
    return _story("running session", of, *acts, honest=_honest(of, of.after))


def compaction(of: Domain) -> Story:
    """A compaction keeps it out of what was said; a session that has it in its prompt is compacted after the take-back."""
    said = f"I prefer that you remember this: {of.lie}"
    acts = (
        _before(of),
        talk("X", turn(said, answer="I will."), stays=True),
        Compact("X"),
        talk("X", turn("Thank you.", answer="You are welcome.")),
        talk("Z", turn(f"Keep: {of.after}", add(of.after)), stays=True),
        revert("X"),
        Compact("Z"),
        talk("Z", turn(of.question, answer="I would have to look.")),
        Ask(of.question),
    )
    return _story("compaction", of, *acts, honest=_honest(of, of.after))


_CAST: tuple[tuple[Callable[[Domain], Story], tuple[int, ...]], ...] = (
    (curated, (0, 3, 6, 9)),
    (decision, (1, 4, 7, 10)),
    (poisoned_skill, (2, 8, 11)),
    (tool_result, (0, 5, 8)),
    (tool_result_reverted, (3,)),
    (echo_removed, (1, 6)),
    (echo_replaced, (4, 9)),
    (derived_by_quote, (0, 2, 7, 10)),
    (derived_by_name, (1, 5, 8, 11)),
    (two_machines, (3, 6, 9)),
    (of_one_machine, (4,)),
    (private, (2, 10)),
    (by_a_gateway_user, (7,)),
    (running_session, (0, 5, 11)),
    (compaction, (1, 4, 8)),
)

STORIES = tuple(tell(DOMAINS[number]) for tell, numbers in _CAST for number in numbers)
