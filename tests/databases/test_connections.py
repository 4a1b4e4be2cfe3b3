from __future__ import annotations

import contextlib
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from autocoder_jupyter.databases.connections import is_connection, opened
from autocoder_jupyter.databases.queries import checked
from autocoder_jupyter.databases.reading import QueryLimits
from autocoder_jupyter.errors import InvalidRequest
from tests.databases import postgres

ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, amount DECIMAL(10, 2), placed DATE)"
ROWS = "INSERT INTO orders VALUES (1, 2.5, '2024-01-05'), (2, 3.5, '2024-01-07'), (3, 4, '2024-02-01')"
COUNT = "SELECT count(*) AS n FROM orders"
ENDLESS = "SELECT count(*) AS n FROM " + ", ".join(f"orders o{number}" for number in range(28))
WIDE = "SELECT o0.id FROM " + ", ".join(f"orders o{number}" for number in range(20))


@contextlib.contextmanager
def _connection(kind: str, request: pytest.FixtureRequest, folder: Path) -> Any:
    if kind in ("duckdb", "sqlite", "sqlite file"):
        made: Any = (
            duckdb.connect() if kind == "duckdb" else sqlite3.connect(folder / "x.db" if "file" in kind else ":memory:")
        )
        made.execute(ORDERS)
        made.execute(ROWS)
        if kind != "duckdb":
            made.commit()
        yield made
        made.close()
        return
    import psycopg

    folder = request.getfixturevalue("socket_folder")
    where: dict[str, Any] = {"host": str(folder), "user": postgres.USER, "dbname": postgres.DATABASE}
    with psycopg.connect(**where, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        connection.execute(ORDERS)
        connection.execute(ROWS)
    if kind == "psycopg":
        with psycopg.connect(**where) as connection:
            yield connection
    elif kind == "sqlalchemy":
        import sqlalchemy

        engine = sqlalchemy.create_engine(
            f"postgresql+psycopg://{where['user']}:secret@/{where['dbname']}?host={where['host']}"
        )
        yield engine
        engine.dispose()
    else:
        import adbc_driver_postgresql.dbapi  # type: ignore[import-untyped]

        with adbc_driver_postgresql.dbapi.connect(
            f"postgresql://{where['user']}@/{where['dbname']}?host={where['host']}"
        ) as made:
            yield made


KINDS = ("duckdb", "sqlite", "sqlite file", "psycopg", "sqlalchemy", "adbc")


@pytest.fixture(params=KINDS)
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with _connection(request.param, request, tmp_path) as made:
        yield made


def test_a_catalogue_a_sample_and_a_result_are_read(connection: Any) -> None:
    assert is_connection(connection)
    database = opened(connection)
    assert "secret" not in database.identity + repr(database)
    tables = database.catalogue().tables
    assert [table.name for table in tables] == ["orders"]
    assert tables[0].primary_key == ("id",)
    assert database.sample(tables[0], 2).num_rows == 2
    months = (
        "SELECT placed AS d, sum(amount) AS total FROM orders WHERE placed < DATE '2024-02-01' GROUP BY ALL ORDER BY d"
    )
    frame = database.fetch(checked(months, tables)).to_pandas()
    assert frame["total"].astype(float).tolist() == [2.5, 3.5]


def test_a_query_that_takes_too_long_is_stopped_and_the_connection_works_afterwards(connection: Any) -> None:
    database = opened(connection)
    tables = database.catalogue().tables
    began = time.monotonic()
    with pytest.raises(InvalidRequest, match=r"stopped after 0.3 s"):
        database.fetch(checked(ENDLESS, tables), QueryLimits(seconds=0.3))
    assert time.monotonic() - began < 10
    assert database.fetch(checked(COUNT, tables)).to_pylist() == [{"n": 3}]


@pytest.mark.parametrize(
    ("limits", "told"),
    [(QueryLimits(rows=1_000), "more than 1,000 rows"), (QueryLimits(bytes=2**20), "more than 1 MB")],
)
def test_a_result_that_is_too_large_is_refused_and_not_cut(connection: Any, limits: QueryLimits, told: str) -> None:
    database = opened(connection)
    with pytest.raises(InvalidRequest, match=told):
        database.fetch(checked(WIDE, database.catalogue().tables), limits)


def test_an_open_transaction_of_sqlite_in_memory_stays_open(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with _connection("sqlite", request, tmp_path) as made:
        made.execute("BEGIN")
        made.execute("INSERT INTO orders VALUES (9, 1, '2024-01-01')")
        database = opened(made)
        database.fetch(checked(COUNT, database.catalogue().tables))
        made.execute("INSERT INTO orders VALUES (10, 1, '2024-01-01')")
        made.execute("ROLLBACK")
        assert made.execute(COUNT).fetchone()[0] == 3


@pytest.mark.parametrize("kind", ["duckdb", "sqlite file", "psycopg"])
def test_an_open_transaction_is_refused_and_stays_open(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with _connection(kind, request, tmp_path) as made:
        if kind != "psycopg":  # it has begun
            made.execute("BEGIN")
        made.execute("INSERT INTO orders VALUES (9, 1, '2024-01-01')")
        with pytest.raises(InvalidRequest, match="open transaction"):
            opened(made).catalogue()
        assert made.execute(COUNT).fetchone()[0] == 4
        made.rollback()


def test_nothing_is_written_even_by_a_query_that_was_not_checked(connection: Any) -> None:
    """The second guard: a session only reads."""
    database = opened(connection)
    with pytest.raises(InvalidRequest):
        database._read("DELETE FROM orders", database.sample(database.catalogue().tables[0], 1).schema, QueryLimits())
    assert database.fetch(checked(COUNT, database.catalogue().tables)).to_pylist() == [{"n": 3}]


def test_values_of_another_type_are_refused_in_sqlite() -> None:
    made = sqlite3.connect(":memory:")
    made.execute(ORDERS)
    made.execute("INSERT INTO orders VALUES (1, 'n/a', '5 Jan 2024')")
    database = opened(made)
    tables = database.catalogue().tables
    with pytest.raises(InvalidRequest, match=r"orders\.amount"):
        database.fetch(checked("SELECT sum(amount) AS a FROM orders", tables))
    with pytest.raises(InvalidRequest, match=r"orders\.placed"):
        database.fetch(checked("SELECT count(*) AS n FROM orders WHERE placed > '2024-01-01'", tables))


def test_what_is_no_connection_is_none_and_nothing_is_imported() -> None:
    before = set(sys.modules)
    assert not any(map(is_connection, (1, "x", object(), sqlite3.Connection, duckdb.sql("SELECT 1"))))
    assert set(sys.modules) == before
