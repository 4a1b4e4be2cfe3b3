"""The answers for pieces: whether they fit together, and all of them as a table or a folder of Parquet files."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute as pc
from pyarrow import dataset, parquet

from autocoder_jupyter.data.shapes import family
from autocoder_jupyter.data.storage import Stored, is_in_storage, stored
from autocoder_jupyter.data.struct_fields import lost_key, require_same_fields
from autocoder_jupyter.engine.evidence.pieces import below, deviation
from autocoder_jupyter.equality.tables import has_own_index
from autocoder_jupyter.errors import DataDrift, InvalidRequest, writing
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.untrusted.visible import visible

# Tables that fit together
#
# They have the same columns, and the values of each are of one kind in all. Otherwise pandas makes a column of objects,
# fills a column with missing values, or rounds, without an error.

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
class _ColumnSoFar:
    """What is known of a column of all tables so far.

    Args:
        kind: of its values; "" if there were none.
        dtype: of the first table with values, for messages.
        joined: the dtype of its numbers put together; None if there were none.
        exact: the name of a table with whole numbers that a float rounds; "" if there is none.
        categories: those of all tables together.
        is_category: whether all tables have categories in it.
        varies: whether these are not the same in all.
    """

    kind: str = ""
    dtype: str = ""
    where: str = ""
    joined: np.dtype[Any] | None = None
    exact: str = ""
    categories: pd.CategoricalDtype | None = None
    is_category: bool = True
    varies: bool = False

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
        if not isinstance(values.dtype, pd.CategoricalDtype):
            self.is_category = False
        elif self.is_category:
            before = self.categories or values.dtype
            self.categories = _joined(before, values.dtype)
            self.varies |= not before.categories.equals(values.dtype.categories)
            if self.categories is None:
                return "has categories in another order than before"
        return ""


def _joined(one: pd.CategoricalDtype, other: pd.CategoricalDtype) -> pd.CategoricalDtype | None:
    """The categories of two columns together; None if they contradict each other in their order."""
    if one.ordered != other.ordered:
        return None
    if one.categories.equals(other.categories):
        return one
    if one.ordered:
        shorter, longer = sorted((one, other), key=lambda dtype: len(dtype.categories))
        left = iter(longer.categories)
        return longer if all(category in left for category in shorter.categories) else None
    both = one.categories.append(other.categories).unique()
    in_order = one.categories.is_monotonic_increasing and other.categories.is_monotonic_increasing
    return pd.CategoricalDtype(both.sort_values() if in_order else both)


class SchemaChecker:
    """Compares tables with those before them. Of each only a row is kept.

    Columns without values are of any kind, and so is a table without rows. Whole numbers beside fractions become
    floats, if these have all of their digits.
    """

    def __init__(self) -> None:
        self._first: pd.DataFrame | None = None
        self._columns: dict[int, _ColumnSoFar] = {}

    def deviation(self, table: pd.DataFrame, name: str) -> str:
        """How a table deviates from those before it, as a few words without values; "" if it does not."""
        first = self._first
        if first is not None and (problem := deviation(first, [table])):
            return problem.removesuffix(" in a piece")
        if first is None or (len(table) and not len(first)):
            self._first = table.take([0][: len(table)])  # of a slice, the texts would keep those of the whole table
        elif len(table) and has_own_index(table) and table.index.names != first.index.names:
            return f"its index is {_named(table.index)} and not {_named(first.index)}"
        if not len(table):
            return ""
        for place, (label, values) in enumerate(_columns(table)):
            if problem := self._columns.setdefault(place, _ColumnSoFar()).deviation(values, name):
                return f"{visible(label)[:60]!r} {problem}"
        return ""

    @property
    def joined(self) -> dict[int, pd.CategoricalDtype]:
        """By the places of columns the categories of all tables, where each has others."""
        before = self._first.index.nlevels if self._first is not None and has_own_index(self._first) else 0
        return {
            place - before: column.categories
            for place, column in self._columns.items()
            if place >= before and column.is_category and column.varies and column.categories is not None
        }

    def with_categories(self, table: pd.DataFrame) -> pd.DataFrame:
        """One of the tables with the categories of all."""
        made = table.copy(deep=False)
        for place, dtype in self.joined.items():
            values: Any = table.iloc[:, place].astype(dtype)
            made.isetitem(place, values.array)
        return made


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


# Answers put together


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


class InMemory:
    """Keeps the answers in memory."""

    def __init__(self) -> None:
        self.kept: dict[int, pd.DataFrame] = {}
        self._schema = SchemaChecker()

    def put(self, place: int, answer: pd.DataFrame, piece: str) -> None:
        """Take the answer of a piece."""
        _require(self._schema.deviation(answer, piece), piece)
        self.kept[place] = answer

    def in_order(self) -> list[pd.DataFrame]:
        """The answers in the order of the pieces."""
        return [self.kept[place] for place in sorted(self.kept)]

    def finish(self) -> pd.DataFrame:
        """The answers one below the other."""
        table: pd.DataFrame = below([self._schema.with_categories(answer) for answer in self.in_order()])
        return table

    def close(self) -> None:
        """Do nothing: no file was written."""


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
        self._schema = SchemaChecker()

    def put(self, place: int, answer: pd.DataFrame, piece: str) -> None:
        """Write the answer of a piece."""
        _require(self._schema.deviation(answer, piece), piece)
        try:
            if problem := _unwritable(answer):
                raise ValueError(problem)
            table = pyarrow.Table.from_pandas(answer, preserve_index=has_own_index(answer))
        except (pyarrow.ArrowException, ValueError, TypeError) as error:
            raise DataDrift(
                f"{piece}: its answer cannot be written.", why=visible(str(error)[:300]), hint=_IN_MEMORY
            ) from error
        own = table.schema
        if len(answer):
            own_types = _of_values(table)
            self._first = own if self._first is None else self._first
            self._common = own_types if self._common is None else self._unified(own_types, piece)
        with writing("The answers", self._to.parent):
            parquet.write_table(table, self._file(place))
        self._schemas[place] = own, piece

    def _unified(self, own: Any, piece: str) -> Any:
        if own.equals(self._common):
            return self._common
        require_same_fields(own, self._common, f"the answer for {piece}", "one before it")
        error: Exception | None = None
        for schemas in ([self._common, own], list(map(_plain, (self._common, own)))):  # categories beside texts
            try:
                unified = pyarrow.unify_schemas(schemas, promote_options="permissive")
                return unified.with_metadata(self._common.metadata)
            except pyarrow.ArrowException as failed:
                error = failed
        raise DataDrift(
            f"{piece}: its answer has different types than those before it.", why=visible(str(error)[:300])
        ) from error

    def finish(self) -> Any:
        """The folder as a dataset of PyArrow. All of its files have the same schema."""
        joined = self._schema.joined
        with writing("The answers", self._to.parent):
            if self._common is not None:
                common = _with_categories(_filled(self._common, self._first), joined)
                for place, (own, piece) in self._schemas.items():
                    if own != common or joined:
                        _rewrite(self._file(place), common, joined, piece)
            require_new(self._to)
            self._beside.rename(self._to)
        return dataset.dataset(self._to, format="parquet")

    def close(self) -> None:
        """Remove what is not finished."""
        shutil.rmtree(self._beside, ignore_errors=True)

    def _file(self, place: int) -> Path:
        return self._beside / f"part-{place:05}.parquet"


_IN_MEMORY = "Leave to= out, then the answer is a table of pandas; or ask for a function with another answer."


def _unwritable(answer: pd.DataFrame) -> str:
    """What a file of Parquet would change without an error; "" if there is nothing."""
    labels = answer.columns
    if labels.nlevels > 1 or isinstance(labels.dtype, pd.CategoricalDtype) or not all(type(x) is str for x in labels):
        return f"in a file the labels of its columns would be texts: {', '.join(map(repr, labels[:5]))}"
    for label, values in _columns(answer):
        if isinstance(values.dtype, pd.CategoricalDtype):
            kind = values.dtype.categories.dtype
            if family(str(kind)) not in ("text", "object"):
                return f"in a file the categories of {label!r} would be values of {kind} without an order"
    if key := lost_key(answer):
        return f"it has {key}; in a file they would have it with None"
    return ""


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


def _with_categories(schema: Any, joined: Mapping[int, pd.CategoricalDtype]) -> Any:
    """A schema whose columns of categories have room for those of all answers."""
    for place, dtype in joined.items():
        kind = schema.types[place]
        if pyarrow.types.is_dictionary(kind):
            wide = pyarrow.dictionary(pyarrow.int32(), kind.value_type, ordered=dtype.ordered)
            schema = schema.set(place, schema.field(place).with_type(wide))
    return schema


def _rewrite(file: Path, schema: Any, joined: Mapping[int, pd.CategoricalDtype], piece: str) -> None:
    """Give the answer in a file these types and categories."""
    table = parquet.ParquetFile(file).read()
    try:
        columns = [
            _as_categories(column, kind, joined[place])
            if place in joined and pyarrow.types.is_dictionary(kind)
            else _cast(column, kind)
            for place, (kind, column) in enumerate(zip(schema.types, table.columns, strict=True))
        ]
    except pyarrow.ArrowException as error:
        raise DataDrift(
            f"{piece}: its answer has different types than the others.", why=visible(str(error)[:300])
        ) from error
    parquet.write_table(pyarrow.Table.from_arrays(columns, schema=schema), file)


def _as_categories(column: Any, kind: Any, dtype: pd.CategoricalDtype) -> Any:
    categories = pyarrow.array(dtype.categories, kind.value_type)
    places = pc.index_in(column.cast(kind.value_type), categories).combine_chunks().cast(kind.index_type)
    return pyarrow.DictionaryArray.from_arrays(places, categories, ordered=kind.ordered)


def _cast(column: Any, kind: Any) -> Any:
    if column.null_count == len(column):
        return pyarrow.nulls(len(column), kind)
    # Whole numbers that a float rounds were refused before. Arrow refuses all large ones.
    is_safe = not (pyarrow.types.is_integer(column.type) and pyarrow.types.is_floating(kind))
    return column.cast(kind, safe=is_safe)


class InStorage:
    """Writes the answers to this machine, and copies them to object storage when all are there.

    Args:
        to: the folder. It must not exist.
    """

    def __init__(self, to: Stored) -> None:
        require_new(to)
        self._to = to
        self._here = tempfile.TemporaryDirectory(prefix="autocode-answers-")
        self._answers = InFolder(Path(self._here.name) / "answers")

    def put(self, place: int, answer: pd.DataFrame, piece: str) -> None:
        """Write the answer of a piece."""
        self._answers.put(place, answer, piece)

    def finish(self) -> Any:
        """The folder as a dataset of PyArrow."""
        self._answers.finish()
        require_new(self._to)
        self._to.filled(Path(self._here.name) / "answers")
        return dataset.dataset(self._to.path, format="parquet", filesystem=self._to.filesystem)

    def close(self) -> None:
        """Remove what is on this machine."""
        self._answers.close()
        self._here.cleanup()


def place_of(to: Any) -> Path | Stored:
    """Where answers are written: a folder of this machine, or one in object storage.

    Raises:
        InvalidRequest: it is another address, or there is something.
    """
    if not isinstance(to, str | os.PathLike):
        raise InvalidRequest(f"to must be the path or the address of a folder, not {visible(repr(to))[:60]}.")
    place = stored(to) if isinstance(to, str) and is_in_storage(to) else local_path(to)
    require_new(place)
    return place


def answers_in(place: Path | Stored | None) -> Answers:
    """What takes the answers: memory for None."""
    if place is None:
        return InMemory()
    return InFolder(place) if isinstance(place, Path) else InStorage(place)


def require_new(to: Path | Stored) -> None:
    """Check that there is nothing at a path."""
    if (to.exists() or to.is_symlink()) if isinstance(to, Path) else not to.is_new():
        shown = visible(str(to)) if isinstance(to, Path) else to.shown
        raise InvalidRequest(f"{shown} exists already.", hint="Choose another folder, or remove it.")


def require_same(first: pd.DataFrame, answer: pd.DataFrame, piece: str) -> None:
    """Check that an answer has the columns of another one, in their order."""
    _require(deviation(first, [answer]), piece)


def _require(problem: str, piece: str) -> None:
    problem = problem.removesuffix(" in a piece")
    if problem:
        raise DataDrift(
            f"The answer for {piece} differs from those for the pieces before it: {problem}.",
            hint="Ask for a function whose columns and dtypes do not depend on the data.",
        )
