"""Documents of rows, tables, source and collapsible parts, and how they are drawn. Nothing here knows about runs.

- `document`: the parts of a document
- `as_html`, `as_text`: documents for notebooks, and for terminals and the side panel
- `markup`: the type of safe HTML and its small pieces; `styles.css` has all styles
- `source`: Python in colours, and diffs
- `amounts`: counts, costs and durations as text

May import `types` and `untrusted`.
"""
