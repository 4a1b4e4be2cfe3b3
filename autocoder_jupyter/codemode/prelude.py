"""What every program finds in its sandbox beside Python's own names.

The built-ins of the sandbox cannot call a tool from inside (`sorted(rows, key=tool)`), because a call of a tool
suspends the program. These do the same in Python.
"""

from __future__ import annotations

SOURCE = """
def _tool_proof():
    builtin_sorted, builtin_min, builtin_max = sorted, min, max

    def own_map(function, *iterables):
        return iter([function(*arguments) for arguments in zip(*iterables)])

    def own_filter(function, iterable):
        return iter([item for item in iterable if (item if function is None else function(item))])

    def own_sorted(iterable, *, key=None, reverse=False):
        if key is None:
            return builtin_sorted(iterable, reverse=reverse)
        items = list(iterable)
        keys = [key(item) for item in items]
        places = builtin_sorted(range(len(items)), key=lambda place: keys[place], reverse=reverse)
        return [items[place] for place in places]

    def extreme(builtin, arguments, key, default):
        if key is None:
            return builtin(*arguments, **default)
        items = list(arguments[0] if len(arguments) == 1 else arguments)
        if not items:
            return builtin(items, **default)
        keys = [key(item) for item in items]
        return items[keys.index(builtin(keys))]

    def own_min(*arguments, key=None, **default):
        return extreme(builtin_min, arguments, key, default)

    def own_max(*arguments, key=None, **default):
        return extreme(builtin_max, arguments, key, default)

    return own_map, own_filter, own_sorted, own_min, own_max


map, filter, sorted, min, max = _tool_proof()
"""
"""Run before the first block and not checked, so that the type checker goes on with Python's own signatures."""

STUBS = """
from collections.abc import Callable, Coroutine, Iterator
def map(function: Callable[..., Any], *iterables: Iterable[Any]) -> Iterator[Any]: ...
def filter(function: Callable[[Any], Any] | None, iterable: Iterable[Any]) -> Iterator[Any]: ...
async def to_thread(tool: Callable[..., Any], *arguments: Any, **named: Any) -> Any: ...
"""
"""What the type checker of the sandbox does not know."""
