"""Tables whose rows are not in the memory of the notebook: lazy frames, queries, datasets, tables of a cluster.

They are recognised by the names of their classes, so no library is imported. To read such a table can take hours, and
all memory, so a cell that names one gets a sample (`sampling`), or an error if its engine gives none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.errors import InvalidRequest

FEW = "10_000"
"""The rows of a sample, as they are written in a hint."""


@dataclass(frozen=True)
class Elsewhere:
    """A kind of table whose rows are elsewhere.

    Args:
        library: the first part of the module of its class.
        type_name: the name of its class, or of a base of it.
        few: the code after the name of a variable that gives its first rows as a table in memory.
    """

    library: str
    type_name: str
    few: str


_KINDS = (
    Elsewhere("polars", "LazyFrame", f".head({FEW}).collect()"),
    Elsewhere("narwhals", "LazyFrame", f".head({FEW}).collect()"),
    Elsewhere("duckdb", "DuckDBPyRelation", f".limit({FEW}).df()"),
    Elsewhere("ibis", "Table", f".limit({FEW}).to_pandas()"),
    Elsewhere("ibis", "Column", f".as_table().limit({FEW}).to_pandas()"),
    Elsewhere("ibis", "Scalar", ".as_table().to_pandas()"),
    Elsewhere("pyarrow", "Dataset", f".head({FEW}).to_pandas()"),
    Elsewhere("pyarrow", "RecordBatchReader", ".read_next_batch().to_pandas()"),
    Elsewhere("dask", "DataFrame", f".head({FEW}, npartitions=-1)"),
    Elsewhere("dask", "Series", f".head({FEW}, npartitions=-1)"),
    Elsewhere("dask_expr", "DataFrame", f".head({FEW}, npartitions=-1)"),
    Elsewhere("pyspark", "Frame", f".head({FEW}).to_pandas()"),  # its pandas API
    Elsewhere("pyspark", "DataFrame", f".limit({FEW}).toPandas()"),
    Elsewhere("ray", "Dataset", f".limit({FEW}).to_pandas()"),
    Elsewhere("daft", "DataFrame", f".limit({FEW}).to_pandas()"),
    Elsewhere("datafusion", "DataFrame", f".limit({FEW}).to_pandas()"),
    Elsewhere("bigframes", "DataFrame", f".head({FEW}).to_pandas()"),
    Elsewhere("snowflake", "DataFrame", f".limit({FEW}).to_pandas()"),
)


def elsewhere(value: object) -> Elsewhere | None:
    """The kind of a table whose rows are elsewhere; None for any other value. Only its class is looked at."""
    if isinstance(value, type):
        return None
    classes = {(base.__module__.partition(".")[0].lstrip("_"), base.__name__) for base in type(value).__mro__}
    return next((kind for kind in _KINDS if (kind.library, kind.type_name) in classes), None)


def refuse_elsewhere(value: Any, name: str = "table") -> None:
    """Refuse a table whose rows are elsewhere as a sample. Nothing of it is read.

    Args:
        value: any value.
        name: how the user calls it.

    Raises:
        InvalidRequest: it is one.
    """
    kind = elsewhere(value)
    if kind is None:
        return
    raise InvalidRequest(
        f"A sample cannot be of type {kind.library} {type(value).__name__}: its rows are not in memory.",
        why="Nothing was read, because it may be large.",
        hint=few_of(value, name),
    )


def few_of(value: Any, name: str) -> str:
    """The line that takes a part of a table as a sample; "" for other values."""
    kind = elsewhere(value)
    return "" if kind is None else f"Take a part of it as the sample: few = {name}{kind.few}"
