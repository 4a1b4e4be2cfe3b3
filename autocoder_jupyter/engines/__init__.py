"""The writers of functions, one package each. They share `engine`, and none imports another.

The writers of functions; none imports another: `staged/`, one question per stage; `claude/`, the Claude Agent SDK (
`program`: the folders and environment of its program; `sdk_import`: its import without grammars that nothing uses;
`classify`: the class of a tool call, from `shell`, `python_code` and `command_names`).
"""
