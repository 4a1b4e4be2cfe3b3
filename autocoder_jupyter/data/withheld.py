"""Columns that are hidden from the model, and columns whose values are hidden (masked).

A hidden column is in the data that the function gets. Neither its name nor its values are sent. The model only knows
that there are more columns than those described, so that it uses names. Of a masked column it knows the name, the dtype
and the number of missing and different values.
"""

from __future__ import annotations

import csv
import difflib
import io
import numbers
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.data.capture import origin_of, with_origin
from autocoder_jupyter.data.overview import texts_of
from autocoder_jupyter.data.profile import FrameProfile, as_frame, is_default_index
from autocoder_jupyter.data.sample import sample_rows
from autocoder_jupyter.data.text_formats import label_literal
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Share
from autocoder_jupyter.types import Dir, File

MASKED = "<masked>"
"""Replaces each value of a masked column in rows."""

HIDDEN_NOTE = (
    "there {is_are} {count} that {is_are} not described: take columns by name, never by position or number, and where "
    "rows are kept whole, keep all their columns"
)
_MASKED_NOTE = "values of {names} are withheld"


@dataclass(frozen=True)
class WithheldColumns:
    """The columns of the samples that the user withholds.

    Args:
        hidden: names of columns that are not described at all.
        masked: names of columns whose values are not sent.
    """

    hidden: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()

    @classmethod
    def of(cls, hide: Iterable[str], mask: Iterable[str]) -> WithheldColumns:
        return cls(frozenset(hide), frozenset(mask))

    def __bool__(self) -> bool:
        return bool(self.hidden or self.masked)

    def require_possible(self, samples: Mapping[str, Any], words: Iterable[str]) -> None:
        """Check that nothing of a hidden column is sent in another way.

        Raises:
            InvalidRequest: the column does not exist, a hidden one is named in the request, is an index or a Series,
                or a sample is a file, whose columns are not known.
        """
        if not self:
            return
        files = [name for name, value in samples.items() if isinstance(value, File | Dir)]
        if files:
            raise InvalidRequest(
                f"Columns of {files[0]} cannot be hidden or masked, because it is a file.",
                hint="Read it into a DataFrame first, or use --share schema.",
            )
        columns = [str(label) for value in samples.values() for label in _columns(value)]
        levels = [str(name) for value in samples.values() for name in value.index.names if name is not None]
        for name in sorted(self.hidden | self.masked):
            if name not in (*columns, *levels):
                close = difflib.get_close_matches(name, [*columns, *levels], n=1)
                hint = f"Did you mean {close[0]}?" if close else "Name a column of the data that the cell refers to."
                raise InvalidRequest(f"There is no column {name!r} to hide or mask.", hint=hint)
        text = "\n".join(words)
        series = [str(value.name) for value in samples.values() if isinstance(value, pd.Series)]
        for name in sorted(self.hidden):
            if name in series:
                raise InvalidRequest(
                    f"{name} is a Series, which cannot be hidden.",
                    hint=f"Use --mask {name}, or do not refer to it in the request.",
                )
            if name in levels:
                raise InvalidRequest(
                    f"{name} is an index, which cannot be hidden.", hint=f"Use --mask {name}, or reset_index() first."
                )
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                raise InvalidRequest(
                    f"{name} is to be hidden, but the request names it.",
                    why="The text of a request is sent to the model unchanged.",
                    hint=f"Remove it from the request, or use --mask {name}, which withholds only its values.",
                )

    def require_absent(self, example: str, values: Iterable[Any]) -> None:
        """Check that no table of an example has such a column, because examples are sent completely.

        Raises:
            InvalidRequest: one has such a column.
        """
        tables = (value for value in values if isinstance(value, pd.DataFrame | pd.Series))
        names = (str(name) for table in tables for name in (*_columns(table), *table.index.names))
        if found := next((name for name in names if name in self.hidden | self.masked), None):
            raise InvalidRequest(
                f"The example {example[:80]!r} has the column {found}, which is to be hidden or masked.",
                why="Examples are sent to the model unchanged.",
                hint=f"Drop it in the example: .drop(columns={found!r}).",
            )

    def without_hidden(self, samples: Mapping[str, Any]) -> dict[str, Any]:
        """The samples without hidden columns."""
        return {name: self._visible_part(value) for name, value in samples.items()}

    def unmasked(self, frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        """The frames without masked columns: that a shown value is among theirs would reveal one of their values."""
        return {
            name: frame.loc[:, [str(label) not in self.masked for label in frame.columns]] if self.masked else frame
            for name, frame in frames.items()
        }

    def of_table(self, value: Any) -> TableWithholding:
        """The withheld columns of one sample."""
        if not isinstance(value, pd.DataFrame | pd.Series):
            return TableWithholding()
        labels = list(map(str, _columns(value)))
        levels = [str(name) for name in value.index.names if name is not None]
        return TableWithholding(
            hidden=sum(label in self.hidden for label in labels),
            masked=tuple(dict.fromkeys(name for name in (*labels, *levels) if name in self.masked)),
            index=any(level in self.masked for level in levels),
            places=tuple(place for place, label in enumerate(labels) if label not in self.hidden),
        )

    def _visible_part(self, value: Any) -> Any:
        if not isinstance(value, pd.DataFrame):
            return value
        visible = value.loc[:, [str(label) not in self.hidden for label in value.columns]]
        return with_origin(visible, origin_of(value))


NOTHING_WITHHELD = WithheldColumns()


@dataclass(frozen=True)
class TableWithholding:
    """The withheld columns of one table.

    Args:
        masked: names of columns and index levels whose values are not sent.
        places: the positions of the other columns in the whole table.
    """

    hidden: int = 0
    masked: tuple[str, ...] = ()
    index: bool = False
    places: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hidden or self.masked)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about it for the model."""
        several = "1 more column" if self.hidden == 1 else f"{self.hidden} more columns"
        hidden = HIDDEN_NOTE.format(count=several, is_are="is" if self.hidden == 1 else "are") if self.hidden else ""
        masked = _MASKED_NOTE.format(names=", ".join(self.masked)) if self.masked else ""
        return tuple(filter(None, (hidden, masked)))

    def profile(self, profile: FrameProfile) -> FrameProfile:
        """A profile without the values of masked columns."""
        if not self.masked:
            return profile
        detailed = tuple(
            replace(
                column,
                low="",
                high="",
                quartiles=(),
                top=(),
                examples=(),
                contents=(),
                rarest=0,
                rest="",
                missing_words=(),
            )
            if str(column.label) in self.masked
            else column
            for column in profile.detailed
        )
        sheet = profile.sheet
        withheld = {column.position for column in profile.detailed if str(column.label) in self.masked}
        sheet = replace(sheet, notes=tuple(note for note in sheet.notes if note.place not in withheld), names=())
        examples = () if self.index else profile.index_examples
        return replace(profile, detailed=detailed, index_examples=examples, sheet=sheet)

    def rows(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows with a placeholder for each value of a masked column."""
        if not self.masked:
            return rows
        rows, placeholders = rows.copy(deep=False), [MASKED] * len(rows)
        if self.index:
            rows.index = pd.Index(placeholders, dtype=object)
        for place, label in enumerate(rows.columns):
            if str(label) in self.masked:
                rows.isetitem(place, placeholders)
        return rows


