"""`gitmem mcp`: the memory for every agent that speaks the Model Context Protocol, over standard input and output."""
