"""A query gives the same rows in each database as in DuckDB, or is refused there."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from autocoder_jupyter.databases.connections import Database, opened
from autocoder_jupyter.databases.queries import checked
from autocoder_jupyter.errors import InvalidRequest
from tests.databases import postgres, shops
from tests.databases.same_queries import QUERIES

ENGINES = ("duckdb", "sqlite", "postgres")


@pytest.fixture(scope="module")
def reference() -> Iterator[Any]:
    """DuckDB, which gets the query as it was written."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        shops.fill(connection, "?")
        yield connection


@pytest.fixture(scope="module")
def databases(socket_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Database]]:
    import psycopg

    own = duckdb.connect()
    shops.fill(own, "?")
    local = sqlite3.connect(tmp_path_factory.mktemp("shops") / "shop.db")
    shops.fill(local, "?", plain=True)
    local.commit()
    with psycopg.connect(host=str(socket_folder), user=postgres.USER, dbname=postgres.DATABASE) as server:
        server.execute("DROP SCHEMA public CASCADE")
        server.execute("CREATE SCHEMA public")
        shops.fill(server, "%s")
        server.commit()
        yield {"duckdb": opened(own), "sqlite": opened(local), "postgres": opened(server)}
    local.close()
    own.close()


@pytest.mark.parametrize(("sql", "refused_by"), QUERIES, ids=[sql[:60] for sql, _ in QUERIES])
def test_a_query_gives_the_rows_of_duckdb_or_is_refused(
    sql: str, refused_by: tuple[str, ...], reference: Any, databases: dict[str, Database]
) -> None:
    expected = reference.sql(sql)
    names, rows = expected.columns, expected.fetchall()
    told = {}
    for engine in ENGINES:
        database = databases[engine]
        query = checked(sql, database.catalogue().tables)
        if engine in refused_by:
            with pytest.raises(InvalidRequest):
                query.to(engine)
            continue
        table = database.fetch(query)
        assert table.column_names == names, engine
        told[engine] = (
            query.to(engine),
            _rows(list(zip(*(column.to_pylist() for column in table.columns), strict=True))),
        )
    ordered = "order by" in sql.rpartition(")")[2].lower()
    for engine, (written, found) in told.items():
        want, got = _rows(rows), found
        if not ordered:
            want, got = sorted(want, key=repr), sorted(got, key=repr)
        assert got == want, f"{engine}: {written}"


def _rows(rows: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(_value(value) for value in row) for row in rows]


def _value(value: Any) -> Any:
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else float(f"{value:.12g}") + 0.0
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value
