"""Outputs of two independent solutions are compared whatever their form, or it is said that they are not."""

from __future__ import annotations

from typing import Any

import pandas as pd

from autocoder_jupyter.equality import INDEPENDENT, STRICT, compare
from tests.cases import each

TABLE = pd.DataFrame({"shop": ["a", "b", "c"], "total": [1.5, 2.5, 3.5]})
SHARES = TABLE.assign(share=[0.1, 0.2, 0.7])
RENAMED = SHARES.set_axis(["shop", "x", "y"], axis=1)

FORMS: dict[str, tuple[Any, Any]] = {
    "a dict and a table": ({"a": 1.5, "b": 2.5, "c": 3.5}, TABLE),
    "a dict and a Series": ({"a": 1.5, "b": 2.5, "c": 3.5}, TABLE.set_index("shop")["total"]),
    "a Series and a table": (TABLE.set_index("shop")["total"], TABLE),
    "a list and a Series": ([1.5, 2.5, 3.5], TABLE["total"]),
    "records and a table": (TABLE.to_dict("records"), TABLE),
    "a row and a dict": (pd.DataFrame({"mean": [1.5], "n": [3]}), {"mean": 1.5, "n": 3}),
    "a dict of dicts and a table": (
        {"a": {"n": 1, "m": 2.5}, "b": {"n": 2, "m": 3.5}},
        pd.DataFrame({"k": ["a", "b"], "n": [1, 2], "m": [2.5, 3.5]}),
    ),
    "years as keys": ({2023: 10.5, 2024: 11.5}, pd.DataFrame({"year": [2024, 2023], "rev": [11.5, 10.5]})),
    "a number and a table": (3.5, pd.DataFrame({"x": [3.5]})),
    "columns of other names": (SHARES, RENAMED),
    "columns of other names in another order of rows": (SHARES, RENAMED.iloc[::-1]),
    "keys of other names": ({"mean": 1.5, "count": 3}, {"average": 1.5, "n": 3}),
}


@each("name", FORMS)
def test_the_same_values_in_another_form_are_equal_and_other_values_are_not(name: str) -> None:
    for one, other in (FORMS[name], FORMS[name][::-1]):
        found = compare(one, other, INDEPENDENT, name="out")
        assert found.verdict == "equal" and found.compared and not found.not_compared
    if "names" not in name:  # with other values, nothing says which belong together
        one, other = FORMS[name]
        changed = other * 2 if isinstance(other, pd.Series) else _changed(other)
        assert compare(one, changed, INDEPENDENT, name="out").verdict == "different"


def _changed(value: Any) -> Any:
    if isinstance(value, pd.DataFrame):
        last = value.columns[-1]
        return value.assign(**{last: value[last] + 1})
    return {key: part + 1 for key, part in value.items()}


@each(
    ("one", "other"),
    [
        (SHARES, TABLE[["shop"]].assign(p=[9.0, 8.0, 7.0], q=[7.0, 7.0, 7.0])),
        ({"a": 1}, [1]),
        (TABLE, 3),
        ({"mean": 1.5}, {"n": 3}),
        ([TABLE], {"a": TABLE}),
    ],
    ids=["only keys", "a dict and a list", "a table and a number", "other keys", "tables inside"],
)
def test_what_has_no_counterpart_is_not_compared(one: Any, other: Any) -> None:
    for left, right in ((one, other), (other, one)):
        found = compare(left, right, INDEPENDENT, name="out")
        assert found.verdict == "not compared" and found.not_compared and not found.compared


def test_a_form_counts_where_names_count() -> None:
    assert compare({"a": 1.5, "b": 2.5, "c": 3.5}, TABLE, STRICT).verdict == "different"
