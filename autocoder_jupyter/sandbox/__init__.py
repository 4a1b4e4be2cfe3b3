"""Runs generated code in isolation: one protocol with two implementations, environments, and limits.

It may import `codec`, `kinds`, `settings`, `types` and what is below them, but not `data`, which describes data.

- `protocol`: sandbox, environment, worker, and the cancellation of their steps
- `choice`: which sandbox is used, and the minimum that an administrator sets
- `local`, `docker`: the two sandboxes; `environments`: packages and their locks; `workspace`: files and shell commands
- `host`: the notebook's side of a worker; `worker`: its side inside the sandbox; `programs`: what is run as text
- `temporary_folder`: private folders that are removed also after a crash
"""
