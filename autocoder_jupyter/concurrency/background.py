"""Daemon threads for blocking work, one thread with an event loop, and ways to wait for their work."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import queue
import threading
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator
from contextvars import Context
from typing import Any, TypeVar

from autocoder_jupyter.concurrency.awaited import Wait, watched

# Threads for blocking work
#
# They are daemons, and not those of a pool, which are joined when the interpreter exits: the restart of a kernel would
# wait for a running sandbox (measured: 2.6 s, and exit hooks did not run; with daemons 0.1 s). A thread that has ended
# its work is used again, so a generation needs few of them. There is no upper bound and no queue: work never waits for
# other work.

IDLE = "autocode-idle"
"""The name of a thread that has no work."""

IDLE_SECONDS = 5.0
"""How long a thread waits for more work before it ends."""

_idle_lock = threading.Lock()
_idle: list[_Thread] = []


def start_thread(work: Callable[[], object], name: str) -> None:
    """Run a function on a daemon thread, and return at once.

    It runs in an empty context, so what it displays is not taken for output of the cell that started it.

    Raises:
        RuntimeError: no thread can be started, for instance because the process ends.
    """
    with _idle_lock:
        thread = _idle.pop() if _idle else _Thread()
    thread.name = name
    thread.inbox.put(work)
    if thread.ident is None:
        thread.start()


class _Thread(threading.Thread):
    """Does one piece of work after the other, until none comes for `IDLE_SECONDS`."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.inbox: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()

    def run(self) -> None:
        while self._run_next():
            with _idle_lock:
                self.name = IDLE
                _idle.append(self)

    def _run_next(self) -> bool:
        """Wait for work and do it; False if none came. Afterwards nothing refers to the work, which may be large."""
        try:
            work = self.inbox.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            with _idle_lock:
                if self in _idle:
                    _idle.remove(self)
                    return False
            work = self.inbox.get()  # it is on its way
        try:
            Context().run(work)
        except BaseException as error:
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, self)))
        return True


def _forget() -> None:
    """Forget the idle threads, which a forked process does not have."""
    global _idle_lock
    _idle_lock = threading.Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)


# The event loop
#
# Code on the loop must not print and must not use the user's namespace.

T = TypeVar("T")

_loop_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None

POLL_SECONDS = 0.2
"""Seconds between two checks for a KeyboardInterrupt while the main thread waits. Windows needs this polling."""

WORK_SECONDS = 0.005
PAUSE_SECONDS = 0.003
"""Seconds of work on the loop between two pauses, and the seconds of a pause."""


def loop() -> asyncio.AbstractEventLoop:
    """The loop of the background thread. It is started on first use, and again in a forked process."""
    global _loop, _thread
    with _loop_lock:
        if _loop is None or _thread is None or not _thread.is_alive():
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="autocode", daemon=True)
            _thread.start()
        return _loop


def is_current() -> bool:
    """Whether the caller runs on the background loop. A blocking call there would stop all work."""
    try:
        return asyncio.get_running_loop() is _loop
    except RuntimeError:
        return False


