"""One call of a generated function: bind the arguments, check them, run it in the sandbox, return the values."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from autocoder_jupyter.calls import outcome_cache
from autocoder_jupyter.calls.binding import bind, takes_long
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.outputs import moved_to_destination, packed
from autocoder_jupyter.calls.queue import Turn, shared_queue
from autocoder_jupyter.calls.runtime import Runtime, forget, runtime_for
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, remark, tell
from autocoder_jupyter.errors import (
    AutocodeError,
    EngineGone,
    PackageError,
    SandboxCrash,
    SandboxUnavailable,
    SolutionError,
    was_killed,
)
from autocoder_jupyter.redaction.secrets import hidden_values, redact
from autocoder_jupyter.request import secret_values
from autocoder_jupyter.sandbox.cancellation import BuildWatch, CancellationToken
from autocoder_jupyter.sandbox.protocol import CallOutcome, CallSpec, Program, WorkerLimits, WorkerSpec
from autocoder_jupyter.types import parse_memory

BACKOFF_SECONDS = 0.2
"""Seconds before the first retry of a call whose sandbox failed; doubled each time."""


_OF_MISSING_FILES = frozenset(
    {"ImportError", "ModuleNotFoundError", "FileNotFoundError", "PermissionError", "OSError", "EOFError"}
)
"""Errors of a library that loads one of its own files late, if the file is missing."""


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
    options.require_agreed(function.name)
    if takes_long(function, (*positional, *keywords.values())):
        arguments = await background.call_blocking(lambda: bind(function, positional, keywords, notes))
    else:
        arguments = bind(function, positional, keywords, notes)
    passed = (spec.name for spec, _ in zip(function.inputs, positional, strict=False))
    given = function.values.keys() & {*passed, *keywords, *function.defaults}
    if notes is not None and options.drift == "on" and given and function.watch.may_compare():
        notes += await background.call_blocking(lambda: function.watch.compare(function, arguments, given))
    began = time.perf_counter()
    secrets = secret_values(options.secrets)
    program = Program(
        code=function.code, inputs=function.inputs, outputs=function.outputs, env_vars={**options.env_vars, **secrets}
    )
    running = _SandboxCall(function, options, program, arguments)
    queue, turn = shared_queue(), Turn(options.resources)

    def doing() -> str:
        before = queue.before(turn)
        return (
            f"waits for its turn, {before:,} {'call' if before == 1 else 'calls'} before it"
            if before
            else running.doing
        )

    async def in_turn() -> Mapping[str, Any]:
        async with queue.wait_for(turn):
            return await background.call_blocking(running.remembered_or_computed, on_cancel=running.stop)

    tell(Awaited(options.name or f"{function.name}.run", doing, "interrupt to stop it"))
    try:
        computed = await background.on_loop(in_turn())
        # The turn has ended, because a contract is the user's code, which may call a function.
        values = await background.call_blocking(lambda: running.finished(computed))
        for note in running.notes:
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
    return packed(values, function.outputs)


def _as_given(function: Function, values: Mapping[str, Any], given: Sequence[Any]) -> dict[str, Any]:
    """The outputs. Tables have the library of the first given table, or of the first sample."""
    from autocoder_jupyter.data.foreign import is_table, kind_of, original_kind, restored

    tables = [value for value in (*given, *function.samples.values(), *function.defaults.values()) if is_table(value)]
    kind = (original_kind(tables[0]) or kind_of(tables[0])) if tables else ""
    return {name: restored(value, kind) for name, value in values.items()}


class _SandboxCall:
    """A call on its thread, which another thread may cancel at any time. `doing` is the current step."""

    def __init__(
        self, function: Function, options: CallOptions, program: Program, arguments: Mapping[str, Any]
    ) -> None:
        self._function = function
        self._options = options
        self._program = program
        self._arguments = arguments
        self._stop = CancellationToken(f"The call of {function.name} was stopped.")
        self.doing = ""
        self.notes: list[str] = []

    def finished(self, computed: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name, as their contracts return them, with their files moved to their final place."""
        # A name from a loaded file may be anything; as a folder it must stay below the root.
        name = re.sub(r"\W", "_", self._function.name) or "_"
        return moved_to_destination(self._agreed(computed), self._options.output_dir, self._function.root, name)

    def stop(self) -> None:
        """Stop the build of the environment, or kill the worker, now or as soon as there is one."""
        self._stop.cancel()

    def _agreed(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The outputs as their contracts return them."""
        if not self._function.contracts:
            return values
        from autocoder_jupyter.contracts.applying import checked_outputs

        self.doing = "checking the outputs"
        return checked_outputs(self._function.name, self._function.contracts, values)

    def remembered_or_computed(self) -> Mapping[str, Any]:
        """The outputs by name, from the cache or from the sandbox."""
        if self._options.cache == "disable":
            return self._computed()
        key = outcome_cache.key(self._function, self._program, self._arguments)
        if (
            self._options.cache == "auto"
            and (remembered := outcome_cache.find(key, self._function.outputs)) is not None
        ):
            return remembered
        values = self._computed()
        outcome_cache.store(key, self._function.outputs, values)
        return values

    def _computed(self) -> Mapping[str, Any]:
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

    def _attempt_in_a_whole_environment(self, runtime: Runtime) -> Mapping[str, Any]:
        """Run the call; run it once more if it failed because files of the environment are missing or damaged."""
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

    def _attempt(self, runtime: Runtime) -> Mapping[str, Any]:
        self._stop.raise_if_cancelled()
        self.doing = f"getting the {runtime.sandbox.name} sandbox ready"
        environment = runtime.environment(self._function.environment, BuildWatch(token=self._stop))
        options = self._options
        limits = WorkerLimits(
            cpu=options.resources.cpu, memory=parse_memory(options.resources.memory), seconds=options.worker_seconds
        )
        with runtime.pool.lease(WorkerSpec(environment, limits, network=options.network)) as worker:
            self.doing = f"{runtime.sandbox.name} sandbox"
            with self._stop.on_cancel(worker.kill):
                outcome: CallOutcome = worker.call(
                    self._program, self._arguments, CallSpec(seconds=options.timeout, reuse=options.reuse)
                )
            return outcome.values
