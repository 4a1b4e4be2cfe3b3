"""`result.schemas`: an executable schema, built from recorded data that may come from anybody."""

from __future__ import annotations

import json
import sys
from typing import Any

import pandas as pd
import pandera.errors
import pandera.pandas as pa
import pytest

from autocoder_jupyter.contracts.sample_schema import schema_of, source_of
from autocoder_jupyter.data.checks import ColumnCheck
from autocoder_jupyter.data.schema import table_schema
from autocoder_jupyter.errors import InvalidRequest
from tests.cases import each
from tests.data.conftest import COLUMNS, FRAMES

SALES = pd.DataFrame(
    {
        "id": [1, 2, 3],
        "code": ["ab", "cd", "ef"],
        "day": pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"]).tz_localize("Europe/Berlin"),
        "price": [1.0, None, 3.0],
    }
)


def recorded(value: Any, *checks: ColumnCheck) -> dict[str, Any]:
    """A record after it was written to a file and read."""
    return json.loads(json.dumps(table_schema(value, checks).model_dump(mode="json")))


def on(column: str | None, kind: Any, **parameters: Any) -> ColumnCheck:
    return ColumnCheck(target="sales", column=column, kind=kind, sentence=f"{column} is {kind}", **parameters)


@each("name", FRAMES)
def test_the_recorded_schema_of_every_table_accepts_it(name: str) -> None:
    schema = schema_of("sales", recorded(FRAMES[name]))
    assert isinstance(schema, pa.DataFrameSchema)
    schema.validate(FRAMES[name], lazy=True)


@each("name", COLUMNS)
def test_the_recorded_schema_of_every_series_accepts_it(name: str) -> None:
    schema = schema_of("prices", recorded(COLUMNS[name]))
    assert isinstance(schema, pa.SeriesSchema)
    schema.validate(COLUMNS[name], lazy=True)


@each(
    ("check", "wrong"),
    [
        (on("id", "greater_than", value=0), SALES.assign(id=[0, 2, 3])),
        (on("id", "between", low=1, high=3), SALES.assign(id=[1, 2, 4])),
        (on("id", "unique"), SALES.assign(id=[1, 1, 3])),
        (on("code", "isin", values=("ab", "cd", "ef")), SALES.assign(code=["ab", "cd", "xx"])),
        (on("code", "regex", pattern="^[a-z]{2}$"), SALES.assign(code=["ab", "cd", "é!"])),
        (on("day", "at_least", value="2024-01-01"), SALES.assign(day=SALES["day"] - pd.Timedelta(days=9))),
        (on(None, "min_rows", value=2), SALES.head(1)),
        (on("code", "not_null"), SALES.assign(code=["ab", None, "ef"])),  # type: ignore[list-item]
    ],
)
def test_what_a_constraint_became_refuses_a_table_that_violates_it(check: ColumnCheck, wrong: pd.DataFrame) -> None:
    schema = schema_of("sales", recorded(SALES, check))
    schema.validate(SALES, lazy=True)
    with pytest.raises(pandera.errors.SchemaErrors):
        schema.validate(wrong, lazy=True)


def test_constraints_that_are_not_in_the_schema_are_named() -> None:
    checks = (
        on("id", "greater_than", value=1),
        on(None, "same_rows_as", value="others"),
        on("code", "regex", pattern=r"(?=a)ab|cd|ef"),
        on("code", "isin", values=("ab", "cd", "ef", "me@example.org")),
    )
    found = schema_of("sales", recorded(SALES, *checks)).metadata["autocode"]
    assert found["broken"] == ["id is greater_than"]
    assert found["left_out"] == ["None is same_rows_as", "code is regex", "code is isin"]
    assert "# no check of pandera's says this: code is regex" in source_of("sales", recorded(SALES, *checks))


def test_a_pattern_takes_no_longer_than_the_text_is() -> None:
    """Python's own `re` would need 2**40 steps here, so the test would not end."""
    texts = pd.DataFrame({"code": ["aaaa"]})
    schema = schema_of("t", recorded(texts, on("code", "regex", pattern="(a+)+$")))
    with pytest.raises(pandera.errors.SchemaErrors):
        schema.validate(pd.DataFrame({"code": ["a" * 40 + "!"]}), lazy=True)


CODE = "__import__('os').environ.update(TAKEN='1')"


@pytest.mark.parametrize(
    "change",
    [
        {"label": CODE},
        {"label": f"pd.Timestamp({CODE})"},
        {"label": "(" * 300 + ")" * 300},
        {"dtype": CODE},
        {"dtype": "int64, checks=[]"},
        {"checks": [{"target": "t", "column": "a", "kind": "at_least", "value": None}]},
        {"checks": [{"target": "t", "column": "a", "kind": "at_least", "value": "no moment"}]},
        {"checks": [{"target": "t", "column": "a", "kind": "row_count", "value": 1}]},
        {"checks": [{"target": "t", "column": "a", "kind": CODE}]},
        {"more": 1},
    ],
)
def test_a_record_of_a_stranger_is_data_or_refused(change: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAKEN", raising=False)
    record = recorded(pd.DataFrame({"a": [1]}))
    record["columns"][0] |= change
    with pytest.raises(InvalidRequest, match="recorded schema of sales"):
        schema_of("sales", record)
    assert "TAKEN" not in __import__("os").environ


def test_a_column_whose_name_is_private_is_let_pass() -> None:
    table = pd.DataFrame({"me@example.org": [1], "b": [2]})
    record = recorded(table)
    assert "example.org" not in json.dumps(record)
    schema_of("t", record).validate(table.assign(**{"me@example.org": "x"}))


def test_without_pandera_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandera.pandas", None)
    monkeypatch.setitem(sys.modules, "pandera", None)
    with pytest.raises(InvalidRequest, match="pandera is not installed") as raised:
        schema_of("sales", recorded(SALES))
    assert raised.value.hint == 'Run: pip install "pandera>=0.24"'


def test_a_pandera_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    old = type(sys)("pandera")
    old.__version__ = "0.17.2"  # type: ignore[attr-defined]
    monkeypatch.delitem(sys.modules, "pandera.pandas")
    monkeypatch.setitem(sys.modules, "pandera", old)
    with pytest.raises(InvalidRequest, match=r"pandera 0\.17\.2 is too old"):
        schema_of("sales", recorded(SALES))
