"""The trial of a second opinion: comparing, varying, reducing, recording; both solutions run in the local sandbox."""

from __future__ import annotations

import math
import pathlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence.comparison import (
    BOTH_EMPTY,
    LONGEST_TEXT,
    Compared,
    Comparer,
    ComparisonOutcome,
    FoundPlace,
    OpenPlace,
    TriedVariation,
    Uncompared,
    compared_outputs,
)
from autocoder_jupyter.engine.evidence.second_opinion import Findings
from autocoder_jupyter.engine.evidence.small_inputs import (
    SmallInput,
    cells,
    dtypes,
    is_synthetic,
    simplified,
    smallest,
    table_source,
    value_forms,
)
from autocoder_jupyter.engine.evidence.solution_worker import SolutionStopped, SolutionWorker, answers_of_both
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import ROWS, Variation, VariedSample, variations
from autocoder_jupyter.equality import INDEPENDENT, equal
from autocoder_jupyter.equality.tables import matched_columns
from autocoder_jupyter.errors import SandboxCrash, SandboxError
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.choice import choose
from autocoder_jupyter.sandbox.host.pool import shared_pool
from autocoder_jupyter.sandbox.protocol import CallOutcome, EnvironmentSpec, Program, Worker, WorkerLimits, WorkerSpec
from autocoder_jupyter.types import InputSpec, OutputSpec, TypeName
from tests.cases import each


def compared(one: object, other: object) -> Compared:
    return compared_outputs({"out": one}, {"out": other}, [("out", "out")])


def same(one: object, other: object) -> bool:
    return equal(one, other, INDEPENDENT)


@each(
    ("one", "other"),
    [
        (3, 3.0),
        (0.1 + 0.2, 0.3),
        (np.float32(0.5), 0.5),
        (None, math.nan),
        (pd.NaT, None),
        ("2024-03-01", pd.Timestamp("2024-03-01")),
        (33.33, 33.3333333),
        (4.9, 4.9033333),
        (math.inf, math.inf),
    ],
)
def test_values_that_say_the_same_are_the_same(one: Any, other: Any) -> None:
    assert same(one, other) and same(other, one)


@each(
    ("one", "other"),
    [(3, 4), (3.0, 3.25), (0.1, 0.11), (True, 1), ("a", "A"), (None, 0), ("2024-03", "2024-04"), (33.33, 33.34)],
)
def test_values_that_differ_are_not_taken_for_rounded_ones(one: object, other: float | int | str) -> None:
    assert not same(one, other) and not same(other, one)


class Meeting:
    """A worker whose call waits for a call of the other one."""

    alive, processor_seconds = True, 0.0

    def __init__(self, meeting: threading.Barrier) -> None:
        self.meeting = meeting
        self.is_done = False

    def call(self, *_: object) -> Any:
        self.meeting.wait(60)
        self.is_done = True
        return CallOutcome({"out": 1}, {}, (), "", "", 0.0)


def test_both_sides_answer_at_the_same_time_and_are_waited_for() -> None:
    meeting = threading.Barrier(2)
    workers: list[Any] = [Meeting(meeting), Meeting(meeting)]
    sides = [SolutionWorker("", worker, Program("", (), ())) for worker in workers]
    ours, theirs = answers_of_both(sides[0], sides[1], {}, TimeLimit(60))
    assert ours.values == theirs.values == {"out": 1}

    class Gone(Meeting):
        alive = False

        def call(self, *_: object) -> Any:
            self.meeting.wait(60)
            raise SandboxCrash("It ended.")

    workers[0].is_done = False
    gone: Any = Gone(meeting)
    with pytest.raises(SolutionStopped, match="the second solution was stopped"):
        answers_of_both(sides[0], SolutionWorker("the second solution", gone, Program("", (), ())), {}, TimeLimit(60))
    assert workers[0].is_done


MONTHLY = pd.DataFrame(
    {"month": pd.to_datetime(["2024-01-01", "2024-02-01"]), "revenue": [1.0, 3.0], "growth": [None, 2.0]}
)


def test_frames_are_aligned_by_what_names_a_row_whatever_the_order_and_the_names_of_columns() -> None:
    other = pd.DataFrame({"Month": ["2024-02-01", "2024-01-01"], "total_revenue": [3, 1], "growth_rate": [2.0, None]})
    found = compared(MONTHLY, other)
    assert not found.places and not found.not_compared


