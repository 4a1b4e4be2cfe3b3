"""Small parts of a sample, and a sample several times as large."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence.code_numbers import largest_number
from autocoder_jupyter.engine.evidence.comparison import (
    FEW_ROWS,
    SMALL_PART,
    Comparer,
    ComparisonOutcome,
    OutputPlace,
    is_rounded_otherwise,
)
from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker
from autocoder_jupyter.engine.evidence.variations import (
    ENLARGED_ROWS,
    Profile,
    VariedSample,
    is_outside,
    larger,
    small_parts,
)
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.choice import choose
from autocoder_jupyter.sandbox.host.pool import shared_pool
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec, Program, Worker, WorkerLimits, WorkerSpec
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.cases import each


def orders(rows: int = 100) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": [f"o{number:03}" for number in range(rows)],
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(rows) // 2, unit="D"),
            "amount": np.tile([1.0, 2.0, 5.0, 9.0], rows // 4),
        }
    )


def test_parts_are_small_keep_the_order_and_are_the_same_each_time() -> None:
    parts = [one["sales"] for one in small_parts({"sales": orders()}, 60)]
    assert len(parts) == 60 and {len(part) for part in parts} <= set(range(3, 21))
    assert all(part["id"].is_monotonic_increasing and part["id"].is_unique for part in parts)
    again = [one["sales"] for one in small_parts({"sales": orders()}, 60)]
    assert all(one.equals(other) for one, other in zip(parts, again, strict=True))


def test_rows_of_other_tables_that_all_match_still_do() -> None:
    payments = pd.DataFrame({"id": ["o001", "o050", "o099"], "paid": [1.0, 2.0, 3.0]})
    for part in small_parts({"sales": orders(), "payments": payments}, 20):
        assert set(part["payments"]["id"]) <= set(part["sales"]["id"])


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_tiny_table_has_no_parts(rows: int) -> None:
    assert list(small_parts({"sales": orders().head(rows)}, 60)) == []


def test_a_larger_sample_keeps_what_is_true_of_every_row() -> None:
    variation = larger({"sales": orders()})
    assert variation is not None and variation.name == "with three times as many rows"
    table = variation.tables["sales"]
    assert len(table) == 300 and table.dtypes.equals(orders().dtypes) and table["id"].is_unique
    assert Profile.of(table) == Profile.of(orders())


def test_it_has_more_rows_than_a_number_in_the_code_within_a_limit() -> None:
    number = largest_number("def run(x):\n    return len(x) > 400", "LIMIT = 7\nFAR = 10**9\nYEAR = 99_999")
    variation = larger({"sales": orders()}, number)
    assert number == 400 and variation is not None and len(variation.tables["sales"]) == 500
    most = larger({"sales": orders()}, 10 * ENLARGED_ROWS)
    assert most is not None and len(most.tables["sales"]) <= ENLARGED_ROWS + 100


def test_rows_that_only_come_again_are_outside_of_the_data() -> None:
    variation = larger({"x": pd.DataFrame({"g": ["a", "b", "a"], "n": [1, 2, 3]})})
    assert variation is not None and variation.name == "if all rows came 3 times" and variation.is_outside


@pytest.mark.parametrize("table", [pd.DataFrame(), pd.Series([1.0]), pd.DataFrame({"a": [1]}, index=["x"])])
def test_what_cannot_be_made_larger_is_not(table: object) -> None:
    assert larger({"x": table}) is None


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine finds the same."""
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.comparison.SECONDS", 300.0)
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.comparison.SEARCH_SECONDS", 120.0)


@pytest.fixture
def workers() -> Iterator[tuple[Worker, Worker]]:
    sandbox = choose("local")
    spec = WorkerSpec(sandbox.build(EnvironmentSpec((), sys.version_info[:2])), WorkerLimits())
    with shared_pool(sandbox).lease(spec) as one, shared_pool(sandbox).lease(spec) as other:
        yield one, other


def compared(
    workers: tuple[Worker, Worker], first: str, second: str, value: float, parts: int = 60
) -> ComparisonOutcome:
    codes = (f"import numpy as np\n\n\ndef run(x):\n    return float({body})\n" for body in (first, second))
    interface = (InputSpec(name="x", type="DataFrame"),), (OutputSpec(name="out", type="float"),)
    sides = [
        SolutionWorker(label, worker, Program(code, *interface))
        for label, worker, code in zip("fs", workers, codes, strict=True)
    ]
    trial = Comparer(sides[0], sides[1], [("out", "out")], VariedSample({"x": orders()}, parts), {}, Redaction("rows"))
    return trial.run({"out": value})


@pytest.mark.local_sandbox
def test_solutions_that_agree_on_the_sample_and_differ_on_a_few_rows_are_told_apart(
    workers: tuple[Worker, Worker],
) -> None:
    first, second = "x['amount'].quantile(0.75)", "x['amount'].quantile(0.75, interpolation='higher')"
    value = float(orders()["amount"].quantile(0.75))
    found = compared(workers, first, f"{second} if 4 < len(x) < 10 else {first}", value)
    on = {tried.name for tried in found.tried if tried.differences}
    assert on == {SMALL_PART} and found.smallest is not None and len(found.smallest.tables["x"]) < 10


