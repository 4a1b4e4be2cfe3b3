"""Describe data for the user: overviews of samples, first rows of tables, previews of outputs.

The text for the model is limited by tokens; these are limited by the size of a screen.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api import types as pdt

from autocoder_jupyter.data.capture import origin_of
from autocoder_jupyter.data.column_profile import ColumnProfile
from autocoder_jupyter.data.files import DirProfile, FileProfile, describe_path
from autocoder_jupyter.data.profile import SAMPLE_ROWS, FrameProfile, as_frame, is_default_index, profile_frame
from autocoder_jupyter.data.rendering import SET_MAX_VALUES, SET_MIN_COUNT
from autocoder_jupyter.data.sample import cells_of, sample_rows
from autocoder_jupyter.data.text_formats import (
    CELL_CHARACTERS,
    RAW_CHARACTERS,
    cell_text,
    is_null,
    label_literal,
    shorten,
)
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.redaction.messages import without_secrets
from autocoder_jupyter.request import Share
from autocoder_jupyter.types import Dir, Figure, File
from autocoder_jupyter.types.records import Bar, ColumnOverview, Drawing, Excerpt, Glimpse, Overview
from autocoder_jupyter.untrusted.charts import chart_place, why_not_drawn
from autocoder_jupyter.view.numbers import alike, number_text, rounded

# Overviews: each column with its main facts and a small chart of its distribution

COLUMNS = 40
"""Maximum number of columns that are described."""

BINS = 12
"""Maximum number of bars of a histogram. A ranking has at most half of it."""

_NAME_CHARACTERS = 80


def overview(value: Any, share: Share | None = None) -> Overview:
    if isinstance(value, File | Dir):
        return _path_overview(value, share)
    rows = len(value)
    described = _Describer(share)
    profile = profile_frame(value, COLUMNS)
    columns = described.columns(as_frame(value), profile)
    size = f"{rows:,} rows" + (f" × {profile.columns:,} columns" if profile.kind == "DataFrame" else "")
    origin = origin_of(value)
    came = f"came as a {origin.kind}" if origin.kind else ""
    remarks = (*filter(None, (came, origin.drawn.words if origin.drawn else "")), *described.remarks(profile))
    more = profile.columns - len(columns)
    return Overview(profile.kind, "; ".join((size, *remarks)), columns, more, rows, min(rows, profile.sampled))


def _path_overview(value: File | Dir, share: Share | None) -> Overview:
    kind = type(value).__name__
    try:
        profile = describe_path(value)
    except AutocodeError as error:
        return Overview(kind, f"It cannot be described any more: {error.what}")
    mask = Masker().mask
    name = profile.name if share is None else kind
    if isinstance(profile, DirProfile):
        size = sum(size for _, size in profile.entries)
        suffixes = ", ".join(f"{suffix} ×{count}" for suffix, count in profile.suffixes[:10])
        count = f"{len(profile.entries):,}" if profile.complete else f"more than {len(profile.entries):,}"
        return Overview(kind, mask(f"{name}: {count} files, {size:,} bytes; {suffixes}"))
    summary = mask("; ".join((f"{name}: {profile.kind}, {profile.size:,} bytes", *profile.facts)))
    return _file_overview(profile, summary, share)


def _file_overview(file: FileProfile, summary: str, share: Share | None) -> Overview:
    if file.frame is None:
        return Overview("File", summary)
    profile = profile_frame(file.frame, COLUMNS)
    columns = _Describer(share).columns(file.frame, profile)
    rows = len(file.frame) if file.rows is None else file.rows
    summary = f"{summary}; {rows:,} rows × {profile.columns:,} columns"
    return Overview("File", summary, columns, profile.columns - len(columns), rows, min(rows, profile.sampled))


class _Describer:
    """Describes the columns of one table, as far as `share` allows."""

    def __init__(self, share: Share | None) -> None:
        self._share = share
        self._masker = Masker()

    def columns(self, frame: pd.DataFrame, profile: FrameProfile) -> tuple[ColumnOverview, ...]:
        sampled = sample_rows(frame.iloc[:, :COLUMNS], SAMPLE_ROWS)
        return tuple(
            self._column(frame.iloc[:, column.position], sampled.iloc[:, column.position], column)
            for column in profile.detailed
        )

    def remarks(self, profile: FrameProfile) -> tuple[str, ...]:
        """Remarks about the whole table."""
        if self._share == "schema":
            return ()
        index = (f"index {self._name(profile.index)}",) if profile.index else ()
        repeated = (f"{profile.duplicates:,} rows repeat an earlier one",) if profile.duplicates else ()
        return (*index, *repeated)

    def _column(self, series: pd.Series[Any], sampled: pd.Series[Any], column: ColumnProfile) -> ColumnOverview:
        name = column.label if isinstance(column.label, str) else label_literal(column.label)
        name = shorten(self._name(name), _NAME_CHARACTERS)
        if self._share == "schema":
            return ColumnOverview(name, column.dtype)
        with np.errstate(all="ignore"):
            drawing, bars = self._drawn(sampled, column)
        return ColumnOverview(
            name=name,
            dtype=column.dtype,
            missing=column.nulls,
            distinct=column.distinct,
            distinct_exact=column.exact,
            facts=tuple(self._facts(series, column, ranked=drawing == "ranking")),
            drawing=drawing,
            bars=bars,
        )

    def _name(self, text: str) -> str:
        return self._masker.mask(text, secrets_only=self._share is None, bare_numbers=False)

    def _facts(self, series: pd.Series[Any], column: ColumnProfile, *, ranked: bool) -> list[tuple[str, str]]:
        shown = self._mask_for(column)
        facts = []
        if column.low:
            labels = ("from", "to") if column.kind == "time" else ("min", "max")
            facts += [(labels[0], shown(column.low)), (labels[1], shown(column.high))]
            if column.kind == "number" and (mean := _mean(series)):
                facts.insert(1, ("mean", mean))
        if column.examples and not ranked and self._share in (None, "rows"):
            facts.append(("e.g.", ", ".join(map(shown, column.examples))))
        return facts + [("", note) for note in column.notes]

    def _mask_for(self, column: ColumnProfile) -> Callable[[str], str]:
        if self._share is None:
            return lambda text: shorten(self._masker.mask(text, secrets_only=True), CELL_CHARACTERS)
        texts = [text for text, _ in column.top] + [*column.examples, column.low, column.high]
        mask = self._masker.for_column(texts)
        return lambda text: shorten(mask(text), CELL_CHARACTERS)

    def _drawn(self, sampled: pd.Series[Any], column: ColumnProfile) -> tuple[Drawing, tuple[Bar, ...]]:
        if column.low and self._mask_for(column)(column.low) != shorten(column.low, CELL_CHARACTERS):
            return "none", ()  # private numbers, such as card numbers: a range would reveal them
        try:
            if column.kind == "number" and not _are_codes(column):
                return "histogram", _number_bars(sampled)
            if column.kind == "duration":
                return "histogram", _duration_bars(sampled)
            if column.kind == "time":
                return "timeline", _time_bars(sampled)
        except (ValueError, TypeError, OverflowError, ArithmeticError):
            # The range does not fit into floats, or an extension dtype gives no numbers: there is no chart.
            return "none", ()
        if column.top and self._may_name_values(column):
            shown = self._mask_for(column)
            bars = tuple(Bar(shown(text), count) for text, count in column.top[: BINS // 2])
            rest = column.looked_at - (column.nulls or 0) - sum(bar.count for bar in bars)
            named_all = column.complete and len(column.top) == len(bars)
            more = () if named_all or not column.exact or rest <= 0 else (Bar("others", rest),)
            return "ranking", (*bars, *more)
        return "none", ()

    def _may_name_values(self, column: ColumnProfile) -> bool:
        if self._share != "stats":
            return True
        return column.complete and column.rarest >= SET_MIN_COUNT and len(column.top) <= SET_MAX_VALUES


def _are_codes(column: ColumnProfile) -> bool:
    """Whether numbers are codes (200, 404, 500), for which ranges have no meaning."""
    if not column.complete or len(column.top) > BINS // 2:
        return False
    return len(column.top) <= 2 or float(column.high) - float(column.low) >= BINS


def _mean(series: pd.Series[Any]) -> str:
    try:
        with np.errstate(all="ignore"):
            mean = float(series.mean())
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return ""
    return number_text(mean, 4) if np.isfinite(mean) else ""


def _number_bars(sampled: pd.Series[Any]) -> tuple[Bar, ...]:
    values = sampled.dropna().to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return ()
    low, high = float(values.min()), float(values.max())
    if high - low < BINS and bool((values == np.round(values)).all()):
        counts = np.bincount((values - low).astype(np.int64))
        return tuple(Bar(number_text(low + place), int(count)) for place, count in enumerate(counts))
    return _bars(values, lambda edge: number_text(edge, 4))


def _duration_bars(sampled: pd.Series[Any]) -> tuple[Bar, ...]:
    seconds = sampled.dropna().dt.total_seconds().to_numpy(dtype=np.float64)
    return _bars(seconds, lambda edge: str(pd.Timedelta(seconds=round(edge))))


def _time_bars(sampled: pd.Series[Any]) -> tuple[Bar, ...]:
    times = sampled.dropna()
    if isinstance(times.dtype, pd.PeriodDtype):
        times = times.dt.to_timestamp()
    seconds = times.to_numpy(dtype="datetime64[s]").astype(np.int64).astype(np.float64)
    long = len(seconds) > 0 and seconds.max() - seconds.min() > 2 * BINS * 86_400
    unit = "D" if long else "m"
    return _bars(
        seconds, lambda edge: str(np.datetime64(int(edge), "s").astype(f"datetime64[{unit}]")).replace("T", " ")
    )


def _bars(values: npt.NDArray[np.float64], label: Callable[[float], str]) -> tuple[Bar, ...]:
    if not len(values):
        return ()
    if values.min() == values.max():
        return (Bar(label(float(values[0])), len(values)),)
    counts, edges = np.histogram(values, bins=BINS)
    ends: Sequence[str] = [label(float(edge)) for edge in edges]
    return tuple(Bar(f"{ends[place]} – {ends[place + 1]}", int(count)) for place, count in enumerate(counts))


# First rows of a table

EXCERPT_ROWS = 10
EXCERPT_COLUMNS = 20
_MISSING = "–"
_LEVELS = " / "
"""Between the labels of a heading of several levels."""

Mask = Callable[[list[str]], list[str]]
"""Masks the texts of one column. It gets them before they are truncated, so that no part of a secret is missed."""


def excerpt(
    value: pd.DataFrame | pd.Series[Any],
    *,
    rows: int = EXCERPT_ROWS,
    columns: int = EXCERPT_COLUMNS,
    characters: int = CELL_CHARACTERS,
    mask: Mask = list,
) -> Excerpt:
    """The first rows and columns. The levels of the index come first, unless it is the default index."""
    frame = as_frame(value)
    head = frame.iloc[:rows, :columns]
    numeric = [_is_numeric(head.iloc[:, place]) for place in range(head.shape[1])]
    cells = [_readable(texts_of(head.iloc[:, place]), mask, numeric[place]) for place in range(head.shape[1])]
    headings = _headings(head.columns, mask)
    if not is_default_index(frame.index):
        levels = [head.index.get_level_values(place) for place in range(min(head.index.nlevels, columns))]
        texts = [_readable([_text(label, float, _MISSING) for label in level], mask) for level in levels]
        cells = [*_without_repetition(texts), *cells]
        names = mask(["" if name is None else _label(name) for name in head.index.names[:columns]])
        headings = [*(names if len(names) > 1 else [names[0] or "index"]), *headings]
        numeric = [*[False] * len(levels), *numeric]
    cut = [[shorten(text, characters) for text in column] for column in cells]
    size = f"{len(frame):,} rows" + (f" × {frame.shape[1]:,} columns" if isinstance(value, pd.DataFrame) else "")
    return Excerpt(
        headings=tuple(shorten(heading, characters) for heading in headings),
        rows=tuple(zip(*cut, strict=True)) if cut else (),
        size=size,
        numeric=tuple(numeric),
        cut=len(frame) > rows or max(frame.shape[1], frame.index.nlevels) > columns,
    )


def _is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column has numbers; Decimals have the dtype object."""
    if not pdt.is_object_dtype(column.dtype):
        return pdt.is_numeric_dtype(column.dtype) and not pdt.is_bool_dtype(column.dtype)
    cells = [cell for cell in column if not is_null(cell)]
    return bool(cells) and all(isinstance(cell, decimal.Decimal) for cell in cells)


