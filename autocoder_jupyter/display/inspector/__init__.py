"""The inspector of a finished result: the function, its tests, its history, and a form that runs it.

Each section is a module with a pure function from records to HTML. `static` shows them below each other, for saved
notebooks and plain HTML; `widget` shows them in tabs, with a form that calls the function.
"""
