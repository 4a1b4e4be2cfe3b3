"""A function as a callable object for a pipeline or another notebook. It is self-contained and can be pickled.

A pickle has no samples, so a call after it needs all inputs: a task of 4 MB takes 16 KB. Unpickling runs code, as for
every pickle; a script from `export` and a folder from `save` contain no pickle.
"""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.calls.callable import Called
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions


class Task(Called):
    """A named, reusable call: `task(sales)` or `await task.aio(sales)`. It has the signature of its function.

    Args:
        name: its `__name__`, and the label in its errors.
    """

    def __init__(self, name: str, function: Function, options: CallOptions) -> None:
        super().__init__(name, function.interface, options)
        self.function = function

    async def _function(self) -> Function:
        return self.function

    def __reduce__(self) -> tuple[Any, ...]:
        return Task, (self.__name__, self.function.without_samples(), self.options)