def submit(coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
    """Run a coroutine on the background loop."""
    return asyncio.run_coroutine_threadsafe(coroutine, loop())


async def on_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine that runs on the background loop, whatever loop the caller runs on. Cancelling cancels it.

    The loop of a notebook or a script can be blocked or closed. What others wait for must not depend on it. A caller
    without a loop (`run_on_thread`) needs none.
    """
    return await (coroutine if is_current() or _one_thread() else asyncio.wrap_future(submit(coroutine)))


async def with_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine that needs a loop: on that of the caller, or on the background loop if it has none."""
    return await (coroutine if _one_thread() is None else outcome(submit(coroutine)))


# Waits


async def outcome(future: concurrent.futures.Future[T]) -> T:
    """Await the outcome of a future. Cancelling the waiter cancels the future, if it has not begun."""
    own = _one_thread()
    if own is None:
        return await asyncio.wrap_future(future)
    if not future.done():
        over = threading.Event()
        future.add_done_callback(lambda _: over.set())

        def stop() -> None:
            future.cancel()
            over.set()

        with own.cancellable(stop):
            over.wait()
    return future.result()


def wait(future: concurrent.futures.Future[T], timeout: float | None = None, about: Wait | None = None) -> T:
    """Wait for a future in the calling thread. An interrupt leaves the work running."""
    if is_current() and not future.done():
        raise RuntimeError("a blocking wait on the background loop would never end; await it instead")
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
    """Run a coroutine on the background loop and wait for it. The caller may itself run on another loop.

    If the wait ends early, for instance by an interrupt, the coroutine is cancelled.
    """
    about = Wait()
    with about.collect_progress():
        future = submit(coroutine)
    try:
        return wait(future, about=about)
    finally:
        future.cancel()
        for text in about.remarks:
            warnings.warn(text, stacklevel=3)


# Coroutines without a loop


def run_on_thread(coroutine: Coroutine[Any, Any, T]) -> T:
    """Like `run`, but the coroutine runs on one thread, on which each of its waits blocks, and on no loop.

    From the caller to a worker there are then two changes of threads and not six, each of which takes 0.1 ms.
    """
    if is_current():
        return run(coroutine)  # which raises
    about, own = Wait(), _OneThread()
    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def work() -> None:
        try:
            with about.collect_progress(), own:
                result = _result_of(coroutine)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    try:
        start_thread(work, "autocode-call")
        return wait(future, about=about)
    finally:
        if not future.done():
            start_thread(own.cancel, "autocode-call")  # to kill a worker takes a while
        for text in about.remarks:
            warnings.warn(text, stacklevel=3)


def _result_of(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end without a loop."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    coroutine.close()
    raise RuntimeError("it waits for a loop, and runs on none")


_local = threading.local()


class _OneThread:
    """The thread of a coroutine that runs on no loop. Inside of this context it is the current thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._stop: Callable[[], None] | None = None

    def __enter__(self) -> None:
        _local.own = self

    def __exit__(self, *_: object) -> None:
        del _local.own

    def cancel(self) -> None:
        """Stop the current wait, and let every later one raise CancelledError."""
        with self._lock:
            self._cancelled = True
            stop = self._stop
        if stop is not None:
            stop()

    @contextlib.contextmanager
    def cancellable(self, stop: Callable[[], None] | None) -> Iterator[None]:
        """A wait that `stop` ends soon, from another thread."""
        with self._lock:
            self._stop = stop
        self._raise_if_cancelled()
        try:
            yield
        finally:
            with self._lock:
                self._stop = None
            self._raise_if_cancelled()

    def _raise_if_cancelled(self) -> None:
        if self._cancelled:
            raise asyncio.CancelledError


def _one_thread() -> _OneThread | None:
    """The context of the coroutine that calls this, if it runs on no loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        own: _OneThread | None = getattr(_local, "own", None)
        return own
    return None


# Inside a running loop


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let an interrupt of the kernel cancel the work that is awaited inside, on the kernel's own loop; show it.

    The handler of ipykernel 7.4 only adds a callback to the loop of its main thread. A loop that waits for another
    thread would not notice it, so a timer wakes the loop regularly.
    """
    if is_current() or _one_thread():
        yield
        return
    running = asyncio.get_running_loop()

    timers: list[asyncio.TimerHandle] = []  # only the current timer
    about = Wait()
    with about.collect_progress(), watched(about) as look:

        def wake() -> None:
            timers[:] = [running.call_later(POLL_SECONDS, wake)]
            look()

        wake()
        try:
            yield
        finally:
            timers[0].cancel()
            for text in about.remarks:
                warnings.warn(text, stacklevel=3)


class Pauses:
    """Short pauses in long work on the loop, so that the notebook's main thread can run.

    A computing thread releases the GIL only every 5 ms, and a kernel needs it some hundred times to answer `1+1`.
    Without pauses, a model that streams very fast would block the notebook until its answer is complete.

    Args:
        worked: returns the CPU seconds of this thread.
    """

    def __init__(self, worked: Callable[[], float] = time.thread_time) -> None:
        self._worked = worked
        self._last = worked()

    async def pause_when_due(self) -> None:
        """Pause if `WORK_SECONDS` of work were done since the last pause."""
        if self._worked() - self._last >= WORK_SECONDS:
            await asyncio.sleep(PAUSE_SECONDS)
            self._last = self._worked()


async def call_blocking(function: Callable[[], T], on_cancel: Callable[[], None] | None = None) -> T:
    """Run a blocking function on a daemon thread and await it.

    Raises:
        RuntimeError: `function` ended with an exception that is not an `Exception`, or with StopIteration.
        Exception: the exception of `function`.
    """
    if own := _one_thread():
        with own.cancellable(on_cancel):
            return _plainly(function)
    current = asyncio.get_running_loop()
    future: asyncio.Future[T] = current.create_future()

    def settle(result: T | None, error: Exception | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result: T | None = None
        error: Exception | None = None
        try:
            result = _plainly(function)
        except Exception as raised:
            error = raised
        if not current.is_closed():
            current.call_soon_threadsafe(settle, result, error)

    start_thread(work, "autocode-call")
    try:
        return await future
    except asyncio.CancelledError:
        if on_cancel is not None:
            on_cancel()
        raise


def _plainly(function: Callable[[], T]) -> T:
    """The result of a function. A future refuses StopIteration, and a SystemExit on the loop would end its thread."""
    try:
        return function()
    except BaseException as raised:
        if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
            raise
        message = f"a blocking call ended with {raised!r}"
    raise RuntimeError(message)