@pytest.mark.local_sandbox
def test_a_value_that_only_one_side_has_on_a_few_rows_is_told_and_no_evidence(workers: tuple[Worker, Worker]) -> None:
    first = "x['amount'].mean()"
    found = compared(workers, first, f"{first} if not 4 < len(x) < 21 else np.nan", float(orders()["amount"].mean()))
    (one,) = (tried for tried in found.tried if tried.differences)
    assert one.name == FEW_ROWS and is_outside(one.name) and found.smallest is None


@pytest.mark.local_sandbox
@pytest.mark.parametrize(("off", "differs"), [(0.01, False), (0.02, True)])
def test_rounded_numbers_that_differ_in_the_last_decimal_are_none(
    workers: tuple[Worker, Worker], off: float, differs: bool
) -> None:
    first = "round(x['amount'].mean(), 2)"
    other = f"{first} + ({off} if 2 < len(x) < 21 else 0)"
    found = compared(workers, first, f"round({other}, 2)", float(round(orders()["amount"].mean(), 2)))
    assert (SMALL_PART in {tried.name for tried in found.tried if tried.differences}) is differs


@each(
    ("ones", "others", "otherwise"),
    [
        ([1.23, 1.23, 2.54], [1.22, 1.22, 2.56], True),  # the last one takes what is left
        ([1.23, 1.23, 2.54], [1.22, 1.22, 2.57], False),
        ([1.23, 1.23, 2.54], [1.20, 1.22, 2.58], False),
        ([1.23, 2.5], [1.23, float("nan")], False),
    ],
)
def test_what_is_left_of_a_sum_differs_by_as_much_as_the_rounded_numbers_together(
    ones: list[float], others: list[float], otherwise: bool
) -> None:
    place = OutputPlace(where="out", first="", second="", ones=tuple(ones), others=tuple(others))
    assert is_rounded_otherwise(place) is otherwise


@pytest.mark.local_sandbox
def test_an_error_on_texts_that_were_made_up_is_no_difference(workers: tuple[Worker, Worker]) -> None:
    sum_of_numbers = "x['id'].str[1:].astype(int).sum() * 0 + x['amount'].sum()"
    found = compared(workers, sum_of_numbers, "x['amount'].sum()", float(orders()["amount"].sum()), parts=1)
    assert not any(tried.differences and not is_outside(tried.name) for tried in found.tried)
    assert "the function refuses texts that were made up" in [tried.failed for tried in found.tried]


@pytest.mark.local_sandbox
def test_a_difference_of_one_in_whole_numbers_is_one(workers: tuple[Worker, Worker]) -> None:
    first = "round(x['amount'].sum())"
    found = compared(workers, first, f"{first} + (2 < len(x) < 21)", float(orders()["amount"].sum()))
    assert SMALL_PART in {tried.name for tried in found.tried if tried.differences}


@pytest.mark.local_sandbox
def test_a_branch_for_many_rows_is_entered(workers: tuple[Worker, Worker]) -> None:
    first, second = "x['amount'].sum()", "x['amount'].sum() if len(x) <= 400 else 0"
    found = compared(workers, first, second, float(orders()["amount"].sum()))
    assert {tried.name for tried in found.tried if tried.differences} == {"with many times as many rows"}
    assert found.parts == 60


@pytest.mark.local_sandbox
def test_without_parts_nothing_more_is_tried(workers: tuple[Worker, Worker]) -> None:
    first = "x['amount'].sum()"
    found = compared(workers, first, f"{first} if len(x) <= 400 else 0", float(orders()["amount"].sum()), parts=0)
    assert found.parts == 0 and not any(tried.differences for tried in found.tried)


@pytest.mark.local_sandbox
def test_a_row_that_only_one_side_has_on_a_few_rows_is_a_difference(workers: tuple[Worker, Worker]) -> None:
    """A merge that loses days was green, although the second solution saw it."""
    codes = (
        f"def run(x):\n    days = x.groupby('day', as_index=False)['amount'].sum()\n    return {days}\n"
        for days in ("days", "days[days['day'].dt.day % 7 < 6] if 4 < len(x) < 21 else days")
    )
    interface = (InputSpec(name="x", type="DataFrame"),), (OutputSpec(name="out", type="DataFrame"),)
    one, other = (
        SolutionWorker("", worker, Program(code, *interface)) for worker, code in zip(workers, codes, strict=True)
    )
    trial = Comparer(one, other, [("out", "out")], VariedSample({"x": orders()}, 60), {}, Redaction("rows"))
    found = trial.run({"out": orders().groupby("day", as_index=False)["amount"].sum()})
    (tried,) = (tried for tried in found.tried if tried.differences)
    assert tried.name == SMALL_PART and "only in the function" in tried.differences[0].at and found.smallest is not None
