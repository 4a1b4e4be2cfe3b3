"""Cells with `--mode tools`: a request is answered once, by code that calls functions of the notebook.

- `reading`: parses `--mode`, `--tool` and `--continue`
- `cell`: runs a cell
- `display`: an answer as the last line of a cell
"""
