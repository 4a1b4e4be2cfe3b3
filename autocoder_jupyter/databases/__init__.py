"""Databases: what a connection contains, and queries that only read.

A query is written in DuckDB's dialect. It is checked before anything else happens to it, and written for the dialect of
a connection from the checked tree: no text of a model is sent. The sandbox uses nothing of this package.

- `connections`: which values are connections, and what can be read from one
- `catalogue`: tables, columns, keys and comments; the tables that a request names
- `catalogue_readers`: how each engine tells its catalogue
- `queries`: one SELECT over tables of a catalogue, with known functions only
- `functions`: the functions that a query may call
- `binding`: the columns and types of a query, which DuckDB finds on empty tables
- `writing`, `for_postgres`, `for_sqlite`: a checked query in another dialect, with the same meaning
- `reading`: rows as Arrow tables, within limits of time, rows and bytes
- `local_engines`, `server_engines`: read-only access to DuckDB and SQLite, and to servers
"""
