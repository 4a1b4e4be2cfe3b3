"""The language model: requests, structured answers, cost, replay.

Litellm: failures that are reported before its import (`preflight`), requests, retries, continuation, structured
answers, code in answers, prices, the maximum cost of a request (`metering`), what an answer may take while it arrives
(`limits`, `intake`, `received`), answers that litellm cannot read (`plain_answer`) or that were `cut_off`, what a
provider must cache (`cache_marks`), the catalogue of names, servers on this machine (`local_servers`), replay.

All this runs in a process of its own (`process`, `serving`, `spawn`), because the import of litellm takes seconds.
"""
