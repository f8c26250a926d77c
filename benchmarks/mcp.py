"""What `gitmem mcp` costs: its start, its memory, and a call over the wire.

    python -m benchmarks.mcp [--quick] [--sdk PYTHON] [--json] [--only NAME…]

Sections: `start` (process to the answer of `tools/list`, beside a Python that imports json, and the official SDK's smallest
server where --sdk names a Python that has it), `search` (over the wire at 10,000 entries, beside the Python API),
`remember` (a decision over the wire, beside a push and a ping over the same wire), `memory` (resident, idle).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from gitmem.config import Config
from gitmem.git.message import Message
from gitmem.git.transaction import Draft, publish
from gitmem.index.filters import Filters
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.find.search import Search
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from benchmarks.support import (
    WHO,
    Report,
    Row,
    entry_content,
    entry_path,
    interleaved,
    ratio_row,
    timed,
    working_directory,
)

_EMPTY = (
    "import json, sys\nfor line in sys.stdin: print(json.dumps({'id': json.loads(line)['id']}), flush=True)"
)
_GITMEM = "import sys; from gitmem.__main__ import main; sys.exit(main())"
"""What the installed command does."""
_SDK = {
    "1": "from mcp.server.fastmcp import FastMCP as Server\n",
    "2": "from mcp.server import MCPServer as Server\n",
}
_SMALLEST = (
    "server = Server('smallest')\n"
    "@server.tool()\n"
    "def search(query: str) -> str:\n"
    "    return query\n"
    "server.run()\n"
)
_HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class Server:
    """A process that answers one request at a time."""

    def __init__(self, *command: str, env: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env) if env else None,
        )
        self._id = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self.process.stdout is not None
        while True:
            found: dict[str, Any] = json.loads(self.process.stdout.readline())
            if found.get("id") == self._id:
                return found

    def begin(self) -> Server:
        self.ask("initialize", **_HANDSHAKE)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def call(self, name: str, **arguments: Any) -> str:
        found = self.ask("tools/call", name=name, arguments=arguments)["result"]
        assert not found.get("isError"), found
        return str(found["content"][0]["text"])

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    @property
    def resident(self) -> float:
        """Megabytes in memory now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Bench:
    def __init__(self, directory: str, *, entries: int, rounds: int, sdk: str) -> None:
        self.root = os.path.join(directory, "mem")
        self.rounds = rounds
        self.sdk = sdk
        home = os.path.join(directory, "home")
        os.mkdir(home)
        project = str(Path(__file__).parents[1])
        inherited = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        self.env = {
            **inherited,
            "HOME": home,
            "HERMES_HOME": f"{home}/h",
            "GITMEM_MACHINE": "bench",
            "PYTHONPATH": project,
        }
        self.world = World(self.env, home, directory, clock=lambda: datetime.now(UTC), person="bench")
        made, _ = create(self.world, self.root, config=Config(machine="bench"))
        self.memory: Memory = made
        self.entries = entries

    def fill(self) -> None:
        """Entries as notes, and an index that stands for them."""
        import random

        chance = random.Random(7)
        texts = {entry_path(number): entry_content(chance) for number in range(self.entries)}
        message = Message("import", "notes")
        publish(self.memory.repository, lambda _: Draft(texts, message, WHO, WHO), purpose="bench")
        self.memory.index.current()

    def server(self) -> Server:
        command = (sys.executable, "-P", "-c", _GITMEM, "-C", self.root, "mcp")
        return Server(*command, env=self.env).begin()

    # Sections

    def start(self, report: Report) -> None:
        def until_tools(*command: str) -> float:
            began = time.perf_counter()
            server = Server(*command, env=self.env).begin()
            server.ask("tools/list")
            taken = time.perf_counter() - began
            server.close()
            return taken

        def empty(_: int) -> float:
            began = time.perf_counter()
            server = Server(sys.executable, "-P", "-c", _EMPTY, env=self.env)
            server.ask("x")
            taken = time.perf_counter() - began
            server.close()
            return taken

        contenders: dict[str, Any] = {
            "gitmem": lambda _: until_tools(sys.executable, "-P", "-c", _GITMEM, "-C", self.root, "mcp"),
            "empty": empty,
        }
        if self.sdk:
            asked = [self.sdk, "-c", "import importlib.metadata as m; print(m.version('mcp')[0])"]
            version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
            script = _SDK[version] + _SMALLEST
            contenders["sdk"] = lambda _: until_tools(self.sdk, "-c", script)
        taken = interleaved(contenders, self.rounds, every={"sdk": 2})
        rows = [
            ratio_row("start to tools/list / an empty Python", taken["gitmem"], taken["empty"], at_most=1.5)
        ]
        if self.sdk:
            rows.append(
                ratio_row("times faster than the official SDK", taken["sdk"], taken["gitmem"], at_least=10)
            )
        else:
            report.skip("the official SDK: --sdk names a Python that has it")
        report.section("Start", rows)

    def search(self, report: Report) -> None:
        self.fill()
        server, search = self.server(), self.memory.part(Search)
        words = (self.memory.read(entry_path(1)) or b"").decode().split("title: ")[1].split()[:3]
        query = " ".join(words)
        server.call("search", query=query)
        taken = interleaved(
            {
                "wire": lambda _: timed(lambda: server.call("search", query=query)),
                "python": lambda _: timed(lambda: search(query, Filters(), limit=8)),
            },
            self.rounds * 3,
        )
        what = f"search over the wire / the Python API, {self.entries:,} entries"
        report.section("Search", [ratio_row(what, taken["wire"], taken["python"], at_most=1.3)])
        server.close()

    def remember(self, report: Report) -> None:
        rows: list[Row] = []
        for fsync in ("interval", "always"):
            rows += self._remember(fsync)
        report.section("Remember (a decision)", rows)

    def _remember(self, fsync: Literal["interval", "always"]) -> list[Row]:
        self.env["GITMEM_FSYNC"] = fsync
        server = self.server()
        del self.env["GITMEM_FSYNC"]
        server.call("remember", text=f"the first one, {fsync}", kind="decision")
        self.memory.config = replace(self.memory.config, fsync=fsync)
        buffer = HotMemoryBuffer(self.memory, f"pushing {fsync}")
        many = 20  # fewer than fill the buffer: a flush is not what is measured

        def push(number: int) -> float:
            taken = timed(
                lambda: [
                    buffer.take("decision", {"decision": f"Use lamp {number}-{one}"}) for one in range(many)
                ]
            )
            buffer.flush()
            return taken

        def wire(number: int) -> float:
            taken = timed(
                lambda: [
                    server.call("remember", text=f"Use lamp {fsync} {number}-{one}", kind="decision")
                    for one in range(many)
                ]
            )
            server.call("search", query="lamp")  # which commits what waits
            return taken

        def ping(_: int) -> float:
            return timed(lambda: [server.ask("ping") for _ in range(many)])

        taken = interleaved({"wire": wire, "push": push, "ping": ping}, self.rounds)
        both = {number: taken["push"][number] + taken["ping"][number] for number in taken["push"]}
        each = {name: 1e6 * sorted(taken[name].values())[self.rounds // 2] / many for name in taken}
        note = ", ".join(f"{name} {value:.0f} µs" for name, value in each.items())
        buffer.close()
        server.close()
        return [
            ratio_row(
                f"remember / a push and a ping, fsync: {fsync}", taken["wire"], both, at_most=1.3, note=note
            )
        ]

    def memory_idle(self, report: Report) -> None:
        server = self.server()
        server.ask("tools/list")
        idle = server.resident
        server.call("search", query="lamp")
        server.call("remember", text="The lamp is lit", kind="decision")
        used = server.resident
        rows = [
            Row("resident, idle after tools/list", idle, unit="MB", at_most=25),
            Row("resident after a search and a remember", used, unit="MB"),
        ]
        report.section("Memory", rows)
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sdk", default="", metavar="PYTHON")
    parser.add_argument("--dir", default=None)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    report = Report(as_json=given.json)
    with working_directory(given.dir) as directory:
        entries, rounds = (1_000, 5) if given.quick else (10_000, 20)
        bench = Bench(directory, entries=entries, rounds=rounds, sdk=given.sdk)
        sections = {
            "start": bench.start,
            "remember": bench.remember,
            "memory": bench.memory_idle,
            "search": bench.search,
        }
        for name, section in sections.items():
            if not given.only or name in given.only:
                section(report)
    report.finish()


if __name__ == "__main__":
    main()
