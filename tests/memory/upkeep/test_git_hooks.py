"""What the git hooks do to a message, and what they say about content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem.errors import InvalidContent
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.git_hooks import commit_msg, pre_push

from tests.git.support import run_git


@pytest.fixture
def committed(make_bundle: Callable[..., Memory], tmp_path: Path) -> Callable[[str], str]:
    """What becomes of a message."""

    def message(words: str) -> str:
        path = tmp_path / "COMMIT_EDITMSG"
        path.write_text(words)
        commit_msg(make_bundle(), str(path))
        return path.read_text()

    return message


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Subject\n", "Subject\n\nKind: edit\nMachine: laptop\n"),
        ("Fix: looks like a trailer\n", "Fix: looks like a trailer\n\nKind: edit\nMachine: laptop\n"),
        ("Subject\n\nBody.\n", "Subject\n\nBody.\n\nKind: edit\nMachine: laptop\n"),
        ("Subject\n\nFixed-by: A <a@x>\n", "Subject\n\nFixed-by: A <a@x>\nKind: edit\nMachine: laptop\n"),
        ("Subject\n\nKind: plan\nMachine: m\n", "Subject\n\nKind: plan\nMachine: m\n"),
        ("", ""),
        ("\n# only comments\n", "\n# only comments\n"),
    ],
)
def test_missing_trailers_are_added(committed: Callable[[str], str], message: str, expected: str) -> None:
    """After what the person wrote, and only what is missing."""
    assert expected == committed(message)


def test_a_secret_in_a_message_is_redacted(committed: Callable[[str], str]) -> None:
    """Also in what a person writes for plain git: a message is for good."""
    secret = "gh" + "p_" + "a1B2c3D4e5" * 4
    told = committed(f"use {secret}\n")
    assert secret not in told
    assert told.startswith("use [redacted github-token")


def test_a_message_without_end_is_refused(committed: Callable[[str], str]) -> None:
    """No other machine would take the commit."""
    with pytest.raises(InvalidContent, match="too long"):
        committed("a" * (1 << 20))


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


def test_a_push_by_plain_git_shows_its_messages_too(bundle: Memory) -> None:
    """A secret in the message of a commit that was made without the hook stops it."""
    secret = "gh" + "p_" + "a1B2c3D4e5" * 4
    run_git(bundle.root, "commit", "--no-verify", "--allow-empty", "-q", "-m", f"use {secret}")
    [told] = pre_push(bundle, [f"refs/heads/main {bundle.repository.tip()} refs/heads/main {'0' * 40}\n"])
    assert told.startswith("The message holds a secret (github-token)")
