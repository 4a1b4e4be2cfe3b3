"""One call of a generated function: bind the arguments, check them, run it in the sandbox, return the values."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from autocoder_jupyter.calls import outcome_cache
from autocoder_jupyter.calls.binding import bind, takes_long
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.on_worker import OnWorker, in_turn
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.outputs import moved_to_destination, packed
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import remark
from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.redaction.secrets import hidden_values, redact
from autocoder_jupyter.request import secret_values
from autocoder_jupyter.sandbox.protocol import CallSpec, Program, Worker
from autocoder_jupyter.settings.parameters import did_you_mean
from autocoder_jupyter.types.of_flyte import all_fetched, given_back, has_data_of_flyte
from autocoder_jupyter.untrusted.visible import visible

K = TypeVar("K")


async def call(
    function: Function,
    options: CallOptions,
    positional: Sequence[Any],
    keywords: Mapping[str, Any],
    notes: list[str] | None = None,
) -> Any:
    """Call a function. Cancelling the awaiting task kills the call's worker. `notes` is as for `bind`.

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
        values = await in_turn(name, running.on_worker, options, running.values)
        if function.contracts:
            # The turn has ended, because a contract is the user's code, which may call a function.
            computed = values
            values = await background.call_blocking(lambda: running.finished(computed))
        for note in running.on_worker.notes:
            remark(note)
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
    """The arguments of a call, read and computed on a thread.

    Raises:
        InvalidRequest: they are not ready in time. A library cannot be stopped from here, so it goes on beside.
    """
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
    return Program(code=function.code, inputs=function.inputs, outputs=function.outputs, env_vars=variables)


def chosen(function: Function, options: CallOptions, values: Mapping[str, Any]) -> Any:
    """What a call returns of its outputs: all of them, or the one that `output` names."""
    return values[options.output] if options.output else packed(values, function.outputs)


def _as_given(function: Function, values: Mapping[str, Any], given: Sequence[Any]) -> dict[str, Any]:
    """The outputs. Tables have the library of the first given table, or of the first sample."""
    from autocoder_jupyter.data.foreign import is_table, kind_of, original_kind, restored

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
        hint = did_you_mean(options.output, names) or f"Outputs: {', '.join(names)}."
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

        self.on_worker = OnWorker(function, options, work)

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
