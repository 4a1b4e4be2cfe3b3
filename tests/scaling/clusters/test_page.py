"""The examples of the page *Beyond one machine* for Spark and Ray."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from vega_datasets import data

from autocoder_jupyter.types import InputSpec
from tests.acceptance.test_beyond_one_machine import OF_CLUSTERS
from tests.scaling.conftest import Build
from tests.scaling.test_sources import by_values

pytestmark = [pytest.mark.local_sandbox, pytest.mark.slow]


def test_each_example_runs(built: Build, spark: Any, ray: Any) -> None:
    stocks = data.stocks()
    one = built(
        "return stocks.groupby('symbol', as_index=False)['price'].mean()",
        {"stocks": stocks},
        inputs=(InputSpec(name="stocks", type="DataFrame"),),
    )
    expected = stocks.groupby("symbol", as_index=False)["price"].mean()
    assert len(OF_CLUSTERS) == 2
    for source in OF_CLUSTERS:
        names: dict[str, Any] = {"one": one, "stocks": stocks}
        exec(source, names)
        found = names["answer"].toPandas() if "spark" in names else names["answer"].to_pandas()
        pd.testing.assert_frame_equal(by_values(found), expected, check_dtype=False)
