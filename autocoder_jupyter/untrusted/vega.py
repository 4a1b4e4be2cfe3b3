"""Rebuild an untrusted Altair chart from a list of harmless parts: marks, encodings of fields, and rows.

Vega evaluates expressions, loads data and pictures from addresses, and opens links. None of these parts is in the list.
The page's tooltips make a picture of an entry with the title `image`, whose value is then its address. So each field
with such a name gets another title. A chart that needs another part, or more of a part than a page can draw, is not
drawn; its data can still be read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class NotDrawn(Exception):
    """A figure has a part that is not allowed, or too much of one. Its text is the reason."""


VEGALITE = "application/vnd.vegalite.v5+json"

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_MAX_MARKS = 20_000
"""Rows of all views together; a table that two views show counts twice."""

_MAX_FACETS = 100
"""Views, side by side or made for the values of a field."""

_MAX_PLACES = 500
"""Values of an axis without numbers or times, each of which has a place of some pixels."""

_MAX_CHARACTERS = 2_000_000
"""Characters of all texts in the tables."""

_MAX_PIXELS = 10_000
_MAX_BINS = 1_000
_MAX_NUMBER = 1e6
"""The largest size, width or angle of a mark."""

_MARK_NAMES = "arc area bar boxplot circle errorband errorbar line point rect rule square text tick trail"
_MARKS = frozenset(_MARK_NAMES.split())

_CHANNEL_NAMES = """
x y x2 y2 xOffset yOffset theta radius color fill stroke opacity size shape strokeDash detail text tooltip order row
column facet
"""
_CHANNELS = frozenset(_CHANNEL_NAMES.split())

_MARK_KEYS = frozenset({"color", "filled", "interpolate", "opacity", "orient", "point", "size", "tooltip"})
_CHANNEL_KEYS = frozenset({"aggregate", "bandPosition", "bin", "field", "stack", "timeUnit", "title", "type", "value"})
_FACETS = frozenset({"row", "column", "facet"})
_POSITIONS = frozenset({"x", "y", "xOffset", "yOffset"})
_LISTS = frozenset({"layer", "hconcat", "vconcat", "concat"})
_IGNORED = frozenset({"params", "name", "view", "config", "$schema", "datasets", "data", "usermeta"})
"""Ignored parts. Without them the chart shows the same data, but it may have other colours and is not interactive."""


_LOOK = re.compile(r"[\w\s#%(),.+-]*")
"""A colour, the name of a shape or an interpolation, or the path of a shape: no address, also not by escapes."""

_OF_A_PATH = re.compile(r"[\s\[\]'\"\\.]")
"""Characters of a path to a field. Vega-Lite makes the title `image` of the field `['image']`, too."""

_PATH = re.compile(r"[\[\].'\"]+")


@dataclass
class _ChartSize:
    """What all views of a chart have together."""

    marks: int = 0
    facets: int = 0
    characters: int = 0

    def add(self, *, marks: int = 0, facets: int = 0, characters: int = 0) -> None:
        self.marks += marks
        self.facets += facets
        self.characters += characters
        for count, most, what in (
            (self.marks, _MAX_MARKS, "rows"),
            (self.facets, _MAX_FACETS, "facets"),
            (self.characters, _MAX_CHARACTERS, "characters"),
        ):
            if count > most:
                raise NotDrawn(f"it has more than {most:,} {what}")


def harmless_chart(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Rebuild a chart from its allowed parts. Its tables keep the columns that it shows."""
    datasets = spec.get("datasets")
    made = _chart(spec, datasets if isinstance(datasets, dict) else {}, (), _ChartSize())
    columns = {name for field in _fields(made) for name in _columns(field)}
    return {"$schema": _SCHEMA, **_with_columns(made, columns)}


def _fields(chart: Mapping[str, Any]) -> Iterator[str]:
    """The fields that the views of a rebuilt chart show, as paths."""
    channels = list(chart.get("encoding", {}).values())
    while channels:
        facts = channels.pop()
        if isinstance(facts, list):
            channels += facts
        elif isinstance(facts.get("field"), str):
            yield facts["field"]
    for key in _LISTS & chart.keys():
        for part in chart[key]:
            yield from _fields(part)


def _columns(field: str) -> Iterator[str]:
    r"""All names of columns that a path to a field can mean: `a\.b` is the column `a.b`; `a.b` and `['a']` are `a`."""
    plain = field.replace("\\", "")
    yield from (plain, plain.strip("[]'\""), *_PATH.split(plain))


def _with_columns(chart: Mapping[str, Any], columns: Collection[str]) -> dict[str, Any]:
    """A rebuilt chart whose tables have only these columns."""
    made = dict(chart)
    for key in _LISTS & chart.keys():
        made[key] = [_with_columns(part, columns) for part in chart[key]]
    if "data" in chart:
        rows = chart["data"]["values"]
        made["data"] = {"values": [{name: row[name] for name in row if name in columns} for row in rows]}
    return made


