"""A background thread with an event loop, the progress of awaited work, methods with an async form, file locks."""
