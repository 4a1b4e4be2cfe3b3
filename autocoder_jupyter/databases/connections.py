"""Connections to databases: which values are some, and what can be read from one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from autocoder_jupyter.databases import local_engines, server_engines
from autocoder_jupyter.databases.binding import usable
from autocoder_jupyter.databases.catalogue import Catalogue, CatalogueTable
from autocoder_jupyter.databases.catalogue_readers import quoted, read_catalogue
from autocoder_jupyter.databases.queries import Query
from autocoder_jupyter.databases.reading import (
    Deadline,
    QueryLimits,
    ReadSession,
    arrow_schema,
    deadline,
    gathered,
    open_transaction,
    too_long,
)
from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

_KINDS = {
    ("duckdb", "DuckDBPyConnection"): "duckdb",
    ("sqlite3", "Connection"): "sqlite3",
    ("psycopg", "Connection"): "psycopg",
    ("sqlalchemy", "Engine"): "sqlalchemy",
    ("sqlalchemy", "Connection"): "sqlalchemy",
    ("adbc_driver_manager", "Connection"): "adbc",
    ("ibis", "BaseBackend"): "ibis",
}
_CATALOGUE_SECONDS = 60.0

SAMPLE_ROWS = 10_000
"""Most rows of a table that a request, or a comparison with DuckDB, reads."""

Sessions = Callable[[float], AbstractContextManager[ReadSession]]
"""Opens a session for so many seconds."""


def _kind(value: object) -> str:
    if isinstance(value, type):
        return ""
    classes = ((str(base.__module__).partition(".")[0].lstrip("_"), base.__name__) for base in type(value).__mro__)
    return next((kind for each in classes if (kind := _KINDS.get(each))), "")


def is_connection(value: object) -> bool:
    """Whether a value is a connection to a database. Only its class is looked at, and nothing is imported."""
    return bool(_kind(value))


@dataclass(frozen=True)
class Database:
    """A database that is read through a person's connection.

    Args:
        dialect: its dialect, by sqlglot's name.
        identity: which database it is: dialect, user, host, port and name, or the file. It has no password.
    """

    dialect: str
    identity: str
    _sessions: Sessions = field(repr=False, compare=False)

    def catalogue(self) -> Catalogue:
        """Its tables and views, without those of the system.

        Raises:
            InvalidRequest: it did not answer.
        """
        with self._session(_CATALOGUE_SECONDS) as (session, _):
            return read_catalogue(self.dialect, session.ask)

    def sample(self, table: CatalogueTable, rows: int, limits: QueryLimits | None = None) -> Any:
        """The first rows of a table of its catalogue, a `pyarrow.Table`. Columns that cannot be read are missing.

        Raises:
            InvalidRequest: it did not answer, or the rows are too large.
        """
        limits = limits or QueryLimits()
        columns = usable(table)
        if not columns:
            raise InvalidRequest(f"The table {table.shown} has no column that can be read.")
        names = ", ".join(self._read_column(column.name, column.type, column.is_cast) for column in columns)
        sql = f"SELECT {names} FROM {quoted(table.schema, table.name)} LIMIT {int(rows)}"
        try:
            return self._read(sql, arrow_schema((column.name, column.type) for column in columns), limits)
        except InvalidRequest as error:
            raise InvalidRequest(
                f"The first rows of {table.shown} cannot be read: {error.what}",
                why=error.why,
                hint="Refer to a view of it that converts or leaves out such values.",
            ) from None

    def _read_column(self, name: str, kind: str, is_cast: bool) -> str:
        if not is_cast:
            return quoted(name)
        other = (
            {"VARCHAR": "text", "DOUBLE": "double precision"}.get(kind, kind) if self.dialect == "postgres" else kind
        )
        return f"CAST({quoted(name)} AS {other}) AS {quoted(name)}"

    def fetch(self, query: Query, limits: QueryLimits | None = None) -> Any:
        """The whole result of a checked query, a `pyarrow.Table` with the types that DuckDB gives it.

        Raises:
            InvalidRequest: it has another meaning in this dialect, needs more than the limits, or did not succeed.
        """
        schema = arrow_schema((column.name, column.type) for column in query.columns)
        return self._read(query.to(self.dialect), schema, limits or QueryLimits(), query)

    def _read(self, sql: str, schema: Any, limits: QueryLimits, query: Query | None = None) -> Any:
        with self._session(limits.seconds) as (session, until):
            if query is not None and self.dialect == "sqlite":
                local_engines.require_plain_values(session.ask, query)
            with closing(session.batches(sql, schema, limits)) as batches:
                return gathered(batches, schema, limits, until)

    @contextmanager
    def _session(self, seconds: float) -> Iterator[tuple[ReadSession, Deadline]]:
        until = None
        try:
            with self._sessions(seconds) as session, deadline(seconds, session.stop) as until:
                yield session, until
        except AutocodeError:
            raise
        except Exception as error:
            of_server = "statement timeout" in str(error)  # its clock may end a little before ours
            if of_server or (until is not None and (until.is_over or until.left <= 0)):
                raise too_long(seconds) from None
            raise InvalidRequest(
                f"The database did not answer: {type(error).__name__}.",
                why=visible(" ".join(str(error).split())[:300]),
                hint="Check the connection with a query of your own.",
            ) from None


def opened(value: Any) -> Database:
    """The database of a connection.

    Raises:
        InvalidRequest: it is closed, or queries cannot be written for its database.
    """
    kind = _kind(value)
    if kind == "ibis":
        value = value.con
        kind = _kind(value)
    if kind == "sqlalchemy":
        return _of_sqlalchemy(value)
    if kind == "duckdb":
        home = _asked(local_engines.duckdb_home, value)
        return Database("duckdb", home.identity, functools.partial(local_engines.duckdb_session, value, home))
    if kind == "sqlite3":
        return _of_sqlite(value)
    if kind == "psycopg":
        identity = _asked(server_engines.psycopg_identity, value)
        return Database("postgres", identity, functools.partial(server_engines.psycopg_session, value))
    if kind == "adbc":
        return _of_adbc(value)
    raise _unsupported(f"a connection of type {type(value).__module__}.{type(value).__name__}")


def _of_sqlite(connection: Any) -> Database:
    file = _asked(local_engines.sqlite_file, connection)
    sessions = functools.partial(local_engines.sqlite_session, connection, file)
    return Database("sqlite", f"sqlite:{file or ':memory:'}", sessions)


def _of_sqlalchemy(value: Any) -> Database:
    engine = value.engine
    if engine.dialect.name == "postgresql":
        if value is not engine and value.in_transaction():
            raise open_transaction("Commit it or roll it back, or pass the engine.")
        identity = _asked(server_engines.sqlalchemy_identity, engine)
        return Database("postgres", identity, functools.partial(server_engines.sqlalchemy_session, engine))
    if engine.dialect.name == "sqlite":
        holder = value if value is not engine else engine.raw_connection()
        driver = holder.connection.driver_connection if value is not engine else holder.driver_connection
        return _of_sqlite(driver)
    raise _unsupported(f"SQLAlchemy with {engine.dialect.name}")


def _of_adbc(connection: Any) -> Database:
    vendor = str(_asked(lambda each: each.adbc_get_info(), connection).get("vendor_name", ""))
    if vendor.lower() == "postgresql":
        sessions = functools.partial(server_engines.adbc_session, connection)
        return Database("postgres", _asked(server_engines.adbc_identity, sessions), sessions)
    raise _unsupported(f"ADBC with {vendor}")


def _asked(ask: Callable[[Any], Any], value: Any) -> Any:
    try:
        return ask(value)
    except AutocodeError:
        raise
    except Exception as error:
        raise InvalidRequest(
            f"The connection cannot be used: {type(error).__name__}.",
            why=visible(" ".join(str(error).split())[:300]),
            hint="Connect again.",
        ) from None


def _unsupported(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"Queries cannot be sent over {visible(what)}.",
        why="Only for DuckDB, SQLite and PostgreSQL it is known that they give the same answer.",
        hint="Read the tables into frames, or into DuckDB.",
    )
