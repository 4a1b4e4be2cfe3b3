"""A person's own tables in a call: files, lazy tables of other libraries, lists and dicts of tables, geometries."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from autocoder_jupyter.calls.call import call
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.values import checked_value
from autocoder_jupyter.data import foreign
from autocoder_jupyter.data.drift import shape_of
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import File, InputSpec, OutputSpec
from tests.calls.conftest import StandInPool

SALES = InputSpec(name="sales", type="DataFrame")
FRAME = pd.DataFrame(
    {
        "day": pd.to_datetime(["2024-01-01", "2024-01-02"]),
        "at": pd.to_datetime(["2024-01-01 10:00", "2024-07-01 10:00"]).tz_localize("Europe/Berlin"),
        "zip": ["00501", "10115"],
        "region": pd.Categorical(["N", "S"]),
        "price": [1.5, 2.0],
        "units": [3, 4],
        "open": [True, False],
        "took": pd.to_timedelta(["1 days", "2 days"]),
    }
)


@pytest.fixture
def give(function: Callable[..., Function], pool: StandInPool) -> Callable[..., pd.DataFrame]:
    """Calls a function that returns its table unchanged."""
    code = "def run(sales):\n    return sales\n"

    def give(value: Any, built_on: pd.DataFrame = FRAME, **options: Any) -> Any:
        made = function(
            code, (SALES,), (OutputSpec(name="sales", type="DataFrame"),), sample_shapes={"sales": shape_of(built_on)}
        )
        return asyncio.run(call(made, CallOptions(**options), [value], {}))

    return give


WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "feather": lambda frame, path: frame.to_feather(path),
    "jsonl": lambda frame, path: frame.assign(took=frame["took"].astype(str)).to_json(
        path, orient="records", lines=True, date_format="iso"
    ),
    "xlsx": lambda frame, path: frame.assign(at=frame["at"].astype(str), took=frame["took"].astype(str)).to_excel(
        path, index=False
    ),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_file_is_read_with_the_dtypes_that_the_function_was_built_on(
    give: Callable[..., pd.DataFrame], suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"sales.{suffix}"
    WRITERS[suffix](FRAME, path)
    for value in (str(path), path, File(path)):
        got = give(value)
        pd.testing.assert_frame_equal(got, FRAME, check_dtype=False, check_categorical=False)
        kinds = {name: str(dtype).partition("[")[0] for name, dtype in got.dtypes.items()}
        assert kinds == {name: str(dtype).partition("[")[0] for name, dtype in FRAME.dtypes.items()}
        assert str(got["at"].dt.tz) == "Europe/Berlin"


def test_a_file_that_cannot_be_the_table_is_one_clear_error(give: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="does not exist"):
        give("nowhere.csv")
    (tmp_path / "notes.docx").write_text("x")
    with pytest.raises(InvalidRequest, match="cannot be read as a table") as caught:
        give(str(tmp_path / "notes.docx"))
    assert ".parquet" in str(caught.value)
    (tmp_path / "broken.parquet").write_text("x")
    with pytest.raises(InvalidRequest, match=r"broken\.parquet cannot be read"):
        give(tmp_path / "broken.parquet")
    FRAME.assign(day=["soon", "later"]).to_csv(tmp_path / "sales.csv", index=False)
    with pytest.raises(InvalidRequest, match="the column day cannot be read as datetime64"):
        give(tmp_path / "sales.csv")


def test_a_text_input_stays_a_text_that_names_no_file() -> None:
    assert checked_value(InputSpec(name="name", type="str"), "sales.csv") == "sales.csv"


PLAIN = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})


def test_a_lazy_frame_is_computed_and_given_back_as_one(give: Callable[..., Any]) -> None:
    lazy = pl.from_pandas(PLAIN).lazy().filter(pl.col("a") > 1)
    assert give(lazy, PLAIN)["a"].tolist() == [2, 3]
    back = give(lazy, PLAIN, tables="same")
    assert isinstance(back, pl.LazyFrame) and back.collect()["b"].to_list() == ["y", "z"]


def test_a_lazy_frame_that_is_large_is_refused_with_the_number_before_it_is_computed(
    give: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "MOST_CELLS", 5)
    computed: list[int] = []
    lazy = pl.LazyFrame({"a": [1, 2, 3]}).with_columns(
        b=pl.col("a").map_elements(lambda value: computed.append(value) or "x", return_dtype=pl.String)
    )
    with pytest.raises(InvalidRequest, match="polars LazyFrame of 3 rows × 2 columns is not computed") as caught:
        give(lazy, PLAIN)
    assert computed == []
    assert "Filter or aggregate it first" in str(caught.value)


def test_a_relation_of_duckdb_is_computed_when_it_is_small(
    give: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    relation = duckdb.sql("select range as a, 'x' as b from range(3)")
    assert give(relation, PLAIN)["a"].tolist() == [0, 1, 2]
    monkeypatch.setattr(foreign, "MOST_CELLS", 5)
    with pytest.raises(InvalidRequest, match="duckdb DuckDBPyRelation of 3 rows × 2 columns is not computed"):
        give(relation, PLAIN)


def test_neither_library_is_imported_for_a_pandas_table() -> None:
    script = (
        "import sys, pandas as pd\n"
        "from autocoder_jupyter.data.foreign import converted, is_lazy\n"
        "assert not is_lazy(pd.DataFrame()) and converted(pd.DataFrame()) is None\n"
        "assert not {'polars', 'duckdb', 'geopandas'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("value", [[PLAIN, PLAIN], {"north": PLAIN, "south": PLAIN}], ids=["list", "dict"])
def test_the_line_that_the_refusal_of_several_tables_suggests_works(give: Callable[..., Any], value: Any) -> None:
    with pytest.raises(InvalidRequest, match="sales must be a DataFrame") as caught:
        give(value, PLAIN)
    assert caught.value.hint.startswith("Pass pd.concat(sales")
    table = eval(caught.value.hint.removeprefix("Pass ").removesuffix("."), {"pd": pd, "sales": value})
    assert give(table, PLAIN)["a"].tolist() == [1, 2, 3, 1, 2, 3]


class Geometries(pd.DataFrame):
    """Stands for a GeoDataFrame, which has this method too."""

    def to_wkt(self) -> pd.DataFrame:
        return pd.DataFrame(self)


def test_a_table_with_geometries_is_refused_by_name(give: Callable[..., Any]) -> None:
    with pytest.raises(InvalidRequest, match=r"sales is a .*Geometries, but only a plain DataFrame") as caught:
        give(Geometries(PLAIN), PLAIN)
    assert "sales = sales.to_wkt()" in str(caught.value)
