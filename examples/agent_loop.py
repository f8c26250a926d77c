"""A whole agent with a memory: any OpenAI-compatible endpoint, one terminal.

pip install hermes-gitmem
python agent_loop.py http://127.0.0.1:8080/v1 my-model ~/memory
"""

from __future__ import annotations

import json
import sys
import urllib.request
from typing import Any

import gitmem


def ask(url: str, model: str, messages: list[Any], tools: list[Any]) -> dict[str, Any]:
    """One answer of the model."""
    body = json.dumps({"model": model, "messages": messages, "tools": tools}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        found: dict[str, Any] = json.load(response)["choices"][0]["message"]
    return found


def main(url: str, model: str, path: str) -> None:
    with gitmem.open(path, create=True) as memory, gitmem.MemoryManager(memory) as manager:
        with manager.session(model=model, agent="loop", identity="You are a helpful assistant.") as session:
            history: list[dict[str, Any]] = []
            for line in sys.stdin:
                prompt = session.turn(line.strip())
                messages = prompt.messages(history)
                answer = ask(url, model, messages, prompt.functions)
                while answer.get("tool_calls"):
                    messages.append(answer)
                    for call in answer["tool_calls"]:
                        told = session.tool_call(call["function"]["name"], call["function"]["arguments"])
                        messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})
                    answer = ask(url, model, messages, prompt.functions)
                print(answer["content"], flush=True)
                session.done(answer["content"])
                history += [{"role": "user", "content": prompt.said}, answer]


if __name__ == "__main__":
    main(*sys.argv[1:4])
