"""The host's side of a worker, which runs in the notebook's process. It is the same for all sandboxes.

The notebook's side of a worker, the same for every sandbox: `channel` and its parts (`packing`, `exchange`,
`replies`, `received`, `verdicts`), `testing` and `changes` (tests in one worker, the function in another), `pool`
(`spares`: when it starts a worker in advance), `redaction` (a worker whose output contains no secret), `bundle` (the
sources that are sent inside), `memory` (too little memory for a start),
`capacity` (cores and free memory), `cores` (which of them are used by workers).
"""
