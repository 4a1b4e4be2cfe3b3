"""The code that runs inside a sandbox, sent there by `host.bundle`.

It imports only the standard library, numpy, pandas, pyarrow, pytest, and the codec.

- `start`: starts a worker, or a process from which workers are forked; `warmup`: loads the libraries; `lockdown`
- `zygote`: serves the requests, each in a forked child; `relay`: forwards the bytes of a child; `removal`: its files
- `child`: a forked child; `calls`, `tester`, `commands`: what it runs
- `frames`, `entries`: what host and worker send each other; `codec`: the values in it

The host uses `frames`, `entries`, `removal` and the limits in `commands`.
"""
