"""From what a person typed into the form to a value of the declared type."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError

from autocoder_jupyter.element_types import misfit
from autocoder_jupyter.types import Dir, File, InputSpec, TypeName

_DURATION = TypeAdapter(dt.timedelta)


def read(spec: InputSpec, text: str) -> Any:
    """The value that a text stands for.

    Raises:
        ValueError: it stands for none; the message is one sentence that names the input.
    """
    reader, expected = _READERS[spec.type]
    try:
        value = reader(text if spec.type == "str" else text.strip())
    except (ValueError, TypeError, RecursionError) as error:
        why = f" ({error.msg}, line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise ValueError(f"{spec.name} must be {expected}, not {_shown(text)}{why}.") from None
    if problem := misfit(value, spec.elements):
        raise ValueError(f"{spec.name} must be a {spec.written_type}: {problem}.")
    return value


def written(spec: InputSpec, value: Any) -> str:
    """The text that `read` makes this value of."""
    if spec.type in ("dict", "list"):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return str(_DURATION.dump_python(value, mode="json"))
    return str(value)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…") if text.strip() else "empty"


def _float(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError
    return number


def _bool(text: str) -> bool:
    return {"true": True, "false": False}[text.casefold()] if text.casefold() in ("true", "false") else _refuse()


def _refuse() -> Any:
    raise ValueError


def _duration(text: str) -> dt.timedelta:
    try:
        return _DURATION.validate_python(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValidationError:
        raise ValueError from None


def _json(kind: type) -> Callable[[str], Any]:
    def reader(text: str) -> Any:
        value = json.loads(text)
        return value if isinstance(value, kind) else _refuse()

    return reader


def _path(kind: type[File] | type[Dir]) -> Callable[[str], Any]:
    return lambda text: kind(text) if text else _refuse()


_READERS: dict[TypeName, tuple[Callable[[str], Any], str]] = {
    "str": (str, "a text"),
    "int": (int, "a whole number"),
    "float": (_float, "a number"),
    "bool": (_bool, "True or False"),
    "datetime": (dt.datetime.fromisoformat, "a date and time such as 2025-01-31 13:30"),
    "date": (dt.date.fromisoformat, "a date such as 2025-01-31"),
    "timedelta": (_duration, "a duration such as 90 (seconds), 1:30:00 or P2DT3H"),
    "dict": (_json(dict), 'a JSON object such as {"a": 1}'),
    "list": (_json(list), "a JSON list such as [1, 2]"),
    "File": (_path(File), "the path of a file"),
    "Dir": (_path(Dir), "the path of a folder"),
}
