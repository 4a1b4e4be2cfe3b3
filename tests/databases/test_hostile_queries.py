from __future__ import annotations

import time

import pytest

from autocoder_jupyter.databases.catalogue import CatalogueColumn, CatalogueTable
from autocoder_jupyter.databases.queries import checked
from autocoder_jupyter.errors import InvalidRequest
from tests.databases.hostile import HOSTILE

TABLES = (
    CatalogueTable(
        "orders",
        "main",
        (CatalogueColumn("id", "INTEGER"), CatalogueColumn("status", "VARCHAR"), CatalogueColumn("amount", "DOUBLE")),
    ),
    CatalogueTable("customers", "main", (CatalogueColumn("id", "INTEGER"), CatalogueColumn("name", "VARCHAR"))),
)


@pytest.mark.parametrize("sql", HOSTILE, ids=[f"{number}: {sql[:40]!a}" for number, sql in enumerate(HOSTILE)])
def test_what_does_more_than_read_tables_is_refused_with_a_short_reason(sql: str) -> None:
    began = time.process_time()
    with pytest.raises(InvalidRequest) as raised:
        checked(sql, TABLES)
    assert len(str(raised.value)) < 800
    assert time.process_time() - began < 5


def test_comments_and_hints_are_not_written() -> None:
    query = checked("SELECT /*+ hint */ id -- DELETE\nFROM orders /* x */", TABLES)
    for dialect in ("duckdb", "sqlite", "postgres"):
        assert "hint" not in query.to(dialect)
        assert "--" not in query.to(dialect)
        assert "/*" not in query.to(dialect)