def test_a_difference_in_a_column_names_row_both_values_and_how_many() -> None:
    (difference,) = compared(MONTHLY, MONTHLY.assign(growth=[None, 0.5])).places  # type: ignore[list-item]
    assert (difference.where, difference.at) == ("out.growth", "2024-02-01")
    assert (difference.first, difference.second, difference.count, difference.of) == ("2", "0.5", 1, 2)


def test_rows_that_only_one_side_has_are_told() -> None:
    (place,) = compared([[1.5, 2.0], [3.0]], [[1.5, 2.0], [4.0]]).places
    assert place.where == "out[2]" and place.at == "entry 1"
    (place,) = compared(pd.DataFrame({"v": [1.5, 2.5]}), pd.DataFrame({"v": [1.5, 9.5]})).places
    assert place.at == "row 2"
    (difference,) = compared(MONTHLY, MONTHLY.iloc[1:]).places
    assert (difference.first, difference.second) == ("2 rows", "1 rows")
    assert difference.at == "2024-01-01 only in the function"


def test_a_column_without_a_counterpart_is_not_compared_and_said() -> None:
    found = compared(MONTHLY.assign(note="x", flag=True), MONTHLY)
    assert not found.places
    assert found.not_compared == [(f"out.{name}", "no such column in the second solution") for name in ("note", "flag")]


def test_columns_of_one_kind_are_told_apart_by_what_is_in_them() -> None:
    one = pd.DataFrame({"k": ["a", "b"], "x": [1.0, 2.0], "y": [5.0, 6.0]})
    other = pd.DataFrame({"k": ["a", "b"], "first": [5.0, 6.0], "second": [1.0, 2.0]})
    assert matched_columns(one, other, INDEPENDENT) == {"k": "k", "x": "second", "y": "first"}


def test_dicts_lists_and_files_are_compared_too(tmp_path: pathlib.Path) -> None:
    nested = compared_outputs({"o": {"a": 1, "b": [1, 2]}}, {"o": {"a": 2, "b": [1, 2, 3]}}, [("o", "o")])
    assert [difference.where for difference in nested.places] == ["o.a", "o.b"]
    for name, text in (("one", "a\nb"), ("other", "a\nc")):
        (tmp_path / name).write_text(text)
    (difference,) = compared(tmp_path / "one", tmp_path / "other").places
    assert (difference.at, difference.first, difference.second) == ("entry 2", "b", "c")


def test_what_is_of_another_kind_is_not_compared() -> None:
    assert compared(3, "much").not_compared == [("out", "int here, str there")]
    assert compared(MONTHLY, 3).not_compared == [("out", "DataFrame here, int there")]


@each("empty", [{}, [], pd.DataFrame({"a": []}), pd.Series([], dtype="float64")])
def test_two_empty_outputs_have_no_value_that_was_compared(empty: Any) -> None:
    found = compared(empty, empty)
    assert found.outputs == [] and found.not_compared == [("out", BOTH_EMPTY)] and not found.places


def test_a_table_of_names_alone_is_compared_by_its_rows() -> None:
    names = pd.DataFrame({"who": ["a", "b", "c", "d"]})
    assert compared(names, names.iloc[::-1]).outputs == ["out"]
    (place,) = compared(names, names.iloc[1:]).places
    assert place.at == "a only in the function"
    only_key = compared(names.assign(note="x"), names)
    assert only_key.outputs == [] and only_key.not_compared


def every_dtype(rows: int = 50) -> pd.DataFrame:
    numbers = np.arange(rows)
    return pd.DataFrame(
        {
            "i": numbers.astype("int32"),
            "I": pd.array(numbers, dtype="Int64"),
            "f": numbers / 2,
            "s": [f"s{n % 3}" for n in numbers],
            "o": pd.Series([f"o{n}" for n in numbers], dtype=object),
            "c": pd.Categorical([f"c{n % 2}" for n in numbers]),
            "t": pd.date_range("2024-01-01", periods=rows, tz="Europe/Berlin"),
            "d": pd.to_timedelta(numbers, unit="h"),
            "b": numbers % 2 == 0,
        }
    )


def by_name(**tables: Any) -> dict[str, Variation]:
    return {variation.name: variation for variation in variations(tables)}


