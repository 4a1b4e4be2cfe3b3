"""How a function may be split: no wrong kind is accepted for functions whose kinds are known."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence import split as split_module
from autocoder_jupyter.engine.evidence.code_numbers import (
    LEAST_ROWS,
    SMALL,
    code_with,
    large_enough,
    numbers_in,
    small_numbers,
    value_with,
    with_refused_products,
    with_small_products,
)
from autocoder_jupyter.engine.evidence.pieces import (
    below,
    by_groups,
    by_rows,
    compared_tables,
    deviation,
    difference,
    tied,
)
from autocoder_jupyter.engine.evidence.solution_worker import Answer
from autocoder_jupyter.engine.evidence.split import SplitCheck
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import split_variations
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import InputSpec, OutputSpec
from autocoder_jupyter.types.interface import DeclaredSplit, Split
from tests.engine.splitting_functions import BUILT_WITH, NOT_SEEN
from tests.engine.splitting_functions import orders as made_orders

LONG = 3600.0
"""Seconds that no check of these functions takes on any machine."""


ROWS = DeclaredSplit(input="df", kind="rows")
BY_REGION = DeclaredSplit(input="df", kind="groups", keys=("region",))


def check(
    expression: str, table: pd.DataFrame, seconds: float = LONG, only: DeclaredSplit | None = None, **more: Any
) -> Split:
    """Check the split of a function, which runs here and not in a sandbox."""
    return check_body(f"return {expression}", {"df": table, **more}, seconds, only)


def made_once(make: Callable[..., Iterator[Any]]) -> Callable[..., list[Any]]:
    """The same tables for the same sample; to make them is half of a check. Functions get copies."""
    made: dict[tuple[int, int], tuple[Any, list[Any]]] = {}

    def tables(given: Any, name: str = "", rows: int = 0) -> list[Any]:
        table, arguments = (given[name], (given, name, rows)) if name else (given, (given,))
        if rows > LEAST_ROWS:
            return list(make(*arguments))
        key = (id(table), rows)
        if key not in made:
            if len(made) == 4:
                made.clear()
            made[key] = (table, list(make(*arguments)))
        return made[key][1]

    return tables


COMPARED, TIED = made_once(compared_tables), made_once(tied)
orders = functools.cache(made_orders)


def check_body(body: str, inputs: Mapping[str, Any], seconds: float = LONG, only: DeclaredSplit | None = None) -> Split:
    """Check the split of the first input of a function with this body."""
    table, *more = inputs
    code = f"import pandas as pd\n\ndef run({', '.join(inputs)}):\n    {body}\n"
    functions: dict[str, Any] = {}

    def ask(program: Program, inputs: Mapping[str, Any], limit: TimeLimit) -> Answer:
        if program.code not in functions:
            namespace: dict[str, Any] = {}
            exec(program.code, namespace)
            functions[program.code] = namespace["run"]
        try:
            copies = {name: value.copy() if name == table else value for name, value in inputs.items()}
            answers = functions[program.code](**copies)
            names = [spec.name for spec in program.outputs]
            return Answer(dict(zip(names, answers, strict=True)) if len(names) > 1 else {"answer": answers})
        except Exception as error:
            return Answer(error=f"{type(error).__name__}: {error}")

    specs = (InputSpec(name=table, type="DataFrame"), *(InputSpec(name=name, type="int") for name in more))
    program = Program(code, specs, (OutputSpec(name="answer", type="DataFrame"),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_module, "compared_tables", COMPARED)
        patch.setattr(split_module, "tied", TIED)
        return SplitCheck(ask, program, "answer", inputs, table, TimeLimit(seconds)).run(only)


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
    for number in (700, 70_000, 700_000):
        found = check("df.head(n)", orders(120), n=number)
        assert (found.kind, found.ordered) == ("merge", True)
    assert "with 40 in place of 700,000" in found.counterexample


LIMITS = (
    "df.head(10**5)",
    "df.head(100 * 1000)",
    "df.sample(10**5, random_state=0) if len(df) > 10**5 else df",
    "df if len(df) < 10**4 else df.head(3)",
    "df[:int(3e5)]",
    "df[:300_000]",
    "df[-300_000:]",
    "df.loc[:300_000]",
    "df[df.index < 300_000]",
    "df.query('index < 300_000')",
    "df[df.groupby('region').cumcount() < 300_000]",
    "df[df.amount.rank() <= 300_000]",
    "df if df.order_id.count() < 300_000 else df[:1]",
    "df[df.order_id.isin(sorted(df.order_id.unique())[:10**5])]",
)


@pytest.mark.slow
@pytest.mark.parametrize("expression", LIMITS)
def test_a_number_that_no_table_reaches_is_a_limit_all_the_same(expression: str) -> None:
    """It is tried as a small number."""
    assert check(expression, orders(120), only=ROWS).kind == "whole"


@pytest.mark.slow
@pytest.mark.parametrize("limits", [[100_000], {"rows": [100_000]}], ids=["list", "dict"])
def test_a_number_in_a_list_or_dict_counts_as_well(limits: Any) -> None:
    expression = "df.head(limits[0] if isinstance(limits, list) else limits['rows'][0])"
    assert check(expression, orders(120), limits=limits).kind == "merge"


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression",
    [
        "df[['amount']] / 1_000_000",
        "df[df.amount < 1e6]",
        "df[df.order_id % 1_000_003 != 5]",
        "df.assign(day=pd.to_datetime('20240101') + pd.to_timedelta(df.order_id * 86_400, unit='s'))",
        "df[df.order_id != 20_240_101]",
    ],
)
def test_a_large_number_that_is_no_limit_does_not_count(expression: str) -> None:
    assert check(expression, orders(120), only=ROWS).kind == "rows"


PRODUCTS = [
    "df.head(n * 1000)",
    "df[: 1000 * n]",
    "df.nlargest(n * k, 'amount')",
    "df.head(k**2)",
    "df.take(list(__import__('itertools').islice(range(len(df)), n * 1000)))",
]
"""Limits of which neither the code nor an argument has the number."""


@pytest.mark.slow
@pytest.mark.parametrize("expression", PRODUCTS)
def test_a_limit_that_is_a_product_is_seen(expression: str) -> None:
    found = check(expression, orders(120), n=500, k=900, only=ROWS)
    assert found.kind == "whole", found


@pytest.mark.slow
def test_after_a_limit_that_is_a_product_pieces_are_merged() -> None:
    assert check(PRODUCTS[0], orders(120), n=500).kind == "merge"


@pytest.mark.slow
def test_a_product_that_is_no_limit_does_not_count() -> None:
    assert check("df.assign(x=df.amount * (n * 1000))", orders(120), n=700).kind == "rows"


def test_only_large_products_of_numbers_become_small() -> None:
    code = """'''A module.'''
