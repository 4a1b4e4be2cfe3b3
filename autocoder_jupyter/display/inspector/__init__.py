"""The inspector of a finished result: the function, its evidence, its history, and a form that runs it.

Each section is a module with a pure function from records to HTML. `static` puts them under one another, for saved
notebooks and plain HTML; `widget` into tabs, with a form to call the function.
"""
