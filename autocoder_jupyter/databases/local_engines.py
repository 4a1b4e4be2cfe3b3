"""Read-only sessions in DuckDB and SQLite, beside what the person does with the connection."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autocoder_jupyter.databases.catalogue_readers import quoted
from autocoder_jupyter.databases.queries import Query
from autocoder_jupyter.databases.reading import BATCH_ROWS, QueryLimits, batched, converted, open_transaction
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

# DuckDB


class DuckDBSession:
    """A second connection to the same database, in a transaction that only reads."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def ask(self, sql: str) -> Iterable[tuple[Any, ...]]:
        return list(self._cursor.execute(sql).fetchall())

    def batches(self, sql: str, schema: Any, limits: QueryLimits) -> Generator[Any, None, None]:
        relation = self._cursor.sql(sql)
        reader = (getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch)(BATCH_ROWS)
        with contextlib.closing(reader):
            for batch in reader:
                yield converted(batch, schema)

    def stop(self) -> None:
        self._cursor.interrupt()


@dataclass(frozen=True)
class DuckDBHome:
    """Where a connection of DuckDB looks for tables: its current database, which `USE` changes.

    Args:
        identity: which database it is: its file, or that it is in memory.
    """

    identity: str
    database: str
    schema: str


@contextlib.contextmanager
def duckdb_session(connection: Any, home: DuckDBHome, seconds: float) -> Iterator[DuckDBSession]:
    """A session of a connection of DuckDB."""
    cursor = connection.cursor()
    try:
        _require_built_in_functions(cursor)
        for statement in (*_MEANING, f"USE {quoted(home.database, home.schema)}", "BEGIN TRANSACTION READ ONLY"):
            cursor.execute(statement)
        try:
            yield DuckDBSession(cursor)
        finally:
            with contextlib.suppress(Exception):  # an interrupt ends the transaction
                cursor.execute("ROLLBACK")
    finally:
        cursor.close()


_MEANING = (
    "SET TimeZone = 'UTC'",
    "SET SESSION default_null_order = 'nulls_last'",
    "SET SESSION default_order = 'asc'",
    "SET SESSION default_collation = ''",
    "SET SESSION integer_division = false",
    "SET SESSION ieee_floating_point_ops = true",
)
"""What the meaning of a query depends on."""


def _require_built_in_functions(cursor: Any) -> None:
    """Refuse a database with a macro that would be called in place of a function of DuckDB.

    Such a macro may read files. Names are compared here, because operators are functions too.
    """
    found = cursor.execute("SELECT function_name, internal FROM system.main.duckdb_functions()").fetchall()
    built_in = {name.lower() for name, is_internal in found if is_internal}
    if shadowed := sorted(name for name, is_internal in found if not is_internal and name.lower() in built_in):
        name = visible(shadowed[0])
        raise InvalidRequest(
            f"The database has a function {name} of its own.",
            why=f"A query would call it in place of DuckDB's {name}, and it may do anything.",
            hint=f"Give it another name, or drop it: DROP MACRO {name}",
        )


def duckdb_home(connection: Any) -> DuckDBHome:
    """Where a connection looks for tables. A cursor of DuckDB does not know it.

    Raises:
        InvalidRequest: a transaction is open, or the current database is one of another system.
    """
    with contextlib.closing(connection.cursor()) as cursor:
        _require_built_in_functions(cursor)
        asked = "SELECT txid_current(), current_database(), current_schema()"
        (number, database, schema), (next_number, *_) = (connection.sql(asked).fetchall()[0] for _ in range(2))
        if number == next_number:
            raise open_transaction("Commit it, or roll it back.")
        known = "SELECT path, type FROM duckdb_databases() WHERE database_name = ?"
        path, kind = cursor.execute(known, [database]).fetchone()
    if kind not in ("duckdb", "sqlite"):
        raise InvalidRequest(
            f"The current database of the connection, {visible(database)}, is of {visible(kind)}.",
            why="DuckDB would pass parts of a query on, and its address may contain a password.",
            hint="Connect to it directly, or copy its tables into DuckDB.",
        )
    file = re.sub(r"//[^/@]*@", "//", path) if path and "://" in path else path and str(Path(path).resolve())
    return DuckDBHome(f"duckdb:{file or ':memory:'}", database, schema)


# SQLite


