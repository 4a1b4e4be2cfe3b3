"""Another day, or another process, for the code below this text.

`engine.evidence.conditions` puts it at the beginning of a function's module, and calls the function.
"""

from collections.abc import Callable
from typing import Any

DAYS = 7_000
"""By how much the clock is ahead."""

VARIABLES = {"USER": "somebody", "HOSTNAME": "elsewhere", "LANG": "C"}
"""Environment variables. Those that the user has passed stay."""

PASSED: list[str] = []
"""The names of variables that the user has passed."""

MODULES = ("pytest", "_pytest", "tests")
"""Modules that code may look for. Those that are loaded are gone, and the others are there, but empty."""


def set_process() -> None:
    """Set environment variables, loaded modules and what the garbage collector lists."""
    import gc
    import os
    import sys
    import types

    os.environ.update({name: value for name, value in VARIABLES.items() if name not in PASSED})
    for name in MODULES:
        if sys.modules.pop(name, None) is None:
            sys.modules[name] = types.ModuleType(name)
    if gc.get_freeze_count():
        gc.unfreeze()
    else:
        gc.freeze()


def called_from_another_function(run: Callable[..., Any]) -> Callable[..., Any]:
    """The function with one more frame above it."""
    import functools

    @functools.wraps(run)
    def from_another_function(*given: Any, **inputs: Any) -> Any:
        return run(*given, **inputs)

    return from_another_function


def set_clock() -> None:
    """Set the clock, before the code below imports anything."""
    import datetime
    import time

    import pandas as pd

    ahead = datetime.timedelta(days=DAYS)
    seconds, now, local, universal = time.time, pd.Timestamp.now, time.localtime, time.gmtime

    class AnyInstance(type):
        """What is an instance of the first base is one of the class."""

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, cls.__mro__[1])

    class LaterDate(datetime.date, metaclass=AnyInstance):
        """A date whose `today` is ahead."""

        @classmethod
        def today(cls) -> Any:
            return datetime.date.fromtimestamp(seconds()) + ahead

    class LaterDatetime(datetime.datetime, metaclass=AnyInstance):
        """A time whose `now` is ahead."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return super().now(tz) + ahead

        @classmethod
        def today(cls) -> Any:
            return super().now() + ahead

        @classmethod
        def utcnow(cls) -> Any:
            return super().now(datetime.UTC).replace(tzinfo=None) + ahead

    def later_seconds() -> float:
        return seconds() + ahead.total_seconds()

    later = staticmethod(lambda tz=None: now(tz) + ahead)
    changed: list[tuple[object, dict[str, object]]] = [
        (pd.Timestamp, {"now": later, "today": later}),
        (datetime, {"date": LaterDate, "datetime": LaterDatetime}),
        (
            time,
            {
                "time": later_seconds,
                "localtime": lambda at=None: local(later_seconds() if at is None else at),
                "gmtime": lambda at=None: universal(later_seconds() if at is None else at),
            },
        ),
    ]
    for owner, values in changed:
        for name, value in values.items():
            setattr(owner, name, value)
