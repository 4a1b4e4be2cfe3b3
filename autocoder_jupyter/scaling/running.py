"""Run chunks of calls, in workers of this process or in an executor, and keep the outcomes as they come."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import os
import pickle
import queue
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from autocoder_jupyter.calls import outcome_cache
from autocoder_jupyter.calls.binding import bind, by_name, split
from autocoder_jupyter.calls.call import (
    WorkerTask,
    call,
    chosen,
    fetched,
    finished,
    in_turn,
    program_of,
    require_callable,
)
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import add_warning
from autocoder_jupyter.errors import (
    AutocodeError,
    EngineGone,
    InvalidRequest,
    NoWorkersWarning,
    OutOfMemory,
    OutputRefused,
    PackageError,
    SandboxCrash,
    SandboxError,
    SandboxTimeout,
    SandboxUnavailable,
    VersionsDiffer,
)
from autocoder_jupyter.kinds.paths import scheme_of
from autocoder_jupyter.redaction.messages import hidden_values
from autocoder_jupyter.request import secret_values
from autocoder_jupyter.sandbox.host.packing import pack_arguments
from autocoder_jupyter.sandbox.host.redaction import RedactingWorker
from autocoder_jupyter.sandbox.protocol import CallOutcome, Worker
from autocoder_jupyter.sandbox.worker.entries import Packed
from autocoder_jupyter.scaling.mapped import SMALL
from autocoder_jupyter.scaling.prepare import require_same_versions, require_workers, versions_here
from autocoder_jupyter.scaling.tally import Progress, look
from autocoder_jupyter.settings import parameters
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.untrusted.visible import visible

# One chunk
#
# It is computed in this process, or in that of an executor, which imports this module. Its items are one request and
# one child process. If the child ends, each of them is called alone.

Calls = Mapping[int, Mapping[str, Any]]
"""The inputs of calls by name, by the places of their items."""

OnComputed = Callable[[int, Mapping[str, Any], Mapping[str, Any]], object]

_OF_THE_CHILD = (OutOfMemory, OutputRefused, SandboxCrash, SandboxTimeout)
"""Failures after which the items of a chunk are called alone."""


def compute(versions: Mapping[str, str], function: Function, options: CallOptions, calls: Calls) -> dict[int, Any]:
    """The outcomes by place, or the errors. It blocks; an executor calls it."""
    require_same_versions(versions)
    return background.run_on_thread(computed(function, options, calls))


async def computed(
    function: Function,
    options: CallOptions,
    calls: Calls,
    kept: set[int] | None = None,
    on_computed: OnComputed = lambda place, arguments, outputs: None,
) -> dict[int, Any]:
    """The outcomes by place, or the errors. `kept` gets the places whose outcomes an earlier call has kept, and
    `on_computed` is called with the places, the arguments and the outputs of the others.
    """
    kept = set() if kept is None else kept
    found: dict[int, Any] = {}
    small: dict[int, tuple[Packed, str | None, Mapping[str, Any]]] = {}
    alone: list[int] = []
    program = program_of(function, options)
    inputs: dict[int, Mapping[str, Any]] = {}
    for place, keywords in calls.items():
        try:
            inputs[place] = await fetched(keywords, options.timeout)
        except AutocodeError as error:
            found[place] = error

    def prepare() -> None:
        for place, keywords in inputs.items():
            try:
                arguments = bind(function, (), keywords)
                key = outcome_cache.key(function, program, arguments) if options.cache != "disable" else None
                stored = outcome_cache.find(key, function.outputs) if options.cache == "auto" else None
                if stored is not None:
                    kept.add(place)
                    found[place] = chosen(function, options, finished(function, options, stored))
                    continue
                packed = pack_arguments(program, arguments)
            except AutocodeError as error:
                found[place] = error
                continue
            if packed.size < SMALL:
                small[place] = packed, key, arguments
            else:
                alone.append(place)

    if len(calls) == 1:
        alone += inputs
    else:
        await background.call_blocking(prepare)
    while small:
        try:
            outcomes = await _batch(function, options, [packed for packed, *_ in small.values()])
        except _OF_THE_CHILD:
            alone += small
            break
        done = {}
        for place, outcome in zip(list(small), outcomes, strict=False):
            _, key, arguments = small.pop(place)
            done[place] = outcome, key
            if isinstance(outcome, CallOutcome):
                on_computed(place, arguments, outcome.values)
        found |= await background.call_blocking(partial(_outcomes, function, options, done))
    for place in alone:
        try:
            found[place] = await call(
                function,
                options,
                (),
                inputs[place],
                on_kept=partial(kept.add, place),
                on_computed=partial(on_computed, place),
            )
        except (SandboxUnavailable, PackageError):
            raise  # it would be the same for each item
        except AutocodeError as error:
            found[place] = error
    return found


async def _batch(function: Function, options: CallOptions, calls: Sequence[Packed]) -> Sequence[Any]:
    """The outcomes of the first of these calls, one at least."""
    program = program_of(function, options)
    secrets = hidden_values(secret_values(options.secrets), options.env_vars)

    def work(worker: Worker) -> Sequence[CallOutcome | SandboxError]:
        return RedactingWorker(worker, secrets).batch(program, calls, options.timeout)

    on_worker = WorkerTask(function, options, work)
    outcomes = await in_turn(options.name or f"{function.name}.map", on_worker, options, on_worker.done)
    for note in on_worker.notes:
        add_warning(note)
    return outcomes


def _outcomes(
    function: Function, options: CallOptions, done: Mapping[int, tuple[CallOutcome | SandboxError, str | None]]
) -> dict[int, Any]:
    """What a call returns or raises, by place, of outcomes and the keys under which they are stored."""
    return {place: _outcome(function, options, outcome, key) for place, (outcome, key) in done.items()}


def _outcome(function: Function, options: CallOptions, outcome: CallOutcome | SandboxError, key: str | None) -> Any:
    if isinstance(outcome, SandboxError):
        return outcome
    outcome_cache.store(key, function.outputs, outcome.values)
    try:
        return chosen(function, options, finished(function, options, outcome.values))
    except AutocodeError as error:
        return error


# The call of a map or of a table

Ended = concurrent.futures.Future[dict[int, Any]]

Submit = Callable[[Calls], Ended]
"""Begins to compute a chunk."""

P = ParamSpec("P")
R = TypeVar("R")

_NAMED = "inputs with names of options"
"""The key of such inputs. It is not an identifier, so no input has it."""


def inputs_first(method: Callable[P, R]) -> Callable[P, R]:
    """A decorator for a method with options and `**fixed`. As in a call, a name that is also that of an input of the
    function is the input.
    """
    parameters = inspect.signature(method).parameters.values()
    options = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}

    @functools.wraps(method)
    def takes(self: Any, /, *given: Any, **keywords: Any) -> Any:
        if named := options & keywords.keys():
            function = background.run(_awaited(self._ready))
            named &= {spec.name for spec in function.inputs}
            keywords[_NAMED] = {name: keywords.pop(name) for name in named}
        return cast(Callable[..., Any], method)(self, *given, **keywords)

    return cast(Callable[P, R], takes)


async def _awaited(ready: Callable[[], Awaitable[Function]]) -> Function:
    return await ready()


def begin(
    ready: Callable[[], Awaitable[Function]],
    options: CallOptions,
    fixed: Mapping[str, Any],
    *,
    resume: bool,
    workers: int | None,
    progress: Progress | None,
) -> tuple[Function, dict[str, Any], CallOptions]:
    """What all calls of a map or of a table share: the function, the inputs that are the same for all, the options."""
    function = background.run(_awaited(ready))
    inputs, given = split(function, {name: value for name, value in fixed.items() if name != _NAMED})
    inputs |= fixed.get(_NAMED, {})
    by_name(function, (), inputs)
    options = options.changed(given)
    if parameters.flag("resume", resume):
        options = replace(options, cache="auto")
    require_callable(function, options)
    if resume and outcome_cache.version_of(function, program_of(function, options)) is None:
        raise InvalidRequest(
            f"The versions of the packages of {visible(function.name)} are not known, so no outcome can be kept.",
            why="With other versions the outcome could be different.",
            hint="Run its cell again, which records them; or leave resume=True out.",
        )
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 1):
        raise InvalidRequest(f"workers must be a whole number of at least 1, not {workers!r}.")
    if progress is not None and not callable(progress):
        raise InvalidRequest(
            f"progress must be a function, not {progress!r}.", hint="Write progress=print; or leave it out."
        )
    return function, inputs, options


# Where chunks are computed


def here(
    function: Function,
    options: CallOptions,
    workers: int,
    kept: set[int] | None = None,
    on_computed: OnComputed = lambda place, arguments, outputs: None,
) -> Submit:
    """Computes chunks in workers of this process, so many at once. The last arguments are as for `computed`."""
    turns = asyncio.Semaphore(workers)

    async def one(chunk: Calls) -> dict[int, Any]:
        async with turns:
            return await computed(function, options, chunk, kept, on_computed)

    return lambda chunk: background.submit(one(chunk))


def pool_of(executor: Any) -> Any:
    """What takes calls: an executor, or what its `get_executor()` gives; None for None."""
    pool, client = executor, None if isinstance(executor, type) else _client_of(executor)
    if getattr(client, "asynchronous", False) is True:
        raise InvalidRequest(
            "map waits for the workers, so it does not accept an asynchronous client.",
            why="Its loop would wait for the map, and the map for its loop.",
            hint="Connect another one: executor=Client(client.scheduler.address).",
        )
    try:
        if callable(getattr(client, "register_plugin", None)):
            require_workers(client)
        if client is not None and callable(getattr(executor, "get_executor", None)):
            pool = executor.get_executor()
    except (AutocodeError, NoWorkersWarning):
        raise
    except Exception as error:  # another library may raise any exception
        raise _takes_none(error) from error
    if pool is not None and (isinstance(pool, type) or not callable(getattr(pool, "submit", None))):
        given = pool.__name__ if isinstance(pool, type) else type(pool).__name__
        raise InvalidRequest(
            f"{visible(given)} is not an executor.",
            why="An executor has submit(), like those of concurrent.futures, or get_executor(), like a client of Dask.",
            hint="Write executor=ThreadPoolExecutor(2); or leave it out, then the calls run here.",
        )
    return pool


def _client_of(executor: Any) -> Any:
    """The client of an executor of Dask, which has no public name; any other object is returned as it is."""
    client = getattr(executor, "_client", None)
    return client if callable(getattr(client, "register_plugin", None)) else executor


def _takes_none(error: Exception) -> InvalidRequest:
    return InvalidRequest(
        "The executor does not accept calls.",
        why=f"{type(error).__name__}: {visible(str(error)[:300])}",
        hint="Make a new one; or leave it out, then the calls run here.",
    )


def _can_be_pickled(calls: Calls) -> bool:
    try:
        pickle.dumps(calls)
    except Exception:  # an object of a user may raise any exception
        return False
    return True


def in_executor(pool: Any, function: Function, options: CallOptions) -> Submit:
    """Computes chunks in an executor. Samples are sent only for inputs that the items and the arguments lack."""
    bare = replace(function.without_samples(), root=function.root.absolute())
    if options.output_dir is not None:
        options = replace(options, output_dir=options.output_dir.absolute())
    needed = {spec.name for spec in function.inputs} & function.samples.keys()

    def submit(chunk: Calls) -> Ended:
        sent = {
            place: with_absolute_paths(
                function, {**{name: function.samples[name] for name in needed - call.keys()}, **call}
            )
            for place, call in chunk.items()
        }
        try:
            future: Any = pool.submit(compute, versions_here(), bare, options, sent)
        except concurrent.futures.BrokenExecutor as error:  # it knows already that it is broken
            future = concurrent.futures.Future()
            future.set_exception(error)
        except Exception as error:  # it is closed, or cannot send the call; another library may raise any exception
            if _can_be_pickled(sent):
                raise _takes_none(error) from error
            future = concurrent.futures.Future()
            future.set_exception(error)
        if asyncio.isfuture(future) or not callable(getattr(future, "add_done_callback", None)):
            raise InvalidRequest(
                f"submit() of the executor returned a {visible(type(future).__name__)}.",
                why="An executor must return a future like those of concurrent.futures.",
                hint="Write executor=ThreadPoolExecutor(2); or leave it out, then the calls run here.",
            )
        return cast(Ended, future)

    return submit


def with_absolute_paths(function: Function, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs for a process that may have another working folder: paths are those of this one."""
    readable = {spec.name for spec in function.inputs if spec.type in ("DataFrame", "File", "Dir")}
    return {name: _absolute(value) if name in readable else value for name, value in inputs.items()}