def test_variations_keep_every_dtype_and_are_the_same_each_time() -> None:
    frame = every_dtype()
    once, again = by_name(x=frame), by_name(x=frame)
    assert list(once) == list(again) and len(once) >= 7
    for name, variation in once.items():
        changed = ["i"] if name == "beyond the profile, with missing values" else []
        kept = frame.drop(columns=changed)
        assert variation.tables["x"].drop(columns=changed).dtypes.equals(kept.dtypes), name
        pd.testing.assert_frame_equal(variation.tables["x"], again[name].tables["x"])
    assert once["beyond the profile, with missing values"].tables["x"].drop(columns=["b"]).isna().any().all()
    assert once["with one s only"].tables["x"]["s"].nunique() == 1
    assert len(once["beyond the profile, with a stretch left out"].tables["x"]) == 40


def test_variations_of_large_tables_are_small_and_of_empty_ones_none() -> None:
    tables = {"x": pd.DataFrame({"a": range(5 * ROWS)}), "lookup": pd.DataFrame({"a": [1]})}
    assert all(len(variation.tables["x"]) <= ROWS * 1.2 for variation in variations(tables))
    assert list(variations({"x": pd.DataFrame({"a": []})})) == [] == list(variations({}))


KEYED = pd.DataFrame({"id": range(20), "shop": ["a", "b"] * 10, "price": np.arange(20) % 7 + 0.5})


def test_a_variation_that_the_data_rule_out_says_if_and_comes_last() -> None:
    names = list(by_name(x=KEYED))
    beyond = ("with a key that comes twice", "with missing values")
    outside = ["if the rows came in another order", *(f"beyond the profile, {name}" for name in beyond)]
    assert names[-3:] == outside and not any(name.startswith("if ") for name in names[:-3])
    free = pd.DataFrame({"shop": ["a", "b", "a", None], "price": [1.5, None, 2.5, 1.5]})
    names = list(by_name(x=pd.concat([free] * 3, ignore_index=True)))
    assert {"with shuffled rows", "with doubled rows", "with more missing values"} <= set(names)
    assert not any(name.startswith("if ") for name in names)


def test_each_table_is_varied_in_turn_also_so_that_a_join_has_no_match() -> None:
    shops = pd.DataFrame({"shop": ["a", "b"], "city": ["X", "Y"]})
    made = by_name(sales=KEYED, shops=shops)
    assert {"with half of the rows of sales", "with half of the rows of shops"} <= set(made)
    lonely = made["if rows of sales had no match in shops"].tables
    assert list(lonely["shops"]["shop"]) == ["b"] and len(lonely["sales"]) == 20
    more = by_name(sales=KEYED.assign(shop=["a", "b", "z", "b"] * 5), shops=shops)
    assert "with fewer matches in shops" in more


def test_there_are_two_rows_and_values_that_are_all_alike_and_none_says_nothing() -> None:
    made = by_name(x=KEYED)
    assert len(made["with two rows"].tables["x"]) == 2
    alike = made["with all values alike"].tables["x"]
    assert alike["price"].nunique() == 1 and alike["id"].is_unique
    tables = [variation.tables["x"] for variation in made.values()]
    assert all(not one.equals(other) for at, one in enumerate(tables) for other in [KEYED, *tables[:at]])
    one_each = pd.DataFrame({"who": ["a", "b", "c"], "n": [1.5, 2.5, 3.5]})
    assert "with one who only" not in by_name(x=one_each)


def test_two_columns_that_identify_a_row_together_are_not_made_alike() -> None:
    months = [f"2024-0{month}" for month in range(1, 7)]
    rates = pd.DataFrame({"month": months * 2, "currency": ["USD"] * 6 + ["GBP"] * 6, "rate": np.arange(12) / 10 + 1})
    alike = by_name(x=rates)["with all values alike"].tables["x"]
    assert alike["rate"].nunique() == 1 and not alike.duplicated(["month", "currency"]).any()
    twice = pd.concat([rates, rates.iloc[:1]], ignore_index=True)
    few = pd.DataFrame({"month": (months * 2)[:8], "team": list("aabbccdd"), "n": np.arange(8) / 10})
    for by_chance in (twice, few):
        assert by_name(x=by_chance)["with all values alike"].tables["x"]["month"].nunique() == 1


def test_the_smallest_input_has_only_the_rows_that_matter_and_made_up_values() -> None:
    frame = pd.DataFrame({"name": ["Ada", "Bo", "Cy", "Di"] * 50, "salary": np.arange(200) + 1234.5})

    def differs(tables: Mapping[str, pd.DataFrame]) -> bool:
        return bool(tables["x"]["name"].duplicated().any())

    rows = smallest({"x": frame}, differs)
    tables = simplified(rows, differs)
    assert tables["x"].to_dict("list") == {"name": ["a", "a"], "salary": [1.0, 1.0]}
    assert [is_synthetic(tables["x"][name]) for name in ("name", "salary")] == [True, True]


