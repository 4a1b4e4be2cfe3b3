"""`growth.over` of a frame of Spark in local mode, compared with plain pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest

from autocoder_jupyter.errors import DataDrift, InvalidRequest
from tests.scaling.clusters.conftest import KINDS, SALES, killed_while
from tests.scaling.conftest import BY_SHOP, MERGE, ROWS, WHOLE, Build
from tests.scaling.test_over import BROKEN, BY_GROUPS, BY_ROWS, MERGED, SAMPLE, SLOW, plain
from tests.scaling.test_sources import AWAY, FUNCTIONS, KNOWN, by_values

pytestmark = [pytest.mark.local_sandbox, pytest.mark.slow]


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(SALES).repartition(8).cache()


@pytest.mark.parametrize("name", KINDS)
def test_it_gives_what_pandas_gives(built: Build, frame: Any, name: str) -> None:
    kind, body = FUNCTIONS[name]
    growth = built(body, {"sales": SAMPLE}, known=KNOWN[body])
    answer = growth.over(frame)
    assert isinstance(answer, type(frame))
    found, expected = answer.toPandas(), plain(body, frame.toPandas())
    if kind == "groups":
        found, expected = by_values(found), by_values(expected)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_rows_without_a_key_are_with_others_and_nothing_is_merged_from_nothing(built: Build, spark: Any) -> None:
    gaps = SALES.assign(shop=SALES["shop"].where(SALES["units"] > 3), at=pd.Timestamp("2024-10-27 02:30"))
    body = BY_GROUPS.replace("'shop', as_index=False", "['shop', 'at'], as_index=False, dropna=False")
    frame = spark.createDataFrame(gaps)
    growth = built(body, {"sales": frame.limit(240).toPandas()})
    assert growth.split.kind == "groups"
    found = growth.over(frame).toPandas()
    pd.testing.assert_frame_equal(by_values(found), by_values(plain(body, gaps)), check_dtype=False)
    nothing = built(MERGED, {"sales": SAMPLE}, known=MERGE).over(frame.where("units > 100")).toPandas()
    assert nothing.to_dict("list") == {"units": [0]}


def test_only_the_columns_that_are_read_are_loaded(
    built: Build, spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    SALES.to_parquet(tmp_path / "sales.parquet", index=False)
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    stored = spark.read.parquet(str(tmp_path / "sales.parquet"))
    explained = growth.over.explain(stored)
    assert (explained.columns, explained.rows, explained.pieces) == (("shop", "units"), None, None)
    assert explained.engine == "Spark"
    growth.over(stored).explain()
    read = {line.partition("ReadSchema: ")[2] for line in capsys.readouterr().out.splitlines() if "ReadSchema" in line}
    assert read == {"struct<shop:string,units:bigint>", "struct<shop:string>"}


def test_what_cannot_be_right_is_refused_before_anything_is_computed(built: Build, spark: Any, frame: Any) -> None:
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    with pytest.raises(DataDrift, match="units"):
        growth.over(frame.drop("units"))
    with pytest.raises(DataDrift, match="units"):
        growth.over(spark.createDataFrame(SALES.assign(units="many")))
    given: tuple[dict[str, Any], ...] = ({"to": "answer"}, {"workers": 2}, {"progress": print})
    for option in given:
        with pytest.raises(InvalidRequest, match="is not supported for a Spark frame"):
            growth.over(frame, **option)
    untold = built("return pd.DataFrame({'units': sales['units'], 'none': None})", {"sales": SAMPLE})
    with pytest.raises(InvalidRequest, match="cannot be in a Spark frame"):
        untold.over(frame)


def test_what_a_piece_shows_is_the_error_of_the_computation(built: Build, spark: Any, frame: Any) -> None:
    from pyspark.errors import PythonException

    few = f"assert sales['units'].max() < 100, 'too many'\n    {BY_ROWS}"
    broken = built(few, {"sales": SAMPLE}, known=ROWS)
    large = spark.createDataFrame(SALES.assign(units=SALES["units"].where(SALES.index != 100, 200))).coalesce(1)
    with pytest.raises(PythonException, match=r"(?s)PieceFailed: partition 0 \(3,000 rows\).*too many"):
        broken.over(large).toPandas()
    with pytest.raises(PythonException, match=r"(?s)TooBig: .*repartition"):
        built(BY_ROWS, {"sales": SAMPLE}, known=ROWS).over(frame, memory=2_000).toPandas()
    with pytest.raises(PythonException, match=r"(?s)TooBig: .*of which shop = '.*' has [\d,]+ rows"):
        built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP).over(frame, memory=2_000).toPandas()
    away = built(AWAY, {"sales": SAMPLE}, known=WHOLE)
    with pytest.raises(PythonException, match=r"(?s)NotSplittable: .*does not fit into"):
        away.over(frame, memory=20_000).toPandas()
    halves = (
        "return sales.assign(half=sales['units'] // 1 if sales['units'].max() < 100 else sales['units'] / 8)[['half']]"
    )
    with pytest.raises(PythonException, match=r"(?s)DataDrift: .*float64 in 'half', and that for the sample int64"):
        built(halves, {"sales": SAMPLE}).over(large).toPandas()


def test_the_largest_groups_contradict_the_split(built: Build, spark: Any) -> None:
    from pyspark.errors import PythonException

    growth = built(BROKEN["groups"], {"sales": SAMPLE}, known=BY_SHOP)
    with pytest.raises(PythonException, match=r"(?s)SplitBroken: .*a piece of groups of shop"):
        growth.over(spark.createDataFrame(SALES.assign(note="odd"))).toPandas()


def test_a_killed_worker_loses_and_doubles_nothing_and_takes_its_sandbox_with_it(built: Build, spark: Any) -> None:
    growth, table = built(SLOW + BY_ROWS, {"sales": SAMPLE}, known=ROWS), SALES.assign(units=SALES["units"] + 100)
    answer = growth.over(spark.createDataFrame(table).repartition(16))

    def is_worker(process: psutil.Process) -> bool:
        parent = process.parent()
        return parent is not None and "pyspark.daemon" in parent.cmdline()

    found = killed_while(answer.toPandas, is_worker)
    pd.testing.assert_frame_equal(by_values(found), by_values(plain(BY_ROWS, table)), check_dtype=False)
