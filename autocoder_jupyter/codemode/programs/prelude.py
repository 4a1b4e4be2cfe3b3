"""Run in the sandbox before the first block: built-ins that take a tool as their function.

The sandbox's own cannot call a tool from inside (`sorted(rows, key=tool)`), because a call of a tool suspends the
program. These do the same in Python. The type checker is not told of them, so it goes on with Python's signatures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def _tool_proof() -> tuple[Any, ...]:
    builtin_sorted, builtin_min, builtin_max = sorted, min, max

    def own_map(function: Any, *iterables: Any) -> Any:
        return iter([function(*arguments) for arguments in zip(*iterables)])  # noqa: B905

    def own_filter(function: Any, iterable: Any) -> Any:
        return iter([item for item in iterable if (item if function is None else function(item))])

    def own_sorted(iterable: Any, *, key: Any = None, reverse: bool = False) -> Any:
        if key is None:
            return builtin_sorted(iterable, reverse=reverse)
        items = list(iterable)
        keys = [key(item) for item in items]
        places = builtin_sorted(range(len(items)), key=lambda place: keys[place], reverse=reverse)
        return [items[place] for place in places]

    def extreme(builtin: Any, arguments: Any, key: Any, default: Any) -> Any:
        if key is None:
            return builtin(*arguments, **default)
        items = list(arguments[0] if len(arguments) == 1 else arguments)
        if not items:
            return builtin(items, **default)
        keys = [key(item) for item in items]
        return items[keys.index(builtin(keys))]

    def own_min(*arguments: Any, key: Any = None, **default: Any) -> Any:
        return extreme(builtin_min, arguments, key, default)

    def own_max(*arguments: Any, key: Any = None, **default: Any) -> Any:
        return extreme(builtin_max, arguments, key, default)

    return own_map, own_filter, own_sorted, own_min, own_max


map, filter, sorted, min, max = _tool_proof()
