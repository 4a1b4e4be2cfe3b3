"""An agent's files, which are kept in memory, and the commands that it runs on them in a worker.

The files and tools of an agent: the `workspace`, shell `commands` in a worker, `confined` paths, `file_text`.
"""
