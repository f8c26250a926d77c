"""Commands of other users, run by root in one process: a list of them in, what came of each out, both as JSON.

Another user may not be able to read this Python. So everything that gitmem imports, also inside functions, is
imported first, and a few commands run; then each command is a fork that becomes that user.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any


def _preload() -> None:
    import gitmem

    for path in Path(gitmem.__file__).parent.rglob("*.py"):
        if "hosts" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in names:
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)


def _warm_up() -> None:
    """What is imported by names that are made up at run time."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        job = {"cwd": place, "env": {**os.environ, "HOME": place}}
        for words in (("init",), ("memory", "add", "A fact."), ("search", "fact"), ("doctor",)):
            _run({**job, "words": ["gitmem", *words]})


def _become(user: int, groups: list[int], umask: int) -> None:
    os.setgroups(groups)
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    os.umask(umask)


def _run(job: dict[str, Any]) -> dict[str, Any]:
    from gitmem.cli.main import main
    from gitmem.world import World

    out, err = io.StringIO(), io.StringIO()
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    if job["words"][0] != "gitmem":
        import subprocess

        done = subprocess.run(job["words"], capture_output=True, text=True, check=False)
        return {"code": done.returncode, "out": done.stdout, "err": done.stderr}
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(tuple(job["words"][1:]), World.real())
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def _forked(job: dict[str, Any]) -> dict[str, Any]:
    where, there = os.pipe()
    child = os.fork()
    if not child:
        try:
            _become(job["user"], job["groups"], job["umask"])
            answer = _run(job)
        except BaseException as error:
            answer = {"code": -1, "out": "", "err": repr(error)}
        with os.fdopen(there, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(there)
    with os.fdopen(where) as pipe:
        found: dict[str, Any] = json.load(pipe)
    os.waitpid(child, 0)
    return found


if __name__ == "__main__":
    _preload()
    _warm_up()
    json.dump([_forked(job) for job in json.load(sys.stdin)], sys.stdout)
