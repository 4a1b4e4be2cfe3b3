"""The progress of work for which a caller waits. The work reports it, and a display that was set before shows it.

So the code of the sandbox does not depend on notebooks, and the display does not depend on the sandbox.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Awaited:
    """The work that a caller waits for. The functions are called from the waiting thread and must return at once.

    Args:
        name: the name of the work: `growth.run`.
        interrupt: what an interrupt does to the work.
        obstacle: returns a sentence about an obstacle that only the user can remove; "" if there is none.
        since: when it began, by `time.monotonic()`.
    """

    name: str
    doing: Callable[[], str]
    interrupt: str
    obstacle: Callable[[], str] = lambda: ""
    since: float = field(default_factory=time.monotonic)


@dataclass
class Wait:
    """One wait of one caller.

    Args:
        awaited: the current work. It can change: first a pending result, then a call of it.
        remarks: sentences that are shown as warnings when the work is done.
    """

    awaited: Awaited | None = None
    remarks: list[str] = field(default_factory=list)

    @contextmanager
    def collect_progress(self) -> Iterator[None]:
        """Work that is started inside this context reports its progress to this wait, also from other threads."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Wait | None] = ContextVar("autocoder_jupyter_wait", default=None)

Watch = Callable[[Wait], AbstractContextManager[Callable[[], None]]]
"""Shows a wait to the user until it ends. The context gives a function that must be called now and then."""


def report_progress(awaited: Awaited) -> None:
    """Report the current step of the work to its waiter, if there is one."""
    wait = _current.get()
    if wait is not None:
        wait.awaited = awaited


def add_warning(text: str) -> None:
    """Add a sentence that is shown as a warning when the work is done, if a caller waits for it."""
    wait = _current.get()
    if wait is not None:
        wait.remarks.append(text)


@contextmanager
def print_obstacles(wait: Wait) -> Iterator[Callable[[], None]]:
    """Print each obstacle once. Only the user can remove it, and the wait does not end before."""
    printed = {""}

    def look() -> None:
        obstacle = wait.awaited.obstacle() if wait.awaited else ""
        if obstacle not in printed:
            printed.add(obstacle)
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
