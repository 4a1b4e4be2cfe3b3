from __future__ import annotations

import sqlite3

import duckdb

from autocoder_jupyter.databases.connections import is_connection, opened
from autocoder_jupyter.databases.queries import checked

ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, amount DECIMAL(10, 2), placed DATE)"
ROWS = "INSERT INTO orders VALUES (1, 2.5, '2024-01-05'), (2, 3.5, '2024-01-07'), (3, 4, '2024-02-01')"
MONTHS = "SELECT placed AS day, count(*) AS n FROM orders WHERE placed < DATE '2024-02-01' GROUP BY placed ORDER BY day"


def test_a_catalogue_is_read_a_query_is_checked_and_its_rows_come_back() -> None:
    for connection in (duckdb.connect(), sqlite3.connect(":memory:")):
        connection.execute(ORDERS)
        connection.execute(ROWS)
        assert is_connection(connection)
        database = opened(connection)
        tables = database.catalogue().tables
        assert [table.name for table in tables] == ["orders"]
        frame = database.fetch(checked(MONTHS, tables)).to_pandas()
        assert frame["n"].tolist() == [1, 1]
