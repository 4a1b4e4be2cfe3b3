"""`growth.map`: many inputs, each with an outcome or an error."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from autocoder_jupyter.calls.binding import split
from autocoder_jupyter.calls.call import require_callable
from autocoder_jupyter.calls.caller_warnings import warn_of
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import EngineGone, InvalidRequest
from autocoder_jupyter.scaling.chunk import Calls, compute, computed
from autocoder_jupyter.scaling.items import Item, chunks_of, items_of
from autocoder_jupyter.scaling.mapped import LastMap, Mapped

_Ended = concurrent.futures.Future[dict[int, Any]]

Submitted = dict[_Ended, Calls]

Progress = Callable[[int, int], object]
"""Called in the calling thread with the number of items that are done, and of all."""


class Map:
    """Calls a function for many inputs.

    Args:
        ready: waits for the function and returns it.
        options: of the calls.
        last: keeps the outcomes.
    """

    def __init__(self, ready: Callable[[], Awaitable[Function]], options: CallOptions, last: LastMap) -> None:
        self._ready = ready
        self._options = options
        self._last = last

    @property
    def last(self) -> Mapped | None:
        """The outcomes of the newest map, also of one that was interrupted; None if there was none."""
        return self._last.mapped

    def __call__(
        self,
        items: Iterable[Any],
        /,
        *,
        executor: Any = None,
        workers: int | None = None,
        resume: bool = False,
        progress: Progress | None = None,
        **fixed: Any,
    ) -> Mapped:
        """Call the function for each item, and wait for all. An interrupt ends the calls, and keeps what is done.

        Items below 1 MB travel in chunks of up to 100 to one child process, so what the function leaves in global
        variables stays for the next item of its chunk. If the child ends, its items are called alone.

        Args:
            items: tables, files, dicts of arguments, or pairs of a key and a table, as from `groupby`.
            executor: an executor of `concurrent.futures`, or an object with `get_executor()`, such as a client of
                Dask. By default the calls run here, each in a worker of its own.
            workers: how many calls run at once here; by default as many as there are cores. With an executor: how
                many workers it has, if it does not say that.
            resume: keep the outcomes on this machine, and compute only those that are not kept.
            progress: called with the number of items that are done, and of all.
            fixed: inputs that are the same for all items, and options of the calls.

        Returns:
            The outcomes in the order of the items. An item that failed is a `Failed`, and leaves the others alone.

        Raises:
            GenerationFailed: there is no function that passed.
            InvalidRequest: the items are no list, or an argument or option does not fit.
            SandboxUnavailable: there is no sandbox.
        """
        function = background.run(_awaited(self._ready))
        inputs, given = split(function, fixed)
        options = self._options.changed(given)
        if resume:
            options = replace(options, cache="auto")
        require_callable(function, options)
        if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 1):
            raise InvalidRequest(f"workers must be a whole number of at least 1, not {workers!r}.")
        listed = items_of(function, items, inputs)
        warn_of(function)

        def again(before: Mapped, **keywords: Any) -> Mapped:
            mapped = Mapped(function.name, listed, again)
            for place in set(range(len(before))) - set(before.missing):
                mapped.put(place, before[place])
            self._fill(mapped, listed, function, options, inputs, **keywords)
            return mapped

        return again(Mapped(function.name, listed, again), executor=executor, workers=workers, progress=progress)

    def _fill(
        self,
        mapped: Mapped,
        items: Sequence[Item],
        function: Function,
        options: CallOptions,
        inputs: Mapping[str, Any],
        *,
        executor: Any = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Compute what is missing."""
        from autocoder_jupyter.sandbox.host.capacity import usable_cores

        self._last.mapped = mapped
        places = mapped.missing
        pool = executor.get_executor() if callable(getattr(executor, "get_executor", None)) else executor
        count = workers or getattr(pool, "_max_workers", None) or usable_cores()
        chunks = [
            {place: {**inputs, **items[place].arguments} for place in chunk}
            for chunk in chunks_of(items, places, count)
        ]
        done = len(items) - len(places)

        def keep(outcomes: Mapping[int, Any]) -> None:
            nonlocal done
            for place, outcome in outcomes.items():
                mapped.put(place, outcome)
            done += len(outcomes)
            if progress is not None:
                progress(done, len(items))

        if pool is None:
            submitted = _here(function, options, chunks, count)
        else:
            submitted = _elsewhere(pool, function, options, chunks)
        _collect(submitted, keep)


async def _awaited(ready: Callable[[], Awaitable[Function]]) -> Function:
    return await ready()


def _here(function: Function, options: CallOptions, chunks: Sequence[Calls], workers: int) -> Submitted:
    """Compute the chunks in workers of this process, so many at once."""
    turns = asyncio.Semaphore(workers)

    async def one(chunk: Calls) -> dict[int, Any]:
        async with turns:
            return await computed(function, options, chunk)

    return {background.submit(one(chunk)): chunk for chunk in chunks}


def _elsewhere(pool: Any, function: Function, options: CallOptions, chunks: Sequence[Calls]) -> Submitted:
    """Compute the chunks in an executor. Samples are sent only for inputs that the items and the arguments lack."""
    bare = function.without_samples()
    needed = {spec.name for spec in function.inputs} & function.samples.keys()
    submitted = {}
    for chunk in chunks:
        sent = {
            place: {**{name: function.samples[name] for name in needed - call.keys()}, **call}
            for place, call in chunk.items()
        }
        submitted[pool.submit(compute, bare, options, sent)] = chunk
    return submitted


def _collect(submitted: Submitted, keep: Callable[[Mapping[int, Any]], None]) -> None:
    """Keep the outcomes as they come. If the wait ends early, for instance by an interrupt, the rest is cancelled."""
    ended: queue.SimpleQueue[_Ended] = queue.SimpleQueue()
    try:
        for future in submitted:
            future.add_done_callback(ended.put)
        for _ in submitted:
            future = _first(ended)
            try:
                keep(future.result())
            except concurrent.futures.BrokenExecutor as error:
                lost = EngineGone(
                    "A process of the executor ended, so the item has no outcome.",
                    why=f"{type(error).__name__}: {error}",
                    hint="Make a new executor, then .retry(executor=…).",
                )
                keep(dict.fromkeys(submitted[future], lost))
    finally:
        for future in submitted:
            future.cancel()


def _first(ended: queue.SimpleQueue[_Ended]) -> _Ended:
    """The next one that ends. The wait is divided, because an interrupt does not always end a wait for a lock."""
    while True:
        with suppress(queue.Empty):
            return ended.get(timeout=background.POLL_SECONDS)
