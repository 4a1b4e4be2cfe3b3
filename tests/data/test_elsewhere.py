"""Tables whose rows are not in memory: none is read whole because a cell, a sample or an example names it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import autocoder_jupyter
from autocoder_jupyter.data import capture as foreign
from autocoder_jupyter.data.capture import capture, captured_value, computed, converted, is_lazy, is_table
from autocoder_jupyter.data.sampling import is_source
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.magics.references import collect_samples

PLAIN = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})


def stand_in(module: str, name: str, base: type = object) -> Any:
    """A table of a library that is not installed here. Reading it fails the test."""

    def read(*_: object, **__: object) -> Any:
        pytest.fail(f"{module}.{name} was read")

    return type(name, (base,), {"__module__": module, "to_pandas": read, "__dataframe__": read, "count": read})


IBIS = stand_in("ibis.expr.types.relations", "Table")
OF_CLUSTERS = {
    "ibis": IBIS,
    "ibis cached": stand_in("ibis.expr.types.relations", "CachedTable", IBIS),
    "ibis column": stand_in("ibis.expr.types.strings", "StringColumn", stand_in("ibis.expr.types.generic", "Column")),
    "ibis number": stand_in("ibis.expr.types.numeric", "IntegerScalar", stand_in("ibis.expr.types.generic", "Scalar")),
    "spark": stand_in("pyspark.sql.classic.dataframe", "DataFrame", stand_in("pyspark.sql.dataframe", "DataFrame")),
    "spark with the API of pandas": stand_in("pyspark.pandas.frame", "DataFrame"),
    "dask": stand_in("dask.dataframe.dask_expr._collection", "DataFrame"),
    "ray": stand_in("ray.data.dataset", "MaterializedDataset", stand_in("ray.data.dataset", "Dataset")),
    "daft": stand_in("daft.dataframe.dataframe", "DataFrame"),
    "snowpark": stand_in("snowflake.snowpark.dataframe", "DataFrame"),
    "bigframes": stand_in("bigframes.dataframe", "DataFrame"),
}


@pytest.fixture
def dataset(tmp_path: Path) -> Any:
    pq.write_table(pa.Table.from_pandas(PLAIN), tmp_path / "part.parquet")
    return ds.dataset(tmp_path)


def lazy_tables(dataset: Any) -> dict[str, Any]:
    lazy = pl.from_pandas(PLAIN).lazy()
    return {
        "polars": lazy,
        "narwhals": nw.from_native(lazy),
        "dataset": dataset,
        "reader": pa.Table.from_pandas(PLAIN).to_reader(),
        **{name: kind() for name, kind in OF_CLUSTERS.items()},
    }


def test_a_value_that_is_captured_is_never_read_from_elsewhere_and_the_error_says_how_to_take_a_part(
    dataset: Any,
) -> None:
    for name, table in lazy_tables(dataset).items():
        assert is_lazy(table) and is_table(table), name
        with pytest.raises(InvalidRequest, match="its rows are not in memory") as refused:
            capture(table)
        assert "few = table." in refused.value.hint
        with pytest.raises(InvalidRequest):
            captured_value(table)


NO_SAMPLE = set(OF_CLUSTERS) - {"ibis", "ibis cached", "dask"} | {"reader"}


def test_a_request_that_refers_to_one_of_which_no_sample_is_drawn_names_its_variable(dataset: Any) -> None:
    for name, table in lazy_tables(dataset).items():
        assert is_source(table) is (name not in NO_SAMPLE), name
        command = parse_cell("g", "@sales")
        with pytest.raises(InvalidRequest, match="its rows are not in memory") as refused:
            collect_samples(command, {"sales": table}, may_sample=False)
        assert "few = sales." in refused.value.hint
        if name in NO_SAMPLE:
            with pytest.raises(InvalidRequest, match="its rows are not in memory"):
                collect_samples(command, {"sales": table})


def test_the_agent_refuses_one_as_a_sample() -> None:
    agent = autocoder_jupyter.AutoCoderAgent()
    with pytest.raises(InvalidRequest, match="samples: sales: A sample cannot be of type daft DataFrame"):
        asyncio.run(agent.generate.aio("x", samples={"sales": OF_CLUSTERS["daft"]()}))


def test_the_part_that_the_hint_takes_is_a_sample(dataset: Any) -> None:
    tables = {name: table for name, table in lazy_tables(dataset).items() if name in ("polars", "dataset", "reader")}
    for table in tables.values():
        with pytest.raises(InvalidRequest) as refused:
            capture(table)
        code = refused.value.hint.partition("few = ")[2]
        pd.testing.assert_frame_equal(capture(eval(code, {"table": table})), PLAIN, check_dtype=False)


def test_a_call_counts_first_and_reads_only_a_few_rows(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = converted(dataset)
    assert table is not None and table["a"].tolist() == [1, 2, 3]
    monkeypatch.setattr(foreign, "MOST_CELLS", 5)
    with pytest.raises(InvalidRequest, match="pyarrow FileSystemDataset of 3 rows × 2 columns is not computed"):
        converted(dataset)


class Count:
    def __init__(self, rows: int) -> None:
        self.rows = rows

    def execute(self) -> int:
        return self.rows


def test_a_query_of_ibis_is_counted_by_its_engine_before_a_call_reads_it() -> None:
    schema = type("Schema", (), {"to_pyarrow": lambda _: pa.schema([("a", pa.int64())]), "items": lambda _: ()})
    facts = {"__module__": "ibis.expr.types.relations", "schema": lambda _: schema()}
    large = type("Table", (IBIS,), {**facts, "count": lambda _: Count(2**30)})
    with pytest.raises(InvalidRequest, match="1,073,741,824 rows × 1 columns is not computed"):
        converted(large())
    small = type(
        "Table", (IBIS,), {**facts, "count": lambda _: Count(3), "limit": lambda *_: pa.Table.from_pandas(PLAIN)}
    )
    pd.testing.assert_frame_equal(computed(small()), PLAIN)


def test_a_call_reads_nothing_that_cannot_be_counted(dataset: Any) -> None:
    for name in set(OF_CLUSTERS) - {"ibis", "ibis cached"}:
        with pytest.raises(InvalidRequest, match="is not computed for a call") as refused:
            converted(OF_CLUSTERS[name]())
        assert "pass that: table." in refused.value.hint
