"""Rebuild an untrusted Altair chart from a list of harmless parts: marks, encodings of fields, and rows.

Vega evaluates expressions, loads data and pictures from addresses, and opens links. None of these parts is in the list.
A chart that needs another part is not drawn; its data can still be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VEGALITE = "application/vnd.vegalite.v5+json"

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_MAX_ROWS = 20_000
_MAX_PIXELS = 10_000
_MAX_BINS = 1_000

_MARK_NAMES = "arc area bar boxplot circle errorband errorbar line point rect rule square text tick trail"
_MARKS = frozenset(_MARK_NAMES.split())

_CHANNEL_NAMES = """
x y x2 y2 xOffset yOffset theta radius color fill stroke opacity size shape strokeDash detail text tooltip order row
column facet
"""
_CHANNELS = frozenset(_CHANNEL_NAMES.split())

_MARK_KEYS = frozenset({"color", "filled", "interpolate", "opacity", "orient", "point", "size", "tooltip"})
_CHANNEL_KEYS = frozenset({"aggregate", "bandPosition", "bin", "field", "stack", "timeUnit", "title", "type", "value"})
_LISTS = frozenset({"layer", "hconcat", "vconcat", "concat"})
_IGNORED = frozenset({"params", "name", "view", "config", "$schema", "datasets", "data", "usermeta"})
"""Ignored parts. Without them the chart shows the same data, but it may have other colours and is not interactive."""


class _Unknown(Exception):
    """The chart has a part that is neither allowed nor ignored."""


def harmless_chart(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """Rebuild a chart from its allowed parts.

    Args:
        spec: a Vega-Lite specification that came out of a sandbox, as JSON values.

    Returns:
        The chart to draw; None if it needs a part that is not allowed.
    """
    datasets = spec.get("datasets")
    try:
        return {"$schema": _SCHEMA, **_chart(spec, datasets if isinstance(datasets, dict) else {})}
    except _Unknown:
        return None


def _chart(spec: Mapping[str, Any], datasets: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
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
            made[key] = [_chart(_dict(part), datasets) for part in _list(value)]
        elif key not in _IGNORED:
            raise _Unknown
    if "data" in spec:
        made["data"] = {"values": _rows(_dict(spec["data"]), datasets)}
    return made


def _mark(value: Any) -> dict[str, Any]:
    facts = {"type": value} if isinstance(value, str) else _dict(value)
    if facts.get("type") not in _MARKS:
        raise _Unknown
    return {"type": facts["type"], **{key: _look(facts[key]) for key in sorted(_MARK_KEYS & facts.keys())}}


def _channel(channel: str, value: Any) -> Any:
    if channel not in _CHANNELS:
        raise _Unknown
    if isinstance(value, list):
        return [_channel(channel, one) for one in value]
    facts = _dict(value)
    return {key: _bins(fact) if key == "bin" else _look(fact) for key, fact in facts.items() if key in _CHANNEL_KEYS}


def _rows(data: Mapping[str, Any], datasets: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = datasets.get(str(data["name"])) if data.keys() == {"name"} else data.get("values")
    if not isinstance(rows, list) or len(rows) > _MAX_ROWS:
        raise _Unknown
    return [{str(key): _simple(cell) for key, cell in _dict(row).items()} for row in rows]


def _simple(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise _Unknown


def _look(value: Any) -> Any:
    """Check a colour, a name or a number. A colour may not be an address."""
    if isinstance(value, str) and "url" in value.lower():
        raise _Unknown
    return _simple(value)


def _side(value: Any) -> Any:
    """Check a width or height in pixels, of the chart or of one step. It must not be too large to be drawn."""
    if isinstance(value, dict) and value.keys() == {"step"}:
        return {"step": _side(value["step"])}
    if value == "container" or (isinstance(value, int | float) and 0 < value <= _MAX_PIXELS):
        return value
    raise _Unknown


def _bins(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"maxbins"} and value["maxbins"] in range(1, _MAX_BINS):
        return value
    return _simple(value)


def _text(value: Any) -> str:
    text = value.get("text") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def _dict(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _Unknown
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _Unknown
    return value
