"""Three months of a life with an agent, and 60 questions whose answering entry is known.

    python -m benchmarks.life [--json] [--sessions N] [--list]
    python -m benchmarks.life --make DIRECTORY [--sessions N]

289 sessions in 92 days: curated facts of which some were replaced or removed, decisions of which some were overtaken,
plans, what was seen and said, in six languages, in the noise of an everyday. `--make` leaves such a bundle, which ends
today, for whoever wants to look at views of it. The texts are in `benchmarks/life_texts.py`; every second question is
held out: nothing was tuned on it. See docs/performance.md for what was seen.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from gitmem.config import Config
from gitmem.git.message import Message
from gitmem.memory.edits import Edits
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.session import Session
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from benchmarks.life_texts import FORUM, HELD_OUT, LEARNED, SKILL, TUNED_ON, WRONG, Learned, Outdated, Talk
from benchmarks.support import Report, Row, working_directory

SESSIONS = 289
DAYS = 92
END = datetime(2026, 11, 13, 18, 0, tzinfo=UTC)
_SEED = 5
_NIGHTLY = 0.11  # of the sessions
_ECHO = 3  # every third thing that was learned is asked for again later
_MODELS = ("claude-fable-4", "qwen3-32b")
_PLATFORMS = ("cli", "cli", "telegram", "discord")


class Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def go_on(self, **by: float) -> None:
        self.now += timedelta(**by)


Happening = Callable[[Memory, Session], None]
"""Something that happens in a session."""


@dataclass(slots=True)
class _Sitting:
    """One session to come: when, and what happens in it besides everyday talk."""

    at: datetime
    nightly: bool = False
    happenings: list[Happening] = field(default_factory=list)


# --- a life ----------------------------------------------------------------------------------------------


def make(root: str, *, end: datetime = END, sessions: int = SESSIONS) -> Memory:
    """A bundle at `root` of a life that ends at `end`; the memory as its person has it, with the clock at that moment."""
    chance = random.Random(_SEED)
    start = (end - timedelta(days=DAYS)).replace(hour=0, minute=0, second=0, microsecond=0)
    clock = Clock(start)
    world = World(os.environ, clock=clock, person="Ines", zone=UTC)
    laptop = create(world, root, config=_config("laptop", "hermes"))[0]
    server = open_bundle(world, root, config=_config("server", "watcher"))
    sittings = _sittings(chance, start, end, sessions)
    _spread(chance, sittings, start)
    talk = Talk(chance)
    for sitting in sittings:
        clock.now = max(clock.now + timedelta(minutes=1), sitting.at)
        if sitting.nightly:
            _check(server, clock, talk)
        else:
            _sit(laptop, clock, chance, talk, sitting)
    server.close()
    clock.now = max(clock.now, end)
    return laptop


def _config(machine: str, agent: str) -> Config:
    return Config(machine=machine, agent_id=agent, fsync="off", auto_sync=False)


def _sittings(chance: random.Random, start: datetime, end: datetime, sessions: int) -> list[_Sitting]:
    """When sessions are: nightly ones on the server, the others by day, at least one a day where there are enough."""
    nights = int(sessions * _NIGHTLY)
    days = list(range(DAYS)) * (sessions // DAYS)
    days = (days + chance.sample(range(DAYS), DAYS))[: sessions - nights]
    if sessions - nights < DAYS:
        days = sorted(chance.sample(range(DAYS), sessions - nights))
    found = [_Sitting(start + timedelta(days=day, hours=8 + 13 * chance.random())) for day in days]
    found += [
        _Sitting(start + timedelta(days=day, hours=3), nightly=True)
        for day in chance.sample(range(DAYS), min(nights, DAYS))
    ]
    return sorted((one for one in found if one.at < end), key=lambda one: one.at)


def _spread(chance: random.Random, sittings: Sequence[_Sitting], start: datetime) -> None:
    """Put everything that is learned, replaced, removed or asked again into the sessions of its days."""
    by_day = [one for one in sittings if not one.nightly]

    def on(day: float, happening: Happening) -> None:
        moment = start + timedelta(days=day, hours=12)
        at = next((one for one in by_day if one.at >= moment), by_day[-1])
        at.happenings.append(happening)

    for number, one in enumerate(sorted(LEARNED, key=lambda learned: learned.day)):
        for old in one.outdated:
            on(old.day, partial(_learn_old, chance, one, old))
            on((old.day + (old.gone or one.day)) / 2, partial(_ask_again, chance, one.question, old.text))
            if old.how == "removed":
                on(old.gone, partial(_forget, old))
        on(one.day, partial(_learn, chance, one))
        if number % _ECHO == 0:
            on(one.day + chance.randint(2, 14), partial(_ask_again, chance, one.question, one.text))
    on(45, _learn_skill)
    on(50, _name_the_state)
    on(56, _learn_wrong)
    on(59, _take_back)
    on(80, partial(_do_steps, chance))


def _check(bundle: Memory, clock: Clock, talk: Talk) -> None:
    name = f"nightly-{clock.now:%Y%m%d}"
    with bundle.session(
        name, source="cron", model=_MODELS[1], title=f"Nightly check {clock.now:%Y-%m-%d}"
    ) as session:
        session.prompt_block()
        for text in talk.checks():
            clock.go_on(seconds=20)
            session.record_observation(text, "check")


def _sit(bundle: Memory, clock: Clock, chance: random.Random, talk: Talk, sitting: _Sitting) -> None:
    name = f"{clock.now:%Y%m%d_%H%M%S}_{chance.getrandbits(24):06x}"
    title = talk.title() if chance.random() < 0.4 else ""
    known = {"platform": chance.choice(_PLATFORMS), "model": chance.choice(_MODELS), "title": title}
    with bundle.session(name, **known) as session:
        session.prompt_block()
        happenings = list(sitting.happenings)
        happenings += [partial(_everyday, chance, talk)] * chance.randint(1, 4)
        chance.shuffle(happenings)
        for happening in happenings:
            clock.go_on(seconds=chance.randint(20, 200))
            happening(bundle, session)


def _everyday(chance: random.Random, talk: Talk, _: Memory, session: Session) -> None:
    session.record_turn(*talk.exchange())
    if chance.random() < 0.4:
        tool, argument, result = talk.tool_call()
        session.record_tool_call(tool, {"command": argument}, result)
    if chance.random() < 0.4:
        session.record_observation(next(talk.observations()), "work")


def _learn(chance: random.Random, one: Learned, bundle: Memory, session: Session) -> None:
    talk = Talk(chance)
    if one.kind == "turn":
        session.record_turn(one.text + ".", one.answer)
    elif one.kind == "observation":
        session.record_observation(one.text, "lesson")
    elif one.kind == "decision":
        session.record_turn(f"{one.question} Let us settle it.", f"{one.why}, so I would say: {one.text}.")
        session.record_decision(one.text, one.why)
    elif one.kind == "plan":
        session.record_turn(
            f"Let us plan: {one.text.lower()}.", f"I wrote a plan with {len(one.steps)} steps."
        )
        bundle.plans.create(one.text, one.steps, origin=bundle.origin(session=session.id))
    else:
        session.record_turn(talk.said(one.text), "Noted.")
        session.flush()
        old = next((old for old in one.outdated if old.how == "replaced"), None)
        if old is None:
            session.remember(one.text, target=one.kind, reason="the user said so")
        else:
            bundle.replace(
                old.text, one.text, target=one.kind, machine=False, session=session.id, reason="it changed"
            )


def _learn_old(chance: random.Random, one: Learned, old: Outdated, bundle: Memory, session: Session) -> None:
    if one.kind == "decision":
        session.record_turn(f"{one.question} Let us settle it.", f"{old.why}, so I would say: {old.text}.")
        session.record_decision(old.text, old.why)
    else:
        _learn(chance, Learned(old.day, one.kind, old.text, one.question), bundle, session)


def _forget(old: Outdated, bundle: Memory, session: Session) -> None:
    session.record_turn("One of the things you know about this is not true any more.", "I removed it.")
    bundle.forget(old.text, session=session.id, reason="not true any more")


def _ask_again(chance: random.Random, question: str, text: str, _: Memory, session: Session) -> None:
    session.record_turn(*Talk(chance).asked(question, text))


def _learn_skill(bundle: Memory, session: Session) -> None:
    name, about, body = SKILL
    page = f"---\ntype: Skill\nname: {name}\ndescription: {about}\n---\n\n{body}\n"

    def work(edits: Edits) -> Message | None:
        edits.write(f"skills/{name}/SKILL.md", page.encode())
        return Message("skill", f"learn {name}")

    session.record_turn("Keep how we print labels as a skill.", "Done.")
    bundle.commit(work, purpose="skill", origin=bundle.origin(session=session.id))


def _name_the_state(bundle: Memory, _: Session) -> None:
    bundle.snapshot("before-the-sale", "all is well")


def _learn_wrong(_: Memory, session: Session) -> None:
    session.record_tool_call("web_extract", {"url": FORUM}, WRONG)
    session.flush()
    session.remember(WRONG, source=FORUM, reason="a page says so")


def _take_back(bundle: Memory, session: Session) -> None:
    session.record_turn("That about refunds came from a forum and is nonsense.", "I take it back.")
    bundle.revert(text=WRONG, reason="not ours")


def _do_steps(chance: random.Random, bundle: Memory, session: Session) -> None:
    origin = bundle.origin(session=session.id)
    for plan in bundle.plans.all():
        result = chance.choice(("done on time", "took a week longer"))
        bundle.plans.complete_step(plan.path, 1, result, origin=origin)
    done = next(plan for plan in bundle.plans.all() if "kitchen" in plan.title)
    for number in range(2, len(done.steps) + 1):
        bundle.plans.complete_step(done.path, number, origin=origin)
    bundle.plans.complete(done.path, origin=origin)


# --- the questions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answered:
    """Where a question's answer came; 0 for not at all. `outdated` is what stood above it and is not true any more."""

    asked: Learned
    place: int
    outdated: str
    first: str