def _chart(
    spec: Mapping[str, Any], datasets: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], size: _ChartSize
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if "data" in spec:
        rows = _rows(_dict(spec["data"]), datasets, size)
    for key, value in spec.items():
        if key in ("width", "height"):
            made[key] = _side(value)
        elif key == "title":
            made[key] = _text(value)
        elif key == "mark":
            made[key] = _mark(value)
        elif key == "encoding":
            made[key] = {channel: _channel(channel, fact) for channel, fact in _dict(value).items()}
        elif key in _LISTS:
            made[key] = [_chart(_dict(part), datasets, rows, size) for part in _list(value)]
        elif key not in _IGNORED:
            raise NotDrawn(f"it has the part {key[:40]!r}")
    if "mark" in spec:
        encoding = made.get("encoding", {})
        size.add(marks=len(rows), facets=_facets(encoding, rows))
        fields = _all_fields(encoding) if made["mark"].pop("tooltip", None) is True else []
        if fields and "tooltip" not in encoding:
            made["encoding"] = {**encoding, "tooltip": fields}
    if "data" in spec:
        made["data"] = {"values": list(rows)}
    return made


def _facets(encoding: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> int:
    """The number of views that a field makes of one; an axis with too many places is refused."""
    views = 1
    for channel in (_FACETS | _POSITIONS) & encoding.keys():
        facts = encoding[channel]
        if not isinstance(facts, dict) or (channel in _POSITIONS and _is_continuous(facts)):
            continue
        field = facts.get("field")
        values = len({str(row.get(field)) for row in rows}) if isinstance(field, str) else 1
        if channel in _FACETS:
            views *= max(values, 1)
        elif values > _MAX_PLACES:
            raise NotDrawn(f"its axis {channel} has more than {_MAX_PLACES} values")
    return views


def _is_continuous(facts: Mapping[str, Any]) -> bool:
    return facts.get("type") in ("quantitative", "temporal") or bool(facts.get("bin") or facts.get("aggregate"))


def _all_fields(encoding: Mapping[str, Any]) -> list[Any]:
    """The fields that a chart shows, as the tooltip of a mark has them."""
    return [facts for facts in encoding.values() if isinstance(facts, dict) and "field" in facts]


def _mark(value: Any) -> dict[str, Any]:
    facts = {"type": value} if isinstance(value, str) else _dict(value)
    kind = facts.get("type")
    if not isinstance(kind, str) or kind not in _MARKS:
        raise NotDrawn(f"it has marks of the kind {str(kind)[:40]!r}")
    return {"type": kind, **{key: _look(facts[key]) for key in sorted(_MARK_KEYS & facts.keys())}}


def _channel(channel: str, value: Any) -> Any:
    if channel not in _CHANNELS:
        raise NotDrawn(f"it has the channel {channel[:40]!r}")
    if isinstance(value, list):
        return [_channel(channel, one) for one in value]
    made: dict[str, Any] = {}
    for key, fact in _dict(value).items():
        if key == "bin":
            made[key] = _bins(fact)
        elif key == "value" and channel != "text":
            made[key] = _look(fact)
        elif key in _CHANNEL_KEYS:
            made[key] = _simple(fact)
    title = made.get("title") or made.get("field")
    if isinstance(title, str):
        plain = title.replace("\\", "")  # the title becomes part of an expression, in which it would be an escape
        if _OF_A_PATH.sub("", plain).casefold() in ("image", "title"):
            plain = f"{plain} (column)"
        if plain != title:
            made["title"] = plain
    return made


def _rows(data: Mapping[str, Any], datasets: Mapping[str, Any], size: _ChartSize) -> list[dict[str, Any]]:
    rows = datasets.get(str(data["name"])) if data.keys() == {"name"} else data.get("values")
    if not isinstance(rows, list):
        raise NotDrawn("its data are not in it")
    if len(rows) > _MAX_MARKS:
        raise NotDrawn(f"it has more than {_MAX_MARKS:,} rows")
    found = [{str(key): _simple(cell) for key, cell in _dict(row).items()} for row in rows]
    size.add(characters=sum(len(cell) for row in found for cell in row.values() if isinstance(cell, str)))
    return found


def _simple(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise NotDrawn("a value is no number and no text")


def _look(value: Any) -> Any:
    """Check a colour, a name or a number. A colour may not be an address."""
    if isinstance(value, str) and (not _LOOK.fullmatch(value) or "url" in value.lower()):
        raise NotDrawn("a colour or a shape is not a plain one")
    if isinstance(value, int | float) and not abs(value) <= _MAX_NUMBER:
        raise NotDrawn("a size is too large")
    return _simple(value)


def _side(value: Any) -> Any:
    """Check a width or height in pixels, of the chart or of one step. It must not be too large to be drawn."""
    if isinstance(value, dict) and value.keys() == {"step"}:
        return {"step": _side(value["step"])}
    if value == "container" or (isinstance(value, int | float) and 0 < value <= _MAX_PIXELS):
        return value
    raise NotDrawn("its width or height cannot be drawn")


def _bins(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"maxbins"} and value["maxbins"] in range(1, _MAX_BINS):
        return value
    return _simple(value)


def _text(value: Any) -> str:
    text = value.get("text") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def _dict(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise NotDrawn("it is not written as charts are")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise NotDrawn("it is not written as charts are")
    return value
