"""Files, folders and tables of Flyte in `map`, `over` and what belongs to them, in the real local sandbox."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.types import InputSpec
from tests.scaling.conftest import FRAME, ROWS, Build
from tests.scaling.test_over import SAMPLE, sales

pytestmark = pytest.mark.local_sandbox

SHOPS = pd.DataFrame({"shop": [f"shop {n}" for n in range(40)], "city": list("ab") * 20})


@pytest.fixture(autouse=True)
def no_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "1")


@pytest.fixture
def in_cities(built: Build) -> CodeGenEvalResult:
    """Reads its second input from a table."""
    body = "return sales.merge(shops, on='shop')[['city', 'units']]"
    inputs = (FRAME, InputSpec(name="shops", type="DataFrame"))
    return built(body, {"sales": SAMPLE, "shops": SHOPS}, inputs=inputs, known=ROWS)


@pytest.fixture
def from_file(built: Build) -> CodeGenEvalResult:
    """Reads its second input from a file."""
    body = "return sales.merge(pd.read_csv(shops), on='shop')[['city', 'units']]"
    return built(body, {"sales": SAMPLE}, inputs=(FRAME, InputSpec(name="shops", type="File")))


def csv(folder: Path) -> Any:
    from flyte.io import File

    SHOPS.to_csv(folder / "shops.csv", index=False)
    return File(path=str(folder / "shops.csv"))


def test_over_takes_files_folders_and_tables(in_cities: CodeGenEvalResult, tmp_path: Path) -> None:
    from flyte.io import DataFrame, Dir, File

    folder = tmp_path / "sales"
    folder.mkdir()
    table = sales(2000)
    table.to_parquet(folder / "a.parquet", index=False)
    expected = table.merge(SHOPS, on="shop")[["city", "units"]]
    shops: Any = DataFrame.from_df(SHOPS)
    for source in (File(path=str(folder / "a.parquet")), Dir(path=str(folder))):
        pd.testing.assert_frame_equal(in_cities.over(source, shops=shops), expected)
    assert in_cities.over.explain(File(path=str(folder / "a.parquet"))).rows == 2000
    with pytest.raises(InvalidRequest, match="Flyte could not fetch the File"):
        in_cities.over(File(path="nosuch://b/a.parquet"))
    with pytest.raises(InvalidRequest, match="over does not accept a flyte DataFrame"):
        in_cities.over(DataFrame.from_df(table))


def test_a_fixed_file_is_read_by_each_piece(from_file: CodeGenEvalResult, tmp_path: Path) -> None:
    table = sales(2000)
    table.to_parquet(tmp_path / "a.parquet", index=False)
    answer = from_file.over(tmp_path / "a.parquet", shops=csv(tmp_path))
    pd.testing.assert_frame_equal(answer, table.merge(SHOPS, on="shop")[["city", "units"]])


def test_a_frame_of_an_engine_goes_with_a_file(from_file: CodeGenEvalResult, tmp_path: Path) -> None:
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(sales(400), npartitions=2)
    assert len(from_file.over(frame, shops=csv(tmp_path)).compute(scheduler="synchronous")) == 400


def test_a_map_has_the_names_of_files_as_keys(in_cities: CodeGenEvalResult, tmp_path: Path) -> None:
    from flyte.io import DataFrame, File

    SAMPLE.to_parquet(tmp_path / "may.parquet", index=False)
    items = [File(path=str(tmp_path / "may.parquet")), File(path="nosuch://b/june.parquet")]
    shops: Any = DataFrame.from_df(SHOPS)
    mapped = in_cities.map(items, shops=shops)
    assert [error.item for error in mapped.errors] == items[1:]
    assert in_cities.map(items[:1], shops=shops).table()["key"].unique().tolist() == ["may.parquet"]


def test_a_fixed_file_that_cannot_be_fetched_ends_a_map_before_anything_runs(from_file: CodeGenEvalResult) -> None:
    from flyte.io import File

    shops = File(path="nosuch://b/shops.csv")
    with pytest.raises(InvalidRequest, match="Flyte could not fetch the File"):
        from_file.map([SAMPLE], shops=shops)
    with ThreadPoolExecutor(1) as executor:  # whose workers fetch it
        assert len(from_file.map([SAMPLE], executor=executor, shops=shops).errors) == 1


def test_what_does_not_fit_is_said(in_cities: CodeGenEvalResult, tmp_path: Path) -> None:
    from flyte.io import DataFrame, File

    SAMPLE.to_parquet(tmp_path / "may.parquet", index=False)
    may = File(path=str(tmp_path / "may.parquet"))
    assert in_cities.misfit("sales", may) == in_cities.misfit("sales", DataFrame.from_df(SAMPLE)) == ""
    assert "units" in in_cities.misfit("sales", DataFrame.from_df(SHOPS))
    assert "could not fetch" in in_cities.misfit("sales", File(path="nosuch://b/may.parquet"))
