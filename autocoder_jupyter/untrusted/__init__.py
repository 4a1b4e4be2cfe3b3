"""Reading untrusted content: files, JSON, TOML, Python, figures, text to show."""
