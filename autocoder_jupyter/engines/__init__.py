"""The writers of functions, one package each. They share `engine`, and none imports another.

- `staged/`: one question per stage
- `claude/`: the Claude Agent SDK
"""
