"""The official SDK, 2.x: its client, which looks for a newer protocol first. sdk2.py COMMAND…"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=json.loads(sys.stdin.read()))
    told = {}
    async with Client(server) as client:
        told["version"] = client.protocol_version
        told["instructions"] = client.instructions
        told["tools"] = [tool.name for tool in (await client.list_tools()).tools]

        async def call(name, **arguments):
            found = await client.call_tool(name, arguments)
            assert found.structured_content is None
            return [bool(found.is_error), found.content[0].text]

        told["remember"] = await call("remember", text="The staging port is 8443", why="told so")
        told["search"] = await call("search", query="staging port")
        told["wrong"] = await call("search", query=7)
        told["prompts"] = [one.name for one in (await client.list_prompts()).prompts]
        told["why"] = (await client.get_prompt("why", {"claim": "the port"})).messages[0].content.text
    print(json.dumps(told))


asyncio.run(main())
