"""`growth.map`: many inputs, each with an outcome or an error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from typing import Any

from autocoder_jupyter.calls import outcome_cache
from autocoder_jupyter.calls.call import on_this_machine
from autocoder_jupyter.calls.callable import caller, warn_of
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.row_counts import ROWS, AnsweredCall, Caller
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.scaling.mapped import LastMap, MapItem, Mapped, chunks_of, items_of
from autocoder_jupyter.scaling.running import (
    Calls,
    OnComputed,
    begin,
    collect,
    here,
    here_too,
    in_executor,
    inputs_first,
    not_carried,
    pool_of,
)
from autocoder_jupyter.scaling.tally import Progress, Tally


class Map:
    """Calls a function for many inputs.

    Args:
        ready: waits for the function and returns it.
    """

    def __init__(self, ready: Callable[[], Awaitable[Function]], options: CallOptions, last: LastMap) -> None:
        self._ready = ready
        self._options = options
        self._last = last

    @property
    def last(self) -> Mapped | None:
        """The outcomes of the newest map, also of one that was interrupted; None if there was none."""
        return self._last.mapped

    @inputs_first
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

        Raises:
            GenerationFailed: there is no function that passed.
            InvalidRequest: the items are not a list, an argument or option does not fit, the executor does not accept
                calls, or no outcome can be kept.
            SandboxUnavailable: there is no sandbox.
        """
        function, inputs, options = begin(
            self._ready, self._options, fixed, resume=resume, workers=workers, progress=progress
        )
        if executor is None:  # else its workers fetch what they need
            inputs = dict(on_this_machine(inputs, options.timeout))
        listed = items_of(function, items, inputs)
        if resume and len(listed) > outcome_cache.MAX_OUTCOMES:
            raise InvalidRequest(
                f"resume=True keeps {outcome_cache.MAX_OUTCOMES:,} outcomes, and there are {len(listed):,} items.",
                why="The oldest would be removed before they are read again.",
                hint="Pass the items in parts, or leave resume=True out.",
            )
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
        items: Sequence[MapItem],
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

        pool = pool_of(executor)
        self._last.mapped = mapped
        places = mapped.missing
        count = workers or getattr(pool, "_max_workers", None) or usable_cores()
        kept: set[int] = set()
        tally = Tally(f"{function.name}.map", progress, unit="items", of=len(items))
        tally.begin()
        if places:
            tally.count(len(items) - len(places), kept=len(items) - len(places))
        alone: list[int] = []

        def calls(chunk: Iterable[int]) -> Calls:
            return {place: {**inputs, **items[place].arguments} for place in chunk}

        def keep(outcomes: Mapping[int, Any]) -> None:
            for place, outcome in outcomes.items():
                mapped.put(place, outcome if pool is None else here_too(outcome))
            tally.count(len(outcomes), kept=len(kept & outcomes.keys()))

        def lost(error: Exception, chunk: Sequence[int]) -> Mapping[int, Any]:
            failure = not_carried(error)
            if len(chunk) == 1 or isinstance(error, BrokenExecutor | CancelledError):
                return dict.fromkeys(chunk, failure)
            alone.extend(chunk)  # one of them may be what cannot be sent
            return {}

        chunks = map(calls, chunks_of(items, places, count))
        seen = self._seen_by(caller(), function, options)
        submit = here(function, options, count, kept, seen) if pool is None else in_executor(pool, function, options)
        with tally.shown():
            collect(chunks, submit, keep, lost=None if pool is None else lost)
            collect(map(calls, ([place] for place in alone)), submit, keep, lost=lost)
        tally.finish()

    @staticmethod
    def _seen_by(place: Caller, function: Function, options: CallOptions) -> OnComputed:
        """Has the rows of items counted that are computed in this process."""

        def seen(number: int, arguments: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
            name = f"{function.name}.map[{number}]"
            ROWS.offer(AnsweredCall(function, options, arguments, outputs, name), lambda: place)

        return seen
