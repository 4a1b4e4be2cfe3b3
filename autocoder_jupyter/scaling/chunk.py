"""Computes the items of one chunk: in this process, or in that of an executor, which imports this module.

The items of a chunk are one request and one child process. If the child ends, each of them is called alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from autocoder_jupyter.calls import function as outcome_cache
from autocoder_jupyter.calls.binding import bind
from autocoder_jupyter.calls.call import OnWorker, call, chosen, fetched, finished, in_turn, program_of
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import remark
from autocoder_jupyter.errors import (
    AutocodeError,
    OutOfMemory,
    OutputRefused,
    PackageError,
    SandboxCrash,
    SandboxError,
    SandboxTimeout,
    SandboxUnavailable,
)
from autocoder_jupyter.redaction.messages import hidden_values
from autocoder_jupyter.request import secret_values
from autocoder_jupyter.sandbox.host.packing import pack_arguments
from autocoder_jupyter.sandbox.host.redaction import RedactingWorker
from autocoder_jupyter.sandbox.protocol import CallOutcome, Worker
from autocoder_jupyter.sandbox.worker.entries import Packed
from autocoder_jupyter.scaling.items import SMALL
from autocoder_jupyter.scaling.versions_sent import require_same_versions

Calls = Mapping[int, Mapping[str, Any]]
"""The inputs of calls by name, by the places of their items."""

_OF_THE_CHILD = (OutOfMemory, OutputRefused, SandboxCrash, SandboxTimeout)
"""Failures after which the items of a chunk are called alone."""


def compute(versions: Mapping[str, str], function: Function, options: CallOptions, calls: Calls) -> dict[int, Any]:
    """The outcomes by place, or the errors. It blocks; an executor calls it.

    Args:
        versions: the caller's.
        function: the function.
        options: of the calls.
        calls: the inputs of each.

    Raises:
        VersionsDiffer: this process has other versions than the caller.
    """
    require_same_versions(versions)
    return background.run_on_thread(computed(function, options, calls))


async def computed(function: Function, options: CallOptions, calls: Calls) -> dict[int, Any]:
    """The outcomes by place, or the errors.

    Args:
        function: the function.
        options: of the calls. With `cache`, only what is not stored is computed.
        calls: the inputs of each.

    Raises:
        SandboxError: there is no sandbox; this is no failure of one item.
    """
    found: dict[int, Any] = {}
    small: dict[int, tuple[Packed, str | None]] = {}
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
                    found[place] = chosen(function, options, finished(function, options, stored))
                    continue
                packed = pack_arguments(program, arguments)
            except AutocodeError as error:
                found[place] = error
                continue
            if packed.size < SMALL:
                small[place] = packed, key
            else:
                alone.append(place)

    if len(calls) == 1:
        alone += inputs
    else:
        await background.call_blocking(prepare)
    while small:
        try:
            outcomes = await _batch(function, options, [packed for packed, _ in small.values()])
        except _OF_THE_CHILD:
            alone += small
            break
        done = {place: (outcome, small.pop(place)[1]) for place, outcome in zip(list(small), outcomes, strict=False)}
        found |= await background.call_blocking(partial(_outcomes, function, options, done))
    for place in alone:
        try:
            found[place] = await call(function, options, (), inputs[place])
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

    on_worker = OnWorker(function, options, work)
    outcomes = await in_turn(options.name or f"{function.name}.map", on_worker, options, on_worker.done)
    for note in on_worker.notes:
        remark(note)
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
