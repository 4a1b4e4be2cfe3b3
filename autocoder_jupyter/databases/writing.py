"""Write a checked query in the dialect of a connection, so that it means the same there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autocoder_jupyter.databases.functions import FUNCTIONS
from autocoder_jupyter.databases.queries import refused, shown
from autocoder_jupyter.errors import InvalidRequest

if TYPE_CHECKING:
    from autocoder_jupyter.databases.queries import Query

DIALECTS = ("duckdb", "sqlite", "postgres")
"""The dialects whose answers are compared with those of DuckDB in our tests."""


def written(query: Query, dialect: str) -> str:
    """The text of a query in a dialect.

    Raises:
        InvalidRequest: something has another meaning there.
    """
    from sqlglot.errors import ErrorLevel, SqlglotError

    if dialect not in DIALECTS:
        raise InvalidRequest(
            f"Queries cannot be written for {shown(dialect)}.",
            why="It is not known whether they would give the same answer there.",
            hint="Read the tables into frames, or into DuckDB.",
        )
    tree = query.tree.copy()
    for node in tree.walk():
        name = type(node).__name__
        if name in FUNCTIONS and dialect not in FUNCTIONS[name]:
            raise _not_there(node, dialect)
    try:
        return str(tree.sql(dialect, comments=False, identify=True, unsupported_level=ErrorLevel.RAISE))
    except SqlglotError as error:
        raise refused(f"it cannot be written for {dialect}.", why=shown(error)) from None


def _not_there(node: Any, dialect: str) -> InvalidRequest:
    return refused(
        f"{shown(node.sql('duckdb'))} is not supported for {dialect}.",
        why="It would not give the same answer as in DuckDB.",
        hint="Use another function, or finish the computation in pandas.",
    )
