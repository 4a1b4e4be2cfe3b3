from __future__ import annotations

from typing import Any

import pandas as pd
import pandera.errors
import pytest

from autocoder_jupyter.data.checks import ColumnCheck
from autocoder_jupyter.data.schema import schema_source as source_of_record
from autocoder_jupyter.data.schema import table_schema
from tests.cases import each
from tests.data.conftest import COLUMNS, FRAMES


def schema_source(value: Any, checks: Any = ()) -> str:
    return source_of_record(table_schema(value, checks))


def schema_of(source: str) -> Any:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace["schema"]


@each("any_frame", FRAMES.values(), ids=[*FRAMES])
def test_the_schema_of_every_table_accepts_it(any_frame: pd.DataFrame) -> None:
    schema_of(schema_source(any_frame)).validate(any_frame)


@each("any_series", COLUMNS.values(), ids=[*COLUMNS])
def test_the_schema_of_every_series_accepts_it(any_series: pd.Series[Any]) -> None:
    schema_of(schema_source(any_series)).validate(any_series)


def test_another_dtype_and_a_gap_are_refused() -> None:
    schema = schema_of(schema_source(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})))
    with pytest.raises(pandera.errors.SchemaError):
        schema.validate(pd.DataFrame({"a": [1.5, 2], "b": ["x", "y"]}))
    with pytest.raises(pandera.errors.SchemaError):
        schema.validate(pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    schema.validate(pd.DataFrame({"a": [1], "b": ["x"], "more": [1]}))


FRAME = pd.DataFrame(
    {
        "n": [1, 2, 3],
        "s": ["ab", "cd", "ef"],
        "t": pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"]),
        "z": pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"]).tz_localize("Europe/Berlin"),
    }
)


@each(
    ("column", "parameters"),
    [
        ("n", {"kind": "greater_than", "value": 0}),
        ("n", {"kind": "at_least", "value": 1}),
        ("n", {"kind": "less_than", "value": 4}),
        ("n", {"kind": "at_most", "value": 3}),
        ("n", {"kind": "between", "low": 1, "high": 3}),
        ("n", {"kind": "isin", "values": (1, 2, 3)}),
        ("n", {"kind": "unique"}),
        ("s", {"kind": "regex", "pattern": r"^[a-z]{2}$"}),
        ("s", {"kind": "isin", "values": ("ab", "cd", "ef")}),
        ("t", {"kind": "at_least", "value": "2024-01-01"}),
        ("z", {"kind": "between", "low": "2024-01-01", "high": "2024-12-31"}),
    ],
)
def test_a_constraint_that_holds_is_in_the_schema(column: str, parameters: dict[str, Any]) -> None:
    check = ColumnCheck(target="t", column=column, sentence="x", **parameters)
    source = schema_source(FRAME, [check])
    schema = schema_of(source)
    schema.validate(FRAME)
    assert "checks=[" in source or "unique=True" in source


def test_a_constraint_that_does_not_hold_is_a_comment() -> None:
    source = schema_source(
        FRAME, [ColumnCheck(target="t", column="n", kind="greater_than", value=1, sentence="n > 1\nx")]
    )
    assert "# does not hold on the sample: n > 1 x" in source
    schema_of(source).validate(FRAME)


def test_a_number_of_rows_is_in_the_schema() -> None:
    schema = schema_of(schema_source(FRAME, [ColumnCheck(target="t", kind="row_count", value=3)]))
    schema.validate(FRAME)
    with pytest.raises(pandera.errors.SchemaError):
        schema.validate(FRAME.head(1))


def test_a_wide_table_gives_a_short_schema() -> None:
    wide = pd.DataFrame([[0] * 5_000])
    source = schema_source(wide)
    assert len(source) < 30_000
    schema_of(source).validate(wide)
