"""Files of a source in which a column has another dtype: what the error offers, and `convert=`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.scaling import converting, files
from tests.scaling.conftest import MERGE, ROWS, Build
from tests.scaling.test_over import BY_ROWS, MERGED, SAMPLE, everything, folder, plain, sales  # noqa: F401

pytestmark = pytest.mark.local_sandbox


def offered(error: DataDrift) -> dict[str, Any]:
    """The argument that the error offers."""
    found = re.search(r"convert=(\{.*\})\); tried", error.hint)
    assert found, str(error)
    return dict(eval(found[1], {"pd": pd}))


def test_the_line_that_is_offered_converts_all_files_that_need_it(built: Build, folder: Path) -> None:  # noqa: F811
    whole = everything(folder)
    extra = []
    for number in (5, 7):
        extra.append(sales(3_000, number))
        extra[-1].astype({"units": str}).to_parquet(folder / f"part-{number}.parquet", index=False)
    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    with pytest.raises(DataDrift, match=r"part-5.parquet has types that differ") as drift:
        growth.over(folder)
    assert "To convert part-5.parquet, part-7.parquet: growth.over(…, convert=" in drift.value.hint
    answer = growth.over(folder, convert=offered(drift.value))
    pd.testing.assert_frame_equal(answer, plain(BY_ROWS, pd.concat([whole, *extra], ignore_index=True)))


def test_the_first_file_may_be_the_one_that_differs(built: Build, folder: Path) -> None:  # noqa: F811
    whole = everything(folder)
    path = folder / "part-0.parquet"
    pd.read_parquet(path).astype({"units": str}).to_parquet(path, index=False)
    answer = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS).over(folder, convert={"units": pd.to_numeric})
    pd.testing.assert_frame_equal(answer, plain(BY_ROWS, whole))


def test_days_as_text_in_all_files_are_offered_too(built: Build, tmp_path: Path) -> None:
    body = "return sales[sales['day'] >= '2024-03-05'][['units']]"
    days = pd.date_range("2024-01-01", periods=240)
    table = SAMPLE.assign(day=days.strftime("%d/%m/%Y"))
    table.to_parquet(tmp_path / "sales.parquet", index=False)
    growth = built(body, {"sales": SAMPLE.assign(day=days)}, known=ROWS)
    with pytest.raises(DataDrift, match="'day' is str instead of datetime64") as drift:
        growth.over(tmp_path / "sales.parquet")
    answer = growth.over(tmp_path / "sales.parquet", convert=offered(drift.value))
    pd.testing.assert_frame_equal(
        answer.reset_index(drop=True), SAMPLE[days >= pd.Timestamp("2024-03-05")][["units"]].reset_index(drop=True)
    )


@pytest.mark.parametrize("odd", ["many", "007", "12 "], ids=["a word", "zeros in front", "a second file"])
def test_nothing_is_offered_that_loses_a_value_of_a_late_row(built: Build, folder: Path, odd: str) -> None:  # noqa: F811
    table = sales(3_000, 5).astype({"units": str})
    table.loc[2_999, "units"] = odd.strip() if odd != "12 " else "x"
    sales(30, 6).astype({"units": str}).to_parquet(folder / "part-5.parquet", index=False)
    table.to_parquet(folder / "part-6.parquet", index=False)
    growth = built(MERGED, {"sales": SAMPLE}, known=MERGE)
    with pytest.raises(DataDrift, match=r"part-5.parquet") as drift:
        growth.over(folder)
    assert "convert=" not in drift.value.hint


def test_nothing_is_offered_for_more_rows_than_are_tried(
    built: Build,
    folder: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(converting, "MOST_TRIED", 2_999)
    sales(3_000, 5).astype({"units": str}).to_parquet(folder / "part-5.parquet", index=False)
    with pytest.raises(DataDrift) as drift:
        built(MERGED, {"sales": SAMPLE}, known=MERGE).over(folder)
    assert "convert=" not in drift.value.hint


@pytest.mark.parametrize(
    ("convert", "why"),
    [
        (lambda column: pd.to_numeric(column), "ValueError: Unable to parse"),
        (lambda column: pd.to_numeric(column, errors="coerce"), "ValueError: it makes a value missing"),
        (lambda column: column.head(3), "TypeError: it must return a Series of the same length"),
    ],
    ids=["raises", "makes it missing", "other rows"],
)
def test_a_conversion_that_fails_names_the_row(built: Build, folder: Path, convert: Any, why: str) -> None:  # noqa: F811
    table = sales(80_000, 5).astype({"units": str})
    table.loc[77_777, "units"] = "many"
    table.to_parquet(folder / "part-5.parquet", index=False)
    growth = built(MERGED, {"sales": SAMPLE}, known=MERGE)
    with pytest.raises(DataDrift, match="'units' cannot be converted") as failed:
        growth.over(folder, convert={"units": convert})
    row = "77,777" if "missing" in why or "parse" in why else ""
    assert failed.value.what.startswith(f"part-5.parquet, row {row}" if row else "part-5.parquet, row")
    assert failed.value.why.startswith(why)


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        ({"unit": pd.to_numeric}, "no column 'unit' to convert"),
        ({"units": "pd.to_numeric"}, "convert must be a dict of functions"),
        (pd.to_numeric, "convert must be a dict of functions"),
    ],
)
def test_a_conversion_that_cannot_be_meant_is_refused(built: Build, folder: Path, convert: Any, message: str) -> None:  # noqa: F811
    with pytest.raises(InvalidRequest, match=message):
        built(MERGED, {"sales": SAMPLE}, known=MERGE).over(folder, convert=convert)


def test_a_query_is_converted_by_its_own_engine(built: Build, folder: Path) -> None:  # noqa: F811
    polars = pytest.importorskip("polars")
    growth = built(MERGED, {"sales": SAMPLE}, known=MERGE)
    with pytest.raises(InvalidRequest, match="convert= is for files"):
        growth.over(polars.scan_parquet(folder), convert={"units": pd.to_numeric})


ZIPS = pd.DataFrame({"zip": ["12345", "99999", "54321", "10000"] * 60})


def test_whole_numbers_become_the_same_texts_in_batches_with_and_without_gaps(
    built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BATCH_ROWS", 100)
    numbers = pa.array([*range(10_000, 10_299), None])
    path = tmp_path / "zips.parquet"
    parquet.write_table(pa.table({"zip": numbers}), path)
    growth = built("return sales[['zip']].copy()", {"sales": ZIPS}, known=ROWS)
    convert = {"zip": lambda column: column.astype(str)}
    answer = growth.over(path, convert=convert)["zip"]
    assert answer.dropna().tolist() == [str(number) for number in range(10_000, 10_299)]
    assert answer.isna().tolist() == [False] * 299 + [True]


def test_a_conversion_in_parts_keeps_the_rows_in_their_places(built: Build, folder: Path) -> None:  # noqa: F811
    """As for a column of a table in pandas, the index says where a value belongs."""
    whole = everything(folder)
    path = folder / "part-1.parquet"
    table = pd.read_parquet(path).astype({"units": str})
    table.replace({"units": {"3": "three"}}).to_parquet(path, index=False)

    def convert(column: Any) -> Any:
        words = column == "three"
        return pd.concat([pd.to_numeric(column[~words]), column[words].map({"three": 3})])

    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    pd.testing.assert_frame_equal(growth.over(folder, convert={"units": convert}), plain(BY_ROWS, whole))
    elsewhere = {"units": lambda column: pd.Series(3, index=column.index + 1)}
    with pytest.raises(DataDrift) as failed:
        growth.over(folder, convert=elsewhere)
    assert failed.value.why == "TypeError: it must return a Series with the same index"


def test_a_column_of_the_folders_is_converted_too(built: Build, tmp_path: Path) -> None:
    days = ["2024-02-01", "2024-04-01"]
    for day in days:
        (tmp_path / "in" / f"day={day}").mkdir(parents=True)
        SAMPLE.to_parquet(tmp_path / "in" / f"day={day}" / "part-0.parquet", index=False)
    sample = SAMPLE.assign(day=pd.date_range("2024-01-01", periods=240))
    growth = built("return sales[sales['day'] >= '2024-03-01'][['units', 'day']]", {"sales": sample}, known=ROWS)
    with pytest.raises(DataDrift, match="'day' is str instead of datetime64") as drift:
        growth.over(tmp_path / "in")
    answer = growth.over(tmp_path / "in", convert=offered(drift.value))
    assert answer["units"].tolist() == SAMPLE["units"].tolist()
    assert set(answer["day"]) == {pd.Timestamp("2024-04-01")}
