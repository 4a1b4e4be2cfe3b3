"""Read-only sessions on a PostgreSQL server, over psycopg, SQLAlchemy or ADBC."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

from autocoder_jupyter.databases.reading import QueryLimits, batched
from autocoder_jupyter.errors import InvalidRequest

Run = Callable[[str], Sequence[Sequence[Any]]]
"""Runs one statement, and gives its rows; nothing if it has none."""

_CURSOR = "autocode_rows"
_SETTINGS = (
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL standard_conforming_strings = on",
    "SET LOCAL search_path = pg_catalog",
    "SET LOCAL cursor_tuple_fraction = 1",
    "SET LOCAL lock_timeout = '5s'",
)


class PostgresSession:
    """A transaction that only reads, and ends with a rollback."""

    def __init__(self, run: Run, stop: Callable[[], None], seconds: float) -> None:
        self._run = run
        self.stop = stop
        self._ends = time.monotonic() + seconds

    def begin(self) -> None:
        """Make the open transaction one that only reads.

        Raises:
            InvalidRequest: the server does not do so.
        """
        self._run("SET TRANSACTION READ ONLY")
        if [list(row) for row in self._run("SELECT current_setting('transaction_read_only')")] != [["on"]]:
            raise InvalidRequest(
                "The server gives no transaction that only reads.",
                why="Without one, no query is sent.",
                hint="Connect with a role that may only read, without a proxy that changes transactions.",
            )
        self._limit_time()

    def set_up(self) -> None:
        """Set what the meaning of a query depends on. The catalogue is read before, with the person's search path."""
        for statement in _SETTINGS:
            self._run(statement)

    def _limit_time(self) -> None:
        left = max(1, int(1000 * (self._ends - time.monotonic())))
        self._run(f"SET LOCAL statement_timeout = {left}")

    def ask(self, sql: str) -> Iterable[tuple[Any, ...]]:
        return [tuple(row) for row in self._run(sql)]

    def batches(self, sql: str, schema: Any, limits: QueryLimits) -> Generator[Any, None, None]:
        self.set_up()
        self._limit_time()
        self._run(f"DECLARE {_CURSOR} NO SCROLL CURSOR FOR {sql}")

        def fetch(count: int) -> Sequence[Sequence[Any]]:
            self._limit_time()
            return self._run(f"FETCH FORWARD {count} FROM {_CURSOR}")

        yield from batched(fetch, schema)


# psycopg


@contextlib.contextmanager
def psycopg_session(connection: Any, seconds: float) -> Iterator[PostgresSession]:
    """A session of a connection of psycopg, if it has no open transaction."""
    if connection.info.transaction_status.name != "IDLE":
        raise InvalidRequest(
            "The connection has an open transaction.",
            why="A query of ours would become a part of it.",
            hint="Commit it or roll it back, or pass a SQLAlchemy engine, which gives each query its own connection.",
        )

    def run(sql: str) -> Sequence[Sequence[Any]]:
        with contextlib.closing(connection.cursor(row_factory=_tuples)) as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    session = PostgresSession(run, connection.cancel, seconds)
    if connection.autocommit:
        run("BEGIN")
    try:
        session.begin()
        yield session
    finally:
        connection.rollback()


def _tuples(cursor: Any) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    return tuple


def psycopg_identity(connection: Any) -> str:
    return _identity(connection.info)


def _identity(info: Any) -> str:
    return f"postgres://{info.user}@{info.host}:{info.port}/{info.dbname}"


# SQLAlchemy


@contextlib.contextmanager
def sqlalchemy_session(engine: Any, seconds: float) -> Iterator[PostgresSession]:
    """A session on a connection of its own, which the engine makes or takes from its pool."""
    connection = engine.connect().execution_options(isolation_level="REPEATABLE READ", no_parameters=True)
    try:

        def run(sql: str) -> Sequence[Sequence[Any]]:
            result = connection.exec_driver_sql(sql)
            return result.fetchall() if result.returns_rows else []

        driver = connection.connection.driver_connection
        session = PostgresSession(run, getattr(driver, "cancel", lambda: None), seconds)
        session.begin()
        yield session
    finally:
        connection.rollback()
        connection.close()


def sqlalchemy_identity(engine: Any) -> str:
    """What the driver says, because an engine may connect elsewhere than its URL tells; else the URL."""
    url = engine.url
    with contextlib.closing(engine.raw_connection()) as connection:
        info = getattr(connection.driver_connection, "info", None)
        if hasattr(info, "dbname"):
            return _identity(info)
    host = url.host or url.query.get("host", "")
    if not host:
        raise InvalidRequest(
            "It is not known to which database the engine connects.",
            why="Its URL has no host, and its driver does not tell.",
            hint="Use the driver psycopg: create_engine('postgresql+psycopg://…')",
        )
    return f"postgres://{url.username or ''}@{host}:{url.port or url.query.get('port', 5432)}/{url.database or ''}"


# ADBC


@contextlib.contextmanager
def adbc_session(connection: Any, seconds: float) -> Iterator[PostgresSession]:
    """A session on a second connection to the same database."""
    own = connection.adbc_clone()
    try:
        running: list[Any] = []

        def run(sql: str) -> Sequence[Sequence[Any]]:
            with own.cursor() as cursor:
                running[:] = [cursor]
                cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})  # it copies a SELECT only
                cursor.execute(sql)
                return cursor.fetchall() if cursor.description else []

        def stop() -> None:
            for cursor in running:
                cursor.adbc_cancel()

        session = PostgresSession(run, stop, seconds)
        session.begin()
        yield session
    finally:
        own.rollback()
        own.close()


def adbc_identity(sessions: Callable[[float], contextlib.AbstractContextManager[PostgresSession]]) -> str:
    """What the server says, because the connection does not tell where it goes."""
    asked = "current_user, host(inet_server_addr()), current_setting('port'), current_database()"
    with sessions(10.0) as session:
        user, host, port, name = next(iter(session.ask(f"SELECT {asked}")))
    return f"postgres://{user}@{host or 'localhost'}:{port}/{name}"
