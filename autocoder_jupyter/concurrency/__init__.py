"""Threads and an event loop in the background, the progress of awaited work, file locks.

It may import `untrusted` and what is below it.

- `background`: daemon threads for blocking work, the thread with the event loop, and waiting for both
- `awaited`: the progress of work for which a caller waits
- `spare_time`: work for which nobody waits
- `syncified`: methods with an async form, `f()` and `f.aio()`
- `file_locks`, `cache_folder`: locks between processes, and the folder that all kernels share

The threads of a kernel: all are daemons, are named, and nothing joins them when the process ends. None prints, uses the
user's namespace, or binds output to a cell. Callbacks of widgets run on the main thread and only set flags.

| thread | lives | work |
|---|---|---|
| main | always | runs cells; waits for a result, and checks for an interrupt |
| `autocode` | from the first generation on | the event loop: generations, conversations, answers of models |
| `autocode-link` | with the lab extension | reads the messages of pages, sends lists of jobs |
| `autocode-upkeep` | once a day | removes old environments, images and locks |
| of `start_thread` | until 5 s without work | one piece of work after the other; named like it, or `autocode-idle` |

The work of the threads of `start_thread`:

| name | lasts | work |
|---|---|---|
| `autocode-call` | one call | a call of a function from its arguments to its values (`background.run_on_thread`) |
| `autocode-call` | one call | a blocking call that the loop awaits (`background.call_blocking`) |
| `autocode-side` | one call | a call of one of two solutions that are compared |
| `autocode-copy` | one step of a large answer | copies the second half of it from the memory of a child |
| `autocode-complete` | once | begins to complete evidence in spare time |
| `autocode-card`, `-result` | one run | draw the newest state of a card; show a result that was waited for |
| `autocode-prepare` | once | has the model client imported while a user types, its tokenizer while a model answers |
| `autocode-models` | with a process | reads what the process of models sends |
| `autocode-warm`, `-spare` | one start | start workers in advance |
| `autocode-pool` | while workers are idle | ends idle workers |
| `autocode-supervisor` | with a process | wait for the end of a supervisor |
| `autocode-attach` | with a container | carry its streams |
"""
