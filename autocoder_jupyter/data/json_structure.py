"""Describe the structure of JSON values by names and types."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from autocoder_jupyter.data.cells import RAW_CHARACTERS, shorten


def structure(value: Any, depth: int = 0) -> str:
    """The structure of a JSON value: names and types, no values."""
    if isinstance(value, dict):
        if depth >= 4:
            return "object"
        inner = [
            f"{shorten(str(key), RAW_CHARACTERS)}: {structure(one, depth + 1)}"
            for key, one in islice(value.items(), 25)
        ]
        more = f", … {len(value) - 25} more" if len(value) > 25 else ""
        return "{" + ", ".join(inner) + more + "}"
    if isinstance(value, list):
        if depth >= 4 or not value:
            return "list"
        return f"list of {_merged_structure(value[:200], depth + 1)}"
    return {"NoneType": "null", "str": "text"}.get(type(value).__name__, type(value).__name__)


def _merged_structure(values: list[Any], depth: int) -> str:
    """One structure for all items of a list. Keys that some objects do not have are marked with `?`."""
    objects = [value for value in values if isinstance(value, dict)]
    kinds = list(dict.fromkeys(structure(value, depth) for value in values if not isinstance(value, dict)))[:4]
    if objects:
        keys = list(dict.fromkeys(key for one in objects for key in one))
        inner = []
        for key in keys[:25]:
            present = [one[key] for one in objects if key in one]
            name = shorten(str(key), RAW_CHARACTERS)
            mark = "?" if len(present) < len(objects) else ""
            inner.append(f"{name}{mark}: {_merged_structure(present[:50], depth + 1)}" if depth < 5 else name)
        more = f", … {len(keys) - 25} more" if len(keys) > 25 else ""
        kinds.insert(0, "{" + ", ".join(inner) + more + "}")
    return " or ".join(kinds) or "nothing"


def excerpt(value: Any) -> str:
    """The beginning of a value."""
    return "begins " + shorten(json.dumps(value, ensure_ascii=False), 600)
