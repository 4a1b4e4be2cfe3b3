"""What a blocked caller waits for, in words: the work says it, and who shows it is set from above.

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
    """One wait of one caller. What is awaited changes on the way: a pending result first, then its call."""

    awaited: Awaited | None = None
    remarks: list[str] = field(default_factory=list)

    @contextmanager
    def of_work_begun_here(self) -> Iterator[None]:
        """Work that is begun inside says to this wait what it is at, whatever thread it goes on in."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Wait | None] = ContextVar("autocoder_jupyter_wait", default=None)

Watch = Callable[[Wait], AbstractContextManager[Callable[[], None]]]
"""Shows a wait to a person, from its beginning to its end; gives what is to be called now and then in between."""


def tell(awaited: Awaited) -> None:
    """Say what the present work is at, to who waits for it; nobody may."""
    wait = _current.get()
    if wait is not None:
        wait.awaited = awaited


def remark(text: str) -> None:
    """Say one sentence to who waits for the present work, as a warning when it is done; nobody may wait."""
    wait = _current.get()
    if wait is not None:
        wait.remarks.append(text)


@contextmanager
def print_obstacles(wait: Wait) -> Iterator[Callable[[], None]]:
    """Say, once each, what only a person can take out of the way: whoever waits would wait for ever."""
    told = {""}

    def look() -> None:
        obstacle = wait.awaited.obstacle() if wait.awaited else ""
        if obstacle not in told:
            told.add(obstacle)
            print(obstacle)

    yield look


_watch: Watch = print_obstacles


def set_watch(watch: Watch = print_obstacles) -> None:
    """Choose how waits are shown in this process, from now on."""
    global _watch
    _watch = watch


def watched(wait: Wait) -> AbstractContextManager[Callable[[], None]]:
    """Show `wait` in the way that was chosen."""
    return _watch(wait)
