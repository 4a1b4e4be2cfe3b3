"""Convert values from text and JSON, and back. Invalid input raises ValueError or TypeError."""

from __future__ import annotations

import datetime as dt
import functools
import json
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.untrusted import plain_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_ISO_DURATION = re.compile(r"P(?=.)(?:\d+W)?(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?")


def finite(text: str) -> float:
    """A finite number."""
    if not math.isfinite(number := float(text)):
        raise ValueError
    return number


def truth(text: str) -> bool:
    """`true` or `false`."""
    if text.casefold() not in ("true", "false"):
        raise ValueError
    return text.casefold() == "true"


def duration(text: str) -> dt.timedelta:
    """Seconds, `1:30:00` or `P2DT3H`."""
    from pydantic import ValidationError

    try:
        return duration_from_json(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValidationError:
        raise ValueError from None


def duration_from_json(value: Any) -> dt.timedelta:
    """A duration from its ISO text or from a number of seconds."""
    return _durations().validate_python(value)


def duration_as_text(value: dt.timedelta) -> str:
    """The ISO text of a duration."""
    return str(_durations().dump_python(value, mode="json"))


def duration_source(default: Any) -> str:
    """The default of a duration as an expression."""
    return f"datetime.timedelta(seconds={duration_from_json(default).total_seconds():.15g})"


@functools.cache
def _durations() -> TypeAdapter[dt.timedelta]:
    from pydantic import TypeAdapter

    return TypeAdapter(dt.timedelta)


def json_of(kind: type) -> Callable[[str], Any]:
    """A parser of JSON values of this type."""

    def reader(text: str) -> Any:
        value = plain_json.parse(text)
        if not isinstance(value, kind):
            raise ValueError
        return value

    return reader


def as_json(value: Any) -> str:
    """A dict or list as JSON."""
    return json.dumps(value, ensure_ascii=False)


def path_of(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser of paths."""

    def reader(text: str) -> Any:
        if not text:
            raise ValueError
        return kind(text)

    return reader


def iso_datetime(text: str) -> str:
    """A time in canonical ISO format."""
    return dt.datetime.fromisoformat(text).isoformat()


def iso_date(text: str) -> str:
    """A date in canonical ISO format."""
    return dt.date.fromisoformat(text).isoformat()


def iso_duration(text: str) -> str:
    """An ISO duration."""
    if not _ISO_DURATION.fullmatch(text):
        raise ValueError
    return text
