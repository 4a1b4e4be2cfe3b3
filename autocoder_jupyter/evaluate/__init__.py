"""Tasks with known answers, to find out whether a model is good enough: `%autocode models try`, and a command line.

A task holds data and no code. What a model writes for it runs in the sandbox only. The package may import `agent` and
what is below it.

- `trial`: tasks, tasks as files, the trial of a model with a budget, and its table
- `__main__`: `python -m autocoder_jupyter.evaluate`
"""
