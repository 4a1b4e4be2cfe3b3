"""The inspector of a finished result: the function, its tests, its history, and a form that runs it.

- `subject`: the data that an inspector shows, and what it asks of the notebook
- `evidence`, `conversation`, `data`: pure functions from records to the blocks of each section
- `document`: all sections below each other, for saved notebooks, terminals and plain HTML
- `inspector`, `form`: the sections as tabs, with a form that calls the function

The first section is the card: `run/of_report` rebuilds the record of the run.
"""