def test_a_column_whose_own_values_matter_keeps_them_and_is_not_made_up() -> None:
    frame = pd.DataFrame({"code": ["EU-1", "US-2"], "n": [7, 8]})
    small = simplified({"x": frame}, lambda tables: tables["x"]["code"].str.startswith("EU").any())["x"]
    assert not is_synthetic(small["code"]) and is_synthetic(small["n"]) and list(small["n"]) == [1, 1]


def test_every_form_of_a_made_up_value_is_recognised_and_values_of_the_data_are_not() -> None:
    frame = every_dtype(5)
    for column in (frame[name] for name in frame.columns.drop(["c", "b"])):
        for form in value_forms(column.dtype):
            assert is_synthetic(pd.Series([form(n) for n in (2, 0, 1, 0)]).astype(column.dtype)), column.name
        assert is_synthetic(pd.Series([None, None], dtype="object")) and is_synthetic(frame["b"])
    for own in ([34, 51], ["Ada", "Bo"], [1.5, 2.5], ["a", "c"], [10, 20, 31], [[1], [2]], [True, "a"], [2, 3]):
        assert not is_synthetic(pd.Series(own, dtype=object if isinstance(own[0], list | bool) else None)), own
    assert not is_synthetic(pd.Series(pd.to_datetime(["2024-01-01", "2024-01-03"])))


def test_a_small_table_is_written_down_exactly() -> None:
    frame = every_dtype(2).drop(columns=["d"])
    found = cells(frame)
    assert found is not None
    pd.testing.assert_frame_equal(eval(table_source(found, dtypes(frame), frame), {"pd": pd}), frame)
    series = pd.Series([1, None], dtype="Int64", name="x")
    assert table_source([[1, None]], ["Int64"], series) == "pd.Series([1, None], dtype='Int64', name='x')"
    assert cells(series) == [[1, None]]
    assert cells(pd.DataFrame({"a": [math.inf]})) is None and cells(pd.DataFrame([[1, 2]], columns=["a", "a"])) is None
    assert cells(frame.set_index("s")) is None and cells(pd.DataFrame({"a": range(1000)})) is None


@each("dtype", ["Sparse[int64, 0]", "Sparse[float64, nan]", pd.SparseDtype("float64", 7.5)], ids=str)
@each("kind", [pd.Series, pd.DataFrame])
def test_a_sparse_table_is_not_written_down_because_its_dtype_tells_a_value(kind: Any, dtype: Any) -> None:
    plain = kind({"a": [0, 1]} if kind is pd.DataFrame else [0, 1])
    sparse = plain.astype(dtype)
    assert cells(sparse) is None and cells(plain) is not None


@pytest.fixture(scope="module")
def workers() -> Iterator[tuple[Worker, Worker]]:
    sandbox = choose("local")
    spec = WorkerSpec(sandbox.build(EnvironmentSpec((), sys.version_info[:2])), WorkerLimits())
    pool = shared_pool(sandbox)
    with pool.lease(spec) as one, pool.lease(spec) as other:
        yield one, other


BODY = "import pandas as pd\n\n\ndef run(x):\n    return {}\n"


def program(code: str, kind: TypeName) -> Program:
    inputs = (InputSpec(name="x", type="DataFrame"),)
    return Program(code if "\n" in code else BODY.format(code), inputs, (OutputSpec(name="out", type=kind),))


@pytest.fixture
def trial(workers: tuple[Worker, Worker]) -> Callable[..., ComparisonOutcome]:
    def run(
        first: str, second: str, frame: pd.DataFrame, kind: TypeName, other: TypeName | None = None
    ) -> ComparisonOutcome:
        sides = (
            SolutionWorker("f", workers[0], program(first, kind)),
            SolutionWorker("s", workers[1], program(second, other or kind)),
        )
        verified: dict[str, Any] = {}
        with suppress(SandboxError):
            verified = dict(workers[0].call(sides[0].program, {"x": frame}).values)
        tested = Comparer(*sides, [("out", "out")], VariedSample({"x": frame}), {}, Redaction("rows"))
        return tested.run(verified or {"out": None})

    return run


def found_on(outcome: ComparisonOutcome) -> dict[str, tuple[FoundPlace, ...]]:
    return {tried.name: tried.differences for tried in outcome.tried if tried.differences}


Trying = Callable[..., ComparisonOutcome]


