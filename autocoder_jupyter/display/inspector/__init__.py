"""The inspector of a finished result: the function, its tests, its history, and a form that runs it.

Each section is a module with a pure function from records to blocks of a document. `static` puts them below each other,
for saved notebooks, terminals and plain HTML; `widget` shows them in tabs, with a form that calls the function.
`of_report` rebuilds the state of the run, so that the first section is the card.
"""