from __future__ import annotations
size = 100
size *= 60
shape = [size, 30 * 20, -30 * 20, 1000.0 * 1000, 20 * 2, 1.5 * 1001, 'ab' * 2, True * 1, 2**9]
"""
    found: dict[str, Any] = {}
    exec(with_small_products(code, 500, 40), found)
    assert found["shape"] == [44, 41, -41, 51.0, 40, 1501.5, "abab", 1, 41] and found["__doc__"] == "A module."
    assert with_small_products("x = 1 + n", 500, 40) == ""
    with pytest.raises(RuntimeError, match="a large one"):
        exec(with_refused_products(code, 500, "a large one"), {})
    exec(with_refused_products(code, 10**9, "a large one"), {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("few", "only"),
    [("df.assign(x=1)", None), ("df.assign(x=df.groupby('region').units.transform('sum'))", BY_REGION)],
    ids=["rows", "groups"],
)
def test_what_another_number_of_rows_changes_may_not_be_split(few: str, only: DeclaredSplit | None) -> None:
    """All pieces of a large table may be beyond the number, and all those of a small one below it."""
    assert check(f"df.iloc[:0] if len(df) > 5000 else {few}", orders(120), only=only).kind == "whole"
    assert only is None or check(few, orders(120), only=only).kind == "groups"


@pytest.mark.slow
def test_a_column_that_is_left_out_if_it_is_empty_is_not_in_each_piece() -> None:
    assert check("df.dropna(axis=1, how='all')", orders(120)[["region", "units", "amount"]]).kind == "whole"


@pytest.mark.slow
def test_a_column_that_is_left_out_if_it_has_only_zeros_is_not_in_each_piece() -> None:
    table = orders(120)[["region", "units", "amount"]].assign(is_paid=True)
    found = check("df.loc[:, ~(df == 0).all()]", table)
    assert found.kind == "whole" and "if numbers were 0 in one row" in found.counterexample
    assert check("df.assign(share=df.units / df.groupby('region').units.transform('sum'))", table).keys == ("region",)


@pytest.mark.slow
@pytest.mark.parametrize("deviations", [5, 30])
def test_a_limit_in_standard_deviations_is_reached(deviations: int) -> None:
    """One value among a few, or many values far outside, are less of them away from the mean."""
    table = orders(30)
    limit = f"df.units.mean() + {deviations} * df.units.std()"
    assert check(f"df.assign(units=df.units.clip(upper={limit}))", table).kind == "whole"
    assert check(f"df[df.units <= {limit}]", table).kind == "whole"


def test_between_equal_rows_their_order_counts() -> None:
    largest = "df.sort_values('amount', ascending=False, kind='stable').groupby('region').head(3)"
    by_all = "df.sort_values(['amount', 'units', 'email', 'day', 'order_id']).groupby('region').head(3)"
    assert check(largest, orders(120)).ordered and not check(by_all, orders(120)).ordered


def test_pieces_have_the_categories_of_the_whole() -> None:
    """Their codes and their columns would be others if each piece had those of its own rows."""
    sizes = pd.Categorical(["small"] * 40 + ["large"] * 50 + ["huge"] * 30, ["small", "large", "huge"], ordered=True)
    table = orders(120).assign(size=sizes)
    for expression in (
        "df.assign(size=df['size'].cat.codes)[['region', 'size']]",
        "df.assign(large=df['size'] >= 'large')[['region', 'large']]",
        "pd.get_dummies(df['size']).astype(int)",
    ):
        assert check(expression, table, only=ROWS).kind == "rows", expression


def test_a_key_is_not_taken_for_another_one_with_which_it_goes_together() -> None:
    """In the sample each customer has one address, so groups of the address would pass."""
    found = check("df.groupby('customer').agg(email=('email', 'first'), n=('units', 'sum'))", orders(60))
    assert found.keys == ("customer",)


def test_a_piece_has_its_part_of_a_range_with_a_name() -> None:
    """It is an index like any other with a name, and no row numbers."""
    table = orders(120).rename_axis("order")
    for index in (table.index, pd.Index(list(table.index), name="order")):
        indexed = table.set_axis(index)
        for expression, kind in (
            ("df[df.amount > 50]", "rows"),
            ("df.reset_index()[['order', 'units']]", "rows"),
            ("df.reset_index()[['order']] * 2", "rows"),
            ("df.assign(n=range(len(df)))", "whole"),
        ):
            assert check(expression, indexed, only=ROWS).kind == kind, expression


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
    body = "if df.order_id.duplicated().any():\n        raise ValueError('twice')\n    return df"
    found = check_body(body, {"df": orders(60)})
    assert (found.kind, found.keys) == ("groups", ("order_id",))
    assert "the whole is refused (ValueError: twice), its pieces are not" in found.against["rows"]


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
    gap = pd.DataFrame({"k": [None, "nan"], "v": [None, None]})
    assert difference(gap, gap.iloc[::-1], in_order=False) == ""
    assert difference(one, one.assign(v=[1.0, 2.0, 0.0]), in_order=True) == "v: 1 other value in pieces"
    assert difference(one, one.iloc[:1], in_order=True) == "3 rows, 1 in pieces"
    assert deviation(one, [one, one[["v", "k"]]]) == "the columns come in another order"
    assert deviation(one, [one.iloc[:0].drop(columns="v")]) == "no column v in a piece"
    assert deviation(one, [one, one.assign(w=1)]) == "a new column w in a piece"
    assert list(below([one.iloc[:0], one]).index) == [0, 1, 2]
    assert list(below([one.set_index("k"), one.set_index("k")]).index) == ["a", "b", "c"] * 2


def test_tables_reach_five_times_each_number_that_they_can_reach() -> None:
    assert large_enough([10_000, 3]) == 50_001
    assert large_enough([7]) == LEAST_ROWS
    assert large_enough([10_000, 10**6, float("inf"), float("nan")]) == 50_001
    assert small_numbers([10**6, 10_000, -(10**5), 10**6]) == {10**5: SMALL, 10**6: SMALL + 1}


def test_numbers_are_found_and_replaced_in_code() -> None:
    code = (
        "def run(df):\n    return df.head(-10**5).query('a < 100_000 and b1 > 7') / 1e5 + 2 ** 200 + 10 ** 10 ** 10\n"
    )
    assert {10**5, 100_000.0, 7, 2} <= set(numbers_in(code))
    changed = code_with(code, {10**5: 40})
    assert changed == (
        "def run(df):\n    return df.head(-40).query('a < 40 and b1 > 7') / 40.0 + 2 ** 200 + 10 ** 10 ** 10"
    )
    assert value_with({"a": [10**5, -(10**5), "x", True]}, {10**5: 40}) == {"a": [40, -40, "x", True]}


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", "Float64"])
def test_numbers_of_each_dtype_are_moved_far_outside(dtype: str) -> None:
    table = pd.DataFrame({"units": pd.Series(range(1, 101), dtype=dtype)})
    far = next(
        one.tables["sales"] for one in split_variations({"sales": table}, "sales", 500) if "far outside" in one.name
    )
    assert str(far["units"].dtype) == dtype and far["units"].abs().max() > 1000
    assert (far["units"] == table["units"]).sum() == 90


def test_columns_that_cannot_have_missing_values_are_left_as_they_are() -> None:
    bins = pd.IntervalIndex.from_breaks(range(61))
    table = pd.DataFrame({"bin": bins, "units": range(60)})
    assert str(table.dtypes.iloc[0]) == "interval[int64, right]"
    found = list(compared_tables({"sales": table}, "sales", 500))
    assert any(each.tables["sales"]["units"].isna().any() for each in found)
    assert all(each.tables["sales"].dtypes.iloc[0] == table.dtypes.iloc[0] for each in found)
