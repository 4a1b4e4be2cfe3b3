"""`growth.run`: the function of a result, callable before it is ready, when the call waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from autocoder_jupyter.calls.callable import Called
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.interface import Interface
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.tasks.task import Task


class Run(Called):
    """Call it, or await its `.aio`, with the inputs by position or name. It pickles, as a task, when it is ready.

    Args:
        name: the name of the result.
        interface: as far as it is known.
        options: the options of its calls.
        ready: gives the function when there is one.
        as_task: gives the task that it pickles as.
    """

    def __init__(
        self,
        name: str,
        interface: Interface,
        options: CallOptions,
        ready: Callable[[], Awaitable[Function]],
        as_task: Callable[[], Task],
    ) -> None:
        super().__init__(f"{name}.run", interface, options)
        self._ready = ready
        self._as_task = as_task

    async def _function(self) -> Function:
        return await self._ready()

    def __reduce__(self) -> tuple[Any, ...]:
        return self._as_task().__reduce__()
