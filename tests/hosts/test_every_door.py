"""Every door: what becomes of a text that must not come in as it is, and that no exit shows it."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.errors import GitMemError
from gitmem.hosts.loop.agent_session import AgentSession
from gitmem.hosts.loop.manager import MemoryManager
from gitmem.hosts.tools.table import offered
from gitmem.memory.gate import admission
from gitmem.memory.gate.admission import Policy
from gitmem.memory.history.log import History
from gitmem.safety.scanner import Scanner
from gitmem.safety.secrets import find
from gitmem.safety.verdict import Scope

from tests.hosts.agent_doors import LOOP_HOOKS, TOOL_DOORS
from tests.hosts.call_sites import call_sites, called, names_used
from tests.hosts.conftest import HermesHome
from tests.hosts.doors import DOORS, NO_NEW_TEXT
from tests.hosts.exits import Agent, everything, leaks, living
from tests.hosts.places import Door, Fate, Kind, Place, Sample

CASES = [(door, kind) for door in DOORS for kind in door.kinds]
HOUSES = {
    house: [(door, kind) for door, kind in CASES if door.house == house and kind not in door.without]
    for house in dict.fromkeys(door.house for door in DOORS)
}


@dataclass(frozen=True)
class Lived:
    """What became of every text that was brought into one house."""

    samples: dict[tuple[str, Kind], Sample]
    errors: dict[tuple[str, Kind], str]
    tree: str
    """Every file of the newest commit, with its name."""
    stored: str
    """The same, and what commits and snapshots say that were made since."""
    quarantine: str
    warned: str
    shown: dict[str, str]


class Houses(dict[str, Lived]):
    """The houses that were lived in so far: the test of a door needs its own, and no other."""

    def __init__(self, directories: pytest.TempPathFactory) -> None:
        super().__init__()
        self._directories = directories
        self._failed: dict[str, Exception] = {}

    def __missing__(self, house: str) -> Lived:
        if house in self._failed:
            raise self._failed[house]
        try:
            self[house] = live(house, self._directories.mktemp("house"))
        except Exception as error:
            self._failed[house] = error
            raise
        return self[house]


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Houses:
    return Houses(tmp_path_factory)


def live(house: str, root: Path) -> Lived:
    """Bring every text in by every door of a house; then look around, and ask at every exit."""
    samples = {
        (door.name, kind): Sample.of(kind, door.scope, number)
        for number, (door, kind) in enumerate(HOUSES[house])
    }
    home = HermesHome(root / "hermes")
    home.path.mkdir()
    place = Place(root, home, Agent(home, ()))
    errors: dict[tuple[str, Kind], str] = {}
    before: set[str] = set()
    with living(home):
        if house != "import":
            home.install()
            for (_, kind), sample in samples.items():
                if kind is Kind.RETRACTED:
                    place.retract(sample.text)
            before = {entry.commit.oid for entry in home.log()}
        for door, kind in HOUSES[house]:
            try:
                door.enter(place, samples[door.name, kind])
            except GitMemError as error:
                errors[door.name, kind] = str(error)
        for work in place.later.values():
            work(place)
        place.agent.close()
    with living(place.home):
        memory = place.memory
        files = [
            f"{path}\n{(memory.read(path) or b'').decode('utf-8', 'replace')}" for path in memory.file_paths()
        ]
        said = [str(one.commit.message) for one in memory.part(History).log() if one.commit.oid not in before]
        said += [one.note for one in memory.snapshots.all()]
        held = [one.text for one in memory.ledger.held()]
        shown = everything(Agent(place.home, [sample.topic for sample in samples.values()]))
    return Lived(
        samples,
        errors,
        "\n".join(files).lower(),
        "\n".join((*files, *said)).lower(),
        "\n".join(held).lower(),
        "\n".join(place.warned),
        shown,
    )


@pytest.mark.parametrize(("door", "kind"), CASES, ids=[f"{door.name}, {kind}" for door, kind in CASES])
def test_what_becomes_of_a_text(houses: Houses, door: Door, kind: Kind) -> None:
    """What the policy of the door says; and unless a person released it, no exit shows the text."""
    if kind in door.without:
        pytest.skip(door.without[kind])
    lived, fate = houses[door.house], door.fate(kind)
    sample, error = lived.samples[door.name, kind], lived.errors.get((door.name, kind), "")
    topic, canary = sample.topic.lower(), sample.canary.lower()
    assert (fate in (Fate.HIDDEN, Fate.RELEASED)) == (canary in lived.stored)
    if fate is Fate.REFUSED:
        assert error
        assert topic not in lived.quarantine
    elif fate is Fate.HELD:
        assert topic in lived.quarantine
    elif fate is Fate.REDACTED:
        assert topic in lived.stored
        assert "[redacted" in lived.stored
    if fate not in (Fate.REFUSED, Fate.HELD):
        assert "" == error
    if fate is Fate.RELEASED:
        assert canary in lived.tree
        assert canary in lived.shown["search"]
        return
    if kind is Kind.SECRET and door.row is not None and door.row.on_credential == "report":
        assert "secret" in lived.warned
    assert {} == leaks(lived.shown, [canary], but=door.own if kind is Kind.SECRET else ())


@pytest.mark.parametrize("scope", ["memory", "skill", "event"])
def test_the_texts_are_what_they_are_called(scope: Scope) -> None:
    """Each gets the verdict that its name says where it is brought in, and is flagged where it would be shown."""
    scanner = Scanner.shipped()
    for number in range(max(map(len, HOUSES.values()))):
        blocked, doubtful, secret = (Sample.of(kind, scope, number) for kind in list(Kind)[:3])
        verdicts = [str(scanner.scan(one.text, scope).verdict) for one in (blocked, doubtful, secret)]
        assert ["block", "hold", "allow"] == verdicts
        shown: Scope = "skill" if scope == "skill" else "recall"  # a skill is read as both on its way out
        assert "allow" not in [scanner.scan(one.text, shown).verdict for one in (blocked, doubtful)]
        assert [secret.canary] == [secret.text[one.start : one.end] for one in find(secret.text)]
        if scope == "memory":  # the rules alone would let it in
            assert "allow" == scanner.scan(doubtful.text, scope, statistics=False).verdict


def commits(call: ast.Call) -> bool:
    """Whether a call makes a commit or a tag: it has to be given its purpose, or makes the object itself."""
    has_purpose = any(keyword.arg == "purpose" for keyword in call.keywords)
    name = called(call)
    return (name in ("commit", "publish") and has_purpose) or name in ("render_commit", "render_tag")


def test_no_commit_is_made_behind_a_door() -> None:
    """Every function that commits is that of a door in the table, or says why it brings no new text."""
    doors = {site for door in DOORS for site in door.sites}
    found = call_sites(commits)
    assert set() == found - doors - NO_NEW_TEXT.keys(), "add them to tests/hosts/doors.py"
    assert set() == (doors | NO_NEW_TEXT.keys()) - found, "these do not commit any more"
    assert set() == doors & NO_NEW_TEXT.keys()


def test_every_tool_that_writes_has_its_doors() -> None:
    """For each host that offers it: in a loop, and over MCP."""
    doors, config = {door.name for door in DOORS}, Config(undo_tools=True)
    for rows, where in (
        (offered("loop", config), "in a loop"),
        (offered("mcp", config), "over MCP"),
    ):
        writing = [row.name for row in rows if not row.reads]
        assert writing
        assert set() == {f"{one} {where}" for tool in writing for one in TOOL_DOORS[tool]} - doors


_TAKES_NO_TEXT = {
    "MemoryManager.add_provider": "Another memory, with doors of its own.",
    "MemoryManager.has_tool": "It asks for a name.",
    "MemoryManager.note": "A warning for the program.",
    "MemoryManager.flush_pending": "A number of seconds.",
    "MemoryManager.prefetch_all": "A question.",
}
_BEHIND_A_SESSION = {
    "initialize_all": "session",
    "on_turn_start": "turn",
    "sync_all": "done",
    "handle_tool_call": "tool_call",
    "record_call": "tool_result",
    "on_pre_compress": "compress",
    "on_session_end": "end",
}
"""The hooks of a manager that a session of it calls, by the method that does."""


def test_every_hook_of_the_loop_has_a_door() -> None:
    """A method that takes anything from the program is tried by a door, or says why it is not."""
    taking = {
        f"{kind.__name__}.{name}"
        for kind in (AgentSession, MemoryManager)
        for name, method in vars(kind).items()
        if inspect.isfunction(method) and name[0] != "_" and len(inspect.signature(method).parameters) > 1
    }
    through = {f"MemoryManager.{name}" for name in _BEHIND_A_SESSION}
    assert taking == LOOP_HOOKS.keys() | _TAKES_NO_TEXT.keys() | through
    doors = {door.name for door in DOORS}
    assert set() == {one for names in LOOP_HOOKS.values() for one in names} - doors


def test_every_policy_has_a_door() -> None:
    """No row of the table of policies is there for nobody."""
    rows = {
        name
        for name, value in vars(admission).items()
        if isinstance(value, Policy)
        or (
            inspect.isfunction(made := getattr(value, "__wrapped__", value))  # one of them is cached
            and inspect.signature(made).return_annotation == "Policy"
        )
    }
    assert rows == {door.policy for door in DOORS if door.policy}
    assert rows <= names_used()
