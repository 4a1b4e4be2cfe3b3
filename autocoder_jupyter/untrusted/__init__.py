"""Read what others wrote: files, JSON, TOML, Python source, charts, and text that is shown.

Everything here is bounded in size and time. The package may import `codec` only, besides the standard library.

- `folder`: files, without following a link
- `parsing`: Python source
- `visible`: text with its hidden characters escaped
- `plain_json`, `plain_toml`: JSON and TOML with limits
- `charts`, `vega`: the safe parts of a figure of Plotly or Altair
- `chart_words`: what a chart shows, in one line
"""
