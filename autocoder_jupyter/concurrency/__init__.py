"""The background thread with its event loop, what a blocked caller waits for, methods with an async form."""
