"""Work on a worker for calls: waits for its turn, provides the environment, lends a worker, and tries again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.queue import CallTurn, shared_queue
from autocoder_jupyter.calls.runtime import Runtime, forget, runtime_for
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, tell
from autocoder_jupyter.errors import (
    EngineGone,
    PackageError,
    SandboxCrash,
    SandboxUnavailable,
    SolutionError,
    was_killed,
)
from autocoder_jupyter.sandbox.cancellation import BuildWatch, CancellationToken
from autocoder_jupyter.sandbox.protocol import Worker, WorkerLimits, WorkerNotReady, WorkerSpec
from autocoder_jupyter.types import parse_memory

T = TypeVar("T")

BACKOFF_SECONDS = 0.2
"""Seconds before the first retry of a call whose sandbox failed; doubled each time."""

_OF_MISSING_FILES = frozenset(
    {"ImportError", "ModuleNotFoundError", "FileNotFoundError", "PermissionError", "OSError", "EOFError"}
)
"""Errors of a library that loads one of its own files late, if the file is missing."""


class OnWorker(Generic[T]):
    """Work of a function on its thread, which another thread may stop at any time.

    Args:
        function: the function whose environment is used.
        options: of the call.
        work: runs on a worker, and may be called again after the sandbox failed.

    Attributes:
        doing: the current step.
        notes: sentences for the user.
    """

    def __init__(self, function: Function, options: CallOptions, work: Callable[[Worker], T]) -> None:
        self._function = function
        self._options = options
        self._work = work
        self._stop = CancellationToken(f"The call of {function.name} was stopped.")
        self.doing = ""
        self.notes: list[str] = []

    def stop(self) -> None:
        """Stop the build of the environment, or kill the worker, now or as soon as there is one."""
        self._stop.cancel()

    def done(self) -> T:
        """The result of the work. It blocks, and is called once.

        Raises:
            SandboxError: the program or the sandbox failed.
        """
        try:
            return self._done()
        finally:
            # The work has the arguments, which may be large, and contexts of other tasks keep this object for longer.
            del self._work

    def _done(self) -> T:
        left = self._options.retries
        pause = BACKOFF_SECONDS
        has_worked = False
        while True:
            runtime: Runtime | None = None
            try:
                runtime = runtime_for(
                    self._options.sandbox,
                    self._options.image_config,
                    self._options.sandbox_minimum,
                    built_in=self._function.sandbox,
                )
                has_worked = has_worked or runtime.worked
                values = self._attempt_in_a_whole_environment(runtime)
            except (EngineGone, SandboxCrash, SandboxUnavailable) as error:
                self._stop.raise_if_cancelled()
                if runtime is not None and not isinstance(error, SandboxCrash):
                    forget(runtime)
                has_worked = has_worked or was_killed(error)
                is_from_outside = was_killed(error) or isinstance(error, SandboxUnavailable)
                if left == 0 or not has_worked or not is_from_outside:
                    raise
                if was_killed(error):
                    self.notes.append(f"{error.what.rstrip('.')}. No limit was exceeded, so the call was repeated.")
            else:
                runtime.worked = True
                return values
            left -= 1
            self._stop.wait(pause)
            pause *= 2

    def _attempt_in_a_whole_environment(self, runtime: Runtime) -> T:
        """Do the work; do it once more if it failed because files of the environment are missing or damaged."""
        try:
            return self._attempt(runtime)
        except (EngineGone, PackageError, SandboxUnavailable, SandboxCrash, SolutionError) as error:
            if isinstance(error, SolutionError) and error.exception_type not in _OF_MISSING_FILES:
                raise
            self._stop.raise_if_cancelled()
            found = runtime.damage(self._function.environment)
            if not found:
                raise
        self.notes.append(f"The environment of {self._function.name} was damaged ({found}) and has been built again.")
        return self._attempt(runtime)

    def _attempt(self, runtime: Runtime) -> T:
        self._stop.raise_if_cancelled()
        self.doing = f"getting the {runtime.sandbox.name} sandbox ready"
        environment = runtime.environment(self._function.environment, BuildWatch(token=self._stop))
        options = self._options
        limits = WorkerLimits(
            cpu=options.resources.cpu, memory=parse_memory(options.resources.memory), seconds=options.worker_seconds
        )
        spec = WorkerSpec(environment, limits, network=options.network)
        try:
            return self._attempt_on(runtime, spec, asked=False)
        except WorkerNotReady:
            self._stop.raise_if_cancelled()
            return self._attempt_on(runtime, spec, asked=True)

    def _attempt_on(self, runtime: Runtime, spec: WorkerSpec, *, asked: bool) -> T:
        """Do the work on a worker. To ask it first whether it is ready takes as long as to send it a small table."""
        with runtime.pool.lease(spec, asked=asked) as worker:
            self.doing = f"{runtime.sandbox.name} sandbox"
            with self._stop.on_cancel(worker.kill):
                return self._work(worker)


async def in_turn(name: str, on_worker: OnWorker[T], options: CallOptions, work: Callable[[], T]) -> T:
    """Do work that uses a worker when it is its turn. Cancelling the awaiting task stops it.

    Args:
        name: what the user reads while it waits.
        on_worker: the work.
        options: of the call.
        work: calls `on_worker.done`, or has the result already.
    """
    queue, turn = shared_queue(), CallTurn(options.resources)

    def doing() -> str:
        before = queue.before(turn)
        return (
            f"waits for its turn, {before:,} {'call' if before == 1 else 'calls'} before it"
            if before
            else on_worker.doing
        )

    async def waiting() -> T:
        async with queue.wait_for(turn):
            return await background.call_blocking(work, on_cancel=on_worker.stop)

    tell(Awaited(name, doing, "interrupt to stop it"))
    return await background.on_loop(waiting())
