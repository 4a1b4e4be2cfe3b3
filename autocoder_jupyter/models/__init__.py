"""The language model: requests, structured answers, cost, replay.

Nothing else imports litellm. It runs in its own process, because its import takes seconds. The package may import
`data` and what is below it, and no module that `%load_ext` imports may import more than `spawn`.

- `protocol`: the interface: models, questions, meters, listeners, keys
- `client`, `questions`, `response`, `faults`: one question through litellm, its request, its response, its failures
- `answers`, `thoughts`, `loops`: code and records in an answer, and repairs; what is not part of it
- `replay`: answers from the journal
- `process`, `serving`, `spawn`: the process of models
- `library`, `catalogue`, `preflight`: litellm and its prices, names of models, checks before the first question
"""
