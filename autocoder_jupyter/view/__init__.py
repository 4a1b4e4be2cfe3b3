"""Documents and their forms: rows, tables, source and collapsible parts. No run is known here.

`document` has the parts of a document. `as_html` draws it for notebooks, `as_text` for terminals, `as_page` gives it to
a page as plain data. `html` is the type of safe HTML, `styles.css` has all styles. May import `types` and `untrusted`.
"""
