"""Base of callable results and tasks: `f(df)`, or `await f.aio(df)`, with the function's signature and docstring."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextvars import copy_context
from typing import Any, Generic, Protocol, TypeVar, overload

from autocoder_jupyter.calls.binding import split
from autocoder_jupyter.calls.call import call
from autocoder_jupyter.calls.function import Function, Interface
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.row_counts import ROWS, AnsweredCall, Caller
from autocoder_jupyter.calls.runtime import runtime_for
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.databases.connections import Database, is_connection, opened
from autocoder_jupyter.errors import (
    AutocodeError,
    DriftWarning,
    EarlierVersionWarning,
    NotVerifiedWarning,
    UncheckedContractWarning,
)

# Warnings about calls that succeeded

_MAX_SHOWN = 10_000

_shown: set[str] = set()
"""Texts that were shown in this process."""


def warn_once(notes: Iterable[str], category: type[Warning] = DriftWarning) -> None:
    """Warn once per text, with the line of the caller outside of this package."""
    for note in notes:
        if note not in _shown and len(_shown) < _MAX_SHOWN:
            _shown.add(note)
            warn(note, category)


def warn_of(function: Function) -> None:
    """Warn of each call, with the line of the caller outside of this package; of missing evidence only once."""
    if function.caution:
        warn(function.caution, EarlierVersionWarning)
    if function.unchecked:
        warn(function.unchecked, UncheckedContractWarning)
    if function.unverified:
        warn_once([function.unverified], NotVerifiedWarning)


def warn(note: str, category: type[Warning]) -> None:
    """Warn with the line of the caller outside of this package."""
    warnings.warn(note, category, stacklevel=_own_frames() + 1)


def _own_frames() -> int:
    """The number of frames of this package on top of the caller's stack, the caller's own included."""
    frame, count = sys._getframe(1), 0
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("autocoder_jupyter."):
        frame, count = frame.f_back, count + 1
    return count


def caller() -> Caller:
    """The line of the caller outside of this package, for a warning that comes later."""
    frame = sys._getframe(_own_frames())
    return Caller(copy_context(), frame.f_code.co_filename, frame.f_lineno)


def _look_after(answered: AnsweredCall, notes: Iterable[str]) -> None:
    """Warn of a call that has its answer, and have its rows counted."""
    warn_of(answered.function)
    warn_once(notes)
    ROWS.offer(answered, caller)


# Callable objects with the signature and docstring of a function

Owner = TypeVar("Owner")
T = TypeVar("T")


class Live(Generic[Owner, T]):
    """A property whose value jedi inspects. For a plain property it uses only the annotation, without keywords."""

    def __init__(self, of: Callable[[Owner], T]) -> None:
        self._of = of
        self.__doc__ = of.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Owner]) -> Live[Owner, T]: ...
    @overload
    def __get__(self, instance: Owner, owner: type[Owner]) -> T: ...
    def __get__(self, instance: Owner | None, owner: type[Owner]) -> Live[Owner, T] | T:
        return self if instance is None else self._of(instance)


def _opened(args: tuple[Any, ...], overrides: Mapping[str, Any]) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """The arguments of a call, with the databases of connections. SQLite opens one only on the caller's thread."""

    def of(value: Any) -> Any:
        return opened(value) if is_connection(value) else value

    return tuple(map(of, args)), {name: of(value) for name, value in overrides.items()}


class HasInterface(Protocol):
    """Has the signature and the docstring that an interface describes."""

    @property
    def interface(self) -> Interface:
        """The known part of the interface."""


class SignatureOfInstance:
    """`__signature__` of an instance. The class has none, so that `inspect.signature` works for the class."""

    def __get__(self, instance: HasInterface | None, owner: type) -> inspect.Signature:
        if instance is None:
            raise AttributeError("__signature__")
        return instance.interface.signature()


class DocumentationOfInstance:
    """`__doc__`: for an instance the documentation of its function, for the class its own docstring."""

    def __init__(self, of_class: str | None) -> None:
        self._of_class = of_class

    def __get__(self, instance: HasInterface | None, owner: type) -> str | None:
        if instance is None:
            return self._of_class
        return f"{instance.interface.documentation()}\n\nFor its other attributes: help({owner.__name__})."


class Called:
    """A callable object with the signature and the docstring of a generated function.

    Args:
        name: its `__name__`.
    """

    def __init__(self, name: str, interface: Interface, options: CallOptions) -> None:
        self.__name__ = name
        self.__qualname__ = name
        self.__doc__ = interface.documentation()
        self.interface = interface
        self.options = options

    __signature__ = SignatureOfInstance()

    def __call__(self, *args: Any, **overrides: Any) -> Any:
        """Run the function in its sandbox and wait for its outputs. An interrupt cancels it."""
        notes: list[str] = []
        outputs, answered = background.run_on_thread(self._outputs(*_opened(args, overrides), notes))
        _look_after(answered, notes)
        return outputs

    @Live
    def aio(self) -> Callable[..., Coroutine[Any, Any, Any]]:
        """The same as a coroutine. An interrupt of the kernel cancels it."""

        async def aio(*args: Any, **overrides: Any) -> Any:
            notes: list[str] = []
            with background.interruptible():
                outputs, answered = await self._outputs(*_opened(args, overrides), notes)
            _look_after(answered, notes)
            return outputs

        aio.__doc__ = self.__doc__
        aio.__signature__ = self.interface.signature()  # type: ignore[attr-defined]
        return aio

    async def require_sandbox(self) -> None:
        """Check that there is a sandbox for calls, before anything is paid for.

        Raises:
            SandboxUnavailable: there is no sandbox, or none meets the minimum.
        """
        options = self.options
        try:
            function = await self._function()
        except AutocodeError:  # there is no function; a call raises the reason
            return
        await background.call_blocking(
            lambda: runtime_for(
                options.sandbox, options.image_config, options.sandbox_minimum, built_in=function.sandbox
            )
        )

    async def _outputs(
        self, args: tuple[Any, ...], overrides: Mapping[str, Any], notes: list[str]
    ) -> tuple[Any, AnsweredCall]:
        """What is returned, and the call of the function that computed it."""
        function = await self._function()
        inputs, changed = split(function, overrides)
        options = self.options.changed(changed)
        answered = AnsweredCall(function, options)
        if any(isinstance(value, Database) for value in (*args, *inputs.values())):
            return await self._answered(function, options, args, inputs, notes)
        if function.databases:
            from autocoder_jupyter.calls.database import require_no_part

            require_no_part(function, args, inputs)
        returned = await call(function, options, args, inputs, notes, on_computed=answered.keep)
        return returned, answered

    async def _answered(
        self,
        function: Function,
        options: CallOptions,
        args: tuple[Any, ...],
        inputs: Mapping[str, Any],
        notes: list[str],
    ) -> tuple[Any, AnsweredCall]:
        """The same of a call on a database."""
        from autocoder_jupyter.calls.database import answered_by, differences

        finishing, answers, sent = await answered_by(function, args, inputs)
        answered = AnsweredCall(finishing, options)
        returned = await call(finishing, options, (), {**answers, **inputs}, notes, on_computed=answered.keep)
        notes += await differences(function, options, sent, answers)
        return returned, answered

    async def _function(self) -> Function:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.__name__}{self.__signature__}>"
