"""The notebook's side of a worker, the same for every sandbox.

- `channel`: a worker; `packing`, `exchange`, `in_place`, `replies`: how a request is sent and its answer read
- `testing`: tests in one worker, and the function that they call in another
- `pool`: workers that are kept and started in advance; `capacity`: cores and memory for them
- `redaction`: a worker whose texts contain no secrets; `messages`: the texts of programs, cleaned, and hints
- `bundle`: the sources that are sent into the sandbox
"""
