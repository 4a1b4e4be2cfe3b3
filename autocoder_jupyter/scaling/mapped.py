"""The outcomes of a map, in the order of its items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

from autocoder_jupyter.errors import AutocodeError, Cancelled, DataDrift, InvalidRequest, ItemsFailed
from autocoder_jupyter.untrusted.parsing import visible

if TYPE_CHECKING:
    import pandas as pd

    from autocoder_jupyter.scaling.items import MapItem


@dataclass(frozen=True)
class Failed:
    """An item without an outcome. It is false.

    Args:
        index: its place among the items.
        item: what was passed.
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
        name: of the function.
        items: what was passed.
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

        Args:
            key: the name of the column.

        Raises:
            ItemsFailed: an item has no outcome.
            DataDrift: an outcome has other columns than those before it, or values of another kind.
            InvalidRequest: the outcomes are no tables, or have a column with this name, or the keys have different
                numbers of parts.
        """
        import pandas as pd

        from autocoder_jupyter.scaling.alike import Alike

        if errors := self.errors:
            raise ItemsFailed(
                f"{len(errors):,} of {len(self):,} items of {visible(self._name)} have no outcome.",
                why=f"Item {errors[0].index}: {errors[0].error.what}",
                hint="See .errors; .retry() computes them again; .outcomes leaves them out.",
            )
        tables = []
        alike = Alike()
        parts = len(self._items[0].columns(key, 0)) if self._items else 0
        for place, table in enumerate(self):
            if not isinstance(table, pd.DataFrame):
                raise InvalidRequest(
                    f"{visible(self._name)} returns a {type(table).__name__} for an item, not a table.",
                    hint='Choose one output: with_options(output="…").map(…).',
                )
            if said := alike.deviation(table, f"item {place}"):
                raise DataDrift(
                    f"The outcome of item {place} differs from those before it: {said}.",
                    hint="Ask for a function whose columns and dtypes do not depend on the data. .outcomes has each.",
                )
            plain = _with_its_index(table)
            columns = self._items[place].columns(key, len(plain))
            if len(columns) != parts:
                raise InvalidRequest(
                    f"The key of item {place} has another number of parts than that of item 0.",
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
        """Compute the items without an outcome once more. This one is not changed.

        Args:
            keywords: `executor`, `workers` and `progress` as those of `map`.

        Returns:
            All outcomes, with those that are here already.

        Raises:
            InvalidRequest: this is a copy or was pickled, so it has no function.
        """
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
