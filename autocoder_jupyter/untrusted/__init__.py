"""Read untrusted content safely: files, JSON, TOML, Python, figures, and text that is shown."""
