"""The items of a map, the chunks in which they are computed, and their outcomes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from pandas.api.types import is_scalar

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.data.capture import is_table
from autocoder_jupyter.errors import AutocodeError, Cancelled, DataDrift, InvalidRequest, ItemsFailed
from autocoder_jupyter.kinds.paths import scheme_of
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.types.of_flyte import declared_of_flyte
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Failed:
    """An item without an outcome. It is false.

    Args:
        error: why it has no outcome.
    """

    index: int
    item: Any
    error: AutocodeError

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<failed: item {self.index}, {type(self.error).__name__}: {visible(self.error.what)[:200]}>"


class Mapped(Sequence[Any]):
    """The outcomes of `growth.map`: a sequence in the order of the items, with a `Failed` for each item without one.

    Args:
        again: computes some of them once more: the places, and keywords as those of `map`.
    """

    def __init__(self, name: str, items: Sequence[MapItem], again: Callable[..., Mapped]) -> None:
        self._name = name
        self._items = items
        self._again = again
        self._outcomes: dict[int, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """The outcomes, the keys, and the items that failed. The function and its samples are not in a pickle."""
        missing = set(self.missing)
        items = [
            replace(item, given=item.given if place in missing else None, arguments={})
            for place, item in enumerate(self._items)
        ]
        return _unpickled, (self._name, items, self._outcomes)

    def put(self, index: int, outcome: Any) -> None:
        """Keep the outcome of an item, or the error."""
        self._outcomes[index] = outcome

    @property
    def missing(self) -> list[int]:
        """The places of the items without an outcome, in order."""
        return [place for place in range(len(self)) if isinstance(self[place], Failed)]

    @property
    def errors(self) -> tuple[Failed, ...]:
        """The items without an outcome. Those that an interrupt left out have the error `Cancelled`."""
        return tuple(self[place] for place in self.missing)

    @property
    def outcomes(self) -> list[Any]:
        """The outcomes of the items that have one, in order."""
        missing = set(self.missing)
        return [self[place] for place in range(len(self)) if place not in missing]

    def table(self, key: str = "key") -> Any:
        """All outcomes as one DataFrame, one below the other, with the key of each item as the first column.

        The key is that of `groupby`, the name of a file (its path, if two have the same name), or the place of the
        item. A key of several columns gives `key_1`, `key_2` and so on. An index of the function, such as the groups of
        its sums, is columns after it.
        """
        import pandas as pd

        from autocoder_jupyter.scaling.answers import SchemaChecker

        if errors := self.errors:
            raise ItemsFailed(
                f"{len(errors):,} of {len(self):,} items of {visible(self._name)} have no outcome.",
                why=f"Item {errors[0].index}: {errors[0].error.what}",
                hint="See .errors; .retry() computes them again; .outcomes leaves them out.",
            )
        tables = []
        schema = SchemaChecker()
        parts = len(self._items[0].columns(key, 0)) if self._items else 0
        for place, table in enumerate(self):
            if not isinstance(table, pd.DataFrame):
                raise InvalidRequest(
                    f"{visible(self._name)} returns a {type(table).__name__} for an item, not a table.",
                    hint='Choose one output: with_options(output="…").map(…).',
                )
            if problem := schema.deviation(table, f"item {place}"):
                raise DataDrift(
                    f"The outcome of item {place} differs from those before it: {problem}.",
                    hint="Ask for a function whose columns and dtypes do not depend on the data. .outcomes has each.",
                )
            plain = _with_its_index(table)
            columns = self._items[place].columns(key, len(plain))
            if len(columns) != parts:
                raise InvalidRequest(
                    f"The key of item {place} has a different number of parts than that of item 0.",
                    hint="Pass items of one kind, such as those of one groupby. .outcomes has each.",
                )
            if taken := [name for name in columns if name in plain.columns]:
                raise InvalidRequest(f"The outcomes have a column {taken[0]!r}.", hint='Write .table(key="item").')
            for number, (name, values) in enumerate(columns.items()):
                plain.insert(number, name, values)
            tables.append(plain)
        filled = [table for table in tables if len(table)] or tables[:1]
        return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()

    def retry(self, **keywords: Any) -> Mapped:
        """Compute the items without an outcome once more. This one is not changed."""
        return self._again(self, **keywords)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self._items))[index]
        outcome = self._outcomes.get(place, NOT_COMPUTED)
        if isinstance(outcome, AutocodeError):
            return Failed(place, self._items[place].given, outcome)
        return outcome

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        failed = len(self.missing)
        parts = [f"{len(self) - failed:,} of {len(self):,} items of {visible(self._name)}"]
        return f"<{' · '.join([*parts, f'{failed:,} without an outcome'] if failed else parts)}>"


def _unpickled(name: str, items: Sequence[MapItem], outcomes: Mapping[int, Any]) -> Mapped:
    def again(mapped: Mapped, **_: Any) -> Mapped:
        raise InvalidRequest(
            f"These outcomes of {visible(name)} were pickled or copied, so they have no function that could be called.",
            hint=f"Write {visible(name)}.map([each.item for each in mapped.errors]).",
        )

    mapped = Mapped(name, items, again)
    for place, outcome in outcomes.items():
        mapped.put(place, outcome)
    return mapped


def _with_its_index(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an index that says more than row numbers as its first columns."""
    import pandas as pd

    from autocoder_jupyter.equality.tables import flat, has_own_index

    numbered = table.reset_index(drop=True)
    if not has_own_index(table):
        return numbered
    levels: pd.DataFrame = flat(table.iloc[:, :0], "")
    levels.columns = [f"{name} (index)" if name in table.columns else name for name in levels.columns]
    return pd.concat([levels, numbered], axis=1)


class LastMap:
    """Keeps the newest outcomes of a result, also those of a map that was interrupted."""

    mapped: Mapped | None = None


NOT_COMPUTED = Cancelled("It was not computed, because the map was interrupted.", hint=".retry() computes it.")


# Items and chunks

MOST_ITEMS = 100
"""Items of a chunk. They are computed one after the other in one child process."""

SMALL = 2**20
"""Bytes. A larger item has its own child process."""

ROUNDS = 4
"""Chunks for each worker, if there are few items, so that all workers have work until the end."""

_FILES: Mapping[str, type[File | Dir]] = {"File": File, "Dir": Dir}


@dataclass(frozen=True)
class MapItem:
    """One item.

    Args:
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
    """The items: tables, files, dicts of arguments, or pairs of a key and a table, as from `groupby`. A text with `*`,
    `?` or `[` stands for the files that match.
    """
    name = visible(function.name)
    if isinstance(given, str) and not scheme_of(given):
        from autocoder_jupyter.scaling.files import IS_GLOB, matching

        given = matching(Path(given)) if IS_GLOB.search(given) and not Path(given).exists() else given
    if isinstance(given, str | bytes | Mapping) or _has_columns(given) or not isinstance(given, Iterable):
        raise InvalidRequest(
            f"{name}.map takes a list of items, not a {type(given).__name__}.",
            hint=f"For one call write {name}(…); for the groups of a table {name}.map(table.groupby(…)); for files "
            f"{name}.map('folder/*.csv').",
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
                    f"{'fixed for all items' if wrong[0] in fixed else f'not an input of {name}'}.",
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
                try:
                    value = _FILES[kind](each)
                except InvalidRequest as error:
                    raise InvalidRequest(f"Item {place}: {error.what}", hint=error.hint) from None
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
