"""The progress of what a blocked caller waits for: the work reports it, and a display that is set from above shows it.

So a call in a sandbox knows nothing of notebooks, and what shows a line under a cell knows nothing of sandboxes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Awaited:
    """What is waited for. The functions are called from the thread that waits, and must return at once.

    Args:
        name: of the work, as a person calls it: `growth.run`.
        doing: what it is at.
        interrupt: what an interrupt does to it.
        obstacle: what only a person can take out of the way, as a sentence; "" when it goes on by itself.
        since: when it began, by `time.monotonic()`.
    """

    name: str
    doing: Callable[[], str]
    interrupt: str
    obstacle: Callable[[], str] = lambda: ""
    since: float = field(default_factory=time.monotonic)


@dataclass
class Wait:
    """One wait of one caller. What is awaited can change: first a pending result, then its call."""

    awaited: Awaited | None = None
    remarks: list[str] = field(default_factory=list)

    @contextmanager
    def of_work_begun_here(self) -> Iterator[None]:
        """Work that is started inside reports its progress to this wait, on any thread."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Wait | None] = ContextVar("autocoder_jupyter_wait", default=None)

Watch = Callable[[Wait], AbstractContextManager[Callable[[], None]]]
"""Shows a wait to a person until it ends; yields a function that is to be called from time to time meanwhile."""


def tell(awaited: Awaited) -> None:
    """Report the current step of the work to its waiter, if there is one."""
    wait = _current.get()
    if wait is not None:
        wait.awaited = awaited


def remark(text: str) -> None:
    """Give the waiter, if there is one, a sentence that is shown as a warning when the work is done."""
    wait = _current.get()
    if wait is not None:
        wait.remarks.append(text)


@contextmanager
def print_obstacles(wait: Wait) -> Iterator[Callable[[], None]]:
    """Print each obstacle that only a person can remove, once; without it the wait would not end."""
    told = {""}

    def look() -> None:
        obstacle = wait.awaited.obstacle() if wait.awaited else ""
        if obstacle not in told:
            told.add(obstacle)
            print(obstacle)

    yield look


_watch: Watch = print_obstacles


def set_watch(watch: Watch = print_obstacles) -> None:
    """Set how waits are shown in this process."""
    global _watch
    _watch = watch


def watched(wait: Wait) -> AbstractContextManager[Callable[[], None]]:
    """Show `wait` in the way that was set."""
    return _watch(wait)
