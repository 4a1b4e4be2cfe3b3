"""Columns that some files of a source have in another dtype: the conversion that an error offers, and `convert=`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.data.drift import column_conversions
from autocoder_jupyter.data.sample import missing_in
from autocoder_jupyter.data.shapes import column_literal, family
from autocoder_jupyter.data.struct_fields import further_field, lost_key
from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.scaling.narrowing import fewest_rows, rows_in_words
from autocoder_jupyter.scaling.sources import Batches, SourceFile
from autocoder_jupyter.settings.parameters import suggestion
from autocoder_jupyter.untrusted.visible import visible

Convert = Mapping[str, Callable[[Any], Any]]
"""Functions of a Series that convert the columns of these names."""

MOST_TRIED = 2**21
"""Rows on which a conversion is tried before it is offered. Of more, none is."""

TRIED_AT_ONCE = 2**18

_FIT = {("float", "int"), ("int", "float"), ("text", "object"), ("object", "text")}
"""Families of dtypes, the recorded one first, whose values may stand for each other; pieces are compared again."""


@dataclass(frozen=True)
class Conversions:
    """What the function needs of the columns of files.

    Args:
        name: of the input.
        dtypes: the recorded ones, by the names of the source.
    """

    function: Function
    name: str
    dtypes: Mapping[str, str]

    def converted(self, source: Any, convert: Convert | None) -> Any:
        """The source, whose files have these columns converted that have another dtype than the recorded one."""
        if convert is None:
            return source
        if not isinstance(convert, Mapping) or not all(map(callable, convert.values())):
            raise InvalidRequest(
                f"convert must be a dict of functions, not {type(convert).__name__}.",
                hint='Write convert={"price": pd.to_numeric}.',
            )
        if not isinstance(source, Batches) or source.converting is None:
            raise InvalidRequest(
                "convert= is for files, and this source is read by its own engine.",
                hint="Convert the column there: in the query, or of the frame.",
            )
        for column in convert:
            if column not in source.names:
                near = suggestion(str(column), source.names)
                raise InvalidRequest(f"The source has no column {visible(str(column))!r} to convert.", hint=near)
            if column not in self.dtypes:
                raise InvalidRequest(f"The sample has no column {visible(column)!r}, so no dtype is known for it.")
        sample = self.function.samples[self.name]
        types = {column: _type_of(sample, self._own(column)) for column in convert}
        return source.converting(
            {
                file: {
                    column: (types[column], partial(_converted, column, convert[column], types[column], file.label))
                    for column in convert
                    if self._differs(file, column)
                }
                for file in source.files
            }
        )

    def offer(self, source: Any, columns: Sequence[str]) -> str:
        """The argument with which the source fits, as a sentence; "" if there is none that loses nothing."""
        if not isinstance(source, Batches) or source.converting is None or self.function.contracts:
            return ""
        lines, names = [], []
        for column in columns:
            files = [file for file in source.files if column in self.dtypes and self._differs(file, column)]
            if not files:
                continue
            code = self._line(column, files)
            if not code:
                return ""
            lines.append(f'"{column}": lambda column: {code}')
            names += [file.label for file in files]
        if not lines:
            return ""
        listed = list(dict.fromkeys(names))
        more = f" and {len(listed) - 3:,} more" if len(listed) > 3 else ""
        return visible(
            f"To convert {', '.join(listed[:3])}{more}: "
            f"{self.function.name}.over(…, convert={{{', '.join(lines)}}}); tried on all their rows."
        )

    def _own(self, column: str) -> str:
        """The name of a column in the sample."""
        back = {has: reads for reads, has in self.function.renames.items()}
        sample = self.function.samples[self.name]
        return column if column in sample.columns else back.get(column, column)

    def _differs(self, file: SourceFile, column: str) -> bool:
        if column not in file.schema.names:
            return False
        kind = file.schema.field(column).type
        if pyarrow.types.is_null(kind):
            return False
        before, now = family(self.dtypes[column]), family(str(pyarrow.array([], kind).to_pandas().dtype))
        return before != now and (before, now) not in _FIT and not self.dtypes[column].startswith("category")

    def _line(self, column: str, files: Sequence[SourceFile]) -> str:
        """The code that converts the values of all these files; "" if none does."""
        if sum(file.count for file in files) > MOST_TRIED:
            return ""
        own, sample = self._own(column), self.function.samples[self.name]
        reads = columns_read(self.function.code, self.function.inputs)
        shape, found = self.function.shapes[self.name], set[str]()
        shape = {**shape, "columns": [each for each in shape["columns"] if each[0] == column_literal(own)]}
        for values in _values(files, column):
            lines = column_conversions(values.to_frame(own), shape, reads, sample)
            found.add(lines[0][1] if lines else "")
        return found.pop().replace("{}", "column") if len(found) == 1 else ""


def _values(files: Sequence[SourceFile], column: str) -> Iterator[pd.Series[Any]]:
    waiting: list[Any] = []
    for file in files:
        for table in file.batches([column], pyarrow.schema([file.schema.field(column)])):
            waiting.append(_in_pandas(table.column(column)))
            if sum(map(len, waiting)) >= TRIED_AT_ONCE:
                yield pd.concat(waiting, ignore_index=True)
                waiting = []
    if waiting:
        yield pd.concat(waiting, ignore_index=True)


def _in_pandas(values: Any) -> pd.Series[Any]:
    """Values of a batch. Whole numbers stay whole beside missing ones, else their texts would depend on the batch."""
    if values.null_count and pyarrow.types.is_integer(values.type):
        nullable = pd.api.types.pandas_dtype(str(values.type).capitalize().replace("Uint", "UInt"))
        kept: pd.Series[Any] = values.to_pandas(types_mapper={values.type: nullable}.get)
        return kept
    made: pd.Series[Any] = values.to_pandas()
    return made


def _type_of(sample: pd.DataFrame, column: str) -> Any:
    return pyarrow.Schema.from_pandas(sample[[column]], preserve_index=False).field(0).type


def _converted(name: str, convert: Callable[[Any], Any], kind: Any, file: str, values: Any, first: int) -> Any:
    """The values of a column of a file, as the type of the others; `first` is the place of the first row."""
    column = _in_pandas(values)

    def made_of(part: pd.Series[Any]) -> Any:
        made = convert(part)
        if not isinstance(made, pd.Series) or len(made) != len(part):
            raise TypeError("it must return a Series of the same length")
        if not made.index.equals(part.index):
            if not made.index.is_unique or not made.index.isin(part.index).all():
                raise TypeError("it must return a Series with the same index")
            made = made.reindex(part.index)  # as if it were assigned to the column of a table
        if not (missing_in(made).to_numpy() == missing_in(part).to_numpy()).all():
            raise ValueError("it makes a value missing, or the other way round")
        if key := lost_key(made):
            raise ValueError(f"it has {key}")
        values = pyarrow.array(made, from_pandas=True)
        if further := further_field(values.type, kind) or further_field(kind, values.type):
            raise ValueError(f"only one of its values and those of the other files have the field {further!r}")
        return values.cast(kind)

    try:
        return made_of(column)
    except Exception as error:  # a function of the user may raise any exception
        said = error

    def fails(rows: Any) -> bool:
        try:
            made_of(column.iloc[rows].reset_index(drop=True))
        except Exception:
            return True
        return False

    rows, _ = fewest_rows(np.arange(len(column)), None, fails)
    raise DataDrift(
        f"{visible(file)}, {rows_in_words((rows + first).tolist())} (counted from 0): {visible(name)!r} cannot be "
        "converted.",
        why=f"{type(said).__name__}: {visible(str(said)[:300])}",
        hint="Give a function in convert= that takes all values of the files.",
    ) from said
