"""The same tables in DuckDB, SQLite and PostgreSQL, with what engines disagree about."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

CUSTOMERS = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(40), city VARCHAR(40), is_member BOOLEAN, "
    "joined DATE, score DOUBLE PRECISION)"
)
ORDERS = (
    'CREATE TABLE orders (id INTEGER PRIMARY KEY, "CustomerId" INTEGER REFERENCES customers (id), '
    "amount DECIMAL(10, 2), quantity INTEGER, placed DATE, shipped TIMESTAMP, status VARCHAR(20))"
)

_DAY, _TIME = dt.date.fromisoformat, dt.datetime.fromisoformat

CUSTOMER_ROWS: tuple[tuple[Any, ...], ...] = (
    (1, "Ada", "Zürich", True, _DAY("2023-01-31"), 2.5),
    (2, "bob", "berlin", False, _DAY("2023-12-31"), -2.5),
    (3, "Cléo", "Berlin", True, _DAY("2024-02-29"), 0.145),
    (4, "ÉMILE", None, None, None, None),
    (5, "a_b%c\\d", "Århus", False, _DAY("2024-03-01"), 1.115),
    (6, "Zoë*[x]?", "", True, _DAY("2024-12-30"), 3.5),
)
ORDER_ROWS: tuple[tuple[Any, ...], ...] = (
    (1, 1, Decimal("10.50"), 3, _DAY("2024-01-05"), _TIME("2024-01-06 10:00:00"), "paid"),
    (2, 1, Decimal("0.10"), -7, _DAY("2024-01-31"), _TIME("2024-02-01 00:00:00"), "Paid"),
    (3, 2, Decimal("0.20"), 2, _DAY("2024-02-29"), _TIME("2024-02-29 23:59:59.500"), "open"),
    (4, 2, None, 0, _DAY("2024-03-01"), None, "open"),
    (5, 3, Decimal("99.99"), 10, _DAY("2024-12-30"), _TIME("2025-01-01 00:00:00"), None),
    (6, 3, Decimal("-5.25"), None, _DAY("2024-12-31"), _TIME("2024-12-31 12:30:15"), "void"),
    (7, None, Decimal("7.00"), 7, None, _TIME("2024-07-07 07:07:07"), "paid"),
    (8, 5, Decimal("7.00"), 7, _DAY("2024-01-05"), _TIME("2024-01-05 08:00:00"), "paid"),
)


def fill(connection: Any, mark: str, plain: bool = False) -> None:
    """Make the tables, with a mark for parameters; `plain` gives times as texts."""
    connection.execute(CUSTOMERS)
    connection.execute(ORDERS)
    for name, rows in (("customers", CUSTOMER_ROWS), ("orders", ORDER_ROWS)):
        for row in rows:
            values = tuple(_plain(value) for value in row) if plain else row
            connection.execute(f"INSERT INTO {name} VALUES ({', '.join([mark] * len(row))})", values)


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value