def _columns(value: pd.DataFrame | pd.Series[Any]) -> list[Any]:
    return list(value.columns) if isinstance(value, pd.DataFrame) else [value.name]


# Tables as an expression of a model may see them

_PRIVATE_DIGITS = 10**8
"""No smaller number is private."""

_LARGEST = 10**20

_MOST_TEXTS = 2_000
"""Of a column with more different texts, as many are looked at. If one is private, none is shown."""


def shareable_tables(
    samples: Mapping[str, Any], withheld: WithheldColumns, masker: Masker
) -> dict[str, pd.DataFrame | pd.Series[Any]]:
    """The tables without hidden and masked columns, and with a placeholder for each private value.

    So nothing that is computed from them contains what the description of the data withholds.
    """
    found: dict[str, pd.DataFrame | pd.Series[Any]] = {}
    for name, value in samples.items():
        if not isinstance(value, pd.DataFrame | pd.Series):
            continue
        gone = withheld.hidden | withheld.masked
        columns = [place for place, label in enumerate(_columns(value)) if str(label) not in gone]
        if isinstance(value, pd.Series) and not columns:
            continue
        table = as_frame(value).iloc[:, columns].copy(deep=False)
        table.attrs = {}
        for place in range(table.shape[1]):
            table.isetitem(place, _without_private(table.iloc[:, place], masker).array)
        table.columns = _index_without_private(table.columns, masker)
        table.index = _index_without_private(table.index, masker, withheld.masked)
        if isinstance(value, pd.Series):
            found[name] = table.iloc[:, 0].rename(None if value.name is None else table.columns[0])
        else:
            found[name] = table
    return found


