"""How a function may be split: no wrong kind is accepted for functions whose kinds are known."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.engine.second_opinion.sides import TIME_IS_UP, Answer, TrialEnded
from autocoder_jupyter.engine.second_opinion.variations import stretched
from autocoder_jupyter.engine.splitting.answers import below, deviation, difference
from autocoder_jupyter.engine.splitting.check import SplitCheck
from autocoder_jupyter.engine.splitting.pieces import by_groups, by_rows
from autocoder_jupyter.engine.splitting.tables import MOST_ROWS, large_enough
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import InputSpec, OutputSpec
from autocoder_jupyter.types.split import Split
from tests.engine.splitting_functions import BUILT_WITH, NOT_SEEN, orders

LONG = 3600.0
"""Seconds that no check of these functions takes on any machine."""


def check(expression: str, table: pd.DataFrame, seconds: float = LONG, **more: Any) -> Split:
    """Check the split of a function, which runs here and not in a sandbox."""
    names = ", ".join(["df", *more])
    code = f"import pandas as pd\n\ndef run({names}):\n    return {expression}\n"
    namespace: dict[str, Any] = {}
    exec(code, namespace)

    def ask(inputs: Mapping[str, Any], deadline: float) -> Answer:
        if time.monotonic() > deadline:
            raise TrialEnded(TIME_IS_UP)
        try:
            copies = {name: value.copy() if name == "df" else value for name, value in inputs.items()}
            return Answer({"answer": namespace["run"](**copies)})
        except Exception as error:
            return Answer(error=f"{type(error).__name__}: {error}")

    inputs = (InputSpec(name="df", type="DataFrame"), *(InputSpec(name=name, type="int") for name in more))
    program = Program(code, inputs, (OutputSpec(name="answer", type="DataFrame"),))
    return SplitCheck(ask, program, "answer", {"df": table, **more}, "df", seconds).run()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BUILT_WITH, *NOT_SEEN])
def test_the_freest_kind_that_holds_is_found(name: str) -> None:
    kind, keys, expression = {**BUILT_WITH, **NOT_SEEN}[name]
    found = check(expression, orders(120))
    assert (found.kind, found.keys) == (kind, keys), found
    assert found.complete
    assert bool(found.counterexample) == (kind != "rows")
    assert found.comparisons >= 4 or kind == "whole"


@pytest.mark.slow
def test_a_number_in_an_argument_counts_as_one_in_the_code() -> None:
    assert check("df.head(n)", orders(60), n=700).kind == "merge"
    found = check("df.head(n)", orders(60), n=70_000)
    assert found.kind == "whole"
    assert "has the number 70,000 and counts rows (head)" in found.counterexample


def test_a_key_is_not_taken_for_another_one_with_which_it_goes_together() -> None:
    """In the sample each customer has one address, so groups of the address would pass."""
    found = check("df.groupby('customer').agg(email=('email', 'first'), n=('units', 'sum'))", orders(60))
    assert found.keys == ("customer",)


def test_whether_the_order_of_rows_counts_is_found() -> None:
    table = orders(60)
    assert check("df.groupby('customer')[['units']].first()", table).ordered
    assert not check("df.groupby('customer')[['units']].sum()", table).ordered


def test_the_first_counterexample_is_said_without_values() -> None:
    found = check("df.groupby('region', as_index=False).units.mean()", orders(60))
    assert found.kind == "groups"
    assert found.against["rows"] == "rows: two halves: 4 rows, 8 in pieces"
    assert str(found) == repr(found)
    assert repr(found).startswith("df may be split: whole groups of region; the order of rows does not count; ")


def test_a_whole_that_is_refused_while_its_pieces_are_not_is_a_difference() -> None:
    found = check("1 / 0 if df.order_id.duplicated().any() else df", orders(60))
    assert (found.kind, found.keys) == ("groups", ("order_id",))
    assert "the whole is refused (ZeroDivisionError: division by zero), its pieces are not" in found.against["rows"]


def test_a_function_that_fails_on_the_sample_or_returns_nothing_is_not_split() -> None:
    assert check("1 / 0", orders(20)).counterexample == "on the sample: ZeroDivisionError: division by zero"
    assert "too little could be compared" in check("df.iloc[:0]", orders(20)).against["rows"]


def test_what_was_not_compared_in_time_is_not_accepted() -> None:
    found = check("df", orders(20), seconds=0)
    assert (found.kind, found.complete) == ("whole", False)
    assert found.counterexample == "the check did not end: the time was up"


def test_rows_with_missing_keys_are_never_a_piece_alone() -> None:
    table = pd.DataFrame({"key": ["a", None, "b", None, "b"], "value": range(5)})
    for division in by_groups(table, ["key"]):
        assert sorted(row for piece in division.pieces for row in piece) == [0, 1, 2, 3, 4]
        for piece in division.pieces:
            assert table["key"].iloc[piece].notna().any()
            assert list(piece) == sorted(piece)
    assert not list(by_groups(table.iloc[:2], ["key"]))


@pytest.mark.parametrize("count", [2, 3, 6, 17, 1000, 5000])
def test_each_row_is_in_one_piece(count: int) -> None:
    for division in by_rows(count):
        rows = [row for piece in division.pieces for row in piece]
        assert sorted(rows) == list(range(count))
        assert (rows == sorted(rows)) or not division.in_order


def test_answers_are_compared_by_their_rows_and_not_by_row_numbers_or_the_order_of_groups() -> None:
    one = pd.DataFrame({"k": ["a", "b", "c"], "v": [1.0, 2.0, None]})
    other = pd.DataFrame({"k": ["c", "a", "b"], "v": [None, 1.0 + 1e-13, 2.0]}, index=[7, 8, 9])
    assert difference(one, other, in_order=False) == ""
    assert difference(one, other, in_order=True) == "k: 3 other values in pieces"
    assert difference(one, one.assign(v=[1.0, 2.0, 0.0]), in_order=True) == "v: 1 other value in pieces"
    assert difference(one, one.iloc[:1], in_order=True) == "3 rows, 1 in pieces"
    assert deviation(one, [one, one[["v", "k"]]]) == "the columns come in another order"
    assert deviation(one, [one.iloc[:0].drop(columns="v")]) == "no column v in a piece"
    assert deviation(one, [one, one.assign(w=1)]) == "a new column w in a piece"
    assert list(below([one.iloc[:0], one]).index) == [0, 1, 2]
    assert list(below([one.set_index("k"), one.set_index("k")]).index) == ["a", "b", "c"] * 2


def test_tables_reach_five_times_each_number_of_the_code() -> None:
    assert large_enough("def run(df):\n    return df.head(10_000)\n", [])[0] == 50_001
    assert large_enough("def run(df):\n    return df\n", [1000])[0] == 5_001
    rows, beyond = large_enough("def run(df):\n    return df if len(df) < 1e6 else df.iloc[:1]\n", [])
    assert (rows, "1,000,000" in beyond) == (MOST_ROWS, True)
    assert large_enough("def run(df):\n    return df.assign(a=df.a / 1_000_000)\n", []) == (MOST_ROWS, "")


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", "Float64"])
def test_numbers_of_each_dtype_are_moved_far_outside(dtype: str) -> None:
    table = pd.DataFrame({"units": pd.Series(range(1, 101), dtype=dtype)})
    far = next(one.tables["sales"] for one in stretched({"sales": table}, "sales", 500) if "far outside" in one.name)
    assert str(far["units"].dtype) == dtype and far["units"].abs().max() > 1000
    assert (far["units"] == table["units"]).sum() == 90
