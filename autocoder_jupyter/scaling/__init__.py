"""Calls of a function with much data: many inputs, and tables larger than memory.

It may import `calls` and what is below it.

- `contract`: how a function may be split, found in the sandbox and kept on this machine
- `map`: `growth.map`; `mapped`: its items and outcomes
- `running`: run chunks of calls, here or in an executor
- `over`: `growth.over`; `sources`: tables that are read in batches; `partition`: rows divided by their keys into files
- `pieces`: calls for pieces of a table; `answers`: the answers put together
- `narrowing`: the rows with which a piece fails; `converting`: columns that some files have in another dtype
- `tally`: how far a call is
- `clusters`: `growth.over` with Dask, Ray and Spark; `engine_pieces`: what these share
- `prepare`: `growth.prepare`, and the versions that workers must have; `dask_plugin`: its part in Dask's workers
"""
