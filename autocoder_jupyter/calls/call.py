"""One call of a generated function: bind the arguments, check them, run it in the sandbox, return the values."""

from __future__ import annotations

import asyncio
import math
import os
import re
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

from autocoder_jupyter.calls import outcome_cache
from autocoder_jupyter.calls.binding import bind, takes_long
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.outputs import moved_to_destination, packed
from autocoder_jupyter.calls.runtime import Runtime, forget, runtime_for
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, add_warning, report_progress
from autocoder_jupyter.concurrency.background import outcome
from autocoder_jupyter.concurrency.spare_time import SPARE_TIME
from autocoder_jupyter.errors import (
    AutocodeError,
    EngineGone,
    InvalidRequest,
    PackageError,
    SandboxCrash,
    SandboxUnavailable,
    SolutionError,
    was_killed,
)
from autocoder_jupyter.redaction.messages import hidden_values, redact
from autocoder_jupyter.request import secret_values
from autocoder_jupyter.sandbox.protocol import (
    BuildWatch,
    CallSpec,
    CancellationToken,
    Program,
    Worker,
    WorkerLimits,
    WorkerNotReady,
    WorkerSpec,
)
from autocoder_jupyter.settings.parameters import suggestion
from autocoder_jupyter.types import Resources, parse_memory
from autocoder_jupyter.types.of_flyte import all_fetched, given_back, has_data_of_flyte
from autocoder_jupyter.untrusted.visible import visible

# Queue
#
# As many calls run at once as there are cores and memory; the others wait, first come first served.
#
# A waiting call has no thread and no worker, so any number of calls can wait. The generation of functions does not wait
# here: it needs two workers at a time, and would wait for itself.


class CallTurn:
    """The turn of one call."""

    def __init__(self, resources: Resources) -> None:
        self.cores = math.ceil(resources.cpu)
        self.memory = parse_memory(resources.memory)
        self.begins: Future[None] = Future()  # done when the call may run


class CallQueue:
    """Grants turns. Safe for threads, and for callers on several event loops.

    Args:
        cores: how many cores the running calls may use together.
        free_memory: returns the bytes that are free now. A call that runs may still take all of its memory, so the
            memory of all running calls is subtracted.
    """

    def __init__(self, cores: int, free_memory: Callable[[], float]) -> None:
        self._cores = cores
        self._free_memory = free_memory
        self._lock = threading.RLock()  # the garbage collector may end a waiting coroutine inside of it
        self._waiting: deque[CallTurn] = deque()
        self._running: set[CallTurn] = set()

    @asynccontextmanager
    async def wait_for(self, turn: CallTurn) -> AsyncIterator[None]:
        """Wait for a turn, and hold it inside this context. A caller that is cancelled leaves the queue.

        A call that needs more than there is runs alone.
        """
        with self._lock:
            self._waiting.append(turn)
            self._grant()
        try:
            await outcome(turn.begins)
            yield
        finally:
            with self._lock:
                if turn in self._running:
                    self._running.remove(turn)
                else:
                    self._waiting.remove(turn)
                self._grant()

    def before(self, turn: CallTurn) -> int:
        """How many calls run or wait before a waiting one; 0 if it does not wait."""
        with self._lock:
            return len(self._running) + self._waiting.index(turn) if turn in self._waiting else 0

    def _grant(self) -> None:
        """Let the first calls run, as long as there is room. Nobody overtakes the first, so each has its turn."""
        while self._waiting and self._has_room(self._waiting[0]):
            turn = self._waiting.popleft()
            self._running.add(turn)
            if turn.begins.set_running_or_notify_cancel():
                turn.begins.set_result(None)

    def _has_room(self, turn: CallTurn) -> bool:
        if not self._running:
            return True
        cores = sum(each.cores for each in self._running)
        memory = sum(each.memory for each in self._running)
        return cores + turn.cores <= self._cores and memory + turn.memory <= self._free_memory()


_queues: dict[int, CallQueue] = {}
_lock = threading.Lock()


def shared_queue() -> CallQueue:
    """The queue of this process. A forked process has its own, because its parent's calls do not run in it."""
    from autocoder_jupyter.sandbox.host.capacity import free_memory, usable_cores

    with _lock:
        if os.getpid() not in _queues:
            _queues[os.getpid()] = CallQueue(usable_cores(), free_memory)
        return _queues[os.getpid()]