def ask(bundle: Memory, learned: Sequence[Learned] = LEARNED, *, limit: int = 10) -> list[Answered]:
    """Each question, put to search."""
    found = []
    for one in learned:
        texts = [hit.text for hit in bundle.search(one.question, limit=limit)]
        place = next((number for number, text in enumerate(texts, 1) if _answers(one, text)), 0)
        above = texts[: place - 1] if place else texts
        stale = [text for text in above if any(old.text.lower() in text.lower() for old in one.outdated)]
        found.append(Answered(one, place, stale[0] if stale else "", texts[0] if texts else ""))
    return found


def _answers(one: Learned, text: str) -> bool:
    """Whether a hit is the answering entry: the fact, decision, plan, observation or turn itself, not talk about it."""
    shown = " ".join(text.replace("#", " ").split())
    if one.kind == "turn":
        return one.text in shown
    return shown.startswith(one.text)


def rows(answers: Sequence[Answered], *, wanted: bool = False) -> list[Row]:
    """The figures of some questions; what is wanted, is wanted of all of them."""
    many = max(1, len(answers))
    first = 100 * sum(one.place == 1 for one in answers) / many
    three = 100 * sum(0 < one.place <= 3 for one in answers) / many
    stale = sum(bool(one.outdated) for one in answers)
    return [
        Row("the answering entry is first", first, unit="%", at_least=85 if wanted else None),
        Row("it is among three", three, unit="%", at_least=95 if wanted else None),
        Row("questions with an outdated text above it", stale, unit="", at_most=0),
    ]