def _headings(labels: pd.Index[Any], mask: Mask) -> list[str]:
    """The masked headings of columns; those of several levels stand in one line."""
    if labels.nlevels == 1:
        return mask([_label(label) for label in labels])
    levels = [mask([_label(label) for label in labels.get_level_values(place)]) for place in range(labels.nlevels)]
    return [_LEVELS.join(filter(None, parts)) for parts in zip(*levels, strict=True)]


def _without_repetition(levels: list[list[str]]) -> list[list[str]]:
    """The levels of an index without the labels that are the same as in the row above, as pandas shows them."""
    rows = list(zip(*levels, strict=True))
    last = len(levels) - 1
    return [
        [
            "" if place < last and number and row[: place + 1] == rows[number - 1][: place + 1] else row[place]
            for number, row in enumerate(rows)
        ]
        for place in range(len(levels))
    ]


def _readable(texts: list[str], mask: Mask, numeric: bool = False) -> list[str]:
    """The masked texts of a column, with numbers as a person reads them: those of a column have the same decimals."""
    masked = mask(texts)  # the exact texts are masked: a rounded number is not recognized
    readable = alike(texts) if numeric else map(rounded, texts)
    return [one if text == before else text for one, text, before in zip(readable, masked, texts, strict=True)]


def texts_of(column: pd.Series[Any], missing: str = _MISSING) -> list[str]:
    """The cells of a column as texts. Numbers are not rounded."""
    name = str(column.dtype).lower()
    width = next((kind for kind in (np.float32, np.float16) if name.startswith(kind.__name__)), float)
    return [_text(cell, width, missing) for cell in cells_of(column)]