# Work on a worker: its turn, the environment, and retries

T = TypeVar("T")

BACKOFF_SECONDS = 0.2
"""Seconds before the first retry of a call whose sandbox failed; doubled each time."""

_OF_MISSING_FILES = frozenset(
    {"ImportError", "ModuleNotFoundError", "FileNotFoundError", "PermissionError", "OSError", "EOFError"}
)
"""Errors of a library that loads one of its own files late, if the file is missing."""


class WorkerTask(Generic[T]):
    """Work of a function on its thread, which another thread may stop at any time.

    Args:
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
                values = self._attempt_with_repair(runtime)
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

    def _attempt_with_repair(self, runtime: Runtime) -> T:
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


async def in_turn(name: str, on_worker: WorkerTask[T], options: CallOptions, work: Callable[[], T]) -> T:
    """Do work that uses a worker when it is its turn. Cancelling the awaiting task stops it."""
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

    report_progress(Awaited(name, doing, "interrupt to stop it"))
    with SPARE_TIME.in_use():
        return await background.on_loop(waiting())


# The call

K = TypeVar("K")


async def call(
    function: Function,
    options: CallOptions,
    positional: Sequence[Any],
    keywords: Mapping[str, Any],
    notes: list[str] | None = None,
    on_kept: Callable[[], object] = lambda: None,
    on_computed: Callable[[Mapping[str, Any], Mapping[str, Any]], object] = lambda arguments, outputs: None,
) -> Any:
    """Call a function. Cancelling the awaiting task kills the call's worker. `notes` is as for `bind`; `on_kept` is
    called if the outcome is one that an earlier call has kept, else `on_computed` with the arguments and the outputs.

    Raises:
        InvalidRequest, DataDrift: the arguments do not fit; nothing ran.
        ContractBroken: an input (nothing ran) or an output does not satisfy its schema.
        UnsupportedData: an argument cannot cross.
        SandboxError: the program or its sandbox failed; a failed program never returns a value.
    """
    require_callable(function, options)
    positional = list((await fetched(dict(enumerate(positional)), options.timeout)).values())
    keywords = await fetched(keywords, options.timeout)
    if takes_long(function, (*positional, *keywords.values())):
        prepared = _in_time(options.timeout, lambda: bind(function, positional, keywords, notes))
        arguments = await background.with_loop(prepared)
    else:
        arguments = bind(function, positional, keywords, notes)
    passed = (spec.name for spec, _ in zip(function.inputs, positional, strict=False))
    given = function.values.keys() & {*passed, *keywords, *function.defaults}
    if notes is not None and options.drift == "on" and given and function.watch.may_compare():
        notes += await background.call_blocking(lambda: function.watch.compare(function, arguments, given))
    began = time.perf_counter()
    secrets = secret_values(options.secrets)
    program = program_of(function, options)
    running = _SandboxCall(function, options, program, arguments)
    try:
        name = options.name or f"{function.name}.run"
        computed = values = await in_turn(name, running.on_worker, options, running.values)
        if function.contracts:
            # The turn has ended, because a contract is the user's code, which may call a function.
            values = await background.call_blocking(lambda: running.finished(computed))
        if running.was_kept:
            on_kept()
        else:
            on_computed(arguments, computed)
        for note in running.on_worker.notes:
            add_warning(note)
    except AutocodeError as error:
        if options.name:
            error.what = f"{options.name}: {error.what}"
        redact(error, hidden_values(secrets, options.env_vars))
        raise
    if options.drift == "on":
        function.watch.calls += time.perf_counter() - began
    if options.tables == "same":
        values = _as_given(function, values, (*positional, *keywords.values()))
    return chosen(function, options, values)


async def fetched(values: Mapping[K, Any], seconds: float) -> Mapping[K, Any]:
    """The values; what is data of Flyte is on this machine, see `all_fetched`."""
    return await background.with_loop(all_fetched(values, seconds)) if has_data_of_flyte(values) else values


def on_this_machine(values: Mapping[K, Any], seconds: float) -> Mapping[K, Any]:
    """The values, `fetched`. The calling thread waits for that."""
    return background.run(fetched(values, seconds)) if has_data_of_flyte(values) else values


async def _in_time(seconds: float, prepare: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The arguments of a call, read and computed on a thread."""
    try:
        async with asyncio.timeout(seconds):
            return await background.call_blocking(prepare)
    except TimeoutError as error:
        raise InvalidRequest(
            f"The arguments were not ready after {seconds:g} s.",
            why="A file is read, a table of another library is computed, or a contract is checked, in the notebook.",
            hint="Read or compute the table first and pass the result, or allow more: timeout=600.",
        ) from error


