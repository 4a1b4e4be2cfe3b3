"""A database in JupyterLab: the card shows the queries, a line agrees to them, and the function runs there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import expect
from tests.engine.test_databases import CODE, TESTS
from tests.first_answers import joined
from tests.runner import fenced

pytestmark = [pytest.mark.browser, pytest.mark.local_sandbox, pytest.mark.usefixtures("extension")]

SHOP = """import sqlite3
shop = sqlite3.connect(":memory:", check_same_thread=False)
shop.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, region TEXT)")
shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id), price REAL)")
shop.executemany("INSERT INTO customers VALUES (?, ?)", [(1, "north"), (2, "south")])
shop.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(1, 1, 10.25), (2, 1, 5.5), (3, 2, 2.0)])
shop.commit()"""
CELL = "%%autocode growth\nThe revenue of each region in @shop."
PLAN = {
    "description": "The revenue of each region.",
    "outputs": [{"name": "table", "type": "DataFrame", "meaning": "a row for each region"}],
    "assumptions": ["Orders without a customer are left out."],
}
ORDERED = CODE.replace(
    "orders: pd.DataFrame | None = None, customers: pd.DataFrame | None = None",
    "customers: pd.DataFrame | None = None, orders: pd.DataFrame | None = None",
)


def said(request: dict[str, Any]) -> str:
    asked = json.dumps(request)
    is_tests = "You write the tests of one Python function" in asked
    return fenced(TESTS) if is_tests else joined(json.dumps(PLAN), fenced(ORDERED))


def test_the_card_shows_the_queries_and_a_yes_lets_them_run(notebook: Open, reply: Reply) -> None:
    reply(said)
    page = notebook(SHOP, CELL, "growth.run(shop)", "%autocode reply growth send shop", "growth.run(shop)")
    for number in (1, 2):
        page.run(number)
    card = page.output(2)
    expect(card).to_contain_text("growth.run(shop)", use_inner_text=True, timeout=90_000)
    expect(card).to_contain_text('SUM("o"."price") AS "revenue"', use_inner_text=True)
    page.page.screenshot(path=str(ARTIFACTS / "database.png"), full_page=True)
    page.run(3)
    expect(page.output(3)).to_contain_text("to which you have not agreed", use_inner_text=True, timeout=60_000)
    for number in (4, 5):
        page.run(number)
    expect(page.output(4)).to_contain_text("growth may send this to sqlite", use_inner_text=True)
    expect(page.output(5)).to_contain_text("15.75", use_inner_text=True, timeout=60_000)
