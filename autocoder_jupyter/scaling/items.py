"""The items of a map: what each passes to the function, and the chunks in which they travel."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pandas.api.types import is_scalar

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.data.capture import is_table
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.types.of_flyte import declared_of_flyte
from autocoder_jupyter.untrusted.parsing import visible

MOST_ITEMS = 100
"""Items of a chunk. They are computed one after the other in one child process."""

SMALL = 2**20
"""Bytes. A larger item has a child process of its own."""

ROUNDS = 4
"""Chunks for each worker, if there are few items, so that all workers have work until the end."""


_FILES: Mapping[str, type[File | Dir]] = {"File": File, "Dir": Dir}


@dataclass(frozen=True)
class MapItem:
    """One item.

    Args:
        given: what the user passed.
        arguments: inputs by name.
        key: what stands for it in a table.
    """

    given: Any
    arguments: Mapping[str, Any]
    key: Any

    def columns(self, name: str, rows: int) -> dict[str, Any]:
        """The key as columns with so many rows: one, or as many as it has parts."""
        parts = self.key if isinstance(self.key, tuple) else (self.key,)
        names = [name] if len(parts) == 1 else [f"{name}_{number}" for number in range(1, len(parts) + 1)]
        return {column: part if is_scalar(part) else [part] * rows for column, part in zip(names, parts, strict=True)}


def items_of(function: Function, given: Iterable[Any], fixed: Mapping[str, Any]) -> list[MapItem]:
    """The items: tables, files, dicts of arguments, or pairs of a key and a table, as from `groupby`.

    Args:
        function: the function.
        given: the items. Anything but a dict is passed as the first input that is not fixed.
        fixed: inputs that are the same for all items.

    Raises:
        InvalidRequest: it is one table or text, no iterable, names an input that does not exist or is fixed, or has a
            key that cannot be one.
    """
    name = visible(function.name)
    if isinstance(given, str | bytes | Mapping) or _has_columns(given) or not isinstance(given, Iterable):
        raise InvalidRequest(
            f"{name}.map takes a list of items, not a {type(given).__name__}.",
            hint=f"For one call write {name}(…); for the groups of a table {name}.map(table.groupby(…)).",
        )
    free = [spec.name for spec in function.inputs if spec.name not in fixed]
    kind = next((spec.type for spec in function.inputs if free and spec.name == free[0]), "")
    items = []
    paths: dict[int, str] = {}
    for place, each in enumerate(given):
        if isinstance(each, Mapping):
            if wrong := [key for key in each if key not in free]:
                raise InvalidRequest(
                    f"Item {place} has {visible(str(wrong[0]))!r}, which is "
                    f"{'fixed for all items' if wrong[0] in fixed else f'no input of {name}'}.",
                    hint=f"Inputs: {', '.join(free) or 'none'}.",
                )
            items.append(MapItem(each, dict(each), place))
            continue
        if not free:
            raise InvalidRequest(f"{name} has no input for the items.", hint="Fix fewer inputs.")
        key: Any = place
        value = each
        if isinstance(each, tuple) and len(each) == 2 and (_has_columns(each[1]) or is_table(each[1])):
            key, value = each
            _require_key(place, key)
        elif kind != "str" and (path := _path_of(each)) is not None:
            paths[place] = key = path
            if isinstance(each, str | Path) and kind in _FILES:
                value = _FILES[kind](each)
        items.append(MapItem(each, {free[0]: value}, key))
    if len({Path(path).name for path in paths.values()}) == len(set(paths.values())):  # else the names are ambiguous
        for place, written in paths.items():
            items[place] = replace(items[place], key=Path(written).name)
    return items


def _has_columns(value: Any) -> bool:
    """Whether it is a table of any library. The groups of a table give its columns as attributes of the object."""
    return hasattr(type(value), "columns")


def _require_key(place: int, key: Any) -> None:
    is_empty = isinstance(key, tuple) and not key
    try:
        hash(key)
        can_be_one = not is_empty
    except TypeError:
        can_be_one = False
    if not can_be_one:
        raise InvalidRequest(
            f"The key of item {place} is a {visible(type(key).__name__)}{' without parts' if is_empty else ''}.",
            why="A key is a value of the first column of a table, or a tuple of such values.",
            hint='Write pairs such as ("May", table), as from groupby; or tables without keys.',
        )


def _path_of(value: Any) -> str | None:
    """The path of a file or folder, also of one of Flyte, which may be elsewhere; None for any other value."""
    if declared_of_flyte(type(value)) in ("File", "Dir"):
        return str(value.path)
    return os.fsdecode(value) if isinstance(value, str | os.PathLike) else None


def chunks_of(items: Sequence[MapItem], places: Sequence[int], workers: int) -> Iterator[list[int]]:
    """The places of the items in chunks: small ones together, a large one alone."""
    most = max(1, min(MOST_ITEMS, math.ceil(len(places) / (workers * ROUNDS))))
    chunk: list[int] = []
    size = 0
    for place in places:
        bytes_ = sum(map(_bytes, items[place].arguments.values()))
        if bytes_ >= SMALL:
            yield [place]
            continue
        if chunk and (len(chunk) == most or size + bytes_ > MOST_ITEMS * SMALL // ROUNDS):
            yield chunk
            chunk, size = [], 0
        chunk.append(place)
        size += bytes_
    if chunk:
        yield chunk


def _bytes(value: Any) -> int:
    """About how large a value is; a table whose size is unknown counts as large."""
    if (path := _path_of(value)) is not None:
        try:
            return Path(path).stat().st_size
        except (OSError, ValueError):
            return len(path)
    # To count the bytes of all columns takes longer than to send them; and pandas makes `dtypes` anew for each access.
    if hasattr(value, "memory_usage") and hasattr(type(value), "dtypes"):
        return 8 * int(math.prod(value.shape))
    if _has_columns(value):
        return SMALL
    return len(value) * 64 if hasattr(value, "__len__") else 64
