from __future__ import annotations

import duckdb

from autocoder_jupyter.databases.catalogue import (
    MOST_CHARACTERS,
    Catalogue,
    CatalogueColumn,
    CatalogueTable,
    ForeignKey,
    chosen,
)
from autocoder_jupyter.databases.connections import opened

MANY = tuple(CatalogueTable(f"log_{n}", "main", (CatalogueColumn("id", "INTEGER"),)) for n in range(60))
REGIONS = CatalogueTable("regions", "main", (CatalogueColumn("id", "INTEGER"), CatalogueColumn("title", "VARCHAR")))
SALES = CatalogueTable(
    "SalesOrders",
    "main",
    (CatalogueColumn("region_id", "INTEGER"), CatalogueColumn("net", "DOUBLE", comment="revenue without returns")),
    foreign_keys=(ForeignKey(("region_id",), "main", "regions", ("id",)),),
)


def test_the_tables_that_a_request_names_come_first_then_what_they_refer_to() -> None:
    for request in ("orders of each month", "the revenue by month"):
        found = chosen(Catalogue((*MANY, REGIONS, SALES)), [request], most=4)
        assert [table.name for table in found.tables[:2]] == ["SalesOrders", "regions"]
        assert len(found.tables) + len(found.others) == 62


def test_a_small_catalogue_is_chosen_as_a_whole() -> None:
    assert chosen(Catalogue((REGIONS, SALES)), ["anything"]).tables == (REGIONS, SALES)


def test_comments_are_short_and_names_that_hide_characters_are_left_out() -> None:
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE good (a INTEGER, "b\u202e" INTEGER); CREATE TABLE "bad\u200b" (a INTEGER)')
        connection.execute(f"COMMENT ON TABLE good IS 'one\n\x1b[31m{'x' * 2_000}'")
        catalogue = opened(connection).catalogue()
    (table,) = catalogue.tables
    assert catalogue.left_out == 1
    assert [column.name for column in table.columns] == ["a"]
    assert len(table.comment) == MOST_CHARACTERS
    assert table.comment.startswith("one\\n\\x1b")
