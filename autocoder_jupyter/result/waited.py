"""The base of the pending results of generations and of runs of code mode."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from autocoder_jupyter.calls.callable import Live
from autocoder_jupyter.result.pending import Ended, Pending, State

R = TypeVar("R", bound=Ended)


class Waited(Generic[R]):
    """A result that is first pending. `state`, `done` and `on_done` never wait.

    Args:
        name: its name.
        pending: the pending outcome.
        root: the `.autocode` folder.
    """

    __slots__ = ("_pending", "_root", "name")

    def __init__(self, name: str, pending: Pending[R], root: Path) -> None:
        self.name = name
        self._pending = pending
        self._root = root

    @Live  # jedi, which completes `growth.` in notebooks, fails at a property that is a Literal
    def state(self) -> State:
        """`running`, `waiting for approval` or `answers`, `ready`, `failed`, `cancelled`, `over_budget` or
        `not_verified` (a recorded function whose evidence was not gathered here).
        """
        return self._pending.state

    @property
    def done(self) -> bool:
        """Whether the run has ended, with or without success. Never waits."""
        return self._pending.done

    @property
    def is_usable(self) -> bool:
        """Whether there is a result to use: that of the end, or a verified one whose second opinion still runs. Never
        waits.
        """
        return self._pending.usable is not None

    def on_done(self, callback: Callable[[], object]) -> None:
        """Call the callback once when the run ends, with or without success; at once if it has ended.

        Args:
            callback: called on the background thread, which continues only when it returns.
        """
        self._pending.on_done(callback)

    def on_usable(self, callback: Callable[[], object]) -> None:
        """Call the callback once when there is a result to use, or the run ends; at once if that is so.

        Args:
            callback: called on the background thread, which continues only when it returns.
        """
        self._pending.on_usable(callback)

    def wait(self, timeout: float | None = None) -> Self:
        """Wait for the end. An interrupt or a timeout does not cancel the run.

        Args:
            timeout: seconds; None waits without limit.

        Raises:
            TimeoutError: the run has not ended.
            AutocodeError: the exception of the run, for example `Cancelled`.
        """
        return self._settled(self._pending.wait(timeout))

    def __await__(self) -> Generator[Any, None, Self]:
        outcome = yield from self._pending.settled().__await__()
        return self._settled(outcome)

    def _settled(self, outcome: R) -> Self:
        if outcome.exception is not None:
            raise outcome.exception.with_traceback(None)  # it may be raised several times
        return self

    def cancel(self) -> None:
        """Cancel the run: stop the model's answer and kill the program. No effect if the run has ended."""
        self._pending.cancel("Cancelled.")

    @property
    def journal_root(self) -> Path:
        """The `.autocode` folder with the record of the run."""
        return self._root