def _text(cell: Any, width: Callable[[float], Any], missing: str) -> str:
    """A cell as text, not rounded: a float has the fewest digits that identify it."""
    if is_null(cell):
        return missing
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else str(width(cell))
    return cell_text(cell, RAW_CHARACTERS)


def _label(label: Any) -> str:
    return shorten(label if isinstance(label, str) else label_literal(label), RAW_CHARACTERS)


# Previews of outputs on the sample, small enough for a saved notebook
#
# Private values and secrets are masked before a text is truncated.

PREVIEW_ROWS = 5
PREVIEW_COLUMNS = 6
PREVIEW_TABLES = 4
"""Most tables of one list or dict that are shown."""

PREVIEW_FIGURES = 12
"""Most figures of one list or dict that are shown."""

PREVIEW_CHARACTERS = 24
"""Maximum length of a cell."""

FIGURE_CHARACTERS = 256 * 2**10
"""Characters of HTML of the largest picture or chart on a card, which is saved with the notebook."""

CARD_CHARACTERS = 2 * FIGURE_CHARACTERS
"""Characters of all of them together."""

PICTURE_PIXELS = 4_000_000
"""Pixels of the largest picture. A page that is opened decodes it, and 12 KB can hold 100 million of one colour."""

CARD_PIXELS = 2 * PICTURE_PIXELS
"""Pixels of all of them together."""

