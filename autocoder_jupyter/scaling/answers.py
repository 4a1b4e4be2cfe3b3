"""The answers of pieces, put together: one table in memory, or a folder of Parquet files."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow
from pyarrow import dataset, parquet

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.data.drift import column_literal, family
from autocoder_jupyter.engine.evidence.split_inputs import below, deviation
from autocoder_jupyter.equality.tables import has_own_index
from autocoder_jupyter.errors import DataDrift, InvalidRequest, writing
from autocoder_jupyter.untrusted.parsing import visible

# Whether tables may be put together: they have the same columns, and the values of each are of one kind in all.
#
# Otherwise pandas makes a column of objects, fills a column with missing values, or rounds, without an error.


_NUMBER = "number"

_OF_OBJECTS = {
    "boolean": "bool",
    "floating": _NUMBER,
    "integer": _NUMBER,
    "mixed-integer-float": _NUMBER,
    "string": "text",
}
"""Kinds of values in a column of objects, by the word of pandas. Others have that word."""


@dataclass
class _SeenColumn:
    """What is known of a column of all tables so far.

    Args:
        kind: of its values; "" if there were none.
        dtype: of the first table with values, for messages.
        joined: the dtype of its numbers put together; None if there were none.
        exact: the name of a table with whole numbers that a float rounds; "" if there is none.
    """

    kind: str = ""
    dtype: str = ""
    where: str = ""
    joined: np.dtype[Any] | None = None
    exact: str = ""

    def deviation(self, values: pd.Series[Any], name: str) -> str:
        """How further values deviate, as a few words; "" if they do not."""
        numbers = _numbers(values)
        if numbers is not None:
            self.joined = numbers if self.joined is None else np.result_type(self.joined, numbers)
            if not self.exact and numbers.kind in "iu" and rounds(values):
                self.exact = name
        kind = _kind(values)
        if kind and self.kind and kind != self.kind:
            return f"is {_dtype(values, kind)}, and {self.dtype} in {self.where}"
        if self.exact and self.joined is not None and self.joined.kind == "f":
            return f"would be {self.joined}, which rounds the whole numbers of {self.exact}"
        if kind and not self.kind:
            self.kind, self.dtype, self.where = kind, _dtype(values, kind), name
        return ""


class Alike:
    """Compares tables with those before them. Of each only a row is kept.

    Columns without values are of any kind, and so is a table without rows. Whole numbers beside fractions become
    floats, if these have all of their digits.
    """

    def __init__(self) -> None:
        self._first: pd.DataFrame | None = None
        self._columns: dict[int, _SeenColumn] = {}

    def deviation(self, table: pd.DataFrame, name: str) -> str:
        """How a table deviates from those before it, as a few words without values; "" if it does not."""
        first = self._first
        if first is not None and (said := deviation(first, [table])):
            return said.removesuffix(" in a piece")
        if first is None or (len(table) and not len(first)):
            self._first = table.head(1).copy()
        elif len(table) and has_own_index(table) and table.index.names != first.index.names:
            return f"its index is {_named(table.index)} and not {_named(first.index)}"
        if not len(table):
            return ""
        for place, (label, values) in enumerate(_columns(table)):
            if said := self._columns.setdefault(place, _SeenColumn()).deviation(values, name):
                return f"{visible(label)[:60]!r} {said}"
        return ""


def rounds(values: pd.Series[Any]) -> bool:
    """Whether whole numbers have digits that a float does not have."""
    present = values.dropna()
    if pd.api.types.is_object_dtype(present.dtype):
        return any(abs(value) > 2**1023 or int(float(value)) != value for value in present)
    exact = present.to_numpy(dtype=_numbers(present))
    if exact.dtype.itemsize < 8:
        return False
    with np.errstate(invalid="ignore"):
        floats = exact.astype("float64")
        return bool(((floats >= float(np.iinfo(exact.dtype).max)) | (floats.astype(exact.dtype) != exact)).any())


def _columns(table: pd.DataFrame) -> Iterator[tuple[str, pd.Series[Any]]]:
    """An index that says something, and the columns, each with its name."""
    if has_own_index(table):
        for level, name in enumerate(table.index.names):
            yield str(name), table.index.get_level_values(level).to_series()
    for place, label in enumerate(table.columns):
        yield str(label), table.iloc[:, place]


def _kind(values: pd.Series[Any]) -> str:
    """The kind of values: a family of dtypes, and of moments also the zone; "" if all are missing."""
    if values.isna().all():
        return ""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _kind(dtype.categories.to_series())
    if pd.api.types.is_object_dtype(dtype):
        word = pd.api.types.infer_dtype(values, skipna=True)
        return _OF_OBJECTS.get(word, word)
    found = family(str(dtype))
    if found == "time with zone":
        return f"time in {values.dt.tz}"
    return _NUMBER if found in ("int", "float") else found.partition("(")[0]


def _dtype(values: pd.Series[Any], kind: str) -> str:
    return f"object ({kind})" if pd.api.types.is_object_dtype(values.dtype) else visible(str(values.dtype))[:60]


def _numbers(values: pd.Series[Any]) -> np.dtype[Any] | None:
    """The dtype of numbers in numpy; None for other values."""
    dtype: Any = values.dtype
    if pd.api.types.is_object_dtype(dtype):
        word = pd.api.types.infer_dtype(values, skipna=True)
        return np.dtype("int64") if word == "integer" else np.dtype("float64") if "float" in word else None
    if family(str(dtype)) not in ("int", "float"):
        return None
    found: np.dtype[Any] = np.dtype(getattr(dtype, "subtype", getattr(dtype, "numpy_dtype", dtype)))
    return found


def _named(index: pd.Index) -> str:
    return visible(", ".join("unnamed" if name is None else str(name) for name in index.names))[:60]


# What the docstring of this file says.


class Answers(Protocol):
    """Takes the answers of pieces."""

    def put(self, place: int, answer: pd.DataFrame, piece: str) -> None:
        """Take the answer of a piece.

        Args:
            place: of the piece among all.
            answer: its answer.
            piece: its name, for messages.

        Raises:
            DataDrift: it has other columns than the answers before it, or values of another kind.
        """

    def finish(self) -> Any:
        """All answers together, in the order of the pieces."""

    def close(self) -> None:
        """Remove what is not finished."""


class Together:
    """Keeps the answers in memory."""

    def __init__(self) -> None:
        self.kept: dict[int, pd.DataFrame] = {}
        self._alike = Alike()

    def put(self, place: int, answer: pd.DataFrame, piece: str) -> None:
        """Take the answer of a piece."""
        _require(self._alike.deviation(answer, piece), piece)
        self.kept[place] = answer

    def in_order(self) -> list[pd.DataFrame]:
        """The answers in the order of the pieces."""
        return [self.kept[place] for place in sorted(self.kept)]

    def finish(self) -> pd.DataFrame:
        """The answers one below the other."""
        together: pd.DataFrame = below(self.in_order())
        return together

    def close(self) -> None:
        """Nothing is left."""


class InFolder:
    """Writes each answer to a file beside a folder, which gets its name when all are written.

    Args:
        to: the folder. It must not exist.
    """

    def __init__(self, to: Path) -> None:
        self._to = to.absolute()
        require_new(to)
        with writing("The answers", self._to.parent):
            self._to.parent.mkdir(parents=True, exist_ok=True)
            self._beside = self._to.parent / f".{self._to.name}-{uuid.uuid4().hex}"
            self._beside.mkdir()
        self._schemas: dict[int, tuple[Any, str]] = {}
        self._first: Any = None
        self._common: Any = None
        self._alike = Alike()

    def put(self, place: int, answer: pd.DataFrame, piece: str) -> None:
        """Write the answer of a piece."""
        _require(self._alike.deviation(answer, piece), piece)
        try:
            table = pyarrow.Table.from_pandas(answer, preserve_index=has_own_index(answer))
        except (pyarrow.ArrowException, ValueError, TypeError) as error:
            raise DataDrift(f"{piece}: its answer cannot be written.", why=visible(str(error)[:300])) from error
        own = table.schema
        if len(answer):
            told = _of_values(table)
            self._first = own if self._first is None else self._first
            self._common = told if self._common is None else self._unified(told, piece)
        with writing("The answers", self._to.parent):
            parquet.write_table(table, self._file(place))
        self._schemas[place] = own, piece

    def _unified(self, own: Any, piece: str) -> Any:
        if own.equals(self._common):
            return self._common
        error: Exception | None = None
        for schemas in ([self._common, own], list(map(_plain, (self._common, own)))):  # categories beside texts
            try:
                unified = pyarrow.unify_schemas(schemas, promote_options="permissive")
                return unified.with_metadata(self._common.metadata)
            except pyarrow.ArrowException as failed:
                error = failed
        raise DataDrift(
            f"{piece}: its answer has other types than those before it.", why=visible(str(error)[:300])
        ) from error

    def finish(self) -> Any:
        """The folder as a dataset of PyArrow. All of its files have the same schema."""
        with writing("The answers", self._to.parent):
            if self._common is not None:
                common = _filled(self._common, self._first)
                for place, (own, piece) in self._schemas.items():
                    if own != common:
                        _rewrite(self._file(place), common, piece)
            require_new(self._to)
            self._beside.rename(self._to)
        return dataset.dataset(self._to, format="parquet")

    def close(self) -> None:
        """Remove what is not finished."""
        shutil.rmtree(self._beside, ignore_errors=True)

    def _file(self, place: int) -> Path:
        return self._beside / f"part-{place:05}.parquet"


def _of_values(table: Any) -> Any:
    """The schema of a table; a column without values has no type."""
    fields = [
        field.with_type(pyarrow.null()) if column.null_count == table.num_rows else field
        for field, column in zip(table.schema, table.columns, strict=True)
    ]
    return pyarrow.schema(fields, metadata=table.schema.metadata)


def _filled(schema: Any, first: Any) -> Any:
    """A schema with the types of the first answer for columns that have no values at all."""
    fields = [first.field(place) if pyarrow.types.is_null(field.type) else field for place, field in enumerate(schema)]
    return pyarrow.schema(fields, metadata=schema.metadata)


def _plain(schema: Any) -> Any:
    """A schema with the values of categories in their place."""
    fields = [
        field.with_type(field.type.value_type) if pyarrow.types.is_dictionary(field.type) else field for field in schema
    ]
    return pyarrow.schema(fields, metadata=schema.metadata)


def _rewrite(file: Path, schema: Any, piece: str) -> None:
    """Give the answer in a file these types."""
    table = parquet.ParquetFile(file).read()
    try:
        columns = [_cast(column, kind) for kind, column in zip(schema.types, table.columns, strict=True)]
    except pyarrow.ArrowException as error:
        raise DataDrift(f"{piece}: its answer has other types than others.", why=visible(str(error)[:300])) from error
    parquet.write_table(pyarrow.Table.from_arrays(columns, schema=schema), file)


def _cast(column: Any, kind: Any) -> Any:
    if column.null_count == len(column):
        return pyarrow.nulls(len(column), kind)
    # Whole numbers that a float rounds were refused before. Arrow refuses all large ones.
    is_safe = not (pyarrow.types.is_integer(column.type) and pyarrow.types.is_floating(kind))
    return column.cast(kind, safe=is_safe)


def require_new(to: Path) -> None:
    """Check that there is nothing at a path."""
    if to.exists() or to.is_symlink():
        raise InvalidRequest(f"{visible(str(to))} exists already.", hint="Choose another folder, or remove it.")


def require_same(first: pd.DataFrame, answer: pd.DataFrame, piece: str) -> None:
    """Check that an answer has the columns of another one, in their order."""
    _require(deviation(first, [answer]), piece)


def _require(said: str, piece: str) -> None:
    if said:
        raise DataDrift(
            f"The answer for {piece} differs from those for the pieces before it: {said.removesuffix(' in a piece')}.",
            hint="Ask for a function whose columns and dtypes do not depend on the data.",
        )


# The rows of pieces as the table of pandas that a function was built on.


_NULLABLE = ("Int", "UInt", "boolean")


@dataclass(frozen=True)
class Dtypes:
    """The dtypes that each piece gets: those of the sample, where pandas has several for the same values. A dtype that
    pandas would choose by the values of a piece could be another one in each.

    Args:
        by_name: the dtypes of the sample by the literals of its columns (`drift.shape_of`).
        categories: those of its columns that have categories.
        renames: the names that the function reads, by those in the data.
    """

    by_name: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, pd.CategoricalDtype] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)

    def of(self, label: Any, labels: Any) -> str:
        """The dtype of a column; "" if the sample has no such column."""
        return self.by_name.get(self._literal(label, labels), "")

    def _literal(self, label: Any, labels: Any) -> str:
        reads = self.renames.get(label, label) if isinstance(label, str) else label
        return column_literal(label if reads in labels else reads)

    def fitted(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table with these dtypes; the table itself is not changed."""
        labels = set(frame.columns)
        made = frame.copy(deep=False)
        for place, label in enumerate(frame.columns):
            dtype, now = self.of(label, labels), str(frame.dtypes.iloc[place])
            values = frame.iloc[:, place]
            if dtype.startswith("category"):
                kept = self.categories.get(self._literal(label, labels))
                made.isetitem(place, _with_categories(values, kept, str(label)))
            elif family(dtype) == "float" and family(now) == "int":
                made.isetitem(place, values.astype("float64").array)
            elif dtype == "object" and now == "bool":  # truth values with gaps
                made.isetitem(place, values.astype(object).array)
        return made

    def divided(self, frame: pd.DataFrame, rows: Any) -> pd.DataFrame:
        """Some rows of a table as if they were all: a part with only the categories that a piece would have."""
        part = frame.iloc[rows]
        made = part.copy(deep=False)
        for place, dtype in enumerate(part.dtypes):
            if isinstance(dtype, pd.CategoricalDtype):
                made.isetitem(place, part.iloc[:, place].cat.remove_unused_categories().array)
        return self.fitted(made)


