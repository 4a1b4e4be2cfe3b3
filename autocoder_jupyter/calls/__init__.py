"""Calling a finished function: its signature, arguments and options, the call in the sandbox, its cache and outputs.

Calls of a finished `function`: its `interface` (signature, docstring), arguments (`binding`, `values`), the options
of a call (`option_specs`: what a user can set), the `call` itself in its sandbox (`runtime`), its turn (`queue`),
cache, outputs; `callable`: the common part of result and task.
"""
