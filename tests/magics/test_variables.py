from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from autocoder_jupyter.magics import references
from autocoder_jupyter.magics.references import Variable, describe, hint, others
from autocoder_jupyter.types import Dir, File
from tests.cases import each


def columns(variable: Variable) -> list[tuple[str, str]]:
    return [(column["name"], column["dtype"]) for column in variable["columns"]]


def test_a_frame_says_its_size_and_columns() -> None:
    frame = pd.DataFrame({"price": [1.5, 2.0], "day": pd.to_datetime(["2024-01-01", "2024-01-02"]).astype("M8[ns]")})
    (told,) = describe({"sales": frame})
    assert (told["name"], told["type"], told["rows"], told["column_count"]) == ("sales", "DataFrame", 2, 2)
    assert columns(told) == [("price", "float64"), ("day", "datetime64[ns]")]


def test_a_series_a_file_and_a_folder() -> None:
    told = describe(
        {"s": pd.Series([1], name="price"), "t": pd.Series(["a"], dtype=object), "f": File("a"), "d": Dir("b")}
    )
    assert [columns(variable) for variable in told[:2]] == [[("price", "int64")], [("t", "object")]]
    assert told[2:] == [{"name": "f", "type": "File", "path": "a"}, {"name": "d", "type": "Dir", "path": "b"}]


def test_names_hide_nothing() -> None:
    frame, file = describe({"sales": pd.DataFrame({"a\u202eb\nc": [1]}), "f": File("x\u202egpj.exe")})
    assert columns(frame) == [(r"a\u202eb\nc", "int64")]
    assert hint(frame) == r"DataFrame 1 × 1: a\u202eb\nc int64"
    assert file["path"] == r"x\u202egpj.exe"


def test_what_cannot_be_referred_to_is_left_out() -> None:
    assert describe({"n": 1, "text": "a", "_hidden": pd.DataFrame(), "pd": pd, "kind": pd.DataFrame, "l": [1]}) == []


def test_other_names_are_told_with_their_types_and_no_values() -> None:
    namespace = {"n": 1, "text": "secret", "_hidden": 2, "pd": pd, "sales": pd.DataFrame(), "f": File("a")}
    assert others(namespace) == {"n": "int", "text": "str", "pd": "module"}


class Unsayable:
    def __str__(self) -> str:
        raise RuntimeError("no")


@each(
    ("labels", "names"),
    [
        pytest.param(pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]), ["('a', 1)", "('a', 2)"], id="several levels"),
        pytest.param([2024, 2025], ["2024", "2025"], id="numbers"),
        pytest.param(["x", "x"], ["x", "x"], id="twice the same"),
        pytest.param([None, float("nan")], ["nan", "nan"], id="missing"),
        pytest.param([Unsayable(), "y"], ["<Unsayable>", "y"], id="an object that has no text"),
        pytest.param(["a" * 500, "b"], ["a" * 119 + "…", "b"], id="very long"),
        pytest.param(pd.DatetimeIndex(["2024-01-01", "2024-02-01"]), None, id="dates"),
    ],
)
def test_odd_labels_of_columns(labels: Any, names: list[str] | None) -> None:
    frame = pd.DataFrame([[1, 2.5]])
    frame.columns = labels
    (told,) = describe({"frame": frame})
    assert [dtype for _, dtype in columns(told)] == ["int64", "float64"]
    assert names is None or [name for name, _ in columns(told)] == names
    json.dumps(told, allow_nan=False)


def test_a_table_of_another_library_is_not_converted() -> None:
    class Lazy:
        """A table that would compute or fetch data when it is accessed."""

        def to_pandas(self) -> pd.DataFrame:
            raise AssertionError("converted")

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"asked for {name}")

        def __len__(self) -> int:
            raise AssertionError("counted")

    told = describe({"lazy": Lazy(), "arrow": pa.table({"a": [1], "b": ["x"]})})
    assert told[0] == {"name": "lazy", "type": "table"}
    assert (told[1]["rows"], columns(told[1])) == (1, [("a", "int64"), ("b", "string")])


def test_polars_says_its_schema() -> None:
    """Uses only the documented attributes of polars, which is not installed here."""
    members = {"height": 2, "width": 2, "schema": {"a": "Int64", "b": "String"}}
    frame = type(
        "DataFrame", (), {**members, "__module__": "polars.dataframe.frame", "to_pandas": lambda self: 1 / 0}
    )()
    (told,) = describe({"frame": frame})
    assert (told["rows"], told["column_count"], columns(told)) == (2, 2, [("a", "Int64"), ("b", "String")])


def test_a_frame_that_fails_is_there_all_the_same() -> None:
    class Broken(pd.DataFrame):
        @property
        def dtypes(self) -> Any:
            raise RuntimeError("no dtypes")

    told = describe({"broken": Broken({"a": [1]}), "fine": pd.DataFrame({"a": [1]})})
    assert told[0] == {"name": "broken", "type": "DataFrame"}
    assert told[1]["rows"] == 1


def test_what_is_told_is_bounded() -> None:
    wide = pd.DataFrame(0, index=[0], columns=range(5000))
    told = describe({f"wide_{number}": wide for number in range(references.MOST_VARIABLES + 50)})
    assert len(told) == references.MOST_VARIABLES
    assert len(told[0]["columns"]) == references.MOST_COLUMNS and told[0]["column_count"] == 5000
    assert sum(len(variable["columns"]) for variable in told) == references.MOST_COLUMNS_IN_ALL
    assert (told[-1]["columns"], told[-1]["column_count"]) == ([], 5000)


def test_a_hint_is_one_line() -> None:
    frame = pd.DataFrame({"price": [1.5], "amount": [1], "name": pd.Series(["a"], dtype=object), "more": [True]})
    told = describe({"d": pd.concat([frame] * 1200), "s": pd.Series([1.5], name="price"), "f": File("a")})
    assert [hint(variable) for variable in told] == [
        "DataFrame 1,200 × 4: price float64, amount int64, name object …",
        "Series 1: price float64",
        "File",
    ]
