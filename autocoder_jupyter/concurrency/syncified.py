"""Async methods that can also be called without await: `result.handle(df)` or `await result.run.aio(df)`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from autocoder_jupyter.concurrency import background

Owner = TypeVar("Owner")
P = ParamSpec("P")
R = TypeVar("R")


class BoundSyncified(Generic[P, R]):
    """The method of an instance. It can be called where an event loop is already running, as in a notebook.

    Attributes:
        aio: the async form of the method. An interrupt of the kernel cancels it.
    """

    aio: Callable[P, Coroutine[Any, Any, R]]

    def __init__(self, method: Callable[P, Coroutine[Any, Any, R]]) -> None:
        functools.update_wrapper(self, method)
        self._method = method
        self.__signature__ = inspect.signature(method)
        self.aio = _interruptible(method)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the method on the background loop and wait for its result. An interrupt cancels it."""
        return background.run(self._method(*args, **kwargs))

    def __repr__(self) -> str:
        return f"<{getattr(self._method, '__qualname__', 'method')}, also .aio>"


def _interruptible(method: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """The method with its signature and docstring; an interrupt of the kernel cancels it."""

    @functools.wraps(method)
    async def aio(*args: P.args, **kwargs: P.kwargs) -> R:
        with background.interruptible():
            return await method(*args, **kwargs)

    return aio


class Syncified(Generic[Owner, P, R]):
    """Decorator that gives an async method a blocking form. The idea of `.aio` comes from Flyte's `syncify`."""

    def __init__(self, method: Callable[Concatenate[Owner, P], Coroutine[Any, Any, R]]) -> None:
        functools.update_wrapper(self, method)
        self._method = method
        self.__signature__ = inspect.signature(method)

    @overload
    def __get__(self, instance: None, owner: type[Owner]) -> Syncified[Owner, P, R]: ...
    @overload
    def __get__(self, instance: Owner, owner: type[Owner]) -> BoundSyncified[P, R]: ...
    def __get__(self, instance: Owner | None, owner: type[Owner]) -> Syncified[Owner, P, R] | BoundSyncified[P, R]:
        if instance is None:
            return self
        return BoundSyncified(self._method.__get__(instance, owner))

    def __call__(self, instance: Owner, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the method of an instance, as `AutoCoderAgent.generate(agent, …)` does."""
        return self.__get__(instance, type(instance))(*args, **kwargs)
