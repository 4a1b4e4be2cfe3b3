"""Verified functions for agents that speak MCP: `python -m autocoder_jupyter.mcp`.

    client ─ stdio ─ server ─▶ link ─┬─ a kernel that the person named ─▶ handler
                                     └─ this process ───────────────────▶ handler

A handler does what a tool asks for, where the data are: in a kernel, or in the server's process for a folder. An agent
chooses from what is there; nothing that it writes becomes code of a kernel. What it sees is decided by `shown`. No tool
answers a question to the person. `%load_ext` imports nothing of this package, and it may import all others.

- `server`: the tools, the budget and the progress
- `link`: asks a handler: over a connection file, over a Jupyter server, or in this process
- `handler`: functions, frames and files by name; calls and requests
- `shown`: what of them the agent sees
- `answers`: the records that the tools return
- `paths`: files below the folders that the person named
"""
