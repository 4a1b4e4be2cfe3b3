"""Documents and their forms: rows, tables, source and collapsible parts, as HTML and as text. No run is known here.

`document` has the parts of a document, `as_html` and `as_text` draw them; `html` is the type of safe HTML, and
`styles.css` has all styles. May import `untrusted`, and nothing above it.
"""