TOO_LARGE = "too large for the card"
_SECRET = "not on the card, because the function gets secrets"
"""Nothing can be masked in a picture, and such a function could draw them."""


def glimpses(values: Mapping[str, Any], secrets: Mapping[str, str]) -> tuple[Glimpse, ...]:
    mask = _output_mask(secrets)
    found, characters, pixels = list[Glimpse](), CARD_CHARACTERS, CARD_PIXELS
    for output, value in values.items():
        for name, one in _parts(output, value, mask):
            glimpse = _carefully(name, one, mask)
            if secrets and (glimpse.picture or glimpse.chart):
                glimpse = _without_figure(glimpse, _SECRET)
            size, drawn = _characters(glimpse), _pixels(glimpse.picture)
            if size > min(characters, FIGURE_CHARACTERS) or drawn > min(pixels, PICTURE_PIXELS):
                glimpse, size, drawn = _without_figure(glimpse, TOO_LARGE), 0, 0
            found.append(glimpse)
            characters, pixels = characters - size, pixels - drawn
    return tuple(found)


def _without_figure(glimpse: Glimpse, why: str) -> Glimpse:
    return replace(glimpse, picture=b"", chart="", left_out=why)


def _characters(glimpse: Glimpse) -> int:
    """Characters of HTML of a picture, which is base64 there, or of a chart, whose quotation marks become `&quot;`."""
    return len(glimpse.picture) * 4 // 3 + len(glimpse.chart) + 5 * glimpse.chart.count('"')


