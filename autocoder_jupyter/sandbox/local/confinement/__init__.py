"""Confine a local worker with Landlock, seccomp and namespaces, by direct system calls.

Only the standard library, and nothing compiled. It runs in the supervisor, a process of its own with one thread,
because a process that forks and then makes system calls of its own must have no other threads.

`process.start` starts a command that may read and write what its `Policy` names, and nothing else. With which means is
the `Tier`: it is chosen by a trial (`sandbox/local/probe.py`), and a start never falls back to a weaker one by itself.
"""
