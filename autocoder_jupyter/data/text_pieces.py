"""Files of delimited text and of JSON lines in pieces, which together are what a call with the path reads.

pandas chooses a dtype by all values of a column. So the file is looked through first, and again if its pieces have
different ones; then each piece is read with the same dtypes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import pandas as pd
from pandas.api import types

from autocoder_jupyter.data.dialects import compression_of, open_bytes, unpacked_most
from autocoder_jupyter.data.json_tables import read_lines
from autocoder_jupyter.data.readers import JSON_LINES, Recorded, data_suffix, delimited, fitted
from autocoder_jupyter.data.shapes import column_literal
from autocoder_jupyter.errors import InvalidRequest

ROWS = 2**16
CELLS = 2**22
"""Rows and cells of a piece."""

_POSITION = re.compile(r"at position (\d+)")
"""Where a value is, as pandas says it."""


class TextFile:
    """A file of delimited text, or of JSON lines.

    Args:
        path: the path.
        known: what was recorded of the table.

    Attributes:
        schema: its columns, a `pyarrow.Schema`.
        rows: how many it has.

    Raises:
        Exception: any of a parser.
    """

    def __init__(self, path: Path, known: Recorded) -> None:
        self._path = path
        self._known = known
        self._compression = compression_of(path)
        self._suffix = data_suffix(path, self._compression)
        self._is_json = self._suffix in JSON_LINES
        self._dtypes: dict[Any, Any] = {}
        self._arguments: dict[str, Any] = {}
        self._header = pd.DataFrame()
        self.schema: Any = None
        self.rows = 0
        if not self._is_json:
            self._arguments = {**delimited(path, known), "compression": None}
            with self._opened() as file:
                self._header = pd.read_csv(file, nrows=0, **self._arguments)
            self._dtypes = dict(known.texts(self._header))
        if not self._looked_through():
            self._looked_through()

    def pieces(self, columns: Sequence[str]) -> Iterator[Any]:
        """The rows as tables of Arrow, with the types of the schema."""
        import pyarrow

        wanted = pyarrow.schema([self.schema.field(name) for name in columns], metadata=self.schema.metadata)
        if nested := next((field for field in wanted if pyarrow.types.is_nested(field.type)), None):
            raise ValueError(f"the column {nested.name!r} has lists or objects, which change on the way through Arrow")
        rows = 0
        with closing(self._frames(columns)) as frames:
            for frame in frames:
                table = self._converted(frame, rows)
                rows += len(frame)
                for field in wanted:
                    if field.name not in table.column_names:  # no row of this piece has the key
                        table = table.append_column(field.name, pyarrow.nulls(table.num_rows, field.type))
                yield table.select(list(columns)).cast(wanted)

    def _looked_through(self) -> bool:
        """Find out the columns, their types and the number of rows; False if pieces have different dtypes.

        Then the next time all have those that pandas would choose for the whole.
        """
        import pyarrow

        schema: Any = None
        failed: Exception | None = None
        rows = 0
        empty: dict[str, Any] = {}
        kinds: dict[Any, str] = {}
        mixed: set[Any] = set()
        with closing(self._frames()) as frames:
            for frame in frames:
                first_row, rows = rows, rows + len(frame)
                for label in frame.columns if not self._is_json else ():
                    if label not in self._dtypes:
                        kind = _kind(frame[label])
                        before = kinds.setdefault(label, kind)
                        kinds[label] = _joined(before, kind)
                        if {before, kind} - {"empty"} != {kinds[label]} - {"empty"}:
                            mixed.add(label)
                try:
                    table = self._converted(frame, first_row)
                    empty = {**dict(zip(table.column_names, table.schema.types, strict=True)), **empty}
                    own = _without_types(table)
                    first = own if schema is None else schema
                    both = pyarrow.unify_schemas([first, own], promote_options="permissive")
                    schema = both.with_metadata(first.metadata)
                except Exception as error:  # perhaps only because of the dtypes of this piece
                    failed = failed or error
        if huge := next((label for label, kind in kinds.items() if kind == "huge"), None):
            raise ValueError(f"the column {huge!r} has whole numbers of more than 64 bits")
        self._dtypes |= {label: _FORCED[kinds[label]] for label in mixed}
        if mixed:
            return False
        if failed is not None:
            raise failed
        fields = [
            field.with_type(empty[field.name]) if pyarrow.types.is_null(field.type) else field for field in schema
        ]
        self.schema, self.rows = pyarrow.schema(fields, metadata=schema.metadata), rows
        return True

    def _frames(self, columns: Sequence[str] | None = None) -> Generator[pd.DataFrame, None, None]:
        """The pieces as pandas reads them, one without rows if there are none."""
        with self._opened() as file:
            if self._is_json:
                yield from read_lines(file)
                return
            labels = list(self._header.columns)
            levels = self._known.levels
            chosen = None  # a line with too many fields is an error only if all columns are read
            if columns is not None:
                kept = {*columns, *(label for label in labels if column_literal(label) in levels)}
                chosen = [place for place, label in enumerate(labels) if label in kept]
            rows = max(1, min(ROWS, CELLS // max(1, len(labels if chosen is None else chosen))))
            with pd.read_csv(
                file, dtype=self._dtypes, usecols=chosen, chunksize=rows, low_memory=False, **self._arguments
            ) as reader:
                is_empty = True
                for frame in reader:
                    is_empty = False
                    if not isinstance(frame.index, pd.RangeIndex):
                        raise ValueError("its lines have more fields than its header")
                    yield frame
                if is_empty:
                    yield self._header if chosen is None else self._header.iloc[:, chosen]

    def _opened(self) -> IO[bytes]:
        file = open_bytes(self._path, self._compression)
        return io.BufferedReader(_Moderate(file, unpacked_most(self._path))) if self._compression else file

    def _converted(self, frame: pd.DataFrame, first_row: int) -> Any:
        """A piece with the recorded dtypes, as a table of Arrow. An error names the row in the file."""
        import pyarrow

        if not all(isinstance(label, str) for label in frame.columns):
            raise ValueError("its columns have no names, or numbers as names")
        try:
            frame = fitted(self._path.name, frame.reset_index(drop=True), self._known, self._suffix)
        except InvalidRequest as error:
            error.why = _POSITION.sub(lambda found: f"in row {first_row + int(found[1]):,} (counted from 0)", error.why)
            raise
        with_index = self._known.with_index(frame)
        has_index = with_index is not frame
        table = pyarrow.Table.from_pandas(with_index, preserve_index=has_index)
        for place, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
            if pyarrow.types.is_dictionary(field.type):
                table = table.set_column(place, field.name, column.cast(field.type.value_type))
        return table if has_index else table.replace_schema_metadata(None)


class _Moderate(io.RawIOBase):
    """Decompressed bytes, of which no more than expected come."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self._most, self._left = file, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._file.read(len(buffer))
        self._left -= len(piece)
        if self._left < 0:
            raise ValueError(f"it unpacks to more than {self._most / 2**20:,.0f} MiB")
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._file.close()
        super().close()