@pytest.mark.local_sandbox
def test_solutions_that_differ_only_on_ties_are_told_apart_by_shuffled_rows(trial: Trying) -> None:
    frame = pd.DataFrame({"who": ["a", "b", "c", "d"], "points": [3, 3, 1, 1]})
    first = 'x.loc[x["points"].idxmax(), "who"]'
    second = 'x.sort_values(["points", "who"], ascending=[False, True])["who"].iloc[0]'
    found = trial(first, second, frame, "str")
    assert found.sample == () and "with shuffled rows" in found_on(found)
    assert found.smallest is not None and found.smallest.places == ("out",)
    small = SmallInput.of(found.smallest.tables, {"x": frame})
    assert small is not None and small.is_synthetic
    assert small.tables["x"].to_dict("list") == {"who": ["b", "a"], "points": [1, 1]}


@pytest.mark.local_sandbox
def test_where_only_the_function_fails_all_that_the_second_gives_is_a_difference(trial: Trying) -> None:
    frame = pd.DataFrame({"n": [2.0, 2.0, 1.0, 1.0], "g": ["a", "a", "b", "b"]})
    found = trial(
        "x['n'].sum() if x['g'].nunique() > 1 else [v / 0 for v in x['n']][0]", "x['n'].sum()", frame, "float"
    )
    (place,) = found_on(found)["with one g only"]
    assert place.first.startswith("an error (ZeroDivisionError") and place.second == "4"


@pytest.mark.local_sandbox
def test_where_only_the_function_fails_a_long_table_and_a_dict_are_differences_too(trial: Trying) -> None:
    frame = pd.DataFrame({"n": np.arange(50.0), "g": ["a"] * 30 + ["b"] * 20})
    for second, kind, told in (("x", "DataFrame", "30 rows"), ('{"n": 1}', "dict", "a dict")):
        first = f"{second} if x['g'].nunique() > 1 else 1 / 0"
        (place,) = found_on(trial(first, second, frame, kind))["with one g only"]
        assert (place.where, place.second) == ("out", told)


@pytest.mark.local_sandbox
def test_a_variation_on_which_a_solution_fails_is_not_compared_and_said(trial: Trying) -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0, 4.0]})
    second = 'int(x["n"].sum()) if len(x) > 2 else 1 / 0'
    found = trial('int(x["n"].sum())', second, frame, "int")
    assert found.compared == ("out",) and found.sample == ()
    failed = {tried.name: tried.failed for tried in found.tried if tried.failed}
    assert failed["with two rows"] == "the second solution fails there"
    both = trial('int(x["n"].sum()) if len(x) > 2 else {}[0]', second, frame, "int")
    assert {tried.failed for tried in both.tried} == {"", "both solutions fail there"}
    findings = Findings(both, (OutputSpec(name="out", type="int"),), Redaction("rows"))
    assert "the result with two rows: both solutions fail there" in findings.not_compared
    assert "with two rows" not in findings.tried


SLOW = """\
import time


def run(x):
    if x["g"].nunique() == 1:
        time.sleep(60)
    return float(x["n"].sum())
"""


@pytest.mark.local_sandbox
def test_what_was_found_is_kept_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.comparison.SECONDS", 3.0)
    frame = pd.DataFrame({"n": [1.0, 2.0, 5.0, 1.0], "g": ["a", "a", "b", "b"]})
    sandbox = choose("local")
    spec = WorkerSpec(sandbox.build(EnvironmentSpec((), sys.version_info[:2])), WorkerLimits())
    with shared_pool(sandbox).lease(spec) as one, shared_pool(sandbox).lease(spec) as other:
        sides = (
            SolutionWorker("f", one, program("x['n'].max()", "float")),
            SolutionWorker("s", other, program(SLOW, "float")),
        )
        found = Comparer(*sides, [("out", "out")], VariedSample({"x": frame}), {}, Redaction("rows")).run({"out": 5.0})
    assert [(place.first, place.second) for place in found.sample] == [("5", "9")]
    assert found.ended.startswith("s was stopped") and found.smallest is not None
    assert found.tried[0].name == "with shuffled rows"


@pytest.mark.local_sandbox
def test_the_search_for_a_small_input_has_its_own_time(trial: Trying, monkeypatch: pytest.MonkeyPatch) -> None:
    from autocoder_jupyter.engine.evidence import comparison as module

    monkeypatch.setattr(module, "SEARCH_SECONDS", 0.0)
    frame = pd.DataFrame({"n": [1.0, 2.0, 5.0, 1.0]})
    found = trial("x['n'].max()", "x['n'].sum()", frame, "float")
    assert found.sample and found.ended == "" and found.smallest is not None
    pd.testing.assert_frame_equal(found.smallest.tables["x"], frame)


