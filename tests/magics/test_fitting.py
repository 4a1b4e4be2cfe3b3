"""The variables of a notebook with which a function is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.magics.references import fitting_variables
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.types import CodeSolution, Dir, File, InputSpec, Report
from tests.cases import each

SALES = pd.DataFrame({"price": [1.0, 2.0], "region": ["N", "S"]})
CUSTOMERS = pd.DataFrame({"name": ["Jane"]})
FRAME = InputSpec(name="sales", type="DataFrame")
RETURNS = InputSpec(name="returns", type="DataFrame")


class Polars:
    """A table of another library."""

    def to_pandas(self) -> pd.DataFrame:
        raise AssertionError("it is not converted before a call")


def loaded(*inputs: InputSpec, samples: dict[str, Any] | None = None) -> CodeGenEvalResult:
    """A function whose tables have the columns of `SALES`."""
    report = Report(
        name="growth",
        run_id="r",
        prompt="p",
        success=True,
        solution=CodeSolution(code="def run(sales): return sales[['price', 'region']]\n"),
        declared_inputs=inputs,
        sample_shapes={spec.name: shape_of(SALES) for spec in inputs if spec.type == "DataFrame"},
    )
    return CodeGenEvalResult("growth", Pending.resolved(Resolution("ready", report)), samples=samples)


@each(
    ("variables", "found"),
    [
        ({"sales": SALES, "later": SALES}, "sales"),
        ({"old": SALES, "newer": SALES, "customers": CUSTOMERS, "_": SALES}, "newer"),
        ({"sales": CUSTOMERS, "other": SALES}, "other"),
        ({"sales": CUSTOMERS}, "sales"),  # the call says why it does not fit
        ({"sales": Polars(), "old": CUSTOMERS}, "sales"),
        ({"table": Polars(), "customers": CUSTOMERS, "prices": SALES["price"]}, "..."),
        ({"no name": SALES}, "..."),
    ],
)
def test_it_is_the_variable_of_that_name_or_the_newest_one_that_fits(variables: dict[str, Any], found: str) -> None:
    assert fitting_variables(loaded(FRAME), (FRAME,), variables) == {"sales": found}


def test_a_variable_is_used_once_and_an_optional_input_takes_none() -> None:
    given = fitting_variables(loaded(FRAME, RETURNS), (FRAME, RETURNS), {"a": SALES, "b": SALES})
    assert given == {"sales": "b", "returns": "a"}
    optional = InputSpec(name="more", type="DataFrame", required=False)
    assert fitting_variables(loaded(optional, FRAME), (optional, FRAME), {"a": SALES}) == {"sales": "a"}


def test_with_a_sample_nothing_must_be_filled_in() -> None:
    assert fitting_variables(loaded(FRAME, samples={"sales": SALES}), (FRAME,), {"customers": CUSTOMERS}) == {}


def test_files_and_folders_are_found_by_their_type(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    source = InputSpec(name="source", type="File")
    variables = {"folder": Dir(tmp_path), "kept": File(tmp_path / "a.csv")}
    assert fitting_variables(loaded(source), (source,), variables) == {"source": "kept"}


def test_data_of_flyte_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    from flyte import io

    gone = io.File(path="nosuch://b/a.txt")
    source = InputSpec(name="source", type="File")
    assert fitting_variables(loaded(source), (source,), {"gone": gone}) == {"source": "..."}
    assert fitting_variables(loaded(source), (source,), {"source": gone}) == {"source": "source"}