class SQLiteSession:
    """A connection of its own that only reads; for a database in memory, the person's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def ask(self, sql: str) -> Iterable[tuple[Any, ...]]:
        with contextlib.closing(self._cursor()) as cursor:
            return list(cursor.execute(sql).fetchall())

    def batches(self, sql: str, schema: Any, limits: QueryLimits) -> Generator[Any, None, None]:
        with contextlib.closing(self._cursor()) as cursor:
            cursor.execute(sql)
            yield from batched(cursor.fetchmany, schema)

    def _cursor(self) -> sqlite3.Cursor:
        cursor = self._connection.cursor()
        cursor.row_factory = None
        return cursor

    def stop(self) -> None:
        self._connection.interrupt()


def sqlite_file(connection: sqlite3.Connection) -> str:
    """The file of a connection; "" for a database in memory.

    Raises:
        InvalidRequest: it is closed or of another thread, or its transaction has changes that no other one sees.
    """
    try:
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.row_factory = None
            found = cursor.execute("PRAGMA database_list").fetchall()
    except sqlite3.ProgrammingError as error:
        raise InvalidRequest(
            "The connection to SQLite cannot be used here.",
            why=str(error),
            hint="Open it again; with sqlite3.connect(..., check_same_thread=False) other threads may use it.",
        ) from None
    name = next((row[2] for row in found if row[1] == "main"), "")
    if name and connection.in_transaction:
        raise open_transaction("Commit it: connection.commit()")
    return name.decode() if isinstance(name, bytes) else str(name or "")


@contextlib.contextmanager
def sqlite_session(connection: sqlite3.Connection, file: str, seconds: float) -> Iterator[SQLiteSession]:
    """A session of a connection of SQLite with that file."""
    if not file:
        with _only_reading(connection):
            yield SQLiteSession(connection)
        return
    own = sqlite3.connect(
        f"{Path(file).resolve().as_uri()}?mode=ro", uri=True, timeout=min(seconds, 10), check_same_thread=False
    )
    try:
        _add_functions(own)
        own.execute("PRAGMA query_only = 1")
        own.execute("PRAGMA trusted_schema = 0")
        own.set_authorizer(_authorized)
        own.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**26)
        yield SQLiteSession(own)
    finally:
        own.close()


_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_CLOCK = "[0-9][0-9]:[0-9][0-9]:[0-9][0-9]"
_PLAIN = {
    "DATE": f"typeof({{0}}) = 'text' AND {{0}} GLOB '{_DAY}'",
    "TIMESTAMP": "typeof({0}) = 'text' AND ("
    + " OR ".join(f"{{0}} GLOB '{_DAY}[ T]{_CLOCK}{rest}'" for rest in ("", ".[0-9][0-9][0-9]", ".[0-9][0-9][0-9]000"))
    + ")",
    "BOOLEAN": "typeof({0}) = 'integer' AND {0} IN (0, 1)",
    "BIGINT": "typeof({0}) = 'integer'",
    "DOUBLE": "typeof({0}) IN ('integer', 'real')",
    "VARCHAR": "typeof({0}) = 'text'",
    "BLOB": "typeof({0}) = 'blob'",
}
"""Whether a value is what its column says; a column of SQLite may have any values."""


def require_plain_values(ask: Callable[[str], Iterable[tuple[Any, ...]]], query: Query) -> None:
    """Read the columns of a query once, because SQLite computes something with a value of any type.

    Raises:
        InvalidRequest: a column has values that are not of its type.
    """
    reads = query.reads()
    for table in query.tables:
        columns = [column for column in table.columns if column.name in reads[table.key] and column.type in _PLAIN]
        if not columns:
            continue
        tests = (
            f"sum({name} IS NOT NULL AND NOT ({_PLAIN[column.type].format(name)}))"
            for column in columns
            if (name := quoted(column.name))
        )
        counts = next(iter(ask(f"SELECT {', '.join(tests)} FROM {quoted(table.schema, table.name)}")))
        for column, count in zip(columns, counts, strict=True):
            if count:
                name = visible(f"{table.shown}.{column.name}")
                raise InvalidRequest(
                    f"{count:,} values of {name} are not of its type {column.type}.",
                    why="SQLite would compare and count them in another way than DuckDB.",
                    hint="Leave the column out, or read the table into a frame and clean it.",
                )


_FUNCTIONS: dict[str, Callable[[str], str]] = {"unicode_lower": str.lower, "unicode_upper": str.upper}
"""What SQLite's own functions do for the letters of English only."""


def _add_functions(connection: sqlite3.Connection) -> None:
    for name, change in _FUNCTIONS.items():

        def changed(value: Any, change: Callable[[str], str] = change) -> Any:
            return change(value) if isinstance(value, str) else value

        connection.create_function(name, 1, changed, deterministic=True)


_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_PRAGMAS = frozenset({"table_xinfo", "foreign_key_list"})


def _authorized(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """What the connection of our own may do: read, and no function that loads or writes."""
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _PRAGMAS else sqlite3.SQLITE_DENY
    if action not in _READS or (
        action == sqlite3.SQLITE_FUNCTION and second in ("load_extension", "readfile", "writefile")
    ):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


@contextlib.contextmanager
def _only_reading(connection: sqlite3.Connection) -> Iterator[None]:
    """The person's connection, which does not write meanwhile; afterwards it is as before."""
    before = connection.execute("PRAGMA query_only").fetchone()[0]
    factory = connection.text_factory
    connection.text_factory = str
    connection.execute("PRAGMA query_only = 1")
    _add_functions(connection)
    try:
        yield
    finally:
        for name in _FUNCTIONS:
            connection.create_function(name, 1, None)
        connection.execute(f"PRAGMA query_only = {int(before)}")
        connection.text_factory = factory
