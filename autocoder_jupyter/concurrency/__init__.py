"""The background thread with its event loop, progress of awaited work, methods with an async form, file locks."""
