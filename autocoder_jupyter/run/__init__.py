"""What a run is: one record, computed from the events of the run, for generations and for code mode.

`events`: the events of both modes. `run_record`: what the records of both have in common. `function_run` and
`code_run`: the records. Each is a pure fold: a frozen dataclass with the record after an event. `steps`: when each step
began and how long it took. `agent_state`: what a writing agent does. `tracker`: applies the events as they come, and
tells its listeners. A run has one tracker; card, strip, panel, `%autocode status`, timeline, report and result read its
record. `of_report`: the record of a finished generation, from its report. `event_log`: events as JSON lines. A new fact
that is shown everywhere is an event, a field of a record, and a row of the card.

May import `types`, `settings`, `redaction` and `untrusted`.
"""
