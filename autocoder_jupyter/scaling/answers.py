"""The answers of pieces, put together: one table in memory, or a folder of Parquet files."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
import pyarrow
from pyarrow import dataset, parquet

from autocoder_jupyter.engine.splitting.answers import below, deviation
from autocoder_jupyter.equality.tables import has_own_index
from autocoder_jupyter.errors import DataDrift, InvalidRequest, writing
from autocoder_jupyter.untrusted.visible import visible


class Answers(Protocol):
    """Takes the answers of pieces."""

    def put(self, place: int, answer: pd.DataFrame, piece: str) -> None:
        """Take the answer of a piece.

        Args:
            place: of the piece among all.
            answer: its answer.
            piece: its name, for messages.

        Raises:
            DataDrift: it has other columns than the answers before it.
        """

    def finish(self) -> Any:
        """All answers together, in the order of the pieces."""

    def close(self) -> None:
        """Remove what is not finished."""


class Together:
    """Keeps the answers in memory."""

    def __init__(self) -> None:
        self.kept: dict[int, pd.DataFrame] = {}

    def put(self, place: int, answer: pd.DataFrame, piece: str) -> None:
        """Take the answer of a piece."""
        require_same(next(iter(self.kept.values()), answer), answer, piece)
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
        self._schemas: dict[int, Any] = {}
        self._common: Any = None
        self._first: pd.DataFrame | None = None

    def put(self, place: int, answer: pd.DataFrame, piece: str) -> None:
        """Write the answer of a piece."""
        if self._first is None:
            self._first = answer.iloc[:1]
        require_same(self._first, answer, piece)
        try:
            table = pyarrow.Table.from_pandas(answer, preserve_index=has_own_index(answer))
        except pyarrow.ArrowException as error:
            raise DataDrift(f"{piece}: its answer cannot be written.", why=visible(str(error)[:300])) from error
        own = table.schema
        if len(answer):
            self._common = own if self._common is None else self._unified(own, piece)
        with writing("The answers", self._to.parent):
            parquet.write_table(table, self._file(place))
        self._schemas[place] = own

    def _unified(self, own: Any, piece: str) -> Any:
        if own.equals(self._common):
            return self._common
        try:
            unified = pyarrow.unify_schemas([self._common, own], promote_options="permissive")
        except pyarrow.ArrowException as error:
            raise DataDrift(
                f"{piece}: its answer has other types than those before it.", why=visible(str(error)[:300])
            ) from error
        return unified.with_metadata(self._common.metadata)

    def finish(self) -> Any:
        """The folder as a dataset of PyArrow. All of its files have the same schema."""
        with writing("The answers", self._to.parent):
            for place, own in self._schemas.items():
                if self._common is not None and own != self._common:
                    self._rewrite(self._file(place))
            require_new(self._to)
            self._beside.rename(self._to)
        return dataset.dataset(self._to, format="parquet")

    def _rewrite(self, file: Path) -> None:
        table = parquet.ParquetFile(file).read()
        if not table.num_rows:
            table = self._common.empty_table()
        parquet.write_table(table.cast(self._common), file)

    def close(self) -> None:
        """Remove what is not finished."""
        shutil.rmtree(self._beside, ignore_errors=True)

    def _file(self, place: int) -> Path:
        return self._beside / f"part-{place:05}.parquet"


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
    if said := deviation(first, [answer]):
        raise DataDrift(
            f"The answer for {piece} differs from those for the pieces before it: {said}.",
            hint="Ask for a function whose columns do not depend on the data.",
        )
