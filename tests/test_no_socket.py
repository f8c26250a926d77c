"""Without a remote and without an endpoint gitmem opens no socket."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.git.support import plain_environment

# Whatever opens a socket, resolves a name or starts a program that could (git itself may only read and write
# here) ends the process with 97.
GUARD = """
import os, sys

ALLOWED = {"git"}

def guard(event, arguments):
    if event.startswith("socket.") and event not in ("socket.gethostname",):
        os.write(2, f"{event} {arguments}\\n".encode())
        os._exit(97)
    if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"):
        name = os.path.basename(str(arguments[0]))
        words = [str(word) for word in arguments[1]] if event != "os.system" else []
        if name not in ALLOWED or {"fetch", "push", "clone", "ls-remote", "pull"} & set(words):
            os.write(2, f"{event} {arguments}\\n".encode())
            os._exit(97)

sys.addaudithook(guard)
"""

# Commands one after the other in one process: a list of [arguments, what is fed to them] in JSON.
CLI = (
    GUARD
    + """
import io, json, types
from gitmem.cli.main import main

for arguments, feed in json.loads(sys.argv[1]):
    sys.stdin = types.SimpleNamespace(buffer=io.BytesIO(feed.encode()), isatty=lambda: False)
    code = main(arguments)
    if code:
        sys.exit(f"{arguments} ended with {code}")
"""
)

PYTHON = (
    GUARD
    + """
import gitmem

bundle = gitmem.open(sys.argv[1])
messages = []
for number in range(8):
    messages.append({"role": "user", "content": f"I prefer tool{number}."})
    messages.append({"role": "assistant", "content": "Ok."})
with bundle.session("python", model="m") as session:
    session.prompt_block()
    session.record_observation("something")
    session.record_turn("question", "answer")
    session.compress(messages)
    session.record_tool_call("terminal", {"command": "ls"}, "ok")
    session.end([*messages, {"role": "user", "content": "Call me Bob."}])
assert len(bundle.curated.entries("user")) == 9, bundle.curated.entries("user")
bundle.index.current()
print("fine")
"""
)


def run(script: str, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**plain_environment(), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=env,
        check=False,
    )


def test_the_guard_works(tmp_path: Path) -> None:
    """A socket is noticed, also one that a library opens, and a name that is looked up."""
    for code in (
        "import socket; socket.socket()",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9')",
        "import socket; socket.getaddrinfo('localhost', 80)",
        "import subprocess; subprocess.run(['curl', 'http://127.0.0.1'])",
        "import subprocess; subprocess.run(['git', 'fetch'])",
    ):
        assert run(GUARD + code, tmp_path).returncode == 97, code


def test_a_whole_session_on_the_command_line_opens_no_socket(tmp_path: Path) -> None:
    """From init to search and undo: no socket, no name looked up, no program that would."""
    lines = '{"content": "from outside"}\n{"_kind": "turn", "user": "q", "assistant": "a", "session": "s2"}\n'
    commands: list[tuple[tuple[str, ...], str]] = [
        (("init", "mem"), ""),
        (("-C", "mem", "session", "start", "s1", "--model", "m"), ""),
        (("-C", "mem", "record", "observation", "the build needs node 20"), ""),
        (("-C", "mem", "record", "decision", "use Postgres", "--rationale", "JSON", "--tag", "db"), ""),
        (("-C", "mem", "record", "tool-call", "terminal", "--result", "ok"), ""),
        (("-C", "mem", "record", "turn", "--user", "hello", "--assistant", "hi"), ""),
        (("-C", "mem", "remember", "--target", "user", "likes oolong"), ""),
        (("-C", "mem", "record", "--stdin"), lines),
        (("-C", "mem", "remember", "The port is 8443."), ""),
        (("-C", "mem", "facts", "--block"), ""),
        (("-C", "mem", "plan", "create", "Move", "copy", "switch"), ""),
        (("-C", "mem", "plan", "step", "move", "1"), ""),
        (("-C", "mem", "plan", "step", "move", "2"), ""),
        (("-C", "mem", "plan", "complete", "move"), ""),
        (("-C", "mem", "snapshot", "one"), ""),
        (("-C", "mem", "session", "end"), ""),
        (("-C", "mem", "show", "s1"), ""),
        (("-C", "mem", "log"), ""),
        (("-C", "mem", "diff", "--session", "s1"), ""),
        (("-C", "mem", "restore", "snapshot/one"), ""),
        (("-C", "mem", "undo"), ""),
        (("-C", "mem", "config"), ""),
        (("-C", "mem", "check"), ""),
    ]
    done = run(CLI, tmp_path, json.dumps(commands))
    assert (done.returncode, done.stderr) == (0, "")
    assert "from outside" in (tmp_path / "mem/log.md").read_text()


def test_a_python_session_opens_no_socket(tmp_path: Path) -> None:
    """With compression and the distiller at the end, by the rules."""
    assert run(CLI, tmp_path, json.dumps([[["init", "mem"], ""]])).returncode == 0
    done = run(PYTHON, tmp_path, "mem")
    assert (done.stdout, done.stderr, done.returncode) == ("fine\n", "", 0)
