"""A background thread with an event loop, the progress of awaited work, methods with an async form, file locks.

The `background` thread with its event loop, waiting for it (`awaited`), `f()` and `f.aio()` (`syncified`),
`file_locks` between processes, the `cache_folder` that they share.
"""