def _absolute(value: Any) -> Any:
    if not isinstance(value, str | os.PathLike):
        return value
    if scheme_of(value):
        return value
    path = Path(value).absolute()
    return type(value)(path) if isinstance(value, File | Dir) else path


def here_too(outcome: Any) -> Any:
    """An outcome of an executor; an error if the function made a file on another machine, which is not here."""
    for value in outcome if isinstance(outcome, tuple) else (outcome,):
        if isinstance(value, File | Dir) and not value.path.exists():
            return InvalidRequest(
                f"{visible(str(value.path))} is on the machine of the worker, and not on this one.",
                hint="Write output_dir=… with a folder that both machines have, such as a network drive.",
            )
    return outcome


def not_carried(error: Exception) -> AutocodeError:
    """Why an executor has no outcome for a call that it took."""
    if isinstance(error, AutocodeError):
        raise error
    why = f"{type(error).__name__}: {visible(str(error)[:300])}"
    if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] == "autocoder_jupyter":
        raise VersionsDiffer(
            "A worker of the executor cannot import autocoder-jupyter.",
            why=why,
            hint="Install the caller's version for the workers, or use an image that has it.",
        ) from error
    if isinstance(error, concurrent.futures.BrokenExecutor | concurrent.futures.CancelledError):
        return EngineGone(
            "A process of the executor ended, or it was shut down, so the item has no outcome.",
            why=why,
            hint="Make a new executor, then .retry(executor=…).",
        )
    return EngineGone(
        "The executor did not run the call, so the item has no outcome.",
        why=why,
        hint="If it is the executor: .retry(executor=…) with a new one, or .retry(), which computes it here.",
    )


