"""The inspector of a finished result: the function, its evidence, what was sent, and its history.

- `subject`: the data that an inspector shows, and what it asks of the notebook
- `evidence`, `conversation`, `data`: pure functions from records to the blocks of each section
- `document`: all sections below each other, for saved notebooks, terminals and plain HTML
- `inspector`: the sections as tabs

The first section begins as the card does: `run/of_report` rebuilds the record of the run.
"""