def _without_types(table: Any) -> Any:
    """The schema of a table. A column without values has no type."""
    import pyarrow

    fields = [
        field.with_type(pyarrow.null()) if column.null_count == table.num_rows else field
        for field, column in zip(table.schema, table.columns, strict=True)
    ]
    return pyarrow.schema(fields, metadata=table.schema.metadata)


# The dtype of a whole column, by those of its pieces

_FORCED: dict[str, Any] = {"float": "float64", "unsigned": "uint64", "text": str}
"""What pandas is told to read. Without it, each piece would have its own."""


def _kind(values: pd.Series[Any]) -> str:
    if values.isna().all():
        return "empty"
    if types.is_bool_dtype(values.dtype) or types.infer_dtype(values, skipna=True) == "boolean":
        return "bool"
    if types.is_unsigned_integer_dtype(values.dtype):
        return "unsigned"
    if types.is_integer_dtype(values.dtype):
        return "int"
    if types.is_float_dtype(values.dtype):
        return "float"
    return "huge" if types.infer_dtype(values, skipna=True) == "integer" else "text"


def _joined(first: str, second: str) -> str:
    """The kind of two pieces together."""
    both = {first, second}
    if len(both) == 1:
        return first
    if both == {"int", "unsigned"}:
        return "unsigned"
    if "huge" in both or both == {"unsigned", "empty"}:
        return "text" if "text" in both else "huge"
    if "empty" in both and not both & {"int", "unsigned"}:
        return (both - {"empty"}).pop()
    return "float" if both <= {"int", "unsigned", "float", "empty"} else "text"
