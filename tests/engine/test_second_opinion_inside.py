"""The program that compares both solutions in the sandbox: comparing, varying, reducing, recording; run here."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.engine.second_opinion.inside.made_up import forms, is_made_up
from autocoder_jupyter.engine.second_opinion.inside.places import Compared, compared_outputs
from autocoder_jupyter.engine.second_opinion.inside.smallest import simplified, smallest
from autocoder_jupyter.engine.second_opinion.inside.trial import run_trial
from autocoder_jupyter.engine.second_opinion.inside.variations import ROWS, variations
from autocoder_jupyter.engine.second_opinion.inside.written import cells, dtypes, source
from autocoder_jupyter.engine.second_opinion.trial import FoundPlace, Smallest, SmallInput, SmallTable, Uncompared
from autocoder_jupyter.equality import INDEPENDENT, equal
from autocoder_jupyter.equality.tables import matched_columns
from autocoder_jupyter.redaction.words import Redaction


def compared(one: object, other: object) -> Compared:
    return compared_outputs({"out": one}, {"out": other}, [("out", "out")])


def same(one: object, other: object) -> bool:
    return equal(one, other, INDEPENDENT)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("one", "other"),
    [(3, 4), (3.0, 3.25), (0.1, 0.11), (True, 1), ("a", "A"), (None, 0), ("2024-03", "2024-04"), (33.33, 33.34)],
)
def test_values_that_differ_are_not_taken_for_rounded_ones(one: object, other: float | int | str) -> None:
    assert not same(one, other) and not same(other, one)


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
    assert matched_columns(one, other, lambda a, b: list(a) != list(b)) == {"k": "k", "x": "second", "y": "first"}


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


def test_variations_keep_every_dtype_and_are_the_same_each_time() -> None:
    frame = every_dtype()
    once, again = dict(variations({"x": frame})), dict(variations({"x": frame}))
    assert list(once) == list(again) and len(once) >= 7
    for name, tables in once.items():
        assert tables["x"].dtypes.equals(frame.dtypes), name
        pd.testing.assert_frame_equal(tables["x"], again[name]["x"])
    assert once["with missing values"]["x"].drop(columns=["i", "b"]).isna().any().all()
    assert once["with one s only"]["x"]["s"].nunique() == 1
    assert len(once["with doubled rows"]["x"]) == 60 and len(once["with a stretch left out"]["x"]) == 40


def test_variations_of_large_tables_are_small_and_of_empty_ones_none() -> None:
    tables = {"x": pd.DataFrame({"a": range(5 * ROWS)}), "lookup": pd.DataFrame({"a": [1]})}
    assert all(len(table["x"]) <= ROWS * 1.2 for _, table in variations(tables))
    assert list(variations({"x": pd.DataFrame({"a": []})})) == [] == list(variations({}))


def test_the_smallest_input_has_only_the_rows_that_matter_and_made_up_values() -> None:
    frame = pd.DataFrame({"name": ["Ada", "Bo", "Cy", "Di"] * 50, "salary": np.arange(200) + 1234.5})

    def differs(tables: Mapping[str, pd.DataFrame]) -> bool:
        return bool(tables["x"]["name"].duplicated().any())

    rows = smallest({"x": frame}, differs)
    tables = simplified(rows, differs)
    assert tables["x"].to_dict("list") == {"name": ["a", "a"], "salary": [1.0, 1.0]}
    assert [is_made_up(tables["x"][name]) for name in ("name", "salary")] == [True, True]


def test_a_column_whose_own_values_matter_keeps_them_and_is_not_made_up() -> None:
    frame = pd.DataFrame({"code": ["EU-1", "US-2"], "n": [7, 8]})
    small = simplified({"x": frame}, lambda tables: tables["x"]["code"].str.startswith("EU").any())["x"]
    assert not is_made_up(small["code"]) and is_made_up(small["n"]) and list(small["n"]) == [1, 1]


def test_every_form_of_a_made_up_value_is_recognised_and_values_of_the_data_are_not() -> None:
    frame = every_dtype(5)
    for column in (frame[name] for name in frame.columns.drop(["c", "b"])):
        for form in forms(column.dtype):
            assert is_made_up(pd.Series([form(n) for n in (2, 0, 1, 0)]).astype(column.dtype)), column.name
        assert is_made_up(pd.Series([None, None], dtype="object")) and is_made_up(frame["b"])
    for own in ([34, 51], ["Ada", "Bo"], [1.5, 2.5], ["a", "c"], [10, 20, 31], [[1], [2]], [True, "a"], [2, 3]):
        assert not is_made_up(pd.Series(own, dtype=object if isinstance(own[0], list | bool) else None)), own
    assert not is_made_up(pd.Series(pd.to_datetime(["2024-01-01", "2024-01-03"])))


def test_a_small_table_is_written_down_exactly() -> None:
    frame = every_dtype(2).drop(columns=["d"])
    found = cells(frame)
    assert found is not None
    pd.testing.assert_frame_equal(eval(source(found, dtypes(frame), frame), {"pd": pd}), frame)
    series = pd.Series([1, None], dtype="Int64", name="x")
    assert source([[1, None]], ["Int64"], series) == "pd.Series([1, None], dtype='Int64', name='x')"
    assert cells(series) == [[1, None]]
    assert cells(frame.set_index("s")) is None and cells(pd.DataFrame({"a": range(1000)})) is None


@pytest.mark.parametrize("dtype", ["Sparse[int64, 0]", "Sparse[float64, nan]", pd.SparseDtype("float64", 7.5)], ids=str)
@pytest.mark.parametrize("kind", [pd.Series, pd.DataFrame])
def test_a_sparse_table_is_not_written_down_because_its_dtype_tells_a_value(kind: Any, dtype: Any) -> None:
    plain = kind({"a": [0, 1]} if kind is pd.DataFrame else [0, 1])
    sparse = plain.astype(dtype)
    assert cells(sparse) is None and cells(plain) is not None
    told = Smallest(tables={"x": SmallTable(cells=[[0, 1]])})
    assert SmallInput.of(told, {"x": sparse}) is None and SmallInput.of(told, {"x": plain}) is not None


def trial(first: str, second: str, frame: pd.DataFrame) -> dict[str, Any]:
    outputs = ["out"]
    body = "import pandas as pd\n\n\ndef run(x):\n    return {}\n"
    return run_trial((body.format(first), outputs), (body.format(second), outputs), [["out", "out"]], {"x": frame})


def test_solutions_that_differ_only_on_ties_are_told_apart_by_shuffled_rows() -> None:
    frame = pd.DataFrame({"who": ["a", "b", "c", "d"], "points": [3, 3, 1, 1]})
    first = 'x.loc[x["points"].idxmax(), "who"]'
    second = 'x.sort_values(["points", "who"], ascending=[False, True])["who"].iloc[0]'
    found = trial(first, second, frame)
    assert found["sample"] == [] and found["variations"][0]["name"] == "with shuffled rows"
    assert found["smallest"]["tables"]["x"]["cells"] == [["b", "a"], [1, 1]]
    assert found["smallest"]["places"] == ["out"]


def test_where_only_the_function_fails_all_that_the_second_gives_is_a_difference() -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0]})
    found = trial('int(x["n"].sum())', 'int(x["n"].fillna(0).sum())', frame.assign(n=[1.0, np.nan]).iloc[:0])
    assert found["sample"] == []
    found = trial('[v / 0 for v in x["n"]][0]', "1.0 if len(x) else 0.0", frame)
    assert found["sample"][0]["first"].startswith("an error (ZeroDivisionError")


def test_where_only_the_function_fails_a_long_table_and_a_dict_are_differences_too() -> None:
    frame = pd.DataFrame({"n": np.arange(50.0)})
    for second, told in (("x", "50 rows"), ('{"n": 1}', "a dict")):
        (place,) = trial('[v / 0 for v in x["n"]][0]', second, frame)["sample"]
        assert (place["where"], place["second"]) == ("out", told)


def test_a_variation_on_which_the_second_solution_fails_is_not_counted_as_tried() -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0]})
    found = trial('int(x["n"].fillna(0).sum())', 'int(x["n"].sum(skipna=False))', frame)
    assert found["compared"] == ["out"] and found["sample"] == []
    assert found["failed_on"] == ["with missing values"] and "with missing values" not in found["tried"]


def test_columns_of_one_name_are_compared_too() -> None:
    frame = pd.DataFrame([[1, 2.5], [2, 3.5]], columns=["a", "a"])
    other = frame.set_axis(["a", "b"], axis=1).assign(b=[2.5, 9.0]).set_axis(["a", "a"], axis=1)
    (place,) = compared(frame, other).places
    assert (place.where, place.at, place.first, place.second) == ("out.a (2)", "2", "3.5", "9")


def test_solutions_get_copies_and_what_one_changes_the_other_does_not_see() -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0]})
    found = trial('float(x.__setitem__("n", 0.0) or x["n"].sum())', 'float(x["n"].sum())', frame)
    assert found["sample"][0]["second"] == "3" and list(frame["n"]) == [1.0, 2.0]


def test_where_values_are_withheld_no_key_value_or_message_is_told() -> None:
    from autocoder_jupyter.engine.second_opinion.findings import Findings
    from autocoder_jupyter.engine.second_opinion.trial import TrialOutcome
    from autocoder_jupyter.types import OutputSpec

    outcome = TrialOutcome(
        failed="the second solution raises ValueError: no Ada",
        sample=[FoundPlace(where="totals.Ada", first="3", second="4", at="Ada")],
        not_compared=[Uncompared(where="totals.Ada", why="only in the function")],
    )
    withheld = Findings(outcome, (OutputSpec(name="totals", type="dict"),), Redaction("stats"))
    assert "Ada" not in str((withheld.failed, withheld.differences, withheld.not_compared))
    assert withheld.failed == "the second solution raises ValueError" and withheld.differences[0].where == "totals"
    shown = Findings(outcome, withheld.outputs, Redaction("rows"))
    assert shown.differences[0].where == "totals.Ada" and shown.failed.endswith("no Ada")


def test_where_values_are_withheld_a_trial_chooses_no_word_that_is_shown() -> None:
    from autocoder_jupyter.engine.second_opinion.findings import Findings
    from autocoder_jupyter.engine.second_opinion.trial import TrialOutcome
    from autocoder_jupyter.types import OutputSpec

    outcome = TrialOutcome.model_validate(
        {
            "failed": "Ada earns 3",
            "sample": [{"where": "Ada", "first": "Ada", "second": "Ada", "at": "Ada"}],
            "tried": ["Ada", "with shuffled rows"],
            "not_compared": [{"where": "Ada", "why": "Ada"}],
            "compared": ["Ada"],
            "failed_on": ["Ada"],
            "variations": [{"name": "Ada", "differences": [{"where": "Ada.b", "first": "", "second": ""}]}],
        }
    )
    found = Findings(outcome, (OutputSpec(name="totals", type="dict"),), Redaction("stats"))
    assert "Ada" not in str((found.failed, found.differences, found.not_compared, found.tried, found.compared))


def test_what_a_trial_tells_is_short_whatever_it_returns() -> None:
    from autocoder_jupyter.engine.second_opinion.trial import LONGEST, MOST, OpenPlace, TrialOutcome

    place = {"where": "w" * 9_999, "first": "f" * 9_999, "second": "", "ones": [10**5000], "others": ["x" * 9_999]}
    told = OpenPlace.model_validate(place)
    assert (len(told.where), len(told.first), told.ones, told.others) == (LONGEST, LONGEST, [], [])
    assert OpenPlace.model_validate({**place, "ones": [1, "a", None], "others": [{}]}).ones == [1, "a", None]
    notes = [{"where": "n" * 9_999, "why": "n"}] * 9_999
    outcome = TrialOutcome.model_validate({"sample": [place] * 9_999, "not_compared": notes})
    assert len(outcome.sample) == len(outcome.not_compared) == MOST
