"""Tasks with known answers, to find out whether a model is good enough: `%autocode models try`, and a command line.

The format of a task (`known_task`), tasks as files (`task_folder`), the trial of a model with a budget (`trial`), its
table (`score_table`), and `python -m autocoder_jupyter.evaluate`. A task holds data and no code. What a model writes
for it runs in the sandbox only.
"""
