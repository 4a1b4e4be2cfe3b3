"""`growth.run`: the function of a result. A call before it is ready waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from autocoder_jupyter.calls.callable import Called
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.outputs import Interface
from autocoder_jupyter.tasks.task import Task


class Run(Called):
    """Call it, or await its `.aio`, with the inputs by position or name. Once ready, it can be pickled as a task.

    Args:
        name: the name of the result.
        interface: the known part of the interface.
        options: the options of its calls.
        ready: waits for the function and returns it.
        as_task: returns the task that is pickled.
        word: the attribute of the result.
    """

    def __init__(
        self,
        name: str,
        interface: Interface,
        options: CallOptions,
        ready: Callable[[], Awaitable[Function]],
        as_task: Callable[[], Task],
        *,
        word: str = "run",
    ) -> None:
        super().__init__(f"{name}.{word}", interface, options)
        self._ready = ready
        self._as_task = as_task

    async def _function(self) -> Function:
        return await self._ready()

    def __reduce__(self) -> tuple[Any, ...]:
        return self._as_task().__reduce__()
