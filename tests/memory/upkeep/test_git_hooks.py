"""What the git hooks do to a message, and what they say about content."""

from __future__ import annotations

import pytest
from gitmem.git.message import trailers_of
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.git_hooks import commit_msg, pre_push
from hypothesis import given
from hypothesis import strategies as st

from tests.git.support import run_git


def _with(message: str, *, comments: bool = True, machine: str = "desk") -> str:
    return commit_msg(message, kind="edit", machine=machine, comments=comments)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Subject\n", "Subject\n\nKind: edit\nMachine: desk\n"),
        ("Subject", "Subject\n\nKind: edit\nMachine: desk\n"),
        ("Fix: looks like a trailer\n", "Fix: looks like a trailer\n\nKind: edit\nMachine: desk\n"),
        ("Subject\n\nBody.\n", "Subject\n\nBody.\n\nKind: edit\nMachine: desk\n"),
        (
            "Subject\n\nSigned-off-by: A <a@x>\n",
            "Subject\n\nSigned-off-by: A <a@x>\nKind: edit\nMachine: desk\n",
        ),
        ("Subject\n\nKind: plan\n", "Subject\n\nKind: plan\nMachine: desk\n"),
        ("Subject\n\nKind: plan\nMachine: m\n", "Subject\n\nKind: plan\nMachine: m\n"),
        ("", ""),
        ("\n# only comments\n", "\n# only comments\n"),
        ("Subject\n\n# Please enter …\n#\n", "Subject\n\nKind: edit\nMachine: desk\n\n# Please enter …\n#\n"),
    ],
)
def test_missing_trailers_are_added(message: str, expected: str) -> None:
    """After what the person wrote, before git's comments, and only what is missing."""
    assert expected == _with(message)


def test_scissors_stay_below() -> None:
    """`git commit -v` shows the diff below a line of scissors: trailers go above it."""
    below = "# ------------------------ >8 ------------------------\n# Do not modify\ndiff --git a b\n+x\n"
    assert f"Subject\n\nKind: edit\nMachine: desk\n{below}" == _with(f"Subject\n{below}")


def test_without_an_editor_a_hash_is_content() -> None:
    """`git commit -m` keeps lines with #."""
    expected = "Subject\n\n# 12 is fixed\n\nKind: edit\nMachine: desk\n"
    assert expected == _with("Subject\n\n# 12 is fixed\n", comments=False)


def test_without_a_machine_only_the_kind() -> None:
    """A machine without a name adds no empty trailer."""
    assert _with("Subject\n", machine="") == "Subject\n\nKind: edit\n"


@given(st.text(), st.booleans())
def test_what_was_written_stays(message: str, comments: bool) -> None:
    """Every character of the message is still there in its order, and a second run changes nothing."""
    once = _with(message, comments=comments)
    rest = iter(once)
    assert all(char in rest for char in message.rstrip("\n"))
    assert once == _with(once, comments=comments) or not comments


@given(st.from_regex(r"\A[a-z ]{1,20}\n(\n[a-z ]{1,20}\n){0,3}\Z"))
def test_trailers_are_read_back(message: str) -> None:
    """What the hook adds is what the log reads."""
    found = trailers_of(_with(message, comments=False))
    assert not message.strip() or found["Kind"] == ("edit",)


def test_a_deleted_branch_sends_nothing(bundle: Memory) -> None:
    """A push that deletes has nothing to check, and nonsense on the input is passed by."""
    zero = "0" * 40
    assert pre_push(bundle, [f"(delete) {zero} refs/heads/x {bundle.tip}\n", "nonsense\n"]) == []


def test_a_first_push_checks_everything(bundle: Memory) -> None:
    """A remote without the branch: the whole history would leave."""
    assert pre_push(bundle, [f"refs/heads/main {bundle.tip} refs/heads/main {'0' * 40}\n"]) == []


def test_an_unknown_remote_commit_is_no_error(bundle: Memory) -> None:
    """The remote has a commit that we have not fetched."""
    assert pre_push(bundle, [f"refs/heads/main {bundle.tip} refs/heads/main {'1' * 40}\n"]) == []


def test_a_secret_in_a_message_is_redacted() -> None:
    """Also in what a person writes for plain git: a message is for good."""
    secret = "gh" + "p_" + "a1B2c3D4e5" * 4
    told = commit_msg(f"use {secret}\n", kind="edit", machine="a", comments=False)
    assert secret not in told
    assert told.startswith("use [redacted github-token")


def test_a_push_by_plain_git_shows_its_messages_too(bundle: Memory) -> None:
    """A secret in the message of a commit that was made without the hook stops it."""
    secret = "gh" + "p_" + "a1B2c3D4e5" * 4
    run_git(bundle.root, "commit", "--no-verify", "--allow-empty", "-q", "-m", f"use {secret}")
    [told] = pre_push(bundle, [f"refs/heads/main {bundle.repository.tip()} refs/heads/main {'0' * 40}\n"])
    assert told.startswith("The message holds a secret (github-token)")
