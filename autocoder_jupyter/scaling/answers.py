"""The answers of pieces, put together: one table in memory, or a folder of Parquet files."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
import pyarrow
from pyarrow import dataset, parquet

from autocoder_jupyter.engine.evidence.split_inputs import below, deviation
from autocoder_jupyter.equality.tables import has_own_index
from autocoder_jupyter.errors import DataDrift, InvalidRequest, writing
from autocoder_jupyter.scaling.alike import Alike
from autocoder_jupyter.untrusted.parsing import visible


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
    """Give the answer in a file these types.

    Raises:
        DataDrift: a value cannot have its type.
    """
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
    """Check that there is nothing at a path.

    Raises:
        InvalidRequest: there is a file, a folder or a link.
    """
    if to.exists() or to.is_symlink():
        raise InvalidRequest(f"{visible(str(to))} exists already.", hint="Choose another folder, or remove it.")


def require_same(first: pd.DataFrame, answer: pd.DataFrame, piece: str) -> None:
    """Check that an answer has the columns of another one, in their order.

    Raises:
        DataDrift: it has others.
    """
    _require(deviation(first, [answer]), piece)


def _require(said: str, piece: str) -> None:
    if said:
        raise DataDrift(
            f"The answer for {piece} differs from those for the pieces before it: {said.removesuffix(' in a piece')}.",
            hint="Ask for a function whose columns and dtypes do not depend on the data.",
        )
