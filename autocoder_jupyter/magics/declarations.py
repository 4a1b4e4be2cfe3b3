"""Parse the declarations `-o "monthly: DataFrame"` and `-i "min_orders: int = 5"`."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Callable
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import KINDS, WHOLE, elements_of, misfit
from autocoder_jupyter.magics.suggestions import did_you_mean
from autocoder_jupyter.types import INPUT_TYPE_NAMES, TYPE_NAMES, InputSpec, OutputSpec, TypeName
from autocoder_jupyter.untrusted.parsing import literal

_SUFFIX = re.compile(r"(?:\.[A-Za-z0-9_]+)+$")
"""The suffix of an output that is named like its file."""


def parse_output(text: str) -> OutputSpec:
    """An output from `name: type`. A file may have its suffix in the name: `summary.csv: File`.

    Raises:
        InvalidRequest: the type does not exist, the name is missing, or there is a default.
    """
    name, type_text, default = _parts("-o", text)
    if default is not None:
        raise InvalidRequest(f"-o {text!r} has a default, and an output cannot have one.")
    type_name, elements = _type("-o", name, type_text, TYPE_NAMES)
    return OutputSpec(name=name, type=type_name, elements=elements)


def parse_input(text: str) -> InputSpec:
    """An input from `name: type` or `name: type = default`. The default is a Python literal; times are ISO text.

    Raises:
        InvalidRequest: the type does not exist, the name is missing, or the default has another type.
    """
    name, type_text, default = _parts("-i", text)
    type_name, elements = _type("-i", name, type_text, INPUT_TYPE_NAMES)
    if default is None:
        return InputSpec(name=name, type=type_name, elements=elements)
    value = _default(name, type_name, default)
    if problem := misfit(value, elements):
        raise InvalidRequest(f"The default of {name!r} is not of type {type_text}: {problem}.")
    return InputSpec(name=name, type=type_name, required=False, default=value, elements=elements)


def _parts(flag: str, text: str) -> tuple[str, str, str | None]:
    declared, has_default, default = text.partition("=")
    name, _, type_text = (part.strip() for part in declared.partition(":"))
    bare = _SUFFIX.sub("", name) if flag == "-o" else name
    if not bare.isidentifier() or keyword.iskeyword(bare):
        raise InvalidRequest(
            f"{name or text!r} in {flag} {text!r} cannot be a name.", hint=f'Write {flag} "name: type".'
        )
    if not type_text:
        raise InvalidRequest(f"{flag} {text!r} has no type.", hint=f'Write {flag} "{name}: DataFrame", for example.')
    return name, type_text, default.strip() if has_default else None


def _type(flag: str, name: str, text: str, allowed: tuple[TypeName, ...]) -> tuple[TypeName, str]:
    """The type, and the type of the elements of a list or dict."""
    bare = text.removeprefix("pd.").removeprefix("datetime.").removeprefix("dt.")
    elements = elements_of(bare)
    if elements in WHOLE and flag == "-i":
        raise InvalidRequest(
            f"{name!r} cannot be a {text}: a list or dict of tables or figures is for outputs only.",
            hint=f"Pass one table: {name}: DataFrame, with a column for what tells them apart.",
            about=text,
        )
    bare = bare.partition("[")[0] if elements else bare
    for known in allowed:
        if known == bare:
            return known, elements
    if bare in TYPE_NAMES:
        raise InvalidRequest(f"{name!r} cannot be a {bare}: that type is for outputs only.", about=text)
    raise InvalidRequest(f"{text!r} is not a type for {flag}.", hint=did_you_mean(bare, allowed), about=text)


def _default(name: str, type_name: TypeName, text: str) -> Any:
    kind = KINDS[type_name]
    if kind.is_data:
        raise InvalidRequest(
            f"{name!r} is a {type_name} and cannot have a default here.",
            hint=f"Pass it as a sample: -s {name}=EXPRESSION.",
        )
    value = _literal(text) if kind.from_iso is None else _time(text, kind.from_iso)
    if not (kind.takes_json(value) and _is_json(value)):
        hint = f"Write it in quotes: {name}: str = {text!r}" if type_name == "str" else kind.iso_example
        raise InvalidRequest(f"The default of {name!r}, {text}, is not of type {type_name}.", hint=hint, about=text)
    return float(value) if type_name == "float" else value


def _literal(text: str) -> Any:
    try:
        return literal(text)
    except ValueError:
        return _NOTHING


_NOTHING = object()


def _time(text: str, from_iso: Callable[[str], str]) -> Any:
    literal = _literal(text)
    try:
        return from_iso(literal if isinstance(literal, str) else text)
    except ValueError:
        return _NOTHING


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
