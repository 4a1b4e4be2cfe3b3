"""Confine a local worker with Landlock, seccomp and namespaces, by direct system calls.

It uses only the standard library, and no compiled code. It runs in the supervisor, a process with one thread, because a
process that forks and then makes system calls must have no other threads.

`process.start` starts a command that can read and write only the files in its `Confinement`. The tier says which parts
of the kernel are used. A trial chooses it (`sandbox/local/trial.py`), and a start never falls back to a weaker tier.

- `process`: the tiers, and the start of a command
- `kernel_features`: the filter of system calls, Landlock, namespaces
- `notices`: decides about the system calls that a filter cannot decide alone
"""
