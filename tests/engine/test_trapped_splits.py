"""No function is split whose trap only a late file has, and right ones still are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence.pieces import below, by_numbers, difference
from autocoder_jupyter.engine.evidence.ways import watched, way_of
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import InputSpec, OutputSpec
from autocoder_jupyter.types.interface import Split
from tests.engine.test_splitting import check_body
from tests.engine.trapped_functions import FILES, HONEST, ROWS, TRAPPED, TRAPPED_FUNCTIONS, orders

SAMPLE = orders(ROWS, 0).iloc[:200]


def run(body: str, table: pd.DataFrame) -> Any:
    namespace: dict[str, Any] = {}
    exec(f"import pandas as pd\n\ndef run(sales):\n    {body}\n", namespace)
    return namespace["run"](table)


def in_pieces(body: str, table: pd.DataFrame, files: Any, split: Split) -> Any:
    """The answer from pieces: files, or groups of the keys that are as many."""
    numbers = files if split.kind != "groups" else np.arange(len(table)) % FILES
    (division,) = by_numbers(table, numbers, split.keys)
    together = below([run(body, table.iloc[rows].reset_index(drop=True)) for rows in division.pieces])
    return run(body, together) if split.kind == "merge" else together


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAPPED_FUNCTIONS)
def test_a_trap_in_a_late_file_gives_no_other_answer(name: str) -> None:
    body, trap = TRAPPED_FUNCTIONS[name]
    split = check_body(body, {"sales": SAMPLE})
    assert split.complete
    if split.kind == "whole":
        assert split.counterexample
        return
    tables = [orders(ROWS, number) for number in range(FILES)]
    tables[TRAPPED] = trap(tables[TRAPPED])
    table, files = pd.concat(tables, ignore_index=True), np.repeat(np.arange(FILES), ROWS)
    assert difference(run(body, table), in_pieces(body, table, files, split), in_order=split.kind == "rows") == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_a_right_function_is_split(name: str) -> None:
    assert check_body(HONEST[name], {"sales": SAMPLE}).kind != "whole"


def conditions(body: str) -> list[str]:
    program = Program(
        f"import pandas as pd\n\ndef run(sales, limit=3):\n    {body}\n",
        (InputSpec(name="sales", type="DataFrame"),),
        (OutputSpec(name="answer", type="DataFrame"),),
    )
    return [one.text for one in watched(program, ["sales"]).conditions.values()]


@pytest.mark.parametrize(
    "condition",
    [
        "sales.empty",
        "len(sales) == 0",
        "'x' in sales.columns",
        "sales['price'].dtype == object",
        "pd.api.types.is_numeric_dtype(sales['price'])",
        "limit > 2",
        "isinstance(sales, pd.DataFrame)",
    ],
)
def test_what_is_the_same_in_each_piece_is_no_condition(condition: str) -> None:
    assert conditions(f"return 1 if {condition} else 2") == []


@pytest.mark.parametrize(
    "condition",
    [
        "sales['price'].isna().any()",
        "len(sales) > 5",
        "sales[sales['units'] > 3].empty",
        "sales.pivot(columns='region').columns.size > 2",
        "pd.to_numeric(sales['price'], errors='ignore').dtype == object",
        "sales['region'].nunique() > limit",
    ],
)
def test_what_depends_on_the_rows_is_one(condition: str) -> None:
    assert len(conditions(f"return 1 if {condition} else 2")) == 1


def test_a_watched_function_tells_its_way_and_answers_the_same() -> None:
    body = (
        "if sales['units'].max() > 100:\n        return 'large'\n"
        "    return [max(3, n) for n in sales['units'] if n > 1]"
    )
    program = Program(
        f"'''A module.'''\nfrom __future__ import annotations\n\ndef run(sales):\n    {body}\n",
        (InputSpec(name="sales", type="DataFrame"),),
        (OutputSpec(name="answer", type="DataFrame"),),
    )
    namespace: dict[str, Any] = {}
    exec(watched(program, ["sales"]).program.code, namespace)
    answer, told = namespace["run"](pd.DataFrame({"units": [1, 2, 5]}))
    way = way_of(told)
    assert answer == [3, 5]
    assert sorted(map(dict, way.values()), key=str) == [{0: 1, 1: 1}, {0: 1, 1: 2}, {0: 1}]
