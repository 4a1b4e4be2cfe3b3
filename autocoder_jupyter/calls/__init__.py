"""Calls of a finished function: its arguments, the call in the sandbox, its cache and its outputs.

The package may import `sandbox`, `data`, `contracts` and what is below them, and of the engine only what counts rows
and reads queries.

- `function`: all that a call needs, the signature and docstring, and what is known from earlier calls
- `options`: the options of a call
- `binding`: checks the arguments and binds them to inputs
- `call`: the queue of calls, the work on a worker, the call
- `database`: calls on a database, which answers the queries of the function
- `callable`: the base of results and tasks that can be called
- `outputs`: one value or a named tuple, and files in their final place
- `outcome_cache`: outcomes on disk
- `row_counts`: which rows calls on new data used, counted after the answer
- `runtime`: the sandbox and its pool
"""
