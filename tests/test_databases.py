"""From a connection to an answer of the database: consent, queries and drift on DuckDB, SQLite and PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from autocoder_jupyter import AutoCoderAgent
from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.result import CodeGenEvalResult
from tests.engine.test_databases import CODE, TESTS
from tests.first_answers import joined
from tests.runner import fenced
from tests.scripted_model import ScriptedModel, prompt_of

pytestmark = pytest.mark.local_sandbox

SECRET = "a-password-of-the-shop"
STATEMENTS = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, region VARCHAR(20))",
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id), price DECIMAL(10, 2))",
    "CREATE TABLE audit (who VARCHAR(20))",
    "INSERT INTO customers VALUES (1, 'north'), (2, 'south')",
)
ROWS = "INSERT INTO orders VALUES (1, 1, 10.25), (2, 1, 5.5), (3, 2, 2)"
PLAN = {
    "description": "The revenue of each region.",
    "approach": "Join and sum.",
    "outputs": [{"name": "table", "type": "DataFrame"}],
    "assumptions": [],
}
PROMPT = "The revenue of each region in @shop, from orders and customers."
EXPECTED = {"region": ["north", "south"], "revenue": [15.75, 2.0]}


WITH_AUDIT = CODE.replace("def run(", "def run(audit: pd.DataFrame | None = None, ")


def answer(request: Any) -> str:
    asked = json.dumps(request)
    written = fenced(TESTS) if "You write the tests of one Python function" in asked else fenced(WITH_AUDIT)
    return written if written == fenced(TESTS) else joined(json.dumps(PLAN), written)


def filled(execute: Callable[[str], Any]) -> None:
    for statement in (*STATEMENTS, ROWS):
        execute(statement)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        filled(connection.execute)
        yield connection


@pytest.fixture
def made(tmp_path: Path, shop: duckdb.DuckDBPyConnection) -> Iterator[tuple[CodeGenEvalResult, ScriptedModel]]:
    with ScriptedModel(answer) as model:
        agent = AutoCoderAgent(**model.settings, effort="quick", sandbox="local")
        growth = agent.generate(PROMPT, samples={"shop": shop}, name="growth", journal_root=tmp_path / ".autocode")
        assert growth.success, growth.error
        yield growth, model


def agreed(growth: CodeGenEvalResult, connection: Any) -> CodeGenEvalResult:
    growth.queries_for(connection).agree()
    return growth


def lists(table: pd.DataFrame) -> dict[str, list[Any]]:
    return {name: table[name].tolist() for name in table.columns}


def test_a_function_of_a_database_runs_there_after_a_yes(
    made: tuple[CodeGenEvalResult, ScriptedModel], shop: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    growth, model = made
    asked = prompt_of(model.requests[0])
    assert "customer refers to customers.id" in asked and "primary key: id" in asked
    assert lists(growth.run()) == EXPECTED  # on the samples
    with pytest.raises(InvalidRequest, match="to which you have not agreed") as refused:
        growth.run(shop)
    assert '"main"."orders"' in refused.value.why and "reply growth send shop" in refused.value.hint
    shop.execute("INSERT INTO orders VALUES (4, 2, 100)")
    assert lists(agreed(growth, shop).run(shop)) == {"region": ["north", "south"], "revenue": [15.75, 102.0]}
    few = pd.DataFrame({"id": [1], "customer": [2], "price": [7.0]})
    assert lists(growth.run(orders=few)) == {"region": ["south"], "revenue": [7.0]}

    other = duckdb.connect(str(tmp_path / "other.duckdb"))
    filled(other.execute)
    with pytest.raises(InvalidRequest, match="to which you have not agreed"):
        growth.run(other)
    other.execute("ALTER TABLE orders RENAME COLUMN price TO amount")
    with pytest.raises(DataDrift, match="not as growth needs it"):
        growth.run(other)
    other.execute("DROP TABLE orders")
    with pytest.raises(DataDrift, match="no table orders"):
        growth.run(other)

    lite = sqlite3.connect(tmp_path / "shop.sqlite")
    filled(lite.execute)
    lite.commit()
    with pytest.raises(InvalidRequest, match="to which you have not agreed"):
        growth.run(lite)
    assert lists(agreed(growth, lite).run(lite)) == EXPECTED
    for wrong in (lambda: growth.run(shop, orders=few), lambda: growth.run(orders=shop)):
        with pytest.raises(InvalidRequest, match="A database stands for all tables of growth"):
            wrong()
