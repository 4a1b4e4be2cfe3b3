"""A function as a callable object, for a pipeline or another notebook: it carries all it needs and pickles."""

from __future__ import annotations

import inspect
from typing import Any

from autocoder_jupyter import background
from autocoder_jupyter.tasks.binding import split
from autocoder_jupyter.tasks.call import call
from autocoder_jupyter.tasks.function import Function
from autocoder_jupyter.tasks.options import CallOptions


class Task:
    """A named, reusable call: `task(sales)` or `await task.aio(sales)`; it has the signature of its function.

    Args:
        name: its `__name__`, and the label in its errors.
        function: what it calls.
        options: how.
    """

    def __init__(self, name: str, function: Function, options: CallOptions) -> None:
        self.__name__ = name
        self.__qualname__ = name
        self.__doc__ = function.documentation()
        self.function = function
        self.options = options

    @property
    def __signature__(self) -> inspect.Signature:
        return self.function.signature()

    def __call__(self, *args: Any, **overrides: Any) -> Any:
        """Run the function in its sandbox and wait for its outputs, as `CodeGenEvalResult.run` does."""
        return background.run(self.aio(*args, **overrides))

    async def aio(self, *args: Any, **overrides: Any) -> Any:
        """The same, to be awaited."""
        inputs, options = split(self.function, overrides)
        with background.interruptible():
            return await call(self.function, self.options.changed(options), args, inputs)

    def __repr__(self) -> str:
        return f"<task {self.__name__}{self.__signature__}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Task, (self.__name__, self.function, self.options)
