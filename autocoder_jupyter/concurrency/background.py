"""One daemon thread per process with its own event loop, and a way to await blocking calls without a thread pool.

A pool's threads are joined when the interpreter exits, so a kernel restart would wait for a running sandbox
(measured: 2.6 s, and exit hooks never ran); daemon threads cost 0.1 s. The loop's thread never prints, never
touches the user namespace and never pins output to a cell.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from autocoder_jupyter.concurrency.awaited import Wait, watched

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None

POLL_SECONDS = 0.2
"""Seconds between two checks of a waiting main thread for a KeyboardInterrupt; Windows cannot be woken otherwise."""

WORK_SECONDS = 0.005
PAUSE_SECONDS = 0.003
"""Seconds of long work on the loop between two pauses, and the length of a pause."""


def loop() -> asyncio.AbstractEventLoop:
    """The loop of the background thread. Started on first use, and again in a forked process."""
    global _loop, _thread
    with _lock:
        if _loop is None or _thread is None or not _thread.is_alive():
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="autocode", daemon=True)
            _thread.start()
        return _loop


def is_current() -> bool:
    """Whether the caller runs on the background loop, where waiting would stop everything."""
    try:
        return asyncio.get_running_loop() is _loop
    except RuntimeError:
        return False


def submit(coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
    """Run a coroutine on the background loop."""
    return asyncio.run_coroutine_threadsafe(coroutine, loop())


def wait(future: concurrent.futures.Future[T], timeout: float | None = None, about: Wait | None = None) -> T:
    """Wait for a future in the calling thread. An interrupt leaves the work running.

    Args:
        future: what to wait for.
        timeout: seconds; None waits as long as it takes.
        about: what is waited for; a person is told when it takes long.

    Raises:
        TimeoutError: `timeout` seconds passed; the work goes on.
        RuntimeError: called on the background loop itself, which would wait for ever.
    """
    if is_current() and not future.done():
        raise RuntimeError("this would wait on the background loop for the background loop; await it instead")
    if future.done():
        return future.result()
    waited = 0.0
    with watched(about or Wait()) as look:
        while True:
            step = POLL_SECONDS if timeout is None else min(POLL_SECONDS, max(timeout - waited, 0.0))
            done, _ = concurrent.futures.wait((future,), timeout=step)
            if done:
                return future.result()
            look()
            waited += step
            if timeout is not None and waited >= timeout:
                raise TimeoutError(f"not done after {timeout:g} s; it goes on in the background")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the background loop and wait for it, also where the caller's own loop is running.

    Whatever ends the waiting, such as an interrupt, cancels the coroutine: it has no other owner.
    """
    about = Wait()
    with about.of_work_begun_here():
        future = submit(coroutine)
    try:
        return wait(future, about=about)
    finally:
        future.cancel()
        for text in about.remarks:
            warnings.warn(text, stacklevel=3)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let an interrupt of the kernel reach what is awaited inside, on a loop that is not ours.

    The kernel's handler only leaves a callback on the loop of its main thread (ipykernel 7.4), and a loop that waits
    for something from outside would not look at it. So it is woken now and then.
    """
    if is_current():
        yield
        return
    running = asyncio.get_running_loop()

    timers: list[asyncio.TimerHandle] = []  # the current one, the next one

    def wake() -> None:
        timers[:] = [running.call_later(POLL_SECONDS, wake)]

    wake()
    try:
        yield
    finally:
        timers[0].cancel()


class Pauses:
    """Short pauses in long work on the loop, so that the notebook's own thread gets its turn in between.

    A thread that computes gives the interpreter away every 5 ms only, and a kernel needs it some hundred times to
    answer `1+1`: a model that writes as fast as the wire carries would keep the notebook waiting for its whole answer.

    Args:
        worked: seconds that this thread has worked so far.
    """

    def __init__(self, worked: Callable[[], float] = time.thread_time) -> None:
        self._worked = worked
        self._last = worked()

    async def pause_when_due(self) -> None:
        """Pause, if there was enough work since the last pause."""
        if self._worked() - self._last >= WORK_SECONDS:
            await asyncio.sleep(PAUSE_SECONDS)
            self._last = self._worked()


async def call_blocking(function: Callable[[], T], on_cancel: Callable[[], None] | None = None) -> T:
    """Run a blocking function on a daemon thread and await it.

    Args:
        function: called without arguments.
        on_cancel: called at once when the awaiting task is cancelled; should make `function` return soon.
    """
    current = asyncio.get_running_loop()
    future: asyncio.Future[T] = current.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = function()
        except BaseException as raised:
            # A future takes no StopIteration, and an exit that is raised on the loop would end its thread.
            is_plain = isinstance(raised, Exception) and not isinstance(raised, StopIteration)
            error = raised if is_plain else RuntimeError(f"a blocking call ended with {raised!r}")
        if not current.is_closed():
            current.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="autocode-call", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        if on_cancel is not None:
            on_cancel()
        raise