CHEAT = """\
import gc
import sys


def run(x):
    told = [name for name in sys.modules if "second" in name or "opinion" in name or "equality" in name]
    others = [o for o in gc.get_objects() if getattr(o, "__name__", "") == "run" and o is not run]
    frames, frame = [], sys._getframe()
    while frame:
        frames.append(str(frame.f_code.co_filename))
        frame = frame.f_back
    alone = not told and not others and not any("opinion" in name for name in frames)
    return float(x["n"].max() if alone else x["n"].sum())
"""


@pytest.mark.local_sandbox
def test_code_that_behaves_only_beside_a_second_solution_finds_none(trial: Trying) -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0, 5.0, 1.0]})
    found = trial(CHEAT, "float(x['n'].sum())", frame, "float")
    assert [(place.first, place.second) for place in found.sample] == [("5", "9")]
    assert "with two rows" in found_on(found)


REMEMBERS = """\
CALLS = []


def run(x):
    CALLS.append(1)
    return float(x["n"].sum()) + 0.1 * (len(CALLS) > 1)
"""


@pytest.mark.local_sandbox
def test_what_a_solution_remembers_of_other_calls_makes_no_difference(trial: Trying) -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0, 5.0, 1.0]})
    found = trial(REMEMBERS, "float(x['n'].sum())", frame, "float")
    assert found.tried and not found.sample and not found_on(found)


@pytest.mark.local_sandbox
def test_on_the_sample_the_verified_outputs_are_compared(workers: tuple[Worker, Worker]) -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0]})
    total = program("x['n'].sum()", "float")
    sides = SolutionWorker("f", workers[0], total), SolutionWorker("s", workers[1], total)
    found = Comparer(*sides, [("out", "out")], VariedSample({"x": frame}), {}, Redaction("rows")).run({"out": 99.0})
    assert [(place.first, place.second) for place in found.sample] == [("99", "3")]


def test_columns_of_one_name_are_compared_too() -> None:
    frame = pd.DataFrame([[1, 2.5], [2, 3.5]], columns=["a", "a"])
    other = frame.set_axis(["a", "b"], axis=1).assign(b=[2.5, 9.0]).set_axis(["a", "a"], axis=1)
    (place,) = compared(frame, other).places
    assert (place.where, place.at, place.first, place.second) == ("out.a (2)", "a 2", "3.5", "9")


def test_where_values_are_withheld_no_key_value_or_message_is_told() -> None:
    outcome = ComparisonOutcome(
        failed="the second solution raises ValueError: no Ada",
        sample=(FoundPlace(where="totals.Ada", first="3", second="4", at="Ada"),),
        not_compared=(Uncompared(where="totals.Ada", why="only in the function"),),
        compared=("Ada",),
        tried=(
            TriedVariation(
                "with one Ada only", "with one group only", (FoundPlace(where="Ada.b", first="", second=""),)
            ),
            TriedVariation("beyond the profile, with missing values", failed="the second solution fails there"),
        ),
        ended="the second solution was stopped (OutOfMemory: Ada)",
    )
    withheld = Findings(outcome, (OutputSpec(name="totals", type="dict"),), Redaction("stats"))
    told = (withheld.failed, withheld.differences, withheld.not_compared, withheld.tried, withheld.compared)
    assert "Ada" not in str(told)
    assert withheld.failed == "the second solution raises ValueError" and withheld.differences[0].where == "totals"
    assert withheld.tried == ("with one group only",)
    assert withheld.differs_on == ("the sample", "with one group only")
    shown = Findings(outcome, withheld.outputs, Redaction("rows"))
    assert shown.differences[0].where == "totals.Ada" and shown.failed.endswith("no Ada")


def test_what_a_trial_tells_is_short_whatever_it_returns() -> None:
    place = {"where": "w" * 9_999, "first": "f" * 9_999, "second": "", "ones": [10**5000], "others": ["x" * 9_999]}
    told = OpenPlace.model_validate(place)
    assert (len(told.where), len(told.first), told.ones, told.others) == (LONGEST_TEXT, LONGEST_TEXT, [], [])
    assert OpenPlace.model_validate({**place, "ones": [1, "a", None], "others": [{}]}).ones == [1, "a", None]