def _pixels(picture: bytes) -> int:
    """Pixels of a PNG that was checked; its head has its width and height."""
    return int.from_bytes(picture[16:20], "big") * int.from_bytes(picture[20:24], "big")


def _parts(name: str, value: Any, mask: Mask) -> Iterable[tuple[str, Any]]:
    """A value; or the first parts of a list or dict of tables or figures, each with its place in it."""
    items = (
        list(value.items() if isinstance(value, dict) else enumerate(value)) if isinstance(value, list | dict) else []
    )
    if not items or not isinstance(items[0][1], pd.DataFrame | pd.Series | Figure):
        return [(name, value)]
    most = PREVIEW_FIGURES if isinstance(items[0][1], Figure) else PREVIEW_TABLES
    shown = [(f"{name}[{mask([shorten(repr(key), PREVIEW_CHARACTERS)])[0]}]", part) for key, part in items[:most]]
    more = len(items) - most
    return [*shown, (name, f"and {more} more")] if more > 0 else shown


def _carefully(name: str, value: Any, mask: Mask) -> Glimpse:
    try:
        return _glimpse(name, value, mask)
    except Exception as error:  # an unusual value must not fail a successful generation
        return Glimpse(name, f"cannot be previewed ({type(error).__name__})")


def _output_mask(secrets: Mapping[str, str]) -> Mask:
    masker = Masker()

    def mask(texts: list[str]) -> list[str]:
        open_texts = [without_secrets(text, secrets) for text in texts]
        return list(map(masker.for_column(open_texts), open_texts))

    return mask


def _glimpse(name: str, value: Any, mask: Mask) -> Glimpse:
    if isinstance(value, pd.DataFrame | pd.Series):
        return Glimpse(
            name,
            table=excerpt(value, rows=PREVIEW_ROWS, columns=PREVIEW_COLUMNS, characters=PREVIEW_CHARACTERS, mask=mask),
        )
    if isinstance(value, Figure):
        return _figure(Glimpse(name, mask([value.description])[0]), value, mask)
    if isinstance(value, File | Dir):
        return Glimpse(name, "a file" if isinstance(value, File) else "a folder")
    if is_null(value):
        return Glimpse(name, str(value))
    text = cell_text(value)
    return Glimpse(name, shorten(mask([text])[0], RAW_CHARACTERS) if text else "(empty)")


def _figure(glimpse: Glimpse, figure: Figure, mask: Mask) -> Glimpse:
    if figure.kind == "matplotlib":
        return replace(glimpse, picture=figure.preview or figure.png)
    chart = chart_place(figure.kind, figure.spec, FIGURE_CHARACTERS, mask)
    if chart:
        return replace(glimpse, chart=chart)
    reason = why_not_drawn(figure.kind, figure.spec)
    return replace(glimpse, left_out=f"not drawn, because {reason}" if reason else TOO_LARGE)
