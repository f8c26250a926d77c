"""Every way into a memory, as a function that brings a text in.

A new way in belongs here; `test_every_door.py` finds those that are not.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitmem.config import EndpointConfig
from gitmem.errors import UsageError
from gitmem.git.message import Message
from gitmem.git.refs import BRANCH
from gitmem.git.transport import write_bundle_file
from gitmem.hosts.hermes.profile import install
from gitmem.memory import review
from gitmem.memory.capture.journal import Journal
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import FOUND_ENTRY, Admission, Held
from gitmem.memory.history.log import History
from gitmem.memory.history.restore import restore
from gitmem.memory.history.revert import Undo
from gitmem.memory.pages import write_note
from gitmem.memory.sync.server import received
from gitmem.memory.upkeep.git_hooks import pre_commit, pre_push
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import entry_hash
from gitmem.okf.events import Event, EventsFile
from gitmem.safety.scanner import WINDOW

from tests.git.support import run_git
from tests.hosts.conftest import HermesHome
from tests.hosts.model import call
from tests.hosts.places import (
    AT,
    DOORS,
    PAST_OUR_HOOKS,
    Enter,
    Fate,
    Kind,
    Otherwise,
    Place,
    Sample,
    door,
    refuse,
)
from tests.hosts.talk import answer, user
from tests.hosts.test_skill_files import put

__all__ = ["DOORS", "NO_NEW_TEXT"]

NO_NEW_TEXT = {
    "gitmem.git.transaction:_commit": "The commit itself: what is in it comes from one of the others.",
    "gitmem.memory.curated.archive:archive_store": "It moves entries from one file to another.",
    "gitmem.memory.erase.eraser:Eraser._with_receipts": "It takes a text out of everything, and adds a receipt without it.",
    "gitmem.memory.gate.holding:hold_back": "It takes entries out.",
    "gitmem.memory.sync.fold:_merged": "It merges what is in two histories already; `settle` puts `main` there.",
    "gitmem.memory.sync.following:replay": "It makes commits of this machine again, without what was erased.",
    "gitmem.memory.gate.holding:look_again": "It takes an entry out, or marks it.",
    "gitmem.memory.pages:Plans.complete": "It moves a plan to the archive.",
    "gitmem.memory.snapshots:Snapshots.delete": "It takes a note out.",
    "gitmem.memory.upkeep.create:_begin": "The templates that gitmem brings.",
}
"""Functions that commit, and bring no text that was not in the memory before: each with the reason."""


# --- entries of the curated store ------------------------------------------------------------------------

STORE = "gitmem.memory.curated.store:CuratedStore.batch"
CONTEST = "gitmem.memory.review:_Person._change"
COMPRESSION = "gitmem.memory.distill.compression:Compressor.keep"

BY_A_PERSON: Otherwise = {Kind.RETRACTED: (Fate.RELEASED, "A person asks for it by name.")}
COMPACTED: Otherwise = {
    Kind.BLOCKED: (Fate.LEFT_OUT, "The host compacts in any case: there is nobody to refuse.")
}


@door("entries", "ENTRY", STORE, entries=True)
def memory_add_by_command(place: Place, sample: Sample) -> None:
    place.command("remember", sample.text)


@door("entries", "ENTRY", STORE, entries=True)
def memory_add(place: Place, sample: Sample) -> None:
    place.memory.curated.add(sample.text)


@door("entries", "ENTRY", STORE, entries=True, otherwise=BY_A_PERSON)
def memory_add_by_a_person(place: Place, sample: Sample) -> None:
    place.memory.curated.add(sample.text, by_person=True)


@door("entries", "ENTRY", STORE, entries=True)
def memory_replace_by_command(place: Place, sample: Sample) -> None:
    place.command("replace", _to_be_replaced(place, sample), sample.text)


@door("entries", "ENTRY", STORE, entries=True)
def memory_replace(place: Place, sample: Sample) -> None:
    place.memory.curated.replace(_to_be_replaced(place, sample), sample.text)


@door("entries", "ENTRY", STORE, entries=True)
def user_profile(place: Place, sample: Sample) -> None:
    place.memory.remember(sample.text, target="user")


@door("entries", "ENTRY", CONTEST, entries=True, otherwise=BY_A_PERSON)
def contested_resolve(place: Place, sample: Sample) -> None:
    memory = place.memory
    item = review.find(memory, _contest(place, sample)[:12])
    with contextlib.suppress(UsageError):  # the scanner holds the words
        review.edit(memory, item, sample.text, by="ada")


@door("facts", "ENTRY", COMPRESSION, entries=True)
def a_fact_by_the_rules(place: Place, sample: Sample) -> None:
    with place.memory.session(f"rules {sample.topic}") as session:
        refuse(*session.compress(conversation(sample.reminder)).refused)


@door("facts", "ENTRY", COMPRESSION, entries=True)
def a_fact_by_a_model(place: Place, sample: Sample) -> None:
    memory, model = place.memory, place.agent.model
    memory.config = replace(memory.config, distiller=EndpointConfig(base_url=model.url, model="m"))
    model.script.append(call("memory", action="add", target="memory", content=sample.text))
    with memory.session(f"model {sample.topic}") as session:
        refuse(*session.compress(conversation("Please look at this")).refused)


@door("facts", "ENTRY", COMPRESSION, entries=True, otherwise=COMPACTED)
def a_fact_before_a_compaction(place: Place, sample: Sample) -> None:
    place.driver(f"compacting {sample.topic}").on_pre_compress(conversation(sample.reminder))


@door("facts", "ENTRY", COMPRESSION, entries=True, otherwise=COMPACTED)
def a_fact_at_the_end_of_a_session(place: Place, sample: Sample) -> None:
    driver = place.driver(f"ending {sample.topic}")
    assert driver._run is not None
    for message in conversation(sample.reminder):  # the record of the turns is another door
        driver._run.driver(driver._run.session).facts.said(message["content"], "ok")
    driver.shutdown()


@door("facts", "ENTRY", STORE, entries=True)
def gitmem_remember_fact(place: Place, sample: Sample) -> None:
    _remember(place, kind="fact", text=sample.text)


@door("facts", "ENTRY", STORE, entries=True)
def gitmem_remember_preference(place: Place, sample: Sample) -> None:
    _remember(place, kind="preference", text=sample.text)


def _to_be_replaced(place: Place, sample: Sample) -> str:
    old = f"The {sample.topic} is to be replaced"
    place.memory.curated.add(old)
    return old


def _contest(place: Place, sample: Sample) -> str:
    """Two entries that replace one; gives what the contest is called."""
    memory, was = place.memory, entry_hash(f"the {sample.topic} of old")

    def work(edits: Edits) -> Message:
        file = CuratedFile.parse_leniently(edits.read(layout.MEMORY) or b"", layout.MEMORY)
        for wording in ("plain", "simple"):
            file = file.add(f"The {sample.topic} is {wording}", AT, replaces=was)
        edits.write(layout.MEMORY, file.render())
        return Message("memory", "two wordings")

    memory.commit(work, purpose="test", origin=memory.origin())
    return was


def conversation(said: str) -> list[dict[str, Any]]:
    words = [said, *(f"Please look at file {number}" for number in range(8))]
    return [message for word in words for message in (user(word), answer("Done."))]


def _remember(place: Place, **arguments: str) -> None:
    told = place.driver().handle_tool_call("gitmem_remember", arguments)
    place.driver().settle()
    refuse(*([told] if "error" in json.loads(told) else []))


# --- events ----------------------------------------------------------------------------------------------

EVENTS = "gitmem.memory.capture.buffer:commit_events"


def _fields(kind: str, text: str) -> dict[str, str]:
    return {
        "observation": {"content": text},
        "decision": {"decision": text, "rationale": "none"},
        "tool_call": {"tool_name": "terminal", "args": text, "result": text},
        "turn": {"user": text, "assistant": text},
    }[kind]


def _pushed(kind: str) -> Enter:
    def enter(place: Place, sample: Sample) -> None:
        with place.memory.session(f"pushing {sample.topic}") as session:
            session.buffer.push(kind, **_fields(kind, sample.text))
            session.flush()

    return enter


def _written_through(kind: str) -> Enter:
    return lambda place, sample: place.memory.record_event(kind, **_fields(kind, sample.text))


def _recovered(kind: str) -> Enter:
    """From a journal that some program wrote, unredacted, and left behind."""

    def enter(place: Place, sample: Sample) -> None:
        memory = place.memory
        journal = Journal.create(memory.journal_dir, clock=memory.world.clock)
        journal.append(kind, _fields(kind, sample.text), f"dead {sample.topic}")
        journal.close()
        assert memory.recover_journals()

    return enter


for _kind in ("observation", "decision", "tool_call", "turn"):
    for _way in (_pushed, _written_through, _recovered):
        _policy = "TALK" if _kind == "turn" else "EVENT"
        door("events", _policy, EVENTS, name=f"{_kind} {_way.__name__[1:]}")(_way(_kind))


@door("facts", "TALK", EVENTS)
def a_turn_of_hermes(place: Place, sample: Sample) -> None:
    driver = place.driver()
    driver.on_turn_start(1, sample.text)
    driver.sync_turn(sample.text, sample.text, messages=[user(sample.text), answer(sample.text)])
    driver.settle()


@door("facts", "EVENT", EVENTS)
def a_delegation_of_hermes(place: Place, sample: Sample) -> None:
    driver = place.driver()
    driver.on_turn_start(1, "What did it find?")
    driver.on_delegation(sample.text, sample.text)
    driver.settle()


@door("facts", "EVENT", EVENTS)
def gitmem_remember_decision(place: Place, sample: Sample) -> None:
    _remember(place, kind="decision", text=sample.text)


@door("facts", "EVENT", EVENTS)
def gitmem_remember_observation(place: Place, sample: Sample) -> None:
    _remember(place, kind="observation", text=sample.text)


@door("facts", "EVENT", EVENTS)
def the_reason_of_a_decision(place: Place, sample: Sample) -> None:
    _remember(place, kind="decision", text=f"Use the {sample.topic}", why=sample.text, source="here")


# --- short words about the memory ------------------------------------------------------------------------

TOOL = "gitmem.memory.pages:register_tool"
SESSION = "gitmem.memory.capture.sessions:Sessions.end"
ANNOTATE = "gitmem.memory.capture.sessions:Sessions.annotate"
PLAN, STEP = "gitmem.memory.pages:Plans.create", "gitmem.memory.pages:Plans.complete_step"
PAGE = "gitmem.memory.pages:write_note"
SNAPSHOT = "gitmem.memory.snapshots:Snapshots.create"
COMMIT = "gitmem.memory.bundle:Bundle.commit"


@door("notes", "NOTE", TOOL)
def the_name_of_a_tool(place: Place, sample: Sample) -> None:
    place.memory.register_tool(sample.text)


@door("notes", "NOTE", TOOL)
def the_description_of_a_tool(place: Place, sample: Sample) -> None:
    place.memory.register_tool(f"t{sample.topic}", sample.text)


@door("notes", "NOTE", TOOL)
def the_schema_of_a_tool(place: Place, sample: Sample) -> None:
    place.memory.register_tool(f"u{sample.topic}", "does things", {"help": sample.text})


@door("notes", "NOTE", SESSION)
def the_title_of_a_session(place: Place, sample: Sample) -> None:
    with place.memory.session(f"titled {sample.topic}", title=sample.text):
        pass


@door("notes", "NOTE", SESSION)
def the_title_of_a_session_by_command(place: Place, sample: Sample) -> None:
    place.command("session", "start", f"cli {sample.topic}", "--title", sample.text)
    place.command("session", "end")


@door("notes", "NOTE", ANNOTATE)
def a_title_that_is_noted_later(place: Place, sample: Sample) -> None:
    with place.memory.session(f"annotated {sample.topic}") as session:
        session.record_observation(f"said under a title with the {sample.topic}")
        session.flush()
        session.annotate(title=sample.text)


@door("notes", "NOTE", SESSION)
def a_title_that_is_noted_at_the_end(place: Place, sample: Sample) -> None:
    with place.memory.session(f"ended {sample.topic}") as session:
        session.end(title=sample.text)


@door("notes", "TRAILER", EVENTS)
def a_title_that_hermes_gives(place: Place, sample: Sample) -> None:
    driver = place.agent.begin(f"hermes {sample.topic}", session_title=sample.text)
    driver.sync_turn(f"what of the {sample.topic}?", "it is fine")
    driver.settle()


@door("notes", "NOTE", PLAN)
def the_title_of_a_plan(place: Place, sample: Sample) -> None:
    place.memory.plans.create(sample.text, ["look at it"])


@door("notes", "NOTE", PLAN)
def the_step_of_a_plan(place: Place, sample: Sample) -> None:
    place.memory.plans.create(f"Plan the {sample.topic}", [sample.text])


@door("notes", "NOTE", PAGE)
def the_title_of_a_note(place: Place, sample: Sample) -> None:
    write_note(place.memory, sample.text, "as seen", origin=place.memory.origin())


@door("notes", "NOTE", PAGE)
def the_text_of_a_note(place: Place, sample: Sample) -> None:
    write_note(place.memory, f"Page of the {sample.topic}", sample.text, origin=place.memory.origin())


@door("notes", "NOTE", PAGE)
def a_note_by_command(place: Place, sample: Sample) -> None:
    place.command("note", f"Sheet of the {sample.topic}", sample.text)


@door("notes", "NOTE", STEP)
def the_result_of_a_step(place: Place, sample: Sample) -> None:
    plan = place.memory.plans.create(f"Do the {sample.topic}", ["look at it"])
    place.memory.plans.complete_step(plan.name, 1, sample.text)


@door(
    "notes",
    "NOTE",
    SNAPSHOT,
    otherwise={Kind.SECRET: (Fate.REFUSED, "What is left of it is not a name.")},
)
def the_name_of_a_snapshot(place: Place, sample: Sample) -> None:
    place.memory.snapshots.create(sample.text.replace(" ", "-"), origin=place.memory.origin())


@door("notes", "NOTE", SNAPSHOT)
def the_note_of_a_snapshot(place: Place, sample: Sample) -> None:
    place.memory.snapshots.create(f"n-{sample.topic}", sample.text, origin=place.memory.origin())


@door("notes", "TRAILER", COMMIT)
def the_reason_of_a_change(place: Place, sample: Sample) -> None:
    memory = place.memory
    memory.curated.add(f"The {sample.topic} has a reason", origin=memory.origin(reason=sample.text))


@door("notes", "TRAILER", COMMIT)
def the_source_of_a_change(place: Place, sample: Sample) -> None:
    place.command("remember", f"The {sample.topic} has a source", "--source", sample.text)


# --- files that a person edits ---------------------------------------------------------------------------

HAND = "gitmem.memory.hand_edits:_commit"


@door("hand edits", "FOUND_ENTRY", HAND, entries=True)
def a_hand_edit_of_memory_md(place: Place, sample: Sample) -> None:
    place.add_entry(place.bundle, sample.text)
    place.memory.take_in_edits(strict=False)


@door("hand edits", "FOUND_ENTRY", HAND, entries=True)
def a_hand_edit_of_user_md(place: Place, sample: Sample) -> None:
    place.add_entry(place.bundle, sample.text, layout.USER)
    place.memory.take_in_edits(strict=False)


@door("hand edits", "hand_file", HAND, at="decisions/x.md")
def a_hand_edit_of_a_decision(place: Place, sample: Sample) -> None:
    _edited(place, f"decisions/{sample.topic}.md", _file(sample.text, "Decision"))


@door("hand edits", "hand_file", HAND, at="skills/x/SKILL.md")
def a_hand_edit_of_a_skill(place: Place, sample: Sample) -> None:
    _edited(place, f"skills/{sample.topic}/SKILL.md", _file(sample.text, "Skill"))


@door("hand edits", "hand_file", HAND, at="notes/x.txt")
def a_hand_edit_of_a_plain_text(place: Place, sample: Sample) -> None:
    _edited(place, f"notes/{sample.topic}.txt", sample.text)


def _edited(place: Place, path: str, data: str) -> None:
    """As a session of an agent takes it in: what cannot be part of a bundle is left alone, with a warning."""
    memory = place.memory
    place.write(memory.root, path, data)
    memory.take_in_edits(strict=False)
    refuse(*(warning for warning in map(str, memory.warnings) if path in warning))


def _file(text: str, kind: str = "Note") -> str:
    return f"---\ntype: {kind}\n---\n{text}\n"


# --- the host's own files --------------------------------------------------------------------------------

HOST = "gitmem.memory.mirror.sections:Sections._commit"
SKILLS = "gitmem.memory.mirror.files:SkillDirectory._commit"
SKILL_STORE = "gitmem.memory.skills.store:Skills._write"
ASKED: Otherwise = {Kind.BLOCKED: (Fate.REFUSED, "The one who asks is there to be refused.")}
FRESH = {Kind.RETRACTED: "A memory that is made now has nothing retracted."}
OWN = ("host files",)


@door("host", "FOUND_ENTRY", HOST, entries=True, own=OWN)
def the_hosts_memory_md(place: Place, sample: Sample) -> None:
    _add_to_host(place, sample, "MEMORY.md")
    place.driver().compare()


@door("host", "FOUND_ENTRY", HOST, entries=True, own=OWN)
def the_hosts_user_md(place: Place, sample: Sample) -> None:
    _add_to_host(place, sample, "USER.md")
    place.driver().compare()


@door("host", "SKILL", SKILLS)
def a_skill_of_the_host(place: Place, sample: Sample) -> None:
    _put_skill(place, sample)
    place.driver().compare()


@door("skills", "SKILL", SKILL_STORE, otherwise=ASKED)
def a_skill(place: Place, sample: Sample) -> None:
    place.memory.skills.create(sample.topic, skill_page(sample))


@door("skills", "SKILL", SKILL_STORE, otherwise=ASKED)
def a_skill_by_command(place: Place, sample: Sample) -> None:
    path = place.root / f"{sample.topic}.md"
    path.write_text(skill_page(sample))
    place.command("skill", "create", sample.topic, "--file", str(path))


@door("skills", "SKILL", SKILL_STORE, otherwise=ASKED)
def a_file_of_a_skill(place: Place, sample: Sample) -> None:
    harmless = replace(sample, text="Read the page.")
    place.memory.skills.create(sample.topic, skill_page(harmless))
    place.memory.skills.write_file(sample.topic, "references/page.md", f"{sample.text}\n")


@door("skills", "SKILL", SKILL_STORE, otherwise=ASKED)
def a_patch_of_a_skill(place: Place, sample: Sample) -> None:
    harmless = replace(sample, text="Read the page.")
    place.memory.skills.create(sample.topic, skill_page(harmless))
    place.memory.skills.patch(sample.topic, harmless.text, sample.text)


@door("skills", "SKILL", SKILLS)
def a_skill_of_a_linked_directory(place: Place, sample: Sample) -> None:
    directory = place.root / "agent" / ".claude" / "skills"
    (directory / sample.topic).mkdir(parents=True)
    (directory / sample.topic / "SKILL.md").write_text(skill_page(sample))
    place.command("connect", str(directory))


def skill_page(sample: Sample) -> str:
    return f"---\nname: {sample.topic}\ndescription: what to do\n---\n\n{sample.text}\n"


@door("import", "FOUND_ENTRY", HOST, entries=True, without=FRESH, own=OWN)
def the_hosts_memory_md_at_first(place: Place, sample: Sample) -> None:
    _add_to_host(place, sample, "MEMORY.md")
    place.later["install"] = _install


@door("import", "FOUND_ENTRY", HOST, entries=True, without=FRESH, own=OWN)
def the_hosts_user_md_at_first(place: Place, sample: Sample) -> None:
    _add_to_host(place, sample, "USER.md")
    place.later["install"] = _install


@door("import", "SKILL", SKILLS)
def a_skill_of_the_host_at_first(place: Place, sample: Sample) -> None:
    _put_skill(place, sample)
    place.later["install"] = _install


def _add_to_host(place: Place, sample: Sample, name: str) -> None:
    place.home.write(*place.home.entries(name), sample.text, name=name)


def _put_skill(place: Place, sample: Sample) -> None:
    put(place.home, f"{sample.topic}/SKILL.md", skill_page(sample))


def _install(place: Place) -> None:
    install(place.home.home, place.home.world)


# --- other machines --------------------------------------------------------------------------------------

JOIN, CLONE = "gitmem.memory.sync.keeping:settle", "gitmem.memory.upkeep.clone:_check_out"
NO_ENTRY: Otherwise = dict.fromkeys(Kind, (Fate.HIDDEN, "It is not an entry; the way out is guarded."))
AS_IT_IS: Otherwise = {
    Kind.RETRACTED: (Fate.HIDDEN, "The commit is taken as it is, with the retraction in it.")
}
MERGED: Otherwise = {Kind.RETRACTED: (Fate.LEFT_OUT, "A merge leaves it out.")}


def _fast_forward(place: Place) -> None:
    place.commit(place.peer)
    place.push()
    place.sync()


def _merge(place: Place) -> None:
    place.memory.curated.add("Learned here meanwhile")
    _fast_forward(place)


def _file_of_git(place: Place) -> None:
    place.commit(place.peer)
    peer = place.peers_memory  # its own `sync --to` would keep the secret back
    write_bundle_file(peer.repository, str(place.root / "carried"), {BRANCH: peer.tip})
    place.sync(str(place.root / "carried"))


def _clone(place: Place) -> None:
    """A new home is made out of the hub: that one is looked at from here on."""
    place.commit(place.peer)
    place.push()
    place.home = HermesHome(place.root / "cloned")
    place.home.path.mkdir()
    place.warned.append(place.cli("clone", place.hub, str(place.home.path), "--hermes"))


def an_entry(place: Place, sample: Sample) -> None:
    place.add_entry(place.peer, sample.text)


def a_decision(place: Place, sample: Sample) -> None:
    place.write(place.peer, f"decisions/{sample.topic}.md", _file(sample.text, "Decision"))


def a_skill_of_another_machine(place: Place, sample: Sample) -> None:
    place.write(place.peer, f"skills/{sample.topic}/SKILL.md", _file(sample.text, "Skill"))


def an_event(place: Place, sample: Sample) -> None:
    event = Event(f"{sample.topic}-1", "turn", AT, {"user": sample.text})
    part = EventsFile.new(f"peer {sample.topic}").append([event])
    place.write(place.peer, f"sessions/2026-06/30/peer-{sample.topic}/w-0001.md", part.render())


def a_session(place: Place, sample: Sample) -> None:
    title = json.dumps(sample.text)
    said = f"---\ntype: Session\ntitle: {title}\nmodel: {title}\nsession: of {sample.topic}\n---\n"
    place.write(place.peer, f"sessions/2026-06/30/of-{sample.topic}.md", said)


def a_long_note(place: Place, sample: Sample) -> None:
    place.write(place.peer, f"memories/{sample.topic}-long.md", _file(_across_a_border(sample.text)))


def a_long_file(place: Place, sample: Sample) -> None:
    place.write(place.peer, f"notes/{sample.topic}-long.md", _file(_across_a_border(sample.text)))


def the_name_of_a_file(place: Place, sample: Sample) -> None:
    words = "".join(letter if letter.isalnum() else " " for letter in sample.text).split()
    place.write(place.peer, f"notes/{' '.join(words)}.md", _file(f"The {sample.topic} has a plain text"))


def a_page_that_gitmem_makes(place: Place, sample: Sample) -> None:
    page = Path(place.peer, layout.LOG)
    old = page.read_text() if page.exists() else "# Log\n"
    page.write_text(f"{old}\n## 2026-06-30\n* **Note**: {sample.text}\n")


def reason_and_source(place: Place, sample: Sample) -> None:
    place.write(place.peer, f"notes/{sample.topic}.md", _file(f"The {sample.topic} has a commit of its own"))
    place.commit(place.peer, f"note: x\n\nKind: edit\nReason: {sample.text}\nSource: {sample.text}")


def _across_a_border(text: str) -> str:
    """A long text in which the phrase of this one lies across the end of what the scanner reads at once."""
    inside = text.index("previous") + 4 if "previous" in text else 4
    words = "plain words of a long note \n"
    lead = (words * (WINDOW // len(words) + 1))[: WINDOW - inside - 2]
    return f"{lead}\n\n{text}\n\n{words * 200}"


def _arriving(bring: Enter, house: str, arrive: Callable[[Place], None]) -> Enter:
    def enter(place: Place, sample: Sample) -> None:
        bring(place, sample)
        place.later[house] = arrive

    return enter


def _incoming(
    house: str, arrive: Callable[[Place], None], site: str, brought: dict[Enter, dict[str, Any]]
) -> None:
    for bring, known in brought.items():
        name = f"{bring.__name__.replace('_', ' ')} by {house}"
        door(house, "incoming", site, name=name, **known)(_arriving(bring, house, arrive))


_FILES: dict[Enter, dict[str, Any]] = {
    a_decision: {"at": "decisions/x.md"},
    a_skill_of_another_machine: {"at": "skills/x/SKILL.md"},
    an_event: {"at": "sessions/x"},
    a_session: {"at": "sessions/x"},
}
_ODD_FILES: dict[Enter, dict[str, Any]] = {
    a_long_note: {"at": "memories/x.md", "kinds": (Kind.BLOCKED,)},
    a_long_file: {"at": "notes/x.md", "kinds": (Kind.BLOCKED,)},
    the_name_of_a_file: {"at": layout.MEMORY, "otherwise": NO_ENTRY},
    a_page_that_gitmem_makes: {"at": "log.md", "otherwise": NO_ENTRY},
    reason_and_source: {"at": "notes/x.md", "otherwise": NO_ENTRY},
}
_ENTRY: dict[str, Any] = {"at": layout.MEMORY, "entries": True}
_incoming(
    "fast-forward", _fast_forward, JOIN, {an_entry: {**_ENTRY, "otherwise": AS_IT_IS}, **_FILES, **_ODD_FILES}
)
_incoming("merge", _merge, JOIN, {an_entry: {**_ENTRY, "otherwise": MERGED}, **_FILES})
_incoming("file", _file_of_git, JOIN, {an_entry: {**_ENTRY, "otherwise": AS_IT_IS}, **_FILES})
_incoming("clone", _clone, CLONE, {an_entry: {**_ENTRY, "without": FRESH}, **_FILES})


# --- plain git -------------------------------------------------------------------------------------------

NOBODY_ASKED: Otherwise = dict.fromkeys(Kind, (Fate.HIDDEN, "Nobody asked us."))


@door("plain git", "", entries=True, otherwise=NOBODY_ASKED)
def plain_git_past_the_hooks(place: Place, sample: Sample) -> None:
    place.add_entry(place.bundle, sample.text)
    if sample.kind is not Kind.RETRACTED:  # which is the entry, and not a file that says the same
        place.write(place.bundle, f"decisions/{sample.topic}.md", _file(sample.text, "Decision"))
    place.commit(place.bundle)


@door("hooks", "plain_git", at="decisions/x.md")
def the_hook_pre_commit(place: Place, sample: Sample) -> None:
    memory = place.memory
    place.write(memory.root, f"decisions/{sample.topic}.md", _file(sample.text, "Decision"))
    run_git(memory.root, "add", "-A")
    problems = pre_commit(memory, memory.repository.index_file.path)
    then = ("reset", "-q", "--hard") if problems else (*PAST_OUR_HOOKS, "commit", "-q", "-m", "x")
    run_git(memory.root, *then)
    refuse(*problems)


@door("hooks", "plain_git", at="notes/x.md")
def the_hook_pre_push(place: Place, sample: Sample) -> None:
    memory = place.memory
    old = memory.tip
    place.write(memory.root, f"notes/{sample.topic}.md", _file(sample.text))
    new = place.commit(memory.root)
    problems = pre_push(place.memory, [f"refs/heads/main {new} refs/heads/main {old}"])
    if problems:
        run_git(memory.root, "reset", "-q", "--hard", old)
    refuse(*problems)


@door("server", "plain_git", at="notes/x.md")
def the_hook_of_a_server(place: Place, sample: Sample) -> None:
    """What passes comes here with the next sync."""
    old = run_git(place.peer, "rev-parse", "HEAD")
    place.write(place.peer, f"notes/{sample.topic}.md", _file(sample.text))
    new = place.commit(place.peer)
    problems = received(f"{place.peer}/.git", "", [f"{old} {new} refs/heads/main\n"])
    if problems:
        run_git(place.peer, "reset", "-q", "--hard", old)
    else:
        place.push()
        place.sync()
    refuse(*problems)


# --- out of the history, and out of quarantine -----------------------------------------------------------

RESTORE, REVERT = "gitmem.memory.history.restore:restore", "gitmem.memory.history.revert:Undo.revert"
RELEASE = "gitmem.memory.review:_Person.release"
FROM_HISTORY: Otherwise = {
    **dict.fromkeys(Kind, (Fate.HIDDEN, "It is in the history, and was asked for.")),
    Kind.RETRACTED: (Fate.LEFT_OUT, "What was retracted does not come back by itself."),
}
RELEASED: Otherwise = dict.fromkeys(Kind, (Fate.RELEASED, "A person looked at it."))
NEVER_HELD = {Kind.SECRET: "A secret is redacted or refused, and never held."}
NOT_HIDDEN = {
    Kind.SECRET: "It is redacted at the exits, and not hidden.",
    Kind.RETRACTED: "The scanner does not flag it: a person adds it by name.",
}


@door("history", "", RESTORE, entries=True, otherwise=FROM_HISTORY)
def a_restore(place: Place, sample: Sample) -> None:
    path, came, _ = _there_and_gone(place, sample)
    memory = place.memory
    restore(memory, came, paths=[path], origin=memory.origin())


@door("history", "", REVERT, entries=True, otherwise=FROM_HISTORY)
def a_revert_of_a_removal(place: Place, sample: Sample) -> None:
    _, _, went = _there_and_gone(place, sample)
    memory = place.memory
    memory.part(Undo).revert([memory.part(History).entry(went).commit], origin=memory.origin())


@door("released", "", RELEASE, entries=True, otherwise=RELEASED, without=NEVER_HELD)
def the_release_of_an_entry(place: Place, sample: Sample) -> None:
    memory = place.memory
    held = Admission(memory, Edits(memory.tree())).entry(sample.text, layout.MEMORY, FOUND_ENTRY)
    assert isinstance(held, Held)
    review.release(memory, held.id, by="ada")


@door("released", "EVENT", RELEASE, otherwise=RELEASED, without=NEVER_HELD)
def the_release_of_an_event(place: Place, sample: Sample) -> None:
    place.memory.record_observation(sample.text)
    _release(place, sample)


@door("released", "hand_file", RELEASE, at="decisions/x.md", otherwise=RELEASED, without=NEVER_HELD)
def the_release_of_a_file(place: Place, sample: Sample) -> None:
    place.write(place.bundle, f"decisions/{sample.topic}.md", _file(sample.text, "Decision"))
    place.memory.take_in_edits(strict=False)
    _release(place, sample)


@door("released", "", CONTEST, entries=True, otherwise=RELEASED, without=NOT_HIDDEN)
def the_release_of_a_hidden_entry(place: Place, sample: Sample) -> None:
    place.add_entry(place.bundle, sample.text)
    place.commit(place.bundle)
    memory = place.memory
    review.accept(memory, review.find(memory, entry_hash(sample.text)[:12]), by="ada")


def _there_and_gone(place: Place, sample: Sample) -> tuple[str, str, str]:
    """Plain git brought it and took it out again; gives the file and the two commits."""
    path, root = f"memories/archive/{sample.topic}.md", place.bundle
    place.add_entry(root, sample.text, path)
    came = place.commit(root)
    Path(root, path).unlink()
    return path, came, place.commit(root)


def _release(place: Place, sample: Sample) -> None:
    memory = place.memory
    [held] = [one for one in memory.ledger.held() if sample.topic in one.text]
    review.release(memory, held.id, by="ada")


# --- imports ---------------------------------------------------------------------------------------------

IMPORT = "gitmem.memory.exchange.importing:Importer._one"
TAKEN_BACK: Otherwise = {
    Kind.RETRACTED: (Fate.LEFT_OUT, "It was looked at before: a second run leaves it out.")
}
WITHOUT_SECRET: Otherwise = {Kind.SECRET: (Fate.REDACTED, "Nobody is there to be refused.")}


@door("imports", "FOUND_ENTRY", IMPORT, entries=True, otherwise=TAKEN_BACK)
def an_imported_entry(place: Place, sample: Sample) -> None:
    _import_line(place, {"gitmem": "entry", "text": sample.text})


@door("imports", "EVENT", IMPORT)
def an_imported_event(place: Place, sample: Sample) -> None:
    event = {"gitmem": "event", "kind": "observation", "at": AT, "session": "from elsewhere"}
    _import_line(place, {**event, "fields": {"content": sample.text}})


@door("imports", "hand_file", IMPORT, at="notes/x.md", otherwise=WITHOUT_SECRET)
def an_imported_file(place: Place, sample: Sample) -> None:
    text = f"---\ntype: Note\n---\n{sample.text}\n"
    _import_line(place, {"gitmem": "file", "path": f"notes/{sample.topic}.md", "text": text})


def _import_line(place: Place, line: dict[str, Any]) -> None:
    path = place.root / "from-elsewhere.jsonl"
    path.write_text(json.dumps(line))
    place.memory.bring_in("jsonl", str(path))
