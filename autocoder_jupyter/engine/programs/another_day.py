"""Another day and other environment variables, for the code below this text.

`engine.strength.conditions` puts it at the beginning of a function's module, and calls the function.
"""

DAYS = 7_000
"""By how much the clock is ahead."""

VARIABLES = {"USER": "somebody", "HOSTNAME": "elsewhere", "LANG": "C"}
"""Environment variables. Those that the user has passed stay."""

PASSED: list[str] = []
"""The names of variables that the user has passed."""


def set_clock_and_variables() -> None:
    """Set both, before the code below imports anything."""
    import datetime
    import os
    import time
    from typing import Any

    import pandas as pd

    ahead = datetime.timedelta(days=DAYS)
    seconds, now = time.time, pd.Timestamp.now

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

    later = staticmethod(lambda tz=None: now(tz) + ahead)
    changed: list[tuple[object, dict[str, object]]] = [
        (pd.Timestamp, {"now": later, "today": later}),
        (datetime, {"date": LaterDate, "datetime": LaterDatetime}),
        (time, {"time": lambda: seconds() + ahead.total_seconds()}),
    ]
    for owner, values in changed:
        for name, value in values.items():
            setattr(owner, name, value)
    os.environ.update({name: value for name, value in VARIABLES.items() if name not in PASSED})