def _index_without_private(index: pd.Index, masker: Masker, masked: frozenset[str] = frozenset()) -> pd.Index:
    values = [_without_unused(index.get_level_values(place)) for place in range(index.nlevels)]
    levels = [
        pd.Index([MASKED] * len(index), dtype=object)
        if str(name) in masked
        else pd.Index(_without_private(level.to_series(), masker))
        for name, level in zip(index.names, values, strict=True)
    ]
    names = [masker.mask(name) if isinstance(name, str) else name for name in index.names]
    if len(levels) == 1 and levels[0].equals(values[0]):
        return values[0].set_names(names)
    return pd.MultiIndex.from_arrays(levels, names=names) if len(levels) > 1 else levels[0].rename(names[0])


def _without_unused(level: pd.Index) -> pd.Index:
    """A level without the categories of rows and columns that are not there."""
    return level.remove_unused_categories() if isinstance(level, pd.CategoricalIndex) else level


def _without_private(column: pd.Series[Any], masker: Masker) -> pd.Series[Any]:
    """A column with placeholders for its private values; the same one if it has none."""
    categories = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else ()
    values = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
    is_number = pd.api.types.is_numeric_dtype(values.dtype)
    if is_number:
        large = values.dropna()
        if not (large.abs() >= _PRIVATE_DIGITS).any():
            return column
        values = values.astype(object)
    elif values.dtype.kind in "bmM" or isinstance(values.dtype, pd.PeriodDtype | pd.IntervalDtype):
        return column
    cells = list(values)
    with np.printoptions(threshold=sys.maxsize):
        texts = [_private_text(cell) for cell in cells]
        unused = map(_private_text, categories)
        distinct = dict.fromkeys(text for text in (*texts, *unused) if text is not None)
    looked_at = list(distinct)[:: len(distinct) // _MOST_TEXTS + 1]
    mask = masker.for_column(looked_at)
    changed = {text: masked for text in looked_at if (masked := mask(text)) != text}
    if not changed:
        return column
    if len(looked_at) < len(distinct):
        changed = {text: f"<masked-{number}>" for number, text in enumerate(distinct, start=1)}
    made = [changed.get(text, cell) if text is not None else cell for text, cell in zip(texts, cells, strict=True)]
    return pd.Series(made, index=column.index, name=column.name, dtype=object)


def _private_text(cell: Any) -> str | None:
    """The text of a cell that may be private; None if it cannot be."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool | complex) or cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    if isinstance(cell, numbers.Real):
        number = float(cell)
        return f"{cell:.0f}" if _PRIVATE_DIGITS <= abs(number) < _LARGEST and number.is_integer() else None
    return str(cell)


# Sample rows as files for an agent: never all the data, and nothing that is withheld

MOST_FILE_CELLS = 20_000
"""Maximum size of one file. Wide tables have fewer rows."""


def sample_files(
    samples: Mapping[str, Any], *, share: Share, max_sample_rows: int, withheld: WithheldColumns = NOTHING_WITHHELD
) -> dict[str, bytes]:
    """Sampled rows as CSV by path (`data/sales.csv`). The data context shows some of the same rows.

    Private values are masked as in the context. A missing cell is empty, and a long one is truncated.
    """
    if share != "rows":
        return {}
    masker = Masker()
    files = {}
    for name, value in withheld.without_hidden(samples).items():
        if not name.isidentifier() or not isinstance(value, pd.DataFrame | pd.Series):
            continue
        frame = as_frame(value)
        count = min(max_sample_rows, MOST_FILE_CELLS // max(frame.shape[1], 1))
        if count > 0:
            rows = withheld.of_table(samples[name]).rows(sample_rows(frame, count))
            files[f"data/{name}.csv"] = _csv(rows, masker, indexed=not is_default_index(frame.index))
    return files


def _csv(rows: pd.DataFrame, masker: Masker, *, indexed: bool) -> bytes:
    columns: list[tuple[Any, pd.Series[Any]]] = [(label, rows.iloc[:, place]) for place, label in enumerate(rows)]
    if indexed:
        levels = [pd.Series(rows.index.get_level_values(place)) for place in range(rows.index.nlevels)]
        columns = [("index" if level.name is None else level.name, level) for level in levels] + columns
    names = [label if isinstance(label, str) else label_literal(label) for label, _ in columns]
    texts = [texts_of(column, missing="") for _, column in columns]
    mask_name = masker.for_column(name for name in names if name.isdigit())
    lines = [map(mask_name, names), *zip(*(map(masker.for_column(cells), cells) for cells in texts), strict=True)]
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(lines)
    return file.getvalue().encode("utf-8", "backslashreplace")
