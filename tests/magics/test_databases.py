"""`@name` in a cell can be a connection to a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.agent.databases import with_tables
from autocoder_jupyter.agent.rules import RuleFile
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.databases.connections import opened
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import CodePlan, CodeSolution, OutputSpec

SHOP = """import sqlite3
shop = sqlite3.connect("shop.sqlite")
shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, price REAL)")
shop.executemany("INSERT INTO orders VALUES (?, ?)", [(1, 2.5), (2, 4.0)])
shop.commit()"""
PLAN = CodePlan(description="Total.", approach="Add.", outputs=(OutputSpec(name="table", type="DataFrame"),))
CODE = """from helpers import query


def run(orders=None):
    return query("SELECT SUM(price) AS total FROM orders", orders=orders)
"""


@pytest.fixture
def notebook(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    shell.run(SHOP)
    return shell


def test_a_cell_takes_samples_of_the_tables(notebook: Any, jobs: Any) -> None:
    notebook.run("%%autocode growth\nTotal price of @shop.")
    request = jobs.last.request
    assert request.samples["orders"].to_dict("list") == {"id": [1, 2], "price": [2.5, 4.0]}
    assert [(spec.name, spec.required) for spec in request.inputs] == [("orders", False)]
    (database,) = request.databases
    assert (database.name, database.dialect, database.tables["orders"].is_whole) == ("shop", "sqlite", True)
    assert [one.kind for one in request.helpers.given] == ["built-in"]


def test_a_refinement_keeps_the_database(notebook: Any, jobs: Any) -> None:
    notebook.run("%%autocode growth\nTotal price of @shop.")
    jobs.last.end(plan=PLAN, solution=CodeSolution(code=CODE))
    notebook.run("%%autocode growth --refine\nRound it.")
    request = jobs.last.request
    assert list(request.samples) == ["orders"] and [one.name for one in request.databases] == ["shop"]
    jobs.last.end(plan=PLAN, solution=CodeSolution(code=CODE))
    notebook.run("%%autocode growth --refine\nOnly the last order of @shop.")
    assert [one.name for one in jobs.last.request.helpers.given] == ["query"]


def test_a_yes_names_the_connection_and_shows_what_is_sent(
    notebook: Any, jobs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook.run("%%autocode growth\nTotal price of @shop.")
    jobs.last.end(plan=PLAN, solution=CodeSolution(code=CODE), databases=jobs.last.request.databases)
    growth = notebook.user_ns["growth"]
    with pytest.raises(InvalidRequest, match="send names the connection"):
        notebook.run("%autocode reply growth send")
    assert not growth.queries_for(notebook.user_ns["shop"]).is_agreed
    notebook.run("%autocode reply growth send shop")
    printed = capsys.readouterr().out
    assert "growth would send this to sqlite:" in printed and "send shop yes" in printed
    assert not growth.queries_for(notebook.user_ns["shop"]).is_agreed, "no card has shown this"
    notebook.run("%autocode reply growth send shop yes")
    printed = capsys.readouterr().out
    assert "growth may send this to sqlite:" in printed and 'SUM("orders"."price") AS "total"' in printed
    assert growth.queries_for(notebook.user_ns["shop"]).is_agreed


def test_a_database_is_no_data_of_code_mode_and_no_helper_builds_on_one(notebook: Any, jobs: Any) -> None:
    with pytest.raises(InvalidRequest, match="A sample cannot be a Connection"):
        notebook.run("%%autocode seen --mode tools\nTotal price of @shop.")
    notebook.run("%%autocode growth\nTotal price of @shop.")
    jobs.last.end(plan=PLAN, solution=CodeSolution(code=CODE), databases=jobs.last.request.databases)
    with pytest.raises(InvalidRequest, match="@growth reads a database, so no other function can build on it"):
        notebook.run("%%autocode twice\nTwice @growth of @shop.")


def test_a_house_rule_that_applies_says_which_tables_are_meant(notebook: Any, jobs: Any) -> None:
    for number in range(10):
        notebook.run(f"shop.execute('CREATE TABLE ledger_{'abcdefghij'[number]} (booked REAL)')")
    given = {"shop": opened(notebook.user_ns["shop"])}
    file = RuleFile(Path("autocode.md"), "# Takings\nThe takings are the price of the orders.\n")
    tables, _ = background.run(with_tables(given, ["The takings of @shop."], lambda: [file]))
    assert list(tables) == ["orders"]
    with pytest.raises(InvalidRequest, match="names none of the tables of shop"):
        background.run(with_tables(given, ["The takings of @shop."], list))
