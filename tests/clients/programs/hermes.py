"""Hermes' own MCP client, with its tool registry. hermes.py COMMAND…"""

import json
import sys

from tools import mcp_tool
from tools.registry import registry

env = json.loads(sys.stdin.read())
names = mcp_tool.register_mcp_servers({"gitmem": {"command": sys.argv[1], "args": sys.argv[2:], "env": env}})
told = {"tools": sorted(names)}


def call(name, **arguments):
    found = registry.dispatch(mcp_tool.mcp_prefixed_tool_name("gitmem", name), arguments)
    return json.loads(found)


told["remember"] = call("remember", text="The staging port is 8443", why="told so")
told["search"] = call("search", query="staging port")
told["wrong"] = call("search", query=7)
mcp_tool.shutdown_mcp_servers()
print(json.dumps(told))