def run(report: Report, *, sessions: int, listed: bool) -> None:
    with working_directory(None) as directory:
        bundle = make(os.path.join(directory, "life"), sessions=sessions)
        commits = sum(1 for _ in bundle.log())
        kinds: dict[str, list[Answered]] = defaultdict(list)
        asked = {name: ask(bundle, some) for name, some in (("tuned on", TUNED_ON), ("held out", HELD_OUT))}
        everything = [one for answers in asked.values() for one in answers]
        report.section(f"{len(everything)} questions, {commits} commits", rows(everything, wanted=True))
        for name, answers in asked.items():
            report.section(f"{len(answers)} of them, {name}", rows(answers))
            for one in answers:
                kinds[one.asked.kind].append(one)
                if listed and (one.place != 1 or one.outdated):
                    print(f"    {one.place or '-':>2}  {one.asked.question}\n        first: {one.first[:100]!r}"
                          + (f"\n        outdated: {one.outdated[:100]!r}" if one.outdated else ""))  # fmt: skip
        report.section(
            "first, by what the answer is",
            [
                Row(f"{kind} ({len(some)})", 100 * sum(one.place == 1 for one in some) / len(some), unit="%")
                for kind, some in kinds.items()
            ],
        )
        bundle.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--make", metavar="DIRECTORY", help="only make the bundle there; it ends today")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--list", action="store_true", help="list the questions that were not answered first")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    if options.make:
        bundle = make(options.make, end=datetime.now(UTC), sessions=options.sessions)
        bundle.close()
        print(f"{options.make}: {sum(1 for _ in bundle.log())} commits")
        return 0
    report = Report(as_json=options.json)
    run(report, sessions=options.sessions, listed=options.list)
    report.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
