"""What a run is: one record, computed from the events of the run, for generations and for code mode.

- `events`: the events of both modes
- `record`: what the records of both modes have in common, and the steps of a run
- `function_run`, `code_run`: the records; each is a pure fold, a frozen dataclass that gives the record after an event
- `tracker`: applies events as they come and notifies listeners; also the log of events as JSON lines
- `of_report`: the record of a finished generation, made from its report, and what speaks for a verified function

A run has one tracker. Card, strip, panel, `%autocode status`, timeline, report and result read its record. A new fact
that is shown everywhere is an event, a field of a record, and a row of the card.

May import `types`, `settings`, `redaction` and `untrusted`.
"""
