"""Describe a sample for the user: each column with its main facts and a small chart of its distribution.

The text for the model is limited by tokens; this one is limited by the size of a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from autocoder_jupyter.data.cells import CELL_CHARACTERS, label_literal, number_text, shorten
from autocoder_jupyter.data.column_profile import ColumnProfile
from autocoder_jupyter.data.files import DirProfile, FileProfile, describe_path
from autocoder_jupyter.data.foreign import origin_of
from autocoder_jupyter.data.profile import SAMPLE_ROWS, FrameProfile, as_frame, profile_frame
from autocoder_jupyter.data.rendering import SET_MAX_VALUES, SET_MIN_COUNT
from autocoder_jupyter.data.sample import sample_rows
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Share
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.types.records import Bar, ColumnOverview, Drawing, Overview

COLUMNS = 40
"""Maximum number of columns that are described."""

BINS = 12
"""Maximum number of bars of a histogram. A ranking has at most half of it."""

_NAME_CHARACTERS = 80


def overview(value: Any, share: Share | None = None) -> Overview:
    """Describe a sample.

    Args:
        value: DataFrame, Series, `File` or `Dir`.
        share: the sharing level of the place where the overview is shown. `rows`: the same as for the model, private
            values masked; `stats`: no single texts; `schema`: only names, dtypes and sizes. None is for the owner of
            the data: only secrets are masked.
    """
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
        """The first columns."""
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