def dtypes_of(function: Function, name: str) -> Dtypes:
    """The dtypes of an input."""
    sample = function.samples.get(name)
    found = sample.dtypes.items() if isinstance(sample, pd.DataFrame) else ()
    return Dtypes(
        {str(literal): str(dtype) for literal, dtype in function.shapes.get(name, {}).get("columns", ())},
        {column_literal(label): dtype for label, dtype in found if isinstance(dtype, pd.CategoricalDtype)},
        {has: reads for reads, has in function.renames.items()},
    )


def frame_of(table: Any, dtypes: Dtypes) -> pd.DataFrame:
    """The rows as pandas reads them from a file, with the dtypes of the sample."""
    labels = set(table.column_names)
    dates = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if _is_date(kind)]
    as_objects = all(family(dtypes.of(name, labels) or "object") == "object" for name in dates)
    try:
        frame: pd.DataFrame = table.to_pandas(date_as_object=as_objects)
    except Exception as error:  # a type of another library may raise any exception
        raise DataDrift(
            f"A table of the columns {visible(', '.join(table.column_names))[:200]} cannot be made one of pandas.",
            why=f"{type(error).__name__}: {visible(str(error)[:300])}",
            hint="Convert the columns of unusual types first, or leave them out.",
        ) from error
    for place, label in enumerate(frame.columns):
        dtype, now = dtypes.of(label, labels), str(frame.dtypes.iloc[place])
        if dtype.startswith(_NULLABLE) and dtype != now and label in labels:
            kind = table.schema.field(label).type
            if pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind):
                nullable = str(kind).capitalize().replace("Uint", "UInt").replace("Bool", "boolean")
                column = table.column(label).to_pandas(types_mapper={kind: pd.api.types.pandas_dtype(nullable)}.get)
                frame.isetitem(place, column.array)
    return dtypes.fitted(frame)


def _with_categories(values: pd.Series[Any], like: pd.CategoricalDtype | None, name: str) -> Any:
    """Values as categories: those of the sample, and after them those that it lacks."""
    own = values.astype("category")
    if like is None:
        return own.array
    new = own.cat.remove_unused_categories().cat.categories.difference(like.categories)
    if len(new) and like.ordered:
        raise DataDrift(
            f"The column {visible(name)!r} has a category that the sample lacks: {visible(repr(new[0]))[:100]}.",
            why="The categories of the sample have an order, and this one has no place in it.",
            hint="Take a sample with all categories.",
        )
    return own.cat.set_categories([*like.categories, *new], ordered=bool(like.ordered)).array


def _is_date(kind: Any) -> bool:
    return bool(pyarrow.types.is_date(kind))
