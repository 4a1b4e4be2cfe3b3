"""The base of pending results: of a generation, and of a run of code mode."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from autocoder_jupyter.calls.callable import Live
from autocoder_jupyter.result.pending import Ended, Pending, State

R = TypeVar("R", bound=Ended)


class Waited(Generic[R]):
    """A result that is pending first. `state`, `done` and `on_done` never wait.

    Args:
        name: what the user calls it.
        pending: where the outcome will be.
        root: the `.autocode` folder.
    """

    __slots__ = ("_pending", "_root", "name")

    def __init__(self, name: str, pending: Pending[R], root: Path) -> None:
        self.name = name
        self._pending = pending
        self._root = root

    @Live  # jedi, which completes `growth.` in notebooks, fails at a property that is a Literal
    def state(self) -> State:
        """`running`, `waiting for approval` or `answers`, `ready`, `failed`, `cancelled` or `over_budget`."""
        return self._pending.state

    @property
    def done(self) -> bool:
        """Whether the run has ended, with or without success; never waits."""
        return self._pending.done

    def on_done(self, callback: Callable[[], object]) -> None:
        """Call back once when the run has ended, with or without success; at once when it has.

        Args:
            callback: called on the thread that runs such work, which goes on only when it returns.
        """
        self._pending.on_done(callback)

    def wait(self, timeout: float | None = None) -> Self:
        """Wait for the end. An interrupt (or the timeout) leaves the run going.

        Args:
            timeout: seconds; None waits as long as it takes.

        Raises:
            TimeoutError: it is not done yet.
            AutocodeError: what the run raised, `Cancelled` among them.
        """
        return self._settled(self._pending.wait(timeout))

    def __await__(self) -> Generator[Any, None, Self]:
        outcome = yield from self._pending.settled().__await__()
        return self._settled(outcome)

    def _settled(self, outcome: R) -> Self:
        if outcome.exception is not None:
            raise outcome.exception.with_traceback(None)  # it may be raised many times
        return self

    def cancel(self) -> None:
        """Stop the run: the model's answer is cut off and its program ended. Harmless when it has ended."""
        self._pending.cancel("Cancelled.")

    @property
    def journal_root(self) -> Path:
        """The `.autocode` folder that the run was recorded in."""
        return self._root
