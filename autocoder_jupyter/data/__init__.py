"""Describe data for the model: profiles, samples, schemas, constraints and drift.

It may import `redaction`, `types`, `codec` and what else is below it, but nothing that asks a model or runs code.

- `capture`, `sources`, `sampling`: private copies of samples; tables whose rows are not in memory, and samples of them
- `profile`, `column_profile`, `text_formats`, `sample`, `keys`: what is found out about a table and its columns
- `files`, `readers`, `dialects`: files and folders, files as tables of a call, and files of text
- `context`, `rendering`, `withheld`, `tokens`: the text for the model, of limited length, without withheld columns
- `constraints`, `checks`, `schema`: constraints as conditions, and the schema of a sample
- `database_text`: a database as the model sees it
- `helpers`: code of the user as one module, with what it needs, and as the model sees it
- `crossing`: what of a table cannot go into a sandbox, and is left out
- `columns_read`, `periods`, `renames`, `drift`, `value_drift`: the columns that a function reads, and how later
  tables differ
- `overview`: data for the user, on a card
"""
