"""Tables that are equal to the bit are compared at once, with the same result as cell by cell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.equality import STRICT, Leniency, compare, comparison
from tests.cases import each as each_case

TABLE = pd.DataFrame({"a": [1, 2], "b": [0.0, np.nan], "c": ["x", None], "d": pd.DatetimeIndex(["2024-01-01", "NaT"])})
TABLES = {
    "the table": TABLE,
    "a copy": TABLE.copy(),
    "minus zero": TABLE.assign(b=[-0.0, np.nan]),
    "another value": TABLE.assign(a=[1, 3]),
    "another dtype": TABLE.assign(a=[1.0, 2.0]),
    "objects": TABLE.astype(object),
    "truth values": TABLE.assign(a=[True, False]),
    "numbers as names": TABLE.set_axis([0, 1, 2, 3], axis=1),
    "names twice": TABLE.set_axis(["a", "b", "c", "a"], axis=1),
    "another order": TABLE[["b", "a", "c", "d"]],
    "its own index": TABLE.set_index("a"),
    "other row numbers": TABLE.set_axis([5, 6]),
    "fewer rows": TABLE.iloc[:1],
    "no rows": TABLE.iloc[:0],
    "a column": TABLE["b"],
}


@each_case("name", TABLES)
@each_case("leniency", [STRICT, Leniency(types=True), Leniency(labels=True)], ids=["", "types", "labels"])
def test_identical_tables_are_seen_at_once_and_give_what_their_cells_give(
    name: str, leniency: Leniency, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> list[tuple[str, int, int, int]]:
        results = (compare(TABLES[name], other, leniency) for other in TABLES.values())
        return [(each.verdict, each.compared, len(each.differences), len(each.not_compared)) for each in results]

    at_once = found()
    monkeypatch.setattr(comparison, "_are_identical", lambda one, other: False)
    assert at_once == found()
