"""Read untrusted content safely: files, JSON, TOML, Python, figures, and text that is shown.

Reading what others wrote: files of a `folder`, JSON, TOML, Python source, the safe parts of a Plotly or Altair figure
and their mime types (`charts`), what a figure shows in words (`chart_words`), text with visible control characters
(`visible`), very long integers.
"""
