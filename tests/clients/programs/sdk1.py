"""The official SDK, 1.x: its client session, over its own transport. sdk1.py COMMAND…"""

import asyncio
import json
import sys

from mcp.client.stdio import stdio_client

from mcp import ClientSession, StdioServerParameters


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=json.loads(sys.stdin.read()))
    told = {}
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        begun = await session.initialize()
        told["version"] = begun.protocolVersion
        told["instructions"] = begun.instructions
        await session.send_ping()
        told["tools"] = [tool.name for tool in (await session.list_tools()).tools]

        async def call(name, **arguments):
            found = await session.call_tool(name, arguments)
            assert found.structuredContent is None
            return [found.isError, found.content[0].text]

        told["remember"] = await call("remember", text="The staging port is 8443", why="told so")
        told["search"] = await call("search", query="staging port")
        told["wrong"] = await call("search", query=7)
        told["prompts"] = [one.name for one in (await session.list_prompts()).prompts]
        told["why"] = (await session.get_prompt("why", {"claim": "the port"})).messages[0].content.text
    print(json.dumps(told))


asyncio.run(main())