# All chunks


def collect(
    chunks: Iterable[Calls],
    submit: Submit,
    keep: Callable[[Mapping[int, Any]], None],
    ahead: int | None = None,
    lost: Callable[[Exception, Sequence[int]], Mapping[int, Any]] | None = None,
) -> None:
    """Compute chunks, and keep the outcomes as they come. If that ends early, for instance by an interrupt or an error
    of `keep`, the rest is cancelled.
    """
    ended: queue.SimpleQueue[Ended] = queue.SimpleQueue()
    submitted: dict[Ended, list[int]] = {}
    left = iter(chunks)
    try:
        while True:
            while ahead is None or len(submitted) < ahead:
                chunk = next(left, None)
                if chunk is None:
                    break
                future = submit(chunk)
                submitted[future] = list(chunk)
                future.add_done_callback(ended.put)
                del chunk
                look()
            if not submitted:
                return
            future = _first(ended)
            places = submitted.pop(future)
            try:
                outcomes: Mapping[int, Any] = future.result()
            except Exception as error:
                if lost is None:
                    raise
                outcomes = lost(error, places)
            keep(outcomes)
            del future, outcomes  # they may be large, and the next chunk is made while they are here
    finally:
        for future in submitted:
            future.cancel()


def _first(ended: queue.SimpleQueue[Ended]) -> Ended:
    """The next one that ends. The wait is divided, because an interrupt does not always end a wait for a lock."""
    while True:
        with suppress(queue.Empty):
            return ended.get(timeout=background.POLL_SECONDS)
        look()
