"""Databases and connections that would make a query read other things than the person's tables."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

from autocoder_jupyter.databases.connections import opened
from autocoder_jupyter.databases.queries import checked
from autocoder_jupyter.databases.reading import QueryLimits
from autocoder_jupyter.errors import InvalidRequest
from tests.databases import postgres


def rows(connection: Any, sql: str) -> list[list[Any]]:
    database = opened(connection)
    return [list(row.values()) for row in database.fetch(checked(sql, database.catalogue().tables)).to_pylist()]


@pytest.mark.parametrize("macro", ["upper(x)", "sum(x)", '"+"(x, y)', "duckdb_tables()"])
def test_a_macro_with_the_name_of_a_function_of_duckdb_is_not_called(macro: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the key")
    read = f"SELECT content FROM read_text('{tmp_path / 'secret'}')"
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as shop:
        shop.execute("CREATE TABLE orders (a VARCHAR)")
        shop.execute(f"CREATE MACRO {macro} AS " + (f"TABLE {read}" if macro.endswith("s()") else f"({read})"))
        with pytest.raises(InvalidRequest, match="of its own"):
            opened(shop)


def test_a_database_of_duckdb_is_the_current_one(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as shop:
        shop.execute("CREATE TABLE orders AS SELECT 1 AS a")
        shop.execute(f"ATTACH '{tmp_path / 'b.duckdb'}' AS b")
        shop.execute("CREATE TABLE b.orders AS SELECT 2 AS a")
        shop.execute("USE b")
        assert rows(shop, "SELECT a FROM orders") == [[2]] and opened(shop).identity.endswith("b.duckdb")
        shop.execute("CREATE SCHEMA b.more")
        shop.execute("CREATE TABLE b.more.orders AS SELECT 3 AS a")
        shop.execute("USE b.more")
        assert rows(shop, "SELECT a FROM orders") == [[3]]


@pytest.mark.parametrize(
    "setting", ["default_null_order = 'nulls_first'", "default_order = 'desc'", "default_collation = 'nocase'"]
)
def test_settings_of_a_connection_do_not_change_an_answer(setting: str) -> None:
    with duckdb.connect() as shop:
        shop.execute("CREATE TABLE orders AS SELECT * FROM (VALUES (1, 'a'), (3, 'A'), (NULL, 'b')) t (n, s)")
        shop.execute(f"SET {setting}")
        before = shop.sql("SELECT n FROM orders ORDER BY n").fetchall()
        assert rows(shop, "SELECT n FROM orders ORDER BY n LIMIT 1") == [[1]]
        assert rows(shop, "SELECT n FROM orders WHERE s = 'a'") == [[1]]
        assert shop.sql("SELECT n FROM orders ORDER BY n").fetchall() == before


def test_texts_with_a_collation_are_not_read() -> None:
    for connection in (duckdb.connect(), sqlite3.connect(":memory:", check_same_thread=False)):
        connection.execute("CREATE TABLE people (id INTEGER, name VARCHAR(9) COLLATE NOCASE)")
        connection.execute("CREATE VIEW names AS SELECT id, name FROM people")
        for table in opened(connection).catalogue().tables:
            assert [column.type != "" for column in table.columns] == [True, False], table
        connection.close()


def test_changes_that_are_not_committed_are_not_ignored(tmp_path: Path) -> None:
    with duckdb.connect() as shop:
        shop.execute("CREATE TABLE orders AS SELECT 1 AS a")
        shop.execute("BEGIN")
        shop.execute("INSERT INTO orders VALUES (2)")
        with pytest.raises(InvalidRequest, match="open transaction"):
            opened(shop)
        shop.execute("COMMIT")
        assert rows(shop, "SELECT a FROM orders") == [[1], [2]]
    lite = sqlite3.connect(tmp_path / "shop.sqlite")
    lite.execute("CREATE TABLE orders (a INTEGER)")
    lite.execute("INSERT INTO orders VALUES (1)")
    with pytest.raises(InvalidRequest, match="open transaction"):
        opened(lite)
    lite.commit()
    assert rows(lite, "SELECT a FROM orders") == [[1]]
    lite.close()


def test_an_engine_is_the_database_to_which_it_connects(socket_folder: Path, postgres_url: str) -> None:
    import psycopg
    from sqlalchemy import create_engine, text

    def at(name: str) -> Any:
        return create_engine(
            "postgresql+psycopg://",
            creator=lambda: psycopg.connect(host=str(socket_folder), user=postgres.USER, dbname=name),
        )

    assert opened(at("postgres")).identity.endswith(f"{socket_folder}:5432/postgres")
    assert opened(at(postgres.DATABASE)).identity == opened(create_engine(postgres_url)).identity
    with create_engine(postgres_url).connect() as connection:
        connection.execute(text("CREATE TABLE not_committed (a INTEGER)"))
        with pytest.raises(InvalidRequest, match="open transaction"):
            opened(connection)


def test_a_query_that_the_server_stops_in_time_is_told_as_too_long(postgres_url: str) -> None:
    from sqlalchemy import create_engine, text

    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE VIEW slow AS SELECT 1 AS a, pg_sleep(60)::text AS s"))
    database = opened(engine)
    try:
        with pytest.raises(InvalidRequest, match="stopped after"):
            database.fetch(checked("SELECT s FROM slow", database.catalogue().tables), QueryLimits(seconds=0.4))
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP VIEW slow"))
        engine.dispose()


def test_a_view_in_a_file_of_duckdb_that_reads_more_than_tables_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    (tmp_path / "secret.csv").write_text("key\n1\n")
    with duckdb.connect(str(file)) as shop:
        shop.execute("CREATE TABLE orders (a INTEGER, s VARCHAR)")
        shop.execute(f"CREATE MACRO leak() AS (SELECT key FROM '{tmp_path / 'secret.csv'}')")
        for name, query in {
            "fine": "WITH x AS (SELECT a FROM orders) SELECT a, upper('s') AS s FROM x",
            "also_fine": "SELECT a FROM fine JOIN orders USING (a)",
            "a_text": f"SELECT * FROM read_text('{tmp_path / 'secret.csv'}')",
            "a_file": f"SELECT * FROM '{tmp_path / 'secret.csv'}'",
            "a_macro": "SELECT leak() AS a",
            "a_variable": "SELECT current_setting('TimeZone') AS a",
            "indirect": "SELECT content FROM a_text",
        }.items():
            shop.execute(f"CREATE VIEW {name} AS {query}")
        found = {table.name for table in opened(shop).catalogue().tables}
        assert found == {"orders", "fine", "also_fine"}
    with duckdb.connect() as own:
        own.execute(f"CREATE VIEW mine AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
        assert [table.name for table in opened(own).catalogue().tables] == ["mine"]


def test_a_view_of_sqlite_that_cannot_be_read_does_not_hide_the_tables(tmp_path: Path) -> None:
    lite = sqlite3.connect(tmp_path / "shop.sqlite")
    lite.execute("CREATE TABLE orders (a INTEGER)")
    lite.execute("CREATE VIEW broken AS SELECT a FROM missing")
    lite.execute("CREATE VIEW loads AS SELECT load_extension('x.so') AS a")
    assert [table.name for table in opened(lite).catalogue().tables] == ["orders"]
    lite.close()


def test_a_value_of_another_type_is_told_with_its_table(tmp_path: Path) -> None:
    lite = sqlite3.connect(tmp_path / "shop.sqlite")
    lite.execute("CREATE TABLE orders (a INTEGER)")
    lite.execute("INSERT INTO orders VALUES ('n/a')")
    lite.commit()
    database = opened(lite)
    with pytest.raises(InvalidRequest, match="first rows of orders") as told:
        database.sample(database.catalogue().tables[0], 5)
    assert "'n/a' is not a number" in told.value.why and "a view" in told.value.hint
    lite.close()


def test_a_closed_connection_is_told(psycopg_connection: Any) -> None:
    psycopg_connection.close()
    with pytest.raises(InvalidRequest, match="cannot be used"):
        opened(psycopg_connection)
