"""The same agent, with the memory behind MCP: nothing of gitmem is imported, and any other server would do.

pip install hermes-gitmem && gitmem init ~/memory
python agent_loop_mcp.py http://127.0.0.1:8080/v1 my-model gitmem -C ~/memory mcp
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from typing import Any


class Server:
    """A server that we start, and ask one thing at a time."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.id = 0
        known = {"name": "agent-loop", "version": "1"}
        begun = self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=known)
        self.instructions = begun["instructions"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.id += 1
        self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.id:
                found: dict[str, Any] = answer["result"]
                return found
        raise RuntimeError("the server is gone")

    def functions(self) -> list[dict[str, Any]]:
        """The tools, in the form of OpenAI's chat completions."""
        return [
            {
                "type": "function",
                "function": {
                    "name": one["name"],
                    "description": one["description"],
                    "parameters": one["inputSchema"],
                },
            }
            for one in self.ask("tools/list")["tools"]
        ]

    def call(self, name: str, arguments: str) -> str:
        found = self.ask("tools/call", name=name, arguments=json.loads(arguments))
        return "\n".join(part["text"] for part in found["content"])

    def close(self) -> None:
        self.process.communicate()  # closes its input: it commits, and ends


def ask(url: str, model: str, messages: list[Any], tools: list[Any]) -> dict[str, Any]:
    """One answer of the model."""
    body = json.dumps({"model": model, "messages": messages, "tools": tools}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        found: dict[str, Any] = json.load(response)["choices"][0]["message"]
    return found


def main(url: str, model: str, *command: str) -> None:
    server = Server(*command)
    tools = server.functions()
    messages: list[dict[str, Any]] = [{"role": "system", "content": server.instructions}]
    for line in sys.stdin:
        messages.append({"role": "user", "content": line.strip()})
        answer = ask(url, model, messages, tools)
        while answer.get("tool_calls"):
            messages.append(answer)
            for call in answer["tool_calls"]:
                told = server.call(call["function"]["name"], call["function"]["arguments"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})
            answer = ask(url, model, messages, tools)
        messages.append(answer)
        print(answer["content"], flush=True)
    server.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