def program_of(function: Function, options: CallOptions) -> Program:
    """The program of a call, with its environment variables. The values of secrets are read now."""
    variables = {**options.env_vars, **secret_values(options.secrets)}
    return Program(function.code, function.inputs, function.outputs, env_vars=variables, helpers=function.helpers)


def chosen(function: Function, options: CallOptions, values: Mapping[str, Any]) -> Any:
    """What a call returns of its outputs: all of them, or the one that `output` names."""
    return values[options.output] if options.output else packed(values, function.outputs)


def _as_given(function: Function, values: Mapping[str, Any], given: Sequence[Any]) -> dict[str, Any]:
    """The outputs. Tables have the library of the first given table, or of the first sample."""
    from autocoder_jupyter.data.capture import is_table, kind_of, original_kind, restored

    tables = [value for value in (*given, *function.samples.values(), *function.defaults.values()) if is_table(value)]
    kind = (original_kind(tables[0]) or kind_of(tables[0])) if tables else ""
    return {name: restored(value, kind) for name, value in values.items()}


def require_callable(function: Function, options: CallOptions) -> None:
    """Check that a function may be called with these options.

    Raises:
        InvalidRequest: a package was not approved, or there is no such output.
    """
    options.require_agreed(function.name)
    require_output(function, options)


def require_output(function: Function, options: CallOptions) -> None:
    """Check that the output that the options choose is one of the function.

    Raises:
        InvalidRequest: there is no such output.
    """
    names = [spec.name for spec in function.outputs]
    if options.output and options.output not in names:
        hint = suggestion(options.output, names) or f"Outputs: {', '.join(names)}."
        raise InvalidRequest(f"{function.name} has no output {visible(options.output)!r}.", hint=visible(hint))


class _SandboxCall:
    """A call on its thread."""

    def __init__(
        self, function: Function, options: CallOptions, program: Program, arguments: Mapping[str, Any]
    ) -> None:
        self._function = function
        self._options = options
        self._program = program
        self._arguments = arguments
        spec = CallSpec(seconds=options.timeout, reuse=options.reuse)

        def work(worker: Worker) -> Mapping[str, Any]:  # a method would make a cycle, which keeps the arguments
            return worker.call(program, arguments, spec).values

        self.on_worker = WorkerTask(function, options, work)
        self.was_kept = False

    def finished(self, computed: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name, as their contracts return them, with their files moved to their final place."""
        self.on_worker.doing = "checking the outputs"
        return finished(self._function, self._options, computed)

    def values(self) -> Mapping[str, Any]:
        """The outputs by name, finished unless a contract must check them."""
        computed = self._remembered_or_computed()
        return computed if self._function.contracts else self.finished(computed)

    def _remembered_or_computed(self) -> Mapping[str, Any]:
        """The outputs by name, from the cache or from the sandbox."""
        if self._options.cache == "disable":
            return self.on_worker.done()
        key = outcome_cache.key(self._function, self._program, self._arguments)
        if (
            self._options.cache == "auto"
            and (remembered := outcome_cache.find(key, self._function.outputs)) is not None
        ):
            self.was_kept = True
            return remembered
        values = self.on_worker.done()
        outcome_cache.store(key, self._function.outputs, values)
        return values


def finished(function: Function, options: CallOptions, computed: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs of a call by name, as their contracts return them, with their files moved to their final place."""
    if function.contracts:
        from autocoder_jupyter.contracts.applying import checked_outputs

        computed = checked_outputs(function.name, function.contracts, computed)
    # A name from a loaded file may be anything; as a folder it must stay below the root.
    name = re.sub(r"\W", "_", function.name) or "_"
    values = moved_to_destination(computed, options.output_dir, function.root, name)
    return values | {
        name: given_back(values[name], kind) for name, kind in options.given_back.items() if name in values
    }
