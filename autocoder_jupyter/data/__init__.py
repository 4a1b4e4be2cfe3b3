"""Describe data for the model: profiles, samples, schemas, constraints and drift.

Profile, samples, schemas, constraints, drift (only in `columns_read`, derived from the code's `table_flow`), tables of
other libraries (`foreign`), tables whose rows are not in memory (`elsewhere`, `table_engines`, `parquet_files`) and the
`sampling` of them, hidden and masked columns (`withheld`), sampled rows as files (`sample_files`), files as tables of a
call (`table_file`, `json_table`, `workbook_size`).
"""
