"""Parse text from the form to a value of the declared type."""

from __future__ import annotations

import json
from typing import Any

from autocoder_jupyter.kinds.table import KINDS, misfit
from autocoder_jupyter.types import InputSpec


def read(spec: InputSpec, text: str) -> Any:
    """The value of a text.

    Raises:
        ValueError: the text is not valid; the message is one sentence with the name of the input.
    """
    kind = KINDS[spec.type]
    if kind.parse is None:
        raise ValueError(f"{spec.name} is a {spec.type}; it cannot be typed in. Choose a variable.")
    try:
        value = kind.parse(text if spec.type == "str" else text.strip())
    except (ValueError, TypeError, RecursionError) as error:
        why = f" ({error.msg}, line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise ValueError(f"{spec.name} must be {kind.expects}, not {_shown(text)}{why}.") from None
    if problem := misfit(value, spec.elements):
        raise ValueError(f"{spec.name} must be a {spec.written_type}: {problem}.")
    return value


def written(spec: InputSpec, value: Any) -> str:
    """The text from which `read` makes this value."""
    return KINDS[spec.type].show(value)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…") if text.strip() else "empty"
