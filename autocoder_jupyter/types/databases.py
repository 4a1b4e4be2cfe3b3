"""Databases of a request: which of their tables are inputs of a function, and what their catalogue says of these."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from autocoder_jupyter.types.records import Count, Record

_Text = Annotated[str, Field(max_length=1_000)]


class DatabaseColumn(Record):
    """A column of a table, with the type that its values have in DuckDB; "" if they cannot be read."""

    name: _Text
    type: _Text = ""
    comment: _Text = ""


class DatabaseTable(Record):
    """A table of a database, which is an input of the function.

    `home` is its schema in the database, `rows` its number of rows. `is_whole` says whether the sample has all of them.
    `keys` are its primary key and what refers to other tables, a line each.
    """

    home: _Text = ""
    columns: tuple[DatabaseColumn, ...] = Field(default=(), max_length=10_000)
    keys: tuple[_Text, ...] = Field(default=(), max_length=1_000)
    comment: _Text = ""
    rows: Count | None = None
    is_whole: bool = False


class SampledDatabase(Record):
    """A database of a request.

    `tables` are those that are inputs, by their name; `others` are only named. `queries` are those of the verified
    function, in the dialect of the database. They are shown, and never sent.
    """

    name: str = Field(pattern=r"^[^\W\d]\w*$", max_length=200)
    dialect: str = Field(pattern=r"^[a-z0-9_]{1,40}$")
    tables: dict[str, DatabaseTable] = Field(default_factory=dict, max_length=300)
    others: tuple[_Text, ...] = Field(default=(), max_length=10_000)
    queries: tuple[Annotated[str, Field(max_length=100_000)], ...] = Field(default=(), max_length=1_000)
