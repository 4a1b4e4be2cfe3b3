"""Reading what a stranger, a program or a model wrote: files, JSON, TOML, Python, figures, text to show."""
