"""Say in one line what a chart shows: its kind, title, axes with their ranges, and the number of its marks.

It is the text for readers who do not see the chart, and for terminals. The content of a chart comes from sandboxed
code, so any part may be missing, of another type or huge: only so many parts, values and characters are read.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from autocoder_jupyter.untrusted.plain_json import shortened
from autocoder_jupyter.untrusted.visible import visible

# Limits

_MAX_VIEWS = 4
"""Views side by side that are described."""

_MAX_PARTS = 500
"""Traces, series, layers and channels that are read."""

_MAX_VALUES = 200_000
"""Values that are read for the ranges of all axes. An axis beyond has no range."""

_MAX_NAMES = 3
"""Names of categories and of series that are listed."""

_NAME = 60
"""Characters of a title, a label or a value."""

_MAX_CHARACTERS = 600
_MAX_DEPTH = 10
"""Views in views that are read."""

_TAGS = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_DATE = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?)?(Z|[+-]\d\d:?\d\d)?")
_SECONDS = re.compile(r"(:00)?(\.0+)?$")
_MIDNIGHT = " 00:00"
_SVG_TEXT = re.compile(r"<(title|desc)\b[^<>]{0,200}>([^<]{0,2000})</\1>")
_SVG_CHARACTERS = 100_000
_REDUCES = frozenset({"aggregate", "bin", "timeUnit"})
_CHANNELS = ("x", "y", "theta", "radius", "color", "size", "row", "column", "facet")


# A view and its text


@dataclass
class _SpecReader:
    """What is still read of one chart."""

    values: int = _MAX_VALUES
    parts: int = _MAX_PARTS
    is_cut: bool = False

    def take(self, values: Iterable[Any]) -> list[Any] | None:
        """The values of an axis; None if they are too many."""
        found = list(islice(values, max(self.values + 1, 0)))
        self.values -= len(found)
        return found if self.values >= 0 else None

    def dicts(self, value: Any) -> Iterator[Mapping[str, Any]]:
        """The parts in a list, as traces or layers."""
        for part in _list(value):
            self.parts -= 1
            if self.parts < 0:
                self.is_cut = True
                return
            if isinstance(part, dict):
                yield part


@dataclass
class _View:
    """One chart, or one of several side by side."""

    reader: _SpecReader
    title: str = ""
    kinds: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[Any] | None] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    marks: int = 0
    is_counted: bool = True
    """Whether each value is one mark; a histogram has fewer."""

    def axis(self, name: str, label: str, values: Iterable[Any]) -> None:
        """Add values to an axis, which has the first label that is not empty."""
        self.labels[name] = self.labels.get(name) or label
        before, more = self.values.get(name, []), self.reader.take(values)
        self.values[name] = None if before is None or more is None else before
        if before is not None and more is not None:
            before.extend(more)

    def add(self, kind: Any, marks: int, name: Any = "", *, is_counted: bool = True) -> None:
        """Add a series, a trace or a layer."""
        kind, name = _name(kind), _name(name)
        self.kinds += [kind] if kind and kind not in self.kinds else []
        self.names += [name] if name else []
        self.marks += marks
        self.is_counted = self.is_counted and is_counted

    def words(self) -> str:
        kinds = " and ".join(self.kinds[:_MAX_NAMES])
        head = " ".join(filter(None, (kinds and f"{kinds} chart", self.title and f'"{self.title}"')))
        described = ((name, (label, _range(self.values[name] or []))) for name, label in self.labels.items())
        axes = [f"{name}: {text}" for name, facts in described if (text := ", ".join(filter(None, facts)))]
        series = f"series: {_listed(self.names)}" if len(self.names) > 1 else ""
        unit = "mark" if self.is_counted else "value"
        count = f"{'' if self.is_counted else 'from '}{'at least ' if self.reader.is_cut else ''}{self.marks:,} {unit}"
        marks = f"{count}{'' if self.marks == 1 else 's'}" if head or axes else ""
        return "; ".join(filter(None, (head, *axes, series, marks)))


def chart_words(kind: str, spec: Mapping[str, Any]) -> str:
    """A chart in words, as `bar chart "Sales"; x: month, Jan, Feb; y: EUR, 1.5 to 2; 2 marks`."""
    read = {"matplotlib": _of_matplotlib, "plotly": _of_plotly}.get(kind, _of_altair)
    views = list(islice(read(spec, _SpecReader()), _MAX_VIEWS + 1))
    texts = [words for view in views[:_MAX_VIEWS] if (words := view.words())]
    more = ["and more charts"] if len(views) > _MAX_VIEWS else []
    return _cut(" | ".join([*texts, *more]), _MAX_CHARACTERS)


def svg_words(svg: str) -> str:
    """The title and the description in an SVG; "" if it has none."""
    found = _SVG_TEXT.findall(svg[:_SVG_CHARACTERS])
    return _cut(": ".join(filter(None, (_line(html.unescape(text)) for _, text in found[:2]))), _MAX_CHARACTERS)


def _range(values: list[Any]) -> str:
    """The smallest and the largest of some numbers or times, or the first names; "" for other values."""
    present = [value for value in values if value is not None]
    numbers = [value for value in present if isinstance(value, int | float) and not isinstance(value, bool)]
    if present and len(numbers) == len(present):
        finite = [number for number in numbers if abs(number) < math.inf]  # also False for NaN
        return _between(_number(min(finite)), _number(max(finite))) if finite else ""
    texts = [value[: 2 * _NAME] for value in present if isinstance(value, str)]
    if not texts or len(texts) < len(present):
        return ""
    if not all(map(_DATE.fullmatch, texts)):
        return _listed(list(dict.fromkeys(texts)))
    first, last = (_SECONDS.sub("", text).replace("T", " ") for text in (min(texts), max(texts)))
    are_days = all(text.endswith(_MIDNIGHT) for text in (first, last))
    return _between(*(text.removesuffix(_MIDNIGHT) if are_days else text for text in (first, last)))


def _between(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def _listed(names: list[str]) -> str:
    """Some names, or the first and the last one with their number."""
    shown = [_name(name) for name in (names if len(names) <= _MAX_NAMES else (names[0], names[-1]))]
    return ", ".join(shown) if len(names) <= _MAX_NAMES else f"{shown[0]} … {shown[1]} ({len(names):,})"


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value:,}"
    try:
        return f"{float(value):,.0f}" if 10**4 <= abs(value) < 10**15 else f"{float(value):,.4g}"
    except OverflowError:  # an int that no float can hold
        return _cut(str(shortened(value)), _NAME)


def _name(value: Any) -> str:
    """A text of the chart in one line, without its tags; "" for any other value."""
    return _cut(_line(_TAGS.sub(" ", value[: 10 * _NAME])), _NAME) if isinstance(value, str) else ""


def _title(value: Any) -> str:
    """A title, which is a text, or the text of a dict or a list of lines."""
    text = value.get("text") if isinstance(value, dict) else value
    return _name(" ".join(line for line in text[:10] if isinstance(line, str)) if isinstance(text, list) else text)


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# The views of a chart, by the library


def _of_matplotlib(spec: Mapping[str, Any], reader: _SpecReader) -> Iterator[_View]:
    for axes in reader.dicts(spec.get("axes")):
        view = _View(reader, _name(axes.get("title")))
        for series in reader.dicts(axes.get("series")):
            kind, x, y = series.get("type"), _list(series.get("x")), _list(series.get("y"))
            across, up = (y, x) if kind == "barh" else (x, y)
            view.axis("x", _name(axes.get("xlabel")), across)
            view.axis("y", _name(axes.get("ylabel")), [] if kind == "image" else up)
            view.add("bar" if kind == "barh" else kind, len(y), series.get("name"))
        yield view


def _of_plotly(spec: Mapping[str, Any], reader: _SpecReader) -> Iterator[_View]:
    layout = _dict(spec.get("layout"))
    views = dict[tuple[str, ...], _View]()
    for trace in reader.dicts(spec.get("data")):
        on = {side: _name(trace.get(f"{side}axis")) or side for side in ("x", "y")}
        view = views.setdefault(tuple(on.values()), _View(reader, "" if views else _title(layout.get("title"))))
        for key in ("x", "y", "z", "r", "theta", "labels", "values"):
            if values := _list(trace.get(key)):
                axis = _dict(layout.get(f"{key}axis{on[key][1:]}")) if key in on else {}
                view.axis(key, _title(axis.get("title")), _flat(values))
        kind, mode = _name(trace.get("type")) or "scatter", _name(trace.get("mode")) or "lines"
        marks = max(_count(_list(trace.get(key))) for key in ("x", "y", "z", "r", "labels", "values"))
        is_line = kind in ("scatter", "scattergl") and "lines" in mode
        view.add("line" if is_line else kind, marks, trace.get("name"), is_counted="histogram" not in kind)
    yield from views.values()


def _flat(values: list[Any]) -> Iterator[Any]:
    """The entries of a list, or of a list of lists."""
    return chain.from_iterable(one if isinstance(one, list) else (one,) for one in values)


def _count(values: list[Any]) -> int:
    return sum(len(_list(one)) for one in values) if values and isinstance(values[0], list) else len(values)


def _of_altair(
    part: Mapping[str, Any],
    reader: _SpecReader,
    datasets: Mapping[str, Any] | None = None,
    rows: list[Any] | None = None,
    depth: int = 0,
) -> Iterator[_View]:
    """The views of a chart. A view in another one has its own rows, or those of the other."""
    datasets = _dict(part.get("datasets")) if datasets is None else datasets
    rows = _rows(part, datasets, rows or [])
    inner = [one for key in ("hconcat", "vconcat", "concat") for one in reader.dicts(part.get(key))]
    if inner and depth < _MAX_DEPTH:
        title = _title(part.get("title"))
        for one in inner:
            for view in _of_altair(one, reader, datasets, rows, depth + 1):
                view.title, title = view.title or title, ""
                yield view
        return
    view = _View(reader, _title(part.get("title")))
    for layer in list(reader.dicts(part.get("layer"))) or [part]:
        encoding = {**_dict(part.get("encoding")), **_dict(layer.get("encoding"))}
        _add_layer(view, layer, encoding, _rows(layer, datasets, rows))
    yield view


def _rows(part: Mapping[str, Any], datasets: Mapping[str, Any], rows: list[Any]) -> list[Any]:
    data = _dict(part.get("data"))
    named = data.get("name")
    return _list(data.get("values") or (datasets.get(named) if isinstance(named, str) else None)) if data else rows


def _add_layer(view: _View, layer: Mapping[str, Any], encoding: Mapping[str, Any], rows: list[Any]) -> None:
    view.title = view.title or _title(layer.get("title"))
    is_counted = True
    for channel in _CHANNELS:
        facts = _dict(encoding.get(channel))
        column, how = facts.get("field"), facts.get("aggregate")
        is_counted = is_counted and not any(facts.get(key) for key in _REDUCES)
        label = _title(facts.get("title")) or " of ".join(filter(None, (_name(how), _name(column))))
        if isinstance(column, str) and not how:
            view.axis(channel, label, (_dict(row).get(column) for row in rows))
        elif label:  # the page computes the values of an aggregate
            view.axis(channel, label, ())
    mark = layer.get("mark")
    view.add(mark if isinstance(mark, str) else _dict(mark).get("type"), len(rows), is_counted=is_counted)
